"""What Danlu remembers: SQL tables, log segments and objects. SQL lives here and nowhere else."""
