"""A shell in a running task, over plain HTTP requests."""

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
    """An additional command in a running task. Use it as a context manager, which closes it."""

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
        """None until `output` has ended."""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def output(self) -> Iterator[bytes]:
        """Yield its output as it arrives, until it ends."""
        after = 0
        while self.exit_code is None:
            answer = self._http.get(f"{self._path}/output", TerminalOutput, query={"after": after})
            if answer.data:
                yield base64.b64decode(answer.data)
            after, self.exit_code = answer.next, answer.exit_code

    def write(self, data: bytes) -> None:
        """Send input; b"" signals its end. Blocks while the command does not read."""
        if not data:
            self._write(b"")
        while data:
            data = data[self._write(data[:LARGEST_INPUT_BYTES]) :]

    def _write(self, data: bytes) -> int:
        """Return the number of bytes taken, at least one. For empty data, block until the end of input was taken."""
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
        """Close the terminal. Idempotent."""
        try:
            self._http.send("DELETE", self._path)
        except NotFound:
            return
