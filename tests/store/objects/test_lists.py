"""Lists of an object store, and writers at the same time."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.support.objects import all_keys, at, put, read
from tests.support.stores import S3Servers, make_objects

from danlu.errors import InvalidInput, NotFound
from danlu.store.objects.base import Objects

parts = st.sampled_from(
    ["a", "b", "a.b", "a-b", "a0", "é", "Z", "a b", "ab", "a+b", "a%20b", "&<>'", "?#", "~[*]", "炉"]
)
keys = st.lists(parts, min_size=1, max_size=3).map("/".join)
prefixes = keys | keys.map(lambda key: f"{key}/") | st.sampled_from(["", "a", "x/y"])


def without_clashes(wanted: list[str]) -> list[str]:
    """Leave out keys that would lie below an object, or be a folder of one."""
    kept: list[str] = []
    for key in wanted:
        if not any(key.startswith(f"{other}/") or other.startswith(f"{key}/") or key == other for other in kept):
            kept.append(key)
    return kept


def naive(stored: list[str], prefix: str, delimiter: str) -> list[str]:
    found = set()
    for key in stored:
        if key.startswith(prefix):
            head, cut, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key[len(prefix) :], "", "")
            found.add(prefix + head + cut)
    return sorted(found)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    wanted=st.lists(keys, max_size=12), prefix=prefixes, delimiter=st.sampled_from(["", "/"]), limit=st.integers(1, 5)
)
@example(wanted=["a/b", "a-b", "a0", "ab"], prefix="", delimiter="/", limit=1)
@example(wanted=["a/b"], prefix="a//", delimiter="", limit=1)
@example(wanted=["a%20b/a", "a+b/a"], prefix="a", delimiter="/", limit=1)
def test_lists_equal_a_naive_model(
    kind: str,
    s3_servers: S3Servers,
    tmp_path: Path,
    wanted: list[str],
    prefix: str,
    delimiter: str,
    limit: int,
) -> None:
    objects = make_objects(kind, s3_servers, tmp_path)
    if kind == "moto":  # it does not encode '+' and '%' in folders though the encoding is URL
        wanted = [key.replace("+", "").replace("%", "") for key in wanted]
    stored = without_clashes(wanted)
    for key in stored:
        put(objects, key)
    try:
        found = all_keys(objects, prefix=prefix, delimiter=delimiter, limit=limit)
    except InvalidInput:
        found = []
    assert found == naive(stored, prefix, delimiter)


def test_a_list_that_goes_on_after_deletes_and_puts_shows_no_key_twice(objects: Objects) -> None:
    for number in range(10):
        put(objects, f"k{number}")
    page = objects.list("main", prefix="", delimiter="", after="", limit=4)
    objects.delete(at("k3"))
    put(objects, "k35")
    rest = objects.list("main", prefix="", delimiter="", after=page.next or "", limit=100)
    assert [item.key for item in page.objects + rest.objects] == [
        *("k0", "k1", "k2", "k3", "k35", "k4", "k5", "k6", "k7", "k8", "k9")
    ]


@pytest.mark.parametrize("kind", ["local", "moto"])  # rclone's objects are files, and it loses some of them in this
def test_uploads_and_deletes_in_one_folder_at_the_same_time(objects: Objects) -> None:
    """The folder comes and goes under the feet of the uploads."""
    problems: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for _ in range(60):
                put(objects, f"deep/er/{name}", name.encode())
                assert read(objects, f"deep/er/{name}") == name.encode()
                assert objects.delete(at(f"deep/er/{name}"))
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(f"t{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert all_keys(objects) == []


def test_many_writers_of_one_key_leave_one_whole_object(objects: Objects) -> None:
    def work(letter: bytes) -> None:
        for _ in range(20):
            put(objects, "same", letter * 100_000)

    threads = [threading.Thread(target=work, args=(letter,)) for letter in (b"a", b"b", b"c")]
    for thread in threads:
        thread.start()
    seen = set()
    while any(thread.is_alive() for thread in threads):
        try:
            data = read(objects, "same")
        except NotFound:
            continue
        seen.add((len(data), len(set(data))))
    for thread in threads:
        thread.join()
    assert seen <= {(100_000, 1)}
    assert all_keys(objects) == ["same"]
