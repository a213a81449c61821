"""Files to the store: small ones in batches, large ones so that a break does not cost what has arrived.

Each is stored whole, with the SHA-256 that was announced, or not at all.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple, Optional, Union

from danlu.content.packs import SMALL_BYTES, pack
from danlu.transfer.api import Api, quote
from danlu.transfer.batches import in_batches
from danlu.transfer.carrier import READ_SECONDS, body_of
from danlu.transfer.crew import Crew
from danlu.transfer.errors import Changed, Disconnected, LocalProblem, Refused, Removed
from danlu.transfer.local_files import Opener, body_of_file, local_problems, open_file, sha256_of_file
from danlu.transfer.object_answers import SHA256_HEADER, object_path
from danlu.transfer.parts import OutOfReach, send_parts
from danlu.transfer.progress import Told, quiet
from danlu.transfer.sent_bytes import SentBytes

NUM_PARALLEL = 4
RESUMABLE_BYTES = 16 << 20
"""An unfinished transfer of at least this size is kept, and taken up by the next one."""

_SLOWEST_BYTES_PER_SECOND = 20e6
"""The server reads all bytes once more before it answers; a disk that is busy or far away may be this slow."""


class Outgoing(NamedTuple):
    """A file, and where in the store it goes."""

    local: str
    bucket: str
    key: str
    size: int
    """As it was looked at. It decides how the file travels; what is sent is what the file has by then."""


OneProblem = Union[Changed, Removed, LocalProblem, Refused]
"""What keeps one file from being stored, and says little about the others."""

Done = Callable[[Outgoing, Optional[OneProblem]], None]
"""Called, from any thread, when a file is stored or cannot be. What it raises ends everything."""


def send_objects(
    api: Api,
    files: Sequence[Outgoing],
    *,
    done: Done,
    told: Told = quiet,
    opened: Opener = open_file,
    num_parallel: int = NUM_PARALLEL,
) -> None:
    """Send files, several at a time. Raise ServerAway, and what `done` raises."""

    def send(batch: list[Outgoing]) -> None:
        sender = _Sender(api.until(crew.has_failed), done, crew.told(told), opened)
        if len(batch) > 1:
            sender.send_batch(batch)
        else:
            sender.send(batch[0])

    with Crew(send, num_parallel) as crew:
        for batch in in_batches(files, size=lambda file: file.size, group=lambda file: file.bucket):
            crew.put(batch)


class _Small(NamedTuple):
    file: Outgoing
    data: bytes

    def entry(self) -> dict[str, Any]:
        return {"key": self.file.key, "size": len(self.data), "sha256": hashlib.sha256(self.data).hexdigest()}


class _Sender:
    def __init__(self, api: Api, done: Done, told: Told, opened: Opener) -> None:
        self._api = api
        self._done = done
        self._told = told
        self._opened = opened

    def send(self, file: Outgoing) -> None:
        try:
            with self._opened(file.local) as descriptor:
                self._send(file, descriptor)
        except (Changed, Removed, LocalProblem, Refused) as problem:
            self._done(file, problem)
        else:
            self._done(file, None)

    def send_batch(self, files: Sequence[Outgoing]) -> None:
        left: dict[str, _Small] = {}
        for file in files:
            try:
                data = self._read_small(file)
            except (Removed, LocalProblem) as problem:
                self._done(file, problem)
                continue
            if data is None:
                self.send(file)  # it has grown
            else:
                left[file.key] = _Small(file, data)

        def attempt() -> None:
            self._send_pack(files[0].bucket, left)

        try:
            if left:
                self._api.patiently(f"{len(left)} files", attempt, progress=lambda: -len(left))
        except Refused as refused:
            for small in left.values():
                self._done(small.file, refused)

    def _read_small(self, file: Outgoing) -> Optional[bytes]:
        with self._opened(file.local) as descriptor, local_problems(file.local):
            data = os.read(descriptor, SMALL_BYTES + 1)
        return data if len(data) <= SMALL_BYTES else None

    def _send_pack(self, bucket: str, left: dict[str, _Small]) -> None:
        """Send what is left; only what may be taken in a moment is left then, and raised as Refused."""
        smalls = list(left.values())
        body = body_of(pack([small.entry() for small in smalls], [small.data for small in smalls]))
        answer = self._api.send_once("POST", f"/buckets/{quote(bucket)}/batches", body)
        refused = {str(item["key"]): _refusal(item) for item in answer["refused"]}
        for small in smalls:
            problem = refused.get(small.file.key)
            if problem is not None and problem.is_temporary:
                continue
            del left[small.file.key]
            if problem is None:
                self._told(small.file.local, len(small.data), True)
            self._done(small.file, problem)
        for key in left:
            raise refused[key]

    def _send(self, file: Outgoing, descriptor: int) -> None:
        before = os.fstat(descriptor)
        sha256, size = sha256_of_file(file.local, descriptor)
        try:
            if size >= RESUMABLE_BYTES:
                self._send_resumable(file, descriptor, size, sha256, before)
            else:
                self._put(file, descriptor, size, sha256)
        except Refused as refused:
            if refused.error == "BadChecksum":
                raise Changed(file.local) from refused
            raise

    def _put(self, file: Outgoing, descriptor: int, size: int, sha256: str) -> None:
        count = SentBytes(self._told, file.local)
        body = count.body(body_of_file(file.local, descriptor, 0, size))
        self._api.send("PUT", object_path(file.bucket, file.key), body, headers={SHA256_HEADER: sha256})

    def _send_resumable(self, file: Outgoing, descriptor: int, size: int, sha256: str, before: os.stat_result) -> None:
        wanted = {"key": file.key, "size": size, "sha256": sha256, "direct": self._api.carrier.reaches_services}
        begun = self._api.post(f"/buckets/{quote(file.bucket)}/uploads", wanted)
        if not begun.get("part_bytes"):
            self._send_rest(file, descriptor, begun)
        else:
            try:
                send_parts(self._api, begun, file.local, descriptor, told=self._told)
            except OutOfReach:  # the carrier has noted that
                self._send_resumable(file, descriptor, size, sha256, before)
                return
            self._check_unchanged(file, descriptor, before, str(begun["id"]))
        self._commit(file, str(begun["id"]), size, sha256)

    def _check_unchanged(self, file: Outgoing, descriptor: int, before: os.stat_result, upload_id: str) -> None:
        """The server does not see bytes that are sent to the service: only this check notices a file that changed."""
        now = os.fstat(descriptor)
        if (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            self._api.ask("DELETE", f"/uploads/{upload_id}")
            raise Changed(file.local)

    def _send_rest(self, file: Outgoing, descriptor: int, begun: dict[str, Any]) -> None:
        path, size = f"/uploads/{begun['id']}", int(begun["size"])
        count = SentBytes(self._told, file.local)
        most = int(begun["offset"])
        arrived: Optional[int] = most

        def attempt() -> None:
            nonlocal arrived, most
            offset = arrived if arrived is not None else int(self._api.get(path)["offset"])
            arrived, most = None, max(most, offset)
            count.settle(offset)
            if offset < size:
                body = count.body(body_of_file(file.local, descriptor, offset, size))
                if int(self._api.send_once("PUT", f"{path}?offset={offset}", body)["offset"]) < size:
                    raise Disconnected(f"the server has not got all of {file.local}")

        self._api.patiently(file.local, attempt, progress=lambda: most)

    def _commit(self, file: Outgoing, upload_id: str, size: int, sha256: str) -> None:
        try:
            self._api.post(f"/uploads/{upload_id}/commit", read_seconds=commit_seconds(size))
        except Refused as refused:
            # committed already, if only the answer was lost
            if refused.status != 404 or not self._is_there(file, sha256):
                raise

    def _is_there(self, file: Outgoing, sha256: str) -> bool:
        try:
            return self._api.head(object_path(file.bucket, file.key)).header(SHA256_HEADER) == sha256
        except Refused:
            return False


def commit_seconds(size: int) -> float:
    """How long to wait for the answer that an object of this size is whole."""
    return READ_SECONDS + size / _SLOWEST_BYTES_PER_SECOND


def _refusal(item: dict[str, Any]) -> Refused:
    return Refused(int(item["status"]), str(item["message"]), error=str(item["error"]))
