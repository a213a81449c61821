"""System calls for which Python's standard library has no function."""

from __future__ import annotations

import contextlib
import ctypes
import os

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
CLONE_NEWNS = 0x00020000
MS_RDONLY, MS_REC, MS_PRIVATE = 1, 1 << 14, 1 << 18
OOM_SCORE = 500
"""Of 1000; the server and the shims have 0 or less."""

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38

_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(signal_number: int) -> None:
    """Have this process signalled when the thread that created it ends. Preserved across exec."""
    _prctl(_PR_SET_PDEATHSIG, signal_number)


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants (child subreaper)."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def forbid_new_privileges() -> None:
    """Make setuid programs ineffective for this process and its children."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def be_ended_first() -> None:
    """Have the kernel's OOM killer prefer this process and its children.

    They cannot lower the score again if this process has CAP_SYS_RESOURCE.
    """
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write(str(OOM_SCORE))


def name_process(name: str) -> None:
    """Set the name that `ps` and `top` show for this process (15 bytes)."""
    _prctl(_PR_SET_NAME, ctypes.create_string_buffer(name.encode()[:15]))


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags), "unshare")


def enter_own_user_namespace(flags: int = 0) -> None:
    """Enter a new user namespace, with all capabilities in it and the same uid. Requires a single-threaded process.

    `flags`: further namespaces to create, which belong to it.
    """
    uid, gid = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER | flags)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def enter_namespace(descriptor: int) -> None:
    """Move this process into the namespace of an open /proc/PID/ns/* file."""
    _check(_libc.setns(descriptor, 0), "setns")


def mount(source: str, target: str, *, kind: str = "", flags: int = 0, options: str = "") -> None:
    words = [text.encode() or None for text in (source, target, kind)]
    _check(_libc.mount(*words, ctypes.c_ulong(flags), options.encode() or None), "mount")


def _prctl(option: int, value: object) -> None:
    _check(_libc.prctl(option, value, 0, 0, 0), "prctl")


def _check(result: int, call: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
