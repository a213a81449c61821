"""`python -m danlu` is `danlu`."""

from danlu.cli import main

main()
