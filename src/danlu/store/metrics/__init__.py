"""The metric store: received journals, columnar packs built from them, and an SQL index."""
