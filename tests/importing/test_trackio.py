"""Databases of trackio, in the layout that its package writes (checked with trackio 0.43.0)."""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.support.foreign_files import PNG

from danlu.importing.records import Alert, ForeignRun, Medium, Points
from danlu.importing.trackio import TrackioProjects

AT = "2023-11-14T22:13:20+00:00"
SECONDS = 1_700_000_000.0
TABLES = """
CREATE TABLE metrics (id INTEGER PRIMARY KEY, run_id TEXT, timestamp TEXT, run_name TEXT, step INTEGER, metrics TEXT);
CREATE TABLE configs (id INTEGER PRIMARY KEY, run_id TEXT, run_name TEXT, config TEXT, created_at TEXT);
CREATE TABLE system_metrics (id INTEGER PRIMARY KEY, run_id TEXT, timestamp TEXT, run_name TEXT, metrics TEXT);
CREATE TABLE alerts (id INTEGER PRIMARY KEY, run_id TEXT, timestamp TEXT, run_name TEXT, title TEXT, text TEXT,
    level TEXT, step INTEGER);
CREATE TABLE artifacts (id INTEGER PRIMARY KEY, name TEXT, type TEXT, description TEXT, created_at TEXT);
CREATE TABLE artifact_versions (id INTEGER PRIMARY KEY, artifact_id INTEGER, version INTEGER, manifest_digest TEXT,
    manifest TEXT);
CREATE TABLE artifact_aliases (artifact_id INTEGER, alias TEXT, artifact_version_id INTEGER);
CREATE TABLE run_artifact_links (id INTEGER PRIMARY KEY, run_id TEXT, run_name TEXT, artifact_version_id INTEGER,
    direction TEXT);
"""


def write_project(top: Path) -> Path:
    file = top / "vision.db"
    (top / "media" / "vision").mkdir(parents=True)
    (top / "media" / "vision" / "a.png").write_bytes(PNG)
    digest = hashlib.sha256(b"weights").hexdigest()
    blob = top / "artifacts" / "vision" / "blobs" / "sha256" / digest[:2] / digest
    blob.parent.mkdir(parents=True)
    blob.write_bytes(b"weights")
    media = {
        "img": {"_type": "trackio.image", "file_path": "vision/a.png", "caption": "black"},
        "out": {"_type": "trackio.image", "file_path": "../../../etc/hostname"},
        "hist": {"_type": "trackio.histogram", "bins": [0, 1, 2], "values": [3, 4]},
        "table": {"_type": "trackio.table", "_value": [{"a": 1}, {"a": 2, "b": "x"}]},
        "page": {"_type": "trackio.html", "_value": "<b>bold</b>"},
        "deep": {"a": {"b": {"c": 1}}},
    }
    config = {"lr": 0.1, "_Username": "mia", "_Created": AT, "_Group": "g1"}
    with closing(sqlite3.connect(file)) as database:
        database.executescript(TABLES)
        rows = [
            ("r1", AT, "first", 0, json.dumps({"train/loss": 0.5, "epoch": 1})),
            ("r1", AT, "first", 1, json.dumps({"train/loss": "NaN", **media})),
            ("r1", AT, "first", 2, "no json"),
            ("r2", "no time", "second", 0, json.dumps({"x": 1})),
        ]
        database.executemany("INSERT INTO metrics VALUES (NULL, ?, ?, ?, ?, ?)", rows)
        database.execute("INSERT INTO configs VALUES (NULL, 'r1', 'first', ?, ?)", (json.dumps(config), AT))
        database.execute("INSERT INTO system_metrics VALUES (NULL, 'r1', ?, 'first', '{\"cpu\": 12}')", (AT,))
        database.execute("INSERT INTO alerts VALUES (NULL, 'r1', ?, 'first', 'Title', 'text', 'warn', 1)", (AT,))
        database.executescript("INSERT INTO artifacts VALUES (1, 'model', 'model', 'd', ''), (2, 'gone', '', '', '');")
        for version, sha256 in ((1, digest), (2, "0" * 64)):
            manifest = json.dumps([{"path": "w.bin", "digest": sha256, "size": 7}])
            database.execute("INSERT INTO artifact_versions VALUES (?, ?, 0, 'm', ?)", (version, version, manifest))
            database.execute("INSERT INTO run_artifact_links VALUES (NULL, 'r1', 'first', ?, 'output')", (version,))
        database.execute("INSERT INTO artifact_aliases VALUES (1, 'best', 1)")
        database.commit()
    return file


def read(path: Path) -> tuple[list[ForeignRun], list[str]]:
    source = TrackioProjects(path)
    return list(source.runs()), source.problems()


def test_a_project_comes_out_field_by_field(tmp_path: Path) -> None:
    (first, second), problems = read(write_project(tmp_path).parent)
    assert problems == []
    assert (first.name, first.folder, first.group, first.created_at) == ("first", "vision", "g1", SECONDS)
    assert (first.hparams, first.environment) == ({"lr": 0.1}, {"user": "mia"})
    events = list(first.events())
    assert events[0] == Points({"train/loss": 0.5, "epoch": 1.0}, 0, SECONDS, 1.0)
    assert isinstance(events[1], Points)
    assert math.isnan(events[1].values["train/loss"])
    assert [(one.kind, one.name) for one in events if isinstance(one, Medium)] == [
        ("image", "img"),
        ("text", "img/caption"),
        ("histogram", "hist"),
        ("table", "table"),
        ("html", "page"),
        ("text", "deep.a"),
    ]
    assert Alert("Title", "text", "warn", 1, SECONDS) in events
    assert Points({"cpu": 12.0}, 0, SECONDS, type="system") in events
    assert [(made.name, list(made.files), made.aliases) for made in first.artifacts] == [
        ("vision/model", ["w.bin"], ("best",))
    ]
    told = "\n".join(first.problems.all())
    assert "artifact 'gone'" in told
    assert "'out' of step 1: the file '../../../etc/hostname' is not there" in told
    assert "step 2 are no JSON object" in told
    assert list(second.events()) == [Points({"x": 1.0}, 0, second.created_at)]


def test_bytes_that_are_no_utf8_are_replaced(tmp_path: Path) -> None:
    file = write_project(tmp_path)
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("UPDATE metrics SET run_name = CAST(x'66ff' AS TEXT) WHERE run_id = 'r1'")
        database.execute("UPDATE configs SET run_name = CAST(x'66ff' AS TEXT)")
        database.execute("UPDATE metrics SET metrics = CAST(x'ff' AS TEXT) WHERE run_id = 'r1' AND step = 0")
    (first, second), problems = read(file)
    assert (first.name, second.name, problems) == ("f\ufffd", "second", [])
    assert [event.step for event in first.events() if isinstance(event, Points) and event.type is None] == [1]
    assert "values of step 0 are no JSON object" in first.problems.all()


def test_what_is_no_project_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 500)
    (tmp_path / "b.db").write_text("text")
    with closing(sqlite3.connect(tmp_path / "c.db")) as database:
        database.execute("CREATE TABLE other (id INTEGER)")
    write_project(tmp_path)
    runs, problems = read(tmp_path)
    assert len(runs) == 2
    assert len(problems) == 3


def test_a_view_that_stands_for_a_table_is_not_read(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "v.db")) as database:
        database.executescript(
            "CREATE VIEW metrics AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id FROM n"
        )
    runs, problems = read(tmp_path / "v.db")
    assert runs == []
    assert "neither metrics nor configs" in problems[0]


def test_an_older_database_knows_runs_by_name(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "old.db")) as database:
        database.executescript(
            f"""CREATE TABLE metrics (id INTEGER PRIMARY KEY, timestamp TEXT, run_name TEXT, step INT, metrics TEXT);
            INSERT INTO metrics VALUES (1, '{AT}', 'one', 0, '{{"a": 1}}'), (2, '{AT}', 'two', 0, '{{"a": 2}}');"""
        )
    runs, problems = read(tmp_path / "old.db")
    assert problems == []
    assert [(run.key, list(run.events())) for run in runs] == [
        ("old/one", [Points({"a": 1.0}, 0, SECONDS)]),
        ("old/two", [Points({"a": 2.0}, 0, SECONDS)]),
    ]
