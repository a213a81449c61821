"""Large files between clients and the object service itself, with grants; through the server where that cannot be."""

from __future__ import annotations

import base64
import hashlib
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from tests.support.stores import S3Servers, make_objects
from tests.support.world import Api, World

from danlu.client import Client, Progress
from danlu.errors import BadChecksum
from danlu.spec.paths import StorePath
from danlu.store.objects.base import Objects
from danlu.store.objects.s3 import S3Objects
from danlu.transfer.api import Api as Api_
from danlu.transfer.http_carrier import HttpCarrier
from danlu.transfer.object_download import Incoming, fetch_objects
from danlu.transfer.object_upload import OneProblem, Outgoing, send_objects
from danlu.transfer.retrying import Retry

DATA = random.Random(3).randbytes(40 << 20)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "big.bin"
    path.write_bytes(DATA)
    return path


@pytest.fixture(params=["rclone", "moto", "swift"])
def objects(request: pytest.FixtureRequest, world: World, s3_servers: S3Servers) -> Objects:
    return with_objects(world, make_objects(request.param, s3_servers, world.folder))


def with_objects(world: World, objects: Objects) -> Objects:
    object.__setattr__(world.state, "objects", objects)
    return objects


@pytest.fixture
def client(world: World) -> Iterator[Client]:
    with world.serving() as url, Client(url=url, api_key=world.api_key()) as client:
        yield client


def went_through_the_server(world: World) -> bool:
    return (world.settings.server_dir / "uploads").exists()


def test_up_and_down(world: World, objects: Objects, client: Client, file: Path, tmp_path: Path) -> None:
    seen: list[int] = []
    client.store.upload(file, "main/big.bin", progress=lambda progress: seen.append(progress.done_bytes))
    assert not went_through_the_server(world)
    assert seen[-1] == len(DATA)
    (back,) = client.store.download("main/big.bin", tmp_path / "back.bin")
    assert back.read_bytes() == DATA


def test_what_arrived_is_not_sent_again(world: World, objects: Objects, client: Client, file: Path) -> None:
    digest = hashlib.sha256(DATA).hexdigest()
    with world.serving() as url, Api(url, world.api_key()) as api:
        body = {"key": "big.bin", "size": len(DATA), "sha256": digest, "direct": True}
        begun = api.json("POST", "/buckets/main/uploads", json=body)
        assert (begun["part_bytes"], begun["parts"]) == (16 << 20, [])
        _send(api, begun["id"], 2, DATA[16 << 20 : 32 << 20])
        again = api.json("POST", "/buckets/main/uploads", json=body)
        assert (again["id"], again["parts"], again["offset"]) == (begun["id"], [2], 16 << 20)
        early = api("POST", f"/uploads/{begun['id']}/commit")
        assert (early.status_code, "2 of 3 parts have not arrived, such as part 1" in early.text) == (409, True)
        assert api("PUT", f"/uploads/{begun['id']}?offset=0", content=b"x").status_code == 409
        beyond = api("POST", f"/uploads/{begun['id']}/grants", json={"parts": [{"number": 4, "md5": "A" * 22 + "=="}]})
        assert (beyond.status_code, "part 4 is beyond the last one, 3" in beyond.text) == (422, True)
    seen: list[int] = []
    client.store.upload(file, "main/big.bin", progress=lambda progress: seen.append(progress.done_bytes))
    assert seen[0] == 16 << 20
    with world.serving() as url, Api(url, world.api_key()) as api:
        assert api("GET", f"/uploads/{begun['id']}").status_code == 404
        assert api("HEAD", "/buckets/main/objects/big.bin").headers["X-Danlu-SHA256"] == digest


def _send(api: Api, upload: str, number: int, data: bytes) -> None:
    md5 = base64.b64encode(hashlib.md5(data).digest()).decode()
    (url,) = api.json("POST", f"/uploads/{upload}/grants", json={"parts": [{"number": number, "md5": md5}]})["urls"]
    headers = {"Content-MD5": md5, "Content-Type": "application/octet-stream"}
    assert httpx.put(url, content=data, headers=headers, timeout=None).status_code == 200


def test_a_service_that_clients_do_not_reach(
    world: World, s3_servers: S3Servers, client: Client, file: Path, tmp_path: Path
) -> None:
    """Only the server has a proxy to it; the name of its host means nothing elsewhere."""
    with_objects(world, make_objects("virtual-host", s3_servers, tmp_path))
    client.store.upload(file, "main/big.bin")
    (back,) = client.store.download("main/big.bin", tmp_path / "back.bin")
    assert back.read_bytes() == DATA


def test_a_server_that_gives_no_grants(
    world: World, s3_servers: S3Servers, client: Client, file: Path, tmp_path: Path
) -> None:
    place = s3_servers.get("rclone").below("no-grants")
    with_objects(world, S3Objects(replace(place), tmp_path / "spool"))
    client.store.upload(file, "main/big.bin")
    assert went_through_the_server(world)
    (back,) = client.store.download("main/big.bin", tmp_path / "back.bin")
    assert back.read_bytes() == DATA


class TestJobs:
    """The same with the token of a job, by the carrier that nodes have."""

    def move(self, world: World, file: Path, to: Path) -> HttpCarrier:
        job_id = world.started()
        with world.serving() as url:
            carrier = HttpCarrier(url, world.job_token(job_id))
            api = Api_(carrier, Retry(30.0))
            output = Outgoing(str(file), "main", f"jobs/{job_id}/big.bin", len(DATA))
            fates: list[OneProblem | None] = []
            send_objects(api, [output], done=lambda _, problem: fates.append(problem))
            assert fates == [None]
            reader = HttpCarrier(url, world.api_key())
            fetch_objects(Api_(reader, Retry(30.0)), [Incoming("main", output.key, str(to), len(DATA))])
            for one in (carrier, reader):
                one.close()
        assert to.read_bytes() == DATA
        assert carrier.reaches_services == reader.reaches_services
        return carrier

    def test_parts_go_there_and_ranges_come_back(
        self, world: World, objects: Objects, file: Path, tmp_path: Path
    ) -> None:
        assert self.move(world, file, tmp_path / "back.bin").reaches_services
        assert not went_through_the_server(world)

    def test_through_the_server_where_the_service_is_out_of_reach(
        self, world: World, s3_servers: S3Servers, file: Path, tmp_path: Path
    ) -> None:
        with_objects(world, make_objects("virtual-host", s3_servers, tmp_path))
        assert not self.move(world, file, tmp_path / "back.bin").reaches_services
        assert went_through_the_server(world)


def test_a_file_that_changes_is_not_stored(world: World, objects: Objects, client: Client, file: Path) -> None:
    """The server does not see the bytes, so it could not notice."""

    def change(_: Progress) -> None:
        with file.open("r+b") as opened:
            opened.seek(len(DATA) - 100)
            opened.write(b"other")

    with pytest.raises(BadChecksum, match=r"big\.bin changed while it was sent"):
        client.store.upload(file, "main/big.bin", progress=change)
    assert not client.store.exists("main/big.bin")


def test_only_who_may_read_gets_a_grant(world: World, objects: Objects) -> None:
    writer = objects.put(StorePath("main", "secret"))
    writer.write(b"x")
    writer.commit()
    stranger = world.api_key(world.add_user("bob", "bobs"))
    with world.serving() as url, Api(url, stranger, **{"X-Danlu-Direct": "yes"}) as other:
        assert other("GET", "/buckets/main/objects/secret").status_code == 404
    with world.serving() as url, Api(url, world.api_key(), **{"X-Danlu-Direct": "yes"}) as mine:
        assert mine("GET", "/buckets/main/objects/secret").status_code == 307
