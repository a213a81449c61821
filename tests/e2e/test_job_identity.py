"""Inside a job the server is there, and the job is somebody: SDK and command line need no configuration."""

from __future__ import annotations

from danlu.client import Client

WHO = """
import danlu
me = danlu.Client().me()
print("sdk", me.job, me.attempt, me.name, me.is_admin)
"""
REACH = """
import os, urllib.request, urllib.error
base = os.environ["DANLU_URL"]
for path in ("/api/v1/health", "/signin", "/"):
    try:
        print(path, urllib.request.urlopen(base + path).status)
    except urllib.error.HTTPError as error:
        print(path, error.code)
"""


def test_the_sdk_and_the_command_line_know_which_job_they_are_in(client: Client) -> None:
    job = client.jobs.submit(name="who", command=["bash", "-c", f"python3 -c '{WHO}'; danlu whoami"], nodes=2)
    job.wait()
    lines = sorted(str(line) for line in job.logs())
    assert job.state == "succeeded", lines
    assert lines.count(f"sdk {job.id} 1 admin False") == 2
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


def test_the_api_is_reached_and_nothing_else(client: Client) -> None:
    job = client.jobs.submit(name="reach", command=["python3", "-c", REACH])
    job.wait()
    assert [str(line) for line in job.logs()] == ["/api/v1/health 200", "/signin 403", "/ 403"]


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
