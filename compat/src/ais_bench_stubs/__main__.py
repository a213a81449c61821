"""`python -m ais_bench_stubs`"""

from __future__ import annotations

from ais_bench_stubs.cli import main

main()
