"""Files and folders: the store, and the code of a job."""
