"""Reading and writing rows, one file per noun. Callers own the transaction."""
