"""Ids and names of other projects in bodies and queries of every route that takes one: nothing is read or written."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.attack import SECRET, Sides, put_object
from tests.support.journals import JournalMaker

from danlu.content.ids import new_artifact_id


@pytest.fixture
def theirs(sides: Sides) -> dict[str, str]:
    """What vision has, by kind; and what eve has to attack with."""
    put_object(sides.ada, "vision/data/secret")
    put_object(sides.eve, "evil/data/own", b"own")
    run = JournalMaker(name="secret").log("train", {"loss": [42.0]}, [1])
    sides.ada.json("POST", "/runs", json=run.header)
    sides.ada("PUT", f"/runs/{run.run}/journals/{run.name}?offset=0", content=run.data)
    sides.world.state.metrics.ingest_changed()
    own = JournalMaker(name="own")
    sides.eve.json("POST", "/runs", json=own.header)
    model = sides.ada.json("POST", "/models", json={"name": "secret", "path": "store://vision/data/secret"})
    return {
        "job": sides.started("ada", name="secret"),
        "run": run.run,
        "own_run": own.run,
        "model": model["id"],
        "artifact": new_artifact_id(),
    }


BODIES: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/jobs", {"spec": {"name": "x", "command": "x", "project": "vision"}}),
    ("POST", "/jobs", {"spec": {"name": "x", "command": "x", "data": {"store://vision/data/": "d"}}}),
    ("POST", "/jobs", {"spec": {"name": "x", "command": "x", "output": "store://vision/data/"}}),
    ("POST", "/jobs", {"spec": {"name": "x", "command": "x", "code": {"store": "store://vision/data/"}}}),
    ("POST", "/jobs/plan", {"spec": {"name": "x", "command": "x", "project": "vision"}}),
    ("POST", "/jobs/{job}/metrics", {"metrics": [{"values": {"loss": 1.0}}]}),
    ("POST", "/jobs/{job}/terminals", {"rank": 0}),
    ("POST", "/runs", {"run": "{run}", "name": "x", "created_at": 1.0}),
    ("POST", "/runs", {"run": "run-aaaaaaaaaaaaaaaaaaaaaaaaaa", "name": "x", "project": "vision"}),
    ("POST", "/folders", {"path": "x", "project": "vision"}),
    ("POST", "/folders/move", {"path": "x", "to": "y", "project": "vision"}),
    ("POST", "/buckets", {"name": "new-bucket", "project": "vision"}),
    ("PATCH", "/buckets/evil", {"project": "vision"}),
    ("PATCH", "/buckets/vision", {"project": "evil"}),
    ("POST", "/buckets/vision/uploads", {"key": "x", "size": 1, "sha256": "a" * 64}),
    ("POST", "/buckets/vision/reads", {"keys": ["data/secret"]}),
    ("POST", "/templates", {"name": "x", "project": "vision", "spec": {"nodes": 1}}),
    ("POST", "/models", {"name": "x", "job": "{job}"}),
    ("POST", "/models", {"name": "x", "path": "store://vision/data/secret"}),
    ("POST", "/models", {"name": "x", "path": "store://evil/data/own", "to": "store://vision/data"}),
    ("POST", "/models", {"name": "x", "path": "store://evil/data/own", "run": "{run}"}),
    ("POST", "/models", {"name": "x", "path": "store://evil/data/own", "project": "vision"}),
    ("PATCH", "/models/{model}", {"description": "x"}),
    ("POST", "/artifacts/uploads", {"artifact": "{artifact}", "name": "x", "project": "vision"}),
    ("POST", "/projects/vision/invitations", {"user": "eve", "role": "owner"}),
    ("PUT", "/projects/vision/members/eve", {"role": "owner"}),
    ("PUT", "/projects/vision/quotas", {"users": {"ada": {"npu": 0}}}),
    ("PUT", "/me/default-project", {"project": "vision"}),
    ("POST", "/trees?project=vision", {"files": []}),
]


@pytest.mark.parametrize(("method", "path", "body"), BODIES, ids=[f"{one[1]} {sorted(one[2])}" for one in BODIES])
def test_a_body_that_names_what_is_of_others(
    sides: Sides, theirs: dict[str, str], method: str, path: str, body: dict[str, Any]
) -> None:
    before = _seen(sides)
    for name, value in theirs.items():
        path = path.replace(f"{{{name}}}", value)
        body = {key: value if entry == f"{{{name}}}" else entry for key, entry in body.items()}
    answer = sides.eve(method, path, json=body)
    assert answer.status_code in (403, 404, 409, 422), answer.text
    assert SECRET not in answer.content
    assert _seen(sides) == before


QUERIES = [
    "/runs?filter=name='secret'",
    "/runs/points?run={run}",
    "/runs/points?run=secret",
    "/models?project=vision",
    "/models/{model}",
    "/model-versions/{model}",
    "/artifacts?project=vision",
    "/artifacts/versions?name=secret&project=vision",
    "/audit?project=vision",
    "/keys?user=ada",
    "/flow?node=job:{job}",
    "/flow?node=store://vision/data/secret",
    "/jobs?name=secret",
    "/jobs/{job}",
    "/jobs/{job}/logs/0",
    "/jobs/{job}/usage",
    "/runs/{run}/export",
    "/projects/vision/quotas",
    "/projects/vision/invitations",
    "/templates",
    "/folders",
    "/buckets",
]


@pytest.mark.parametrize("path", QUERIES)
def test_a_query_that_names_what_is_of_others(sides: Sides, theirs: dict[str, str], path: str) -> None:
    for name, value in theirs.items():
        path = path.replace(f"{{{name}}}", value)
    answer = sides.eve("GET", path)
    if answer.status_code == 200:
        assert "vision" not in answer.text
        assert "secret" not in answer.text
        assert "42.0" not in answer.text
    else:
        assert answer.status_code in (403, 404), answer.text


def _seen(sides: Sides) -> tuple[Any, ...]:
    """What the others have, as they see it."""
    found = [
        sides.ada.json("GET", path) for path in ("/projects/vision", "/models", "/buckets", "/templates", "/folders")
    ]
    runs = [(run["id"], run["name"]) for run in sides.ada.json("GET", "/runs")["items"]]
    jobs = [job["id"] for job in sides.ada.json("GET", "/jobs")["items"]]
    objects = [one["key"] for one in sides.ada.json("GET", "/buckets/vision/objects")["objects"]]
    return (*found, runs, jobs, objects, sides.ada.json("GET", "/me")["default_project"])
