"""Files: tikit's calls for COS on buckets of Danlu's store."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from danlu.errors import DanluError, NotFound
from danlu.wire.store import ObjectOut
from tikit.session import Session, refuse, translated
from tikit.tencentcloud.tione.v20211111 import models as wire

MARKER = ".keep"
"""Name of an empty object that represents an empty folder: store keys cannot end in `/`."""


class Storage(Session):
    @translated
    def describe_cos_buckets(self) -> dict[str, Any]:
        """List all buckets that you have access to, in the format of COS."""
        me = self._danlu.me()
        buckets = [
            {"Name": bucket.name, "Location": self._region, "CreationDate": "", "BucketType": "cos"}
            for bucket in self._danlu.store.buckets()
        ]
        return {"Owner": {"ID": me.name, "DisplayName": me.name}, "Buckets": {"Bucket": buckets}}

    @translated
    def is_cos_dir(self, bucket: str, path: str) -> bool:
        """Whether there are objects below the path."""
        folder = path.strip("/")
        return self._danlu.store.exists(f"{bucket}/{folder}/" if folder else f"{bucket}/")

    @translated
    def check_object_exist(self, bucket: str, cos_path: str) -> bool:
        """Whether the object exists; for a path that ends in `/`, the folder."""
        key = cos_path.lstrip("/")
        return (
            self.is_cos_dir(bucket, key)
            if not key or key.endswith("/")
            else self._danlu.store.exists(f"{bucket}/{key}")
        )

    @translated
    def mkdir(self, bucket: str, cos_path: str) -> None:
        """Create a folder; if the path does not end in `/`, its parent folder."""
        folder = cos_path.lstrip("/").rpartition("/")[0].strip("/")
        if folder:
            self._put_marker(bucket, folder)

    @translated
    def upload_to_cos(self, local_path: str, bucket: str, cos_path: str) -> None:
        """Upload a file, or a folder with its content. Existing objects with the same names are replaced.

        With a `cos_path` that ends in `/`, a folder is uploaded below it under its own name, and a file keeps its name.
        Otherwise `cos_path` is the new name of the folder or file.
        """
        local = Path(local_path).absolute()
        if not local.exists():
            raise Exception("local path is not exist, please check it.")
        broken = [path for path in (local, *local.rglob("*")) if path.is_symlink() and not path.exists()]
        for path in broken:
            print(f"{path} is a broken link and is skipped")
        key = target_key(local.name, cos_path, is_folder=local.is_dir())
        try:
            sent = self._danlu.store.upload(local, f"{bucket}/{key}")
            if not sent:
                self._put_marker(bucket, key.rstrip("/"))
        except DanluError as error:
            raise Exception(f"failed to upload files to cos, please retry: {error.message}") from error

    @translated
    def describe_cos_path(
        self, bucket: str, path: str, maker: str = "", max_keys: int = 1000, encoding_type: str = ""
    ) -> dict[str, Any]:
        """Return a page of objects and folders that begin with the path, up to the next `/`, in the format of COS.

        `maker`: the page begins after this key. Keys are never encoded, whatever `encoding_type` is.
        """
        prefix = path.lstrip("/")
        page = self._danlu.store.page(f"{bucket}/{prefix}", after=maker, limit=min(max_keys, 1000))
        found: dict[str, Any] = {
            "Name": bucket,
            "Prefix": prefix,
            "Marker": maker,
            "MaxKeys": str(max_keys),
            "Delimiter": "/",
            "IsTruncated": "false" if page.next is None else "true",
        }
        if page.next is not None:
            found["NextMarker"] = page.next
        if page.objects:
            found["Contents"] = [_content(one) for one in page.objects]
        if page.folders:
            found["CommonPrefixes"] = [{"Prefix": folder} for folder in page.folders]
        return found

    @translated
    def delete_cos_files(self, bucket: str, file_infos: Iterable[Mapping[str, Any]]) -> None:
        """Delete the objects in `[{"Key": ...}]`; missing ones are ignored."""
        deleted = []
        for info in file_infos:
            self._delete(bucket, str(info["Key"]))
            deleted.append({"Key": info["Key"]})
        print({"Deleted": deleted})

    @translated
    def delete_cos_path(self, bucket: str, delete_path: str) -> None:
        """Delete an object, or everything below a path that ends in `/`."""
        try:
            self._delete(bucket, delete_path)
        except DanluError as error:
            raise Exception(f"failed to delete files, please retry: {error.message}") from error

    @translated
    def download_from_cos(self, bucket: str, cos_path: str, local_path: str) -> None:
        """Download an object, or everything below a path, into a folder, which is created if missing.

        With `x/`, paths of files are relative to it; with `x`, they are in a folder of that name in `local_path`.
        """
        folder = Path(local_path)
        if folder.exists() and not folder.is_dir():
            raise Exception(f'local_path parameter "{local_path}" should be directory')
        key = cos_path.lstrip("/")
        folder.mkdir(parents=True, exist_ok=True)
        is_object = bool(key) and not key.endswith("/") and self._danlu.store.exists(f"{bucket}/{key}")
        below = folder if is_object or not key or key.endswith("/") else folder / key.rpartition("/")[2]
        source = key if is_object or not key else f"{key.rstrip('/')}/"
        try:
            files = self._danlu.store.download(f"{bucket}/{source}", below)
        except NotFound as error:
            raise Exception(f'cos path "{cos_path}" not existed') from error
        for file in files:
            if file.name == MARKER and file.stat().st_size == 0:
                file.unlink()
        print(f"{len(files)} files downloaded to {folder}")

    @translated
    def get_cos_sub_files(self, bucket: str, prefix: str) -> list[dict[str, Any]]:
        """Return all objects whose keys begin with the prefix."""
        return [_content(one) for one in self._danlu.store.list(f"{bucket}/{prefix.lstrip('/')}")]

    def parse_cos_info(self, cos_str: str) -> wire.CosPathInfo:
        """Parse `"<bucket>/<path>"`."""
        bucket, slash, path = cos_str.removeprefix("store://").partition("/") if cos_str else ("", "", "")
        if not bucket or not slash:
            raise refuse('cos string is not invalid, should be "<bucket>/<cos path>"')
        return wire.CosPathInfo.new(Bucket=bucket, Region=self._region, Paths=[path])

    def _delete(self, bucket: str, path: str) -> None:
        key = path.lstrip("/")
        self._danlu.store.delete(f"{bucket}/{key}")

    def _put_marker(self, bucket: str, folder: str) -> None:
        with tempfile.TemporaryDirectory() as place:
            empty = Path(place) / MARKER
            empty.touch()
            self._danlu.store.upload(empty, f"{bucket}/{folder}/")


def target_key(name: str, cos_path: str, *, is_folder: bool) -> str:
    """Return the target key of a file; for a folder, the prefix of the keys of its files."""
    path = cos_path.lstrip("/")
    if not path or path.endswith("/"):
        return f"{path}{name}/" if is_folder else f"{path}{name}"
    return f"{path}/" if is_folder else path


def _content(found: ObjectOut) -> dict[str, Any]:
    is_marker = found.size == 0 and found.key.endswith(f"/{MARKER}")
    return {
        "Key": found.key[: -len(MARKER)] if is_marker else found.key,
        "LastModified": f"{found.modified_at:%Y-%m-%dT%H:%M:%S.000Z}",
        "ETag": f'"{found.sha256 or ""}"',
        "Size": str(found.size),
        "StorageClass": "STANDARD",
    }
