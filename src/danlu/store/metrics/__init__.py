"""The metric store: journals as they arrive, packs of columns built from them, and the index over both in SQL."""
