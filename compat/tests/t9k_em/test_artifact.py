"""`em.create_artifact`, `em.load_artifact` and what can be done with them without a server."""

from __future__ import annotations

import hashlib
import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from t9k import CONFIG, em
from t9k.em import files, remote
from t9k.em.artifact import empty_folders_in, incomplete_in
from t9k.em.cli import main


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("DANLU_", "T9K_", "EM_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(CONFIG, "_values", None)
    yield
    monkeypatch.setattr(remote, "_session", None)


@pytest.fixture
def model(tmp_path: Path) -> str:
    (tmp_path / "model.pt").write_bytes(b"weights")
    (tmp_path / "model.pt").chmod(0o644)
    return "model.pt"


class TestLayout:
    def test_it_is_written_as_the_original_does(self, model: str) -> None:
        made = em.create_artifact(name="saved_model", labels=["a"], description="first")
        made.add_file(model)
        made.add_reference("s3://bucket/data/")
        (folder,) = Path(".em/artifacts").iterdir()
        assert files.FOLDER.search(folder.name)
        assert (made.local, made.alternative_name) == (str(folder), folder.name)
        about = files.read(folder / "metadata.yaml")
        assert about == {
            "kind": "Artifact",
            "name": "saved_model",
            "labels": ["a"],
            "description": "first",
            "createdTimestamp": made.created_timestamp,
            "alternativeName": folder.name,
            "remote": [],
        }
        assert (folder / "model.pt").read_bytes() == b"weights"
        assert files.read(folder / "references.yaml") == {"data": "s3://bucket/data/"}
        assert made.objects == {
            "model.pt": {"path": "model.pt", "size_bytes": 7, "checksum": hashlib.md5(b"weights").hexdigest()},
            "data": {"path": "data", "uri": "s3://bucket/data/"},
        }
        assert made.to_dict() == about

    def test_another_place(self, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("EM_ARTIFACT_PARENT_DIR", "elsewhere")
        em.create_artifact(name="a").add_file(model)
        assert [path.name for path in Path("elsewhere").rglob("*.pt")] == ["model.pt"]

    def test_paths_of_objects(self, model: str) -> None:
        Path("tree/sub").mkdir(parents=True)
        Path("tree/sub/x").write_text("x")
        made = em.create_artifact(name="a")
        made.add_file(model, "in/")
        made.add_file(model, "/as/other.pt")
        made.add_dir("tree/")
        made.add_dir("tree", "in/")
        made.add_dir("tree", "z")
        assert sorted(made.objects) == ["as/other.pt", "in/model.pt", "in/tree/sub/x", "tree/sub/x", "z/sub/x"]

    def test_it_is_loaded_again(self, model: str) -> None:
        made = em.create_artifact(name="a", labels=["l"])
        made.add_file(model)
        made.add_reference("s3://b/x", "y")
        for path in (made.local, made.alternative_name):
            found = em.load_artifact(path)
            assert (found.objects, found.labels, found.to_dict()) == (made.objects, ["l"], made.to_dict())


class TestRules:
    @pytest.mark.parametrize("name", ["", "-a", "a" * 41, "名字", "a b"])
    def test_names(self, name: str) -> None:
        with pytest.raises(ValueError, match="Invalid name of Artifact"):
            em.create_artifact(name=name)

    def test_what_is_not_there(self) -> None:
        made = em.create_artifact(name="a")
        with pytest.raises(RuntimeError, match="File does not exist: nothing"):
            made.add_file("nothing")
        with pytest.raises(RuntimeError, match="does not exist: nothing"):
            made.add_dir("nothing")

    def test_a_part_of_a_folder_is_not_uploaded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        Path("tree").mkdir()
        for number in range(3):
            Path("tree", str(number)).write_bytes(b"x" * (number + 1) * 1000)
        made = em.create_artifact(name="a")
        before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2500, hard))
        try:
            with pytest.raises(OSError, match="File too large"):
                made.add_dir("tree")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, before)
        monkeypatch.setattr(remote, "_session", object())
        with pytest.raises(RuntimeError, match="Artifact is incomplete"):
            em.load_artifact(made.local).upload()
        made.add_dir("tree")
        assert incomplete_in(Path(made.local)) is None

    def test_what_cannot_be_copied_is_named(self) -> None:
        Path("tree/empty").mkdir(parents=True)
        made = em.create_artifact(name="a")
        made.add_dir("tree")
        assert empty_folders_in(Path(made.local)) == ["tree/empty"]
        os.mkfifo("tree/fifo")
        with pytest.raises(ValueError, match="'fifo': not a regular file"):
            made.add_dir("tree")

    @pytest.mark.parametrize("kind", [OSError, RuntimeError])
    def test_a_missing_artifact_is_both_errors(self, kind: type[Exception]) -> None:
        with pytest.raises(kind, match="Not a local directory: 'nowhere'"):
            em.load_artifact("nowhere")

    def test_a_path_is_a_file_or_a_reference(self, model: str) -> None:
        made = em.create_artifact(name="a")
        made.add_file(model)
        with pytest.raises(ValueError, match=r"model\.pt"):
            made.add_reference("s3://b/model.pt")
        made.add_reference("s3://b/other")
        with pytest.raises(ValueError, match="other"):
            made.add_file(model, "other")

    @pytest.mark.parametrize("path", ["metadata.yaml", "../x", "a/../../x"])
    def test_what_would_harm_the_artifact_is_refused(self, model: str, path: str) -> None:
        made = em.create_artifact(name="a")
        with pytest.raises(ValueError, match="path"):
            made.add_file(model, path)
        assert em.load_artifact(made.local).objects == {}

    def test_without_login(self) -> None:
        with pytest.raises(RuntimeError, match="Not logged in"):
            em.create_artifact(name="a").upload()

    def test_associations_are_written_at_once_and_once(self) -> None:
        run, made, data = em.create_run(name="r"), em.create_artifact(name="m"), em.create_artifact(name="d")
        for _ in range(2):
            run.mark_output(made)
            run.mark_input(data)
        wanted = {
            "input": [{"kind": "Artifact", "name": data.alternative_name, "localDir": data.local}],
            "output": [{"kind": "Artifact", "name": made.alternative_name, "localDir": made.local}],
        }
        assert run.associations == run.asso == wanted
        assert files.read(Path(run.local) / "metadata.yaml")["associations"] == wanted
        run.finish()


def test_ls_and_describe(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    made = em.create_artifact(name="saved_model")
    made.add_file(model)
    assert main(["ls", ".em/artifacts"]) == 0
    assert main(["describe", made.local, "-d"]) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[0].split() == ["NAME", "CREATED", "OBJECTS"]
    assert "saved_model" in said.splitlines()[1]
    assert "model.pt: {'path': 'model.pt', 'size_bytes': 7" in said
