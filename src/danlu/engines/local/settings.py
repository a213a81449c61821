"""What the local engine is told about its machine."""

from __future__ import annotations

import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple


class SimulatedDevices(NamedTuple):
    """Devices that are only counted: for tests and demonstrations on a machine without any."""

    type: str
    model: str
    num: int


@dataclass(frozen=True)
class LocalSettings:
    work_dir: Path
    """Folders of tasks: `<work_dir>/<job>/<attempt>/<rank>`. Hidden from all jobs but their own part of it."""

    hide: tuple[Path, ...] = ()
    """Further files and folders that no job may see, such as the database."""

    server_id: str = "default"
    """Tells this server's control groups from those of others on the machine. Letters, digits and dashes."""

    node_name: str = field(default_factory=socket.gethostname)
    python: Path = field(default_factory=lambda: Path(sys.executable))
    """What runs the shims; its prefix is visible in jobs, and first in their PATH."""

    show: tuple[Path, ...] = ()
    """Folders below hidden ones (a home) that jobs may read, such as a Python installation."""

    pass_env: tuple[str, ...] = ()
    """Names of the server's variables that jobs get too. Others never leave the server."""

    simulated_devices: Sequence[tuple[str, str, int]] = ()
    max_tasks: int = 0
    """Most tasks at a time; 0: four per core, at least 16."""

    use_sandbox: bool = True
    use_own_network: bool = True
    use_way_out: bool = True
    """Whether jobs with a network of their own can make connections to other machines."""

    use_own_uid: bool = True
    """Whether a server that is root gives each job a user id without rights. Needs the sandbox."""

    stage_in_patience_seconds: float = 600.0
    """How long a task waits for an unreachable server before its start is given up."""

    stage_out_patience_seconds: float = 3600.0
    use_seconds: float = 5.0
    """How often it is measured what a task uses; 0: never."""

    homes_dir: Path | None = None
    """Folders of people that outlive jobs: `<homes_dir>/<name>`. None: `.homes` in the work folder."""

    shared_dir: Path | None = None
    """Folders of projects that outlive jobs. None: `.shared` in the work folder."""

    @property
    def kept(self) -> Mapping[str, Path]:
        """Kind of mount -> where its folders are."""
        work_dir = self.work_dir.absolute()
        return {"home": self.homes_dir or work_dir / ".homes", "shared": self.shared_dir or work_dir / ".shared"}
