"""The filter of system calls: what jobs try, and what they need."""

from __future__ import annotations

import errno
import platform
import re
import struct
from pathlib import Path

import pytest
from tests.security.sandbox.calls import CALLS, FORBIDDEN, NEEDED, OTHER_ABI

from danlu.engines.local import LocalEngine
from danlu.engines.settings import EngineSettings
from danlu.node.supervise.seccomp import ARCHITECTURES, CLONE3, NEWEST, REFUSED, build_filter
from danlu.spec.states import TaskState
from danlu.testing.engines import Starter

HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
    "aarch64": ("/usr/include/asm-generic/unistd.h",),
}


def run(starter: Starter, program: str) -> str:
    job = starter.start(["python3", "-c", program])
    job.wait()
    return job.log()


class TestJobs:
    def test_what_exploits_begin_with_is_refused(self, starter: Starter) -> None:
        answers = dict(line.rsplit(" ", 1) for line in run(starter, FORBIDDEN).splitlines())
        others = {
            "clone3": "ENOSYS",
            "a call that is not known": "ENOSYS",
            **dict.fromkeys(("socket(AF_VSOCK)", "socket(AF_ALG)", "socket(AF_PACKET)"), "EAFNOSUPPORT"),
        }
        assert len(answers) > 30
        assert answers == {name: others.get(name, "EPERM") for name in answers}

    def test_what_training_needs_works(self, starter: Starter) -> None:
        lines = run(starter, NEEDED).splitlines()
        assert len(lines) >= 18
        assert [line for line in lines if line and not line.endswith((" works", " allowed", "in a thread"))] == []

    @pytest.mark.skipif(platform.machine() != "x86_64", reason="only x86_64 has these")
    def test_calls_in_the_manner_of_another_architecture_are_no_way_around_it(self, starter: Starter) -> None:
        log = run(starter, OTHER_ABI)
        refused = (str(-errno.EPERM), str(-errno.ENOSYS))
        found = dict(line.split() for line in log.splitlines())
        assert found["x86_64"] == "True"
        assert found["x32"] in refused
        assert found.get("i386", refused[0]) in refused  # missing where the kernel ends a program that tries

    def test_a_shell_in_the_task_has_the_same_filter(self, starter: Starter, engine: LocalEngine) -> None:
        job = starter.start("echo up; sleep 60")
        job.wait_for_log("up")
        channel = engine.open_channel(job.handles[0], ["python3", "-c", FORBIDDEN], None)
        said = b""
        while piece := channel.read(4096):
            said += piece
        channel.close()
        assert b"unshare(NEWUSER) EPERM\n" in said
        assert b"allowed" not in said

    def test_it_cannot_be_taken_off(self, starter: Starter) -> None:
        """Filters only add up: one that allows everything changes nothing."""
        program = CALLS + (
            "allow = (ctypes.c_ulong * 1)(0x7fff000000000006)\n"
            "class Program(ctypes.Structure):\n"
            "    _fields_ = [('len', ctypes.c_ushort), ('filter', ctypes.c_void_p)]\n"
            "program = Program(1, ctypes.addressof(allow))\n"
            "call('seccomp', 317, 277, 1, 0, ctypes.addressof(program))\n"
            "call('unshare', 272, 97, 0x10000000)\n"
        )
        assert run(starter, program) == "seccomp allowed\nunshare EPERM\n"

    def test_a_node_for_debugging_can_do_without(self, settings: EngineSettings, starter: Starter) -> None:
        starter.engine = LocalEngine(settings.model_copy(update={"seccomp": False}))
        (node,) = starter.engine.nodes()
        assert "System calls are not filtered (switched off in the settings)" in "; ".join(node.missing)
        program = CALLS + "call('ptrace', 101, 117, 0, 0, 0, 0)\n"  # PTRACE_TRACEME
        assert run(starter, program) == "ptrace allowed\n"

    def test_it_is_on_by_default_and_init_has_it_too(self, starter: Starter) -> None:
        job = starter.start("grep -h Seccomp: /proc/self/status /proc/1/status")
        assert job.wait()[0].state is TaskState.SUCCEEDED
        assert job.log() == "Seccomp:\t2\n" * 2


class TestProgram:
    """The program itself, run here by hand: machines of both kinds are tested on either."""

    @staticmethod
    def answer(machine: str, number: int, *args: int, audit: int | None = None) -> str:
        program = build_filter(machine)
        assert program is not None
        code = list(struct.iter_unpack("<HBBI", program))
        padded = [*args, *[0] * (6 - len(args))]
        wanted = ARCHITECTURES[machine].audit if audit is None else audit
        data = struct.pack("<IIQ6Q", number, wanted, 0, *padded)
        at, value = 0, 0
        while True:
            kind, if_true, if_false, operand = code[at]
            at += 1
            if kind == 0x20:
                value = struct.unpack_from("<I", data, operand)[0]
            elif kind == 0x06:
                return "allow" if operand == 0x7FFF0000 else errno.errorcode[operand & 0xFFFF]
            else:
                is_true = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[kind]
                at += if_true if is_true else if_false

    @pytest.mark.parametrize("machine", sorted(ARCHITECTURES))
    def test_every_number_has_the_right_answer(self, machine: str) -> None:
        architecture = ARCHITECTURES[machine]
        looked_at = {architecture.clone, architecture.ioctl, architecture.socket, architecture.personality}
        for number in range(NEWEST + 3):
            if number in looked_at:
                continue
            expected = "EPERM" if number in architecture.refused else "allow"
            if number == CLONE3 or number > NEWEST:
                expected = "ENOSYS"
            assert self.answer(machine, number) == expected, number

    @pytest.mark.parametrize("machine", sorted(ARCHITECTURES))
    def test_arguments_are_looked_at(self, machine: str) -> None:
        its = ARCHITECTURES[machine]
        assert self.answer(machine, its.clone, 0x3D0F00) == "allow"  # a thread
        for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
            assert self.answer(machine, its.clone, 17 | flag) == "EPERM"
        assert self.answer(machine, its.ioctl, 0, 0x5401) == "allow"
        assert self.answer(machine, its.ioctl, 0, 0x5412) == "EPERM"
        assert self.answer(machine, its.ioctl, 0, 0x5412 | 7 << 32) == "EPERM"
        assert [self.answer(machine, its.socket, family) for family in (1, 2, 10, 16)] == ["allow"] * 4
        assert {self.answer(machine, its.socket, family) for family in (0, 3, 15, 17, 38, 40, 44)} == {"EAFNOSUPPORT"}
        assert self.answer(machine, its.personality, 0xFFFFFFFF) == "allow"
        assert self.answer(machine, its.personality, 0x40000) == "EPERM"

    @pytest.mark.parametrize("machine", sorted(ARCHITECTURES))
    def test_other_architectures_can_do_nothing(self, machine: str) -> None:
        for audit in (0x40000003, 0x40000028, 0):
            assert self.answer(machine, 0, audit=audit) == "EPERM"
        assert self.answer(machine, 0x40000000 | 1) == "ENOSYS"

    def test_a_machine_that_is_not_known_has_none(self) -> None:
        assert build_filter("riscv64") is None

    @pytest.mark.parametrize(("machine", "column"), [("x86_64", 0), ("aarch64", 1)])
    def test_the_numbers_are_those_of_the_kernels_headers(self, machine: str, column: int) -> None:
        found = [path for path in HEADERS[machine] if Path(path).exists()]
        if not found:
            pytest.skip("no kernel headers; linux-libc-dev has them")
        text = Path(found[0]).read_text()
        known = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)}
        ours = {name: numbers[column] for name, numbers in REFUSED.items() if name in known}
        assert len(ours) > 40
        assert ours == {name: known[name] for name in ours}
        architecture = ARCHITECTURES[machine]
        assert [known[name] for name in ("clone", "ioctl", "personality", "socket", "clone3")] == [
            architecture.clone,
            architecture.ioctl,
            architecture.personality,
            architecture.socket,
            CLONE3,
        ]
