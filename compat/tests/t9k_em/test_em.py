"""`t9k.em` as scripts for the original use it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from danlu import journal
from danlu.journal import Kind
from danlu.track.reading import open_journals, points, read_run
from t9k import CONFIG, em
from t9k.em import files, remote
from t9k.em.cli import main

OLD_METRICS = """- value:
    loss: 0.25
  sequence:
    epoch: 1
    step: 500
    timestamp: '2023-12-22T14:19:40.000000+08:00'
- value:
    loss: 0.125
  sequence:
    epoch: null
    step: 1000
    timestamp: '2023-12-22T14:19:50.000000+08:00'
"""


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("DANLU_", "T9K_", "EM_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("DANLU_CONFIG", str(tmp_path / "none.yml"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(CONFIG, "_values", None)
    yield
    monkeypatch.setattr(remote, "_session", None)


def old_run(parent: Path) -> Path:
    """A folder as the original wrote it."""
    folder = parent / "mnist_torch_231222_141932_61p5jc"
    (folder / "metrics").mkdir(parents=True)
    (folder / "metrics" / "validate.yaml").write_text(OLD_METRICS)
    metadata = {
        "kind": "Run",
        "name": "mnist_torch",
        "labels": ["PyTorch"],
        "description": "",
        "startTimestamp": "2023-12-22T14:19:32.000000+08:00",
        "endTimestamp": "2023-12-22T14:20:32.000000+08:00",
        "status": "Complete",
        "alternativeName": folder.name,
        "associations": {"input": [], "output": []},
        "remote": [],
    }
    index = {
        "hyperparameters": "hyperparameters.yaml",
        "metrics": {"validate": "metrics/validate.yaml"},
        "platform": "platform.yaml",
        "git": "git.yaml",
        "log": "stdout.log",
    }
    for name, value in (
        ("metadata.yaml", metadata),
        ("index.yaml", index),
        ("hyperparameters.yaml", {"lr": 0.001}),
        ("platform.yaml", {"hostname": "old"}),
        ("git.yaml", {"commit": None}),
    ):
        (folder / name).write_text(yaml.safe_dump(value))
    (folder / "stdout.log").write_text("epoch 1\n")
    return folder


class TestLayout:
    def test_a_run_is_written_as_the_original_does(self) -> None:
        run = em.create_run(name="mnist_torch", hparams={"lr": 0.1}, labels=["a"], description="first")
        print("hello")
        run.log(type="train", metrics={"loss": 0.5}, step=10, epoch=1)
        run.log("validation", {"loss": 1}, 10)
        run.hparams.update({"epochs": 3})
        run.hparams.batch_size = 32
        run.finish()
        (folder,) = Path(".em/runs").iterdir()
        assert files.FOLDER.search(folder.name)
        assert run.local == str(folder)
        found = {path.name: files.read(path) for path in folder.glob("*.yaml")}
        assert sorted(found) == ["git.yaml", "hyperparameters.yaml", "index.yaml", "metadata.yaml", "platform.yaml"]
        about = found["metadata.yaml"]
        assert (about["kind"], about["status"], about["alternativeName"]) == ("Run", "Complete", folder.name)
        assert found["hyperparameters.yaml"] == {"lr": 0.1, "epochs": 3, "batch_size": 32}
        assert found["index.yaml"]["metrics"] == {
            "train": "metrics/train.yaml",
            "validation": "metrics/validation.yaml",
        }
        (record,) = files.read(folder / "metrics" / "train.yaml")
        assert record["value"] == {"loss": 0.5}
        assert (record["sequence"]["epoch"], record["sequence"]["step"]) == (1, 10)
        assert (folder / "stdout.log").read_text() == "hello\n"

    def test_a_folder_of_the_original_is_read_and_goes_on(self) -> None:
        folder = old_run(Path(".em/runs"))
        run = em.load_run(str(folder))
        assert (run.status, run.end_timestamp, dict(run.hparams)) == ("Running", None, {"lr": 0.001})
        run.log("validate", {"loss": 0.0}, 1500)
        run.finish()
        assert [one["sequence"]["step"] for one in files.load(folder).metrics["validate"]] == [500, 1000, 1500]

    def test_a_script_that_ends_without_finish_has_an_error(self) -> None:
        subprocess.run([sys.executable, "-c", "from t9k import em; em.create_run(name='x')"], check=True)
        (folder,) = Path(".em/runs").iterdir()
        assert files.read(folder / "metadata.yaml")["status"] == "Error"


class TestRules:
    @pytest.mark.parametrize("name", ["", "-a", "a" * 41, "名字", "a b"])
    def test_names(self, name: str) -> None:
        with pytest.raises(ValueError, match="Invalid name of Run"):
            em.create_run(name=name)

    def test_finish_twice(self) -> None:
        run = em.create_run(name="x")
        run.finish()
        with pytest.raises(RuntimeError, match="once only"):
            run.finish()

    @pytest.mark.parametrize("kind", [OSError, RuntimeError])
    def test_a_missing_run_is_both_errors(self, kind: type[Exception]) -> None:
        with pytest.raises(kind, match="Not a local directory: 'nowhere'"):
            em.load_run("nowhere")

    def test_the_file_wins_over_arguments(self) -> None:
        Path("run.yaml").write_text("name: from-file\nlabels: [a]\n")
        run = em.create_run("run.yaml", name="argument")
        assert (run.name, run.labels) == ("from-file", ["a"])
        run.finish()
        Path("run.yaml").write_text("nam: x\n")
        with pytest.raises(ValueError, match="no setting 'nam'"):
            em.create_run("run.yaml")

    def test_hyperparameters_are_json(self) -> None:
        run = em.create_run(name="x")
        with pytest.raises(TypeError, match="'model'"):
            run.hparams["model"] = object()
        run.hparams.update({"a": 1})
        run.hparams.update({"a": 2, "b": 2}, override=False)
        assert run.hparams.as_dict() == {"a": 1, "b": 2}
        run.finish()

    def test_without_login(self) -> None:
        run = em.create_run(name="x")
        run.finish()
        with pytest.raises(RuntimeError, match="Not logged in"):
            run.upload()
        with pytest.raises(RuntimeError, match="No Run/Artifact is to be uploaded"):
            em.upload(".")
        with pytest.raises(ValueError, match="API Key not provided"):
            em.login(ais_host="http://127.0.0.1:1")
        with pytest.raises(ConnectionError):
            em.login(ais_host="http://127.0.0.1:1", api_key="k")
        with pytest.raises(ValueError, match="asset"):
            CONFIG["asset"] = "x"

    def test_only_artifacts_can_be_marked(self) -> None:
        run = em.create_run(name="x")
        with pytest.raises(TypeError, match="Instance type cannot be marked: object"):
            run.mark_output(object())
        run.finish()


class TestConversion:
    def test_what_is_new_becomes_a_journal(self) -> None:
        from t9k.em.upload import _header, _write_new

        folder = old_run(Path("."))
        for _ in range(2):
            found = files.load(folder)
            _write_new(folder, _header(found), found)
        (one,) = open_journals(str(folder / ".danlu"))
        assert [(p.type, p.name, p.step, p.epoch, p.value) for p in points(one)] == [
            ("val", "loss", 500, 1.0, 0.25),
            ("val", "loss", 1000, None, 0.125),
        ]
        known = read_run(str(folder / ".danlu"))
        assert (known.hparams, known.state, known.header["name"]) == ({"lr": 0.001}, "finished", "mnist_torch")
        printed = [journal.decode_output(f).data for f in journal.frames(one.data) if f.kind == Kind.OUTPUT]
        assert printed == [b"epoch 1\n"]
        with (folder / "metrics" / "validate.yaml").open("a") as file:
            file.write("- value: {loss: 0.5}\n  sequence: {epoch: 2, step: 1500, timestamp: null}\n")
        found = files.load(folder)
        _write_new(folder, _header(found), found)
        steps = [point.step for one in open_journals(str(folder / ".danlu")) for point in points(one)]
        assert sorted(steps) == [500, 1000, 1500]

    def test_a_copy_elsewhere_makes_the_same_journal(self, tmp_path: Path) -> None:
        from t9k.em.upload import _header, _write_new

        names = []
        for place in ("here", "there"):
            folder = old_run(tmp_path / place)
            found = files.load(folder)
            _write_new(folder, _header(found), found)
            names.append([path.name for path in (folder / ".danlu").glob("*.journal")])
        assert names[0] == names[1]


class TestCommand:
    def test_ls_and_describe(self, capsys: pytest.CaptureFixture[str]) -> None:
        folder = old_run(Path(".em/runs"))
        assert main(["ls", ".em/runs"]) == 0
        assert main(["ls", ".em/runs", "-d"]) == 0
        assert main(["describe", str(folder), "-d"]) == 0
        said = capsys.readouterr().out
        assert said.splitlines()[0].split() == ["NAME", "STATUS", "STARTED", "DURATION"]
        assert "mnist_torch  Complete" in said
        assert "0:01:00" in said
        assert "metrics validate: 2 records" in said

    def test_upload_without_a_key_says_what_is_missing(self, capsys: pytest.CaptureFixture[str]) -> None:
        old_run(Path(".em/runs"))
        assert main(["upload", ".em/runs"]) == 1
        assert "AIStore host not provided" in capsys.readouterr().err


def test_names_of_others_give_a_terminal_no_orders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = old_run(tmp_path)
    about = yaml.safe_load((folder / files.METADATA).read_text())
    hostile = {"name": "\x1b]0;title\x07a", "labels": ["\x9b2J", "训练\u3000集"], "description": "\u202e\x1b[2J"}
    (folder / files.METADATA).write_text(yaml.safe_dump({**about, **hostile}))
    assert [main(["ls", "-d", str(tmp_path)]), main(["describe", "-d", str(folder)])] == [0, 0]
    with pytest.raises(SystemExit):
        main(["ls"])
    assert main(["describe", f"{tmp_path}/\x1b[2Jno"]) == 1
    shown = "".join(capsys.readouterr())
    assert [char for char in shown if char in "\x1b\x07\x9b\u202e"] == []
    assert "\\x1b]0;title\\x07a" in shown
    assert "训练\u3000集" in shown
