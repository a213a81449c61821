"""Loaders and data sets in forked and spawned processes: they work there or say what to do, and end quietly."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from danlu.testing.waiting import HANG_SECONDS

HEAD = """
import os, sys
import torch
from danlu_accel.records import IndexTFRDataset, LoaderOptions, Recipe, RecordLoader, StaleIterator
torch.set_num_threads(1)

def transform(picture):
    return torch.tensor(picture.size)

RECIPE = Recipe(height=24, width=32, flip_probability=0.5)
place, index, cache = sys.argv[1:4]

def make(how):
    return RecordLoader(place, index, how, batch_size=4, options=LoaderOptions(cache_dir=cache, prefetch=3))

def sums(loader):
    loader.set_epoch(1)
    loader.set_epoch(0)
    return [float(images.double().sum()) for images, _ in loader]
"""


def run(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", HEAD + code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANG_SECONDS)


FORK = """
loader = make({how})
expected = sums(loader)
iterator = iter(loader)
next(iterator)                      # batches are under way
child = os.fork()
if child == 0:
    try:
        next(iterator)
    except StaleIterator as error:
        print("stale:", error)
    del iterator
    print("same:", sums(loader) == expected)
    sys.exit(3)                     # an ordinary end, with everything that Python does then
_, status = os.waitpid(child, 0)
assert len(list(iterator)) == len(loader) - 1
print("child ended with", os.waitstatus_to_exitcode(status))
"""


class TestFork:
    @pytest.mark.parametrize("how", ["RECIPE", "transform"])
    @pytest.mark.parametrize("is_remote", [False, True])
    def test_a_used_loader_works_in_the_child(
        self,
        packed: Callable[..., Path],
        http_folder: Callable[..., str],
        tmp_path: Path,
        how: str,
        is_remote: bool,
    ) -> None:
        path = packed(20, shards=5)
        place = http_folder(path.parent) if is_remote else path.parent
        done = run(FORK.format(how=how), place, path.name, tmp_path / "c")
        assert done.returncode == 0, done.stderr
        assert "stale: this iteration began in another process" in done.stdout
        assert "same: True" in done.stdout
        assert "child ended with 3" in done.stdout
        assert done.stderr == ""

    def test_a_remote_loader_fetches_in_the_child_what_the_parent_has_not(
        self, packed: Callable[..., Path], http_folder: Callable[..., str], tmp_path: Path
    ) -> None:
        path = packed(40, shards=20)
        code = """
loader = make(RECIPE)
next(iter(loader))
if os.fork() == 0:
    print("child has", len(sums(loader)))
    sys.exit(0)
os.wait()
"""
        done = run(code, http_folder(path.parent), path.name, tmp_path / "c")
        assert (done.stdout, done.stderr, done.returncode) == ("child has 10\n", "", 0)

    def test_a_fork_while_a_pool_starts_its_threads(self, packed: Callable[..., Path], tmp_path: Path) -> None:
        """Each thread sets torch's number of threads under a lock when it starts."""
        path = packed(20, shards=5)
        code = """
import threading
from danlu_accel.records import python_threads

is_held, forks = threading.Event(), threading.Event()

def start() -> None:
    with python_threads._changing:
        is_held.set()
        forks.wait(0.2)             # the fork waits for this thread, or happens meanwhile

threading.Thread(target=start).start()
is_held.wait()
child = os.fork()
if child == 0:
    print("child has", len(sums(make(transform))))
    sys.exit(0)
forks.set()
os.waitpid(child, 0)
print("parent has", len(sums(make(transform))))
"""
        done = run(code, path.parent, path.name, tmp_path / "c")
        assert (done.stdout, done.stderr, done.returncode) == ("child has 5\nparent has 5\n", "", 0)


class TestSpawn:
    def test_workers_end_without_a_word(self, packed: Callable[..., Path], tmp_path: Path) -> None:
        path = packed(8)
        script = tmp_path / "script.py"
        script.write_text(
            HEAD
            + """
if __name__ == "__main__":
    dataset = IndexTFRDataset(place, index, RECIPE)
    dataset[0]
    loader = torch.utils.data.DataLoader(dataset, 2, num_workers=2, multiprocessing_context="spawn")
    assert len(list(loader)) == 4
"""
        )
        command = [sys.executable, str(script), str(path.parent), path.name, str(tmp_path / "c")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANG_SECONDS)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
