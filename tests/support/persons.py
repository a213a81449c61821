"""What tests of people do over and over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from tests.support.world import Api, World

GOOD = "a good password"
WRONG = "the name or the password is wrong, or an admin has not approved your account yet"


@contextmanager
def as_(api: Api, key: str | None = None) -> Iterator[Api]:
    """The same server, with other credentials."""
    with Api(str(api.http.base_url).removesuffix("/api/v1/"), key) as other:
        yield other


def told(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["message"]


def sign_in_as(api: Api, name: str, password: str = GOOD) -> httpx.Response:
    with as_(api) as nobody:
        return nobody("POST", "/session", json={"name": name, "password": password})


def token_of(link: dict[str, Any]) -> str:
    return str(link["url"]).partition("/signin?token=")[2]


def set_registration(world: World, **values: Any) -> None:
    """Change settings of a world that is being served."""
    settings = world.settings.model_copy(update=values)
    object.__setattr__(world.state, "settings", settings)
