"""Files to and from a real server."""

from __future__ import annotations

import os
import signal
import threading
import tracemalloc
from pathlib import Path

import pytest
from tests.support.recording_carrier import RecordingCarrier

from danlu import Client
from danlu.client import Progress
from danlu.client.files.code import upload_tree
from danlu.client.http import Http
from danlu.errors import AlreadyExists, BadChecksum, InvalidInput, NotFound
from danlu.testing.serving import RunningServer
from danlu.transfer.api import Api
from danlu.transfer.object_upload import RESUMABLE_BYTES
from danlu.transfer.retrying import Retry


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


class TestUpload:
    def test_a_folder_goes_there_and_back(self, client: Client, tmp_path: Path) -> None:
        write(tmp_path / "up", a="1", deep__b="2", deep__deeper__c="3")
        (tmp_path / "up" / "empty file, 名 50%?#&").write_text("")
        sent = client.store.upload(tmp_path / "up", "main/round/")
        assert sent[0] == "store://main/round/a"
        got = client.store.download("store://main/round/", tmp_path / "down")
        assert sorted(path.relative_to(tmp_path / "down").as_posix() for path in got) == [
            "a",
            "deep/b",
            "deep/deeper/c",
            "empty file, 名 50%?#&",
        ]
        assert all(
            path.read_bytes() == (tmp_path / "up" / path.relative_to(tmp_path / "down")).read_bytes() for path in got
        )

    def test_a_file_keeps_its_name_in_a_folder_and_gets_the_one_that_is_given(
        self, client: Client, tmp_path: Path
    ) -> None:
        write(tmp_path, a="1")
        assert client.store.upload(tmp_path / "a", "main/one/") == ["store://main/one/a"]
        assert client.store.upload(tmp_path / "a", "main/one/b") == ["store://main/one/b"]
        assert [found.key for found in client.store.list("main/one/")] == ["one/a", "one/b"]

    def test_what_is_not_there_is_refused(self, client: Client, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="there is no file or folder"):
            client.store.upload(tmp_path / "gone", "main/x")
        with pytest.raises(InvalidInput, match="expected a bucket name of 3 to 63"):
            client.store.upload(write(tmp_path, a="") / "a", "Bad_Bucket/x")
        with pytest.raises(NotFound):
            client.store.upload(tmp_path / "a", "no-such-bucket/x")

    def test_nothing_is_sent_when_a_name_cannot_be_stored(self, client: Client, tmp_path: Path) -> None:
        write(tmp_path / "up", a="1", **{"z\\z": "2"})
        with pytest.raises(InvalidInput, match="cannot be stored"):
            client.store.upload(tmp_path / "up", "main/bad-names/")
        assert not client.store.exists("main/bad-names/")

    @pytest.mark.parametrize("size", [3 << 20, RESUMABLE_BYTES + (1 << 20)], ids=["whole", "resumable"])
    def test_a_file_that_changes_on_the_way_is_not_stored(self, client: Client, tmp_path: Path, size: int) -> None:
        (tmp_path / "a").write_bytes(bytes(size))

        def change(progress: Progress) -> None:
            with (tmp_path / "a").open("r+b") as file:
                file.seek(size - 5)
                file.write(b"other")

        with pytest.raises(BadChecksum, match="a changed while it was sent; send it again when nobody writes to it"):
            client.store.upload(tmp_path / "a", "main/changed", progress=change)
        assert not client.store.exists("main/changed")

    @pytest.mark.parametrize("size", [3 << 20, RESUMABLE_BYTES + (1 << 20)], ids=["whole", "resumable"])
    def test_a_file_that_shrinks_on_the_way_is_not_stored(self, client: Client, tmp_path: Path, size: int) -> None:
        (tmp_path / "a").write_bytes(bytes(size))

        def shrink(progress: Progress) -> None:
            os.truncate(tmp_path / "a", size // 2)

        with pytest.raises(BadChecksum, match="a changed while it was sent; send it again when nobody writes to it"):
            client.store.upload(tmp_path / "a", "main/shrunk", progress=shrink)
        assert not client.store.exists("main/shrunk")

    @pytest.mark.parametrize("size", [3 << 20, RESUMABLE_BYTES + (1 << 20)], ids=["whole", "resumable"])
    def test_a_file_that_grows_on_the_way_is_stored_as_it_was(self, client: Client, tmp_path: Path, size: int) -> None:
        (tmp_path / "a").write_bytes(bytes(size))

        def grow(progress: Progress) -> None:
            with (tmp_path / "a").open("ab") as file:
                file.write(b"more")

        client.store.upload(tmp_path / "a", "main/grown", progress=grow)
        assert client.store.size("main/grown") == size
        client.store.delete("main/grown")

    def test_progress_ends_at_the_whole(self, client: Client, tmp_path: Path) -> None:
        write(tmp_path / "up", a="12345", b="678")
        seen: list[Progress] = []
        client.store.upload(tmp_path / "up", "main/progress/", progress=seen.append)
        assert seen[-1][1:] == (8, 8, 2, 2)
        seen.clear()
        client.store.download("main/progress/", tmp_path / "down", progress=seen.append)
        assert seen[-1][1:] == (8, 8, 2, 2)

    def test_memory_stays_flat(self, client: Client, tmp_path: Path) -> None:
        size = 40 << 20
        with (tmp_path / "large").open("wb") as file:
            for number in range(size >> 20):
                file.write(bytes([number]) * (1 << 20))
        tracemalloc.start()
        client.store.upload(tmp_path / "large", "main/large")
        client.store.download("main/large", tmp_path / "back")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert (tmp_path / "back").stat().st_size == size
        assert peak < 16 << 20
        client.store.delete("main/large")

    def test_ctrl_c_ends_what_is_on_its_way(self, client: Client, tmp_path: Path) -> None:
        (tmp_path / "large").write_bytes(bytes(40 << 20))

        done_bytes: list[int] = []
        has_ended = threading.Event()

        def tell(progress: Progress) -> None:
            done_bytes.append(progress.done_bytes)
            if len(done_bytes) == 1:
                os.kill(os.getpid(), signal.SIGINT)  # which the main thread hears, and no other
            has_ended.wait(0.2)

        with pytest.raises(KeyboardInterrupt):
            client.store.upload(tmp_path / "large", "main/given-up", progress=tell)
        has_ended.set()
        assert max(done_bytes) < 40 << 20
        assert not client.store.exists("main/given-up")


class TestDownload:
    def test_an_object_goes_to_a_file_or_into_a_folder(self, client: Client, tmp_path: Path) -> None:
        client.store.upload(write(tmp_path, a="1") / "a", "main/single/a")
        (tmp_path / "there").mkdir()
        assert client.store.download("main/single/a", tmp_path / "b") == [tmp_path / "b"]
        assert client.store.download("main/single/a", tmp_path / "there") == [tmp_path / "there" / "a"]
        assert client.store.download("main/single/a", f"{tmp_path}/new/") == [tmp_path / "new" / "a"]

    def test_what_is_not_there_is_not_found(self, client: Client, tmp_path: Path) -> None:
        with pytest.raises(NotFound, match="there is no object store://main/gone"):
            client.store.download("main/gone", tmp_path / "x")
        with pytest.raises(NotFound, match="nothing is stored below store://main/gone/"):
            client.store.download("main/gone/", tmp_path / "x")
        assert list(tmp_path.iterdir()) == []

    def test_an_unfinished_large_download_is_taken_up_again(
        self, server: RunningServer, client: Client, tmp_path: Path
    ) -> None:
        data = os.urandom(17 << 20)
        (tmp_path / "large").write_bytes(data)
        client.store.upload(tmp_path / "large", "main/resumed")
        seen: list[int] = []

        def give_up(progress: Progress) -> None:
            seen.append(progress.done_bytes)
            if progress.done_bytes > 8 << 20:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            client.store.download("main/resumed", tmp_path / "back", progress=give_up)
        assert not (tmp_path / "back").exists()
        again: list[int] = []
        client.store.download("main/resumed", tmp_path / "back", progress=lambda now: again.append(now.done_bytes))
        assert (tmp_path / "back").read_bytes() == data
        assert sorted(path.name for path in tmp_path.iterdir()) == ["back", "large"]
        client.store.delete("main/resumed")


class TestOthers:
    def test_browse_shows_one_level(self, client: Client, tmp_path: Path) -> None:
        client.store.upload(write(tmp_path / "up", a="1", d__b="2", e__c="3"), "main/levels/")
        entries = [entry if isinstance(entry, str) else entry.key for entry in client.store.browse("main/levels/")]
        assert sorted(entries) == ["levels/a", "levels/d/", "levels/e/"]

    def test_delete_counts_what_there_was(self, client: Client, tmp_path: Path) -> None:
        client.store.upload(write(tmp_path / "up", a="1", d__b="2"), "main/doomed/")
        assert client.store.exists("main/doomed/a")
        assert client.store.delete("main/doomed/a") == 1
        assert client.store.delete("main/doomed/a") == 0
        assert client.store.delete("main/doomed/") == 1
        assert not client.store.exists("main/doomed/")
        with pytest.raises(InvalidInput, match="is a whole bucket"):
            client.store.delete("main")

    def test_buckets_are_made_once(self, client: Client) -> None:
        assert client.store.make_bucket("tests-bucket").name == "tests-bucket"
        assert "tests-bucket" in [bucket.name for bucket in client.store.buckets()]
        with pytest.raises(AlreadyExists):
            client.store.make_bucket("tests-bucket")


class TestCode:
    def test_the_same_bytes_never_travel_twice(self, server: RunningServer, tmp_path: Path) -> None:
        write(tmp_path / "code", train="unique to this test", lib__a="also")
        http = Http(server.url, server.api_key)
        carrier = RecordingCarrier(http.carrier)
        http.api = Api(carrier, Retry(0.0))
        first = upload_tree(http, tmp_path / "code")
        num_bytes = carrier.num_bytes("/blobs")
        assert num_bytes > len("unique to this test" + "also")
        assert upload_tree(http, tmp_path / "code") == first
        assert carrier.num_bytes("/blobs") == num_bytes
        write(tmp_path / "code", more="a third file")
        assert upload_tree(http, tmp_path / "code") != first
        assert carrier.num_bytes("/blobs") == num_bytes + len("a third file")
        http.close()

    def test_it_goes_to_the_project_of_the_job(self, server: RunningServer, tmp_path: Path) -> None:
        folder = write(tmp_path / "code", train="of a project that is not the default one")
        http = Http(server.url, server.api_key)
        with pytest.raises(NotFound, match="no project 'nowhere'"):
            upload_tree(http, folder, project="nowhere")
        assert upload_tree(http, folder, project="default") == upload_tree(http, folder)
        http.close()

    def test_small_and_large_files_arrive(self, server: RunningServer, tmp_path: Path) -> None:
        write(tmp_path / "code", **{f"file{number}": f"text {number}" for number in range(300)})
        (tmp_path / "code" / "large").write_bytes(os.urandom(1 << 20))
        (tmp_path / "code" / "empty").touch()
        http = Http(server.url, server.api_key)
        digest = upload_tree(http, tmp_path / "code")
        found = http.api.get(f"/trees/{digest}")["files"]
        assert len(found) == 302
        http.close()

    def test_an_empty_folder_is_a_tree_too(self, server: RunningServer, tmp_path: Path) -> None:
        http = Http(server.url, server.api_key)
        assert len(upload_tree(http, tmp_path)) == 64
        http.close()
