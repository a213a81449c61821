"""An additional command in a task on this machine, over a terminal or pipes, started through the task's door."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import socket
import struct
import termios
import threading
from collections.abc import Sequence

from danlu.engines.base import Channel, TerminalSize
from danlu.engines.local.folders import TaskFolder
from danlu.errors import WrongState
from danlu.node.supervise.door import Answer, Request, knock, read_answer

NOT_EXECUTED = 127
MAX_CELLS = 65535
END_OF_INPUT = b"\x04"
"""Ctrl-D, which a terminal reads as end of input."""


class LocalChannel(Channel):
    """Thread-safe: `close` wakes threads that block in `read` or `write` before it closes their files."""

    def __init__(
        self, asking: socket.socket, *, output: int, input_: int, has_terminal: bool, errors: int = -1
    ) -> None:
        """`errors` is -1 when stderr is merged into stdout."""
        self._asking = asking
        self._errors = errors
        self._output = output
        self._input = input_
        self._has_terminal = has_terminal
        self._code: int | None = None
        self._last_words = b""
        self._woken, self._wake = os.pipe2(os.O_CLOEXEC)
        self._is_closed = False
        self._closing, self._reading, self._writing, self._hearing = (threading.Lock() for _ in range(4))
        self._reading_errors = threading.Lock()
        os.set_blocking(input_, False)

    @classmethod
    def open(
        cls, folder: TaskFolder, command: Sequence[str], *, terminal: TerminalSize | None, apart: bool = False
    ) -> LocalChannel:
        ours, theirs = _terminal(terminal) if terminal is not None else _pipes(apart=apart)
        env = {"TERM": "xterm-256color"} if terminal is not None else {}
        request = Request(tuple(command), env, has_terminal=terminal is not None)
        try:
            asking = knock(str(folder.path), request, theirs)
        except BaseException as error:
            for file in set(ours):
                os.close(file)
            if not isinstance(error, OSError):
                raise
            raise WrongState("the task is not running; a shell can be opened while it is") from error
        finally:
            for file in set(theirs):
                os.close(file)
        errors = ours[2] if len(ours) > 2 else -1
        return cls(asking, output=ours[0], input_=ours[1], has_terminal=terminal is not None, errors=errors)

    def read(self, limit: int) -> bytes:
        with self._reading:
            data = self._read(self._output, limit)
        if data:
            return data
        self.exit_code()
        said, self._last_words = self._last_words, b""
        return said

    def read_errors(self, limit: int) -> bytes:
        with self._reading_errors:
            return self._read(self._errors, limit) if self._errors >= 0 else b""

    def write(self, data: bytes) -> int:
        with self._writing:
            if self._input < 0 or self._is_closed:
                return len(data)
            try:
                return os.write(self._input, data)
            except BlockingIOError:
                return 0
            except OSError:  # the command has closed its stdin
                return len(data)

    def end_input(self) -> bool:
        if self._has_terminal:
            return self.write(END_OF_INPUT) > 0
        with self._writing:
            if self._input >= 0:
                os.close(self._input)
                self._input = -1
        return True

    def resize(self, size: TerminalSize) -> None:
        with self._writing:
            if self._has_terminal and not self._is_closed:
                with contextlib.suppress(OSError):
                    fcntl.ioctl(self._input, termios.TIOCSWINSZ, _window(size))

    def exit_code(self) -> int:
        with self._hearing:
            if self._code is None:
                told = b""
                with contextlib.suppress(OSError):
                    while not told.endswith(b"\n") and (piece := self._asking.recv(65536)):
                        told += piece
                answer = read_answer(told) if told else Answer(128 + signal.SIGHUP)
                if answer.error:
                    self._last_words = f"danlu: {answer.error}\r\n".encode()
                self._code = NOT_EXECUTED if answer.code is None else answer.code
            return self._code

    def close(self) -> None:
        with self._closing:
            if self._is_closed:
                return
            self._is_closed = True
        os.write(self._wake, b"x")
        with contextlib.suppress(OSError):  # the task has ended
            self._asking.shutdown(socket.SHUT_RDWR)
        with self._reading, self._reading_errors, self._writing, self._hearing:
            for file in {self._input, self._output, self._errors, self._woken, self._wake} - {-1}:
                os.close(file)
            self._input = self._output = self._errors = -1
            self._asking.close()

    def _read(self, source: int, limit: int) -> bytes:
        waiting = select.poll()  # select() fails for descriptors above 1023, which a busy server has
        for file in (source, self._woken):
            waiting.register(file, select.POLLIN)
        while not self._is_closed and self._woken not in {file for file, _ in waiting.poll()}:
            try:
                return os.read(source, limit)
            except BlockingIOError:
                continue
            except OSError:  # EIO: no process has the terminal open any more
                return b""
        return b""


def _terminal(size: TerminalSize) -> tuple[list[int], list[int]]:
    """Return our (output, input) and the command's (stdin, stdout, stderr)."""
    window = _window(size)
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, window)
    return [ours, ours], [theirs, theirs, theirs]


def _window(size: TerminalSize) -> bytes:
    """Return the kernel's winsize struct, with values clamped to 16 bits: SSH clients may send any number."""
    rows, columns = (min(max(value, 0), MAX_CELLS) for value in size)
    return struct.pack("HHHH", rows, columns, 0, 0)


def _pipes(*, apart: bool) -> tuple[list[int], list[int]]:
    """Return our (output, input[, errors]) and the command's (stdin, stdout, stderr)."""
    output, their_output = os.pipe2(os.O_CLOEXEC)
    their_input, input_ = os.pipe2(os.O_CLOEXEC)
    if not apart:
        return [output, input_], [their_input, their_output, their_output]
    errors, their_errors = os.pipe2(os.O_CLOEXEC)
    return [output, input_, errors], [their_input, their_output, their_errors]
