"""What a job may do with each access, on every route: never more than its owner, and only as a member."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.cases import Case
from tests.support.job_rules import JOB_RULES, expected_of_job
from tests.support.rights import expected, path_of
from tests.support.rules import RULES
from tests.support.scene import Scene, make_scene

ACCESS = ("read", "owner")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Jobs of max, a member of vision."""
    with make_scene(tmp_path_factory.mktemp("rights"), accesses=ACCESS) as made:
        yield made


def test_every_route_says_what_a_job_may_do() -> None:
    assert sorted(RULES.keys() - JOB_RULES.keys()) == [], "a route needs a line in tests/support/job_rules.py"
    assert sorted(JOB_RULES.keys() - RULES.keys()) == []


@pytest.mark.parametrize(("method", "path"), sorted(RULES), ids=str)
def test_the_table(scene: Scene, method: str, path: str) -> None:
    rule, wrong = RULES[method, path], []
    for relation in rule.lines:
        case = Case(scene, "member", relation)
        for access in ACCESS:
            wanted = expected_of_job(method, path, access, expected(rule, relation)["member"])
            if wanted is None:
                continue
            response = scene.send(access, method, path_of(case, path, rule), **rule.request(case))
            if method not in ("GET", "HEAD") and response.status_code < 400:
                scene.restore()
            found = "2" if response.status_code < 300 else str(response.status_code)
            if found != wanted and not (wanted == "" and found != "2"):
                wrong.append(f"a job with access {access} on {relation}: expected {wanted!r}, got {found}")
    assert wrong == []
