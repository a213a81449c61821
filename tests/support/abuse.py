"""Two people on one server: Eve does what she can, and Bob works."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.support.journals import JournalMaker
from tests.support.runs import send
from tests.support.world import Api, World

from danlu.auth.identity import Role
from danlu.testing.raw_http import RawConnection


@dataclass
class Scene:
    world: World
    url: str
    eve: str
    """Her API key; she is a member of a project of her own."""

    bob: str

    def raw(self, *, receive_bytes: int | None = None) -> RawConnection:
        return RawConnection(self.url, receive_bytes=receive_bytes)

    def ask(self, method: str, path: str, **headers: str) -> RawConnection:
        """A request of Eve's whose answer is not read."""
        return self.raw(receive_bytes=4096).ask(method, f"/api/v1{path}", self.eve, **headers)

    def bob_works(self) -> None:
        """Bob lists, submits, reads, sends a file and follows a job: everything goes on for him."""
        with Api(self.url, self.bob) as api:
            job_id = api.json("POST", "/jobs", json={"spec": {"name": "bob", "command": "true"}})["id"]
            assert job_id in [job["id"] for job in api.json("GET", "/jobs")["items"]]
            assert api.json("GET", f"/jobs/{job_id}")["name"] == "bob"
            assert api("PUT", "/buckets/bobs/objects/file", content=b"x" * 100_000).status_code == 200
            with api.http.stream("GET", f"/jobs/{job_id}/watch") as answer:
                assert next(answer.iter_lines()).startswith("id: ")


@contextmanager
def serving(world: World, **settings: Any) -> Iterator[Scene]:
    """Serve a world that Eve and Bob are in, with other settings."""
    world.settings = world.settings.model_copy(update=settings)
    object.__setattr__(world.state, "settings", world.settings)
    eve, bob = world.add_user("eve", "eves", Role.MEMBER), world.add_user("bob", "bobs", Role.MEMBER)
    with world.serving() as url:
        yield Scene(world, url, world.api_key(eve), world.api_key(bob))


def big_run(scene: Scene, num_points: int = 150_000) -> str:
    """A run of Eve's whose export is longer than what a connection holds; return its id."""
    made = JournalMaker(name="big", project="eves")
    steps = list(range(num_points))
    for first in range(0, num_points, 50_000):
        part = steps[first : first + 50_000]
        made.log("train", {"loss": [float(step) for step in part]}, part)
    with Api(scene.url, scene.eve) as api:
        send(scene.world, api, made)
    return made.run
