"""Requests generated from our own description of the API: none may meet a 500 or get an answer that breaks it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.support.world import Api, World, make_world

from danlu.server.jobs import service
from danlu.spec.states import is_over
from danlu.store.queries import jobs

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
NUM_REQUESTS = 400
NUM_REQUESTS_LONG = 10_000


class Target:
    """A world with something in it, that is brought back to rest after each request: streams of jobs at rest end."""

    def __init__(self, world: World, url: str) -> None:
        self.world, self.url, self.api = world, url, Api(url, world.api_key())
        self.session = requests.Session()
        self.session.trust_env = False
        self.num_requests = 0
        self.statuses: dict[int, int] = {}
        self._known = ""

    def ended_job(self) -> str:
        with self.world.database.reading() as session:
            found = jobs.get_job(session, self._known)
        if found is None:
            self._known = self.world.started(nodes=2, tags={"team": "vision"})
            self.world.engine.task(self._known).log += b"epoch 1\n\xff\xfe odd bytes\n" * 50
            self.world.engine.finish(self._known, code=1)
            self.world.tick(2)
        return self._known

    def settle(self) -> None:
        with self.world.database.reading() as session:
            left = [row.id for row in jobs.list_jobs(session, jobs.JobFilter(), before=None, limit=100)]
        left = [job_id for job_id in left if not is_over(self.world.job(job_id).state)]
        if left:
            self.world.database.write(service.stop_many, self.world.state, self.world.admin, left)
            self.world.tick(4)
            assert all(is_over(self.world.job(job_id).state) for job_id in left)

    def send(self, case: Case[Any], choice: int) -> None:
        """Send a generated request; every other one names things that exist."""
        case.path_parameters = {**(case.path_parameters or {}), **self._real(case.path_parameters or {}, choice)}
        if case.path.endswith("/changes"):  # a stream without an end
            case.query = {**(case.query or {}), "follow": "false"}
        headers = {"Authorization": self.api.http.headers["Authorization"]}
        response = case.call(base_url=self.url, headers=headers, session=self.session, timeout=None)
        self.num_requests += 1
        self.statuses[response.status_code] = self.statuses.get(response.status_code, 0) + 1
        if response.content == b"Invalid HTTP request received.":
            return  # by uvicorn, which found that it is no HTTP: nothing of it reached us
        case.validate_response(response, checks=CHECKS)
        if case.method != "GET" and response.status_code < 300 and "/jobs" in case.path:
            self.settle()

    def _real(self, given: dict[str, Any], choice: int) -> dict[str, Any]:
        if choice == 0:
            return {}
        real = {"job": self.ended_job(), "bucket": "main", "rank": 0, "key": "data/a.bin"}
        return {name: value for name, value in real.items() if name in given and (choice == 2 or name == "bucket")}


def run(folder: Path, num_requests: int) -> Target:
    with make_world(folder / "data") as world, world.serving() as url:
        target = Target(world, url)
        with target.api, target.session:
            target.api("PUT", "/buckets/main/objects/data/a.bin", content=b"x" * 1000)
            schema = schemathesis.openapi.from_dict(world.app().openapi())
            operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
            assert len(operations) == schema.statistic.operations.total
            modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
            kinds = [(operation, mode) for operation in operations for mode in modes]
            number = 0
            while target.num_requests < num_requests:  # some kinds have few forms, so one round may not do
                number += 1
                each = -(-(num_requests - target.num_requests) * 5 // (len(kinds) * 4))
                for operation, mode in kinds:
                    try:
                        _explore(target, operation.as_strategy(generation_mode=mode), each, number)
                    except Unsatisfiable:  # a request without parameters has no wrong form
                        _explore(target, operation.as_strategy(), each, number)
        return target


def _explore(target: Target, cases: Any, count: int, number: int) -> None:
    @seed(number)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases, choice=st.integers(0, 2))
    def send(case: Case[Any], choice: int) -> None:
        target.send(case, choice)

    send()


def test_some_hundred_requests(tmp_path: Path) -> None:
    target = run(tmp_path, NUM_REQUESTS)
    assert target.num_requests >= NUM_REQUESTS
    assert {200, 201, 204, 404, 422} <= set(target.statuses), target.statuses


@pytest.mark.long
def test_ten_thousand_requests(tmp_path: Path) -> None:
    target = run(tmp_path, NUM_REQUESTS_LONG)
    assert target.num_requests >= NUM_REQUESTS_LONG
