"""The actions of the API, as danlu-compat implements them. It is imported only if the setting `tencent_door` is on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any, Protocol, cast

from danlu.errors import MissingExtra

MODULE = "tikit.door"
MAX_THREADS = 16
MAX_WAITING = 64


class Actions(Protocol):
    """What danlu-compat provides."""

    VERSION: str
    REPEATABLE: frozenset[str]
    """Actions that change nothing when they are repeated."""

    def answer(self, action: str, values: Mapping[str, Any], *, url: str, api_key: str, region: str) -> dict[str, Any]:
        """The value of `Response`, without the request's id. Failures are returned as well: `{"Error": ...}`."""


def load_actions() -> Actions:
    try:
        found = import_module(MODULE)
    except ModuleNotFoundError as error:
        told = "the door for Tencent Cloud's SDK needs danlu-compat: pip install danlu-compat[tikit]"
        raise MissingExtra(f"{told} ({error.name} is missing)") from error
    return cast("Actions", found)


class ActionPool:
    """Runs actions in threads of their own: each calls this server and waits."""

    def __init__(self, actions: Actions, *, url: str) -> None:
        self.actions, self._url = actions, url
        self._threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="tencent")
        self._num_waiting = 0

    async def answer(self, action: str, values: Mapping[str, Any], *, api_key: str, region: str) -> dict[str, Any]:
        if self._num_waiting >= MAX_WAITING:
            return error("RequestLimitExceeded", "too many requests at a time; try again in a moment")
        self._num_waiting += 1

        def run() -> dict[str, Any]:
            return self.actions.answer(action, values, url=self._url, api_key=api_key, region=region)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, run)
        finally:
            self._num_waiting -= 1


def error(code: str, message: str) -> dict[str, Any]:
    return {"Error": {"Code": code, "Message": message}}
