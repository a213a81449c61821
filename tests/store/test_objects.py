"""The contract of object stores, on a folder and on real S3 servers."""

from __future__ import annotations

import base64
import hashlib
import random
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.support.stores import KINDS, S3_KINDS, S3Servers, make_objects

from danlu.errors import BadChecksum, Conflict, InvalidInput, NotFound, Unavailable
from danlu.spec.paths import StorePath
from danlu.store.objects.base import Grants, Objects
from danlu.store.objects.local import LocalObjects
from danlu.store.objects.s3 import S3Objects
from danlu.store.objects.s3_place import S3Place
from danlu.testing.balancer import Balancer
from danlu.testing.store_server import running_store

Web = Callable[..., tuple[int, bytes]]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def objects(kind: str, s3_servers: S3Servers, tmp_path: Path) -> Objects:
    return make_objects(kind, s3_servers, tmp_path)


@pytest.fixture
def web(kind: str, s3_servers: S3Servers) -> Web:
    """Send a request as somebody who has nothing but the URL."""
    proxy = s3_servers.get(kind).place.proxy
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": proxy} if proxy else {}))

    def send(method: str, url: str, data: bytes | None = None, **headers: str) -> tuple[int, bytes]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(
            url, data, {"Content-Type": "application/octet-stream", **named}, method=method
        )
        try:
            with opener.open(request) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    return send


def at(key: str) -> StorePath:
    return StorePath("main", key)


def put(objects: Objects, key: str, data: bytes = b"x") -> None:
    writer = objects.put(at(key))
    writer.write(data)
    writer.commit()


def read(objects: Objects, key: str) -> bytes:
    return b"".join(objects.read(at(key)))


def _md5(data: bytes) -> str:
    return base64.b64encode(hashlib.md5(data).digest()).decode()


def all_keys(objects: Objects, *, prefix: str = "", delimiter: str = "", limit: int = 1000) -> list[str]:
    """Keys and folders over all pages, in the order they come."""
    found: list[str] = []
    after = ""
    while True:
        page = objects.list("main", prefix=prefix, delimiter=delimiter, after=after, limit=limit)
        assert len(page.objects) + len(page.folders) <= limit
        found += sorted([item.key for item in page.objects] + page.folders)
        if page.next is None:
            return found
        assert page.next > after
        after = page.next


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


class TestGrants:
    """What clients and stagers may do by themselves, and no more."""

    @pytest.fixture(params=S3_KINDS)
    def kind(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    @pytest.fixture
    def grants(self, objects: Objects) -> Grants:
        made = objects.grants()
        assert made is not None
        return made

    def test_a_folder_gives_none(self, tmp_path: Path) -> None:
        assert LocalObjects(tmp_path).grants() is None

    def test_a_get_for_one_object(self, kind: str, objects: Objects, grants: Grants, web: Web) -> None:
        put(objects, "a b/é", b"data")
        put(objects, "other", b"secret")
        url = grants.sign_get(at("a b/é"))
        assert web("GET", url) == (200, b"data")
        if kind != "moto":  # which lets everybody in
            assert web("GET", url.replace("a%20b/%C3%A9", "other"))[0] == 403
            assert web("DELETE", url)[0] == 403

    def test_parts_become_an_object(self, objects: Objects, grants: Grants, web: Web) -> None:
        pieces = [b"1" * (5 << 20), b"2" * 100]
        upload = grants.begin(at("big"), "ab" * 32)
        for number, piece in enumerate(pieces, start=1):
            assert all_keys(objects) == []
            url = grants.sign_part(at("big"), upload, number=number, md5=_md5(piece))
            assert web("PUT", url, piece, Content_MD5=_md5(piece))[0] == 200
        parts = grants.parts(at("big"), upload)
        assert {number: part.size for number, part in parts.items()} == {1: 5 << 20, 2: 100}
        made = grants.complete(at("big"), upload, parts=parts)
        assert (made.size, made.sha256) == ((5 << 20) + 100, "ab" * 32)
        assert read(objects, "big") == b"".join(pieces)

    def test_a_grant_for_a_part_accepts_these_bytes_only(
        self, kind: str, objects: Objects, grants: Grants, web: Web
    ) -> None:
        right, wrong = b"1" * 100, b"2" * 100
        upload = grants.begin(at("big"), "ab" * 32)
        url = grants.sign_part(at("big"), upload, number=1, md5=_md5(right))
        assert "content-md5" in parse_qs(urlsplit(url).query)["X-Amz-SignedHeaders"][0].split(";")
        if kind != "moto":  # it checks neither signatures nor digests
            assert web("PUT", url, wrong, Content_MD5=_md5(right))[0] == 400
            assert web("PUT", url, wrong, Content_MD5=_md5(wrong))[0] == 403
            assert web("PUT", url, wrong)[0] == 403
            assert web("PUT", url.replace("partNumber=1", "partNumber=2"), right, Content_MD5=_md5(right))[0] == 403
            assert web("PUT", url.replace("/big?", "/other?"), right, Content_MD5=_md5(right))[0] == 403
            late = url.replace("X-Amz-Expires=900", "X-Amz-Expires=9000")
            assert web("PUT", late, right, Content_MD5=_md5(right))[0] == 403
        upload = grants.begin(at("big"), "ab" * 32)  # rclone drops an upload when the digest of a part is wrong
        url = grants.sign_part(at("big"), upload, number=1, md5=_md5(right))
        assert web("PUT", url, right, Content_MD5=_md5(right))[0] == 200
        parts = grants.parts(at("big"), upload)
        assert list(parts) == [1]
        grants.complete(at("big"), upload, parts=parts)
        assert read(objects, "big") == right

    def test_uploads_that_nobody_finished_are_listed_and_dropped(
        self, kind: str, objects: Objects, grants: Grants
    ) -> None:
        names = {grants.begin(at(key), "ab" * 32): f"main/{key}" for key in ("one", "a b/é", "two")}
        begun = list(objects.unfinished())
        assert {upload.id: upload.key for upload in begun} == names
        if kind != "moto":  # its uploads all began in 2010
            assert all(abs(datetime.now(timezone.utc) - upload.begun_at) < timedelta(minutes=5) for upload in begun)
        for upload in begun:
            upload.abort()
        assert list(objects.unfinished()) == []

    def test_what_is_dropped_is_gone_and_a_second_time_is_quiet(
        self, objects: Objects, grants: Grants, web: Web
    ) -> None:
        upload = grants.begin(at("big"), "ab" * 32)
        grants.abort(at("big"), upload)
        grants.abort(at("big"), upload)
        with pytest.raises(NotFound):
            grants.parts(at("big"), upload)
        assert all_keys(objects) == []


def test_a_service_that_is_away_is_told_in_a_sentence(tmp_path: Path) -> None:
    place = S3Place("bucket", "", "http://127.0.0.1:9", "us-east-1", "key", "secret")
    objects = S3Objects(place, tmp_path)
    with pytest.raises(Unavailable, match=r"http://127\.0\.0\.1:9 is not reachable: .*refused"):
        objects.list("main", prefix="", delimiter="", after="", limit=1)
    with pytest.raises(Unavailable, match="store://main/a: the object service failed"):
        objects.stat(at("a"))


def test_an_endpoint_that_is_not_s3_is_told_in_a_sentence(tmp_path: Path) -> None:
    with running_store() as other:
        objects = S3Objects(S3Place("bucket", "", other.url, "us-east-1", "key", "secret"), tmp_path)
        other.token = ""
        with pytest.raises(Unavailable, match=f"{other.url} rejected a request: 401 "):
            objects.list("main", prefix="", delimiter="", after="", limit=1)


@pytest.mark.parametrize(
    ("endpoint", "bucket", "is_virtual_host", "url"),
    [
        ("https://s3.eu-west-1.amazonaws.com", "b-1", True, "https://b-1.s3.eu-west-1.amazonaws.com"),
        ("https://s3.eu-west-1.amazonaws.com", "b-1", False, "https://s3.eu-west-1.amazonaws.com/b-1"),
        ("https://cos.ap-guangzhou.myqcloud.com", "b-125", True, "https://b-125.cos.ap-guangzhou.myqcloud.com"),
        ("https://obs.cn-north-4.myhuaweicloud.com", "b-1", True, "https://b-1.obs.cn-north-4.myhuaweicloud.com"),
        ("http://minio:9000", "b-1", False, "http://minio:9000/b-1"),
    ],
)
def test_both_libraries_address_the_bucket_in_the_same_way(
    tmp_path: Path, endpoint: str, bucket: str, is_virtual_host: bool, url: str
) -> None:
    place = S3Place(bucket, "top/", endpoint, "some-region-1", "key", "secret", is_virtual_host=is_virtual_host)
    grants = S3Objects(place, tmp_path, is_direct=True).grants()
    assert grants is not None
    signed = [grants.sign_get(at("a b/é")), grants.sign_part(at("a b/é"), "upload", number=1, md5=_md5(b""))]
    assert {one.partition("?")[0] for one in signed} == {f"{url}/top/main/a%20b/%C3%A9"}


def test_lists_and_uploads_keep_one_connection(s3_servers: S3Servers, tmp_path: Path) -> None:
    place = s3_servers.get("rclone").below("kept")
    balancer = Balancer()
    balancer.serve(place.endpoint)
    objects = S3Objects(replace(place, endpoint=balancer.url), tmp_path, is_direct=True)
    grants = objects.grants()
    assert grants is not None
    for _ in range(10):
        assert all_keys(objects) == []
        grants.abort(at("big"), grants.begin(at("big"), "ab" * 32))
    assert balancer.num_connections == 1
    balancer.close()


def test_the_settings_of_other_aws_tools_change_nothing(
    s3_servers: S3Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config"
    config.write_text("[default]\nrole_arn = arn:aws:iam::1:role/other\ns3 =\n  addressing_style = virtual\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_PROFILE", "no-such-profile")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody-else")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of-somebody-else")
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    objects = S3Objects(replace(s3_servers.get("rclone").below("own"), region="eu-west-7"), tmp_path)
    put(objects, "a")
    assert all_keys(objects) == ["a"]


def test_a_wrong_key_pair_is_told_without_the_secret(s3_servers: S3Servers, tmp_path: Path) -> None:
    place = replace(s3_servers.get("rclone").below("x"), secret_access_key="hunter2")
    with pytest.raises(Unavailable, match="SignatureDoesNotMatch") as caught:
        S3Objects(place, tmp_path).list("main", prefix="", delimiter="", after="", limit=1)
    assert "hunter2" not in str(caught.value) + repr(place)


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
    if kind == "moto":  # it does not encode '+' in folders though the encoding is URL
        wanted = [key.replace("+", "") for key in wanted]
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
