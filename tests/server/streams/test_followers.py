"""Followers share one look, and none of them has to wait for another."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from tests.support.events import Told, events
from tests.support.statements import statements
from tests.support.world import Api, World

from danlu.server.jobs.followed import FollowedJobs, JobList
from danlu.server.logs.reading import LogKey
from danlu.server.logs.tails import FollowedLogs, Reader
from danlu.server.streams.follower import Follower
from danlu.store.queries import people, projects
from danlu.testing.raw_http import RawConnection, unchunked
from danlu.testing.waiting import wait_until


async def no_pool(function: Callable[..., object], *args: object) -> object:
    return function(*args)


class TestOneLook:
    @pytest.mark.parametrize("count", [1, 200])
    def test_followers_of_a_log_are_served_by_one_read(self, world: World, count: int) -> None:
        job_id = world.started()
        world.engine.task(job_id).log += b"first\n"
        world.tick()
        board = FollowedLogs(world.state, no_pool)
        key = LogKey(job_id, 1)
        readers = [Reader(Follower(world.admin, None), {0: 0}, None) for _ in range(count)]
        for reader in readers:
            board._join(key, reader)
        board.take(board.look(board.wanted()))
        world.engine.task(job_id).log += b"second\n"
        world.tick()
        with statements(world) as asked:
            found = board.look(board.wanted())
        assert [piece.text.text for piece in found.tails[key][0].pieces] == ["second\n"]
        # two for what is true of the job and its tasks, one for the segment; and the beginnings of transactions
        assert len([statement for statement in asked if statement.startswith("SELECT")]) == 3

    def test_followers_of_a_job_and_of_the_list_as_well(self, world: World) -> None:
        jobs = [world.started() for _ in range(3)]
        board = FollowedJobs(world.state, no_pool)
        numbers = []
        for num_followers in (1, 100):
            followers = [Follower(world.admin, None) for _ in range(num_followers)]
            with statements(world) as asked:
                for job_id in jobs:
                    for follower in followers:
                        board._following(job_id, follower).__enter__()
                board.take(board.look(board.wanted()))
            numbers.append(len(asked))
            board._subjects.clear()
        assert numbers[0] == numbers[1]
        with statements(world) as asked:
            JobList(world.state, no_pool).look(None)
        assert len([statement for statement in asked if statement.startswith("SELECT")]) <= 7


class TestReaders:
    def test_one_who_does_not_read_holds_up_nobody_and_gets_everything(self, world: World) -> None:
        job_id = world.started()
        lines = "".join(f"{number:07d} {'x' * 90}\n" for number in range(120_000))  # 12 MB
        with world.serving() as url, Api(url, world.api_key()) as api:
            path = f"/api/v1/jobs/{job_id}/logs?follow=true"
            slow = RawConnection(url, receive_bytes=4096).ask("GET", path, world.api_key())
            with slow, api.http.stream("GET", f"/jobs/{job_id}/logs?follow=true") as quick:
                assert slow.status() == 200
                heard = events(quick.iter_lines())
                world.engine.task(job_id).log += lines.encode()
                world.tick(2)
                text = ""
                while len(text) < len(lines):
                    text += next(heard)[1]["text"]
                assert text == lines
                world.engine.task(job_id).log += b"the end\n"
                world.engine.finish(job_id)
                world.tick()
                assert next(heard)[1]["text"] == "the end\n"
                assert next(heard)[0] == "end"
                told = events(unchunked(slow.read_until(b"0\r\n\r\n")).decode().splitlines())
                assert "".join(data.get("text", "") for _, data in told) == lines + "the end\n"

    def test_who_goes_on_in_the_middle_of_a_line_gets_the_rest_of_it(self, world: World, api: Api) -> None:
        job_id = world.started()
        world.engine.task(job_id).log += b"first\nsec"
        world.tick()
        with api.http.stream("GET", f"/jobs/{job_id}/logs?follow=true&from=0:8") as answer:
            heard = events(answer.iter_lines())
            world.engine.task(job_id).log += b"ond\nthird\n"
            world.engine.finish(job_id)
            world.tick()
            data = [data for name, data in heard if name == "log"]
        assert "".join(one["text"] for one in data) == "cond\nthird\n"
        assert data[0]["offset"] == 8

    def test_a_follower_of_a_job_that_waits_hears_its_first_attempt(self, world: World, api: Api) -> None:
        job_id = world.submit()
        with api.http.stream("GET", f"/jobs/{job_id}/logs?follow=true") as answer:
            heard = events(answer.iter_lines())
            world.tick()
            world.engine.run(job_id, at=world.clock().timestamp())
            world.engine.task(job_id).log += b"begun\n"
            world.tick()
            assert next(heard)[1]["text"] == "begun\n"

    def test_an_unfinished_line_is_told_after_a_moment(self, world: World, api: Api) -> None:
        job_id = world.started()
        with api.http.stream("GET", f"/jobs/{job_id}/logs?follow=true") as answer:
            heard = events(answer.iter_lines())
            world.engine.task(job_id).log += b"proceed? [y/n] "
            world.tick()
            assert next(heard)[1]["text"] == "proceed? [y/n] "

    def test_old_http_gets_lines_without_chunks(self, world: World) -> None:
        job_id = world.started()
        with world.serving() as url, RawConnection(url) as old:
            head = f"GET /api/v1/jobs/{job_id}/logs?follow=true HTTP/1.0\r\nHost: localhost\r\n"
            old.send(f"{head}Authorization: Bearer {world.api_key()}\r\n\r\n".encode())
            assert old.status() == 200
            world.engine.task(job_id).log += b"hello\n"
            world.tick()
            name, data = next(events(old.read_until(b"}\n\n").decode().splitlines()))
            assert (name, data["text"]) == ("log", "hello\n")
            world.engine.finish(job_id)
            world.tick()
            assert b"event: end\n" in old.read_to_end()


class TestRights:
    def test_the_list_follows_the_rights_of_who_listens(self, world: World) -> None:
        ada = world.add_user("ada", "vision")
        hidden, seen = world.started(), world.started(project="vision", who=ada)
        with _listening(world, world.api_key(ada), "/changes?follow=true") as heard:
            assert next(heard)[1]["id"] == seen
            _join(world, "ada", "default")
            assert next(heard)[1]["id"] == hidden
            _leave(world, "ada", "vision")
            assert next(heard) == ("gone", {"id": seen})

    def test_a_list_of_runs_as_well(self, world: World, api: Api) -> None:
        ada = world.add_user("ada", "vision")
        api.json("POST", "/runs", json={"run": f"run-{'a' * 26}", "name": "hidden", "project": "default"})
        with _listening(world, world.api_key(ada), "/runs/changes?follow=true") as heard:
            api.json("POST", "/runs", json={"run": f"run-{'b' * 26}", "name": "seen", "project": "vision"})
            assert next(heard)[1]["name"] == "seen"
            _join(world, "ada", "default")
            assert next(heard)[1]["name"] == "hidden"
            _leave(world, "ada", "vision")
            assert next(heard) == ("gone", {"id": f"run-{'b' * 26}"})


class TestNewcomers:
    def test_are_told_nothing_that_was_true_before_they_asked(self, world: World, api: Api) -> None:
        """Another one's stream is open: what it was told last is not what a newcomer hears."""
        job_id = world.started()
        with api.http.stream("GET", f"/jobs/{job_id}/watch") as first:
            heard = events(first.iter_lines())
            assert next(heard)[1]["state"] == "running"
            api.json("POST", f"/jobs/{job_id}/stop")
            assert _first(api, f"/jobs/{job_id}/watch")["desired"] == "stop"

    def test_the_last_one_to_leave_leaves_nothing_behind(self, world: World, api: Api) -> None:
        job_id = world.started()
        for path in (f"/jobs/{job_id}/watch", f"/jobs/{job_id}/logs?follow=true", "/changes?follow=true"):
            with api.http.stream("GET", path):
                wait_until(lambda: len(world.database.on_commit) == 1, lambda: world.database.on_commit)
            wait_until(lambda: not world.database.on_commit, lambda: world.database.on_commit)


def test_a_log_is_cut_at_lines_across_segments(world: World, api: Api) -> None:
    job_id = world.started()
    line = "é" * 50 + "\n"  # 101 bytes: no border of a segment falls between two lines
    world.engine.task(job_id).log += line.encode() * 90_000
    world.engine.finish(job_id)
    world.tick(3)
    text = "".join(
        data["text"] for name, data in events(api("GET", f"/jobs/{job_id}/logs").text.splitlines()) if name == "log"
    )
    assert text == line * 90_000


@contextmanager
def _listening(world: World, key: str, path: str) -> Iterator[Iterator[Told]]:
    with world.serving() as url, Api(url, key) as script, script.http.stream("GET", path) as answer:
        yield events(answer.iter_lines())


def _first(api: Api, path: str) -> dict[str, object]:
    with api.http.stream("GET", path) as answer:
        for line in answer.iter_lines():
            if line.startswith("data: "):
                found: dict[str, object] = json.loads(line[6:])
                return found
    raise AssertionError("nothing was told")


def _join(world: World, name: str, project: str) -> None:
    with world.database.writing() as session:
        user, where = people.user_by_name(session, name), projects.project_by_name(session, project)
        assert user is not None
        assert where is not None
        projects.set_member(session, where.id, user.id, "viewer")


def _leave(world: World, name: str, project: str) -> None:
    with world.database.writing() as session:
        user, where = people.user_by_name(session, name), projects.project_by_name(session, project)
        assert user is not None
        assert where is not None
        projects.delete_member(session, where.id, user.id)
