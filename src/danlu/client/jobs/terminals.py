"""A shell in a running task: read and written through plain requests."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Optional

from danlu.client.http import Http
from danlu.errors import NotFound, TooManyRequests
from danlu.wire.terminals import OpenTerminal, TerminalInput, TerminalOut, TerminalOutput, TerminalSizeIn

LARGEST_INPUT_BYTES = 1 << 16
LOOK_AGAIN_SECONDS = 0.5


class Size(NamedTuple):
    rows: int
    columns: int


class Terminal:
    """A command that runs in a task, beside the task's own. Use it as a context: it is closed at the end."""

    def __init__(
        self, http: Http, job_id: str, *, rank: int, command: Optional[Sequence[str]], size: Optional[Size]
    ) -> None:
        self._http = http
        wanted = OpenTerminal(
            rank=rank,
            command=list(command) if command is not None else None,
            size=TerminalSizeIn(rows=size.rows, columns=size.columns) if size is not None else None,
        )
        opened = http.post(f"/jobs/{job_id}/terminals", TerminalOut, body=wanted)
        self._path = f"/jobs/{job_id}/terminals/{opened.id}"
        self.exit_code: Optional[int] = None
        """Known once `output` has ended."""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def output(self) -> Iterator[bytes]:
        """What it prints, as it comes, until it ends."""
        after = 0
        while self.exit_code is None:
            answer = self._http.get(f"{self._path}/output", TerminalOutput, query={"after": after})
            if answer.data:
                yield base64.b64decode(answer.data)
            after, self.exit_code = answer.next, answer.exit_code

    def write(self, data: bytes) -> None:
        """Type something; nothing at all says that there is no more to come. Waits for a command that does not read."""
        if not data:
            self._write(b"")
        while data:
            data = data[self._write(data[:LARGEST_INPUT_BYTES]) :]

    def _write(self, data: bytes) -> int:
        """Return how much was taken; at the end of input, once that was."""
        body = TerminalInput(data=base64.b64encode(data).decode())
        while True:
            try:
                self._http.send("POST", f"{self._path}/input", body=body)
            except TooManyRequests as error:
                taken = int(error.fields.get("taken", 0))
                if taken:
                    return taken
                time.sleep(LOOK_AGAIN_SECONDS)
                continue
            return len(data)

    def resize(self, size: Size) -> None:
        self._http.send("PUT", f"{self._path}/size", body=TerminalSizeIn(rows=size.rows, columns=size.columns))

    def close(self) -> None:
        """Hang up. Quiet when it is closed already."""
        try:
            self._http.send("DELETE", self._path)
        except NotFound:
            return
