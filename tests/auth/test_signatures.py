"""Signatures are those that the SDK itself made of these requests, with the secret `secret`."""

from __future__ import annotations

import pytest

from danlu.auth.signatures import (
    CosClaim,
    StoreRequest,
    cos_signature,
    parse_cos,
    parse_tc3,
    tc3_signature,
    unsigned_query,
)

TC3 = (
    "TC3-HMAC-SHA256 Credential=dk-1/2023-11-14/tione/tc3_request, SignedHeaders=content-type;host, "
    "Signature=fe2e7b4abad07b7581416373222b6f8f012dcb139fe0e1e053d47053e5f3f117"
)
TC3_HEADERS = {"content-type": "application/json", "host": "http://127.0.0.1:8400/compat/tencent"}
TC3_BODY = b'{"Id": "train-1", "Name": "\\u4e2d"}'
COS = (
    "q-sign-algorithm=sha1&q-ak=dk-1&q-sign-time=1699999940;1700010000&q-key-time=1699999940;1700010000&"
    "q-header-list=content-length;content-md5;host;x-cos-acl&q-url-param-list=partnumber;uploadid&"
    "q-signature=5ab7cb9a8e01d7a9c2fa9e8a8dcd5602c348dffd"
)
COS_REQUEST = StoreRequest(
    "PUT",
    "/x/中 a.txt",
    [("partNumber", "1"), ("uploadId", "ab/c")],
    {
        "host": "demo.cos.ap-guangzhou.myqcloud.com",
        "content-length": "5",
        "content-md5": "XUFAKrxLKna5cZ2REBfFkg==",
        "x-cos-acl": "a b",
        "user-agent": "not signed",
    },
)


def test_of_the_api() -> None:
    claim = parse_tc3(TC3)
    assert claim is not None
    assert (claim.key, claim.service) == ("dk-1", "tione")
    made = tc3_signature("secret", claim, timestamp=1700000000, headers=TC3_HEADERS, body=TC3_BODY)
    assert made == claim.signature
    others = [
        tc3_signature("Secret", claim, timestamp=1700000000, headers=TC3_HEADERS, body=TC3_BODY),
        tc3_signature("secret", claim, timestamp=1700000001, headers=TC3_HEADERS, body=TC3_BODY),
        tc3_signature("secret", claim, timestamp=1700000000, headers={**TC3_HEADERS, "host": "other"}, body=TC3_BODY),
        tc3_signature("secret", claim, timestamp=1700000000, headers=TC3_HEADERS, body=TC3_BODY + b" "),
    ]
    assert made not in others
    assert len(set(others)) == len(others)


@pytest.mark.parametrize(
    "header",
    ["", "Bearer dk-1.secret", TC3.replace("content-type;host", "content-type"), TC3[:-1], TC3.replace("tc3_", "tc4_")],
)
def test_what_is_no_claim_of_the_api(header: str) -> None:
    assert parse_tc3(header) is None


def test_of_the_storage() -> None:
    claim = parse_cos(COS)
    assert claim is not None
    assert (claim.key, claim.begins_at, claim.ends_at) == ("dk-1", 1699999940, 1700010000)
    assert cos_signature("secret", claim, request=COS_REQUEST) == claim.signature
    changed = [
        COS_REQUEST._replace(method="GET"),
        COS_REQUEST._replace(path="/x/b.txt"),
        COS_REQUEST._replace(query=[("partNumber", "2"), ("uploadId", "ab/c")]),
        COS_REQUEST._replace(headers={**COS_REQUEST.headers, "host": "other.cos.ap-guangzhou.myqcloud.com"}),
    ]
    made = {cos_signature("secret", claim, request=one) for one in changed}
    assert len(made) == len(changed)
    assert claim.signature not in made


def test_a_query_that_is_not_signed_is_told() -> None:
    claim = parse_cos(COS)
    assert isinstance(claim, CosClaim)
    more = COS_REQUEST._replace(query=[*COS_REQUEST.query, ("versionId", "1")])
    assert unsigned_query(claim, COS_REQUEST) == []
    assert unsigned_query(claim, more) == ["versionId"]


@pytest.mark.parametrize(
    "header",
    [
        "",
        COS.replace("sha1", "md5", 1),
        COS.replace("content-md5;host;", "content-md5;"),
        COS.replace("q-key-time=1", "q-key-time=2"),
        COS[:-1],
        COS.replace("q-ak=dk-1", "q-ak="),
    ],
)
def test_what_is_no_claim_of_the_storage(header: str) -> None:
    assert parse_cos(header) is None
