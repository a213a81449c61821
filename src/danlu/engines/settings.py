"""What an engine is set up with: one object, from the server's settings down to the code that starts tasks."""

from __future__ import annotations

import socket
import sys
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

from danlu.spec.devices import DeviceRequest
from danlu.spec.units import parse_device


class EngineOptions(BaseModel):
    """What an operator can set. Part of the server's settings; `docs/reference/settings.md` is made from it."""

    model_config = ConfigDict(frozen=True)

    sandbox: bool = True
    """Run tasks in bubblewrap where it works. Without, jobs see the machine."""

    own_network: bool = True
    """Give every attempt a network of its own where that works."""

    host_network: bool = False
    """Let jobs use the network of their nodes (`network: host`), for RDMA and full speed. Such a job reaches whatever
    listens on the node, and others reach what it listens on."""

    seccomp: bool = True
    """Refuse system calls that jobs have no use for (mounts, namespaces, tracing). Off: debuggers work in jobs."""

    max_processes: int = Field(default=16384, ge=16)
    """Maximum number of processes and threads of a task."""

    max_memory_bytes: int = Field(default=0, ge=0)
    """Memory limit of tasks without `resources.memory`; 0: nine tenths of the machine's."""

    max_disk_bytes: int = Field(default=0, ge=0)
    """Maximum disk space of a task, inputs included; 0: nine tenths of what is free when it starts."""

    simulate: tuple[str, ...] = ()
    """Simulated devices, such as npu:910b:8, to try things without hardware."""

    homes_dir: Path | None = None
    """Home folders of people, which outlive jobs (`contract: apulis`); `homes` in the data folder when omitted. With
    several machines it has to be a path that all of them mount."""

    shared_dir: Path | None = None
    """Folders that the jobs of a project share as `/data` (`contract: apulis`); `shared` in the data folder when
    omitted. With several machines it has to be a path that all of them mount."""

    max_tasks: int = Field(default=0, ge=0)
    """Maximum number of concurrent tasks on this machine; 0: four per core, at least 16."""

    input_cache_bytes: int = Field(default=0, ge=0)
    """Most bytes of inputs that this machine keeps for each person, so that several tasks fetch a file once; 0: nothing
    is kept. Worth it where the object store is far away: a kept input takes its space twice."""

    input_networks: str = ""
    """Networks, separated by commas, that inputs (`https://`, `s3://` in `data`) may be fetched from beside public
    addresses, such as 10.1.0.0/16. None when omitted: jobs would reach services of the nodes and their networks."""

    max_input_bytes: int = Field(default=200 << 30, ge=0)
    """Most bytes of one file that is fetched from an `https://` or `s3://` address; 0: any amount."""

    input_ca_file: Path | None = None
    """Certificates (PEM) that `https://` and `s3://` inputs may have beside those that the nodes trust."""

    environment_bytes: int = Field(default=100 << 30, ge=0)
    """Most bytes of environments (`requirements` of jobs) that this machine keeps; the least recently used are removed
    first, and none that a job uses. 0: any amount."""

    image_bytes: int = Field(default=100 << 30, ge=0)
    """Most bytes of unpacked images that this machine keeps; the least recently used are removed first, and none that a
    job uses. 0: any amount."""

    cdi_dirs: tuple[Path, ...] = (Path("/etc/cdi"), Path("/var/run/cdi"))
    """Folders of CDI files, as NVIDIA's and Huawei's container toolkits write them: they name the files of device
    drivers that jobs with an image are given."""

    uv: bool = True
    """Install `requirements` of jobs with uv where it is found. Off: with pip."""

    pythons: tuple[Path, ...] = ()
    """Interpreters that jobs can ask for (`python: '3.12'`), besides those in the server's PATH. Their folders are
    visible in jobs. Names end with the version, as in /opt/python/bin/python3.12."""

    usage_seconds: float = Field(default=5.0, ge=0, le=3600)
    """Interval between measurements of resource usage (cores, memory, bytes read and written); 0: off."""

    ray_address: str = Field(default="", pattern=r"^([^/\s]+:\d+)?$")
    """HOST:PORT of the head of the Ray cluster that jobs run on (engine `ray`). This machine must be a node of it."""

    insecure_ray: bool = False
    """Use a Ray cluster without token authentication: whoever reaches it runs any code on its nodes."""

    lease_seconds: float = Field(default=300.0, ge=10.0, le=86400.0)
    """How long a task on a Ray cluster runs on without word from the cluster's head. Then it stops, and only after that
    it is started elsewhere. A head must be back within this time."""

    node_dir: Path | None = None
    """Folder for tasks on the nodes of a cluster; `~/.danlu/nodes` of whoever runs Ray there when omitted."""

    @field_validator("input_networks")
    @classmethod
    def _are_networks(cls, text: str) -> str:
        for part in filter(None, map(str.strip, text.split(","))):
            ip_network(part)
        return text

    @field_validator("simulate")
    @classmethod
    def _are_devices(cls, simulate: tuple[str, ...]) -> tuple[str, ...]:
        for text in simulate:
            parse_device(text)
        return simulate

    @property
    def simulated(self) -> tuple[DeviceRequest, ...]:
        return tuple(parse_device(text) for text in self.simulate)


class EngineSettings(EngineOptions):
    """What an operator set, and what the server knows besides."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    work_dir: Path
    """Folders of tasks: `<work_dir>/<job>/<attempt>/<rank>`. Hidden from all jobs but their own part of it."""

    hide: tuple[Path, ...] = ()
    """Further files and folders that no job may see, such as the database."""

    server_id: str = "default"
    """Tells this server's control groups from those of others on the machine. Letters, digits and dashes."""

    node_name: str = Field(default_factory=socket.gethostname)
    python: Path = Field(default_factory=lambda: Path(sys.executable))
    """What runs the shims; its prefix is visible in jobs, and first in their PATH."""

    show: tuple[Path, ...] = ()
    """Folders below hidden ones (a home) that jobs may read, such as a Python installation."""

    pass_env: tuple[str, ...] = ()
    """Names of the server's variables that jobs get too. Others never leave the server."""

    way_out: bool = True
    """Whether jobs with a network of their own can make connections to other machines."""

    own_uid: bool = True
    """Whether a server that is root gives each person's jobs a user id without rights. Needs the sandbox."""

    task_lease_seconds: float = 0.0
    """How long a task runs without its lease being renewed; 0: it has none. Set on the nodes of a cluster."""

    stage_in_patience_seconds: float = 600.0
    """How long a task waits for an unreachable server before its start is given up."""

    stage_out_patience_seconds: float = 3600.0

    @property
    def environments_dir(self) -> Path:
        """Packages that jobs require: see `danlu.node.environment.kept`."""
        return self.work_dir.absolute() / ".environments"

    @property
    def lease_file(self) -> Path:
        return self.work_dir.absolute() / ".lease"

    @property
    def closed_file(self) -> Path:
        """Addresses of machines that jobs do not reach, one per line. Grows while jobs run."""
        return self.work_dir.absolute() / ".closed"

    @property
    def kept(self) -> Mapping[str, Path]:
        """Kind of mount -> where its folders are; in the work folder when not set."""
        work_dir = self.work_dir.absolute()
        return {"home": self.homes_dir or work_dir / ".homes", "shared": self.shared_dir or work_dir / ".shared"}
