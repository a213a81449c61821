"""Objects by bucket and key, blobs by digest, and uploads under way; in a folder or in S3."""
