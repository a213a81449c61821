"""Two people who have nothing to do with each other, each with a project of their own: one of them attacks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.support.world import Api, World

from danlu.auth.identity import Role
from danlu.wire.store import Tree, TreeFile

SECRET = b"what only vision may read"
"""What the attacker is after."""


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass
class Sides:
    """ada owns the project vision and its bucket vision, eve the project evil and its bucket evil."""

    world: World
    url: str
    admin: Api
    ada: Api
    eve: Api

    def token(self, job_id: str) -> Api:
        """A running job."""
        return Api(self.url, self.world.job_token(job_id))

    def person(self, name: str, **options: Any) -> Api:
        """Somebody else, with a key."""
        return Api(self.url, self.world.api_key(self.world.identity(name), **options))

    def started(self, person: str, /, **spec: Any) -> str:
        return self.world.started(who=self.world.identity(person), **spec)


@contextmanager
def two_sides(world: World, url: str) -> Iterator[Sides]:
    """The two of them in a world that is served there."""
    for name, project in (("ada", "vision"), ("eve", "evil")):
        world.add_user(name, project, Role.OWNER)
    keys = [world.api_key(), *(world.api_key(world.identity(name)) for name in ("ada", "eve"))]
    with Api(url, keys[0]) as admin, Api(url, keys[1]) as ada, Api(url, keys[2]) as eve:
        yield Sides(world, url, admin, ada, eve)


def put_blob(api: Api, data: bytes) -> str:
    """Send bytes by content."""
    response = api("PUT", f"/blobs/{sha256(data)}", content=data)
    assert response.status_code == 204, response.text
    return sha256(data)


def tree_of(**files: bytes) -> Tree:
    """A folder of these files."""
    return Tree(files=[TreeFile(path=path, sha256=sha256(data), size=len(data)) for path, data in files.items()])


def put_tree(api: Api, tree: Tree) -> Any:
    return api.json("POST", "/trees", json=tree.model_dump(mode="json"))


def put_object(api: Api, path: str, data: bytes = SECRET) -> None:
    bucket, _, key = path.partition("/")
    response = api("PUT", f"/buckets/{bucket}/objects/{key}", content=data)
    assert response.status_code == 200, response.text


def told(response: Any) -> tuple[int, str]:
    """What an answer says: status and message."""
    return response.status_code, response.json()["message"]
