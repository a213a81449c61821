"""The door for Tencent Cloud's SDK: who is let in. An action that is not known says that its sender was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.tencent.conftest import Opened
from tests.support.tencent import TencentSdk
from tests.support.world import Api, make_world

from danlu.errors import TooManyRequests
from danlu.server.tencent.seen import Seen

LET_IN = "InvalidAction"


@pytest.fixture
def sdk(opened: Opened) -> Iterator[TencentSdk]:
    with TencentSdk(opened.url, opened.signing_key(), opened.world.clock().timestamp()) as made:
        yield made


class TestTheApi:
    def test_a_signed_request_is_let_in_and_an_unknown_action_is_named(self, sdk: TencentSdk) -> None:
        told = sdk.action("CreateNotebook", Name="n")["Error"]
        assert told["Code"] == LET_IN
        assert "CreateNotebook" in told["Message"]
        assert "endpoint jupyter" in told["Message"]

    def test_what_is_not_signed_with_the_secret_is_not(self, sdk: TencentSdk) -> None:
        sdk.secret += "x"
        assert sdk.code("Nothing") == "AuthFailure.SignatureFailure"

    def test_a_changed_body_is_not(self, sdk: TencentSdk) -> None:
        headers = sdk.action_headers("Nothing", b'{"Id": "a"}')
        assert sdk.post(headers, b'{"Id": "b"}')["Error"]["Code"] == "AuthFailure.SignatureFailure"

    @pytest.mark.parametrize("seconds", [-301, 301])
    def test_clocks_that_are_wrong(self, sdk: TencentSdk, seconds: int) -> None:
        sdk.at += seconds
        told = sdk.action("Nothing")["Error"]
        assert told["Code"] == "AuthFailure.SignatureExpire"
        assert "301 s away" in told["Message"]

    def test_a_request_is_not_let_in_twice(self, sdk: TencentSdk) -> None:
        body = b'{"Id": "train-1"}'
        headers = sdk.action_headers("StopNotebook", body)
        assert sdk.post(headers, body)["Error"]["Code"] == LET_IN
        assert sdk.post(headers, body)["Error"]["Code"] == "AuthFailure.SignatureExpire"
        again = {**headers, "X-TC-TraceId": "another"}  # which is not signed
        assert sdk.post(again, body)["Error"]["Code"] == "AuthFailure.SignatureExpire"

    def test_two_calls_within_a_second_that_read_are_two(self, sdk: TencentSdk) -> None:
        body = b'{"Offset": "no number", "Limit": {}}'
        headers = sdk.action_headers("DescribeTrainingModels", body)
        first, second = (sdk.post({**headers, "X-TC-TraceId": trace}, body)["Error"]["Code"] for trace in "ab")
        assert not first.startswith("AuthFailure")
        assert first == second
        assert sdk.post({**headers, "X-TC-TraceId": "a"}, body)["Error"]["Code"] == "AuthFailure.SignatureExpire"

    def test_a_key_that_does_not_sign_is_told_how_to_get_one(self, opened: Opened) -> None:
        with TencentSdk(opened.url, opened.world.api_key(), opened.world.clock().timestamp()) as sdk:
            told = sdk.action("Nothing")["Error"]
        assert told["Code"] == "AuthFailure.SecretIdNotFound"
        assert "danlu keys new --signs" in told["Message"]

    def test_a_deleted_key_is_not_known(self, opened: Opened, sdk: TencentSdk) -> None:
        with Api(opened.url, opened.world.api_key()) as api:
            api("DELETE", f"/keys/{sdk.key_id.removeprefix('dk-')}")
        assert sdk.code("Nothing") == "AuthFailure.SecretIdNotFound"

    def test_a_key_that_signs_is_an_api_key_as_well(self, sdk: TencentSdk) -> None:
        with Api(sdk.url, f"{sdk.key_id}.{sdk.secret}") as api:
            assert api.json("GET", "/me")["name"] == "admin"

    def test_other_versions_and_what_is_not_json(self, sdk: TencentSdk) -> None:
        body = json.dumps({}).encode()
        old = sdk.action_headers("Nothing", body, **{"X-TC-Version": "2019-10-22"})
        assert sdk.post(old, body)["Error"]["Code"] == "NoSuchVersion"
        assert sdk.post(sdk.action_headers("Nothing", b"["), b"[")["Error"]["Code"] == "InvalidParameter"
        assert sdk.post(sdk.action_headers("Nothing", b"[]"), b"[]")["Error"]["Code"] == "InvalidParameter"
        plain = sdk.action_headers("Nothing", body, **{"Content-Type": "text/plain"})
        assert sdk.post(plain, body)["Error"]["Code"] == "UnsupportedProtocol"
        unsigned = sdk.action_headers("Nothing", body, Authorization="Bearer x")
        assert sdk.post(unsigned, body)["Error"]["Code"] == "AuthFailure.InvalidAuthorization"

    def test_long_bodies_are_refused(self, opened: Opened, sdk: TencentSdk) -> None:
        body = b'{"a": "' + b"x" * opened.world.settings.max_body_bytes + b'"}'
        assert sdk.post(sdk.action_headers("Nothing", body), body)["Error"]["Code"] == "RequestSizeLimitExceeded"

    def test_the_root_answers_what_names_an_action(self, sdk: TencentSdk) -> None:
        headers = sdk.action_headers("Nothing", b"{}")
        answer = sdk.http.post(f"{sdk.url}/", content=b"{}", headers=headers)
        assert answer.json()["Response"]["Error"]["Code"] == LET_IN


def test_it_is_shut_unless_a_setting_opens_it(tmp_path: Path) -> None:
    with make_world(tmp_path / "data") as world, world.serving() as url:
        with TencentSdk(url, world.api_key(), world.clock().timestamp()) as sdk:
            headers = {**sdk.action_headers("Nothing", b"{}"), "Host": url.partition("//")[2]}
            assert sdk.http.post(f"{url}/compat/tencent", content=b"{}", headers=headers).status_code in (404, 405)
            assert sdk.store("GET", "x").status_code == 400  # a name that this server does not have
        with Api(url, world.api_key()) as api:
            refused = api("POST", "/keys", json={"signs": True})
        assert refused.status_code == 422
        assert "DANLU_SERVER_TENCENT_DOOR" in refused.text


def test_marks_are_kept_as_long_as_they_are_valid() -> None:
    now = [0.0]
    seen = Seen(lambda: now[0], keep_seconds=10, max_marks=2)
    assert seen.note("a")
    now[0] = 10
    assert not seen.note("a")
    assert seen.note("b")
    with pytest.raises(TooManyRequests):
        seen.note("c")
    now[0] = 10.5
    assert seen.note("c")
    assert not seen.note("b")
