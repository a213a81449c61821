"""Large files: what has arrived is not sent again, and what is stored is what was sent."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from danlu.client import Client, Progress
from danlu.errors import BadChecksum
from danlu.spec.states import JobState
from danlu.testing.serving import RunningServer

MIB = 1 << 20


def test_an_upload_goes_on_where_a_killed_server_left_it(
    make_server: Callable[..., RunningServer], tmp_path: Path
) -> None:
    server = make_server()
    content = os.urandom(24 * MIB)
    (tmp_path / "model.bin").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    with api(server) as http:
        body = {"key": "big/model.bin", "size": len(content), "sha256": digest}
        begun = http.post("/buckets/main/uploads", json=body).json()
        http.put(f"/uploads/{begun['id']}", params={"offset": 0}, content=content[: 10 * MIB])
    server.kill()
    server.start()
    steps: list[Progress] = []
    with server.client() as client:
        client.store.upload(tmp_path / "model.bin", "main/big/", progress=steps.append)
        assert steps[0].done_bytes == 10 * MIB
        assert steps[-1].done_bytes == len(content)
        client.store.download("main/big/model.bin", tmp_path / "back.bin")
    assert (tmp_path / "back.bin").read_bytes() == content


def test_pieces_that_are_not_what_was_announced_are_refused(server: RunningServer) -> None:
    with api(server) as http:
        body = {"key": "big/wrong.bin", "size": 3, "sha256": "0" * 64}
        begun = http.post("/buckets/main/uploads", json=body).json()
        assert http.post(f"/uploads/{begun['id']}/commit").status_code == 409
        http.put(f"/uploads/{begun['id']}", params={"offset": 0}, content=b"abc")
        answer = http.post(f"/uploads/{begun['id']}/commit")
        assert (answer.status_code, answer.json()["error"]) == (422, BadChecksum.__name__)
        assert http.head("/buckets/main/objects/big/wrong.bin").status_code == 404


@pytest.mark.parametrize("offset", [2, 100])
def test_a_piece_cannot_leave_a_gap(server: RunningServer, offset: int) -> None:
    with api(server) as http:
        body = {"key": f"big/gap-{offset}", "size": 200, "sha256": "1" * 64}
        begun = http.post("/buckets/main/uploads", json=body).json()
        assert http.put(f"/uploads/{begun['id']}", params={"offset": offset}, content=b"x").status_code == 409


def test_a_job_brings_a_large_checkpoint_to_the_store(client: Client, tmp_path: Path) -> None:
    script = "head -c 70000000 /dev/zero > $DANLU_MODEL_DIR/big.pt; echo x >> $DANLU_MODEL_DIR/big.pt"
    job = client.jobs.submit(name="large", command=script)
    assert job.wait().state is JobState.SUCCEEDED
    client.store.download(f"{job.output}model/big.pt", tmp_path / "big.pt")
    assert (tmp_path / "big.pt").read_bytes() == bytes(70_000_000) + b"x\n"


def api(server: RunningServer) -> httpx.Client:
    return httpx.Client(
        base_url=f"{server.url}/api/v1", headers={"Authorization": f"Bearer {server.api_key}"}, trust_env=False
    )
