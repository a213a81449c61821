"""Scripts for `t9k.em` with artifacts, on a real server: what they make, upload, and find there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.flows import edges_of

from danlu.client import Client
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until
from t9k import em
from t9k.em import files
from t9k.em.artifact import Artifact
from t9k.em.run import Run


@pytest.fixture(autouse=True)
def signed_in(server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    em.login(server.url, server.api_key)
    yield
    em.logout()


def train(name: str = "mnist") -> tuple[Run, Artifact, Artifact]:
    """The guide's example, without the arithmetic."""
    run = em.create_run(name=f"{name}_run", hparams={"lr": 0.1})
    run.log(type="train", metrics={"loss": 0.5}, step=10, epoch=1)
    Path("model_state_dict.pt").write_bytes(name.encode() * 1000)
    data = em.create_artifact(name=f"{name}_data")
    data.add_reference("s3://bucket/mnist/")
    run.mark_input(data)
    made = em.create_artifact(name=f"{name}_saved_model", labels=["torch"], description="the best")
    made.add_file("model_state_dict.pt")
    run.mark_output(made)
    run.finish()
    return run, made, data


def remote_id(thing: Run | Artifact) -> str:
    about = files.read(Path(thing.local) / "metadata.yaml")
    return str(about["remote"][-1]["id"])


def flow_of(server: RunningServer, run: Run, made: Artifact, data: Artifact) -> None:
    own = f"run:{remote_id(run)}"
    assert edges_of(server.data_dir, own) == {
        (f"artifact:{remote_id(data)}", own, "input"),
        (own, f"artifact:{remote_id(made)}", "output"),
    }


class TestUpload:
    def test_a_run_brings_its_artifacts_and_the_graph_is_connected(self, client: Client, server: RunningServer) -> None:
        run, made, data = train()
        run.upload(folder="em-flow", make_folder=True)
        run.upload(folder="em-flow")
        version = client.artifacts.get("em-flow/mnist_saved_model")
        assert (version.id, version.version, version.run) == (remote_id(made), 1, remote_id(run))
        assert (version.labels, version.description) == (["torch"], "the best")
        found = client.artifacts.manifest(version)
        assert [(one.path, one.size) for one in found.files] == [("model_state_dict.pt", 5000)]
        flow_of(server, run, made, data)

    def test_a_tree_of_the_original_is_imported_whole(
        self, client: Client, server: RunningServer, tmp_path: Path
    ) -> None:
        run, made, data = train("tree")
        shutil.copytree(".em", tmp_path / "copied" / ".em")  # as it comes from another machine
        shutil.rmtree(".em")
        tree = tmp_path / "copied" / ".em"
        for _ in range(2):
            em.upload(str(tree), folder="em-tree", make_folder=True)
        copies = [em.load_artifact(str(tree / "artifacts" / one.alternative_name)) for one in (made, data)]
        copied = em.load_run(str(tree / "runs" / run.alternative_name))
        flow_of(server, copied, copies[0], copies[1])
        copied.finish()
        assert [one.version for one in client.artifacts.versions("em-tree/tree_saved_model")] == [1]

    def test_changed_files_are_the_next_version(self, client: Client) -> None:
        made = em.create_artifact(name="grows")
        for number in range(2):
            Path("x").write_text(str(number))
            made.add_file("x", f"{number}")
            made.upload("em-grows", make_folder=True)
        assert [one.num_files for one in client.artifacts.versions("em-grows/grows")] == [2, 1]

    def test_it_is_loaded_from_the_server(self, server: RunningServer) -> None:
        _, made, _ = train("remote")
        made.upload("em-remote", make_folder=True)
        uploaded = remote_id(made)
        shutil.rmtree(".em")
        for path in ("em-remote/remote_saved_model", "/admin/em-remote/remote_saved_model"):
            found = em.load_artifact(path)
            assert (found.name, found.labels, list(found.objects)) == (
                "remote_saved_model",
                ["torch"],
                ["model_state_dict.pt"],
            )
        assert Path(found.local, "model_state_dict.pt").read_bytes() == b"remote" * 1000
        run = em.create_run(name="reads")
        run.mark_input(found)
        run.finish()
        run.upload("em-remote")
        own = f"run:{remote_id(run)}"
        assert edges_of(server.data_dir, own) == {(f"artifact:{uploaded}", own, "input")}
        with pytest.raises(OSError, match="Not a local directory or a remote path: 'em-remote/nothing'"):
            em.load_artifact("em-remote/nothing")


class TestConflicts:
    """Another artifact has the name, in this folder."""

    @pytest.fixture
    def other(self, request: pytest.FixtureRequest) -> Artifact:
        folder = f"em-{request.node.name.replace('_', '-')}"
        first = em.create_artifact(name="same", description="first")
        first.upload(folder, make_folder=True)
        return em.create_artifact(name="same", description="second")

    def names(self, client: Client, prefix: str) -> dict[str, str]:
        return {one.name: one.description for one in client.artifacts.list(prefix)}

    def test_new(self, client: Client, other: Artifact) -> None:
        other.upload("em-test-new")
        alternative = f"em-test-new/{other.alternative_name}"
        assert self.names(client, "em-test-new/") == {"em-test-new/same": "first", alternative: "second"}
        assert other.remote[-1]["path"] == f"/admin/{alternative}"

    def test_skip(self, client: Client, other: Artifact) -> None:
        other.upload("em-test-skip", conflict_strategy="skip")
        assert self.names(client, "em-test-skip/") == {"em-test-skip/same": "first"}
        assert other.remote == []

    def test_error(self, client: Client, other: Artifact) -> None:
        with pytest.raises(RuntimeError, match="em-test-error/same"):
            other.upload("em-test-error", conflict_strategy="error")
        assert self.names(client, "em-test-error/") == {"em-test-error/same": "first"}

    def test_replace(self, client: Client, other: Artifact) -> None:
        other.upload("em-test-replace", conflict_strategy="replace")
        assert self.names(client, "em-test-replace/") == {"em-test-replace/same": "second"}
        assert len(list(client.artifacts.versions("em-test-replace/same"))) == 1

    def test_unknown(self, other: Artifact) -> None:
        with pytest.raises(ValueError, match="known: skip, error, new, replace"):
            other.upload("em-test-unknown", conflict_strategy="both")

    def test_a_folder_that_is_not_there(self) -> None:
        with pytest.raises(ValueError, match="Folder does not exist: 'em-nowhere'"):
            em.create_artifact(name="x").upload("em-nowhere")


class TestHostileTree:
    def test_what_can_be_read_is_imported_and_the_rest_is_named(self, client: Client) -> None:
        runs = {
            name: em.create_run(name=name, hparams={"lr": 0.1}) for name in ("good", "cut", "large", "tuple", "broken")
        }
        for run in runs.values():
            for step in (1, 2):
                run.log("train", {"loss": step}, step=step)
            run.finish()
        places = {name: Path(run.local) for name, run in runs.items()}
        metrics = places["cut"] / "metrics" / "train.yaml"
        metrics.write_text(metrics.read_text()[:-20])
        files.write(places["large"] / files.HPARAMS, {f"key{number}": "x" * 100_000 for number in range(20)})
        (places["large"] / files.STDOUT).write_bytes(b"y" * 2_000_000)
        (places["tuple"] / files.HPARAMS).write_text("betas: !!python/tuple [0.9, 0.99]\n")
        (places["broken"] / files.METADATA).write_text("kind: Run\nname: [")
        with pytest.raises(RuntimeError) as told:
            em.upload(".em", folder="em-hostile", make_folder=True)
        assert f"{places['broken'].name}: " in str(told.value)
        assert f"{places['cut'].name} is there, but" in str(told.value)
        assert "1 of its records cannot be read" in str(told.value)
        listed = {one.name: one for one in client.runs.list(folder="em-hostile")}
        assert sorted(listed) == ["cut", "good", "large", "tuple"]
        wait_until(lambda: all(client.runs.get(one.id).details.state == "finished" for one in listed.values()))
        found = {name: client.runs.get(one.id).details for name, one in listed.items()}
        assert {name: one.metrics[0].num_points for name, one in found.items()} == {
            "cut": 1,
            "good": 2,
            "large": 2,
            "tuple": 2,
        }
        assert (len(found["large"].hparams), found["tuple"].hparams) == (20, {"betas": [0.9, 0.99]})
        assert len(b"".join(client.runs.get(found["large"].id).output())) == 2_000_000
        assert found["good"].created_at == found["good"].started_at

    def test_new_gives_the_alternative_name_and_replace_takes_the_place_of_one(self, client: Client) -> None:
        made = []
        for strategy in ("new", "new", "replace"):
            run = em.create_run(name="same")
            run.finish()
            run.upload("em-names", make_folder=True, conflict_strategy=strategy)
            made.append(run)
        names = sorted(one.name for one in client.runs.list(folder="em-names"))
        assert names == sorted(["same", made[1].alternative_name])
        assert [one.id for one in client.runs.list("name = same", folder="em-names")] == [remote_id(made[2])]
        made[1].upload("em-names")
        assert client.runs.get(remote_id(made[1])).name == made[1].alternative_name

    def test_a_skipped_run_stays_away_when_uploads_are_automatic(self, client: Client) -> None:
        for _ in range(2):
            run = em.create_run(
                name="once", auto_upload=True, folder="em-once", make_folder=True, conflict_strategy="skip"
            )
            run.log("train", {"loss": 1.0}, step=1)
            run.finish()
        (first,) = client.runs.list(folder="em-once")
        assert (first.name, run.remote) == ("once", [])
        wait_until(lambda: client.runs.get(first.id).details.state == "finished")
        assert [one.num_points for one in client.runs.get(first.id).details.metrics] == [1]
