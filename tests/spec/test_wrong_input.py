"""Wrong input, and the sentence its writer reads: the field, the value, and what would be right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.world import Api, make_world

from danlu.errors import InvalidSpec, all_errors
from danlu.spec.job import parse_job

NAN = float("nan")
NO_NAME = "is not a name; 1 to 100 characters without '/' and outer blanks would be right"
NO_BUCKET = "is not a bucket name; 3 to 63 lower-case letters, digits, dots and dashes would be right"
NO_DURATION = "is not a duration; write for example 90s, 15m, 2h or 1d"
NO_SIZE = "is not a size; write for example 512MB, 4GB or 16GiB"
NO_DEVICE = "is not a device; write TYPE[:MODEL][:COUNT], for example gpu:2 or npu:910b:8"
NO_VARIABLE = "is not a variable name; letters, digits and '_', not beginning with a digit"
NO_JOB_PATH = "is not a path in a job; write for example images or /opt/ml/input/data/images"
SYSTEM = "is a system folder; /opt/ml/input/data/... or /data/... would be right"
BOTH = "roles are given as well, and each has a command of its own; keep one of the two"
ROLES = "{ps: {command: ...}, worker: {command: ..., count: 2}}"
NO_VALUE = "a NUL character or a lone surrogate cannot be in a value"

SPECS: list[tuple[dict[str, Any], str]] = [
    # name
    ({"name": ""}, f"name: '' {NO_NAME}"),
    ({"name": " train"}, f"name: ' train' {NO_NAME}"),
    ({"name": "team/train"}, f"name: 'team/train' {NO_NAME}"),
    ({"name": "train-17"}, "name: 'train-17' looks like a job id; choose another name"),
    ({"name": 5}, "name: text would be right, not 5; put it in quotes"),
    ({"name": None}, "name: text would be right, not nothing"),
    ({"name": "bell\x07"}, "name: 'bell\\x07' contains control characters or lone surrogates"),
    # command and setup
    ({"command": ""}, "command: it is empty; say what to run"),
    ({"command": []}, "command: it is empty; say what to run"),
    ({"command": ["  "]}, "command: it is empty; say what to run"),
    ({"command": 5}, "command: a shell line or a list of words would be right, not 5"),
    ({"command": {"run": "x"}}, "command: a shell line or a list of words would be right, not a mapping"),
    ({"command": ["python", 1]}, "command: word 2 is 1, not text; put it in quotes"),
    ({"command": "a\0b"}, f"command: {NO_VALUE}"),
    ({"setup": ["pip install x"]}, "setup: text would be right, not a list"),
    # nodes, launch
    ({"nodes": 0}, "nodes: 0 is too small; at least 1 would be right"),
    ({"nodes": 5000}, "nodes: 5000 is too large; at most 4096 would be right"),
    ({"nodes": "two"}, "nodes: a whole number would be right, not 'two'"),
    ({"nodes": 1.5}, "nodes: a whole number would be right, not 1.5"),
    ({"nodes": True}, "nodes: a number would be right, not true"),
    ({"nodes": [2]}, "nodes: a whole number would be right, not a list"),
    ({"launch": "torchrun"}, "launch: 'torchrun' is not known; known: ascend, ddp, horovod, mpi, plain, ps_worker"),
    ({"launch": "DDP"}, "launch: 'DDP' is not known; did you mean 'ddp'?"),
    # roles, success
    ({"roles": {"ps": {"command": "x"}}}, f"command: {BOTH}"),
    ({"command": None, "roles": {}}, "command: missing; it must be given"),
    ({"command": None, "roles": ["ps"]}, f"roles: a mapping such as {ROLES} would be right, not a list"),
    (
        {"command": None, "roles": {"ps": 2}},
        "roles.ps: a mapping such as {command: ..., count: 2} would be right, not 2",
    ),
    (
        {"command": None, "roles": {"Worker": {}}},
        "roles.Worker: 'Worker' is not a role; up to 20 small letters and digits would be right, such as worker",
    ),
    (
        {"command": None, "roles": {"ps": {"nodes": 2}}},
        "roles.ps.nodes: not a field of a job; known: command, count, env, flavor, resources",
    ),
    ({"command": None, "roles": {"ps": {"count": 0}}}, "roles.ps.count: 0 is too small; at least 1 would be right"),
    (
        {"command": None, "roles": {"ps": {"resources": {"device": 2}}}},
        f"roles.ps.resources.device: '2' {NO_DEVICE}",
    ),
    (
        {"command": None, "roles": {"ps": {"count": 2}}, "nodes": 3},
        "nodes: 3 nodes, but the roles have 2 together; leave it out",
    ),
    (
        {"command": None, "roles": {"ps": {}}, "resources": {"device": "gpu"}},
        "resources: every role has resources of its own; write them there",
    ),
    (
        {"command": None, "roles": {"ps": {"env": {"A": 1}}}, "secrets": {"A": "hunter2"}},
        "secrets: A is named in env as well; keep one of them",
    ),
    (
        {"success": "worker 0"},
        "success: 'worker 0' is not a rule; all, any, chief, a role, or one task such as worker-0 would be right",
    ),
    # resources
    (
        {"resources": "gpu:2"},
        "resources: a mapping such as {device: gpu:2, memory: 16GB} would be right, not 'gpu:2'",
    ),
    ({"resources": {"gpus": 2}}, "resources.gpus: not a field of a job; did you mean 'cpus'?"),
    ({"resources": {"device": "2 gpus"}}, f"resources.device: '2 gpus' {NO_DEVICE}"),
    ({"resources": {"device": 2}}, f"resources.device: '2' {NO_DEVICE}"),
    (
        {"resources": {"device": "gpu:0"}},
        "resources.device: 0 devices per node in 'gpu:0'; between 1 and 1024 would be right",
    ),
    (
        {"resources": {"device": {"type": "gpu", "count": 0}}},
        "resources.device: 0 devices per node in 'gpu:0'; between 1 and 1024 would be right",
    ),
    ({"resources": {"cpus": 0}}, "resources.cpus: 0 is too small; more than 0 would be right"),
    ({"resources": {"cpus": "many"}}, "resources.cpus: a number would be right, not 'many'"),
    ({"resources": {"cpus": NAN}}, "resources.cpus: a finite number would be right, not nan"),
    ({"resources": {"memory": "4 gigs"}}, f"resources.memory: '4 gigs' {NO_SIZE}"),
    ({"resources": {"memory": True}}, f"resources.memory: true {NO_SIZE}"),
    ({"resources": {"memory": 0}}, "resources.memory: 0 is too small; at least 1 would be right"),
    (
        {"resources": {"memory": "9" * 400}},
        f"resources.memory: '{'9' * 40}' is more than any machine has; write for example 512MB, 4GB or 16GiB",
    ),
    # code, data, output
    ({"code": "."}, "code: a mapping such as {path: .} would be right, not '.'"),
    ({"code": {}}, "code: give one of path, store or tree; given: none"),
    ({"code": {"path": ".", "store": "main/a"}}, "code: give one of path, store or tree; given: path, store"),
    ({"code": {"tree": "abc"}}, "code: 'abc' is not a tree digest; 64 hexadecimal digits would be right"),
    ({"code": {"folder": "."}}, "code.folder: not a field of a job; known: path, store, tree"),
    ({"code": {"store": "Main/a"}}, f"code.store: 'Main' {NO_BUCKET}"),
    (
        {"data": ["main/a"]},
        "data: a mapping such as {store://main/images: images} would be right, not a list",
    ),
    ({"data": {"main/../a": "x"}}, "data.main/../a: '../a' is not a key: '..' cannot be a part of one"),
    ({"data": {"main//a": "x"}}, "data.main//a: '/a' is not a key: it is empty, or has a '/' too many"),
    ({"data": {"main/a": ""}}, f"data.main/a: '' {NO_JOB_PATH}"),
    ({"data": {"main/a": "../x"}}, "data.main/a: '../x' leaves the job's data folder; leave out the '..'"),
    ({"data": {"main/a": "/etc/x"}}, f"data.main/a: '/etc/x' {SYSTEM}"),
    ({"data": {"main/a": "/"}}, f"data.main/a: '/' {SYSTEM}"),
    ({"data": {"main/a": None}}, "data.main/a: text would be right, not nothing"),
    (
        {"data": {"main/a": "x", "main/b": "x"}},
        "data: 'x' is the target of two store paths; give each its own",
    ),
    ({"output": "s3://main/a"}, "output: 's3://main/a' is not a path in the store; write store://bucket/folder"),
    ({"output": "ab"}, f"output: 'ab' {NO_BUCKET}"),
    # env, hyperparameters, tags, secrets
    ({"env": ["A=1"]}, "env: a mapping such as {BATCH: 64} would be right, not a list"),
    ({"env": "A=1"}, "env: a mapping such as {BATCH: 64} would be right, not 'A=1'"),
    ({"env": {"1A": "x"}}, f"env.1A: '1A' {NO_VARIABLE}"),
    ({"env": {"DANLU_X": "x"}}, "env.DANLU_X: 'DANLU_X' is reserved: names beginning with DANLU_ are set by Danlu"),
    ({"env": {"A": None}}, "env.A: text would be right, not nothing"),
    ({"env": {"A": ["x"]}}, "env.A: text would be right, not a list"),
    ({"env": {"A": "x\0"}}, f"env.A: {NO_VALUE}"),
    ({"hyperparameters": "lr=1"}, "hyperparameters: a mapping such as {lr: 0.1} would be right, not 'lr=1'"),
    ({"hyperparameters": {"lr": NAN}}, "hyperparameters: lr: nan is not a number in JSON; put it in quotes"),
    ({"hyperparameters": {"a": [{"b": "\ud800"}]}}, "hyperparameters: 'a.0.b': a lone surrogate cannot be in a text"),
    ({"tags": ["a"]}, "tags: a mapping such as {team: vision} would be right, not a list"),
    ({"tags": {"a": "x" * 201}}, f"tags.a: '{'x' * 59}... is too long; at most 200 characters would be right"),
    ({"secrets": {"A": "x"}, "env": {"A": "y"}}, "secrets: A is named in env as well; keep one of them"),
    ({"secrets": "A=hunter2"}, "secrets: a mapping such as {HF_TOKEN: ...} would be right, not this"),
    ({"secrets": {"A": ["hunter2"]}}, "secrets.A: text would be right, not this"),
    # when and how often
    ({"priority": 101}, "priority: 101 is too large; at most 100 would be right"),
    ({"priority": "high"}, "priority: a whole number would be right, not 'high'"),
    ({"retry": 3}, "retry: a mapping such as {max: 3, on: [lost]} would be right, not 3"),
    ({"retry": {"max": -1}}, "retry.max: -1 is too small; at least 0 would be right"),
    ({"retry": {"on": "lost"}}, "retry.on: a list would be right, not 'lost'"),
    ({"retry": {"on": ["losst"]}}, "retry.on: there is no reason 'losst'; did you mean 'lost'?"),
    ({"retry": {"backoff": "soon"}}, f"retry.backoff: 'soon' {NO_DURATION}"),
    ({"retry": {"times": 3}}, "retry.times: not a field of a job; known: backoff, max, on"),
    ({"max_duration": "2 hours"}, f"max_duration: '2 hours' {NO_DURATION}"),
    ({"max_duration": -5}, "max_duration: -5 is too small; at least 0 would be right"),
    ({"max_wait": True}, f"max_wait: true {NO_DURATION}"),
    ({"grace": "-1s"}, f"grace: '-1s' {NO_DURATION}"),
    ({"grace": float("inf")}, "grace: inf is too large; at most 315360000 would be right"),
    # the whole
    ({"comand": "x"}, "comand: not a field of a job; did you mean 'command'?"),
    (
        {"nodes": 0, "priority": -1},
        "nodes: 0 is too small; at least 1 would be right; priority: -1 is too small; at least 0 would be right",
    ),
]


@pytest.mark.parametrize(
    ("changes", "told"), SPECS, ids=lambda value: str(value)[:40].encode("ascii", "replace").decode()
)
def test_a_wrong_job_is_refused_with_a_sentence(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidSpec) as refused:
        parse_job({"name": "shapes", "command": "python train.py", **changes})
    assert refused.value.message == f"the job cannot be used: {told}"
    assert "hunter2" not in str(refused.value.to_wire())


def test_a_job_without_anything_names_what_must_be_given() -> None:
    with pytest.raises(InvalidSpec) as refused:
        parse_job({})
    assert refused.value.fields == {"name": "missing; it must be given", "command": "missing; it must be given"}


USED = "the request cannot be used: "
JSON = {"Content-Type": "application/json"}
DIGEST = "a" * 64


def job(**changes: Any) -> dict[str, Any]:
    return {"json": {"spec": {"name": "shapes", "command": "x", **changes}}}


REQUESTS: list[tuple[str, dict[str, Any], int, str]] = [
    ("POST /jobs", {"json": {}}, 422, f"{USED}spec: missing; it must be given"),
    ("POST /jobs", {"json": []}, 422, f"{USED}body: a mapping would be right, not a list"),
    ("POST /jobs", {"content": b""}, 422, f"{USED}body: missing; it must be given"),
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
        f"{USED}spec: a mapping such as {{name: ..., command: ...}} would be right, not 'train'",
    ),
    ("POST /jobs", {"json": {"spec": {}, "id": 3}}, 422, f"{USED}id: not a field of this request"),
    (
        "POST /jobs",
        {"json": {"spec": {}, "request_id": "short"}},
        422,
        f"{USED}request_id: 'short' is too short; at least 8 characters would be right",
    ),
    (
        "POST /jobs",
        {"content": b'{"spec":{"name":"a","command":"x","hyperparameters":{"x":NaN}}}', "headers": JSON},
        422,
        "the job cannot be used: hyperparameters: x: nan is not a number in JSON; put it in quotes",
    ),
    (
        "POST /jobs",
        job(code={"path": "."}),
        422,
        "the job cannot be used: code.path: '.' is a folder of the client, which uploads it and sends code.tree",
    ),
    (
        "POST /jobs",
        job(code={"tree": DIGEST}),
        422,
        f"the job cannot be used: code.tree: {DIGEST} is not uploaded; send it with POST /api/v1/trees first",
    ),
    (
        "POST /jobs",
        job(data={"nowhere/x": "y"}),
        422,
        "the job cannot be used: data: no bucket 'nowhere'; `danlu store ls` shows yours",
    ),
    (
        "POST /jobs",
        job(output="nowhere/x"),
        422,
        "the job cannot be used: output: no bucket 'nowhere'; `danlu store ls` shows yours",
    ),
    ("POST /jobs/plan", job(nodes=0), 422, "the job cannot be used: nodes: 0 is too small; at least 1 would be right"),
    (
        "POST /jobs/stop",
        {"json": {"jobs": []}},
        422,
        f"{USED}jobs: a list is too short; at least 1 entry would be right",
    ),
    ("GET /jobs?limit=0", {}, 422, f"{USED}limit: '0' is too small; at least 1 would be right"),
    ("GET /jobs?limit=ten", {}, 422, f"{USED}limit: a whole number would be right, not 'ten'"),
    ("GET /jobs?state=runing", {}, 422, f"{USED}state.0: 'runing' is not known; did you mean 'running'?"),
    ("GET /jobs?cursor=x", {}, 422, "cursor: 'x' is not a place in this list; send back the `next` of the page before"),
    ("GET /jobs?tag=vision", {}, 422, "tag: 'vision' is not a tag; key=value would be right"),
    ("GET /jobs?tag=%00=x", {}, 422, "tag: '\\x00=x' is not a tag; key=value would be right"),
    ("GET /jobs/train-1", {}, 404, "no job 'train-1'; `danlu ps -a` lists them"),
    ("GET /jobs/nope", {}, 404, "no job named 'nope'; `danlu ps -a` lists them"),
    ("POST /jobs/waiting/resume", {}, 409, "ID is queued and not paused; `danlu start` runs an ended job again"),
    ("POST /jobs/waiting/start", {}, 409, "ID is queued; only a job that is over can be started again"),
    ("DELETE /jobs/waiting", {}, 409, "ID is queued; stop it first, so that nobody starts it: danlu stop ID"),
    ("GET /jobs/waiting/logs/7", {}, 404, "ID has no rank 7; its only rank is 0"),
    ("GET /jobs/waiting/logs/0?attempt=3", {}, 404, "ID has no attempt 3; it has not been started yet"),
    ("GET /jobs/waiting/logs/first", {}, 422, f"{USED}rank: a whole number would be right, not 'first'"),
    (
        "GET /jobs/waiting/logs?grep=(",
        {},
        422,
        "grep: '(' is not a regular expression: missing ): (",
    ),
    ("GET /jobs/waiting/logs?from=x", {}, 422, "from: 'x' is not a place in a log; RANK:OFFSET would be right"),
    (
        "GET /jobs/waiting/events?cursor=x",
        {},
        422,
        "cursor: 'x' is not a place in this list; send back the `next` of the page before",
    ),
    (
        "PUT /buckets/main/objects/a%2F..%2Fb",
        {"content": b""},
        422,
        "'a/../b' is not a key: '..' cannot be a part of one",
    ),
    (
        "PUT /buckets/main/objects/a//b",
        {"content": b""},
        422,
        "'a//b' is not a key: it is empty, or has a '/' too many",
    ),
    (
        "PUT /buckets/main/objects/a%00b",
        {"content": b""},
        422,
        "'a\\x00b' is not a key: control characters, lone surrogates, U+FFFE, U+FFFF and backslashes are not allowed",
    ),
    (
        "PUT /buckets/main/objects/.partial.x",
        {"content": b""},
        422,
        "'.partial.x' is not a key: names beginning with '.partial.' are kept for unfinished uploads",
    ),
    ("PUT /buckets/nowhere/objects/a", {"content": b""}, 404, "no bucket 'nowhere'; `danlu store ls` shows yours"),
    ("PUT /buckets/X/objects/a", {"content": b""}, 422, f"'X' {NO_BUCKET}"),
    (
        "PUT /buckets/main/objects/a",
        {"content": b"", "headers": {"X-Danlu-SHA256": "zz"}},
        422,
        f"{USED}X-Danlu-SHA256: 64 hexadecimal digits would be right, not 'zz'",
    ),
    (
        "PUT /buckets/main/objects/a",
        {"content": b"x", "headers": {"X-Danlu-SHA256": DIGEST}},
        422,
        f"store://main/a: sha256 {DIGEST} was announced, "
        "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881 arrived; send it again",
    ),
    ("GET /buckets/main/objects/none", {}, 404, "no object store://main/none"),
    ("GET /buckets/main/objects?delimiter=-", {}, 422, "delimiter '-' cannot be used; '/' or nothing would be right"),
    ("DELETE /buckets/main/objects?prefix=/", {}, 422, "prefix is empty; name what is to be deleted"),
    ("POST /buckets", {"json": {"name": "Main"}}, 422, f"'Main' {NO_BUCKET}"),
    ("POST /buckets", {"json": {"name": "main"}}, 409, "bucket 'main' exists already; choose another name"),
    ("POST /session", {"json": {}}, 422, "give a token, or a name and a password"),
    (
        "POST /session",
        {"json": {"token": "x"}},
        401,
        "the sign-in link was used or is too old; an admin makes a new one, `danlu up --new-link` one for the admin",
    ),
    (
        "POST /session",
        {"json": {"name": "admin", "password": "x"}},
        401,
        "the name or the password is wrong, or an admin has not let you in yet",
    ),
    (
        "PUT /me/password",
        {"json": {"password": "hunter2"}},
        422,
        f"{USED}password: this is too short; at least 8 characters would be right",
    ),
    (
        "POST /keys",
        {"json": {"expires_in_days": 0}},
        422,
        f"{USED}expires_in_days: 0 is too small; at least 1 would be right",
    ),
    ("DELETE /keys/none", {}, 404, "no API key 'none' of yours"),
    (
        "POST /trees",
        {"json": {"files": [{"path": "../a", "sha256": DIGEST, "size": 1}]}},
        422,
        f"{USED}files.0.path: '../a' is not a key: '..' cannot be a part of one",
    ),
    (
        "POST /trees",
        {"json": {"files": [{"path": "a", "sha256": "x", "size": 1}]}},
        422,
        f"{USED}files.0.sha256: 64 hexadecimal digits would be right, not 'x'",
    ),
    ("PUT /blobs/x", {"content": b""}, 422, "'x' is not a digest; 64 hexadecimal digits would be right"),
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
    assert set(body) == {"error", "message", "fields"}
    assert body["error"] in {kind.__name__ for kind in all_errors()}
    assert "hunter2" not in response.text


def test_there_are_enough_of_them() -> None:
    assert len(SPECS) + len(REQUESTS) >= 120
