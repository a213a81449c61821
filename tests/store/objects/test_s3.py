"""What only S3 has: grants, addresses, keys, and services that are away."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.support.objects import Web, all_keys, at, md5_of, put, read
from tests.support.stores import S3_KINDS, S3Servers

from danlu.errors import NotFound, Unavailable
from danlu.store.objects.base import Grants, Objects
from danlu.store.objects.local import LocalObjects
from danlu.store.objects.s3 import S3Objects
from danlu.store.objects.s3_place import S3Place
from danlu.testing.balancer import Balancer
from danlu.testing.store_server import running_store


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
            url = grants.sign_part(at("big"), upload, number=number, md5=md5_of(piece))
            assert web("PUT", url, piece, Content_MD5=md5_of(piece))[0] == 200
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
        url = grants.sign_part(at("big"), upload, number=1, md5=md5_of(right))
        assert "content-md5" in parse_qs(urlsplit(url).query)["X-Amz-SignedHeaders"][0].split(";")
        if kind != "moto":  # it checks neither signatures nor digests
            assert web("PUT", url, wrong, Content_MD5=md5_of(right))[0] == 400
            assert web("PUT", url, wrong, Content_MD5=md5_of(wrong))[0] == 403
            assert web("PUT", url, wrong)[0] == 403
            assert web("PUT", url.replace("partNumber=1", "partNumber=2"), right, Content_MD5=md5_of(right))[0] == 403
            assert web("PUT", url.replace("/big?", "/other?"), right, Content_MD5=md5_of(right))[0] == 403
            late = url.replace("X-Amz-Expires=900", "X-Amz-Expires=9000")
            assert web("PUT", late, right, Content_MD5=md5_of(right))[0] == 403
        upload = grants.begin(at("big"), "ab" * 32)  # rclone drops an upload when the digest of a part is wrong
        url = grants.sign_part(at("big"), upload, number=1, md5=md5_of(right))
        assert web("PUT", url, right, Content_MD5=md5_of(right))[0] == 200
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
    with pytest.raises(Unavailable, match=r"http://127\.0\.0\.1:9 does not answer: .*refused"):
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
    signed = [grants.sign_get(at("a b/é")), grants.sign_part(at("a b/é"), "upload", number=1, md5=md5_of(b""))]
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
