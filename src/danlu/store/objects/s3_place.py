"""Where objects are in an S3 service: a bucket, a folder in it, and the key pair."""

from __future__ import annotations

import re
import urllib.parse
from dataclasses import dataclass, field

from danlu.errors import InvalidInput

_URL = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(?P<prefix>.*))?")


@dataclass(frozen=True, slots=True)
class S3Place:
    bucket: str
    prefix: str
    """Empty, or ends in `/`. All keys begin with it."""

    endpoint: str
    region: str
    access_key_id: str
    secret_access_key: str = field(repr=False)
    is_virtual_host: bool = False
    """Whether the bucket's name is in the host name and not in the path."""

    proxy: str = ""

    @property
    def bucket_url(self) -> str:
        """The URL of the bucket in virtual-host style, without a slash at its end."""
        endpoint = urllib.parse.urlsplit(self.endpoint)
        return f"{endpoint.scheme}://{self.bucket}.{endpoint.netloc}"


def parse_s3_url(text: str) -> tuple[str, str]:
    """Read `s3://bucket/folder`; return the bucket and the prefix of all keys."""
    found = _URL.fullmatch(text)
    if found is None:
        told = f"expected s3://BUCKET or s3://BUCKET/FOLDER, got {text!r}"
        raise InvalidInput(f"objects_url: {told}", fields={"objects_url": told})
    prefix = (found["prefix"] or "").strip("/")
    return found["bucket"], f"{prefix}/" if prefix else ""
