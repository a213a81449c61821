"""What all tests share: a real server in a process of its own, and a whole Danlu in this one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from danlu.client import Client
from danlu.testing import preloaded, waiting
from danlu.testing.postgres import Postgres, find_binaries, running_postgres
from danlu.testing.serving import RunningServer

sys.path.insert(0, str(Path(__file__).parents[1]))  # tests share what is in tests/fakes and tests/support

from tests.support.databases import KINDS, Databases
from tests.support.stores import S3Servers
from tests.support.world import Api, World, make_world


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew; read the diff after")
    parser.addoption("--hang-seconds", type=float, help="how long to wait for what does not come; short where it fails")
    parser.addoption("--database", choices=KINDS, default="sqlite", help="what tests run on that do not ask for both")


def pytest_configure(config: pytest.Config) -> None:
    preloaded.turn_on()
    if config.getoption("--hang-seconds"):
        waiting.HANG_SECONDS = config.getoption("--hang-seconds")


def pytest_unconfigure() -> None:
    preloaded.turn_off()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One PostgreSQL for all tests; each test has databases of its own in it."""
    if find_binaries() is None:
        pytest.skip("PostgreSQL is not installed; scripts/system-packages.sh tests installs it")
    with running_postgres() as running:
        yield running


@pytest.fixture(params=KINDS)
def databases(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Databases]:
    """A test that asks for this runs on SQLite and on PostgreSQL."""
    folder = tmp_path / "databases"
    folder.mkdir()
    found = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    made = Databases(str(request.param), folder, found)
    yield made
    made.drop()


@pytest.fixture(scope="session")
def s3_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Servers]:
    with S3Servers(tmp_path_factory.mktemp("s3")) as servers:
        yield servers


@pytest.fixture
def database_kind(request: pytest.FixtureRequest) -> str:
    """What a world's database is. A module whose tests are to run on both has one of this name with parameters."""
    return str(request.config.getoption("--database"))


@pytest.fixture
def world(request: pytest.FixtureRequest, tmp_path: Path, database_kind: str) -> Iterator[World]:
    """Everything but processes: the engine does what the test says."""
    if database_kind == "sqlite":
        with make_world(tmp_path / "data") as made:
            yield made
        return
    chosen = Databases(database_kind, tmp_path, request.getfixturevalue("postgres"))
    with make_world(tmp_path / "data", database_url=chosen.url()) as made:
        yield made
    chosen.drop()


@pytest.fixture
def api(world: World) -> Iterator[Api]:
    """The world over HTTP, with the rights of the admin."""
    with world.serving() as url, Api(url, world.api_key()) as made:
        yield made


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """One server for all tests that do not hurt it. It pretends to have 8 NPUs."""
    running = RunningServer(tmp_path_factory.mktemp("shared") / "data", "--simulate", "npu:910b:8").start()
    yield running
    end_server(running)


@pytest.fixture
def client(server: RunningServer) -> Iterator[Client]:
    with server.client() as client:
        yield client


@pytest.fixture
def make_server(tmp_path: Path) -> Iterator[Callable[..., RunningServer]]:
    """Start servers of one's own, to be killed and restarted."""
    made: list[RunningServer] = []

    def make(*options: str) -> RunningServer:
        made.append(RunningServer(tmp_path / f"data{len(made)}", *options).start())
        return made[-1]

    yield make
    for running in made:
        end_server(running)


def end_server(running: RunningServer) -> None:
    """Stop what is left of jobs, then the server: tests leave nothing running."""
    if not running.is_running:
        running.start()
    stop_jobs(running)
    running.stop()


def stop_jobs(running: RunningServer) -> None:
    """End what runs and waits: nothing holds devices that what comes next needs."""
    with running.client() as client:
        left = list(client.jobs.list(all=False))
        client.jobs.stop(left)
        for job in left:
            job.wait()
