"""Bodies that are too long, never end, or say one thing and are another."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Any

import pytest
from fastapi.routing import iter_route_contexts
from tests.support.abuse import Scene, serving
from tests.support.world import Api, World

from danlu.content.packs import pack
from danlu.server.admission.bodies import RULES, STRANGER_BYTES, limit_of
from danlu.testing.raw_http import RawConnection

HUGE = 300 << 20
MIB = b"x" * (1 << 20)


def push(connection: RawConnection, total: int) -> int:
    """Send a body until the server does not take it any more; return how much it took."""
    sent = 0
    try:
        while sent < total:
            connection.send_chunk(MIB)
            sent += len(MIB)
    except (BrokenPipeError, ConnectionResetError):
        pass
    return sent


class TestStrangers:
    @pytest.mark.parametrize("path", ["/api/v1/jobs", "/signin", "/api/v1/session", "/api/v1/registrations"])
    def test_a_long_body_is_refused_before_it_comes(self, scene: Scene, path: str) -> None:
        with scene.raw() as stranger:
            status, _, body = stranger.ask("POST", path, Content_Length=str(HUGE)).answer()
            told = "the body is too large: expected at most 65536 bytes (64.0 KiB) without credentials"
            assert (status, body["error"], body["message"]) == (413, "TooLarge", told)
            scene.bob_works()

    @pytest.mark.parametrize("path", ["/api/v1/jobs", "/signin"])
    def test_one_whose_length_is_not_told_is_counted_as_it_comes(self, scene: Scene, path: str) -> None:
        with ExitStack() as stack:
            held = [stack.enter_context(scene.raw()) for _ in range(5)]
            for stranger in held:
                stranger.ask("POST", path, Transfer_Encoding="chunked")
                assert push(stranger, HUGE) < HUGE / 10  # what buffers on the way hold, and what is thrown away
            scene.bob_works()

    def test_wrong_credentials_are_no_better(self, scene: Scene) -> None:
        for key in ("dk-0000.wrong", "jt-wrong", "x"):
            with scene.raw() as stranger:
                asked = stranger.ask("POST", "/api/v1/jobs", key, Content_Length=str(HUGE))
                assert asked.answer()[0] == 401

    def test_a_file_of_a_stranger_is_not_read(self, scene: Scene) -> None:
        with scene.raw() as stranger:
            stranger.ask("PUT", "/api/v1/buckets/eves/objects/file", Content_Length=str(STRANGER_BYTES))
            stranger.send(b"x" * STRANGER_BYTES)
            assert stranger.answer()[0] == 401


class TestPeople:
    def test_no_json_is_that_long(self, scene: Scene) -> None:
        with scene.raw() as eve:
            status, _, body = eve.ask("POST", "/api/v1/jobs", scene.eve, Content_Length=str(HUGE)).answer()
            assert (status, body["message"]) == (413, "the body is too large: expected at most 1048576 bytes (1.0 MiB)")
        with scene.raw() as eve:
            eve.ask("POST", "/api/v1/jobs", scene.eve, Transfer_Encoding="chunked")
            assert push(eve, HUGE) < HUGE / 10
            scene.bob_works()

    def test_pieces_have_their_own_limits(self, scene: Scene) -> None:
        for method, path, most in (
            ("PUT", "/runs/run-x/journals/a?offset=0", 8 << 20),
            ("POST", "/buckets/eves/batches", 36 << 20),
            ("POST", "/artifacts/uploads/a/chunks", 36 << 20),
            ("POST", "/trees", 32 << 20),
        ):
            with scene.raw() as eve:
                asked = eve.ask(method, f"/api/v1{path}", scene.eve, Content_Length=str(most + 1))
                assert asked.answer()[0] == 413, path

    def test_uploads_that_stop_in_the_middle_leave_room_for_others(self, scene: Scene) -> None:
        """Twenty files are on their way and go nowhere; the next of hers waits, and Bob's do not."""
        most = scene.world.settings.max_uploads_per_person
        with ExitStack() as stack:
            for number in range(most + 5):
                path = f"/buckets/eves/objects/{number}"
                held = stack.enter_context(scene.ask("PUT", path, Content_Length="1000000"))
                held.send(b"x" * 1000)
            scene.bob_works()
        with Api(scene.url, scene.eve) as api:  # what was broken off is given back, and leaves no file
            assert api("PUT", "/buckets/eves/objects/whole", content=b"x").status_code == 200
            assert [one["key"] for one in api.json("GET", "/buckets/eves/objects")["objects"]] == ["whole"]

    def test_a_client_that_hears_no_early_reads_the_answer(self, scene: Scene) -> None:
        """It goes on sending for a while; the answer is not lost."""
        with Api(scene.url, scene.eve) as api:
            answer = api("POST", "/jobs", content=b" " * (4 << 20), headers={"Content-Type": "application/json"})
            assert answer.status_code == 413


class TestOddBodies:
    @pytest.mark.parametrize(
        "body",
        [
            b"[" * 200_000,
            b'{"spec":' * 30_000,
            b'{"spec": {"name": "x", "command": "true", "priority": ' + b"9" * 500_000 + b"}}",
            b'{"spec": {"name": "x", "command": "true", "tags": {"a": ' + b"[" * 5000 + b"]" * 5000 + b"}}}",
            b'{"spec": {"name": "x", "command": "true", "hyperparameters": {"a": ' + b'{"a":' * 900 + b"1" + b"}" * 902,
            b'{"spec": {"name": "x", "command": "true", "priority": NaN}}',
            b'{"spec": {"name": "x", "command": "true", "priority": 1e999999999}}',
            b"\xff\xfe\x00",
            b'{"spec": {' + b",".join(b'"k%d": 1' % number for number in range(60_000)) + b"}}",
            b'{"a\\u0000b": 1}',
        ],
    )
    def test_are_refused_in_few_words(self, scene: Scene, body: bytes) -> None:
        with Api(scene.url, scene.eve) as api:
            answer = api("POST", "/jobs", content=body, headers={"Content-Type": "application/json"})
            assert 400 <= answer.status_code < 500, answer.text[:1000]
            assert len(answer.content) < 200_000
        scene.bob_works()

    def test_a_hundred_thousand_faults_are_told_in_few_words(self, scene: Scene) -> None:
        files = [{"path": f"../{number}", "sha256": "x", "size": -1} for number in range(100_000)]
        with Api(scene.url, scene.eve) as api:
            answer = api("POST", "/trees", json={"files": files})
            assert answer.status_code == 422
            assert len(answer.content) < 100_000

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"\xff\xff\xff\xff",
            b"\xff\xff\xff\xff" + b"[]" * 1000,
            (50_000).to_bytes(4, "big") + b"[" * 50_000,
            pack([{"key": "a", "size": 2**62, "sha256": "0" * 64}], []),
            pack([{"key": "a", "size": -1, "sha256": "0" * 64}], []),
            pack([{"key": f"{number}", "size": 0, "sha256": "0" * 64} for number in range(50_000)], []),
        ],
    )
    @pytest.mark.parametrize("path", ["/buckets/eves/batches", "/artifacts/uploads/ID/chunks"])
    def test_packs_that_lie_about_their_sizes(self, scene: Scene, path: str, body: bytes) -> None:
        with Api(scene.url, scene.eve) as api:
            upload = f"art-{'a' * 26}"
            api.json("POST", "/artifacts/uploads", json={"artifact": upload, "name": "x", "project": "eves"})
            answer = api("POST", path.replace("ID", upload), content=body)
            assert 400 <= answer.status_code < 500, answer.text[:1000]
            assert len(answer.content) < 200_000

    def test_a_manifest_of_more_than_there_is(self, scene: Scene) -> None:
        chunk = {"sha256": "0" * 64, "size": 2**62}
        manifests: list[Any] = [{"files": [chunk] * 1000}, {"files": "x" * 1000}, [[[]]] * 1000, {"version": 10**400}]
        for manifest in manifests:
            with Api(scene.url, scene.eve) as api:
                upload = f"art-{'b' * 26}"
                api.json("POST", "/artifacts/uploads", json={"artifact": upload, "name": "x", "project": "eves"})
                body = json.dumps({"manifest": manifest}).encode()
                answer = api("POST", f"/artifacts/uploads/{upload}/commit", content=body)
                assert 400 <= answer.status_code < 500, answer.text[:1000]


def test_every_route_that_takes_bytes_says_how_many(world: World) -> None:
    """A new one fails here until it has a rule."""
    found = []
    for route in iter_route_contexts(world.app().routes):
        extra: Any = getattr(route.original_route, "openapi_extra", None) or {}
        if "requestBody" in extra:
            path = str(route.path).replace("{key:path}", "a/b").replace("{", "").replace("}", "")
            found.append((next(iter(route.methods or ())), path))
    assert len(found) >= 7
    for method, path in found:
        assert not limit_of(method, path, 1).is_json, f"{method} {path} takes bytes, and has no rule in {RULES}"


def test_the_limit_of_json_is_a_setting(world: World) -> None:
    with serving(world, max_body_bytes=1 << 16) as scene, Api(scene.url, scene.eve) as api:
        spec = {"name": "x", "command": "true " * 15_000}
        assert api("POST", "/jobs", json={"spec": spec}).status_code == 413
