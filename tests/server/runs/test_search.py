"""Runs are found, moved and deleted; who may."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.journals import BEGAN, JournalMaker
from tests.support.runs import send
from tests.support.world import Api, World

from danlu import journal
from danlu.auth.identity import Role


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
