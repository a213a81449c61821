"""docs/guide/cluster.md from nothing to a two-node job: each command as it is written, on three machines.

The machines share this kernel. Each has a network, an address, /tmp, /etc and /opt of its own. The only command that is
replaced is the one that installs Danlu: the environment of the tests is put there.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.guides.test_docs import ROOT, blocks_of

from danlu.testing.machines import Machines, can_make_machines
from danlu.testing.waiting import wait_until

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not can_make_machines(), reason="making machines needs root and iproute2"),
]

PAGE = ROOT / "docs" / "guide" / "cluster.md"
INSTALL = "python3 -m venv /opt/danlu && /opt/danlu/bin/pip install 'danlu[ray]' torch"
LINK = "'http://10.0.0.10:8400/signin?token=...'"
FIRST, OTHERS = "first", ("second", "third")
MAX_COMMANDS = 10
BOOT = """
ip route add default via 10.0.0.1  # it leads nowhere, but Ray asks for it to find its own address
mount --make-rprivate /
mount --bind "$0" /mnt
mount -t tmpfs none /tmp && chmod 1777 /tmp
for folder in /etc /opt; do
  mkdir -p /tmp/.over$folder/upper /tmp/.over$folder/work
  mount -t overlay -o lowerdir=$folder,upperdir=/tmp/.over$folder/upper,workdir=/tmp/.over$folder/work none $folder
done
mkdir /tmp/home
touch "/mnt/$1.up"
exec sleep infinity
"""
ENV = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp/home", "LANG": "C.UTF-8"}


class Shells:
    """Shells on the machines; what commands say is in a file per machine."""

    def __init__(self, machines: Machines, shared: Path) -> None:
        self._machines, self._shared = machines, shared
        self._holders: dict[str, int] = {}
        for name in machines.addresses:
            boot = ["unshare", "--mount", "bash", "-ec", BOOT, str(shared), name]
            self._holders[name] = machines.start(name, boot, env=ENV)
        wait_until(lambda: all((shared / f"{name}.up").exists() for name in machines.addresses))

    def start(self, name: str, script: str) -> int:
        inside = ["nsenter", f"--mount=/proc/{self._holders[name]}/ns/mnt", "bash", "-ec"]
        return self._machines.start(name, [*inside, f"exec >> /mnt/{name}.log 2>&1\n{script}"], env=ENV)

    def run(self, name: str, script: str) -> None:
        try:
            self._machines.wait(self.start(name, script))
        except RuntimeError as error:
            raise AssertionError(f"{name}: {script}\n{self.said(name)}") from error

    def said(self, name: str) -> str:
        return (self._shared / f"{name}.log").read_text(errors="replace")


@pytest.fixture
def shells() -> Iterator[Shells]:
    folder = Path(tempfile.mkdtemp(prefix="guide-", dir="/tmp"))
    with Machines((FIRST, *OTHERS), folder / "machines.log", network="10.0.0.") as machines:
        yield Shells(machines, folder)
    shutil.rmtree(folder, ignore_errors=True)


def test_three_machines_from_nothing_to_a_job_on_two(shells: Shells) -> None:
    section = PAGE.read_text().partition("## What to know")[0]
    blocks = [block.text for block in blocks_of(PAGE) if block.language == "sh" and block.text in section]
    everywhere, head, worker, up, use = blocks
    assert sum(len(block.splitlines()) for block in blocks) <= MAX_COMMANDS
    assert INSTALL in everywhere
    environment = Path(sys.executable).parents[1]
    prepare = everywhere.replace(INSTALL, f"mkdir -p /opt/danlu && mount --bind {environment} /opt/danlu")
    (shell,) = (line for line in everywhere.splitlines() if line.startswith("export "))
    for name in (FIRST, *OTHERS):
        shells.run(name, prepare)
    shells.run(FIRST, f"{shell}\n{head}")
    for name in OTHERS:
        shells.run(name, f"{shell}\n{worker}")
    shells.start(FIRST, f"{shell}\n{up}")
    link = wait_until(
        lambda: re.search(r"http://10\.0\.0\.10:8400/signin\?token=\S+", shells.said(FIRST)), lambda: shells.said(FIRST)
    )
    assert link is not None
    assert LINK in use
    shells.run(FIRST, use.replace(LINK, f"'{link[0]}'"))
    said = shells.said(FIRST)
    assert {"10.0.0.11", "10.0.0.12"} == set(re.findall(r"hello from (\S+)", said)), said
