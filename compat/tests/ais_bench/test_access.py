"""Where a key goes, and where it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from modelarts.access import open_client


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DANLU_URL", "http://danlu.example:8400")
    monkeypatch.setenv("DANLU_API_KEY", "dk-own.secret")
    monkeypatch.setenv("DANLU_CONFIG", str(tmp_path / "none.yml"))


@pytest.mark.parametrize(
    ("key", "server", "url", "used"),
    [
        ("dk-1", "http://other.example", "http://other.example", "dk-1.s"),
        ("dk-1", "", "http://danlu.example:8400", "dk-1.s"),
        ("dk-1", "https://obs.cn-central-221.ovaijisuan.com", "http://danlu.example:8400", "dk-1.s"),
        ("dk-1", "https://modelarts.cn-north-4.myhuaweicloud.com", "http://danlu.example:8400", "dk-1.s"),
        ("AKIA", "https://other.example", "http://danlu.example:8400", "dk-own.secret"),
        ("", "", "http://danlu.example:8400", "dk-own.secret"),
    ],
)
def test_keys_of_the_cloud_and_its_hosts_are_not_used(key: str, server: str, url: str, used: str) -> None:
    with open_client(key, "s", server) as client:
        assert (client.url, client.settings.api_key) == (url, used)
