"""MLflow's search language against runs in the database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.server.mlflow.conftest import Door
from tests.support.databases import KINDS, Databases
from tests.support.world import World, make_world


@pytest.fixture(scope="module")
def runs(door: Door, world: World) -> dict[str, str]:
    """Three runs, a second apart."""
    ids = {}
    experiment = door.post("experiments/create", name="searched")["experiment_id"]
    for number, (name, model) in enumerate([("a", "cnn"), ("b", "CNN"), ("c", "tree")]):
        run = door.new_run(experiment, run_name=name, start_time=1_700_000_000_000 + 1000 * number)
        door.post(
            "runs/log-batch",
            run_id=run,
            metrics=[{"key": "acc", "value": number / 10, "timestamp": 1}] if number else [],
            params=[{"key": "model", "value": model}, {"key": "lr", "value": f"0.{number + 1}"}],
            tags=[{"key": "team x", "value": f"100%_{number}"}],
        )
        ids[name] = run
    door.post("runs/update", run_id=ids["a"], status="FINISHED")
    return {"experiment": experiment, **ids}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["c", "b", "a"]),
        ("metrics.acc > 0.1", ["c"]),
        ("metrics.acc >= 0.1 and params.model = 'CNN'", ["b"]),
        ("params.model LIKE 'c%'", ["a"]),
        ("params.model ILIKE 'c%'", ["b", "a"]),
        ("params.model != 'tree'", ["b", "a"]),
        ("params.lr = '0.3'", ["c"]),
        ("params.nothing IS NULL", ["c", "b", "a"]),
        ("tags.`team x` = '100%_1'", ["b"]),
        ("tags.\"team x\" LIKE '%2'", ["c"]),
        ("attributes.status = 'FINISHED'", ["a"]),
        ("attributes.status != 'FINISHED'", ["c", "b"]),
        ("run_name IN ('a', 'c')", ["c", "a"]),
        ("attributes.run_name NOT IN ('a', 'c')", ["b"]),
        ("attributes.start_time > 1700000000500", ["c", "b"]),
        ("tags.mlflow.runName = 'b'", ["b"]),
        ("attributes.user_id = 'admin' and metrics.acc < 0.15", ["b"]),
        ("params.model = 'a'' or 1=1 --'", []),
    ],
)
def test_a_filter_finds(door: Door, runs: dict[str, str], text: str, expected: list[str]) -> None:
    assert door.names(text, experiment_ids=[runs["experiment"]]) == expected


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (["metrics.acc DESC"], ["c", "b", "a"]),
        (["metrics.acc ASC"], ["b", "c", "a"]),  # without a value: last
        (["attributes.start_time ASC"], ["a", "b", "c"]),
        (["params.model", "attributes.run_name DESC"], ["b", "a", "c"]),
    ],
)
def test_runs_are_sorted(door: Door, runs: dict[str, str], order: list[str], expected: list[str]) -> None:
    assert door.names(experiment_ids=[runs["experiment"]], order_by=order) == expected


def test_pages_follow_each_other(door: Door, runs: dict[str, str]) -> None:
    names, token = [], ""
    while True:
        found = door.post("runs/search", experiment_ids=[runs["experiment"]], max_results=2, page_token=token)
        names += [run["info"]["run_name"] for run in found["runs"]]
        token = found.get("next_page_token", "")
        if not token:
            break
    assert names == ["c", "b", "a"]


def test_deleted_runs_are_found_when_asked_for(door: Door, runs: dict[str, str]) -> None:
    door.post("runs/delete", run_id=runs["b"])
    here: dict[str, Any] = {"experiment_ids": [runs["experiment"]]}
    assert door.names(**here) == ["c", "a"]
    assert door.names(run_view_type="DELETED_ONLY", **here) == ["b"]
    assert door.names(run_view_type="ALL", **here) == ["c", "b", "a"]
    door.post("runs/restore", run_id=runs["b"])
    assert door.names(**here) == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("metrics.acc = NaN", ["nan"]),
        ("metrics.acc = 'nan'", ["nan"]),
        ("metrics.acc != 0.5", ["-inf", "inf", "nan"]),
        ("metrics.acc != nan", ["-inf", "inf"]),
        ("metrics.acc > 1e308", ["inf"]),
        ("metrics.acc = Infinity", ["inf"]),
        ("metrics.acc < -1e308", ["-inf"]),
        ("metrics.acc = -Infinity", ["-inf"]),
        ("metrics.acc > NaN", []),
    ],
)
def test_a_last_value_that_is_no_number_is_found(door: Door, odd_runs: str, text: str, expected: list[str]) -> None:
    assert door.names(text, experiment_ids=[odd_runs]) == expected


def test_infinity_is_sorted_as_a_number(door: Door, odd_runs: str) -> None:
    assert door.names(order_by=["metrics.acc DESC"], experiment_ids=[odd_runs]) == ["inf", "-inf", "nan"]


@pytest.fixture(scope="module")
def odd_runs(door: Door, world: World) -> str:
    experiment = str(door.post("experiments/create", name="odd")["experiment_id"])
    for number, (name, value) in enumerate((("nan", "NaN"), ("inf", "Infinity"), ("-inf", "-Infinity"))):
        run = door.new_run(experiment, run_name=name, start_time=1_700_000_000_000 + number)
        door.post("runs/log-metric", run_id=run, key="acc", value=value, timestamp=1)
    return experiment


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("100%_", ["100%_", "100%x", "100x_"]),
        (r"100\%_", ["100%_", "100%x"]),
        (r"100%\_", ["100%_", "100x_"]),
        (r"100\%\_", ["100%_"]),
        (r"a\\b", ["a\\b"]),
        (r"%\\%", ["a\\b"]),
        (r"\a%", ["a*[b]?", "a\\b"]),
        ("%*%", ["a*[b]?"]),
        ("a*[b]_", ["a*[b]?"]),
        ("a\\", []),
    ],
)
@pytest.mark.parametrize("sign", ["LIKE", "ILIKE"])
def test_a_pattern_means_the_same_everywhere(named: Door, sign: str, pattern: str, expected: list[str]) -> None:
    """On SQLite and on PostgreSQL, for runs and for experiments."""
    text = f"name {sign} '{pattern}'"
    assert sorted(named.names(f"attributes.run_{text}")) == expected
    experiments = named.post("experiments/search", filter=text, max_results=100)["experiments"]
    assert sorted(one["name"] for one in experiments) == expected


@pytest.fixture(scope="module", params=KINDS)
def named(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """Runs and experiments whose names have characters with a meaning in patterns."""
    folder = tmp_path_factory.mktemp("named")
    postgres = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    databases = Databases(str(request.param), folder, postgres)
    with make_world(folder / "data", database_url=databases.url()) as world, world.serving() as url:
        door = Door(url, world.api_key())
        for name in ("100%_", "100%x", "100x_", "a\\b", "a*[b]?"):
            door.new_run(run_name=name)
            door.post("experiments/create", name=name)
        yield door
        door.http.close()
    databases.drop()
