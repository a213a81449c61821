"""`modelarts.session.Session`"""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any, ClassVar, Optional

from danlu.client import Client
from danlu.client.files.store import parse
from modelarts.access import open_client
from modelarts.paths import store_path


class Obs:
    """`session.obs`: files to and from the store."""

    def __init__(self, danlu: Client) -> None:
        self._danlu = danlu

    def is_obs_path_exists(self, obs_path: str) -> bool:
        return self._danlu.store.exists(store_path(obs_path))

    def upload_file(self, src_local_file: str, dst_obs_dir: str) -> None:
        self._danlu.store.upload(src_local_file, store_path(dst_obs_dir).rstrip("/") + "/")

    def upload_dir(self, src_local_dir: str, dst_obs_dir: str) -> None:
        """Upload a folder into another one, under its own name."""
        name = Path(src_local_dir).resolve().name
        self._danlu.store.upload(src_local_dir, f"{store_path(dst_obs_dir).rstrip('/')}/{name}/")

    def download_file(self, src_obs_file: str, dst_local_dir: str) -> None:
        self._danlu.store.download(store_path(src_obs_file), dst_local_dir)

    def download_dir(self, src_obs_dir: str, dst_local_dir: str) -> None:
        source = store_path(src_obs_dir).rstrip("/")
        self._danlu.store.download(f"{source}/", Path(dst_local_dir) / parse(source).key.rpartition("/")[2])


class Session:
    """`access_key` and `secret_key` are the halves of a Danlu key; for other values `danlu login`'s login is used."""

    endpoint: ClassVar[Optional[str]] = None

    def __init__(
        self,
        access_key: Optional[str] = None,
        secret_key: Optional[str] = None,
        project_id: Optional[str] = None,
        region_name: Optional[str] = None,
        **options: Any,
    ) -> None:
        del options  # accounts of the cloud
        self.project_id, self.region_name = project_id, region_name
        self.danlu = open_client(access_key, secret_key, self.endpoint)
        self.obs = Obs(self.danlu)
        weakref.finalize(self, self.danlu.close)  # the original has no close method

    @classmethod
    def set_endpoint(
        cls,
        iam_endpoint: Optional[str] = None,
        obs_endpoint: Optional[str] = None,
        modelarts_endpoint: Optional[str] = None,
        region_name: Optional[str] = None,
    ) -> None:
        """`modelarts_endpoint`: address of the Danlu server, for sessions with a Danlu key."""
        del iam_endpoint, obs_endpoint, region_name
        cls.endpoint = modelarts_endpoint
