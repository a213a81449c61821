"""What a task sees of the machine, as arguments of bubblewrap. Reads the file system, changes nothing.

Bubblewrap mounts in the order of its arguments, as root when the server runs as root. The arguments come in three
rounds, and no later round mounts anything inside a folder that a user can write to:

    1. the machine      an empty root in memory; the machine's folders, read-only, one by one; hidden ones empty
    2. the task         its own folders, its inputs, persistent folders
    3. the runtime      init and its Python, /proc, /dev, names and devices

So no mount point is reached through a symlink of a user, and nothing of a user covers files that privileged code runs:
`wrap` rejects both (docs/decisions/0106).
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
"""Mount points that every image must have."""

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
    """What is the same for all tasks."""

    bwrap: str
    hidden: tuple[str, ...]
    shown: tuple[str, ...]
    """Folders that stay readable even below a hidden folder. They include init and its Python."""


@dataclass(frozen=True)
class View:
    """What is specific to one task. Pairs are (path on the machine, path in the task)."""

    host: str
    root: str
    """The folder of the task: the only one that may be below a folder of the machine, whose other children stay
    visible."""

    writable: tuple[tuple[str, str], ...]
    """Everything that the job or an earlier job of its owner may have written to."""

    readable: tuple[tuple[str, str], ...]
    device_type: str
    device_ids: tuple[int, ...]
    changes_uid: bool
    """Whether init switches to another uid, and so needs the capabilities for it."""

    image_root: str = ""
    """Path of the unpacked image on the machine; empty without an image. It is mounted at IMAGE_ROOT, and init changes
    its root to it."""

    drivers: Drivers = field(default_factory=Drivers)
    """Files of the machine's drivers that are mounted into the image."""


@dataclass(frozen=True)
class _Step:
    path: str
    arguments: tuple[str, ...]


def wrap(machine: Machine, view: View) -> list[str]:
    """Return the command line to put before init's. Raise Unsupported for mounts that are not safe."""
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
    """Return path in the task -> path on the machine, for everything that needs a mount point in the image."""
    return {**view.drivers.files, **{target: source for source, target in (*view.writable, *view.readable)}}


def is_seen(machine: Machine, path: str) -> bool:
    """Whether a task can run a program of the machine at its path."""
    real = os.path.realpath(path)
    if any(is_below(real, shown) for shown in machine.shown):
        return True
    return _top(real) not in NOT_SHOWN and not any(is_below(real, hidden) for hidden in machine.hidden)


def outermost(hidden: Sequence[str], shown: Sequence[str]) -> tuple[str, ...]:
    """Return the folders to hide, without those inside another hidden folder: a mount there would reveal their
    names."""
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
    """Return the home folders of the users of this machine, and of the user who runs the server."""
    found = set(FIXED_HOMES) | {os.path.expanduser("~")}
    found |= {entry.pw_dir for entry in pwd.getpwall() if entry.pw_uid >= LEAST_UID_OF_PEOPLE}
    real = {os.path.realpath(home) for home in found} | found
    return tuple(sorted(home for home in real if home not in NOT_A_HOME and os.path.isdir(home)))


def _check(machine: Machine, view: View) -> None:
    """Reject mounts below a folder that a user can write to, and mounts over files that privileged code runs."""
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
"""No input is ever mounted below these. The launch contract does not allow them either (`launch/targets.py`)."""


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
        # bubblewrap 0.8 leaves it writable for uid 0 even without capabilities
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
    """The target of /etc/resolv.conf, if it is a file that a service keeps in /run."""
    path = os.path.realpath("/etc/resolv.conf")
    return [path] if path.startswith("/run/") and os.path.exists(path) else []


def _still_hidden(machine: Machine, view: View) -> list[str]:
    """The paths to hide, without those that a folder of the task replaces anyway."""
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
    """Top-level folders that the task provides itself; the machine's folders of the same names are not shown."""
    if view.image_root:
        return set()
    return {_top(target) for _, target in view.writable if target != view.root} - set(NOT_SHOWN)


def _top(path: str) -> str:
    return path.split("/")[1]


def _parents(paths: Iterable[str], *, hidden: Sequence[str], own: set[str]) -> Iterable[_Step]:
    """In-memory parent folders of the paths. Created explicitly, because bubblewrap would create them with mode
    0700."""
    for path in paths:
        for parent in Path(path).parents[:-1]:
            if _is_bare(str(parent), hidden) or _top(str(parent)) in own or not parent.exists():
                yield _Step(str(parent), ("--perms", "0755", "--dir", str(parent)))


def _hidden(path: str) -> _Step:
    if os.path.isdir(path):
        return _Step(path, ("--perms", "0755", "--tmpfs", path))
    return _Step(path, ("--ro-bind", os.devnull, path))


def _opened(view: View, hidden: Sequence[str]) -> Iterable[_Step]:
    """Replace folders of the machine by in-memory folders with the same children, so that mount points can be added.

    Needed for the task's folder, and for files that the machine does not have.
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
    """In-memory folders to remount read-only; mounts inside them are not affected."""
    hidden = _still_hidden(machine, view)
    opened = [step.path for step in _opened(view, hidden) if "--tmpfs" in step.arguments]
    laid_over = {*(target for _, target in view.writable), *machine.shown}
    return sorted({"/", "/run", *opened, *(path for path in hidden if os.path.isdir(path))} - laid_over)


def _is_bare(path: str, hidden: Sequence[str]) -> bool:
    """Whether nothing of the machine is shown here, so that any mount point can be created."""
    return _top(path) in NOT_SHOWN or any(is_below(path, one) for one in hidden)


def _same(path: str, *, unless: Sequence[str]) -> Iterable[_Step]:
    if path in unless:
        return
    if os.path.islink(path):
        yield _Step(path, ("--symlink", os.readlink(path), path))
    elif os.path.exists(path):
        yield _Step(path, ("--ro-bind", path, path))


def _sorted(steps: Iterable[_Step]) -> list[_Step]:
    """Sort parents before children; of several steps at one path, keep the last."""
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
