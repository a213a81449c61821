"""The storage that Tencent Cloud's SDK sees behind the door."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from xml.etree import ElementTree

import httpx
import pytest
from tests.server.tencent.conftest import Opened
from tests.support.tencent import TencentSdk

from danlu.auth.identity import Role
from danlu.store.queries import buckets


@pytest.fixture
def sdk(opened: Opened, request: pytest.FixtureRequest) -> Iterator[TencentSdk]:
    """With a bucket of its own."""
    name = "cos-" + hashlib.sha256(request.node.name.encode()).hexdigest()[:12]
    with opened.world.database.writing() as session:
        buckets.add_bucket(session, name, project_id=1, at=opened.world.clock())
    with TencentSdk(opened.url, opened.signing_key(), opened.world.clock().timestamp(), bucket=name) as made:
        yield made


def code(answer: httpx.Response) -> tuple[int, str]:
    root = ElementTree.fromstring(answer.content)
    assert root.tag == "Error"
    assert all(root.findtext(name) for name in ("Message", "Resource", "RequestId"))
    return answer.status_code, str(root.findtext("Code"))


def listed(answer: httpx.Response, name: str = "Contents/Key") -> list[str]:
    assert answer.status_code == 200, answer.text
    return [str(one.text) for one in ElementTree.fromstring(answer.content).findall(name)]


def md5(body: bytes) -> str:
    return base64.b64encode(hashlib.md5(body).digest()).decode()


def test_an_object_goes_in_and_comes_out(sdk: TencentSdk) -> None:
    put = sdk.store("PUT", "a/中 b.txt", b"hello", **{"Content-MD5": md5(b"hello")})
    assert put.status_code == 200
    assert put.headers["etag"] == f'"{hashlib.md5(b"hello").hexdigest()}"'
    assert sdk.store("GET", "a/中 b.txt").content == b"hello"
    part = sdk.store("GET", "a/中 b.txt", Range="bytes=1-2")
    assert (part.status_code, part.content) == (206, b"el")
    head = sdk.store("HEAD", "a/中 b.txt")
    assert (head.status_code, head.headers["content-length"]) == (200, "5")
    raw_names = {name.decode() for name, _ in head.headers.raw}
    assert {"Content-Length", "ETag", "Last-Modified"} <= raw_names  # the SDK looks for them in these letters
    assert sdk.store("DELETE", "a/中 b.txt").status_code == 204
    assert sdk.store("HEAD", "a/中 b.txt").status_code == 404
    assert code(sdk.store("GET", "a/中 b.txt")) == (404, "NoSuchKey")


def test_a_body_that_is_not_what_was_announced_is_not_stored(sdk: TencentSdk) -> None:
    assert code(sdk.store("PUT", "bad", b"hello", **{"Content-MD5": md5(b"hallo")})) == (400, "BadDigest")
    assert sdk.store("HEAD", "bad").status_code == 404


def test_folders_and_lists(sdk: TencentSdk) -> None:
    assert sdk.store("PUT", "made/").status_code == 200
    assert sdk.store("HEAD", "made/").status_code == 200
    assert sdk.store("HEAD", "none/").status_code == 404
    for key in ("made/a", "made/sub/b", "top"):
        sdk.store("PUT", key, b"1")
    assert listed(sdk.store("GET")) == ["made/", "made/a", "made/sub/b", "top"]
    page = sdk.store("GET", query="prefix=made/&delimiter=/&encoding-type=url")
    assert listed(page) == ["made/", "made/a"]
    assert listed(page, "CommonPrefixes/Prefix") == ["made/sub/"]
    first = sdk.store("GET", query="max-keys=3")
    assert listed(first, "IsTruncated") == ["true"]
    rest = sdk.store("GET", query=f"marker={listed(first, 'NextMarker')[0]}")
    assert (listed(rest), listed(rest, "NextMarker")) == (["top"], [])
    body = b"<Delete><Object><Key>made/</Key></Object><Object><Key>gone</Key></Object></Delete>"
    done = sdk.store("POST", "", body, query="delete=", **{"Content-MD5": md5(body)})
    assert listed(done, "Deleted/Key") == ["made/", "gone"]
    assert listed(sdk.store("GET")) == ["made/a", "made/sub/b", "top"]


def test_all_buckets(sdk: TencentSdk) -> None:
    mine, sdk.bucket = sdk.bucket, "service"
    found = sdk.store("GET")
    assert mine in listed(found, "Buckets/Bucket/Name")
    assert listed(found, "Owner/ID") == ["admin"]


def test_an_upload_in_parts(sdk: TencentSdk) -> None:
    upload = listed(sdk.store("POST", "big", query="uploads="), "UploadId")[0]
    parts = [b"a" * 70_000, b"b" * 70_000, b"c"]
    for number, body in reversed(list(enumerate(parts, start=1))):
        sent = sdk.store("PUT", "big", body, query=f"partNumber={number}&uploadId={upload}")
        assert sent.headers["etag"] == f'"{hashlib.md5(body).hexdigest()}"'
    assert listed(sdk.store("GET")) == []  # parts are not shown
    assert listed(sdk.store("GET", "big", query=f"uploadId={upload}"), "Part/PartNumber") == ["1", "2", "3"]
    wrong = sdk.store("POST", "big", complete([*parts[:2], b"d"]), query=f"uploadId={upload}")
    assert code(wrong) == (400, "InvalidPart")
    assert sdk.store("HEAD", "big").status_code == 404
    done = sdk.store("POST", "big", complete(parts), query=f"uploadId={upload}")
    assert re.fullmatch('"[0-9a-f]{32}-3"', listed(done, "ETag")[0])
    assert sdk.store("GET", "big").content == b"".join(parts)
    again = sdk.store("POST", "big", complete(parts), query=f"uploadId={upload}")
    assert code(again) == (404, "NoSuchUpload")
    assert code(sdk.store("PUT", "other", b"x", query=f"partNumber=1&uploadId={upload}"))[0] == 501


def test_an_upload_that_is_broken_off_leaves_nothing(sdk: TencentSdk) -> None:
    upload = listed(sdk.store("POST", "big", query="uploads="), "UploadId")[0]
    sdk.store("PUT", "big", b"a", query=f"partNumber=1&uploadId={upload}")
    assert sdk.store("DELETE", "big", query=f"uploadId={upload}").status_code == 204
    assert code(sdk.store("POST", "big", complete([b"a"]), query=f"uploadId={upload}")) == (404, "NoSuchUpload")


def complete(parts: list[bytes]) -> bytes:
    rows = [
        f"<Part><PartNumber>{number}</PartNumber><ETag>&quot;{hashlib.md5(body).hexdigest()}&quot;</ETag></Part>"
        for number, body in enumerate(parts, start=1)
    ]
    return f"<CompleteMultipartUpload>{''.join(rows)}</CompleteMultipartUpload>".encode()


def test_a_repeated_request_is_answered_if_it_changes_nothing(sdk: TencentSdk) -> None:
    headers = sdk.store_headers("PUT", "twice", b"one")
    assert sdk.send_store("PUT", "twice", headers, b"one").status_code == 200
    assert sdk.send_store("PUT", "twice", headers, b"one").status_code == 200
    assert code(sdk.send_store("PUT", "twice", headers, b"two")) == (403, "AccessDenied")
    sdk.at += 1
    assert sdk.store("PUT", "twice", b"new").status_code == 200
    assert code(sdk.send_store("PUT", "twice", headers, b"one")) == (403, "AccessDenied")
    assert sdk.store("GET", "twice").content == b"new"
    gone = sdk.store_headers("DELETE", "twice")
    assert [sdk.send_store("DELETE", "twice", gone).status_code for _ in range(2)] == [204, 204]
    sdk.at += 1
    sdk.store("PUT", "twice", b"back")
    assert code(sdk.send_store("DELETE", "twice", gone)) == (403, "AccessDenied")


@pytest.mark.parametrize("behind", [-361, 301])
def test_clocks_that_are_wrong(sdk: TencentSdk, behind: int) -> None:
    """A signature says that it begins a minute before it was made."""
    sdk.at -= behind
    assert code(sdk.store("GET")) == (403, "RequestTimeTooSkewed")


def test_what_is_not_signed_is_refused(sdk: TencentSdk) -> None:
    headers = sdk.store_headers("GET", "a")
    assert code(sdk.send_store("GET", "b", headers)) == (403, "SignatureDoesNotMatch")
    other = {**headers, "Host": "main.cos.ap-guangzhou.myqcloud.com"}
    assert code(sdk.send_store("GET", "a", other)) == (403, "SignatureDoesNotMatch")
    assert code(sdk.send_store("GET", "a", headers, query="uploadId=1")) == (403, "AccessDenied")
    bare = {"Host": headers["Host"]}
    assert code(sdk.send_store("GET", "a", bare)) == (403, "AccessDenied")


def test_calls_that_are_not_served_say_so(sdk: TencentSdk) -> None:
    assert code(sdk.store("GET", query="acl=")) == (501, "NotImplemented")
    assert code(sdk.store("PUT", "a", b"", **{"x-cos-copy-source": "x"})) == (501, "NotImplemented")
    body = b"<!DOCTYPE x><Delete/>"
    assert code(sdk.store("POST", "", body, query="delete=", **{"Content-MD5": md5(body)})) == (400, "InvalidArgument")
    assert code(sdk.store("POST", "", body, query="delete=")) == (400, "BadDigest")


def test_rights_are_those_of_the_key(opened: Opened, sdk: TencentSdk) -> None:
    """Somebody of another project sees none of it; one who only looks on changes nothing."""
    sdk.store("PUT", "a", b"1")
    found = {}
    for name, project, role in [("stranger", "elsewhere", Role.MEMBER), ("viewer", "default", Role.VIEWER)]:
        key = opened.signing_key(who=opened.world.add_user(name, project, role))
        with TencentSdk(opened.url, key, sdk.at, bucket=sdk.bucket) as other:
            found[name] = (other.store("GET", "a").status_code, other.store("PUT", "b", b"2").status_code)
    assert found == {"stranger": (404, 404), "viewer": (200, 403)}
    sdk.bucket = "no-such-bucket"
    assert code(sdk.store("GET", "a")) == (404, "NoSuchBucket")
