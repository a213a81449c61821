"""Objects by bucket and key, blobs by digest, and unfinished uploads; in a folder or in S3."""
