"""E-mail: to those who asked for it, about their own jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from email.header import decode_header, make_header
from email.message import Message
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message as KeepMessage
from tests.support.world import Api, World

from danlu.server.notices.ends import tell_ends
from danlu.server.notices.mail import Told, mail_of
from danlu.server.webhooks.operations import deliver_due
from danlu.spec.messages.languages import Language
from danlu.spec.monitoring.alerts import AlertKind, alert_message
from danlu.spec.monitoring.events import EventKind
from danlu.store.queries import jobs, people
from danlu.store.sql.run_tables import RunRow


class Mailbox(KeepMessage):
    def __init__(self) -> None:
        super().__init__()
        self.got: list[Message] = []
        self.refused: set[str] = set()

    def handle_message(self, message: Message) -> None:
        self.got.append(message)

    async def handle_RCPT(  # noqa: N802  its name is the protocol's
        self, server: Any, session: Any, envelope: Any, address: str, options: Any
    ) -> str:
        if address in self.refused:
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"


class MailServer(Controller):
    """On a free port, which is known only when it listens."""

    def _trigger_server(self) -> None:
        assert isinstance(self.server, asyncio.Server)
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()  # type: ignore[no-untyped-call]


@pytest.fixture
def mailbox(world: World) -> Iterator[Mailbox]:
    kept = Mailbox()
    controller = MailServer(kept, hostname="127.0.0.1", port=0)
    controller.start()
    where = {"smtp_host": "127.0.0.1", "smtp_port": controller.port, "smtp_security": "none"}
    changes = {**where, "mail_from": "danlu@example.com", "mail_language": "en"}
    object.__setattr__(world.state, "settings", world.settings.model_copy(update=changes))
    world.database.write(tell_ends, world.state)
    yield kept
    controller.stop()


def text_of(mail: Message) -> str:
    body = mail.get_payload(decode=True)
    assert isinstance(body, bytes)
    return body.decode().replace("\r\n", "\n")


def subject_of(mail: Message) -> str:
    return str(make_header(decode_header(str(mail["Subject"]))))


def speak(world: World, language: str | None) -> None:
    changed = world.state.settings.model_copy(update={"mail_language": language})
    object.__setattr__(world.state, "settings", changed)


def end(world: World, **spec: Any) -> None:
    job = world.started(**spec)
    world.engine.finish(job, code=1)
    world.tick(2)
    world.database.write(tell_ends, world.state)
    deliver_due(world.state)


def give_address(world: World, address: str) -> None:
    with world.database.writing() as session:
        user = people.user_by_name(session, "admin")
        assert user is not None
        people.change_user(session, user, email=address)


def test_who_asked_for_it_gets_it(world: World, api: Api, mailbox: Mailbox) -> None:
    give_address(world, "ann@example.com")
    assert api.json("GET", "/notices/wishes") == {"email": [], "address": "ann@example.com", "has_mail": True}
    end(world)
    assert mailbox.got == [], "nobody gets e-mail unasked"
    assert api.json("PUT", "/notices/wishes", json={"email": ["job.failed"]})["email"] == ["job.failed"]
    end(world, name="mnist")
    (mail,) = mailbox.got
    assert (mail["To"], mail["From"]) == ("ann@example.com", "danlu@example.com")
    assert mail["Subject"] == "[Danlu] mnist failed"
    assert "ended with code 1" in mail.get_payload()
    assert "/jobs/train-" in mail.get_payload()


def test_it_is_in_the_language_of_the_server(
    world: World, api: Api, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_address(world, "ann@example.com")
    api.json("PUT", "/notices/wishes", json={"email": ["job.failed"]})
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    for language in (None, "zh", "en"):
        speak(world, language)
        end(world, name="训练")
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    speak(world, None)
    end(world, name="训练")
    assert [mail["Content-Language"] for mail in mailbox.got] == ["en", "zh-CN", "en", "zh-CN"]
    assert [subject_of(mail) for mail in mailbox.got] == [
        "[Danlu] 训练 failed",
        "[Danlu] 训练 已失败",
        "[Danlu] 训练 failed",
        "[Danlu] 训练 已失败",
    ]
    english, chinese = (text_of(mail) for mail in mailbox.got[:2])
    assert english.startswith("rank 0 ended with code 1\n\njob: 训练 (train-")
    assert "\nstate: failed\n" in english
    assert chinese.startswith("rank 0 以退出码 1 结束\n\n任务：训练（train-")
    assert "\n状态：已失败\n" in chinese
    assert chinese.rstrip().endswith("接收哪些邮件可在个人资料中设置：http://127.0.0.1:8400/profile")


@pytest.mark.parametrize(("language", "subject"), [("en", "mnist needs attention"), ("zh", "mnist 出现告警")])
def test_an_alert_is_told_in_it_and_what_a_script_said_stays(world: World, language: Language, subject: str) -> None:
    job = world.submit(name="mnist")
    with world.database.reading() as session:
        row = jobs.get_job(session, job)
        assert row is not None
        message = alert_message(AlertKind.SILENT, {"rank": 3, "silent_seconds": 3900})
        alert = Told(kind=EventKind.ALERT_OPENED, job=row, message=message, alert_kind=AlertKind.SILENT)
        mail = mail_of(alert, to="a@example.com", base_url="http://x", language=language)
        run = RunRow(id="run-1", name="lr")
        said = Told(kind=EventKind.RUN_ALERT, job=row, message="rank 0 ended with code 1", run=run)
        script = mail_of(said, to="a@example.com", base_url="http://x", language=language)
    assert mail["subject"] == f"[Danlu] {subject}"
    told = {
        "en": "no log and no metric for 1h05m; rank 3 was the first to go silent",
        "zh": "已有 1 小时 5 分没有日志和指标，最先停止输出的是 Rank 3",
    }
    assert mail["text"].startswith(f"{told[language]}\n\n")
    assert script["text"].startswith("rank 0 ended with code 1\n\n")


def test_a_refused_recipient_is_not_tried_again(world: World, api: Api, mailbox: Mailbox) -> None:
    give_address(world, "gone@example.com")
    mailbox.refused.add("gone@example.com")
    api.json("PUT", "/notices/wishes", json={"email": ["job.failed"]})
    end(world)
    world.clock.pass_seconds(30 * 86400)
    assert deliver_due(world.state) == 0


def test_an_address_cannot_bring_headers_or_recipients_of_its_own(world: World, api: Api, mailbox: Mailbox) -> None:
    give_address(world, "a@example.com\r\nBcc: b@example.com")
    api.json("PUT", "/notices/wishes", json={"email": ["job.failed"]})
    end(world)
    assert mailbox.got == []


def test_wishes_are_kinds_of_events(api: Api) -> None:
    for wrong in ("nothing", "test"):
        refused = api("PUT", "/notices/wishes", json={"email": [wrong]})
        assert refused.status_code == 422, wrong
