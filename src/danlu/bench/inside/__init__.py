"""What runs inside the jobs of a benchmark: Python's own library, and PyTorch in `work/` where a suite needs it.

The folder travels with the job, so an image needs Python 3.9 and what the suite works with, and not Danlu.
"""
