"""Artifacts in a training process: written down at once, never in training's way."""

from __future__ import annotations

import json
import logging
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from danlu import track
from danlu.content.drafts import Link, add_line, find_drafts, parse, read_draft
from danlu.content.manifest import Reference
from danlu.track.values import MAX_LABELS
from danlu.transfer.copying import copy


def contents(artifact: track.Artifact) -> dict[str, bytes]:
    """What lies in the artifact's folder, by path."""
    top = Path(artifact.path, "files")
    return {path.relative_to(top).as_posix(): path.read_bytes() for path in top.rglob("*") if path.is_file()}


class TestAdding:
    def test_what_is_added_stays_as_it_was(self, tmp_path: Path) -> None:
        checkpoint = tmp_path / "model.pt"
        checkpoint.write_bytes(b"epoch 1")
        made = track.artifact("model", dir=tmp_path / "runs").add_file(checkpoint)
        with checkpoint.open("r+b") as file:  # into the same bytes, as torch.save does
            file.write(b"EPOCH 2")
        assert contents(made) == {"model.pt": b"epoch 1"}

    def test_names_in_the_artifact(self, tmp_path: Path) -> None:
        (tmp_path / "a" / "b").mkdir(parents=True)
        (tmp_path / "a" / "b" / "c").write_text("c")
        (tmp_path / "x").write_text("x")
        made = track.artifact("model", dir=tmp_path / "runs")
        made.add_file(tmp_path / "x").add_file(tmp_path / "x", "in/").add_file(tmp_path / "x", "/as/y")
        made.add_dir(tmp_path / "a").add_dir(tmp_path / "a", "in/").add_dir(tmp_path / "a", "z")
        assert sorted(contents(made)) == ["a/b/c", "as/y", "in/a/b/c", "in/x", "x", "z/b/c"]

    def test_references_labels_and_description_are_in_the_record(self, tmp_path: Path) -> None:
        made = track.artifact("model", dir=tmp_path, labels=["a"])
        made.add_reference("s3://bucket/data/", size=3).add_reference("http://x/y", "z")
        made.labels = ["b", "c"]
        made.description = "the first"
        made.aliases = ["best"]
        draft = read_draft(made.path)
        assert draft is not None
        assert draft.references == {
            "data": Reference("data", "s3://bucket/data/", 3, None),
            "z": Reference("z", "http://x/y"),
        }
        assert draft.about == {"labels": ["b", "c"], "description": "the first", "aliases": ["best"]}
        assert not draft.is_sealed

    @pytest.mark.parametrize("add", ["add_file", "add_dir"])
    def test_what_is_not_there_is_one_warning(self, tmp_path: Path, caplog: pytest.LogCaptureFixture, add: str) -> None:
        made = track.artifact("model", dir=tmp_path)
        for _ in range(2):
            getattr(made, add)(tmp_path / "nothing")
        assert [record.levelno for record in caplog.records] == [logging.WARNING]
        assert "nothing" in caplog.text

    def test_a_path_is_a_file_or_a_reference(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        (tmp_path / "x").write_text("x")
        made = track.artifact("model", dir=tmp_path / "runs").add_file(tmp_path / "x").add_reference("s3://b/x")
        made.add_reference("s3://b/y").add_file(tmp_path / "x", "y")
        draft = read_draft(made.path)
        assert draft is not None
        assert (list(draft.files), list(draft.references)) == (["x"], ["y"])
        assert "is a file of this artifact already" in caplog.text
        assert "is a reference of this artifact already" in caplog.text

    def test_a_wrong_name_is_one_warning_and_nothing_is_kept(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "x").write_text("x")
        made = track.artifact("no:colons", dir=tmp_path / "runs").add_file(tmp_path / "x")
        made.finish()
        assert not (tmp_path / "runs").exists()
        assert "cannot be the name of an artifact" in caplog.text

    def test_other_ranks_are_silent(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RANK", "1")
        (tmp_path / "x").write_text("x")
        made = track.artifact("model", dir=tmp_path / "runs").add_file(tmp_path / "x")
        assert made.upload()
        assert not (tmp_path / "runs").exists()

    def test_after_its_end_nothing_is_added(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        (tmp_path / "x").write_text("x")
        made = track.artifact("model", dir=tmp_path / "runs").add_file(tmp_path / "x")
        made.finish()
        made.add_file(tmp_path / "x", "y")
        draft = read_draft(made.path)
        assert draft is not None
        assert list(draft.files) == ["x"]
        assert "create another one, which is its next version" in caplog.text


class TestIncomplete:
    """A part of what was to be added is never sent as if it were all of it."""

    def folder(self, tmp_path: Path) -> Path:
        made = tmp_path / "made"
        made.mkdir()
        for number in range(5):
            (made / f"{number}.pt").write_bytes(bytes([number]) * 1000)
        return made

    def test_a_disk_that_fills_up(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        folder = self.folder(tmp_path)
        (folder / "3.pt").write_bytes(b"x" * 300_000)
        made = track.artifact("model", dir=tmp_path / "runs")
        before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
        try:
            made.add_dir(folder)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, before)
        assert not made.upload()
        assert "is incomplete and is not sent" in caplog.text
        draft = read_draft(made.path)
        assert draft is not None
        assert not draft.is_sealed
        assert "File too large" in draft.why_unfinished

    @pytest.mark.parametrize("name", ["a\\b", "line\nfeed"])
    def test_a_name_that_cannot_be_kept(self, tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
        folder = self.folder(tmp_path)
        (folder / name).touch()
        made = track.artifact("model", dir=tmp_path / "runs").add_dir(folder)
        assert contents(made) == {}
        assert not made.upload()
        assert "nothing of it was added" in caplog.text

    def test_what_works_the_second_time_is_complete(self, tmp_path: Path) -> None:
        made = track.artifact("model", dir=tmp_path / "runs").add_file(tmp_path / "later").add_reference("s3://b/x")
        made.finish()
        found = track.load_artifact(made.path)
        (tmp_path / "later").write_text("now")
        found.add_file(tmp_path / "later").finish()
        draft = read_draft(made.path)
        assert draft is not None
        assert (draft.is_sealed, list(draft.files), list(draft.references)) == (True, ["later"], ["x"])

    def test_empty_folders_are_in_the_record(self, tmp_path: Path) -> None:
        folder = self.folder(tmp_path)
        (folder / "logs").mkdir()
        made = track.artifact("model", dir=tmp_path / "runs").add_dir(folder, "")
        draft = read_draft(made.path)
        assert draft is not None
        assert (len(draft.files), draft.folders) == (5, ("logs",))

    def test_one_that_could_not_be_begun_is_not_there(self, tmp_path: Path) -> None:
        assert not track.artifact("no:colons", dir=tmp_path / "runs").upload()


class TestEnds:
    def test_an_output_is_finished_with_its_run(self, tmp_path: Path) -> None:
        run = track.start("r", dir=tmp_path)
        made = track.artifact("model", dir=tmp_path)
        run.mark_output(made)
        run.mark_output(made)
        run.mark_input(track.artifact("data", dir=tmp_path).add_reference("s3://b/data"))
        run.finish()
        draft = read_draft(made.path)
        assert draft is not None
        assert draft.is_sealed
        assert draft.links == (Link(run.id, "output", run.path),)

    def test_a_mark_that_makes_no_sense_is_one_warning(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        run = track.start("r", dir=tmp_path)
        run.mark_output("model.pt")  # type: ignore[arg-type]
        assert "could not be kept" in caplog.text
        run.finish()

    @pytest.mark.parametrize(("end", "is_sealed"), [("", True), ("raise SystemExit(3)", True), ("1 / 0", False)])
    def test_at_the_end_of_the_process(self, tmp_path: Path, end: str, is_sealed: bool) -> None:
        script = f"from danlu import track\na = track.artifact('m').add_reference('s3://b/x')\nprint(a.path)\n{end}"
        env = {**os.environ, "DANLU_TRACK": "offline"}
        command = [sys.executable, "-c", script]
        said = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        draft = read_draft(said.stdout.strip())
        assert draft is not None
        assert draft.is_sealed == is_sealed

    def test_it_is_found_again_by_its_folder_and_its_id(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_text("x")
        made = track.artifact("model", dir=tmp_path).add_file(tmp_path / "x")
        for ref in (made.path, made.id):
            found = track.load_artifact(ref, dir=tmp_path)
            assert (found.id, found.name, found.version) == (made.id, "model", None)

    def test_without_a_server_a_name_cannot_be_loaded(self, tmp_path: Path) -> None:
        with pytest.raises(ConnectionError, match="model:3"):
            track.load_artifact("model:3", dir=tmp_path)


def test_they_are_found_in_the_order_in_which_they_were_begun(tmp_path: Path) -> None:
    made = [track.artifact(name, dir=tmp_path) for name in ("z", "a", "m", "b", "y", "a")]
    assert [Path(folder).name for folder in find_drafts(str(tmp_path))] == [Path(one.path).name for one in made]


def test_a_finish_without_room_is_made_up_for_at_the_end_of_the_process(
    python: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    script = """
import os, resource
from danlu import track
made = track.artifact("model").add_file(__file__)
resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(made.path + "/artifact.jsonl"), resource.RLIM_INFINITY))
made.finish()
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""
    child = python(script)
    _, err = child.communicate()
    assert (child.returncode, err.count("\n")) == (0, 1), err
    (folder,) = find_drafts(str(tmp_path / ".danlu"))
    draft = read_draft(folder)
    assert draft is not None
    assert (draft.is_sealed, list(draft.files), draft.incomplete) == (True, ["script.py"], {})


class TestRecord:
    def test_a_line_that_is_not_whole_is_passed_over(self, tmp_path: Path) -> None:
        made = track.artifact("model", dir=tmp_path).add_reference("s3://b/x")
        record = Path(made.path, "artifact.jsonl")
        record.write_bytes(record.read_bytes() + b'{"refer')
        add_line(made.path, {"sealed": 1})
        draft = read_draft(made.path)
        assert draft is not None
        assert draft.is_sealed
        assert list(draft.references) == ["x"]

    def test_what_leads_out_of_the_folder_is_passed_over(self) -> None:
        lines = [{"format": 1, "artifact": "art-x", "name": "m"}, {"file": "../../etc/passwd", "size": 1}]
        draft = parse(b"\n".join(json.dumps(line).encode() for line in lines))
        assert draft is not None
        assert draft.files == {}

    def test_a_copy_can_be_executed_if_the_file_could(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_bytes(b"#!/bin/sh\n" * 1000)
        (tmp_path / "x").chmod(0o755)
        assert copy(str(tmp_path / "x"), str(tmp_path / "sub" / "y")) == 10_000
        assert (tmp_path / "sub" / "y").stat().st_mode & 0o777 == 0o755
        assert [path.name for path in (tmp_path / "sub").iterdir()] == ["y"]


def test_labels_above_the_limit_are_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    made = track.artifact("model", labels=[f"label {number}" for number in range(MAX_LABELS + 1)])
    assert made.labels == [f"label {number}" for number in range(MAX_LABELS)]
    assert f"of {MAX_LABELS + 1} labels of an artifact, the first {MAX_LABELS} are kept" in caplog.text
