"""E-mail: to those who asked for it, about their own jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from email.message import Message
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message as KeepMessage
from tests.support.world import Api, World

from danlu.server.notices.ends import tell_ends
from danlu.server.webhooks.operations import deliver_due
from danlu.store.queries import people


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
    changes = {**where, "mail_from": "danlu@example.com"}
    object.__setattr__(world.state, "settings", world.settings.model_copy(update=changes))
    world.database.write(tell_ends, world.state)
    yield kept
    controller.stop()


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
