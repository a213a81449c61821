"""Cursors are words of the client: one that names something of others tells nothing of it."""

from __future__ import annotations

import pytest
from tests.support.attack import Sides, put_object
from tests.support.journals import JournalMaker


class TestListsOfObjects:
    @pytest.mark.parametrize("limit", [1, 2, 1000])
    def test_a_job_is_not_told_the_names_of_neighbours_not_even_in_the_cursor(self, sides: Sides, limit: int) -> None:
        for key in ("data/a", "data/a-secret", "data/a.secret", "data/a/1", "data/a/2", "data/ab-secret/x"):
            put_object(sides.ada, f"vision/{key}", b"x")
        job = sides.started("ada", data={"store://vision/data/a": "a"})
        keys: list[str] = []
        cursor: str | None = ""
        with sides.token(job) as token:
            while cursor is not None:
                query = {"prefix": "data/a", "limit": limit, "cursor": cursor}
                page = token.json("GET", "/buckets/vision/objects", params=query)
                keys += [one["key"] for one in page["objects"]]
                assert len(page["objects"]) <= limit
                cursor = page["next"]
                assert "secret" not in (cursor or "")
        assert keys == ["data/a", "data/a/1", "data/a/2"]

    def test_with_a_delimiter_it_sees_its_folder(self, sides: Sides) -> None:
        for key in ("data/a", "data/a-secret/x", "data/a/1", "data/ab"):
            put_object(sides.ada, f"vision/{key}", b"x")
        job = sides.started("ada", data={"store://vision/data/a": "a"})
        with sides.token(job) as token:
            found = token.json("GET", "/buckets/vision/objects", params={"prefix": "data/a", "delimiter": "/"})
        assert ([one["key"] for one in found["objects"]], found["folders"]) == (["data/a"], ["data/a/"])
        assert found["next"] is None

    def test_a_prefix_above_the_input_is_refused(self, sides: Sides) -> None:
        put_object(sides.ada, "vision/data/a/1", b"x")
        job = sides.started("ada", data={"store://vision/data/a": "a"})
        with sides.token(job) as token:
            for prefix in ("", "data", "data/", "data/ab", "jobs/"):
                assert token("GET", "/buckets/vision/objects", params={"prefix": prefix}).status_code == 403

    def test_a_cursor_beyond_the_prefix_leads_nowhere(self, sides: Sides) -> None:
        put_object(sides.ada, "vision/data/z-secret", b"x")
        put_object(sides.ada, "vision/data/a/1", b"x")
        job = sides.started("ada", data={"store://vision/data/a/": "a"})
        with sides.token(job) as token:
            found = token.json("GET", "/buckets/vision/objects", params={"prefix": "data/a/", "cursor": "data/b"})
        assert (found["objects"], found["next"]) == ([], None)


class TestListsOfRows:
    def test_a_cursor_of_others_shows_ones_own_only(self, sides: Sides) -> None:
        theirs = sides.world.submit(sides.world.identity("ada"))
        for name in ("jobs", "runs", "artifacts", "models", "templates", "projects", "users", "keys"):
            for cursor in (theirs, "999999", "zzz"):
                answer = sides.eve("GET", f"/{name}", params={"cursor": cursor})
                assert answer.status_code in (200, 422), answer.text
                assert "vision" not in answer.text
                assert "ada" not in answer.text

    def test_events_of_another_job_are_not_reached_by_number(self, sides: Sides) -> None:
        theirs = sides.world.submit(sides.world.identity("ada"), name="secret")
        own = sides.world.submit(sides.world.identity("eve"))
        found = sides.eve.json("GET", f"/jobs/{own}/events", params={"cursor": "0"})["items"]
        assert {event["message"] for event in found} == {"submitted by eve"}
        assert sides.eve("GET", f"/jobs/{theirs}/events", params={"cursor": "0"}).status_code == 404

    def test_media_of_another_run_are_not_reached_by_place(self, sides: Sides) -> None:
        run = JournalMaker(name="own")
        sides.eve.json("POST", "/runs", json=run.header)
        for place in ("../x:1", "x:1", f"{run.name}:0", "%2e%2e%2fx:1"):
            assert sides.eve("GET", f"/runs/{run.run}/media/{place}").status_code == 404
