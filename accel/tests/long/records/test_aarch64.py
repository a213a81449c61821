"""The core on ARM: cross-compiled with Debian's compiler, run by qemu-user, compared with this machine bit by bit."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.long


@pytest.mark.skipif(platform.machine() != "x86_64", reason="compares x86-64 with aarch64")
def test_aarch64_gives_the_same_pixels(
    build: Callable[..., Path], install: Callable[..., None], corpus: list[str]
) -> None:
    install("g++-aarch64-linux-gnu", "qemu-user")
    install("libjpeg62-turbo-dev:arm64", architecture="arm64")
    there = build(
        "-DCMAKE_SYSTEM_NAME=Linux",
        "-DCMAKE_SYSTEM_PROCESSOR=aarch64",
        "-DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++",
        "-DCMAKE_LIBRARY_ARCHITECTURE=aarch64-linux-gnu",
        "-DJPEG_LIBRARY=/usr/lib/aarch64-linux-gnu/libjpeg.so",
        "-DJPEG_INCLUDE_DIR=/usr/include;/usr/include/aarch64-linux-gnu",
        "-DCMAKE_EXE_LINKER_FLAGS=-static-libstdc++ -static-libgcc",
        flags="-O2",
    )
    here = build(flags="-O2")
    arguments = ["--mutations", "2000", *corpus]
    expected = subprocess.run([str(here / "records_fuzz"), *arguments], capture_output=True, text=True, check=True)
    emulated = ["qemu-aarch64", str(there / "records_fuzz"), *arguments]
    found = subprocess.run(emulated, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr[-2000:]
    assert found.stdout == expected.stdout
    pool = subprocess.run(
        ["qemu-aarch64", str(there / "pool_check"), *corpus], capture_output=True, text=True, check=False
    )
    assert pool.returncode == 0, pool.stderr[-2000:]
