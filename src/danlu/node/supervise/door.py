"""The way into a running task: a socket in its folder that takes a command and the files that it is to use.

A client sends a `Request` as JSON together with three open files (input, output, errors; three times the same one for
a terminal), and gets an `Answer` when the command has ended:

    {"command": ["sh"], "env": {"TERM": "xterm"}, "has_terminal": true}    ->    {"code": 0, "error": ""}

Or it asks for a socket, and gets one of the task's network together with the answer, to connect it to a port there:

    {"wants": "socket"}    ->    {"code": 0, "error": ""}

Only the server's own user may open the folder, so whoever reaches the socket may use it.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
from collections.abc import Iterator, Mapping
from typing import NamedTuple, Optional, Union

from danlu.node.codec import decode, encode, parse
from danlu.node.supervise import network
from danlu.node.supervise.init_process import InitProcess
from danlu.node.supervise.orders import Execute, Executed

DOOR = "door"
NUM_FILES = 3
_ASK_SECONDS = 1.0
_SOCKET_SECONDS = 10.0
"""How long a shim may take to make a socket: it does one thing at a time, on a machine that may be busy."""

_LONGEST_BYTES = 1 << 16


class Request(NamedTuple):
    """A command to run beside that of the task."""

    command: tuple[str, ...]
    env: Mapping[str, str] = {}
    has_terminal: bool = False


class SocketRequest(NamedTuple):
    """A socket in the network of the task."""

    wants: str = "socket"


class Answer(NamedTuple):
    """How the command ended, or why it did not start."""

    code: Optional[int] = None
    error: str = ""


class Door:
    """The shim's side. Requests go on to init, which is inside of the sandbox."""

    def __init__(self, folder: str, net: Optional[network.Network] = None) -> None:
        self._net = net
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with _short(folder) as short:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{short}/{DOOR}")
            self._listener.bind(f"{short}/{DOOR}")
            os.chmod(f"{short}/{DOOR}", 0o600)
        self._listener.listen(8)
        self._listener.setblocking(False)
        self._asking: dict[int, socket.socket] = {}
        self._last = 0

    def fileno(self) -> int:
        return self._listener.fileno()

    def answer(self, init: Optional[InitProcess]) -> None:
        """Let the next one in. Init takes orders in turn, so the job's own command comes first; None: there is none."""
        try:
            asking, _ = self._listener.accept()
        except OSError:
            return
        asking.settimeout(_ASK_SECONDS)
        files: list[int] = []
        try:
            text, files, _, _ = socket.recv_fds(asking, _LONGEST_BYTES, NUM_FILES)
            asked = parse(text)
            if init is None:
                _reply(asking, Answer(error="its command is not running now"))
                return
            if "wants" in asked:
                decode(SocketRequest, asked)
                self._give_socket(asking)
                return
            request = decode(Request, asked)
            self._last += 1
            init.execute(Execute(self._last, *request), files)
            self._asking[self._last] = asking
        except (OSError, ValueError) as error:
            _reply(asking, Answer(error=str(error)))
        finally:
            for file in files:
                os.close(file)

    def _give_socket(self, asking: socket.socket) -> None:
        """Never one of the machine's network: whoever has it could reach everything there."""
        if self._net is None:
            raise OSError("it has no network of its own, so its ports cannot be told from those of the machine")
        with network.socket_inside(self._net) as made, asking:
            socket.send_fds(asking, [json.dumps(encode(Answer(0))).encode() + b"\n"], [made.fileno()])

    def ended(self, event: Executed) -> None:
        """Say how a command ended, or why it did not begin."""
        asking = self._asking.pop(event.id, None)
        if asking is not None:
            _reply(asking, Answer(event.code, event.error))

    def close(self) -> None:
        """Let nobody in any more."""
        self._listener.close()


def open_door(folder: str, net: network.Network | None) -> Door | None:
    """Open the door of a task. None where it cannot be, such as on a file system without sockets: a task needs none."""
    try:
        return Door(folder, net)
    except OSError as error:
        print(f"no shell can be opened in this task: {error}", file=sys.stderr, flush=True)
        return None


def _reply(asking: socket.socket, answer: Answer) -> None:
    with contextlib.suppress(OSError), asking:  # nobody listens any more
        asking.sendall(json.dumps(encode(answer)).encode() + b"\n")


def read_answer(text: bytes) -> Answer:
    """Read what the door replied. Raise ValueError."""
    return decode(Answer, parse(text))


def knock(folder: str, request: Request, files: list[int]) -> socket.socket:
    """Ask for a command in a task. Raise OSError when nobody is there to hear it, or not soon."""
    asking = _ask(folder, request, files)
    asking.settimeout(None)
    return asking


def ask_for_socket(folder: str) -> socket.socket:
    """A new socket in the network of a task. Raise OSError when there is none, or not soon."""
    with _ask(folder, SocketRequest(), []) as asking:
        asking.settimeout(_SOCKET_SECONDS)
        text, files, _, _ = socket.recv_fds(asking, _LONGEST_BYTES, 1)
    if not files:
        raise OSError(read_answer(text).error if text else "the task ended")
    os.set_inheritable(files[0], False)
    return socket.socket(fileno=files[0])


def _ask(folder: str, request: Union[Request, SocketRequest], files: list[int]) -> socket.socket:
    asking = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        asking.settimeout(_ASK_SECONDS)
        with _short(folder) as short:
            asking.connect(f"{short}/{DOOR}")
        socket.send_fds(asking, [json.dumps(encode(request)).encode()], files)
    except OSError:
        asking.close()
        raise
    return asking


@contextlib.contextmanager
def _short(folder: str) -> Iterator[str]:
    """A short name for a folder, for as long as it is needed: names of sockets have 107 bytes at most."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{held}"
    finally:
        os.close(held)
