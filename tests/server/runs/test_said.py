"""What scripts say about their runs: alerts, groups, parents, axes, pages."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from tests.support.journals import BEGAN, JournalMaker
from tests.support.receivers import receiving
from tests.support.runs import points, send
from tests.support.statements import statements
from tests.support.world import START, Api, World

from danlu import journal
from danlu.server.notices.run_alerts import PER_RUN, tell_run_alerts
from danlu.server.webhooks.operations import deliver_due

NOW = START.timestamp()


@pytest.fixture
def world(world: World) -> World:
    settings = world.settings.model_copy(update={"webhook_networks": "127.0.0.0/8"})
    object.__setattr__(world.state, "settings", settings)
    return world


def alert(title: str, text: str = "", **about: Any) -> bytes:
    values = {"kind": "alert", "type": "alert", "name": title, "format": "text/plain", "part": 0, "parts": 1}
    return journal.encode_media({"step": 7, "time": NOW, "level": "info", **values, **about}, text.encode())


def medium(made: JournalMaker, api: Api, world: World, format: str, data: bytes) -> str:
    about = {"kind": "html", "type": "train", "name": "page", "format": format, "time": BEGAN, "part": 0, "parts": 1}
    send(world, api, made.add(journal.encode_media(about, data)))
    (one,) = api.json("GET", f"/runs/{made.run}/media")["items"]
    return f"/runs/{made.run}/media/{one['id']}"


def site(api: Api) -> str:
    return str(api.http.base_url).rstrip("/").removesuffix("/api/v1")


def notices(api: Api) -> list[tuple[str, str]]:
    return [(one["kind"], one["message"]) for one in api.json("GET", "/notices")["items"]]


class TestAlerts:
    def test_its_owner_is_told_once_and_the_page_of_the_run_has_it(self, world: World, api: Api) -> None:
        made = JournalMaker(name="mnist").add(alert("loss is high", "3.5", level="warning"))
        send(world, api, made)
        assert api.json("GET", f"/runs/{made.run}/media")["items"] == []
        with receiving() as receiver:
            api.json("POST", "/webhooks", json={"url": receiver.url("/hook"), "kinds": ["run.alert"]})
            assert world.database.write(tell_run_alerts, world.state) == 1
            assert world.database.write(tell_run_alerts, world.state) == 0
            while deliver_due(world.state):
                pass
            (got,) = receiver.got
        sent = json.loads(got.body)
        assert (sent["type"], sent["data"]["run"]["id"]) == ("run.alert", made.run)
        assert sent["data"]["alert"] == {
            "title": "loss is high",
            "text": "3.5",
            "level": "warning",
            "step": 7,
            "message": "loss is high: 3.5",
        }
        assert notices(api) == [("run.alert", "loss is high: 3.5")]
        (one,) = api.json("GET", f"/runs/{made.run}/alerts")["items"]
        assert (one["title"], one["text"], one["level"], one["step"], one["is_told"]) == (
            "loss is high", "3.5", "warning", 7, True,
        )  # fmt: skip

    def test_a_job_alerts_its_owner(self, world: World, api: Api) -> None:
        job = world.started()
        with Api(site(api), world.job_token(job)) as inside:
            made = JournalMaker(name="inside").add(alert("done"))
            send(world, inside, made)
        world.database.write(tell_run_alerts, world.state)
        assert notices(api)[0] == ("run.alert", "done")

    def test_a_script_that_alerts_all_the_time_is_kept_and_not_told(self, world: World, api: Api) -> None:
        made = JournalMaker()
        for number in range(PER_RUN + 5):
            made.add(alert(f"alert {number}"))
        send(world, api, made)
        while world.database.write(tell_run_alerts, world.state):
            pass
        assert len(notices(api)) == PER_RUN
        listed = api.json("GET", f"/runs/{made.run}/alerts")["items"]
        assert [one["is_told"] for one in listed].count(True) == PER_RUN
        assert len(listed) == PER_RUN + 5
        world.clock.pass_seconds(3700)
        send(world, api, made.add(alert("later", time=world.state.now().timestamp())))
        world.database.write(tell_run_alerts, world.state)
        assert notices(api)[0] == ("run.alert", "later")

    def test_what_is_synced_days_later_is_no_news(self, world: World, api: Api) -> None:
        long_ago = (START - timedelta(days=2)).timestamp()
        made = JournalMaker().add(alert("old", time=long_ago))
        send(world, api, made)
        world.database.write(tell_run_alerts, world.state)
        assert notices(api) == []
        assert [one["is_told"] for one in api.json("GET", f"/runs/{made.run}/alerts")["items"]] == [False]

    def test_what_is_strange_is_made_fit(self, world: World, api: Api) -> None:
        made = JournalMaker().add(alert("x" * 500, "\x00y" * 40_000, level="catastrophe", step=None, time=None))
        send(world, api, made)
        (one,) = api.json("GET", f"/runs/{made.run}/alerts")["items"]
        assert (len(one["title"]), len(one["text"]), one["level"], one["step"]) == (200, 16_384, "info", None)

    def test_others_do_not_see_them(self, world: World, api: Api) -> None:
        made = JournalMaker().add(alert("secret"))
        send(world, api, made)
        world.add_user("eve", "other")
        with Api(site(api), world.api_key(world.identity("eve"))) as eve:
            assert eve("GET", f"/runs/{made.run}/alerts").status_code == 404


class TestGroupsAndParents:
    def test_they_are_shown_and_found(self, world: World, api: Api) -> None:
        outer = JournalMaker(name="search", group="lr")
        inner = JournalMaker(name="trial", group="lr", parent=outer.run)
        send(world, api, outer)
        run = send(world, api, inner)
        assert (run["group"], run["parent"]) == ("lr", outer.run)
        found = api.json("GET", "/runs", params={"filter": f"parent = '{outer.run}'"})["items"]
        assert [one["name"] for one in found] == ["trial"]
        assert api.json("GET", f"/runs/{outer.run}")["num_parts"] == 1
        assert len(api.json("GET", "/runs", params={"filter": "group = 'lr'"})["items"]) == 2

    def test_a_parent_is_the_id_of_a_run(self, api: Api) -> None:
        made = JournalMaker()
        answer = api("POST", "/runs", json={**made.header, "parent": "../x"})
        assert (answer.status_code, list(answer.json()["fields"])) == (422, ["parent"])


class TestOwnAxes:
    def test_a_metric_is_shown_over_another_one(self, world: World, api: Api) -> None:
        made = JournalMaker()
        made.log("train", {"samples": [64.0, 128.0, 96.0]}, [1, 3, 5])
        made.log("val", {"loss": [9.0, 3.0, 2.0, 1.0]}, [0, 2, 4, 6])
        made.add(journal.encode_set("axes", {"val/*": "train/samples"}, time=BEGAN))
        run = send(world, api, made)
        assert run["axes"] == {"val/*": "train/samples"}
        found = points(api, made.run, "val/loss", axis="own")
        # the first value has no place: nothing had been counted before it
        assert (found["x"], found["value"], found["step"]) == ([64.0, 96.0, 128.0], [3.0, 1.0, 2.0], [2, 6, 4])
        assert found["axis"] == "train/samples"
        without = points(api, made.run, "train/samples", axis="own")
        assert (without["x"], without["step"]) == (None, [1, 3, 5])

    def test_an_axis_that_many_share_is_read_once(self, world: World, api: Api) -> None:
        made = JournalMaker()
        made.log("train", {"samples": [64.0, 128.0]}, [1, 3])
        made.log("val", {f"loss{number}": [3.0, 2.0] for number in range(30)}, [2, 4])
        made.add(journal.encode_set("axes", {"val/*": "train/samples"}, time=BEGAN))
        send(world, api, made)
        with statements(world) as asked_by_step:
            api("GET", "/runs/points", params={"run": made.run})
        with statements(world) as asked_by_axis:
            found = api.json("GET", "/runs/points", params={"run": made.run, "axis": "own"})
        assert sum(one["axis"] == "train/samples" for one in found["items"]) == 30
        assert len(asked_by_axis) < len(asked_by_step) + 10


class TestPages:
    def test_html_is_of_no_site_and_reaches_nothing(self, world: World, api: Api) -> None:
        page = b"<script>fetch('/api/v1/keys')</script>"
        place = medium(JournalMaker(), api, world, "text/html", page)
        answer = api("GET", f"{place}/page")
        assert (answer.status_code, answer.content) == (200, page)
        policy = answer.headers["Content-Security-Policy"].split("; ")
        assert policy[0] == "sandbox allow-scripts", "without allow-same-origin it has no cookies and no storage"
        for wanted in ("default-src 'none'", "connect-src 'none'", "form-action 'none'", "frame-ancestors 'self'"):
            assert wanted in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert api("GET", place).headers["Content-Disposition"] == "attachment"

    def test_a_figure_cannot_end_the_element_that_it_is_in(self, world: World, api: Api) -> None:
        evil = {"data": [], "layout": {"title": "</script><script>alert(1)</script><!--"}}
        place = medium(JournalMaker(), api, world, "application/vnd.plotly.v1+json", json.dumps(evil).encode())
        text = api("GET", f"{place}/page").text
        assert text.count("</script>") == 3
        assert "alert(1)" in text

    @pytest.mark.parametrize("data", [b"[" * 5000, b"\xff", b"[]"])
    def test_a_figure_that_is_none_is_an_empty_one(self, world: World, api: Api, data: bytes) -> None:
        place = medium(JournalMaker(), api, world, "application/vnd.plotly.v1+json", data)
        assert '<script type="application/json" id="made">{}</script>' in api("GET", f"{place}/page").text

    def test_what_is_no_page_has_none(self, world: World, api: Api) -> None:
        place = medium(JournalMaker(), api, world, "image/png", b"\x89PNG")
        assert api("GET", f"{place}/page").status_code == 422
