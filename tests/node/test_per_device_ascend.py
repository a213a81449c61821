"""One process per device: what is printed where, and how they end. Real processes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from danlu.node import per_device
from danlu.testing.waiting import wait_until


def start(folder: Path, line: str, *, num: int = 3, kill_after_seconds: float = 15.0) -> subprocess.Popen[str]:
    processes = [
        {"rank": rank, "log": str(folder / "logs" / f"rank-{rank}.txt"), "env": {"RANK_ID": str(rank)}}
        for rank in range(num)
    ]
    (folder / "processes.json").write_text(
        json.dumps({"kill_after_seconds": kill_after_seconds, "processes": processes})
    )
    command = [sys.executable, "-I", per_device.__file__, str(folder / "processes.json"), "--", "/bin/bash", "-c", line]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_lines_carry_their_rank_and_each_process_has_a_file(tmp_path: Path) -> None:
    out, _ = (started := start(tmp_path, "echo out $RANK_ID; printf last >&2")).communicate()
    assert started.returncode == 0
    assert sorted(out.splitlines()) == sorted(
        line for rank in range(3) for line in (f"[rank {rank}] out {rank}", f"[rank {rank}] last")
    )
    assert (tmp_path / "logs" / "rank-2.txt").read_text() == "out 2\nlast"


def test_the_first_failure_ends_all_with_its_code(tmp_path: Path) -> None:
    line = f"""
    if [ $RANK_ID = 1 ]; then until [ -e {tmp_path}/0 -a -e {tmp_path}/2 ]; do sleep 0.05; done; exit 9; fi
    trap 'echo saved; exit 0' TERM; touch {tmp_path}/$RANK_ID; sleep 3600 & wait
    """
    out, _ = (started := start(tmp_path, line)).communicate()
    assert started.returncode == 9
    assert sorted(out.splitlines()) == [
        "[rank 0] saved",
        "[rank 2] saved",
        "danlu: rank 1 ended with 9; the other processes of this node are ended",
    ]


def test_who_does_not_listen_is_killed(tmp_path: Path) -> None:
    line = "trap '' TERM; if [ $RANK_ID = 0 ]; then kill -KILL $$; fi; while :; do sleep 0.2; done"
    started = start(tmp_path, line, num=2, kill_after_seconds=0.5)
    started.communicate()
    assert started.returncode == 128 + 9


def test_a_stop_from_outside_is_not_repeated(tmp_path: Path) -> None:
    """The node signals every process of a task itself; the launcher waits for what they do about it."""
    line = f"trap 'echo twice' TERM; echo up; until [ -e {tmp_path}/go ]; do sleep 0.05; done; echo done"
    started = start(tmp_path, line, num=1)
    assert started.stdout is not None
    assert started.stdout.readline() == "[rank 0] up\n"
    started.terminate()
    pending = re.compile(r"^ShdPnd:\s*0+$", re.MULTILINE)
    wait_until(lambda: pending.search(Path(f"/proc/{started.pid}/status").read_text()))  # it has got it
    (tmp_path / "go").touch()
    out, _ = started.communicate()
    assert (started.returncode, out) == (0, "[rank 0] done\n")


@pytest.mark.parametrize(("word", "code"), [("no-such-program", 127), ("/", 126)])
def test_what_cannot_be_started_is_said(tmp_path: Path, word: str, code: int) -> None:
    (tmp_path / "processes.json").write_text(
        json.dumps({"kill_after_seconds": 1, "processes": [{"rank": 0, "log": str(tmp_path / "log"), "env": {}}]})
    )
    command = [sys.executable, "-I", per_device.__file__, str(tmp_path / "processes.json"), "--", word]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert done.stdout.startswith(f"danlu: {word}: ")
