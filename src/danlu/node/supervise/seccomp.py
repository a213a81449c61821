"""A seccomp filter of system calls for jobs, similar to those of container engines.

It blocks calls that training does not need and that kernel exploits start with: new namespaces, mounts, keyrings, BPF,
tracing, modules. Blocked calls fail with EPERM. `clone3` fails with ENOSYS, because the filter cannot read its flags,
and C libraries then fall back to `clone`; so do calls newer than NEWEST. Programs for another architecture, 32-bit ones
included, cannot make any call. See docs/decisions/0107.
"""

from __future__ import annotations

import errno
import struct
from typing import NamedTuple, Optional

NEWEST = 469
"""The newest call that was reviewed (file_setattr, Linux 6.17). From 424 on all architectures use the same numbers."""


class Architecture(NamedTuple):
    audit: int
    """AUDIT_ARCH_*: the architecture that the kernel reports for a call."""

    refused: tuple[int, ...]
    """Numbers of REFUSED on this architecture."""

    clone: int
    ioctl: int
    personality: int
    socket: int


REFUSED = {
    # name: number on x86_64, number on aarch64
    "_sysctl": (156, None),
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "create_module": (174, None),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "get_kernel_syms": (177, None),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "ptrace": (101, 117),
    "query_module": (178, None),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "sysfs": (139, None),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, None),
    "userfaultfd": (323, 282),
    "ustat": (136, None),
    "vhangup": (153, 58),
}
CLONE3 = 435
ARCHITECTURES = {
    "x86_64": Architecture(
        0xC000003E, tuple(x86 for x86, _ in REFUSED.values()), clone=56, ioctl=16, personality=135, socket=41
    ),
    "aarch64": Architecture(
        0xC00000B7,
        tuple(arm for _, arm in REFUSED.values() if arm is not None),
        clone=220,
        ioctl=29,
        personality=92,
        socket=198,
    ),
}

_NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""

_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: inject input into a terminal."""

_FAMILIES = (1, 2, 10, 16)
"""AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK. Others are blocked: AF_VSOCK, for example, ignores network namespaces."""

_PERSONALITIES = (0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF)
"""Linux, and Linux with old version numbers; the last one only queries. Others disable protections."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000


class _Instruction(NamedTuple):
    code: int
    if_true: int
    """Number of instructions to skip."""

    if_false: int
    value: int


_Code = list[_Instruction]


def build_filter(machine: str) -> Optional[bytes]:
    """Return the BPF program for a machine as named by `uname -m`; None for unknown ones."""
    if machine not in ARCHITECTURES:
        return None
    architecture = ARCHITECTURES[machine]
    tree = _tree(_ranges(architecture))
    code = [
        _Instruction(_LOAD, 0, 0, _ARCHITECTURE),
        _Instruction(_EQUAL, 1, 0, architecture.audit),
        _fail(errno.EPERM),
        _Instruction(_LOAD, 0, 0, _NUMBER),
        *tree,
    ]
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in code)


def _ranges(architecture: Architecture) -> list[tuple[int, _Code]]:
    """Return (first number, code), sorted; the last range is open-ended (x32 calls have numbers from 2^30 on)."""
    single: dict[int, _Code] = {number: [_fail(errno.EPERM)] for number in architecture.refused}
    single[CLONE3] = [_fail(errno.ENOSYS)]
    single[architecture.clone] = _unless_bits(_FIRST_ARGUMENT, _NEW_NAMESPACES)
    single[architecture.ioctl] = _unless_one_of(_SECOND_ARGUMENT, _TERMINAL_INPUT)
    single[architecture.socket] = _if_one_of(_FIRST_ARGUMENT, _FAMILIES, errno.EAFNOSUPPORT)
    single[architecture.personality] = _if_one_of(_FIRST_ARGUMENT, _PERSONALITIES, errno.EPERM)
    found: list[tuple[int, _Code]] = [(0, [_allow()])]
    for number, code in sorted(single.items()):
        if found[-1][0] == number:
            found.pop()
        found += [(number, code), (number + 1, [_allow()])]
    return [*found, (NEWEST + 1, [_fail(errno.ENOSYS)])]


def _tree(ranges: list[tuple[int, _Code]]) -> _Code:
    """Binary search for the range of a number: about seven instructions per call instead of one per blocked call."""
    if len(ranges) == 1:
        return ranges[0][1]
    middle = len(ranges) // 2
    below, above = _tree(ranges[:middle]), _tree(ranges[middle:])
    return [_Instruction(_AT_LEAST, len(below), 0, ranges[middle][0]), *below, *above]


def _unless_bits(argument: int, bits: int) -> _Code:
    return [_Instruction(_LOAD, 0, 0, argument), _Instruction(_ANY_BIT, 0, 1, bits), _fail(errno.EPERM), _allow()]


def _unless_one_of(argument: int, values: tuple[int, ...]) -> _Code:
    return [*_compare(argument, values), _allow(), _fail(errno.EPERM)]


def _if_one_of(argument: int, values: tuple[int, ...], error: int) -> _Code:
    return [*_compare(argument, values), _fail(error), _allow()]


def _compare(argument: int, values: tuple[int, ...]) -> _Code:
    """Continue with the next instruction when no value is equal, and skip it when one is.

    Compares the lower 32 bits of the argument, which is all that the kernel reads for these calls.
    """
    last = len(values) - 1
    tests = [_Instruction(_EQUAL, last - index + 1, 0, value) for index, value in enumerate(values)]
    return [_Instruction(_LOAD, 0, 0, argument), *tests]


def _fail(error: int) -> _Instruction:
    return _Instruction(_RETURN, 0, 0, _ERROR | error)


def _allow() -> _Instruction:
    return _Instruction(_RETURN, 0, 0, _ALLOW)
