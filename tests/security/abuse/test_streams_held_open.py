"""Answers that nobody reads, and streams without number: what Eve holds open costs Bob nothing."""

from __future__ import annotations

from contextlib import ExitStack

from sqlalchemy.pool import QueuePool
from tests.support.abuse import Scene, big_run, serving
from tests.support.world import Api, World

from danlu.store.queries import people, projects
from danlu.testing.raw_http import RawConnection
from danlu.testing.waiting import wait_until


def statuses(connections: list[RawConnection]) -> list[int]:
    return sorted(connection.status() for connection in connections)


def num_sessions(world: World) -> int:
    pool = world.database.engine.pool
    assert isinstance(pool, QueuePool)
    return pool.checkedout()


class TestExports:
    def test_seventy_that_nobody_reads_hold_no_session(self, scene: Scene) -> None:
        run = big_run(scene)
        with ExitStack() as stack:
            held = [stack.enter_context(scene.ask("GET", f"/runs/{run}/export")) for _ in range(70)]
            allowed = scene.world.settings.max_exports_per_person
            assert statuses(held) == [200] * allowed + [429] * (70 - allowed)
            scene.bob_works()
            wait_until(lambda: num_sessions(scene.world) == 0, lambda: num_sessions(scene.world))

    def test_one_too_many_is_told_when_to_come_back(self, scene: Scene) -> None:
        run = big_run(scene)
        with ExitStack() as stack:
            for _ in range(scene.world.settings.max_exports_per_person):
                assert stack.enter_context(scene.ask("GET", f"/runs/{run}/export")).status() == 200
            status, headers, body = stack.enter_context(scene.ask("GET", f"/runs/{run}/export")).answer()
            told = "you have 4 exports open, which is the maximum; close one first"
            assert (status, headers["retry-after"], body["message"]) == (429, "10", told)
        with Api(scene.url, scene.eve) as api:  # those that were closed are not counted any more
            wait_until(lambda: api("GET", f"/runs/{run}/export").status_code == 200, lambda: None)

    def test_a_reader_who_is_shut_out_gets_no_more_of_it(self, scene: Scene) -> None:
        run = big_run(scene)
        job_id = scene.world.started(who=scene.world.identity("eve"), project="eves")
        with scene.ask("GET", f"/runs/{run}/export") as export, Api(scene.url, scene.eve) as api:
            assert export.status() == 200
            with api.http.stream("GET", f"/jobs/{job_id}/watch") as watched:
                _leave(scene.world, "eve", "eves")
                watched.read()  # the server has looked at her rights, and ends what she follows
            rest = export.read_until(b"0\r\n\r\n")
        assert b"train,loss,149999," not in rest


class TestFollowers:
    def test_a_hundred_streams_that_nobody_reads(self, scene: Scene) -> None:
        job_id = scene.world.started(who=scene.world.identity("eve"), project="eves")
        allowed = scene.world.settings.max_streams_per_person
        with ExitStack() as stack:
            path = f"/jobs/{job_id}/logs?follow=true"
            held = [stack.enter_context(scene.ask("GET", path)) for _ in range(allowed)]
            assert statuses(held) == [200] * allowed
            status, headers, body = stack.enter_context(scene.ask("GET", path)).answer()
            assert (status, headers["retry-after"], body["error"]) == (429, "10", "TooManyRequests")
            scene.world.engine.task(job_id).log += b"x" * (20 << 20)  # without a line feed
            scene.world.tick()
            scene.bob_works()

    def test_those_of_all_her_keys_count_together(self, world: World) -> None:
        with serving(world, max_streams_per_person=2) as scene, ExitStack() as stack:
            keys = [scene.eve, world.api_key(world.identity("eve")), world.api_key(world.identity("eve")), scene.bob]
            path = "/api/v1/changes?follow=true"
            held = [stack.enter_context(scene.raw().ask("GET", path, key)).status() for key in keys]
            assert held == [200, 200, 429, 200]

    def test_a_closed_stream_makes_room(self, scene: Scene) -> None:
        with ExitStack() as stack:
            held = [
                stack.enter_context(scene.ask("GET", "/changes?follow=true"))
                for _ in range(scene.world.settings.max_streams_per_person)
            ]
            assert set(statuses(held)) == {200}
            held[0].close()
            with Api(scene.url, scene.eve) as api:
                wait_until(lambda: _opens(api, "/changes?follow=true"), lambda: None)


def _opens(api: Api, path: str) -> bool:
    with api.http.stream("GET", path) as answer:
        return answer.status_code == 200


def _leave(world: World, name: str, project: str) -> None:
    with world.database.writing() as session:
        user, where = people.user_by_name(session, name), projects.project_by_name(session, project)
        assert user is not None
        assert where is not None
        projects.delete_member(session, where.id, user.id)
