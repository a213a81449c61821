"""Files of the machine's device drivers that a job in an image needs: libraries, tools and additional device files.

They are listed in CDI files (Container Device Interface), which NVIDIA's and Huawei's container toolkits write. Without
a CDI file for a type of device, the usual paths of its driver are searched.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

KINDS = {"gpu": ("nvidia.com/gpu",), "npu": ("huawei.com/npu", "huawei.com/ascend")}
"""Type of device -> its kinds in CDI files."""

ASCEND_FILES = (
    "/usr/local/Ascend/driver",
    "/usr/local/dcmi",
    "/usr/local/bin/npu-smi",
    "/etc/ascend_install.info",
    "/etc/hccn.conf",
)
NVIDIA_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/local/nvidia/lib64",
    "/usr/lib/wsl/lib",
)
NVIDIA_LIBRARIES = ("libcuda.so*", "libcudadebugger.so*", "libnvidia-*.so*", "libnvcuvid.so*")
NVIDIA_PROGRAMS = ("/usr/bin/nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi")
MAX_FILE_BYTES = 16 << 20
_LINKS = ("bin", "sbin", "lib", "lib32", "lib64")
"""Symlinks into /usr in most images. A folder mounted over the link would hide all of its content."""

_NOT_LAID = ("dev", "proc", "sys", "tmp", "run")


@dataclass(frozen=True)
class Drivers:
    files: Mapping[str, str] = field(default_factory=dict)
    """Path in the task -> resolved path on the machine (no symlink)."""

    devices: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def libraries(self) -> tuple[str, ...]:
        """Folders in the task with driver libraries, for images whose own library path does not include them."""
        return tuple(dict.fromkeys(os.path.dirname(path) for path in self.files if ".so" in os.path.basename(path)))


def find_drivers(device_type: str, device_ids: Sequence[int], *, cdi_dirs: Iterable[Path]) -> Drivers:
    """Return the driver files, devices and variables that a task with these devices needs."""
    found = list(_edits(KINDS.get(device_type, ()), set(map(str, device_ids)), cdi_dirs)) if device_ids else []
    if found:
        return _from_cdi(found)
    if device_type == "gpu" and device_ids:
        return Drivers({path: os.path.realpath(path) for path in _nvidia_files()})
    return Drivers({path: os.path.realpath(path) for path in ASCEND_FILES if os.path.exists(path)})


def _edits(kinds: Sequence[str], names: set[str], folders: Iterable[Path]) -> Iterator[Mapping[str, Any]]:
    """Yield the edits of CDI files for all devices of a kind, and for the devices with these names."""
    for path in (path for folder in folders for path in sorted(folder.glob("*"))):
        described = _read(path)
        if str(described.get("kind")).lower() not in kinds:
            continue
        yield _mapping(described.get("containerEdits"))
        for device in _list(described.get("devices")):
            if str(_mapping(device).get("name")) in names:
                yield _mapping(_mapping(device).get("containerEdits"))


def _read(path: Path) -> Mapping[str, Any]:
    try:
        if path.suffix not in (".json", ".yaml", ".yml") or path.stat().st_size > MAX_FILE_BYTES:
            return {}
        text = path.read_text()
        return _mapping(json.loads(text) if path.suffix == ".json" else yaml.safe_load(text))
    except (OSError, ValueError, yaml.YAMLError):
        return {}  # being written right now, or not a CDI file


def _from_cdi(edits: Sequence[Mapping[str, Any]]) -> Drivers:
    files: dict[str, str] = {}
    devices: list[str] = []
    env: dict[str, str] = {}
    for edit in edits:
        for mount in map(_mapping, _list(edit.get("mounts"))):
            files.update(_laid(str(mount.get("hostPath", "")), str(mount.get("containerPath", ""))))
        devices += [str(_mapping(node).get("path", "")) for node in _list(edit.get("deviceNodes"))]
        for name, equals, value in (str(line).partition("=") for line in _list(edit.get("env"))):
            if equals:
                env[name] = value
    env.pop("NVIDIA_VISIBLE_DEVICES", None)  # selects devices for NVIDIA's runtime hook, which is not used here
    return Drivers(files, tuple(path for path in dict.fromkeys(devices) if path.startswith("/dev/")), env)


def _laid(source: str, target: str) -> Mapping[str, str]:
    """Map a file of the machine into the task, under its own name and under its symlinks' names.

    Container toolkits would create these symlinks (libcuda.so.1) by running ldconfig in the container.
    """
    target = _in_usr(target)
    if not os.path.isabs(source) or not os.path.exists(source) or not target:
        return {}
    real = os.path.realpath(source)
    found = {target: real}
    if ".so" in os.path.basename(source):
        folder = os.path.dirname(source)
        stem = os.path.basename(source).partition(".so")[0]
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if name.startswith(f"{stem}.so") and os.path.islink(path) and os.path.realpath(path) == real:
                found[os.path.join(os.path.dirname(target), name)] = real
    return found


def _in_usr(path: str) -> str:
    """Return the path to mount at, with links to /usr resolved; empty when nothing may be mounted there."""
    if not os.path.isabs(path) or os.path.normpath(path) != path:
        return ""
    top = path.split("/")[1]
    if top in _NOT_LAID or path.count("/") < 2:
        return ""
    return f"/usr{path}" if top in _LINKS else path


def _nvidia_files() -> Iterator[str]:
    for folder in NVIDIA_FOLDERS:
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            if any(fnmatchcase(name, pattern) for pattern in NVIDIA_LIBRARIES):
                yield os.path.join(folder, name)
    yield from (path for path in NVIDIA_PROGRAMS if os.path.exists(path))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
