"""Object stores of every kind."""

from __future__ import annotations

import urllib.error
import urllib.request
from pathlib import Path

import pytest
from tests.support.objects import Web
from tests.support.stores import KINDS, S3Servers, make_objects

from danlu.store.objects.base import Objects


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def objects(kind: str, s3_servers: S3Servers, tmp_path: Path) -> Objects:
    return make_objects(kind, s3_servers, tmp_path)


@pytest.fixture
def web(kind: str, s3_servers: S3Servers) -> Web:
    """Send a request as somebody who has nothing but the URL."""
    proxy = s3_servers.get(kind).place.proxy
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": proxy} if proxy else {}))

    def send(method: str, url: str, data: bytes | None = None, **headers: str) -> tuple[int, bytes]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(
            url, data, {"Content-Type": "application/octet-stream", **named}, method=method
        )
        try:
            with opener.open(request) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    return send
