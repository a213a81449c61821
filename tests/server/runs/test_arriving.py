"""Runs arrive over real HTTP, as clients send them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from sqlalchemy import select
from tests.support.journals import BEGAN, JournalMaker
from tests.support.runs import points, send
from tests.support.world import Api, World

from danlu import journal
from danlu.store.metrics.set_records import MAX_MARKS
from danlu.store.sql.run_tables import RunRow


class TestArriving:
    def test_a_run_shows_what_its_journal_says(self, world: World, api: Api) -> None:
        made = JournalMaker(
            name="first", folder="vision/lr", labels=["a"], description="why", environment={"host": "h"}
        )
        made.log("train", {"loss": [3.0, 2.0, 1.0], "acc": [0.1, 0.5, 0.4]}, [1, 2, 3], epoch=1)
        made.log("val", {"acc": [0.5]}, [3])
        made.add(journal.encode_set("hparams", {"lr": 0.1, "net": {"depth": 3}}, time=BEGAN))
        made.add(journal.encode_set("summary", {"best": 0.5}, time=BEGAN))
        made.add(journal.encode_value("total_steps", 12, time=BEGAN)).finish()
        run = send(world, api, made)
        metrics = {f"{one['type']}/{one['name']}": (one["last"], one["low"], one["high"]) for one in run["metrics"]}
        assert metrics == {"train/loss": (1.0, 1.0, 3.0), "train/acc": (0.4, 0.1, 0.5), "val/acc": (0.5, 0.5, 0.5)}
        assert (run["name"], run["folder"], run["labels"], run["description"]) == ("first", "vision/lr", ["a"], "why")
        assert (run["hparams"], run["summary"]) == ({"lr": 0.1, "net": {"depth": 3}}, {"best": 0.5})
        assert (run["state"], run["step"], run["progress"], run["num_points"]) == ("finished", 3, 0.25, 7)
        assert run["environment"] == {"host": "h"}
        assert points(api, made.run, "train/acc") == {
            "run": made.run,
            "type": "train",
            "name": "acc",
            "num_points": 3,
            "step": [1, 2, 3],
            "epoch": [1.0, 1.0, 1.0],
            "time": [BEGAN + 1, BEGAN + 2, BEGAN + 3],
            "value": [0.1, 0.5, 0.4],
            "x": None,
            "axis": None,
            "hidden": [],
        }

    def test_git_and_packages_of_the_companion_are_kept(self, world: World, api: Api) -> None:
        made = JournalMaker(environment={"host": "h", "python": "3.12.1"})
        git = {"commit": "a" * 40, "branch": "main", "is_dirty": True, "diff": "--- a\n+++ b\n", "is_diff_cut": False}
        found = {"packages": {"numpy": "2.1.0", "torch": "2.13.0"}, "git": git}
        beside = JournalMaker(made.run, writer="companion").add(journal.encode_set("environment", found, time=BEGAN))
        send(world, api, made)
        run = send(world, api, beside)
        diff = git.pop("diff")
        assert run["environment"] == {"host": "h", "python": "3.12.1", "git": git, "num_packages": 2}
        assert api.json("GET", f"/runs/{made.run}/environment") == {
            "environment": {"host": "h", "python": "3.12.1"},
            "packages": found["packages"],
            "git": git,
            "diff": diff,
        }

    def test_an_environment_that_makes_no_sense_is_shown_without_harm(self, world: World, api: Api) -> None:
        made = JournalMaker(environment={"git": "none", "packages": [1]})
        for number in range(4):  # no journal of ours has so much
            large = {f"large-{number}": "x" * 900_000}
            made.add(journal.encode_set("environment", large, time=BEGAN + number))
        send(world, api, made)
        shown = api.json("GET", f"/runs/{made.run}/environment")
        assert (shown["git"], shown["packages"], shown["diff"]) == ({}, {}, "")
        assert sorted(shown["environment"]) == ["large-0", "large-1"]

    def test_values_have_a_limit_together(self, world: World, api: Api) -> None:
        """Each frame is a right one, and without a limit the run's row would grow with every one."""
        made = JournalMaker()
        for number in range(20):
            made.add(journal.encode_set("summary", {f"large-{number:02}": "x" * 1_000_000}, time=BEGAN + number))
        made.add(journal.encode_set("summary", {}, remove=["large-00"], time=BEGAN + 20))
        made.add(journal.encode_set("summary", {"later": "x" * 1_000_000, "small": 1}, time=BEGAN + 21))
        kept = send(world, api, made)["summary"]
        assert sorted(kept) == [*(f"large-{number:02}" for number in range(1, 16)), "later", "small"]

    def test_times_of_removed_keys_have_a_limit(self, world: World, api: Api) -> None:
        made = JournalMaker()
        made.add(journal.encode_set("hparams", {"kept": 1}, time=BEGAN))
        for number in range(30):
            keys = [f"key-{number}-{one}" for one in range(1000)]
            made.add(journal.encode_set("hparams", {}, remove=keys, time=BEGAN + number))
        assert send(world, api, made)["hparams"] == {"kept": 1}
        with world.state.database.reading() as session:
            times = session.scalars(select(RunRow.set_at).where(RunRow.id == made.run)).one()
        assert len(times) == MAX_MARKS
        assert "hparams.kept" in times

    @pytest.mark.parametrize(("value", "odd"), [(math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf")])
    def test_a_last_value_that_is_no_number_is_shown_and_found(
        self, world: World, api: Api, value: float, odd: str
    ) -> None:
        made = JournalMaker().log("train", {"loss": [1.0, value]}, [1, 2])
        (metric,) = send(world, api, made)["metrics"]
        assert (metric["last"], metric["odd"], metric["high"]) == (None, odd, 1.0)
        for text in (f"= '{odd}'", f"= {odd}", f"in ({odd.upper()}, 7)", "!= 0.5"):
            found = api.json("GET", "/runs", params={"filter": f"metrics.train.loss {text}"})["items"]
            assert [run["id"] for run in found] == [made.run], text
        above = api.json("GET", "/runs", params={"filter": "metrics.train.loss > 1e300"})["items"]
        below = api.json("GET", "/runs", params={"filter": "metrics.train.loss < 0"})["items"]
        assert (len(above), len(below)) == ({"inf": 1}.get(odd, 0), {"-inf": 1}.get(odd, 0))
        other = "nan" if odd != "nan" else "-Infinity"
        assert api.json("GET", "/runs", params={"filter": f"metrics.train.loss = {other}"})["items"] == []
        assert len(api.json("GET", "/runs", params={"filter": f"metrics.train.loss != {other}"})["items"]) == 1
        made.log("train", {"loss": [3.0]}, [3])
        (metric,) = send(world, api, made)["metrics"]
        assert (metric["last"], metric["odd"]) == (3.0, None)
        assert api.json("GET", "/runs", params={"filter": f"metrics.train.loss = '{odd}'"})["items"] == []

    def test_bytes_sent_twice_or_too_early_change_nothing(self, world: World, api: Api) -> None:
        made = JournalMaker().log("train", {"loss": [1.0, 2.0]}, [1, 2])
        cut = len(made.data)
        made.log("train", {"loss": [3.0]}, [3])
        api.json("POST", "/runs", json=made.header)
        path = f"/runs/{made.run}/journals/{made.name}"

        def put(offset: int, data: bytes) -> int:
            return int(api.json("PUT", path, params={"offset": offset}, content=data)["offset"])

        assert put(cut, made.data[cut:]) == 0
        assert put(0, made.data[: cut + 5]) == cut  # half a frame waits for its other half
        assert put(0, made.data[:cut]) == cut
        assert put(0, made.data) == len(made.data)
        assert put(cut, made.data[cut:]) == len(made.data)
        assert put(0, b"") == len(made.data)
        world.state.metrics.ingest_changed()
        assert points(api, made.run, "train/loss")["step"] == [1, 2, 3]

    @pytest.mark.parametrize("change", [lambda data: b"x" + data, lambda data: data[:-3] + b"xyz"])
    def test_bytes_that_are_no_journal_are_refused(self, api: Api, change: Any) -> None:
        made = JournalMaker().log("train", {"loss": [1.0]}, [1])
        api.json("POST", "/runs", json=made.header)
        path = f"/runs/{made.run}/journals/{made.name}"
        answer = api("PUT", path, params={"offset": 0}, content=change(made.data))
        assert answer.status_code == 422
        assert answer.json()["fields"]["journal"]
        assert api.json("GET", path) == {"offset": 0}

    def test_what_makes_no_sense_is_passed_over(self, world: World, api: Api) -> None:
        made = JournalMaker()
        made.add(journal.encode_frame(4, b"\x09\0\0\0\x01\0\0\0"))  # points of a layout that was never declared
        made.add(journal.encode_frame(2, b"[1]")).add(journal.encode_frame(8, b'{"branch": "x"}'))
        made.add(journal.encode_frame(99, b"from the future"))
        for kind, text in (
            (2, '{"field": "hparams", "set": [1]}'),
            (2, '{"field": "summary", "set": {"a": NaN}, "time": "soon"}'),
            (2, '{"value": 1}'),
            (7, '{"state": "finished", "time": []}'),
            (8, f'{{"branch": 2, "from_step": {1 << 70}}}'),
            (3, '{"layout": 1}'),
            (2, '{"field": "hparams", "set": ' + '{"a":' * 5000 + "1" + "}" * 5001),
        ):
            made.add(journal.encode_frame(kind, text.encode()))
        made.add(journal.encode_media({"kind": "text", "parts": "many", "time": "soon"}, b"x"))
        made.add(journal.encode_set("summary", {"k" * 500 + "1": 1, "k" * 500 + "2": 2}, time=BEGAN))
        made.add(journal.encode_set("hparams", {"name": "\ud800half\x00"}, time=BEGAN))
        made.log("train", {"loss": [1.0]}, [1])
        run = send(world, api, made)
        assert run["num_points"] == 1
        assert run["hparams"] == {"name": "?half"}

    def test_a_run_sent_by_somebody_else_is_refused(self, world: World, api: Api) -> None:
        made = JournalMaker()
        api.json("POST", "/runs", json=made.header)
        stranger = world.add_user("eve", "other")
        colleague = world.add_user("bob", "default")
        for who, status in ((stranger, 409), (colleague, 403)):
            with world.serving() as url, Api(url, world.api_key(who)) as theirs:
                assert theirs("POST", "/runs", json=made.header).status_code == status

    def test_conflicts_of_names(self, api: Api) -> None:
        first = JournalMaker(name="a", folder="f")
        api.json("POST", "/runs", json=first.header)

        def again(conflict: str) -> Any:
            return api("POST", "/runs", json={**JournalMaker(name="a", folder="f").header, "conflict": conflict})

        assert again("error").status_code == 409
        assert again("skip").json()["id"] == first.run
        replaced = again("replace").json()["id"]
        assert api.json("GET", f"/runs/{first.run}")["deleted_at"] is not None
        assert again("new").json()["id"] not in (first.run, replaced)
        missing = {**JournalMaker(folder="g").header, "make_folder": False}
        assert api("POST", "/runs", json=missing).status_code == 422
