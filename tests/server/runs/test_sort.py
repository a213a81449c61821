"""Lists of runs that the server sorts, a page at a time."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from tests.support.databases import KINDS
from tests.support.journals import BEGAN, JournalMaker
from tests.support.runs import send
from tests.support.world import Api, World

from danlu import journal


@pytest.fixture(params=KINDS)
def database_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def listed(world: World, api: Api) -> Any:
    """Names of all runs in an order, read one by one."""
    for name, hparams, acc in (
        ("a", {"lr": 0.1, "size": "large"}, 0.3),
        ("b", {"lr": 10, "size": 3}, 0.9),
        ("c", {"lr": 0.1, "size": "空"}, float("nan")),
        ("d", {}, None),
        ("e", {"lr": -2.5, "size": 40.0}, 0.5),
        ("f", {}, None),
    ):
        made = JournalMaker(name=name, created_at=BEGAN + ord(name))
        if acc is not None:
            made.log("val", {"acc": [0.0, acc]}, [1, 2])
        made.add(journal.encode_set("hparams", hparams, time=BEGAN))
        send(world, api, made)

    def read(sort: str, **query: Any) -> str:
        names, cursor = "", None
        while True:
            params = {"sort": sort, "limit": 1, **query, **({} if cursor is None else {"cursor": cursor})}
            page = api.json("GET", "/runs", params=params)
            names += "".join(run["name"] for run in page["items"])
            cursor = page["next"]
            if cursor is None:
                return names

    return read


def test_by_values_with_the_newest_first_among_equals(listed: Any) -> None:
    assert listed("hparams.lr") == "ecab" + "fd"
    assert listed("-hparams.lr") == "bcae" + "fd"
    assert listed("val/acc") == listed("metrics.val.acc") == "aeb" + "fdc"
    assert listed("-val/acc") == "bea" + "fdc"
    assert listed("-val/acc", filter="hparams.lr > 0", limit=2) == "ba" + "c"


def test_numbers_come_before_texts(listed: Any) -> None:
    assert listed("hparams.size") == "be" + "ac" + "fd"
    assert listed("-hparams.size") == "eb" + "ca" + "fd"


def test_by_fields(listed: Any) -> None:
    for field in ("name", "created", "created_at", "started"):
        assert (listed(field, limit=4), listed(f"-{field}", limit=4)) == ("abcdef", "fedcba")
    for of_all_or_none in ("state", "folder", "project", "owner", "job", "ended"):
        assert listed(of_all_or_none, limit=4) == listed(f"-{of_all_or_none}", limit=4) == "fedcba"
    assert listed("step", limit=2) == "ecba" + "fd"
    assert listed("-num_points") == "ecba" + "fd"


def test_what_runs_do_not_have_is_refused(api: Api) -> None:
    for sort in ("", "-", "accuracy", "metrics.", "val/", "info", "--name"):
        answer = api("GET", "/runs", params={"sort": sort})
        assert answer.status_code == 422
        assert answer.json()["fields"]["sort"].startswith("expected TYPE/NAME of a metric, hparams.NAME")


def cursor(*values: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode()


def test_a_cursor_of_another_list_is_refused(api: Api) -> None:
    for sort, text in (
        ("name", "7"),
        ("name", "%%%"),
        ("name", cursor("a")),
        ("name", cursor("a", 1, 2)),
        ("name", cursor("a\0", 1)),
        ("name", cursor("\ud800", 1)),
        ("name", cursor(1.5, 1)),
        ("name", cursor("a", 2**63)),
        ("name", cursor("a", True)),
        ("created", cursor("yesterday", 1)),
        ("step", cursor("1", 1)),
        ("step", cursor(10**400, 1)),
        ("val/acc", cursor({}, 1)),
    ):
        answer = api("GET", "/runs", params={"sort": sort, "cursor": text})
        assert answer.status_code == 422, text
        assert "is not a cursor of this list" in answer.json()["message"]


def test_a_time_beyond_all_times_is_refused(api: Api) -> None:
    for query in (
        {"sort": "created", "cursor": cursor("9999-12-31T23:59:59-23:59", 1)},
        {"filter": "created > '0001-01-01T00:00:00+23:59'"},
    ):
        assert api("GET", "/runs", params=query).status_code == 422


def test_the_cursor_behind_a_text_of_any_characters_is_taken(world: World, api: Api) -> None:
    for name in ("a", "b"):
        made = JournalMaker(name=name, created_at=BEGAN)
        made.add(journal.encode_set("hparams", {"text": "\1" * 600}, time=BEGAN))
        send(world, api, made)
    first = api.json("GET", "/runs", params={"sort": "hparams.text", "limit": 1})
    second = api.json("GET", "/runs", params={"sort": "hparams.text", "limit": 1, "cursor": first["next"]})
    assert {first["items"][0]["name"], second["items"][0]["name"]} == {"a", "b"}


def test_infinity_is_sorted_as_a_number(listed: Any, world: World, api: Api) -> None:
    for name, acc in (("h", float("inf")), ("i", float("-inf"))):
        made = JournalMaker(name=name, created_at=BEGAN + ord(name)).log("val", {"acc": [0.0, acc]}, [1, 2])
        send(world, api, made)
    assert listed("val/acc") == "iaebh" + "fdc"
    assert listed("-val/acc") == "hbeai" + "fdc"
