"""Large files to the object service itself, in parts, with a grant for each."""

from __future__ import annotations

import base64
import hashlib
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path

import httpx

from danlu.client.files.transfer import Meter
from danlu.client.http import Http
from danlu.errors import BadChecksum
from danlu.wire.store import AskGrants, GrantsOut, PartIn, UploadOut

NUM_PARALLEL = 3
_NO_WAY = (httpx.ConnectError, httpx.ConnectTimeout)


def send_parts(http: Http, begun: UploadOut, local: Path, *, meter: Meter) -> bool:
    """Send what has not arrived. False when the service is not in reach from here: then it goes through the server."""
    step = begun.part_bytes or begun.size
    last = -(-begun.size // step)
    left = [number for number in range(1, last + 1) if number not in begun.parts]
    meter.moved(str(local), begun.offset)
    with ThreadPoolExecutor(NUM_PARALLEL) as pool:
        running = [pool.submit(_send, http, begun, local, number, meter) for number in left]
        wait(running, return_when=FIRST_EXCEPTION)
        for one in running:
            one.cancel()
    done = [one for one in running if not one.cancelled()]
    problems = [problem for one in done if (problem := one.exception()) is not None]
    if not problems:
        return True
    if not isinstance(problems[0], _NO_WAY):
        raise problems[0]
    http.is_direct = False
    meter.moved(str(local), -begun.offset - sum(one.result() for one in done if one.exception() is None))
    return False


def _send(http: Http, begun: UploadOut, local: Path, number: int, meter: Meter) -> int:
    """Send one part; return its size."""
    step = begun.part_bytes or begun.size
    begin = (number - 1) * step
    with local.open("rb") as file:
        file.seek(begin)
        data = file.read(min(step, begun.size - begin))
    if len(data) != min(step, begun.size - begin):
        raise BadChecksum(f"{local} changed while it was sent; send it again when nobody writes to it")
    md5 = base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()

    def once() -> None:
        ask = AskGrants(parts=[PartIn(number=number, md5=md5)])
        (url,) = http.post(f"/uploads/{begun.id}/grants", GrantsOut, body=ask, is_repeatable=True).urls
        headers = {"Content-MD5": md5, "Content-Type": "application/octet-stream"}
        answer = http.services.put(url, content=data, headers=headers)
        if answer.is_error:
            raise httpx.ReadError(f"the object service answered {answer.status_code} to part {number}")

    try:
        once()
    except _NO_WAY:
        raise
    except httpx.TransportError:
        http.retry(once)
    meter.moved(str(local), len(data))
    return len(data)
