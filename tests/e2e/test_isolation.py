"""From inside a job: what is not its own cannot be seen."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from danlu.client import Client
from danlu.spec.states import JobState
from danlu.testing.serving import RunningServer

PROBE = """
import json, os, socket, urllib.request
from pathlib import Path
data, other, results = os.environ["PROBE_DATA"], os.environ["PROBE_OTHER"], os.environ["PROBE_RESULTS"]
def tries(path):
    try:
        path = Path(path)
        return "seen" if (os.listdir(path) if path.is_dir() else path.read_bytes()) else "empty"
    except OSError:
        return "refused"
found = {
    "database": tries(data + "/server/danlu.db"),
    "key file": tries(data + "/server/secret.key"),
    "logs": tries(data + "/server/logs"),
    "other job": tries(data + "/work/" + other),
    "other output": tries(results),
    "work": sorted(os.listdir(data + "/work")) if os.path.isdir(data + "/work") else [],
}
def writes(path):
    try:
        Path(path).write_text("x")
        return "written"
    except OSError:
        return "refused"
found["write into the system"] = writes("/usr/danlu-was-here")
found["write into the data folder"] = writes(data + "/danlu-was-here")
print(json.dumps(found))
"""


@pytest.fixture
def is_sandboxed(client: Client) -> None:
    if not next(iter(client.nodes())).has_sandbox:
        pytest.skip("bubblewrap does not work on this machine, so jobs are not isolated (and `danlu nodes` says so)")


@pytest.mark.usefixtures("is_sandboxed")
def test_a_job_sees_neither_the_server_nor_other_jobs(client: Client, server: RunningServer, tmp_path: Path) -> None:
    other = client.jobs.submit(name="other", command="echo secret > $DANLU_OUTPUT_DIR/result; sleep 3600")
    (tmp_path / "probe.py").write_text(PROBE)
    job = client.jobs.submit(
        name="probe",
        command="python3 probe.py",
        code={"path": str(tmp_path)},
        env={
            "PROBE_DATA": str(server.data_dir),
            "PROBE_OTHER": other.id,
            "PROBE_RESULTS": str(server.data_dir / "store" / "main" / "jobs"),
        },
    )
    assert job.wait().state is JobState.SUCCEEDED
    (line,) = job.logs()
    other.stop()
    blind = {"refused", "empty"}
    found = json.loads(line.text)
    assert set(found["work"]) <= {job.id}
    assert {found[what] for what in ("database", "key file", "logs", "other job", "other output")} <= blind
    assert found["write into the system"] == "refused"
    assert not (server.data_dir / "danlu-was-here").exists()


@pytest.mark.usefixtures("is_sandboxed")
def test_a_job_cannot_use_its_token_on_others(client: Client, server: RunningServer) -> None:
    """The token is tried from outside: a job has a network of its own and does not reach the server at all."""
    job = client.jobs.submit(name="token", command="cat $DANLU_TOKEN_FILE; echo; sleep 3600")
    token = next(iter(job.logs(follow=True))).text.strip()
    with httpx.Client(base_url=f"{server.url}/api/v1", headers={"Authorization": f"Bearer {token}"}) as http:
        mine = f"/buckets/main/objects/jobs/{job.id}/note"
        assert http.put(mine, content=b"x").status_code == 200
        assert http.put("/buckets/main/objects/jobs/elsewhere", content=b"x").status_code == 403
        assert http.get("/buckets/main/objects", params={"prefix": ""}).status_code == 403
        assert http.get("/jobs").status_code == 403
        assert http.post(f"/jobs/{job.id}/stop").status_code == 403
        job.stop()
        job.wait()
        assert http.put(mine, content=b"x").status_code == 401
