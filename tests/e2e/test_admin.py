"""`danlu admin`, on real servers: a backup while one runs, its way back, and the move to PostgreSQL and S3."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.databases import Databases
from tests.support.stores import S3Servers
from tests.support.team import s3_env

from danlu.client import Client
from danlu.spec.states import JobState
from danlu.testing.postgres import Postgres
from danlu.testing.serving import RunningServer


def admin(*words: str, data_dir: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DANLU_")}
    command = [sys.executable, "-m", "danlu", "admin", *words, "--data-dir", str(data_dir)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**clean, **(env or {})})


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    running = RunningServer(tmp_path / "data").start()
    yield running
    running.stop()


def use(client: Client, folder: Path) -> str:
    """Leave something of everything, and return the job's id."""
    (folder / "code").mkdir()
    (folder / "code" / "main.py").write_text("import os; print('secret is', len(os.environ['PASS']))")
    (folder / "input.bin").write_bytes(b"in" * 1000)
    client.store.upload(folder / "input.bin", "main/raw/")
    job = client.jobs.submit(
        name="first",
        command="python3 main.py && echo made > $DANLU_OUTPUT_DIR/made.txt",
        code={"path": str(folder / "code")},
        secrets={"PASS": "hunter2"},
    )
    assert job.wait().state is JobState.SUCCEEDED
    return job.id


def check(server: RunningServer, job_id: str, folder: Path) -> None:
    """All is as it was, and the job can be run once more: its code, its secrets and its inputs are there."""
    with server.client() as client:
        job = client.jobs.get(job_id)
        assert [line.text.strip() for line in job.logs()] == ["secret is 7"]
        (made,) = client.store.download(f"{job.output}made.txt", folder / uuid.uuid4().hex)
        assert made.read_text() == "made\n"
        assert client.store.size("main/raw/input.bin") == 2000
        again = job.start().wait()
        assert again.state is JobState.SUCCEEDED, again.reason


def test_a_backup_of_a_running_server_and_its_way_back(server: RunningServer, tmp_path: Path) -> None:
    with server.client() as client:
        job_id = use(client, tmp_path)
    done = admin("backup", "--with-key", str(tmp_path / "b.zip"), data_dir=server.data_dir)
    assert done.returncode == 0, done.stderr
    assert "a list of 4 objects" in done.stdout
    busy = admin("restore", str(tmp_path / "b.zip"), data_dir=server.data_dir)
    assert busy.returncode == 1
    assert "another Danlu server uses" in busy.stderr
    server.stop()

    fresh = RunningServer(tmp_path / "fresh")
    poor = admin("restore", str(tmp_path / "b.zip"), data_dir=tmp_path / "poor")
    assert (poor.returncode, "4 objects are missing; copy them into the store" in poor.stderr) == (1, True)
    for part in ("store", "server/blobs", "server/metrics", "server/runs", "server/logs"):
        if (server.data_dir / part).exists():
            shutil.copytree(server.data_dir / part, fresh.data_dir / part)
    done = admin("restore", str(tmp_path / "b.zip"), data_dir=fresh.data_dir)
    assert (done.returncode, done.stderr) == (0, "")
    assert "4 of 4 objects found" in done.stdout
    fresh.api_key = server.api_key
    try:
        check(fresh.start(), job_id, tmp_path)
    finally:
        fresh.stop()


def test_without_its_key_a_backup_is_not_restored(server: RunningServer, tmp_path: Path) -> None:
    assert admin("backup", str(tmp_path / "b.zip"), data_dir=server.data_dir).returncode == 0
    done = admin("restore", str(tmp_path / "b.zip"), data_dir=tmp_path / "fresh")
    assert done.returncode == 1
    assert "put the secret.key of the server that was backed up there" in done.stderr


@pytest.mark.long
def test_the_move_to_postgresql_and_s3(
    server: RunningServer, tmp_path: Path, postgres: Postgres, s3_servers: S3Servers
) -> None:
    databases = Databases("postgresql", tmp_path, postgres)
    env = {
        "DANLU_SERVER_DATABASE_URL": databases.empty(),
        **s3_env(s3_servers.get("rclone").below(uuid.uuid4().hex)),
    }
    with server.client() as client:
        job_id = use(client, tmp_path)
    early = admin("migrate-store", "--objects-only", data_dir=server.data_dir, env=env)
    assert (early.returncode, "4 objects copied" in early.stdout) == (0, True), early.stderr
    running = admin("migrate-store", data_dir=server.data_dir, env=env)
    assert (running.returncode, "another Danlu server uses" in running.stderr) == (1, True)
    server.stop()
    done = admin("migrate-store", data_dir=server.data_dir, env=env)
    assert (done.returncode, "0 objects copied (0 B), 4 were there" in done.stdout) == (0, True), done.stderr
    with pytest.raises(RuntimeError, match="this database was moved to postgresql"):
        server.start()
    shutil.rmtree(server.data_dir / "store")
    shutil.rmtree(server.data_dir / "server" / "blobs")
    server.env = env
    check(server.start(), job_id, tmp_path)
    shown = admin("clean", "--dry-run", data_dir=server.data_dir, env=env)
    assert (shown.returncode, shown.stdout) == (0, "0 things, 0 B, would be removed\n"), shown.stderr
    server.stop()
    databases.drop()
