"""A task's door: a socket in its folder, through which commands are started and sockets opened in the task.

A client sends a `Request` as JSON together with three open files (stdin, stdout, stderr; three times the same one for a
terminal), and gets an `Answer` when the command has ended:

    {"command": ["sh"], "env": {"TERM": "xterm"}, "has_terminal": true}    ->    {"code": 0, "error": ""}

Or it requests a socket. The answer then comes with an unconnected socket of the task's network:

    {"wants": "socket"}    ->    {"code": 0, "error": ""}

Only the server's own user can enter the folder, so a client that reaches the socket may use it.
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
"""How long a shim may take to create a socket: it has one thread, and its machine may be busy."""

_LONGEST_BYTES = 1 << 16


class Request(NamedTuple):
    """An additional command to run in the task."""

    command: tuple[str, ...]
    env: Mapping[str, str] = {}
    has_terminal: bool = False


class SocketRequest(NamedTuple):
    """Request for a socket in the network of the task."""

    wants: str = "socket"


class Answer(NamedTuple):
    """How the command ended, or why it did not start."""

    code: Optional[int] = None
    error: str = ""


class Door:
    """The shim's side. Passes commands on to init, which is inside the sandbox."""

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
        """Accept one request. `init` is None when no command runs; it gets the job's own command before any request."""
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
        """Only for tasks with a private network: a socket of the machine's network could connect to anything there."""
        if self._net is None:
            raise OSError("it has no network of its own, so its ports cannot be told from those of the machine")
        with network.socket_inside(self._net) as made, asking:
            socket.send_fds(asking, [json.dumps(encode(Answer(0))).encode() + b"\n"], [made.fileno()])

    def ended(self, event: Executed) -> None:
        """Report how a command ended, or why it did not start."""
        asking = self._asking.pop(event.id, None)
        if asking is not None:
            _reply(asking, Answer(event.code, event.error))

    def close(self) -> None:
        """Accept no more requests."""
        self._listener.close()


def open_door(folder: str, net: network.Network | None) -> Door | None:
    """Open the door of a task. None when that fails, as on file systems without sockets: tasks can run without one."""
    try:
        return Door(folder, net)
    except OSError as error:
        print(f"no shell can be opened in this task: {error}", file=sys.stderr, flush=True)
        return None


def _reply(asking: socket.socket, answer: Answer) -> None:
    with contextlib.suppress(OSError), asking:  # the client has disconnected
        asking.sendall(json.dumps(encode(answer)).encode() + b"\n")


def read_answer(text: bytes) -> Answer:
    """Parse a reply of the door. Raise ValueError."""
    return decode(Answer, parse(text))


def knock(folder: str, request: Request, files: list[int]) -> socket.socket:
    """Run a command in a task. Raise OSError when the task does not accept it in time."""
    asking = _ask(folder, request, files)
    asking.settimeout(None)
    return asking


def ask_for_socket(folder: str) -> socket.socket:
    """Return a new socket in the network of a task. Raise OSError when it has none, or does not answer in time."""
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
    """Yield a short path for a folder, valid inside the context: socket paths are limited to 107 bytes."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{held}"
    finally:
        os.close(held)
