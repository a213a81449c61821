"""Webhooks: signed, tried again, listed, sent only to whom they may go, about what their owner may see."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from standardwebhooks import Webhook
from tests.support.receivers import Receiver, receiving
from tests.support.world import Api, World

from danlu.auth.identity import Role, UserIdentity
from danlu.errors import InvalidInput
from danlu.server.notices.ends import tell_ends
from danlu.server.webhooks.addresses import check_url, find_destination, parse_networks
from danlu.server.webhooks.operations import PAUSES_SECONDS, deliver_due
from danlu.server.webhooks.signing import make_secret, sign


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


@pytest.fixture
def world(world: World) -> World:
    settings = world.settings.model_copy(update={"webhook_networks": "127.0.0.0/8"})
    object.__setattr__(world.state, "settings", settings)
    world.database.write(tell_ends, world.state)  # what ended before is told to nobody
    return world


def hook(api: Api, url: str, **changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = api.json("POST", "/webhooks", json={"url": url, **changes})
    return made


def end(world: World, who: UserIdentity | None = None, *, code: int = 0, **spec: Any) -> str:
    """A job runs and ends, and all who are concerned are told."""
    job = world.started(who=who, **spec)
    world.engine.finish(job, code=code)
    world.tick(2)
    tell(world)
    return job


def tell(world: World) -> None:
    while world.database.write(tell_ends, world.state):
        pass
    while deliver_due(world.state):
        pass


def test_the_end_of_a_job_is_sent_and_signed(world: World, api: Api, receiver: Receiver) -> None:
    made = hook(api, receiver.url("/hook?team=vision"))
    assert api.json("GET", "/webhooks")["items"] == [{name: made[name] for name in made if name != "secret"}]
    job = end(world, code=3)
    (got,) = receiver.got
    assert got.path == "/hook?team=vision"
    assert got.headers["danlu-event"] == "job.failed"
    sent = json.loads(got.body)
    assert (sent["type"], sent["data"]["job"]["id"], sent["data"]["job"]["state"]) == ("job.failed", job, "failed")
    assert "ended with code 3" in sent["data"]["job"]["reason"]["message"]
    headers = {**got.headers, "webhook-timestamp": got.headers["webhook-timestamp"]}
    signature = sign(made["secret"], headers["webhook-id"], timestamp=int(headers["webhook-timestamp"]), body=got.body)
    assert headers["webhook-signature"] == signature["webhook-signature"]
    (delivery,) = api.json("GET", f"/webhooks/{made['id']}/deliveries")["items"]
    assert (delivery["state"], delivery["status"], delivery["num_tries"]) == ("delivered", 204, 1)
    assert delivery["id"] == got.headers["webhook-id"]
    tell(world)
    assert len(receiver.got) == 1, "it is told once"


def test_the_signature_is_what_the_library_of_the_specification_takes() -> None:
    import time

    secret, body, now = make_secret(), b'{"type":"test"}', int(time.time())
    headers = sign(secret, "msg_1", timestamp=now, body=body)
    assert Webhook(secret).verify(body.decode(), headers) == {"type": "test"}


def test_what_fails_is_tried_again_with_longer_and_longer_pauses(world: World, api: Api, receiver: Receiver) -> None:
    made = hook(api, receiver.url())
    receiver.status = 503
    end(world)
    (delivery,) = api.json("GET", f"/webhooks/{made['id']}/deliveries")["items"]
    assert (delivery["state"], delivery["status"]) == ("waiting", 503)
    assert delivery["problem"] == "127.0.0.1 answered 503; expected 2xx"
    for number, pause in enumerate(PAUSES_SECONDS, start=1):
        world.clock.pass_seconds(pause - 1)
        deliver_due(world.state)
        assert len(receiver.got) == number, "not before its time"
        world.clock.pass_seconds(1)
        deliver_due(world.state)
    assert {got.headers["webhook-id"] for got in receiver.got} == {delivery["id"]}, "receivers know it again"
    (delivery,) = api.json("GET", f"/webhooks/{made['id']}/deliveries")["items"]
    assert (delivery["state"], delivery["num_tries"], delivery["next_at"]) == ("failed", len(PAUSES_SECONDS) + 1, None)
    world.clock.pass_seconds(10 * 86400)
    assert deliver_due(world.state) == 0


def test_a_receiver_that_is_away_for_a_while_misses_nothing(world: World, api: Api, receiver: Receiver) -> None:
    made = hook(api, receiver.url())
    receiver.status = 500
    end(world)
    receiver.status = 200
    world.clock.pass_seconds(PAUSES_SECONDS[0])
    deliver_due(world.state)
    (delivery,) = api.json("GET", f"/webhooks/{made['id']}/deliveries")["items"]
    assert (delivery["state"], delivery["num_tries"]) == ("delivered", 2)


def test_a_server_that_is_killed_while_it_sends_sends_again(world: World, api: Api, receiver: Receiver) -> None:
    from danlu.store.queries.monitoring import webhooks

    hook(api, receiver.url())
    job = world.started()
    world.engine.finish(job)
    world.tick(2)
    world.database.write(tell_ends, world.state)
    claimed = world.database.write(webhooks.claim_due, world.clock(), seconds=120.0, limit=10)
    assert len(claimed) == 1
    assert deliver_due(world.state) == 0, "somebody else is at it"
    world.clock.pass_seconds(120)
    assert deliver_due(world.state) == 1
    assert len(receiver.got) == 1


def test_redirects_are_not_followed(world: World, api: Api, receiver: Receiver) -> None:
    with receiving() as inner:
        made = hook(api, receiver.url())
        receiver.status, receiver.headers = 307, {"Location": inner.url("/secret")}
        end(world)
        assert inner.got == []
    (delivery,) = api.json("GET", f"/webhooks/{made['id']}/deliveries")["items"]
    assert (delivery["status"], delivery["problem"]) == (307, "127.0.0.1 answered 307; redirects are not followed")


def test_a_webhook_can_be_tried_out_and_removed(world: World, api: Api, receiver: Receiver) -> None:
    made = hook(api, receiver.url(), kinds=["alert.opened"])
    assert api.json("POST", f"/webhooks/{made['id']}/test")["state"] == "waiting"
    deliver_due(world.state)
    assert [json.loads(got.body)["type"] for got in receiver.got] == ["test"]
    for _ in range(20):
        api.json("POST", f"/webhooks/{made['id']}/test")
    assert api("POST", f"/webhooks/{made['id']}/test").status_code == 429
    deliver_due(world.state)
    receiver.got = receiver.got[:1]
    end(world)
    assert len(receiver.got) == 1, "ends of jobs were not asked for"
    assert api("DELETE", f"/webhooks/{made['id']}").status_code == 204
    assert api("DELETE", f"/webhooks/{made['id']}").status_code == 404
    actions = [event["action"] for event in api.json("GET", "/audit")["items"]]
    assert [action for action in actions if action.startswith("webhook.")] == ["webhook.remove", "webhook.add"]


class TestWhoHearsOfWhat:
    @pytest.fixture
    def people(self, world: World) -> dict[str, UserIdentity]:
        return {
            "olga": world.add_user("olga", "vision", Role.OWNER),
            "max": world.add_user("max", "vision"),
            "mona": world.add_user("mona", "vision"),
        }

    def api_of(self, api: Api, world: World, who: UserIdentity) -> Api:
        return Api(str(api.http.base_url).removesuffix("/api/v1/"), world.api_key(who))

    def test_ones_own_jobs(self, world: World, api: Api, receiver: Receiver, people: dict[str, UserIdentity]) -> None:
        with self.api_of(api, world, people["max"]) as mine:
            hook(mine, receiver.url())
        end(world, people["mona"], project="vision")
        assert receiver.got == []
        end(world, people["max"], project="vision")
        assert len(receiver.got) == 1

    def test_a_project_for_its_owners(
        self, world: World, api: Api, receiver: Receiver, people: dict[str, UserIdentity]
    ) -> None:
        with self.api_of(api, world, people["max"]) as mine:
            refused = mine("POST", "/webhooks", json={"url": receiver.url(), "scope": "project", "project": "vision"})
            assert refused.status_code == 403
        with self.api_of(api, world, people["olga"]) as hers:
            hook(hers, receiver.url(), scope="project", project="vision")
        end(world, people["max"], project="vision")
        assert len(receiver.got) == 1
        assert api("PUT", "/projects/vision/members/max", json={"role": "owner"}).status_code < 300
        assert api("DELETE", "/projects/vision/members/olga").status_code < 300
        end(world, people["max"], project="vision")
        assert len(receiver.got) == 1, "whoever left the project hears no more of it"

    def test_everything_for_admins(
        self, world: World, api: Api, receiver: Receiver, people: dict[str, UserIdentity]
    ) -> None:
        with self.api_of(api, world, people["olga"]) as hers:
            assert hers("POST", "/webhooks", json={"url": receiver.url(), "scope": "all"}).status_code == 403
        hook(api, receiver.url(), scope="all")
        end(world, people["max"], project="vision")
        assert len(receiver.got) == 1

    def test_a_disabled_person_hears_nothing(
        self, world: World, api: Api, receiver: Receiver, people: dict[str, UserIdentity]
    ) -> None:
        with self.api_of(api, world, people["olga"]) as hers:
            hook(hers, receiver.url(), scope="project", project="vision")
        assert api("POST", "/users/olga/disable", json={}).status_code < 300
        end(world, people["max"], project="vision")
        assert receiver.got == []

    def test_webhooks_of_others_do_not_exist(
        self, world: World, api: Api, receiver: Receiver, people: dict[str, UserIdentity]
    ) -> None:
        made = hook(api, receiver.url())
        with self.api_of(api, world, people["olga"]) as hers:
            assert hers.json("GET", "/webhooks")["items"] == []
            for method, path in (("DELETE", ""), ("POST", "/test"), ("GET", "/deliveries")):
                assert hers(method, f"/webhooks/{made['id']}{path}").status_code == 404


class TestRetries:
    def test_an_attempt_that_is_tried_again_is_no_end(self, world: World, api: Api, receiver: Receiver) -> None:
        hook(api, receiver.url())
        job = world.started(retry={"max": 1, "backoff": 1})
        world.engine.finish(job, code=1)
        world.tick(2)
        tell(world)
        assert receiver.got == []
        world.clock.pass_seconds(5)
        world.tick()
        world.engine.run(job, 2, at=world.clock().timestamp())
        world.engine.finish(job, 2)
        world.tick(2)
        tell(world)
        assert [json.loads(got.body)["type"] for got in receiver.got] == ["job.succeeded"]

    def test_a_waiting_job_that_is_stopped(self, world: World, api: Api, receiver: Receiver) -> None:
        hook(api, receiver.url(), kinds=["job.stopped"])
        job = world.submit(resources={"device": "npu:910b:8"}, nodes=4)
        assert api("POST", f"/jobs/{job}/stop").status_code < 300
        world.tick()
        tell(world)
        assert [json.loads(got.body)["data"]["job"]["id"] for got in receiver.got] == [job]


class TestAddresses:
    """Nobody uses the server to reach what only the server reaches."""

    @pytest.mark.parametrize(
        "url",
        [
            "ftp://example.com/x",
            "file:///etc/passwd",
            "https://",
            "https:///hook",
            "https://example.com:99999/",
            "https://example.com:x/",
            "https://name:word@example.com/",
            "https://exam ple.com/",
            "https://example.com/\r\nX-Evil: 1",
            "javascript:alert(1)",
        ],
    )
    def test_what_can_be_seen_to_be_wrong(self, url: str) -> None:
        with pytest.raises(InvalidInput, match="expected"):
            check_url(url)

    @pytest.mark.parametrize(
        "ip",
        [
            "127.0.0.1",
            "127.8.9.10",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "192.0.2.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fe80::1%eth0",
            "fc00::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "2001:0:7f00:1::",
        ],
    )
    def test_what_is_not_public(self, ip: str) -> None:
        with pytest.raises(InvalidInput, match="not a public address"):
            find_destination("https://hook.example/", (), resolve=lambda _host, _port: [ip])

    def test_a_name_with_one_inner_address_is_refused(self) -> None:
        with pytest.raises(InvalidInput, match="not a public address"):
            find_destination("https://hook.example/", (), resolve=lambda _host, _port: ["93.184.216.34", "10.0.0.1"])

    @pytest.mark.parametrize("url", ["https://2130706433/", "https://0x7f.1/", "https://127.1/", "https://localhost/"])
    def test_other_spellings_of_this_machine(self, url: str) -> None:
        with pytest.raises(InvalidInput, match=r"not a public address|cannot be looked up"):
            find_destination(url, ())

    def test_public_addresses_need_encryption(self) -> None:
        public = ["93.184.216.34"]
        with pytest.raises(InvalidInput, match="expected https"):
            find_destination("http://hook.example/", (), resolve=lambda _host, _port: public)
        found = find_destination("https://hook.example/", (), resolve=lambda _host, _port: public)
        assert (found.ip, found.host, found.port) == ("93.184.216.34", "hook.example", 443)

    def test_networks_that_the_operator_lists(self) -> None:
        networks = parse_networks("10.1.0.0/16, fd00::/8")
        assert find_destination("http://in/", networks, resolve=lambda _host, _port: ["10.1.2.3"]).port == 80
        assert find_destination("http://in:81/", networks, resolve=lambda _host, _port: ["fd00::1"]).port == 81
        with pytest.raises(InvalidInput, match="not a public address"):
            find_destination("http://in/", networks, resolve=lambda _host, _port: ["10.2.2.3"])
        with pytest.raises(InvalidInput, match="webhook_networks: expected networks"):
            parse_networks("10.1.0.0/99")

    def test_the_address_that_was_looked_at_is_the_one_that_is_used(
        self, world: World, api: Api, receiver: Receiver
    ) -> None:
        """A name that is looked up again could stand for another address then."""
        answers = [["127.0.0.1"], ["10.0.0.1"], ["10.0.0.1"]]
        hook(api, f"http://rebound.example:{receiver.port}/hook")
        job = world.started()
        world.engine.finish(job)
        world.tick(2)
        world.database.write(tell_ends, world.state)
        deliver_due(world.state, resolve=lambda _host, _port: answers.pop(0))
        assert len(receiver.got) == 1
        assert receiver.got[0].headers["host"] == f"rebound.example:{receiver.port}"

    def test_without_a_list_this_machine_is_not_reached(self, world: World, api: Api, receiver: Receiver) -> None:
        object.__setattr__(world.state, "settings", world.settings)
        made = hook(api, receiver.url())
        end(world)
        assert receiver.got == []
        (delivery,) = api.json("GET", f"/webhooks/{made['id']}/deliveries")["items"]
        assert "127.0.0.1, which is not a public address" in delivery["problem"]
