"""Code that runs inside the jobs of a benchmark. It needs only the standard library, and PyTorch for some of `work/`.

The folder is the job's code, so an image needs Python 3.9 and the libraries of the suite, but not Danlu.
"""
