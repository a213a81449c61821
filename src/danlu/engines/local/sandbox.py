"""What a task sees of the machine, as arguments of bubblewrap. Reads the file system, changes nothing.

The root is an empty folder in memory; the machine's own folders are bound into it read-only, one by one, which leaves
room for /opt/ml and for inputs at any path. Steps are sorted by path: a deeper one is laid over a shallower one, so
hidden folders may hold shown ones, and the other way round.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

IMAGE_ROOT = "/run/danlu/root"
NOT_SHOWN = ("dev", "proc", "tmp", "run", "root", "home", "mnt", "media", "lost+found", "boot")
FIXED_HOMES = ("/root", "/home")
LEAST_UID_OF_PEOPLE = 1000
NOT_A_HOME = {
    "/",
    "/bin",
    "/dev",
    "/etc",
    "/lib",
    "/nonexistent",
    "/opt",
    "/proc",
    "/run",
    "/sbin",
    "/sys",
    "/usr",
    "/var",
}
DEVICE_FILES = {
    "gpu": (
        "/dev/nvidia{id}",
        ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset", "/dev/dri"),
    ),
    "npu": ("/dev/davinci{id}", ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc")),
}
DRIVER_FILES = (
    "/usr/local/Ascend/driver",
    "/usr/local/dcmi",
    "/usr/local/bin/npu-smi",
    "/etc/ascend_install.info",
    "/etc/hccn.conf",
)
"""What belongs to the machine's driver and is looked for in an image at the same path."""


@dataclass(frozen=True)
class Machine:
    """What does not change from task to task."""

    bwrap: str
    hidden: tuple[str, ...]
    shown: tuple[str, ...]
    """Folders that are read-only visible even where a parent is hidden. Init and its Python are among them."""


@dataclass(frozen=True)
class View:
    """What is particular to one task. Pairs are (path on the machine, path in the task)."""

    host: str
    writable: tuple[tuple[str, str], ...]
    readable: tuple[tuple[str, str], ...]
    device_type: str
    device_ids: tuple[int, ...]
    changes_uid: bool
    """Whether init gives the command another user id, and needs the right to."""

    image_root: str = ""
    """Where the files of the task's image are on the machine; empty without an image. Init then sees the machine, and
    the command the image, which is laid out at IMAGE_ROOT."""


@dataclass(frozen=True)
class _Step:
    path: str
    arguments: tuple[str, ...]


def wrap(machine: Machine, view: View) -> list[str]:
    """Return the command line that comes before init's."""
    targets = _targets(view)
    rights = [
        *(("CAP_SETUID", "CAP_SETGID", "CAP_KILL") if view.changes_uid else ()),
        *(("CAP_SYS_CHROOT",) if view.image_root else ()),
    ]
    return [
        machine.bwrap,
        *("--unshare-pid", "--unshare-uts", "--unshare-ipc", "--die-with-parent", "--as-pid-1"),
        *("--hostname", view.host),
        *("--cap-drop", "ALL"),
        *(word for right in rights for word in ("--cap-add", right)),
        *(word for step in _sorted(_steps(machine, view)) for word in step.arguments),
        *_devices(view),
        *(word for path in _closed(machine, targets) for word in ("--remount-ro", path)),
        "--",
    ]


def mount_points(view: View) -> tuple[list[str], list[str]]:
    """Folders and files that have to be in an image's root for everything to be laid over them."""
    laid = [(target, os.path.isdir(source)) for source, target in (*view.writable, *view.readable)]
    laid += [(path, os.path.isdir(path)) for path in DRIVER_FILES if os.path.exists(path)]
    folders = ["/proc", "/dev", "/tmp", "/var/tmp", "/run", *(target for target, is_folder in laid if is_folder)]
    return folders, [target for target, is_folder in laid if not is_folder]


def find_homes() -> tuple[str, ...]:
    """Return the home folders of people on this machine, and of whoever runs the server."""
    found = set(FIXED_HOMES) | {os.path.expanduser("~")}
    found |= {entry.pw_dir for entry in pwd.getpwall() if entry.pw_uid >= LEAST_UID_OF_PEOPLE}
    real = {os.path.realpath(home) for home in found} | found
    return tuple(sorted(home for home in real if home not in NOT_A_HOME and os.path.isdir(home)))


def _targets(view: View) -> list[str]:
    """Paths of the machine's own view that something is laid over: none where all of it goes into an image."""
    return [] if view.image_root else [target for _, target in (*view.writable, *view.readable)]


def _steps(machine: Machine, view: View) -> Iterable[_Step]:
    targets = _targets(view)
    yield from _parents((*targets, *machine.shown, *((IMAGE_ROOT,) if view.image_root else ())), machine.hidden)
    yield from _host_folders()
    yield from _opened(targets, machine.hidden)
    for path in ("/tmp", "/var/tmp"):
        if os.path.isdir(path):
            yield _Step(path, ("--perms", "1777", "--tmpfs", path))
    yield _Step("/run", ("--perms", "0755", "--tmpfs", "/run"))
    yield _Step("/proc", ("--proc", "/proc"))
    # bubblewrap 0.8 leaves it writable for uid 0 even without any capability
    yield _Step("/proc/sys", ("--ro-bind", "/proc/sys", "/proc/sys"))
    yield _Step("/dev", ("--dev", "/dev"))
    yield _Step("/dev/shm", ("--perms", "1777", "--tmpfs", "/dev/shm"))
    for path in machine.hidden:
        yield _hidden(path)
    for path in machine.shown:
        yield _Step(path, ("--ro-bind", path, path))
    resolver = os.path.realpath("/etc/resolv.conf")
    if resolver.startswith("/run/") and os.path.exists(resolver):
        yield _Step(resolver, ("--ro-bind", resolver, resolver))
    root = IMAGE_ROOT if view.image_root else ""
    if root:
        yield from _image_steps(view.image_root)
    for source, target in view.readable:
        yield _Step(f"{root}{target}", ("--ro-bind", source, f"{root}{target}"))
    for source, target in view.writable:
        yield _Step(f"{root}{target}", ("--bind", source, f"{root}{target}"))


def _image_steps(source: str) -> Iterable[_Step]:
    root = IMAGE_ROOT
    yield _Step(root, ("--ro-bind", source, root))
    for path in ("/tmp", "/var/tmp", "/dev/shm"):
        yield _Step(f"{root}{path}", ("--perms", "1777", "--tmpfs", f"{root}{path}"))
    yield _Step(f"{root}/run", ("--perms", "0755", "--tmpfs", f"{root}/run"))
    yield _Step(f"{root}/proc", ("--proc", f"{root}/proc"))
    yield _Step(f"{root}/proc/sys", ("--ro-bind", "/proc/sys", f"{root}/proc/sys"))
    yield _Step(f"{root}/dev", ("--dev", f"{root}/dev"))
    for path in DRIVER_FILES:
        if os.path.exists(path):
            yield _Step(f"{root}{path}", ("--ro-bind", path, f"{root}{path}"))


def _host_folders() -> Iterable[_Step]:
    for name in os.listdir("/"):
        path = f"/{name}"
        if name in NOT_SHOWN:
            continue
        if os.path.islink(path):
            yield _Step(path, ("--symlink", os.readlink(path), path))
        elif os.path.isdir(path):
            yield _Step(path, ("--ro-bind", path, path))


def _parents(paths: Iterable[str], hidden: Sequence[str]) -> Iterable[_Step]:
    """Folders in memory that lead to a path. Named one by one: those that bubblewrap adds by itself are 0700."""
    for path in paths:
        for parent in Path(path).parents[:-1]:
            if _is_bare(str(parent), hidden) or not parent.exists():
                yield _Step(str(parent), ("--perms", "0755", "--dir", str(parent)))


def _hidden(path: str) -> _Step:
    if os.path.isdir(path):
        return _Step(path, ("--perms", "0755", "--tmpfs", path))
    return _Step(path, ("--ro-bind", os.devnull, path))


def _opened(targets: Sequence[str], hidden: Sequence[str]) -> Iterable[_Step]:
    """Make room for targets in folders that exist on the machine: a folder in memory that shows the same children."""
    opened: set[str] = set()
    for target in targets:
        for parent in reversed(Path(target).parents):
            path = str(parent)
            if path in opened or path == "/" or not os.path.isdir(path) or _is_bare(path, hidden):
                continue
            if os.path.exists(target) and not os.path.isdir(target):
                break  # a single file can be laid over another as it is
            opened.add(path)
            yield _Step(path, ("--tmpfs", path))
            for name in os.listdir(path):
                yield from _same(os.path.join(path, name))


def _closed(machine: Machine, targets: Sequence[str]) -> Iterable[str]:
    """Folders in memory in which nothing is to be written; what is bound into them stays as it is."""
    opened = [step.path for step in _opened(targets, machine.hidden) if step.arguments[0] == "--tmpfs"]
    folders = [path for path in machine.hidden if os.path.isdir(path)]
    return sorted({"/", "/run", *opened, *folders} - set(targets))


def _is_bare(path: str, hidden: Sequence[str]) -> bool:
    """Whether nothing of the machine is shown here, so that any target can be made."""
    return path.split("/")[1] in NOT_SHOWN or any(path == one or path.startswith(f"{one}/") for one in hidden)


def _same(path: str) -> Iterable[_Step]:
    if os.path.islink(path):
        yield _Step(path, ("--symlink", os.readlink(path), path))
    elif os.path.exists(path):
        yield _Step(path, ("--ro-bind", path, path))


def _sorted(steps: Iterable[_Step]) -> list[_Step]:
    """Shallow before deep; of two steps at one path the later one counts."""
    last = {step.path: step for step in steps}
    return sorted(last.values(), key=lambda step: (step.path.count("/"), step.path))


def _devices(view: View) -> Iterable[str]:
    if view.device_type not in DEVICE_FILES:
        return
    each, common = DEVICE_FILES[view.device_type]
    root = IMAGE_ROOT if view.image_root else ""
    for path in (*(each.format(id=number) for number in view.device_ids), *common):
        yield from ("--dev-bind-try", path, f"{root}{path}")
