"""How runs end for which nobody calls `finish`, in scripts as people write them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from danlu import journal
from danlu.journal import Kind
from danlu.track.folders import find_runs
from danlu.track.reading import open_journals

Python = Callable[..., "subprocess.Popen[str]"]

BEGIN = """
import asyncio, multiprocessing, sys, threading
from danlu import track
def start(name="mine"):
    run = track.start(name)
    run.log({"loss": 1})
"""
ASYNC = "async def main():\n    start()\n    await asyncio.sleep(0)\n"
WORKERS = """
def work(number):
    start(f"worker{number}")
    if number == 1:
        raise ValueError("no data")
    if number == 2:
        sys.exit(4)
if __name__ == "__main__":
    context = multiprocessing.get_context("METHOD")
    each = [context.Process(target=work, args=(number,)) for number in range(3)]
    for one in each:
        one.start()
    for one in each:
        one.join()
"""


def ends(folder: Path) -> dict[str, tuple[str, str]]:
    """Name of each run -> its state and reason, as its process wrote them."""
    found = {}
    for run in find_runs(str(folder / ".danlu")):
        for one in open_journals(run):
            frames = [frame for frame in journal.scan(one.data).frames if frame.kind == Kind.FINISH]
            if one.header["writer"] == "process":
                (said,) = map(journal.decode_json, frames)
                found[str(one.header["name"])] = (said["state"], said["reason"])
    return found


@pytest.mark.parametrize(
    ("script", "code", "end"),
    [
        ("start(); exit(5)", 5, ("failed", "sys.exit(5)")),
        ("start(); quit()", 0, ("finished", "")),
        (f"{ASYNC}    sys.exit(3)\nasyncio.run(main())", 3, ("failed", "sys.exit(3)")),
        (f"{ASYNC}    1 / 0\nasyncio.run(main())", 1, ("failed", "ZeroDivisionError: division by zero")),
        (
            f"{ASYNC}    sys.exit(3)\ntry:\n    asyncio.run(main())\nexcept SystemExit as error:\n    kept = error",
            0,
            ("finished", ""),
        ),
        ("start(); sys.excepthook = lambda *_: None; 1 / 0", 1, ("failed", "ZeroDivisionError: division by zero")),
        ("start()\ntry:\n    sys.exit(3)\nexcept SystemExit as error:\n    kept = error", 0, ("finished", "")),
    ],
)
def test_the_end_of_a_script_is_that_of_its_run(
    python: Python, tmp_path: Path, script: str, code: int, end: tuple[str, str]
) -> None:
    child = python(BEGIN + script)
    child.communicate()
    assert (child.returncode, ends(tmp_path)) == (code, {"mine": end})


RUDE = """
class Rude(Exception):
    def __str__(self):
        return 5
    def __repr__(self):
        raise ValueError("no repr")
class Broken:
    def link(self, run, kind): pass
    def finish(self): raise Rude
first, second = track.start("first"), track.start("second")
first.mark_output(Broken())
"""


@pytest.mark.parametrize(
    ("script", "end"),
    [
        ("raise Rude", ("failed", "Rude: <Rude: TypeError>")),
        ("sys.exit(Rude())", ("failed", "sys.exit(<Rude: ValueError>)")),
    ],
)
def test_an_exception_without_text_ends_all_runs(
    python: Python, tmp_path: Path, script: str, end: tuple[str, str]
) -> None:
    err = python(BEGIN + RUDE + script).communicate()[1]
    assert ends(tmp_path) == {"first": end, "second": end}
    assert "atexit" not in err


def test_a_thread_that_calls_sys_exit_ends_as_quietly_as_before(python: Python, tmp_path: Path) -> None:
    child = python(f"{BEGIN}start(); one = threading.Thread(target=sys.exit, args=(3,)); one.start(); one.join()")
    assert (child.communicate()[1], child.returncode) == ("", 0)
    assert ends(tmp_path) == {"mine": ("finished", "")}


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_of_multiprocessing_end_their_runs(python: Python, tmp_path: Path, method: str) -> None:
    child = python(BEGIN + WORKERS.replace("METHOD", method))
    child.communicate()
    assert ends(tmp_path) == {
        "worker0": ("finished", ""),
        "worker1": ("failed", "ValueError: no data"),
        "worker2": ("failed", "sys.exit(4)"),
    }
