"""Artifacts through the client, with a real server."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from danlu.client import Client, Progress
from danlu.client.tracking.artifacts import Draft, plan
from danlu.content.ids import new_artifact_id
from danlu.errors import BadChecksum, Conflict, InvalidInput, NotFound
from danlu.wire.artifacts import LinkKind


def random_bytes(size: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(size)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "made"
    (made / "sub").mkdir(parents=True)
    (made / "logs").mkdir()
    (made / "model.pt").write_bytes(random_bytes(3_000_000, 1))
    (made / "sub" / "config.json").write_text("{}")
    (made / "empty").touch()
    (made / "run.sh").write_text("#!/bin/sh\n")
    (made / "run.sh").chmod(0o755)
    return made


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class TestUploadAndDownload:
    def test_what_comes_back_is_what_was_sent(self, client: Client, folder: Path, tmp_path: Path) -> None:
        version = client.artifacts.upload(
            "walk/model", folder, references={"data": "s3://bucket/data/"}, labels=["a"], description="first"
        )
        assert (version.name, version.version, version.num_files, version.num_references) == ("walk/model", 1, 4, 1)
        assert (version.labels, version.description) == (["a"], "first")
        assert version.size == sum(map(len, tree(folder).values()))
        client.artifacts.download("walk/model:1", tmp_path / "back")
        assert tree(tmp_path / "back") == tree(folder)
        assert (tmp_path / "back" / "logs").is_dir()
        assert (tmp_path / "back" / "run.sh").stat().st_mode & 0o100
        found = client.artifacts.manifest(version)
        assert [(one.path, one.uri) for one in found.references] == [("data", "s3://bucket/data/")]

    def test_the_same_bytes_are_not_sent_again(self, client: Client, tmp_path: Path) -> None:
        data = random_bytes(8_000_000, 2)
        (tmp_path / "a").write_bytes(data)
        (tmp_path / "b").write_bytes(data[:4_000_000] + b"put in between" + data[4_000_000:])
        first = client.artifacts.send(Draft("again/one"), plan(tmp_path / "a"))
        second = client.artifacts.send(Draft("again/two"), plan({"x": tmp_path / "a", "y": tmp_path / "a"}))
        third = client.artifacts.send(Draft("again/one"), plan({"a": tmp_path / "b"}))
        assert (first.sent_bytes, second.sent_bytes) == (8_000_000, 0)
        assert 0 < third.sent_bytes < 3_000_000
        (back,) = client.artifacts.download(third.version, tmp_path / "back")
        assert back.read_bytes() == (tmp_path / "b").read_bytes()

    def test_the_same_id_is_the_same_version(self, client: Client, folder: Path) -> None:
        draft = Draft("same-id", id=new_artifact_id())
        versions = [client.artifacts.send(draft, plan(folder)).version for _ in range(2)]
        assert versions[0] == versions[1]
        assert len(list(client.artifacts.versions("same-id"))) == 1

    def test_progress_ends_at_the_whole(self, client: Client, folder: Path, tmp_path: Path) -> None:
        seen: list[Progress] = []
        for _ in range(2):  # sent, and not sent
            version = client.artifacts.upload("progress", folder, progress=seen.append)
            assert seen[-1].done_bytes == seen[-1].total_bytes == version.size
        client.artifacts.download(version, tmp_path / "back", progress=seen.append)
        assert seen[-1].done_bytes == version.size

    def test_only_a_part_of_it(self, client: Client, folder: Path, tmp_path: Path) -> None:
        client.artifacts.upload("part", folder)
        client.artifacts.download("part", tmp_path / "back", only=["sub/", "empty"])
        assert sorted(tree(tmp_path / "back")) == ["empty", "sub/config.json"]
        with pytest.raises(NotFound, match="has nothing at nowhere"):
            client.artifacts.download("part", tmp_path / "back", only=["nowhere"])

    def test_a_download_goes_on_with_what_is_there(self, client: Client, folder: Path, tmp_path: Path) -> None:
        version = client.artifacts.upload("resumed", {"model.pt": folder / "model.pt"})
        (entry,) = client.artifacts.manifest(version).files
        data = (folder / "model.pt").read_bytes()
        back = tmp_path / "back"
        back.mkdir()
        first = entry.chunks[0].size
        (back / f".partial.{entry.mark[:12]}.model.pt").write_bytes(data[:first] + b"?" * 100)
        moved: list[int] = []
        client.artifacts.download(version, back, progress=lambda told: moved.append(told.done_bytes))
        assert moved[0] == first, "the chunk that was right is not fetched"
        assert tree(back) == {"model.pt": data}
        (back / "model.pt").write_bytes(b"other")
        client.artifacts.download(version, back)
        assert tree(back) == {"model.pt": data}

    def test_what_cannot_be_sent_is_said_before_anything_is(self, client: Client, folder: Path, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="no file or folder"):
            client.artifacts.upload("wrong", tmp_path / "nothing")
        with pytest.raises(InvalidInput, match="is in the artifact twice"):
            client.artifacts.upload("wrong", [folder / "model.pt", folder / "model.pt"])
        with pytest.raises(InvalidInput, match="cannot be the name of an artifact"):
            client.artifacts.upload("no:colons", folder)
        with pytest.raises(InvalidInput, match="is no URI"):
            client.artifacts.upload("wrong", references={"x": "nothing"})
        with pytest.raises(InvalidInput, match="cannot be an alias"):
            client.artifacts.upload("wrong", folder, aliases=["latest"])
        with pytest.raises(NotFound, match="no project 'nowhere'"):
            client.artifacts.upload("wrong", folder, project="nowhere")
        with pytest.raises(NotFound):
            client.artifacts.get("wrong")

    def test_a_file_that_changes_while_it_is_sent_is_not_stored(self, client: Client, tmp_path: Path) -> None:
        """It is read twice: to know what is in it, and to send what is lacking."""
        path = tmp_path / "x"
        path.write_bytes(random_bytes(70_000_000, 5))
        is_changed = False

        def change(_: Progress) -> None:  # called when the first chunks have arrived
            nonlocal is_changed
            if not is_changed:
                is_changed = True
                with path.open("r+b") as file:
                    file.truncate(1_000_000)

        with pytest.raises(BadChecksum, match="changed while it was sent"):
            client.artifacts.send(Draft("changes"), plan(path), progress=change, num_parallel=1)
        with pytest.raises(NotFound):
            client.artifacts.get("changes")


class TestNames:
    def test_versions_are_found_by_number_alias_and_id(self, client: Client, tmp_path: Path) -> None:
        for number in range(3):
            (tmp_path / "x").write_text(str(number))
            client.artifacts.upload("named", tmp_path / "x", aliases=["best"] if number != 2 else [])
        assert [client.artifacts.get(ref).version for ref in ("named", "named:latest", "named:1", "named:best")] == [
            3,
            3,
            1,
            2,
        ]
        assert [(one.version, one.aliases) for one in client.artifacts.versions("named")] == [
            (3, []),
            (2, ["best"]),
            (1, []),
        ]
        moved = client.artifacts.change("named:1", aliases=["best"], labels=["kept"], description="the one")
        assert client.artifacts.get("named:best") == moved
        assert client.artifacts.get("named:2").aliases == []
        with pytest.raises(NotFound, match="danlu artifacts versions named"):
            client.artifacts.get("named:worst")

    def test_the_beginning_of_an_id_is_enough_where_it_is_the_only_one(self, client: Client, tmp_path: Path) -> None:
        (tmp_path / "x").write_text("x")
        begin = new_artifact_id()[:20]
        drafts = [Draft("prefixed", id=f"{begin}{letter * 10}") for letter in "ab"]
        made = [client.artifacts.send(draft, plan(tmp_path / "x")).version for draft in drafts]
        assert client.artifacts.get(f"{begin}b") == made[1]
        with pytest.raises(Conflict, match=f"several artifacts have ids that begin with '{begin}'"):
            client.artifacts.get(begin)
        with pytest.raises(NotFound, match=f"no artifact '{begin}c'"):
            client.artifacts.get(f"{begin}c")
        named = client.artifacts.upload(f"{begin}b", tmp_path / "x")
        assert client.artifacts.get(f"{begin}b") == named, "a name comes before the beginning of an id"

    def test_a_number_is_not_given_again(self, client: Client, tmp_path: Path) -> None:
        (tmp_path / "x").write_text("x")
        for _ in range(2):
            client.artifacts.upload("numbers", tmp_path / "x")
        client.artifacts.delete("numbers:latest")
        assert client.artifacts.get("numbers").version == 1
        assert client.artifacts.upload("numbers", tmp_path / "x").version == 3
        assert client.artifacts.delete_all("numbers") == 2
        with pytest.raises(NotFound):
            client.artifacts.get("numbers")
        again = client.artifacts.upload("numbers", tmp_path / "x")
        assert (again.version, client.artifacts.delete_all("numbers")) == (4, 1)
        assert client.artifacts.upload("numbers", tmp_path / "x").version == 5

    def test_lists(self, client: Client, tmp_path: Path) -> None:
        (tmp_path / "x").write_text("x")
        for name, labels in (("listed/a", ["x"]), ("listed/b", ['quo"te']), ("listed/b", ["y"])):
            client.artifacts.upload(name, tmp_path / "x", labels=labels)
        client.artifacts.describe("listed/a", description="of all versions")
        found = [(one.name, one.latest.version if one.latest else 0) for one in client.artifacts.list("listed/")]
        assert found == [("listed/b", 2), ("listed/a", 1)]
        assert [one.name for one in client.artifacts.list("listed/", label='quo"te')] == ["listed/b"]
        assert [one.description for one in client.artifacts.list("listed/a")] == ["of all versions"]

    def test_a_run_is_noted(self, client: Client, tmp_path: Path) -> None:
        (tmp_path / "x").write_text("x")
        version = client.artifacts.upload("linked", tmp_path / "x")
        with pytest.raises(NotFound, match="no run"):
            client.artifacts.link("linked", "run-" + "a" * 26, LinkKind.OUTPUT)
        assert client.artifacts.get(version.id).run is None
