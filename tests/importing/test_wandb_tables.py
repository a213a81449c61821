"""CSV files as W&B exports them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.foreign_files import AT

from danlu.importing.records import Event, ForeignRun, Medium, Points
from danlu.importing.wandb.tables import WandbTables


def read(file: Path, text: str) -> tuple[list[ForeignRun], list[str]]:
    file.write_text(text)
    source = WandbTables(file)
    return list(source.runs()), source.problems()


def events(run: ForeignRun) -> list[Event]:
    return list(run.events())


def test_a_history_is_a_run(tmp_path: Path) -> None:
    text = f",_step,_timestamp,_runtime,train/loss,epoch,note\n0,0,{AT},1,0.5,1,\n1,7,{AT + 1},2,,2,hello\n"
    runs, problems = read(tmp_path / "mine.csv", text)
    assert (problems, runs[0].name, runs[0].created_at) == ([], "mine", AT)
    assert events(runs[0]) == [
        Points({"train/loss": 0.5, "epoch": 1.0}, 0, AT, 1.0),
        Points({"epoch": 2.0}, 7, AT + 1, 2.0),
        Medium("text", "note", b"hello", 7, AT + 1),
    ]


def test_a_chart_has_a_run_per_name(tmp_path: Path) -> None:
    text = '"Step","a - b - loss","a - b - loss__MIN","c - loss"\n"0","1","0.5","2"\n"1","NaN","","3"\n'
    runs, _ = read(tmp_path / "chart.csv", text)
    assert [run.name for run in runs] == ["a - b", "c"]
    assert [(event.step, event.values) for event in events(runs[1]) if isinstance(event, Points)] == [
        (0, {"loss": 2.0}),
        (1, {"loss": 3.0}),
    ]
    first = events(runs[0])[0]
    assert isinstance(first, Points)
    assert first.values == {"loss": 1.0, "loss__MIN": 0.5}


def test_the_table_of_runs_has_a_run_per_row(tmp_path: Path) -> None:
    text = (
        '"Name","ID","State","Notes","User","Tags","Created","Runtime","Sweep","lr","val/acc"\n'
        '"one","x1","finished","-","mia","a, b","2023-11-14T22:13:20.000Z","60","","0.1","0.9"\n'
        '"two","x2","crashed","why","mia","","2023-11-14T22:13:20.000Z","5","","adam",""\n'
    )
    runs, _ = read(tmp_path / "runs.csv", text)
    assert [(run.name, run.state, run.labels, run.description) for run in runs] == [
        ("one", "finished", ("a", "b"), ""),
        ("two", "died", (), "why"),
    ]
    assert (runs[0].created_at, runs[0].ended_at) == (AT, AT + 60)
    assert runs[0].summary == {"lr": 0.1, "val/acc": 0.9}
    assert runs[1].summary == {"lr": "adam"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "expected a column _step"),
        ("a,b\n1,2\n", "got 'a, b'"),
        ("_step," + ",".join(f"m{at}" for at in range(30_000)), "30001 columns"),
    ],
)
def test_what_is_no_such_table_is_named(tmp_path: Path, text: str, told: str) -> None:
    runs, problems = read(tmp_path / "x.csv", text)
    assert runs == []
    assert told in problems[0]


def test_a_cell_without_end_is_an_error_of_its_run(tmp_path: Path) -> None:
    runs, _ = read(tmp_path / "x.csv", '_step,a\n"' + "x" * (2 << 20))
    with pytest.raises(ValueError, match="field larger than field limit"):
        events(runs[0])


def test_zeros_and_rows_that_are_too_short(tmp_path: Path) -> None:
    (tmp_path / "z.csv").write_bytes(b"_step,a,b\n1,\0" + b"2\n5\n,3\n\xff,\xfe,1\n")
    run = next(WandbTables(tmp_path / "z.csv").runs())
    assert [(event.step, event.values) for event in events(run) if isinstance(event, Points)] == [
        (1, {"a": 2.0}),
        (2, {"a": 3.0}),
        (3, {"b": 1.0}),
    ]
    assert len(run.problems.all()) == 2
