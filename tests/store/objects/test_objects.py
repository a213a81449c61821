"""The contract of object stores, on a folder and on real S3 servers."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import pytest
from tests.support.objects import all_keys, at, put, read

from danlu.errors import BadChecksum, Conflict, InvalidInput, NotFound
from danlu.store.objects.base import Objects
from danlu.store.objects.local import LocalObjects


class TestTake:
    """A local file becomes an object: an upload that came in pieces."""

    def test_the_file_is_the_object_and_gone_from_its_place(self, objects: Objects, tmp_path: Path) -> None:
        file = tmp_path / "arrived"
        file.write_bytes(b"whole")
        info = objects.move_in(at("a/b"), file, sha256=hashlib.sha256(b"whole").hexdigest())
        assert (info.size, read(objects, "a/b"), file.exists()) == (5, b"whole", False)

    def test_another_file_than_announced_replaces_nothing(self, objects: Objects, tmp_path: Path) -> None:
        put(objects, "a/b", b"before")
        file = tmp_path / "arrived"
        file.write_bytes(b"other")
        with pytest.raises(BadChecksum, match="expected sha256"):
            objects.move_in(at("a/b"), file, sha256=hashlib.sha256(b"whole").hexdigest())
        assert read(objects, "a/b") == b"before"


class TestWholeOrNot:
    def test_nothing_is_there_before_commit(self, objects: Objects) -> None:
        writer = objects.put(at("a/b"))
        writer.write(b"half")
        with pytest.raises(NotFound, match="no object store://main/a/b"):
            read(objects, "a/b")
        assert all_keys(objects) == []
        assert writer.commit().size == 4
        assert read(objects, "a/b") == b"half"

    def test_the_old_object_is_read_until_the_new_one_is_whole(self, objects: Objects) -> None:
        put(objects, "a", b"old")
        writer = objects.put(at("a"))
        writer.write(b"new")
        assert read(objects, "a") == b"old"
        writer.commit()
        assert read(objects, "a") == b"new"

    def test_an_aborted_upload_leaves_nothing_not_even_folders(self, objects: Objects) -> None:
        writer = objects.put(at("a/b/c"))
        writer.write(b"x")
        writer.abort()
        writer.abort()
        assert all_keys(objects) == []
        put(objects, "a/b", b"now an object")
        assert read(objects, "a/b") == b"now an object"

    def test_a_reader_sees_one_object_whatever_replaces_it(self, objects: Objects) -> None:
        put(objects, "a", b"1" * (3 << 20))
        pieces = objects.read(at("a"))
        first = next(pieces)
        put(objects, "a", b"2" * (3 << 20))
        assert set(first + b"".join(pieces)) == {ord("1")}

    def test_the_announced_digest_decides(self, objects: Objects) -> None:
        right = hashlib.sha256(b"data").hexdigest()
        writer = objects.put(at("a/b"))
        writer.write(b"da")
        writer.write(b"ta")
        assert writer.commit(right.upper()).sha256 == right
        bad = objects.put(at("a/other"))
        bad.write(b"dat")
        with pytest.raises(BadChecksum, match=f"expected sha256 {right}"):
            bad.commit(right)
        assert all_keys(objects) == ["a/b"]

    def test_a_refused_digest_does_not_block_the_key(self, objects: Objects) -> None:
        bad = objects.put(at("x/y"))
        with pytest.raises(BadChecksum):
            bad.commit("0" * 64)
        put(objects, "x")
        assert all_keys(objects) == ["x"]

    def test_size_and_parts(self, objects: Objects) -> None:
        put(objects, "a", bytes(range(100)))
        assert objects.stat(at("a")).size == 100
        assert b"".join(objects.open(at("a")).pieces(10, 5)) == bytes(range(10, 15))
        assert b"".join(objects.open(at("a")).pieces(95, 50)) == bytes(range(95, 100))
        assert b"".join(objects.open(at("a")).pieces(200)) == b""


class TestKeys:
    @pytest.mark.parametrize(
        "key",
        [
            "",
            "..",
            "../x",
            "a/../b",
            "/etc/passwd",
            "a//b",
            "a/",
            "a\0b",
            "a\\b",
            ".partial.x",
            "x" * 241,
            "\ud800",
            "\ufffe",
        ],
    )
    def test_bad_keys_are_refused(self, objects: Objects, key: str) -> None:
        for action in (objects.put, objects.read, objects.stat, objects.delete):
            with pytest.raises(InvalidInput):
                action(at(key))

    def test_an_object_is_no_folder_and_a_folder_no_object(self, tmp_path: Path) -> None:
        """Where objects are files. A service takes both; there a folder can be fetched only without such a pair."""
        objects = LocalObjects(tmp_path)
        put(objects, "a/b")
        with pytest.raises(Conflict, match="store://main/a is a folder"):
            put(objects, "a")
        with pytest.raises(Conflict, match="choose another key"):
            put(objects, "a/b/c")
        assert all_keys(objects) == ["a/b"]

    def test_nothing_lies_outside_the_buckets_folder(self, tmp_path: Path) -> None:
        objects = LocalObjects(tmp_path)
        put(objects, "a/b/c.bin")
        assert {path.name for path in tmp_path.iterdir()} == {"main"}


class TestDelete:
    def test_a_deleted_object_is_gone_and_the_second_time_says_so(self, objects: Objects) -> None:
        put(objects, "a/b/c")
        assert objects.delete(at("a/b/c"))
        assert not objects.delete(at("a/b/c"))
        assert not objects.delete(at("a/b"))
        put(objects, "a", b"the folders are gone as well")

    def test_delete_below_takes_every_key_with_that_beginning(self, objects: Objects) -> None:
        for key in ("a/1", "a/2/3", "ab", "b"):
            put(objects, key)
        assert objects.delete_below(at("a/")) == 2
        assert all_keys(objects) == ["ab", "b"]
        assert objects.delete_below(at("a")) == 1
        assert objects.delete_below(at("nothing/")) == 0


class TestCopy:
    def test_a_copy_has_the_bytes_and_the_digest(self, objects: Objects) -> None:
        put(objects, "a/b", b"data")
        put(objects, "c", b"old")
        copied = objects.copy(at("a/b"), at("c"))
        assert (copied.key, copied.size, copied.sha256) == ("c", 4, hashlib.sha256(b"data").hexdigest())
        assert read(objects, "c") == read(objects, "a/b") == b"data"

    def test_a_copy_of_nothing_leaves_nothing(self, objects: Objects) -> None:
        with pytest.raises(NotFound, match="no object store://main/none"):
            objects.copy(at("none"), at("x/y"))
        assert all_keys(objects) == []


class TestLarge:
    def test_a_file_is_taken_in_parts_and_gone_from_its_place(self, objects: Objects, tmp_path: Path) -> None:
        data = random.Random(1).randbytes(40 << 20)
        file = tmp_path / "big"
        file.write_bytes(data)
        with pytest.raises(BadChecksum):
            objects.move_in(at("big"), file, sha256="0" * 64)
        file.write_bytes(data)
        digest = hashlib.sha256(data).hexdigest()
        assert objects.move_in(at("big"), file, sha256=digest).size == len(data)
        assert not file.exists()
        found = objects.stat(at("big"))
        assert (found.size, found.sha256) == (len(data), digest)
        assert hashlib.sha256(read(objects, "big")).hexdigest() == digest

    def test_an_upload_that_grows_large_is_whole_or_not(self, objects: Objects, tmp_path: Path) -> None:
        writer = objects.put(at("x/big"))
        for _ in range(20):
            writer.write(b"z" * (1 << 20))
        with pytest.raises(BadChecksum):
            writer.commit("0" * 64)
        assert all_keys(objects) == []
        writer = objects.put(at("x/big"))
        for _ in range(20):
            writer.write(b"z" * (1 << 20))
        writer.commit()
        assert objects.stat(at("x/big")).size == 20 << 20
        assert list((tmp_path / "spool").glob("*")) == []
