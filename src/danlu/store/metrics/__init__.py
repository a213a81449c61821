"""The metric store: journals as they arrive, packs of columns built behind them, and the index over both in SQL."""
