"""Requests as Tencent Cloud's SDK sends them, signed here by the rules that it publishes."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any
from urllib.parse import quote, urlencode

import httpx

_traces = itertools.count()


def sha256(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def sha1(key: str, text: str) -> str:
    return hmac.new(key.encode(), text.encode(), hashlib.sha1).hexdigest()


def encoded(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return sorted((_quoted(name).lower(), _quoted(text)) for name, text in values.items())


def _quoted(value: Any) -> str:
    return quote(str(value), safe="-_.~")


class TencentSdk:
    """The holder of a key pair. `at` is the clock of its machine."""

    def __init__(self, url: str, api_key: str, at: float, *, bucket: str = "main") -> None:
        self.key_id, _, self.secret = api_key.partition(".")
        self.url, self.at, self.bucket = url, at, bucket
        self.http = httpx.Client(timeout=None, trust_env=False)

    # the API

    def action_headers(self, action: str, body: bytes, **changes: str) -> dict[str, str]:
        host = f"{self.url}/compat/tencent"
        kind, day = "application/json", datetime.fromtimestamp(self.at, timezone.utc).strftime("%Y-%m-%d")
        payload = hashlib.sha256(body).hexdigest()
        request = f"POST\n/\n\ncontent-type:{kind}\nhost:{host}\n\ncontent-type;host\n{payload}"
        scope = f"{day}/tione/tc3_request"
        text = f"TC3-HMAC-SHA256\n{int(self.at)}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
        key = sha256(sha256(sha256(f"TC3{self.secret}".encode(), day), "tione"), "tc3_request")
        signature = sha256(key, text).hex()
        claim = f"Credential={self.key_id}/{scope}, SignedHeaders=content-type;host, Signature={signature}"
        return {
            "Content-Type": kind,
            "Host": host,
            "X-TC-Action": action,
            "X-TC-Timestamp": str(int(self.at)),
            "X-TC-Version": "2021-11-11",
            "X-TC-Region": "ap-guangzhou",
            "X-TC-TraceId": str(next(_traces)),
            "Authorization": f"TC3-HMAC-SHA256 {claim}",
            **changes,
        }

    def post(self, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
        answer = self.http.post(f"{self.url}/compat/tencent", content=body, headers=dict(headers))
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"  # the SDK looks for errors in nothing else
        found: dict[str, Any] = answer.json()["Response"]
        assert found["RequestId"]
        return found

    def action(self, action: str, **values: Any) -> dict[str, Any]:
        body = json.dumps(values).encode()
        return self.post(self.action_headers(action, body), body)

    def code(self, action: str, **values: Any) -> str:
        return str(self.action(action, **values)["Error"]["Code"])

    # the storage

    def store_headers(self, method: str, key: str, body: bytes = b"", **more: str) -> dict[str, str]:
        query = more.pop("query", "")
        params = dict(part.partition("=")[::2] for part in query.split("&")) if query else {}
        signed = {"Host": f"{self.bucket}.cos.ap-guangzhou.myqcloud.com", **more}
        if method in ("PUT", "POST"):
            signed["Content-Length"] = str(len(body))
        names, values = encoded(params), encoded(signed)
        time = f"{int(self.at) - 60};{int(self.at) + 10000}"
        joined = ["&".join(f"{name}={text}" for name, text in pairs) for pairs in (names, values)]
        request = f"{method.lower()}\n/{key}\n{joined[0]}\n{joined[1]}\n"
        digest = hashlib.sha1(request.encode()).hexdigest()
        signature = sha1(sha1(self.secret, time), f"sha1\n{time}\n{digest}\n")
        lists = [";".join(name for name, _ in pairs) for pairs in (values, names)]
        claim = f"q-sign-algorithm=sha1&q-ak={self.key_id}&q-sign-time={time}&q-key-time={time}"
        return {
            **signed,
            "Authorization": f"{claim}&q-header-list={lists[0]}&q-url-param-list={lists[1]}&q-signature={signature}",
        }

    def store(self, method: str, key: str = "", body: bytes = b"", **more: str) -> httpx.Response:
        query = more.get("query", "")
        headers = self.store_headers(method, key, body, **more)
        return self.send_store(method, key, headers, body, query=query)

    def send_store(
        self, method: str, key: str, headers: Mapping[str, str], body: bytes = b"", *, query: str = ""
    ) -> httpx.Response:
        params = dict(part.partition("=")[::2] for part in query.split("&")) if query else {}
        url = f"{self.url}/compat/tencent/cos/{quote(key)}" + (f"?{urlencode(params)}" if params else "")
        content = body if method in ("PUT", "POST") else None
        return self.http.request(method, url, content=content, headers=dict(headers))

    def __enter__(self) -> TencentSdk:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()
