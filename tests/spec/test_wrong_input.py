"""Wrong input, and the sentence its writer reads: the field, the value, and what is expected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.world import Api, make_world

from danlu.errors import InvalidSpec, all_errors
from danlu.spec.job import parse_job

NAN = float("nan")
NO_NAME = "expected 1 to 100 characters without '/' or surrounding spaces, got"
NO_BUCKET = "expected a bucket name of 3 to 63 lower-case letters, digits, dots and dashes, got"
NO_DURATION = "expected a duration such as 90s, 15m, 2h or 1d, got"
NO_SIZE = "expected a size such as 512MB, 4GB or 16GiB, got"
NO_DEVICE = "expected TYPE[:MODEL][:COUNT], such as gpu:2 or npu:910b:8, got"
NO_VARIABLE = "expected a variable name (letters, digits and '_', not starting with a digit), got"
NO_JOB_PATH = "expected a path in the job, such as images or /opt/ml/input/data/images, got"
SYSTEM = "expected a path such as /opt/ml/input/data/... or /data/..., got the system folder"
BOTH = "expected either command or roles, got both: each role has its own command"
ROLES = "{ps: {command: ...}, worker: {command: ..., count: 2}}"
NO_VALUE = "NUL characters and lone surrogates are not allowed"

SPECS: list[tuple[dict[str, Any], str]] = [
    # name
    ({"name": ""}, f"name: {NO_NAME} ''"),
    ({"name": " train"}, f"name: {NO_NAME} ' train'"),
    ({"name": "team/train"}, f"name: {NO_NAME} 'team/train'"),
    ({"name": "train-17"}, "name: 'train-17' looks like a job id; choose another name"),
    ({"name": 5}, "name: expected text, got 5; put it in quotes"),
    ({"name": None}, "name: expected text, got null"),
    ({"name": "bell\x07"}, "name: 'bell\\x07' contains control characters or lone surrogates"),
    # command and setup
    ({"command": ""}, "command: expected a command, got an empty one"),
    ({"command": []}, "command: expected a command, got an empty one"),
    ({"command": ["  "]}, "command: expected a command, got an empty one"),
    ({"command": 5}, "command: expected a shell line or a list of words, got 5"),
    ({"command": {"run": "x"}}, "command: expected a shell line or a list of words, got a mapping"),
    ({"command": ["python", 1]}, "command: expected text as word 2, got 1; put it in quotes"),
    ({"command": "a\0b"}, f"command: {NO_VALUE}"),
    ({"setup": ["pip install x"]}, "setup: expected text, got a list"),
    # nodes, launch
    ({"nodes": 0}, "nodes: expected at least 1, got 0"),
    ({"nodes": 5000}, "nodes: expected at most 4096, got 5000"),
    ({"nodes": "two"}, "nodes: expected a whole number, got 'two'"),
    ({"nodes": 1.5}, "nodes: expected a whole number, got 1.5"),
    ({"nodes": True}, "nodes: expected a number, got true"),
    ({"nodes": [2]}, "nodes: expected a whole number, got a list"),
    (
        {"launch": "torchrun"},
        "launch: expected one of ascend, colossalai, ddp, deepspeed, horovod, mpi, plain, ps_worker, ray, "
        "got 'torchrun'",
    ),
    ({"launch": "DDP"}, "launch: unknown value 'DDP'; did you mean 'ddp'?"),
    # roles, success
    ({"roles": {"ps": {"command": "x"}}}, f"command: {BOTH}"),
    ({"command": None, "roles": {}}, "command: this field is required"),
    ({"command": None, "roles": ["ps"]}, f"roles: expected a mapping such as {ROLES}, got a list"),
    (
        {"command": None, "roles": {"ps": 2}},
        "roles.ps: expected a mapping such as {command: ..., count: 2}, got 2",
    ),
    (
        {"command": None, "roles": {"Worker": {}}},
        "roles.Worker: expected a role of up to 20 lower-case letters and digits, such as worker, got 'Worker'",
    ),
    (
        {"command": None, "roles": {"ps": {"nodes": 2}}},
        "roles.ps.nodes: unknown field of a job; expected one of command, count, env, flavor, resources",
    ),
    ({"command": None, "roles": {"ps": {"count": 0}}}, "roles.ps.count: expected at least 1, got 0"),
    (
        {"command": None, "roles": {"ps": {"resources": {"device": 2}}}},
        f"roles.ps.resources.device: {NO_DEVICE} '2'",
    ),
    (
        {"command": None, "roles": {"ps": {"count": 2}}, "nodes": 3},
        "nodes: expected 2, the sum of the roles, got 3; leave it out",
    ),
    (
        {"command": None, "roles": {"ps": {}}, "resources": {"device": "gpu"}},
        "resources: with roles, resources belong to each role",
    ),
    (
        {"command": None, "roles": {"ps": {"env": {"A": 1}}}, "secrets": {"A": "hunter2"}},
        "secrets: A is also in env; use one of them",
    ),
    (
        {"success": "worker 0"},
        "success: expected all, any, chief, a role, or one task such as worker-0, got 'worker 0'",
    ),
    # resources
    (
        {"resources": "gpu:2"},
        "resources: expected a mapping such as {device: gpu:2, memory: 16GB}, got 'gpu:2'",
    ),
    ({"resources": {"gpus": 2}}, "resources.gpus: unknown field of a job; expected device: gpu:2"),
    ({"resources": {"device": "2 gpus"}}, f"resources.device: {NO_DEVICE} '2 gpus'"),
    ({"resources": {"device": 2}}, f"resources.device: {NO_DEVICE} '2'"),
    (
        {"resources": {"device": "gpu:0"}},
        "resources.device: expected 1 to 1024 devices per node, got 'gpu:0'",
    ),
    (
        {"resources": {"device": {"type": "gpu", "count": 0}}},
        "resources.device: expected 1 to 1024 devices per node, got 'gpu:0'",
    ),
    ({"resources": {"cpus": 0}}, "resources.cpus: expected more than 0, got 0"),
    ({"resources": {"cpus": "many"}}, "resources.cpus: expected a number, got 'many'"),
    ({"resources": {"cpus": NAN}}, "resources.cpus: expected a finite number, got nan"),
    ({"resources": {"memory": "4 gigs"}}, f"resources.memory: {NO_SIZE} '4 gigs'"),
    ({"resources": {"memory": True}}, f"resources.memory: {NO_SIZE} true"),
    ({"resources": {"memory": 0}}, "resources.memory: expected at least 1, got 0"),
    (
        {"resources": {"memory": "9" * 400}},
        f"resources.memory: expected a size below 8 EiB, got '{'9' * 40}'",
    ),
    # code, data, output
    ({"code": 5}, "code: expected a mapping such as {path: .}, got 5"),
    ({"code": {}}, "code: expected one of path, git, store or tree, got none"),
    ({"code": {"path": ".", "store": "main/a"}}, "code: expected one of path, git, store or tree, got path, store"),
    ({"code": {"tree": "abc"}}, "code: tree: expected 64 hexadecimal digits, got 'abc'"),
    (
        {"code": {"folder": "."}},
        "code.folder: unknown field of a job; expected one of diff, git, path, ref, store, tree",
    ),
    (
        {"code": {"git": "train.git"}},
        "code: git: expected an address such as https://example.com/team/train.git, got 'train.git'",
    ),
    (
        {"code": {"path": ".", "ref": "main"}},
        "code: ref: expected git as well: it belongs to a repository, got 'main'",
    ),
    (
        {"code": {"git": "https://a/b", "ref": "--upload-pack=x"}},
        "code: ref: expected a branch, tag or commit, got '--upload-pack=x'",
    ),
    ({"code": {"store": "Main/a"}}, f"code.store: {NO_BUCKET} 'Main'"),
    (
        {"data": ["main/a"]},
        "data: expected a mapping such as {store://main/images: images}, got a list",
    ),
    ({"data": {"main/../a": "x"}}, "data.main/../a: invalid key '../a': '..' is not allowed in a path"),
    ({"data": {"main//a": "x"}}, "data.main//a: invalid key '/a': empty, or an extra '/'"),
    ({"data": {"main/a": ""}}, f"data.main/a: {NO_JOB_PATH} ''"),
    ({"data": {"main/a": "../x"}}, "data.main/a: '../x' is outside of the job's data folder; remove '..'"),
    ({"data": {"main/a": "/etc/x"}}, f"data.main/a: {SYSTEM} '/etc/x'"),
    ({"data": {"main/a": "/"}}, f"data.main/a: {SYSTEM} '/'"),
    ({"data": {"main/a": None}}, "data.main/a: expected text, got null"),
    (
        {"data": {"main/a": "x", "main/b": "x"}},
        "data: 'x' is the target of two inputs",
    ),
    ({"output": "s3://main/a"}, "output: expected a store path such as store://bucket/folder, got 's3://main/a'"),
    ({"output": "ab"}, f"output: {NO_BUCKET} 'ab'"),
    # env, hyperparameters, tags, secrets
    ({"env": ["A=1"]}, "env: expected a mapping such as {BATCH: 64}, got a list"),
    ({"env": "A=1"}, "env: expected a mapping such as {BATCH: 64}, got 'A=1'"),
    ({"env": {"1A": "x"}}, f"env.1A: {NO_VARIABLE} '1A'"),
    ({"env": {"DANLU_X": "x"}}, "env.DANLU_X: 'DANLU_X' is reserved: names that start with DANLU_ are set by Danlu"),
    ({"env": {"A": None}}, "env.A: expected text, got null"),
    ({"env": {"A": ["x"]}}, "env.A: expected text, got a list"),
    ({"env": {"A": "x\0"}}, f"env.A: {NO_VALUE}"),
    ({"hyperparameters": "lr=1"}, "hyperparameters: expected a mapping such as {lr: 0.1}, got 'lr=1'"),
    ({"hyperparameters": {"lr": NAN}}, "hyperparameters: lr: nan is not a number in JSON; put it in quotes"),
    ({"hyperparameters": {"a": [{"b": "\ud800"}]}}, "hyperparameters: 'a.0.b': lone surrogates are not allowed"),
    ({"tags": ["a"]}, "tags: expected a mapping such as {team: vision}, got a list"),
    ({"tags": {"a": "x" * 201}}, "tags.a: expected at most 200 characters, got 201"),
    ({"secrets": {"A": "x"}, "env": {"A": "y"}}, "secrets: A is also in env; use one of them"),
    ({"secrets": "A=hunter2"}, "secrets: expected a mapping such as {HF_TOKEN: ...}"),
    ({"secrets": {"A": ["hunter2"]}}, "secrets.A: expected text"),
    # when and how often
    ({"priority": 101}, "priority: expected at most 100, got 101"),
    ({"priority": "high"}, "priority: expected a whole number, got 'high'"),
    ({"retry": 3}, "retry: expected a mapping such as {max: 3, on: [lost]}, got 3"),
    ({"retry": {"max": -1}}, "retry.max: expected at least 0, got -1"),
    ({"retry": {"on": "lost"}}, "retry.on: expected a list, got 'lost'"),
    ({"retry": {"on": ["losst"]}}, "retry.on: unknown reason 'losst'; did you mean 'lost'?"),
    ({"retry": {"backoff": "soon"}}, f"retry.backoff: {NO_DURATION} 'soon'"),
    ({"retry": {"times": 3}}, "retry.times: unknown field of a job; expected one of backoff, max, on"),
    ({"max_duration": "2 hours"}, f"max_duration: {NO_DURATION} '2 hours'"),
    ({"max_duration": -5}, "max_duration: expected at least 0, got -5"),
    ({"max_wait": True}, f"max_wait: {NO_DURATION} true"),
    ({"grace": "-1s"}, f"grace: {NO_DURATION} '-1s'"),
    ({"grace": float("inf")}, "grace: expected at most 315360000, got inf"),
    # the whole
    ({"comand": "x"}, "comand: unknown field of a job; did you mean 'command'?"),
    (
        {"nodes": 0, "priority": -1},
        "nodes: expected at least 1, got 0; priority: expected at least 0, got -1",
    ),
]


@pytest.mark.parametrize(
    ("changes", "told"), SPECS, ids=lambda value: str(value)[:40].encode("ascii", "replace").decode()
)
def test_a_wrong_job_is_refused_with_a_sentence(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidSpec) as refused:
        parse_job({"name": "shapes", "command": "python train.py", **changes})
    assert refused.value.message == f"invalid job: {told}"
    assert "hunter2" not in str(refused.value.to_wire())


def test_a_job_without_anything_names_what_must_be_given() -> None:
    with pytest.raises(InvalidSpec) as refused:
        parse_job({})
    assert refused.value.fields == {"name": "this field is required", "command": "this field is required"}


USED = "invalid request: "
JSON = {"Content-Type": "application/json"}
DIGEST = "a" * 64


def job(**changes: Any) -> dict[str, Any]:
    return {"json": {"spec": {"name": "shapes", "command": "x", **changes}}}


REQUESTS: list[tuple[str, dict[str, Any], int, str]] = [
    ("POST /jobs", {"json": {}}, 422, f"{USED}spec: this field is required"),
    ("POST /jobs", {"json": []}, 422, f"{USED}body: expected a mapping, got a list"),
    ("POST /jobs", {"content": b""}, 422, f"{USED}body: this field is required"),
    (
        "POST /jobs",
        {"content": b'{"a" 1}', "headers": JSON},
        422,
        f"{USED}body: it is not JSON: Expecting ':' delimiter at character 5",
    ),
    (
        "POST /jobs",
        {"json": {"spec": "train"}},
        422,
        f"{USED}spec: expected a mapping such as {{name: ..., command: ...}}, got 'train'",
    ),
    ("POST /jobs", {"json": {"spec": {}, "id": 3}}, 422, f"{USED}id: unknown field of this request"),
    (
        "POST /jobs",
        {"json": {"spec": {}, "request_id": "short"}},
        422,
        f"{USED}request_id: expected at least 8 characters, got 5",
    ),
    (
        "POST /jobs",
        {"content": b'{"spec":{"name":"a","command":"x","hyperparameters":{"x":NaN}}}', "headers": JSON},
        422,
        "invalid job: hyperparameters: x: nan is not a number in JSON; put it in quotes",
    ),
    (
        "POST /jobs",
        job(code={"path": "."}),
        422,
        "invalid job: code.path: '.' is a folder of the client; upload it and send code.tree",
    ),
    (
        "POST /jobs",
        job(code={"tree": DIGEST}),
        422,
        f"invalid job: code.tree: {DIGEST} is not uploaded; send it with POST /api/v1/trees first",
    ),
    (
        "POST /jobs",
        job(data={"nowhere/x": "y"}),
        422,
        "invalid job: data: no bucket 'nowhere'; `danlu store ls` shows yours",
    ),
    (
        "POST /jobs",
        job(output="nowhere/x"),
        422,
        "invalid job: output: no bucket 'nowhere'; `danlu store ls` shows yours",
    ),
    ("POST /jobs/plan", job(nodes=0), 422, "invalid job: nodes: expected at least 1, got 0"),
    (
        "POST /jobs/stop",
        {"json": {"jobs": []}},
        422,
        f"{USED}jobs: expected at least 1 entry, got 0",
    ),
    ("GET /jobs?limit=0", {}, 422, f"{USED}limit: expected at least 1, got '0'"),
    ("GET /jobs?limit=ten", {}, 422, f"{USED}limit: expected a whole number, got 'ten'"),
    ("GET /jobs?state=runing", {}, 422, f"{USED}state.0: unknown value 'runing'; did you mean 'running'?"),
    ("GET /jobs?cursor=x", {}, 422, "cursor: 'x' is not a cursor of this list; send the `next` of the previous page"),
    ("GET /jobs?tag=vision", {}, 422, "tag: expected key=value, got 'vision'"),
    ("GET /jobs?tag=%00=x", {}, 422, "tag: expected key=value, got '\\x00=x'"),
    ("GET /jobs/train-1", {}, 404, "no job 'train-1'; `danlu ps -a` lists them"),
    ("GET /jobs/nope", {}, 404, "no job named 'nope'; `danlu ps -a` lists them"),
    ("POST /jobs/waiting/resume", {}, 409, "ID is queued and not paused; `danlu start` runs an ended job again"),
    ("POST /jobs/waiting/start", {}, 409, "ID is queued; only a job that has ended can be started again"),
    ("DELETE /jobs/waiting", {}, 409, "ID is queued; stop it first: danlu stop ID"),
    ("GET /jobs/waiting/logs/7", {}, 404, "ID has no rank 7; its only rank is 0"),
    ("GET /jobs/waiting/logs/0?attempt=3", {}, 404, "ID has no attempt 3; it has not been started yet"),
    ("GET /jobs/waiting/logs/first", {}, 422, f"{USED}rank: expected a whole number, got 'first'"),
    (
        "GET /jobs/waiting/logs?grep=(",
        {},
        422,
        "grep: '(' is not a regular expression: missing ): (",
    ),
    ("GET /jobs/waiting/logs?from=x", {}, 422, "from: expected RANK:OFFSET, got 'x'"),
    (
        "GET /jobs/waiting/events?cursor=x",
        {},
        422,
        "cursor: 'x' is not a cursor of this list; send the `next` of the previous page",
    ),
    (
        "PUT /buckets/main/objects/a%2F..%2Fb",
        {"content": b""},
        422,
        "invalid key 'a/../b': '..' is not allowed in a path",
    ),
    (
        "PUT /buckets/main/objects/a//b",
        {"content": b""},
        422,
        "invalid key 'a//b': empty, or an extra '/'",
    ),
    (
        "PUT /buckets/main/objects/a%00b",
        {"content": b""},
        422,
        "invalid key 'a\\x00b': control characters, lone surrogates, U+FFFE, U+FFFF and backslashes are not allowed",
    ),
    (
        "PUT /buckets/main/objects/.partial.x",
        {"content": b""},
        422,
        "invalid key '.partial.x': names that start with '.partial.' are reserved",
    ),
    ("PUT /buckets/nowhere/objects/a", {"content": b""}, 404, "no bucket 'nowhere'; `danlu store ls` shows yours"),
    ("PUT /buckets/X/objects/a", {"content": b""}, 422, f"{NO_BUCKET} 'X'"),
    (
        "PUT /buckets/main/objects/a",
        {"content": b"", "headers": {"X-Danlu-SHA256": "zz"}},
        422,
        f"{USED}X-Danlu-SHA256: expected 64 hexadecimal digits, got 'zz'",
    ),
    (
        "PUT /buckets/main/objects/a",
        {"content": b"x", "headers": {"X-Danlu-SHA256": DIGEST}},
        422,
        f"store://main/a: expected sha256 {DIGEST}, "
        "got 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881; send it again",
    ),
    ("GET /buckets/main/objects/none", {}, 404, "no object store://main/none"),
    ("GET /buckets/main/objects?delimiter=-", {}, 422, "delimiter: expected '/' or nothing, got '-'"),
    ("DELETE /buckets/main/objects?prefix=/", {}, 422, "prefix: it is empty; name what is to be deleted"),
    ("POST /buckets", {"json": {"name": "Main"}}, 422, f"name: {NO_BUCKET} 'Main'"),
    ("POST /buckets", {"json": {"name": "main"}}, 409, "bucket 'main' exists already; choose another name"),
    ("POST /session", {"json": {}}, 422, "give a token, or a name and a password"),
    (
        "POST /session",
        {"json": {"token": "x"}},
        401,
        "the sign-in link was used or has expired; ask an admin for a new one (admins: `danlu up --new-link`)",
    ),
    (
        "POST /session",
        {"json": {"name": "admin", "password": "x"}},
        401,
        "the name or the password is wrong, or an admin has not approved your account yet",
    ),
    (
        "PUT /me/password",
        {"json": {"password": "hunter2"}},
        422,
        f"{USED}password: expected at least 8 characters",
    ),
    (
        "POST /keys",
        {"json": {"expires_in_days": 0}},
        422,
        f"{USED}expires_in_days: expected at least 1, got 0",
    ),
    ("DELETE /keys/none", {}, 404, "no API key 'none' of yours"),
    (
        "POST /trees",
        {"json": {"files": [{"path": "../a", "sha256": DIGEST, "size": 1}]}},
        422,
        f"{USED}files.0.path: invalid key '../a': '..' is not allowed in a path",
    ),
    (
        "POST /trees",
        {"json": {"files": [{"path": "a", "sha256": "x", "size": 1}]}},
        422,
        f"{USED}files.0.sha256: expected 64 hexadecimal digits, got 'x'",
    ),
    ("PUT /blobs/x", {"content": b""}, 422, "expected a digest of 64 hexadecimal digits, got 'x'"),
    (f"GET /blobs/{DIGEST}", {}, 404, f"no blob {DIGEST}"),
    ("GET /nope", {}, 404, "no GET /api/v1/nope here"),
    ("PATCH /jobs", {}, 405, "no PATCH /api/v1/jobs here"),
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Api, str]]:
    """One server, and the id of a job that waits in it."""
    folder: Path = tmp_path_factory.mktemp("wrong")
    with make_world(folder) as world, world.serving() as url, Api(url, world.api_key()) as api:
        yield api, world.submit(name="waiting")


@pytest.mark.parametrize(("line", "options", "status", "told"), REQUESTS, ids=lambda value: str(value)[:40])
def test_a_wrong_request_is_refused_with_a_sentence(
    shared: tuple[Api, str], line: str, options: dict[str, Any], status: int, told: str
) -> None:
    api, waiting = shared
    method, _, path = line.partition(" ")
    response = api(method, path, **options)
    body = response.json()
    assert (response.status_code, body["message"]) == (status, told.replace("ID", waiting))
    assert set(body) == {"error", "message", "message_said", "fields", "said"}
    assert body["error"] in {kind.__name__ for kind in all_errors()}
    assert "hunter2" not in response.text


def test_there_are_enough_of_them() -> None:
    assert len(SPECS) + len(REQUESTS) >= 120
