"""One try of one delivery: over HTTP to a webhook, or by SMTP to a mailbox. No database."""

from __future__ import annotations

import json
import smtplib
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Any
from urllib.parse import urlsplit

import httpx

import danlu
from danlu.errors import DanluError
from danlu.server.settings import ServerSettings
from danlu.server.webhooks.addresses import Destination, Network, Resolve, find_destination
from danlu.server.webhooks.signing import sign

TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Outcome:
    is_delivered: bool
    status: int | None = None
    problem: str = ""
    is_final: bool = False
    """Whether further tries are useless."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message to a webhook."""

    id: str
    url: str
    secret: str
    kind: str
    body: bytes
    timestamp: int


def post(
    message: Message,
    networks: Sequence[Network],
    *,
    resolve: Resolve | None = None,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> Outcome:
    """Send a message. Redirects are not followed, proxies of the environment are ignored, response bodies are not read.

    The whole exchange has a time limit, so that a slow receiver cannot delay other deliveries.
    """
    try:
        where = find_destination(message.url, networks, resolve=resolve)
    except DanluError as error:
        return Outcome(False, problem=error.message)
    headers = {
        "content-type": "application/json",
        "user-agent": f"danlu/{danlu.__version__}",
        "danlu-event": message.kind,
        **sign(message.secret, message.id, timestamp=message.timestamp, body=message.body),
    }
    try:
        with (
            httpx.Client(timeout=timeout_seconds, trust_env=False, follow_redirects=False) as http,
            _HangUp(timeout_seconds) as hang_up,
        ):
            status = _send(http, where, message, headers, trace=hang_up.trace)
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        return Outcome(False, problem=f"{where.host} did not answer: {type(error).__name__}")
    if 200 <= status < 300:
        return Outcome(True, status=status)
    told = "redirects are not followed" if 300 <= status < 400 else "expected 2xx"
    return Outcome(False, status=status, problem=f"{where.host} answered {status}; {told}", is_final=status == 410)


class _HangUp:
    """Ends a connection after some seconds, even if data arrives."""

    def __init__(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True
        self._stream: Any = None

    def __enter__(self) -> _HangUp:
        self._timer.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._timer.cancel()

    def trace(self, event: str, info: dict[str, Any]) -> None:
        """Called by httpcore at each of its steps."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._stream = info["return_value"]

    def _end(self) -> None:
        if self._stream is not None:
            with suppress(OSError):
                self._stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


def _send(
    http: httpx.Client,
    where: Destination,
    message: Message,
    headers: dict[str, str],
    *,
    trace: Callable[[str, dict[str, Any]], None],
) -> int:
    parts = urlsplit(message.url)
    ip = f"[{where.ip}]" if ":" in where.ip else where.ip
    target = f"{where.scheme}://{ip}:{where.port}{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
    # to the checked address, with the name that the certificate is for
    request = http.build_request(
        "POST",
        target,
        content=message.body,
        headers={**headers, "host": parts.netloc.rpartition("@")[2]},
        extensions={"sni_hostname": where.host, "trace": trace},
    )
    response = http.send(request, stream=True)
    response.close()  # only the status of the response counts
    return response.status_code


def send_mail(settings: ServerSettings, body: str) -> Outcome:
    """`body`: recipient, subject, text and their language as JSON."""
    mail = json.loads(body)
    message = EmailMessage()
    try:
        message["From"], message["To"] = settings.mail_from, mail["to"]
        message["Subject"] = " ".join(str(mail["subject"]).split())
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(mail["text"])
        if "language" in mail:  # not in those that an earlier version stored
            message["Content-Language"] = mail["language"]
    except ValueError as error:
        return Outcome(False, problem=f"cannot create an e-mail: {error}", is_final=True)
    try:
        with _mail_server(settings) as server:
            if settings.smtp_user:
                password = settings.smtp_password_file.expanduser().read_text() if settings.smtp_password_file else ""
                server.login(settings.smtp_user, password.strip())
            server.send_message(message)
    except smtplib.SMTPRecipientsRefused as error:
        return Outcome(False, problem=f"{settings.smtp_host} refuses {', '.join(error.recipients)}", is_final=True)
    except (smtplib.SMTPException, OSError) as error:
        return Outcome(False, problem=f"{settings.smtp_host} did not take it: {type(error).__name__}")
    return Outcome(True)


def _mail_server(settings: ServerSettings) -> smtplib.SMTP:
    place = (settings.smtp_host, settings.smtp_port)
    if settings.smtp_security == "tls":
        return smtplib.SMTP_SSL(*place, timeout=TIMEOUT_SECONDS, context=ssl.create_default_context())
    server = smtplib.SMTP(*place, timeout=TIMEOUT_SECONDS)
    if settings.smtp_security == "starttls":
        server.starttls(context=ssl.create_default_context())
    return server
