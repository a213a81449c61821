"""Inside a job the server is there, and the job is somebody: SDK and command line need no configuration."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from danlu.client import Client
from danlu.testing.serving import RunningServer

WHO = """
import danlu
me = danlu.Client().me()
print("sdk", me.job, me.attempt, me.name, me.is_admin)
"""
PIPELINE = """
import danlu
client = danlu.Client()
print([bucket.name for bucket in client.store.buckets()])
with open("train.py", "w") as file:
    file.write("print('hello from the child')")
child = client.jobs.submit(name="child", command="python3 train.py", code={"path": "."})
child.wait()
print(child.state, [str(line) for line in child.logs()])
try:
    client.jobs.submit(name="child", command="true", access="owner")
except danlu.errors.InvalidSpec as error:
    print(error.fields)
"""
REACH = r"""
import os, re, socket, urllib.parse
server = urllib.parse.urlsplit(os.environ["DANLU_URL"])
def say(text):
    with socket.create_connection((server.hostname, server.port), timeout=30) as line:
        line.sendall(text.replace("\n", "\r\n").encode())
        answer = b""
        while piece := line.recv(65536):
            answer += piece
    return answer.split(b"\r\n")[0].split()[1].decode() + " x%d" % len(re.findall(rb"HTTP/1.1 \d", answer))
tries = {
    "api": "GET /api/v1/health HTTP/1.1\nHost: x\n\n",
    "console": "GET / HTTP/1.1\nHost: x\n\n",
    "sign-in page": "GET /signin HTTP/1.1\nHost: x\n\n",
    "dots": "GET /api/v1/../../signin HTTP/1.1\nHost: x\n\n",
    "quoted dots": "GET /api/v1/%2e%2e/%2e%2e/signin HTTP/1.1\nHost: x\n\n",
    "backslashes": "GET /api/v1/..%5c..%5csignin HTTP/1.1\nHost: x\n\n",
    "sign in": "POST /api/v1/session HTTP/1.1\nHost: x\nContent-Length: 2\n\n{}",
    "absolute": "GET http://127.0.0.1/api/v1/health HTTP/1.1\nHost: x\n\n",
    "connect": "CONNECT 127.0.0.1:22 HTTP/1.1\nHost: x\n\n",
    "two lengths": "POST /api/v1/jobs HTTP/1.1\nHost: x\nContent-Length: 1\nContent-Length: 40\n\n{",
    "length and chunks": "POST /api/v1/jobs HTTP/1.1\nContent-Length: 4\nTransfer-Encoding: chunked\n\n0\n\n",
    "second request": "GET /api/v1/health HTTP/1.1\nHost: x\n\nGET /signin HTTP/1.1\nHost: x\n\n",
    "host header": "GET /api/v1/me HTTP/1.1\nHost: evil.example\n\n",
}
for name, text in tries.items():
    print(name, say(text))
for host, port in (("127.0.0.1", int(os.environ["PROBE_PORT"])), (server.hostname, int(os.environ["PROBE_PORT"]))):
    try:
        socket.create_connection((host, port), timeout=5).close()
        print("reached", host)
    except OSError:
        print("not reached", host)
"""
REACHED = """
api 200 x1
console 403 x1
sign-in page 403 x1
dots 403 x1
quoted dots 403 x1
backslashes 403 x1
sign in 403 x1
absolute 400 x1
connect 400 x1
two lengths 400 x1
length and chunks 400 x1
second request 200 x1
host header 401 x1
not reached 127.0.0.1
not reached 10.88.255.254
"""


def test_the_sdk_and_the_command_line_know_which_job_they_are_in(client: Client) -> None:
    job = client.jobs.submit(name="who", command=["bash", "-c", f"python3 -c '{WHO}'; danlu whoami"], nodes=2)
    job.wait()
    lines = sorted(str(line) for line in job.logs())
    assert job.state == "succeeded", lines
    assert lines.count(f"sdk {job.id} 1 admin False") == 2
    assert lines.count("  access own") == 2
    assert len([line for line in lines if line.startswith(f"{job.id} attempt 1, a job of admin in ")]) == 2


OLD = """
import os, sys
from t9k import em
if os.environ["DANLU_RANK"] != "0":
    sys.exit()
em.login(ais_host="https://home.example.org/t9k/aistore", api_key="<your key>")
run = em.create_run(name="mnist_torch", hparams={"lr": 0.1})
run.log(type="train", metrics={"loss": 0.5}, step=1)
with open("model.pt", "w") as file:
    file.write("weights")
model = em.create_artifact(name="mnist_model")
model.add_file("model.pt")
run.mark_output(model)
run.finish()
run.upload(folder="inside", make_folder=True)
"""
TRACK = """
import danlu
from danlu import track
run = track.start(name="tracked")
run.log({"loss": 0.25}, step=1)
artifact = track.artifact("tracked-files")
open("file.txt", "w").write("text")
artifact.add_file("file.txt")
artifact.finish()
print("artifact", artifact.upload(), artifact.version)
run.finish()
print("run", run.upload())
print("token", danlu.inside_job().token()[:3])
"""


def test_scripts_for_experiment_management_run_as_they_are(client: Client) -> None:
    job = client.jobs.submit(name="em", command=["python3", "-c", OLD], nodes=2, env={"T9K_API_KEY": "xxx"})
    assert job.wait().state == "succeeded", [str(line) for line in job.logs()]
    runs = {run.name: run for run in client.runs.list(f"job = '{job.id}'")}
    assert runs["mnist_torch"].folder == "inside"
    assert runs["mnist_torch"].metrics[0].last == 0.5
    assert client.artifacts.get("inside/mnist_model").num_files == 1


def test_what_is_tracked_can_be_waited_for(client: Client) -> None:
    job = client.jobs.submit(name="track", command=["python3", "-c", TRACK])
    job.wait()
    assert [str(line) for line in job.logs()] == ["artifact True 1", "run True", "token jt-"]


def test_the_api_is_reached_and_nothing_else(client: Client, server: RunningServer) -> None:
    if not next(iter(client.nodes())).has_own_network:
        pytest.skip("jobs have no network of their own here, and `danlu nodes` says so")
    port = server.url.rpartition(":")[2]
    job = client.jobs.submit(name="reach", command=["python3", "-c", REACH], env={"PROBE_PORT": port})
    job.wait()
    assert [str(line) for line in job.logs()] == REACHED.strip().splitlines()


@pytest.mark.parametrize("option", ["--no-sandbox", "--no-own-network"])
def test_without_a_network_of_its_own_a_job_is_itself_too(
    make_server: Callable[..., RunningServer], option: str
) -> None:
    with make_server(option).client() as client:
        job = client.jobs.submit(name="who", command=["python3", "-c", WHO], nodes=2)
        job.wait()
        assert [str(line) for line in job.logs()] == [f"sdk {job.id} 1 admin False"] * 2


def test_a_job_that_acts_for_its_owner_submits_jobs(client: Client) -> None:
    job = client.jobs.submit(name="pipeline", command=["python3", "-c", PIPELINE], access="owner")
    job.wait()
    lines = [str(line) for line in job.logs()]
    assert lines[1] == "succeeded ['hello from the child']"
    assert lines[2].startswith("{'access': \"expected own, got 'owner': train-")


def test_a_job_does_what_it_may_and_no_more(client: Client) -> None:
    script = """
import danlu
client = danlu.Client()
client.runs.push(client.me().job, {"loss": 0.5}, step=1)
for what, do in {
    "jobs": lambda: list(client.jobs.list()),
    "submit": lambda: client.jobs.submit(name="x", command="true"),
    "keys": lambda: list(client.keys.list()),
}.items():
    try:
        do()
        print(what, "done")
    except danlu.errors.NotAllowed as error:
        print(what, "refused")
"""
    job = client.jobs.submit(name="may", command=["python3", "-c", script])
    job.wait()
    lines = [str(line) for line in job.logs()]
    assert lines == ["jobs refused", "submit refused", "keys refused"]
    (own,) = client.runs.list(f"job = '{job.id}'")
    assert own.metrics[0].last == 0.5
