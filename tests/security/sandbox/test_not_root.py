"""The same for a server that is not root: its jobs are the same user as it is, so the sandbox alone is between them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

UID = 12345
ATTACKS = r"""
import json, os, sys, tempfile
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.security.sandbox.calls import FORBIDDEN
from tests.security.sandbox.test_first_process import LOOK_INSIDE
from tests.security.sandbox.test_limits import FORK_BOMB
from danlu.engines.local import LocalEngine
from danlu.engines.settings import EngineSettings
from danlu.launch import Owner
from danlu.spec.states import TASK_ENDS
from danlu.testing.engines import Starter
folder = Path(sys.argv[1])
settings = EngineSettings(work_dir=folder / "work", server_id="not-root", homes_dir=folder / "homes",
                          shared_dir=folder / "shared", max_processes=64, max_disk_bytes=8 << 20)
secret = folder / "database"
secret.write_text("the database")
engine = LocalEngine(settings)
(node,) = engine.nodes()
found = {"missing": list(node.missing), "has_sandbox": node.has_sandbox}
if node.has_sandbox:
    starter = Starter(engine, owner=Owner("mallory", "red", 2), owner_id=66)
    def run(command, **fields):
        try:
            job = starter.start(command, **fields)
        except Exception as error:
            return "refused: " + str(error)
        (seen,) = job.wait()
        return [job.log(), seen.reason]
    rights = "'^(Cap(Inh|Prm|Eff|Amb)|NoNewPrivs|Seccomp:)'"
    found["rights"] = run(f"id -u; grep -hE {rights} /proc/1/status /proc/self/status")
    found["calls"] = run(["python3", "-c", FORBIDDEN])
    found["inside"] = run(["python3", "-c", LOOK_INSIDE])
    found["bomb"] = run(["python3", "-c", FORK_BOMB])
    found["disk"] = run("n=0; while :; do n=$((n+1)); head -c 1048576 /dev/zero > f$n || exit; sleep 0.02; done")
    found["files"] = run(f"cat {secret}; ls {folder}/work {folder}/homes; ls /proc | grep -c '^[0-9]'")
    found["link"] = run(f"ln -sfn /oldroot{folder} ~/door; ln -sfn {folder} ~/door2", contract="apulis")
    for door in ("door", "door2"):
        found[door] = run("true", contract="apulis", data={"store://evil/x": f"/home/mallory/{door}/made"})
    starter.clean_up()
found["left"] = sorted(os.listdir(folder))
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found() -> Iterator[dict[str, Any]]:
    """What all attacks came to, tried by one process of another user."""
    if os.geteuid() != 0:
        pytest.skip("needs to be root, to become somebody who is not")
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to other users
        yield _attack(Path(folder))


def _attack(folder: Path) -> dict[str, Any]:
    folder.chmod(0o755)
    place = folder / "data"
    place.mkdir()
    os.chown(place, UID, UID)
    (folder / "attacks.py").write_text(ATTACKS)
    argv = [sys.executable, str(folder / "attacks.py"), str(place), str(Path(__file__).parents[3])]
    done = subprocess.run(as_another_user(argv, folder), capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    if not answer["has_sandbox"]:
        pytest.skip(str(answer["missing"]))
    return answer


def as_another_user(argv: list[str], folder: Path, *, mounted: Mapping[str, str] = {}) -> list[str]:
    """Words that run a command as UID. A Python in a home that is closed is shown to it in a mount namespace.

    `mounted`: folder -> where the command sees it too.
    """
    (folder / "home").mkdir()
    home = Path(os.path.realpath(sys.executable)).parts[1]
    top = f"/{home}"
    lines = ['exec setpriv --reuid 12345 --regid 12345 --clear-groups env HOME=/tmp LANG=C.UTF-8 PATH=$PATH "$@"']
    if not os.stat(top).st_mode & 0o001:
        inside = "/".join(Path(os.path.realpath(sys.executable)).parts[1:3])
        lines = [
            f"mount --bind /{inside} {folder}/home",
            f"mount -t tmpfs -o mode=755 none {top}",
            f"mkdir -p /{inside}",
            f"mount --move {folder}/home /{inside}",
            *lines,
        ]
    lines = [*(f"mount --bind {source} {target}" for source, target in mounted.items()), *lines]
    script = "set -e\n" + "\n".join(lines)
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *argv]


def test_init_and_job_have_no_rights(found: dict[str, Any]) -> None:
    log, _ = found["rights"]
    uid, *lines = log.splitlines()
    assert uid == str(UID)
    expected = [f"Cap{name}:\t{0:016x}" for name in ("Inh", "Prm", "Eff", "Amb")] + ["NoNewPrivs:\t1", "Seccomp:\t2"]
    assert lines == expected * 2


def test_system_calls_are_filtered(found: dict[str, Any]) -> None:
    """Above all new user namespaces, by which a job of anybody could have had capabilities."""
    log, _ = found["calls"]
    assert "unshare(NEWUSER) EPERM" in log
    assert "allowed" not in log


def test_the_job_cannot_look_into_init(found: dict[str, Any]) -> None:
    assert found["inside"] == ["to the end\n", ""]


def test_a_fork_bomb_has_an_end(found: dict[str, Any]) -> None:
    log, _ = found["bomb"]
    assert log.startswith("refused after "), log
    assert int(log.split()[2]) <= 64


def test_the_disk_is_limited(found: dict[str, Any]) -> None:
    _, reason = found["disk"]
    assert reason == "disk_limit"


def test_files_and_processes_of_the_server_are_not_seen(found: dict[str, Any]) -> None:
    log, _ = found["files"]
    assert "the database" not in log
    assert int(log.splitlines()[-1]) < 8


def test_no_link_leads_out(found: dict[str, Any]) -> None:
    for door in ("door", "door2"):
        assert "which outlives the job" in str(found[door])
    assert found["left"] == ["database", "homes", "shared", "work"]
