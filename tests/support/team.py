"""Two servers on one PostgreSQL, one S3 service and one data folder, behind a balancer."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.databases import Databases
from tests.support.stores import S3Servers

from danlu.client import Client
from danlu.spec.states import is_over
from danlu.store.objects.s3_place import S3Place
from danlu.testing.balancer import Balancer
from danlu.testing.postgres import Postgres
from danlu.testing.serving import RunningServer


@dataclass
class Team:
    servers: tuple[RunningServer, RunningServer]
    balancer: Balancer
    env: dict[str, str]

    def client(self) -> Client:
        """Through the balancer: whichever server is there answers."""
        return Client(url=self.balancer.url, api_key=self.servers[0].api_key)

    def end(self) -> None:
        self.servers[1].kill()
        if not self.servers[0].is_running:
            self.servers[0].start()
        self.balancer.serve(self.servers[0].url)
        with self.servers[0].client() as client:
            left = [job.id for job in client.jobs.list() if not is_over(job.state)]
            if left:
                client.jobs.stop(left)
                for job_id in left:
                    client.jobs.get(job_id).wait()
        self.servers[0].stop()


def s3_env(place: S3Place) -> dict[str, str]:
    """The settings of a server whose objects are there."""
    return {
        "DANLU_SERVER_OBJECTS_URL": f"s3://{place.bucket}/{place.prefix}",
        "DANLU_SERVER_S3_ENDPOINT": place.endpoint,
        "DANLU_SERVER_S3_REGION": place.region,
        "DANLU_SERVER_S3_ACCESS_KEY_ID": place.access_key_id,
        "DANLU_SERVER_S3_SECRET_ACCESS_KEY": place.secret_access_key,
    }


@contextmanager
def running_team(folder: Path, postgres: Postgres, s3_servers: S3Servers) -> Iterator[Team]:
    databases = Databases("postgresql", folder, postgres)
    balancer = Balancer()
    env = {
        "DANLU_SERVER_DATABASE_URL": databases.empty(),
        "DANLU_SERVER_PUBLIC_URL": balancer.url,
        **s3_env(s3_servers.get("rclone").below(uuid.uuid4().hex)),
    }
    servers = (
        RunningServer(folder / "data", "--simulate", "npu:910b:8", name="a"),
        RunningServer(folder / "data", "--simulate", "npu:910b:8", name="b"),
    )
    team = Team(servers, balancer, env)
    try:
        for server in servers:
            server.env = env
        servers[0].start()
        servers[1].api_key = servers[0].api_key
        servers[1].start()
        balancer.serve(*(server.url for server in servers))
        yield team
    finally:
        team.end()
        balancer.close()
        databases.drop()
