"""No key that is accepted leaves its bucket, and no path in a job leaves what a job may touch."""

from __future__ import annotations

import os
import posixpath
from pathlib import PurePosixPath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from danlu.spec.paths import MAX_KEY_BYTES, StorePath, check_bucket, check_job_path, check_key, parse_store_path

nasty = st.text(st.sampled_from("a/.\\~ \0\n:-é" + "\ud800"), max_size=30) | st.text(max_size=60)


@given(nasty)
@example("..")
@example("a/../../b")
@example("/etc/passwd")
@example("a/./b")
@example("a//b")
@example("a/")
def test_no_accepted_key_leaves_the_bucket(key: str) -> None:
    try:
        check_key(key)
    except ValueError:
        return
    joined = posixpath.normpath(posixpath.join("/store/bucket", key))
    assert joined == f"/store/bucket/{key}"  # one key, one file: nothing was folded
    assert PurePosixPath(joined).is_relative_to("/store/bucket/")
    os.fsencode(key)
    assert 0 < len(key.encode()) <= MAX_KEY_BYTES


@given(nasty)
@example("a//")
@example("/")
def test_no_accepted_folder_leaves_the_bucket(key: str) -> None:
    try:
        check_key(key, allow_folder=True)
    except ValueError:
        return
    assert key == "" or posixpath.normpath(f"/b/{key}") == f"/b/{key.removesuffix('/')}"


@given(nasty)
@example("x/../../etc")
@example("//etc/passwd")
@example("/opt/../etc")
def test_no_accepted_job_path_is_a_system_folder_or_leaves_the_data(path: str) -> None:
    try:
        normal = check_job_path(path)
    except ValueError:
        return
    assert normal == check_job_path(normal)
    resolved = posixpath.normpath(posixpath.join("/opt/ml/input/data", normal))
    if normal.startswith("/"):
        assert resolved.split("/")[1] not in ("", "etc", "usr", "bin", "proc", "dev", "sys", "var", "run", "lib")
    else:
        assert resolved.startswith("/opt/ml/input/data")
    assert "\0" not in normal


@given(nasty)
def test_a_store_path_reads_as_it_is_written(text: str) -> None:
    try:
        path = parse_store_path(text)
    except ValueError:
        return
    assert parse_store_path(str(path)) == path


@pytest.mark.parametrize("name", ["abc", "a-b.c", "a" * 63, "000"])
def test_buckets(name: str) -> None:
    check_bucket(name)


@pytest.mark.parametrize("name", ["", "ab", "a" * 64, "Abc", "a_b", "-ab", "ab-", "a..b", "..", "a/b", "abc\n", "äbc"])
def test_what_is_no_bucket(name: str) -> None:
    with pytest.raises(ValueError, match="expected a bucket name"):
        check_bucket(name)


def test_a_part_is_added_with_one_slash() -> None:
    assert StorePath("main", "") / "a" == StorePath("main", "a")
    assert StorePath("main", "a/") / "b" == StorePath("main", "a/b")
