"""Runs over real HTTP: they arrive, are searched, moved, deleted and read."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from pyarrow import parquet
from tests.support.journals import BEGAN, JournalMaker
from tests.support.world import Api, World

from danlu import journal
from danlu.auth.identity import Role
from danlu.server.runs.reconcile import SILENT_AFTER, reconcile


def send(world: World, api: Api, made: JournalMaker, **header: Any) -> dict[str, Any]:
    """Sync a journal as clients do, and have it counted."""
    api.json("POST", "/runs", json={**made.header, **header})
    path = f"/runs/{made.run}/journals/{made.name}"
    offset = api.json("GET", path)["offset"]
    done = api.json("PUT", path, params={"offset": offset}, content=made.data[offset:])
    assert done == {"offset": len(made.data)}
    world.state.metrics.catch_up()
    run: dict[str, Any] = api.json("GET", f"/runs/{made.run}")
    return run


def points(api: Api, run: str, series: str, **options: Any) -> dict[str, Any]:
    found = api.json("GET", "/runs/points", params={"run": run, "series": series, **options})["items"]
    assert len(found) == 1
    one: dict[str, Any] = found[0]
    return one


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
            "hidden": [],
        }

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
        world.state.metrics.catch_up()
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
        world.state.metrics.catch_up()
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


class TestSearch:
    @pytest.fixture
    def found(self, world: World, api: Api) -> Any:
        for number in range(5):
            made = JournalMaker(
                name=f"run {number}", folder="odd" if number % 2 else "even/deep", labels=[f"l{number}"]
            )
            made.log("val", {"acc": [number / 10, 0.05]}, [1, 2])
            made.add(journal.encode_set("hparams", {"lr": 10.0**-number, "opt": "sgd", "amp": number > 2}, time=BEGAN))
            send(world, api, made)

        def find(text: str, **query: Any) -> list[int]:
            answer = api.json("GET", "/runs", params={"filter": text, **query})
            return sorted(int(item["name"][-1]) for item in answer["items"])

        return find

    def test_by_what_runs_have(self, found: Any) -> None:
        assert found("max(metrics.val.acc) >= 0.3") == [3, 4]
        assert found("max(metrics.val.acc) > 0.1 and hparams.lr < 0.005") == [3, 4]
        assert found("metrics.val.acc = 0.05") == [0, 1, 2, 3, 4]
        assert found("hparams.opt = sgd and not hparams.amp = true") == [0, 1, 2]
        assert found("hparams.nothing > 1 or name ~ '4'") == [4]
        assert found("label in (l1, 'l3')") == [1, 3]
        assert found("label != l1 and folder = odd") == [3]
        assert found("owner = admin and state = running and created > '2020-01-01'") == [0, 1, 2, 3, 4]
        assert found("step = 2", folder="even") == [0, 2, 4]
        assert found("", folder="even", below=False) == []

    def test_a_wrong_filter_says_where(self, api: Api) -> None:
        for text, at in (("hparams.lr <", 13), ("created > 'soon'", 11), ("step ~ 'x'", 8), ("label > 'x'", 9)):
            answer = api("GET", "/runs", params={"filter": text})
            assert answer.status_code == 422
            assert f"at character {at}:" in answer.json()["message"]


class TestFoldersAndBin:
    def test_folders_move_with_their_runs(self, world: World, api: Api) -> None:
        for folder in ("a", "a/b", "ab"):
            send(world, api, JournalMaker(name=folder, folder=folder))
        assert api.json("POST", "/folders/move", json={"path": "a", "to": "x/y"})["path"] == "x/y"
        folders = {one["path"]: one["num_runs"] for one in api.json("GET", "/folders")["items"]}
        assert folders == {"ab": 1, "x": 0, "x/y": 1, "x/y/b": 1}
        assert {run["name"]: run["folder"] for run in api.json("GET", "/runs")["items"]} == {
            "a": "x/y", "a/b": "x/y/b", "ab": "ab",
        }  # fmt: skip
        assert api("POST", "/folders/move", json={"path": "x", "to": "x/z"}).status_code == 422
        assert api("POST", "/folders/move", json={"path": "x", "to": "ab"}).status_code == 409
        assert api("POST", "/folders", json={"path": "a/../b"}).status_code == 422

    def test_deleted_runs_come_back_or_go_for_good(self, world: World, api: Api) -> None:
        made = JournalMaker(name="x", folder="f").log("train", {"loss": [1.0]}, [1])
        send(world, api, made)
        assert api("DELETE", "/folders", params={"path": "f"}).status_code == 204
        assert api.json("GET", "/runs")["items"] == []
        assert [run["id"] for run in api.json("GET", "/runs", params={"deleted": True})["items"]] == [made.run]
        assert api.json("POST", f"/runs/{made.run}/restore")["folder"] == "f"
        assert [one["path"] for one in api.json("GET", "/folders")["items"]] == ["f"]
        assert api("DELETE", f"/runs/{made.run}", params={"purge": True}).status_code == 409
        assert api("DELETE", f"/runs/{made.run}").status_code == 204
        assert api("DELETE", f"/runs/{made.run}", params={"purge": True}).status_code == 204
        assert api("GET", f"/runs/{made.run}").status_code == 404
        assert not (world.settings.server_dir / "runs" / made.run).exists()

    def test_rename_and_move(self, world: World, api: Api) -> None:
        made = JournalMaker(name="x")
        send(world, api, made)
        changed = api.json("PATCH", f"/runs/{made.run}", json={"name": "y", "folder": "/new/place/"})
        assert (changed["name"], changed["folder"]) == ("y", "new/place")
        assert api.json("GET", "/runs/y")["id"] == made.run


class TestRights:
    def test_members_see_owners_change(self, world: World, api: Api) -> None:
        ann = world.add_user("ann", "team", Role.MEMBER)
        bob = world.add_user("bob", "team", Role.VIEWER)
        eve = world.add_user("eve", "other")
        made = JournalMaker(name="x", folder="f").log("train", {"loss": [1.0]}, [1])
        with world.serving() as url:
            with Api(url, world.api_key(ann)) as hers:
                send(world, hers, made)
            for who, status, change in ((bob, 200, 403), (eve, 404, 404)):
                with Api(url, world.api_key(who)) as theirs:
                    for path in ("", "/series", "/export", "/media", "/output/x"):
                        assert theirs("GET", f"/runs/{made.run}{path}").status_code == status
                    assert theirs("GET", "/runs/points", params={"run": made.run}).status_code == status
                    assert len(theirs.json("GET", "/runs")["items"]) == (1 if status == 200 else 0)
                    assert theirs("PATCH", f"/runs/{made.run}", json={"name": "z"}).status_code == change
                    assert theirs("DELETE", f"/runs/{made.run}").status_code == change
                    path = f"/runs/{made.run}/journals/{made.name}"
                    assert theirs("PUT", path, params={"offset": 0}, content=made.data).status_code == change
            with Api(url, world.api_key(bob)) as theirs:
                assert theirs("POST", "/runs", json=JournalMaker().header).status_code == 403
                assert theirs("DELETE", "/folders", params={"path": "f"}).status_code == 403

    def test_a_job_writes_its_own_runs_only(self, world: World, api: Api) -> None:
        mine, other = world.started(), world.started()
        made = JournalMaker(name="inside").log("train", {"loss": [1.0]}, [1])
        with world.serving() as url, Api(url, world.job_token(mine)) as job, Api(url, world.job_token(other)) as rival:
            run = send(world, job, made)
            assert (run["job"], run["attempt"], run["owner"]) == (mine, 1, "admin")
            assert rival("GET", f"/runs/{made.run}").status_code == 404
            assert rival("POST", "/runs", json=made.header).status_code == 409
            assert job("GET", "/runs").status_code == 403
            assert job("POST", f"/jobs/{other}/metrics", json={"metrics": [{"values": {"a": 1}}]}).status_code == 403


class TestJobMetrics:
    def test_pushed_metrics_land_in_the_jobs_own_run(self, world: World, api: Api) -> None:
        job = world.started(name="mnist")
        for step in (33, 66):
            one = {"timestamp": BEGAN, "values": {"loss": 1 / step, "val/acc": 0.5}, "epoch": 3, "step": step}
            api.json("POST", f"/jobs/{job}/metrics", json={"metrics": [{**one, "total_steps": 1000}]})
        shown = api.json("GET", f"/jobs/{job}")
        assert shown["progress"] == 0.066
        run = api.json("GET", f"/runs/{shown['run']}")
        assert (run["name"], run["job"], run["is_own"], run["step"], run["total_steps"]) == (
            "mnist",
            job,
            True,
            66,
            1000,
        )
        found = points(api, run["id"], "train/loss")
        assert (found["step"], found["epoch"], found["time"]) == ([33, 66], [3.0, 3.0], [BEGAN, BEGAN])
        with world.serving() as url, Api(url, world.job_token(job)) as inside:
            inside.json("POST", f"/jobs/{job}/metrics", json={"metrics": [{"values": {"loss": 0.1}}]})
        assert points(api, run["id"], "train/loss")["step"] == [33, 66, 67]

    @pytest.mark.parametrize("values", [{}, {"loss": "x"}])
    def test_wrong_metrics_are_refused(self, world: World, api: Api, values: Any) -> None:
        job = world.started()
        answer = api("POST", f"/jobs/{job}/metrics", json={"metrics": [{"values": values}]})
        assert answer.status_code == 422
        assert api.json("GET", "/runs")["items"] == []


class TestReconcile:
    def state(self, world: World, api: Api, run: str) -> str:
        reconcile(world.database, world.clock())
        return str(api.json("GET", f"/runs/{run}")["state"])

    def test_a_silent_run_died_and_lives_again(self, world: World, api: Api) -> None:
        made = JournalMaker().log("train", {"loss": [1.0]}, [1])
        send(world, api, made)
        world.clock.pass_seconds(SILENT_AFTER.total_seconds() - 1)
        assert self.state(world, api, made.run) == "running"
        world.clock.pass_seconds(2)
        assert self.state(world, api, made.run) == "died"
        send(world, api, made.log("train", {"loss": [1.0]}, [2]))
        assert self.state(world, api, made.run) == "running"
        send(world, api, made.finish("failed"))
        assert self.state(world, api, made.run) == "failed"

    def test_a_run_ends_with_its_attempt(self, world: World, api: Api) -> None:
        job = world.started()
        made = JournalMaker().log("train", {"loss": [1.0]}, [1])
        with world.serving() as url, Api(url, world.job_token(job)) as inside:
            send(world, inside, made)
        api.json("POST", f"/jobs/{job}/metrics", json={"metrics": [{"values": {"loss": 0.1}}]})
        own = api.json("GET", f"/jobs/{job}")["run"]
        world.engine.end(job, code=1, at=world.clock().timestamp())
        world.tick(3)
        assert api.json("GET", f"/jobs/{job}")["state"] == "failed"
        assert self.state(world, api, own) == "failed"
        assert self.state(world, api, made.run) == "running"  # its last words may be on their way
        world.clock.pass_seconds(20)
        assert self.state(world, api, made.run) == "died"

    def test_the_companion_speaks_for_a_process_that_cannot(self, world: World, api: Api) -> None:
        made = JournalMaker()
        send(world, api, made)
        companion = JournalMaker(made.run, writer="companion").finish("died")
        assert send(world, api, companion)["state"] == "died"
        assert send(world, api, made.finish("finished"))["state"] == "finished"
        assert send(world, api, JournalMaker(made.run, branch=2))["state"] == "running"


def test_a_run_is_watched_until_it_is_over(world: World, api: Api) -> None:
    made = JournalMaker().log("train", {"loss": [1.0]}, [1]).finish()
    send(world, api, made)
    lines = api("GET", f"/runs/{made.run}/watch").text.splitlines()
    assert lines[1] == "event: run"
    assert json.loads(lines[2].removeprefix("data: "))["metrics"][0]["last"] == 1.0
