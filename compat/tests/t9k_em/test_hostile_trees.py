"""Trees that the original wrote, that a crash cut, or that somebody made up: what can be read is kept."""

from __future__ import annotations

import enum
import os
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path

import pytest

from t9k import CONFIG, em
from t9k.em import files, plain_yaml, remote


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("DANLU_", "T9K_", "EM_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(CONFIG, "_values", None)
    yield
    monkeypatch.setattr(remote, "_session", None)


class Size(enum.IntEnum):
    LARGE = 3


class TestWriting:
    def test_values_of_numpy_and_others_are_plain_in_the_files(self) -> None:
        numpy = pytest.importorskip("numpy")
        run = em.create_run(
            name="a", hparams={"lr": numpy.float64(0.1), "net": OrderedDict(depth=3), "size": Size.LARGE}
        )
        run.log("train", {"loss": numpy.float32(0.5)}, step=numpy.int64(1), epoch=numpy.int64(2))
        run.finish()
        found = files.load(Path(run.local))
        assert found.hparams == {"lr": 0.1, "net": {"depth": 3}, "size": 3}
        assert found.metrics["train"][0]["sequence"]["epoch"] == 2
        assert "!!" not in "".join(path.read_text() for path in Path(run.local).rglob("*.yaml"))

    def test_every_type_has_a_file_of_its_own(self) -> None:
        run = em.create_run(name="a")
        assert (Path(run.local) / "metrics").is_dir(), "the original cannot load a run without it"
        types = ["训练", "验证", "a/b", "a_b", "a%2Fb", "..", ".hidden", "", "x" * 300, "x" * 301, "a\\b", "../../x"]
        for number, type in enumerate(types):
            run.log(type, {"loss": number}, step=1)
        run.finish()
        written = {path.name for path in (Path(run.local) / "metrics").iterdir()}
        assert len(written) == len(types)
        assert {"训练.yaml", "验证.yaml", "a_b.yaml"} <= written
        found = files.load(Path(run.local)).metrics
        assert {type: records[0]["value"]["loss"] for type, records in found.items()} == {
            type: number for number, type in enumerate(types)
        }

    def test_a_type_of_another_kind_is_its_text_and_the_next_types_are_kept(self) -> None:
        run = em.create_run(name="a")
        for type in (5, Size.LARGE, None, "other"):
            run.log(type, {"loss": 1}, step=1)  # type: ignore[arg-type]
        run.finish()
        assert list(files.load(Path(run.local)).metrics) == ["5", "3", "None", "other"]

    def test_a_run_of_an_older_version_goes_on_in_its_files(self) -> None:
        run = em.create_run(name="a")
        run.log("训练", {"loss": 1}, step=1)
        run.finish()
        folder = Path(run.local)
        (folder / "metrics" / "训练.yaml").rename(folder / "metrics" / "__.yaml")
        index = files.read(folder / files.INDEX)
        files.write(folder / files.INDEX, {**index, "metrics": {"训练": "metrics/__.yaml"}})
        again = em.load_run(run.local)
        again.log("训练", {"loss": 2}, step=2)
        again.finish()
        assert [one["value"]["loss"] for one in files.load(folder).metrics["训练"]] == [1, 2]

    def test_printing_goes_on_after_the_end(self, capsys: pytest.CaptureFixture[str]) -> None:
        run = em.create_run(name="a")
        print("kept 训练")
        run.finish()
        print("not kept")
        assert (Path(run.local) / "stdout.log").read_text() == "kept 训练\n"
        assert "not kept" in capsys.readouterr().out

    def test_log_does_not_wait_for_an_upload(self) -> None:
        run = em.create_run(name="a")
        with run._uploading:  # held for as long as an upload takes
            run.log("train", {"loss": 1.0}, step=1)
            run.hparams["lr"] = 0.1
        assert len(run.metrics["train"]) == 1
        run.finish()


class TestReading:
    def test_tags_of_python_are_values(self) -> None:
        text = """
lr: !!python/object/apply:numpy._core.multiarray.scalar
- !!python/object/apply:numpy.dtype
  args: [f8, false, true]
  state: !!python/tuple [3, <, null, null, null, -1, -1, 0]
- !!binary AAAAAAAA+D8=
size: !!python/tuple [1, 2]
net: !!python/object/apply:collections.OrderedDict
- - [depth, 3]
level: !!python/object/apply:__main__.Size [3]
bad: !!python/object/apply:os.system [touch /tmp/never]
new: !!python/object/new:os.system [touch /tmp/never]
name: !!python/name:os.system ''
"""
        found = plain_yaml.load(text)
        assert (found["lr"], found["size"], found["net"], found["level"]) == (1.5, [1, 2], {"depth": 3}, 3)
        assert found["bad"] == "touch /tmp/never"
        assert found["name"] == ""

    @pytest.mark.parametrize(
        ("text", "steps", "num_lost"),
        [
            ("", [], 0),
            ("- value: {a: 1}\n  sequence: {step: 1}\n", [1], 0),
            ("- value: {a: 1}\n  sequence: {step: 1}\n- value:\n    a: 2.\n", [1], 1),
            ("- value: {a: 1}\n  sequence: {step: 1}\n- value: {a: 2}\n  sequence: {step: 12", [1], 1),
            ("- value: {a: 1}\n  sequence: {step: 1}\n- value: {a: 2}\n  sequence:\n    step: 12", [1], 1),
            ("- value: {a: 1}\n  seq: {st\n- value: {a: 3}\n  sequence: {step: 3}\n", [3], 1),
            ("- value: {a: x}\n  sequence: {step: 3}\n- 7\n", [], 2),
            ("a: 1\n", [], 1),
            ("\x00\x01", [], 1),
        ],
    )
    def test_records_are_read_as_far_as_they_can_be(self, text: str, steps: list[int], num_lost: int) -> None:
        found = plain_yaml.load_records(text)
        assert ([one["sequence"]["step"] for one in found.found], found.num_lost) == (steps, num_lost)

    @pytest.mark.parametrize(
        "text",
        [
            "a: &a [*a]\n",
            "x0: &x0 1\n"
            + "".join(f"x{level}: &x{level} [{', '.join([f'*x{level - 1}'] * 10)}]\n" for level in range(1, 12)),
            "[" * 5000,
        ],
    )
    def test_a_few_words_that_stand_for_too_much_are_named(self, text: str) -> None:
        run = em.create_run(name="a", hparams={"lr": 0.1})
        run.finish()
        (Path(run.local) / files.HPARAMS).write_text(text)
        found = files.load_what_there_is(Path(run.local))
        assert (found.hparams, len(found.problems)) == ({}, 1)
        assert "hyperparameters.yaml cannot be read" in found.problems[0]

    def test_metrics_of_elsewhere_are_not_read(self, tmp_path: Path) -> None:
        run = em.create_run(name="a")
        run.finish()
        (tmp_path / "secret.yaml").write_text("- value: {a: 1}\n  sequence: {step: 1}\n")
        folder = Path(run.local)
        index = files.read(folder / files.INDEX)
        files.write(folder / files.INDEX, {**index, "metrics": {"x": "../../../secret.yaml"}})
        found = files.load_what_there_is(folder)
        assert found.metrics == {}
        assert "not in the run's folder" in found.problems[0]
