"""What is drawn and exported of runs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyarrow import parquet
from sqlalchemy import event
from tests.support.journals import BEGAN, JournalMaker
from tests.support.runs import points, send
from tests.support.world import Api, World

from danlu import journal


class TestPoints:
    def test_thinned_lines_keep_their_extremes(self, world: World, api: Api) -> None:
        values = [float(step % 100) for step in range(20_000)]
        values[777], values[15_000] = 1e6, -1e6
        made = JournalMaker().log("train", {"loss": values}, range(20_000))
        send(world, api, made)
        for axis in ("step", "time"):
            found = points(api, made.run, "train/loss", axis=axis, max_points=100)
            assert len(found["step"]) <= 100
            assert found["num_points"] == 20_000
            assert (found["step"][0], found["step"][-1]) == (0, 19_999)
            assert {1e6, -1e6} <= set(found["value"])
            assert found["step"] == sorted(found["step"])

    def test_packs_hold_what_the_journal_held(self, world: World, api: Api) -> None:
        count = 300_000  # about 9 MB of journal: two packs and a rest
        values = [float(step * 7 % 1000) for step in range(count)]
        made = JournalMaker().log("train", {"loss": values}, range(count))
        api.json("POST", "/runs", json=made.header)
        path, at = f"/runs/{made.run}/journals/{made.name}", 0
        while at < len(made.data):
            at = api.json("PUT", path, params={"offset": at}, content=made.data[at : at + (4 << 20)])["offset"]
        world.state.metrics.ingest_changed()
        packs = list((world.settings.server_dir / "metrics" / made.run).rglob("*.pack"))
        assert len(packs) == 2
        found = points(api, made.run, "train/loss", max_points=2000)
        assert (found["num_points"], min(found["value"]), max(found["value"])) == (count, 0.0, 999.0)
        rows = list(csv.reader(io.StringIO(api("GET", f"/runs/{made.run}/export").text)))
        assert [int(row[2]) for row in rows[1:]] == list(range(count))
        assert [float(row[5]) for row in rows[1:]] == values

    def test_a_resumed_run_hides_what_it_supersedes(self, world: World, api: Api) -> None:
        first = JournalMaker(name="r").log(
            "train", {"loss": [float(s) for s in range(0, 800, 100)]}, range(0, 800, 100)
        )
        send(world, api, first)
        second = JournalMaker(first.run, branch=2).log("train", {"loss": [-4.0, -5.0]}, [400, 500])
        second.log("system", {"cpu_percent": [50.0]}, [3])
        run = send(world, api, second)
        found = points(api, first.run, "train/loss", hidden=True)
        assert found["step"] == [0, 100, 200, 300, 400, 500]
        assert found["value"] == [0.0, 100.0, 200.0, 300.0, -4.0, -5.0]
        assert [(line["branch"], line["step"]) for line in found["hidden"]] == [(1, [400, 500, 600, 700])]
        assert run["branches"] == [{"branch": 1, "from_step": 0}, {"branch": 2, "from_step": 400}]
        assert run["step"] == 500

    def test_values_that_are_not_finite(self, world: World, api: Api) -> None:
        made = JournalMaker().log("train", {"loss": [float("nan"), 2.0, float("inf")]}, [1, 2, 3])
        run = send(world, api, made)
        assert points(api, made.run, "train/loss")["value"] == [None, 2.0, None]
        assert (run["metrics"][0]["last"], run["metrics"][0]["high"]) == (None, 2.0)
        assert [row[5] for row in csv.reader(io.StringIO(api("GET", f"/runs/{made.run}/export").text))][1:] == [
            "nan", "2.0", "inf",
        ]  # fmt: skip

    def test_many_runs_in_one_request(self, world: World, api: Api) -> None:
        made = [JournalMaker(name=f"r{n}").log("val", {"acc": [n / 10], "loss": [1.0]}, [1]) for n in range(3)]
        for one in made:
            send(world, api, one)
        query = {"run": [one.run for one in made], "series": "val/acc", "axis": "epoch"}
        assert [one["value"] for one in api.json("GET", "/runs/points", params=query)["items"]] == [[], [], []]
        query["axis"] = "step"
        assert [one["value"] for one in api.json("GET", "/runs/points", params=query)["items"]] == [[0.0], [0.1], [0.2]]


class TestParquet:
    def test_every_point_is_in_the_file(self, world: World, api: Api) -> None:
        made = (
            JournalMaker().log("train", {"loss": [3.0, float("nan")]}, [1, 2], epoch=1).log("val", {"acc": [0.5]}, [2])
        )
        send(world, api, made)
        answer = api("GET", f"/runs/{made.run}/export", params={"format": "parquet"})
        rows = parquet.read_table(io.BytesIO(answer.content)).to_pylist()
        assert [(row["type"], row["name"], row["step"], row["epoch"]) for row in rows] == [
            ("train", "loss", 1, 1.0),
            ("train", "loss", 2, 1.0),
            ("val", "acc", 2, None),
        ]
        assert [str(row["value"]) for row in rows] == ["3.0", "nan", "0.5"]
        assert {(row["branch"], row["is_hidden"]) for row in rows} == {(1, False)}

    def test_without_pyarrow_it_says_what_to_install(self, world: World, api: Api) -> None:
        made = JournalMaker()
        send(world, api, made)
        answer = api("GET", f"/runs/{made.run}/export", params={"format": "parquet"})
        try:
            import pyarrow
        except ModuleNotFoundError:
            assert answer.status_code == 501
            assert "danlu[parquet]" in answer.json()["message"]
        else:
            assert pyarrow.__version__
            assert answer.content[:4] == b"PAR1"


class TestMediaAndOutput:
    def test_media_come_back_byte_for_byte(self, world: World, api: Api) -> None:
        about = {"kind": "image", "type": "val", "name": "sample", "step": 5, "time": BEGAN, "format": "image/png"}
        made = JournalMaker()
        made.add(journal.encode_media({**about, "part": 0, "parts": 2}, b"\x89PNG"))
        made.add(journal.encode_media({**about, "part": 1, "parts": 2}, b"rest"))
        made.add(journal.encode_media({**about, "kind": "text", "name": "t", "format": "text/plain"}, "好".encode()))
        send(world, api, made)
        items = api.json("GET", f"/runs/{made.run}/media")["items"]
        assert [(one["kind"], one["name"], one["step"]) for one in items] == [("image", "sample", 5), ("text", "t", 5)]
        read = [api("GET", f"/runs/{made.run}/media/{one['id']}") for one in items]
        assert [answer.content for answer in read] == [b"\x89PNGrest", "好".encode()]
        assert read[0].headers["Content-Disposition"] == "attachment"
        page = api.json("GET", f"/runs/{made.run}/media", params={"limit": 1})
        rest = api.json("GET", f"/runs/{made.run}/media", params={"cursor": page["next"]})
        assert [one["id"] for one in page["items"] + rest["items"]] == [one["id"] for one in items]

    def test_what_was_printed_is_read_by_offset(self, world: World, api: Api) -> None:
        made = JournalMaker().add(journal.encode_output(1, BEGAN, b"one\n"))
        send(world, api, made)
        made.log("train", {"loss": [1.0]}, [1]).add(journal.encode_output(2, BEGAN, b"two\n"))
        made.add(journal.encode_output(1, BEGAN, b"three\n"))
        run = send(world, api, made)
        assert run["journals"][0]["output_bytes"] == 14
        text, offset = b"", 2
        while True:
            answer = api("GET", f"/runs/{made.run}/output/{made.name}", params={"offset": offset})
            offset = int(answer.headers["X-Danlu-Next-Offset"])
            if not answer.content:
                break
            text += answer.content
        assert text == b"e\ntwo\nthree\n"


class TestManySeries:
    """What is asked of the database per series does not grow with their number."""

    @pytest.mark.parametrize("file_format", ["csv", "parquet"])
    def test_an_export_asks_for_journals_once(self, world: World, api: Api, file_format: str) -> None:
        made = many_series(450)
        send(world, api, made)
        with counted(world, "run_journals") as asked:
            answer = api("GET", f"/runs/{made.run}/export", params={"format": file_format})
        assert len(asked) == 1
        if file_format == "csv":
            rows = list(csv.DictReader(io.StringIO(answer.text)))
        else:
            rows = parquet.read_table(io.BytesIO(answer.content)).to_pylist()
        assert len({row["name"] for row in rows}) == 450
        assert len(rows) == 900

    def test_lines_ask_for_journals_once(self, world: World, api: Api) -> None:
        made = many_series(300)
        made.add(journal.encode_set("axes", {"train/*": "train/m0"}, time=BEGAN))
        send(world, api, made)
        with counted(world, "run_journals") as asked, counted(world, "run_series") as series:
            query = {"run": made.run, "max_points": 10, "axis": "own"}
            found = api.json("GET", "/runs/points", params=query)["items"]
        assert len([one for one in found if one["x"] == [0.0, 0.0]]) == 299
        assert (len(asked), len(series)) == (1, 1)


def many_series(count: int) -> JournalMaker:
    names = {f"m{number}": [float(number)] * 2 for number in range(count)}
    return JournalMaker().log("train", names, [1, 2]).finish()


@contextmanager
def counted(world: World, table: str) -> Iterator[list[str]]:
    """The questions about a table."""
    asked: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if f"FROM {table}" in statement.replace("\n", " "):
            asked.append(statement)

    event.listen(world.database.engine, "before_cursor_execute", note)
    yield asked
    event.remove(world.database.engine, "before_cursor_execute", note)
