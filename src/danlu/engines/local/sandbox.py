"""What a task sees of the machine, as arguments of bubblewrap. Reads the file system, changes nothing.

Bubblewrap lays one thing over another in the order of its arguments, as root when the server is. There are three
rounds, and nothing of a later one is laid inside of a folder that a user can write to:

    1. the machine      an empty root in memory; folders of the machine, read-only, one by one; hidden ones empty
    2. the task         its own folders, its inputs, folders that outlive it
    3. what runs it     init and its Python, /proc, /dev, names and devices

So no path leads through a folder in which a user could have left a link, and nothing of a user's lies over what runs
with rights: `wrap` refuses both (docs/decisions/0106).
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from danlu.engines.local.drivers import Drivers
from danlu.errors import Unsupported
from danlu.launch.targets import ONLY_BELOW, is_below

IMAGE_ROOT = "/run/danlu/root"
IMAGE_FOLDERS = ("/proc", "/dev", "/tmp", "/var/tmp", "/run")
"""What every image has to have a place for."""

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
    root: str
    """The folder of the task: the one that may lie in a folder of the machine, whose other children stay visible."""

    writable: tuple[tuple[str, str], ...]
    """Everything that the job, or its owner before it, may have written to."""

    readable: tuple[tuple[str, str], ...]
    device_type: str
    device_ids: tuple[int, ...]
    changes_uid: bool
    """Whether init becomes another user, and needs the right to."""

    image_root: str = ""
    """Where the files of the task's image are on the machine; empty without an image. They are laid out at IMAGE_ROOT,
    and init makes that its root."""

    drivers: Drivers = field(default_factory=Drivers)
    """What the image is given of the machine's drivers."""


@dataclass(frozen=True)
class _Step:
    path: str
    arguments: tuple[str, ...]


def wrap(machine: Machine, view: View) -> list[str]:
    """Return the command line that comes before init's. Raise Unsupported for what cannot be laid out safely."""
    _check(machine, view)
    rights = [
        *(("CAP_SETUID", "CAP_SETGID") if view.changes_uid else ()),
        *(("CAP_SYS_CHROOT",) if view.image_root else ()),
    ]
    rounds = (_of_machine(machine, view), _of_task(view), _of_what_runs_it(machine, view))
    return [
        machine.bwrap,
        *("--unshare-pid", "--unshare-uts", "--unshare-ipc", "--die-with-parent", "--as-pid-1"),
        *("--hostname", view.host, "--chdir", "/"),
        *("--cap-drop", "ALL"),
        *(word for right in rights for word in ("--cap-add", right)),
        *(word for steps in rounds for step in _sorted(steps) for word in step.arguments),
        *_devices(view),
        *(word for path in _closed(machine, view) for word in ("--remount-ro", path)),
        "--",
    ]


def laid_over_image(view: View) -> dict[str, str]:
    """Return path in the task -> what is laid there, for everything that an image's root has to have a place for."""
    return {**view.drivers.files, **{target: source for source, target in (*view.writable, *view.readable)}}


def is_seen(machine: Machine, path: str) -> bool:
    """Whether a task finds a program of the machine at its path."""
    real = os.path.realpath(path)
    if any(is_below(real, shown) for shown in machine.shown):
        return True
    return _top(real) not in NOT_SHOWN and not any(is_below(real, hidden) for hidden in machine.hidden)


def outermost(hidden: Sequence[str], shown: Sequence[str]) -> tuple[str, ...]:
    """Return what has to be hidden by itself. To hide what is hidden with a folder around it would tell its name."""
    return tuple(
        path
        for path in dict.fromkeys(hidden)
        if not any(
            path != outer
            and is_below(path, outer)
            and not any(is_below(path, one) and is_below(one, outer) for one in shown)
            for outer in hidden
        )
    )


def find_homes() -> tuple[str, ...]:
    """Return the home folders of people on this machine, and of whoever runs the server."""
    found = set(FIXED_HOMES) | {os.path.expanduser("~")}
    found |= {entry.pw_dir for entry in pwd.getpwall() if entry.pw_uid >= LEAST_UID_OF_PEOPLE}
    real = {os.path.realpath(home) for home in found} | found
    return tuple(sorted(home for home in real if home not in NOT_A_HOME and os.path.isdir(home)))


def _check(machine: Machine, view: View) -> None:
    """Refuse what would lead through a folder that a user can write to, or lie over what runs with rights."""
    targets = [target for _, target in view.writable]
    trusted = [*(target for _, target in view.readable), *view.drivers.files]
    for target in (*targets, *trusted):
        if os.path.normpath(f"/{target.lstrip('/')}") != target or target == "/":
            raise Unsupported(f"{target!r} is not an absolute path in its normal form")
    for target in targets:
        if target in ONLY_BELOW or (target != view.root and _top(target) in _SYSTEM_TOPS):
            raise Unsupported(f"{target!r} lies in a folder of the system; expected another path")
        for inner in (*targets, *trusted):
            if target != inner and is_below(inner, target):
                raise Unsupported(f"{inner!r} lies in {target!r}, which the job can write to; expected another path")
        for path in machine.shown if not view.image_root else ():
            if is_below(target, path) or is_below(path, target):
                raise Unsupported(
                    f"{target!r} cannot be given to a job on this node: Danlu's Python, or a folder that all jobs see, "
                    f"is at {path!r}; expected another path, or Danlu installed somewhere else"
                )


_SYSTEM_TOPS = {
    *("bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "opt", "proc", "root", "run", "sbin", "sys"),
    *("usr", "var"),
}
"""Where no input is ever laid. The allow-list of the launch contract has none of them (`launch/targets.py`)."""


def _of_machine(machine: Machine, view: View) -> Iterable[_Step]:
    own, hidden = _own_folders(view), _still_hidden(machine, view)
    targets = [] if view.image_root else [target for _, target in (*view.writable, *view.readable)]
    image = (IMAGE_ROOT,) if view.image_root else ()
    yield from _parents((*targets, *machine.shown, *_resolver(), *image), hidden=hidden, own=own)
    for name in os.listdir("/"):
        path = f"/{name}"
        if name in NOT_SHOWN or name in own:
            continue
        if os.path.islink(path):
            yield _Step(path, ("--symlink", os.readlink(path), path))
        elif os.path.isdir(path):
            yield _Step(path, ("--ro-bind-try", path, path))
    yield from _opened(view, hidden)
    for path in ("/tmp", "/var/tmp"):
        if os.path.isdir(path):
            yield _Step(path, ("--perms", "1777", "--tmpfs", path))
    yield _Step("/run", ("--perms", "0755", "--tmpfs", "/run"))
    for path in hidden:
        yield _hidden(path)
    if view.image_root:
        yield from _of_image(view.image_root)


def _of_image(source: str) -> Iterable[_Step]:
    yield _Step(IMAGE_ROOT, ("--ro-bind", source, IMAGE_ROOT))
    for path in ("/tmp", "/var/tmp"):
        yield _Step(f"{IMAGE_ROOT}{path}", ("--perms", "1777", "--tmpfs", f"{IMAGE_ROOT}{path}"))
    yield _Step(f"{IMAGE_ROOT}/run", ("--perms", "0755", "--tmpfs", f"{IMAGE_ROOT}/run"))


def _of_task(view: View) -> Iterable[_Step]:
    root = IMAGE_ROOT if view.image_root else ""
    for source, target in view.writable:
        yield _Step(f"{root}{target}", ("--bind", source, f"{root}{target}"))


def _of_what_runs_it(machine: Machine, view: View) -> Iterable[_Step]:
    root = IMAGE_ROOT if view.image_root else ""
    for base in dict.fromkeys(("", root)):
        yield _Step(f"{base}/proc", ("--proc", f"{base}/proc"))
        # bubblewrap 0.8 leaves it writable for uid 0 even without any capability
        yield _Step(f"{base}/proc/sys", ("--ro-bind", "/proc/sys", f"{base}/proc/sys"))
        yield _Step(f"{base}/dev", ("--dev", f"{base}/dev"))
        yield _Step(f"{base}/dev/shm", ("--perms", "1777", "--tmpfs", f"{base}/dev/shm"))
    for path in _resolver():
        yield _Step(path, ("--ro-bind", path, path))
    for source, target in view.readable:
        yield _Step(f"{root}{target}", ("--ro-bind", source, f"{root}{target}"))
    for target, source in view.drivers.files.items() if root else ():
        yield _Step(f"{root}{target}", ("--ro-bind", source, f"{root}{target}"))
    for path in machine.shown:
        yield _Step(path, ("--ro-bind", path, path))
    for path in _still_hidden(machine, view):
        if any(is_below(path, shown) for shown in machine.shown):
            yield _hidden(path)


def _resolver() -> list[str]:
    """The file that /etc/resolv.conf leads to, where it is one of a service."""
    path = os.path.realpath("/etc/resolv.conf")
    return [path] if path.startswith("/run/") and os.path.exists(path) else []


def _still_hidden(machine: Machine, view: View) -> list[str]:
    """What has to be hidden: not what lies where this task has a folder of its own instead of the machine's."""
    if view.image_root:
        return list(machine.hidden)
    own = _own_folders(view)
    covered = [target for _, target in view.writable]
    return [
        path
        for path in machine.hidden
        if _top(path) not in own and not any(is_below(path, target) for target in covered if target != path)
    ]


def _own_folders(view: View) -> set[str]:
    """Folders of the root that are the task's alone: what the machine has of that name is not shown."""
    if view.image_root:
        return set()
    return {_top(target) for _, target in view.writable if target != view.root} - set(NOT_SHOWN)


def _top(path: str) -> str:
    return path.split("/")[1]


def _parents(paths: Iterable[str], *, hidden: Sequence[str], own: set[str]) -> Iterable[_Step]:
    """Folders in memory that lead to a path. Named one by one: those that bubblewrap adds by itself are 0700."""
    for path in paths:
        for parent in Path(path).parents[:-1]:
            if _is_bare(str(parent), hidden) or _top(str(parent)) in own or not parent.exists():
                yield _Step(str(parent), ("--perms", "0755", "--dir", str(parent)))


def _hidden(path: str) -> _Step:
    if os.path.isdir(path):
        return _Step(path, ("--perms", "0755", "--tmpfs", path))
    return _Step(path, ("--ro-bind", os.devnull, path))


def _opened(view: View, hidden: Sequence[str]) -> Iterable[_Step]:
    """Make room where the machine has folders: one in memory that shows the same children.

    It is needed for the task's folder, and for files that the machine lacks.
    """
    if view.image_root:
        return
    targets = [view.root, *(target for _, target in view.readable if not os.path.exists(target))]
    for path in sorted({str(parent) for target in targets for parent in Path(target).parents}):
        if path == "/" or not os.path.isdir(path) or _is_bare(path, hidden):
            continue
        yield _Step(path, ("--perms", "0755", "--tmpfs", path))
        for name in os.listdir(path):
            yield from _same(os.path.join(path, name), unless=targets)


def _closed(machine: Machine, view: View) -> Iterable[str]:
    """Folders in memory in which nothing is to be written; what is bound into them stays as it is."""
    hidden = _still_hidden(machine, view)
    opened = [step.path for step in _opened(view, hidden) if "--tmpfs" in step.arguments]
    laid_over = {*(target for _, target in view.writable), *machine.shown}
    return sorted({"/", "/run", *opened, *(path for path in hidden if os.path.isdir(path))} - laid_over)


def _is_bare(path: str, hidden: Sequence[str]) -> bool:
    """Whether nothing of the machine is shown here, so that any target can be made."""
    return _top(path) in NOT_SHOWN or any(is_below(path, one) for one in hidden)


def _same(path: str, *, unless: Sequence[str]) -> Iterable[_Step]:
    if path in unless:
        return
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
    own = (*(each.format(id=number) for number in view.device_ids), *common, *view.drivers.devices)
    for path in dict.fromkeys(own):
        yield from ("--dev-bind-try", path, f"{root}{path}")
