"""A list of runs is told what changes in it."""

from __future__ import annotations

from collections.abc import Iterator

from tests.support.events import Told, events, told
from tests.support.journals import JournalMaker
from tests.support.runs import send
from tests.support.world import Api, World

PATH = "/runs/changes"


def test_it_begins_with_the_runs_of_the_list(world: World, api: Api) -> None:
    good, bad = (JournalMaker(name=name).log("val", {"acc": [acc]}, [1]) for name, acc in (("good", 0.9), ("bad", 0.2)))
    for made in (good, bad):
        send(world, api, made)
    assert [row["name"] for _, row in told(api, PATH)] == ["bad", "good"]
    assert [row["name"] for _, row in told(api, PATH, filter="metrics.val.acc > 0.5")] == ["good"]
    assert told(api, PATH, deleted="true") == []


def test_who_follows_hears_of_news_and_of_what_left(world: World, api: Api) -> None:
    made = JournalMaker(name="first").log("val", {"acc": [0.1]}, [1])
    send(world, api, made)
    with api.http.stream(
        "GET", PATH.lstrip("/"), params={"follow": "true", "filter": "metrics.val.acc < 0.5"}
    ) as stream:
        heard = events(stream.iter_lines())
        _wait_for(heard, "first", 0.1)
        later = JournalMaker(name="second").log("val", {"acc": [0.2]}, [1])
        send(world, api, later)
        _wait_for(heard, "second", 0.2)
        send(world, api, later.log("val", {"acc": [0.3]}, [2]))
        _wait_for(heard, "second", 0.3)
        send(world, api, made.log("val", {"acc": [0.8]}, [2]))  # does not fit any more
        assert next(heard) == ("gone", {"id": made.run})
        api("DELETE", f"/runs/{later.run}")
        assert next(heard) == ("gone", {"id": later.run})


def test_a_filter_that_cannot_be_read_is_an_error(api: Api) -> None:
    answer = api("GET", PATH, params={"filter": "metrics.val.acc >"})
    assert (answer.status_code, list(answer.json()["fields"])) == (422, ["filter"])


def test_others_hear_nothing_of_it(world: World, api: Api) -> None:
    send(world, api, JournalMaker(name="mine"))
    stranger = world.add_user("eve", "other")
    with world.serving() as url, Api(url, world.api_key(stranger)) as other:
        assert told(other, PATH) == []


def _wait_for(heard: Iterator[Told], name: str, acc: float) -> None:
    """A run may be told of more than once on the way."""
    for event, row in heard:
        assert event == "run"
        if (row["name"], row["metrics"][0]["last"]) == (name, acc):
            return
