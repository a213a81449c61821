"""Hostile input under sanitizers: a corpus, and many random changes of it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.long
MUTATIONS = int(os.environ.get("DANLU_FUZZ_MUTATIONS", "200000"))
STRICT = {
    **os.environ,
    "ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1:max_allocation_size_mb=2048",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1",
}


def run(program: Path, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [str(program), *arguments], env={**STRICT, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-6000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def sanitized(build: Callable[..., Path]) -> Path:
    return build(flags="-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all")


@pytest.mark.parametrize("kernels", ["best", "portable"])
def test_nothing_is_read_or_written_out_of_bounds(
    sanitized: Path, corpus: list[str], tmp_path: Path, kernels: str
) -> None:
    arguments = ["--mutations", str(MUTATIONS // 2), "--seed", (kernels == "best" and "1") or "2"]
    output = run(
        sanitized / "records_fuzz",
        *arguments,
        "--record",
        str(tmp_path / "last-input"),
        *corpus,
        DANLU_RECORDS_KERNELS="portable" if kernels == "portable" else "",
    )
    assert f"{MUTATIONS // 2} mutations" in output


def test_the_pool_leaks_nothing(sanitized: Path, corpus: list[str]) -> None:
    assert "images" in run(sanitized / "pool_check", *corpus)


def test_threads_do_not_race(build: Callable[..., Path], corpus: list[str]) -> None:
    folder = build(flags="-O1 -g -fsanitize=thread")
    assert "images" in run(folder / "pool_check", *corpus)
