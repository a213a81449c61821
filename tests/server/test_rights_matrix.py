"""Who may do what: every route of the app, for everybody, on things of their own, of others and of nobody.

The routes come from the app, so a new one fails here until `tests/support/rules_of_*.py` have a rule for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.cases import Case, batch_of, job_of
from tests.support.rights import API, PAGES, Rule, expected, path_of
from tests.support.rule_lines import CHANGE_JOB, OPEN
from tests.support.rules import RULES
from tests.support.rules_of_data import DATA_RULES
from tests.support.rules_of_jobs import JOB_RULES
from tests.support.rules_of_people import PEOPLE_RULES
from tests.support.scene import NOBODIES, PEOPLE, Scene, make_scene


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with make_scene(tmp_path_factory.mktemp("rights")) as made:
        yield made


def answer(case: Case, method: str, path: str, rule: Rule) -> str:
    response = case.scene.send(case.role, method, path_of(case, path, rule), **rule.request(case))
    if method not in ("GET", "HEAD") and (response.status_code < 400 or path == "/session"):
        case.scene.restore()
    return "2" if response.status_code < 300 else str(response.status_code)


def test_every_route_has_a_rule_and_every_rule_a_route(scene: Scene) -> None:
    routes = set(scene.routes()) - PAGES
    ruled = {(method, f"{API}{path}") for method, path in RULES}
    assert sorted(routes - ruled) == [], "a route needs a rule here: who may call it on whose things"
    assert sorted(ruled - routes) == []


def test_a_route_is_in_one_part_of_the_table() -> None:
    assert len(RULES) == len(JOB_RULES) + len(DATA_RULES) + len(PEOPLE_RULES)


@pytest.mark.parametrize(("method", "path"), sorted(RULES), ids=str)
def test_the_matrix(scene: Scene, method: str, path: str) -> None:
    rule = RULES[method, path]
    is_open = rule.lines in (OPEN,) or (path == "/session" and method == "POST")
    wrong = []
    for relation in rule.lines:
        wanted = expected(rule, relation)
        wanted |= dict.fromkeys(NOBODIES, wanted["admin"] if is_open else "401")
        for role, status in wanted.items():
            found = answer(Case(scene, role, relation), method, path, rule)
            if found != status:
                wrong.append(f"{role} on {relation}: expected {status}, got {found}")
    assert wrong == []


class TestSelections:
    """Stopping and deleting many at once refuses one by one, with the same rights."""

    @pytest.mark.parametrize(("path", "kind"), [("/jobs/stop", "queued"), ("/jobs/delete", "over")])
    def test_only_what_may_be_changed_is(self, scene: Scene, path: str, kind: str) -> None:
        for relation, line in CHANGE_JOB.items():
            for role, status in zip(PEOPLE, line.split(), strict=True):
                job = job_of(Case(scene, role, relation), kind)
                done = scene.send(role, "POST", f"{API}{path}", json={"jobs": [job]}).json()
                scene.restore()
                assert (job in done["done"]) == (status == "2"), f"{role} on {relation}: {done}"


class TestBatches:
    """Files of a batch are stored and refused as each of them would be alone."""

    PUT = "PUT", "/buckets/{bucket}/objects/{key:path}"

    def test_each_file_is_stored_or_refused_as_if_it_came_alone(self, scene: Scene) -> None:
        path = "/buckets/{bucket}/batches"
        rule = RULES["POST", path]
        for relation in RULES[self.PUT].lines:
            for role, status in expected(RULES[self.PUT], relation).items():
                case = Case(scene, role, relation)
                done = scene.send(role, "POST", path_of(case, path, rule), content=batch_of(case)).json()
                scene.restore()
                wanted = [] if status == "2" else [int(status)]
                assert [one["status"] for one in done["refused"]] == wanted, f"{role} on {relation}: {done}"


class TestLists:
    """What is not yours to see is in no list."""

    SEEN: dict[str, dict[str, set[str]]] = {
        "/projects": {
            "admin": {"default", "vision", "vision-bare", "other", "other-bare"},
            "owner": {"vision", "vision-bare"},
            "viewer": {"vision", "vision-bare"},
            "outsider": {"other", "other-bare"},
        },
        "/buckets": {
            "admin": {"main", "vision", "vision-empty", "other", "other-empty"},
            "member": {"vision", "vision-empty"},
            "outsider": {"other", "other-empty"},
        },
        "/users": {
            "admin": {"admin", "olga", "max", "vic", "otto", "dora", "finn", "mona"},
            "member": {"olga", "max", "vic", "dora", "mona"},
            "outsider": {"otto", "finn"},
        },
    }

    @pytest.mark.parametrize("path", sorted(SEEN))
    def test_names(self, scene: Scene, path: str) -> None:
        for role, names in self.SEEN[path].items():
            items = scene.send(role, "GET", f"{API}{path}").json()["items"]
            assert {item["name"] for item in items} == names, role

    def test_jobs(self, scene: Scene) -> None:
        for role, projects in {"viewer": {"vision"}, "outsider": {"other"}, "admin": {"vision", "other"}}.items():
            items = scene.send(role, "GET", f"{API}/jobs").json()["items"]
            assert {item["project"] for item in items} == projects, role

    def test_audit(self, scene: Scene) -> None:
        for role, projects in {"owner": {"vision"}, "outsider": {"other"}}.items():
            items = scene.send(role, "GET", f"{API}/audit").json()["items"]
            assert {item["project"] for item in items} == projects, role

    def test_what_others_learn_of_a_person(self, scene: Scene) -> None:
        of_colleague = scene.send("member", "GET", f"{API}/users/mona").json()
        assert of_colleague["email"] is None
        assert of_colleague["projects"] is None
        assert of_colleague["has_password"] is None
        assert scene.send("member", "GET", f"{API}/users/max").json()["projects"] == {
            "vision": "member",
            "vision-bare": "member",
        }


def test_a_folder_for_the_scene_is_enough(tmp_path: Path) -> None:
    """Going back really goes back: otherwise one cell of the matrix would change the next."""
    with make_scene(tmp_path / "scene") as scene:
        path = f"{API}/jobs/{scene.jobs['member', 'own']['over']}"
        assert scene.send("member", "DELETE", path).status_code == 204
        assert scene.send("member", "GET", path).status_code == 404
        scene.restore()
        assert scene.send("member", "GET", path).status_code == 200
