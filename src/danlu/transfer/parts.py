"""Large objects to the object service itself: parts, several at a time, each with a grant for exactly these bytes."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from danlu.transfer.api import Api
from danlu.transfer.carrier import Granted, Stretch
from danlu.transfer.crew import Crew
from danlu.transfer.errors import Changed, Disconnected, NotConnected, Refused
from danlu.transfer.local_files import body_of_file
from danlu.transfer.progress import Told
from danlu.transfer.sent_bytes import SentBytes

NUM_PARALLEL = 3


class OutOfReach(Exception):
    """This machine cannot connect to the object service."""


def send_parts(api: Api, begun: dict[str, Any], path: str, descriptor: int, *, told: Told) -> None:
    """Send the parts that have not arrived. `begun` is what the server answered when the upload was begun.

    Raise OutOfReach, with the listener's count as it was, when the bytes have to go through the server.
    """
    size, step, arrived = int(begun["size"]), int(begun["part_bytes"]), set(begun["parts"])
    earlier = SentBytes(told, path)
    earlier.settle(int(begun["offset"]))
    counts: list[SentBytes] = []

    def send(number: int) -> None:
        count = SentBytes(crew.told(told), path)
        counts.append(count)
        begin = (number - 1) * step
        part = _Part(number, path, descriptor, begin, min(begin + step, size))
        part.send(api.until(crew.has_failed), str(begun["id"]), count)

    try:
        with Crew(send, NUM_PARALLEL) as crew:
            for number in range(1, -(-size // step) + 1):
                if number not in arrived:
                    crew.put(number)
    except OutOfReach:
        for count in (earlier, *counts):
            count.settle(0)
        raise


class _Part:
    def __init__(self, number: int, path: str, descriptor: int, begin: int, end: int) -> None:
        self._number = number
        self._path = path
        digest = hashlib.md5(usedforsecurity=False)
        for block in Stretch(path, descriptor, begin=begin, size=end - begin).blocks():
            digest.update(block)
        self._md5 = base64.b64encode(digest.digest()).decode()
        self._body = body_of_file(path, descriptor, begin, end)

    def send(self, api: Api, upload_id: str, count: SentBytes) -> None:
        def attempt() -> None:
            wanted = {"parts": [{"number": self._number, "md5": self._md5}]}
            (url,) = api.post(f"/uploads/{upload_id}/grants", wanted)["urls"]
            self._put(api, url, count)

        api.patiently(f"{self._path}, part {self._number}", attempt)

    def _put(self, api: Api, url: str, count: SentBytes) -> None:
        headers = {"Content-MD5": self._md5, "Content-Type": "application/octet-stream"}
        try:
            with api.open_granted(Granted("PUT", url, count.body(self._body), headers)) as answer:
                answer.read()
        except NotConnected as error:
            raise OutOfReach(str(error)) from error
        except Refused as refused:
            if refused.error == "BadDigest":
                raise Changed(self._path) from refused
            raise Disconnected(refused.message) from refused  # a grant may have run out: the next try has a new one
