"""The S3 requests that obstore has no call for, made with botocore: paged lists, multipart uploads whose parts others
send, and signed URLs for one part each.

Lists use ListObjects version 1: every service has it, and its pages can begin at any key. botocore keeps connections
open, retries, signs, and reads the XML.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, cast

import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError
from botocore.utils import parse_timestamp

from danlu.errors import NotFound, Unavailable
from danlu.store.objects.base import Part
from danlu.store.objects.s3_place import S3Place

GRANT_SECONDS: Final = 900
MAX_CONNECTIONS = 32
_HIGHEST_CHARACTER = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class Found:
    key: str
    size: int
    modified_at: datetime


@dataclass(frozen=True, slots=True)
class S3Page:
    objects: list[Found]
    folders: list[str]
    is_last: bool


class S3Requests:
    """Threads share one client, and with it its open connections."""

    def __init__(self, place: S3Place) -> None:
        self._place = place
        self._client = make_client(place)

    def list(self, *, prefix: str, delimiter: str, after: str, limit: int) -> S3Page:
        """One page of keys after `after`, at most `limit`; a folder as `after` skips everything in the folder."""
        marker = after + _HIGHEST_CHARACTER if delimiter and after.endswith(delimiter) else after
        with self._our_errors(prefix):
            page = self._client.list_objects(
                Bucket=self._place.bucket, Prefix=prefix, Delimiter=delimiter, Marker=marker, MaxKeys=limit
            )
        objects = [Found(item["Key"], item["Size"], item["LastModified"]) for item in page.get("Contents", ())]
        folders = [str(item["Prefix"]) for item in page.get("CommonPrefixes", ())]
        return S3Page(
            objects=[item for item in objects if item.key > after],
            folders=[folder for folder in folders if folder > after],
            is_last=not page.get("IsTruncated", False),
        )

    def begin_multipart(self, key: str, metadata: Mapping[str, str]) -> str:
        with self._our_errors(key):
            made = self._client.create_multipart_upload(Bucket=self._place.bucket, Key=key, Metadata=dict(metadata))
        return str(made["UploadId"])

    def sign_part(self, key: str, upload: str, *, number: int, md5: str) -> str:
        """A URL that accepts this part for 15 minutes. The signature covers Content-MD5: other bytes are rejected."""
        wanted = self._upload(key, upload) | {"PartNumber": number, "ContentMD5": md5}
        return str(self._client.generate_presigned_url("upload_part", Params=wanted, ExpiresIn=GRANT_SECONDS))

    def list_parts(self, key: str, upload: str) -> dict[int, Part]:
        pages = self._client.get_paginator("list_parts").paginate(**self._upload(key, upload))
        with self._our_errors(key):
            return {
                item["PartNumber"]: Part(item["Size"], item["ETag"]) for page in pages for item in page.get("Parts", ())
            }

    def complete_multipart(self, key: str, upload: str, *, parts: Mapping[int, Part]) -> None:
        rows = [{"PartNumber": number, "ETag": part.etag} for number, part in sorted(parts.items())]
        with self._our_errors(key):
            self._client.complete_multipart_upload(**self._upload(key, upload), MultipartUpload={"Parts": rows})

    def abort_multipart(self, key: str, upload: str) -> None:
        """Delete an upload and the parts that arrived. Quiet when there is none."""
        with suppress(NotFound), self._our_errors(key):
            self._client.abort_multipart_upload(**self._upload(key, upload))

    def list_multiparts(self, prefix: str) -> Iterator[tuple[str, str, datetime]]:
        """Multipart uploads that are neither completed nor aborted: key, id, and when each began."""
        pages = self._client.get_paginator("list_multipart_uploads").paginate(Bucket=self._place.bucket, Prefix=prefix)
        with suppress(NotFound), self._our_errors(prefix):  # some services answer 404 when there is none
            for page in pages:
                for item in page.get("Uploads", ()):
                    if item["Key"].startswith(prefix):
                        yield item["Key"], item["UploadId"], item["Initiated"]

    def _upload(self, key: str, upload: str) -> dict[str, Any]:
        return {"Bucket": self._place.bucket, "Key": key, "UploadId": upload}

    @contextmanager
    def _our_errors(self, key: str) -> Iterator[None]:
        try:
            yield
        except ClientError as error:
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", "")
            told = error.response.get("Error", {})
            problem = f"{status} {told.get('Code', '')}: {told.get('Message', '')}"[:300]
            if status == 404:
                raise NotFound(f"the object service has no {key or self._place.bucket!r}: {problem}") from error
            raise Unavailable(f"the object service at {self._place.endpoint} rejected a request: {problem}") from error
        except ResponseParserError as error:
            told = f"{self._place.endpoint} does not answer as an S3 service does; check the endpoint"
            raise Unavailable(told) from error
        except BotoCoreError as error:
            problem = str(error.kwargs.get("error", error))[:300]
            raise Unavailable(f"the object service at {self._place.endpoint} does not answer: {problem}") from error


def make_client(place: S3Place) -> Any:
    """A client that all threads and all folders of the same bucket share."""
    return _client(replace(place, prefix=""))


@lru_cache(maxsize=8)
def _client(place: S3Place) -> Any:
    # nothing of ~/.aws and no AWS_PROFILE: the settings of the server say everything
    nothing = (None, None, os.devnull, None)
    session = botocore.session.Session(
        {"profile": (None, None, None, None), "config_file": nothing, "credentials_file": nothing}
    )
    session.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=_parse_time)
    return session.create_client(
        "s3",
        region_name=place.region,
        endpoint_url=place.endpoint,
        aws_access_key_id=place.access_key_id,
        aws_secret_access_key=place.secret_access_key,
        config=Config(
            signature_version="s3v4",
            s3={"addressing_style": "virtual" if place.is_virtual_host else "path"},
            proxies={"http": place.proxy, "https": place.proxy} if place.proxy else None,
            connect_timeout=10,
            read_timeout=60,
            retries={"total_max_attempts": 4, "mode": "standard"},
            max_pool_connections=MAX_CONNECTIONS,
            tcp_keepalive=True,
            # newer checksums are AWS's own; other services reject requests that carry them
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
    )


def _parse_time(text: str) -> datetime:
    """As botocore does, in a tenth of the time for what lists contain."""
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except (TypeError, ValueError, AttributeError):
        return cast("datetime", parse_timestamp(text))
