"""The table of rights: every route, and what everybody gets there. How to read it: tests/support/rights.py"""

from __future__ import annotations

from typing import Any

from tests.support.cases import (
    NO_ARTIFACT,
    NO_RUN,
    Case,
    artifact_of,
    batch_of,
    blob_of,
    folder_of,
    job_of,
    key_of,
    named,
    project_of,
    run_of,
    user_of,
)
from tests.support.rights import Request, Rule, everybody
from tests.support.scene import (
    CHUNK,
    CODE,
    NO_DIGEST,
    PASSWORD,
    commit_of_chunk,
    digest_of,
    pack_of_chunk,
)

SEE = {"own": "2 2 2 2 404", "others": "2 2 2 2 404", "foreign": "2 404 404 404 2", "none": "404 404 404 404 404"}
CHANGE_JOB = {
    "own": "2 2 2 403 404",
    "others": "2 2 403 403 404",
    "foreign": "2 404 404 404 2",
    "none": "404 404 404 404 404",
}
OWN_PROJECT = {"others": "2 2 403 403 404", "foreign": "2 404 404 404 2", "none": "404 404 404 404 404"}
ADMIN_ONLY = {"own": "2 403 403 403 403", "others": "2 403 403 403 403", "none": "404 403 403 403 403"}
UPLOAD = {"own": "2 2 2 2 2 2 2", "others": "404 404 404 404 404 404 404", "none": "404 404 404 404 404 404 404"}
WRITE_RUN = {
    "own": "2 2 2 403 404 2 404",
    "others": "2 2 403 403 404 404 404",
    "foreign": "2 404 404 404 2 404 404",
    "none": "404 404 404 404 404 404 404",
}
USE_MODEL = {**SEE, "own": "2 2 2 403 404", "others": "2 2 2 403 404"}
SEE_RUN = {
    "own": "2 2 2 2 404 2 404",
    "others": "2 2 2 2 404 404 404",
    "foreign": "2 404 404 404 2 404 404",
    "none": "404 404 404 404 404 404 404",
}
SEND_ARTIFACT = {
    "own": "2 2 2 403 404 2 404",
    "others": "404 404 404 404 404 404 404",
    "foreign": "404 404 404 404 404 404 404",
    "none": "404 404 404 404 404 404 404",
}
INVITATION = {"own": "2 2 2 2 2", "others": "404 404 404 404 404", "none": "404 404 404 404 404"}
LOOK_UP = {"others": "2 2 2 2 2", "none": "404 404 404 404 404"}
OFFER = {"others": "2 403 403 403 403", "none": "404 403 403 403 403"}
NOT_THERE = dict.fromkeys(SEE, "404 404 404 404 404")
OPEN = {"any": "2 2 2 2 2 2 2"}
SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIC4eFR0lBdYxIUbvyAONYoZ+ZgnJPPVJoAWUzJmJ6B3N test"


def body(**values: Any) -> Request:
    return lambda _case: {"json": values}


def spec_in(case: Case) -> dict[str, Any]:
    project = {"foreign": "other", "none": "nothing"}.get(case.relation, "vision")
    return {"json": {"spec": {"name": "new", "command": "x", "project": project}}}


def one_job(kind: str) -> Request:
    return lambda case: {"json": {"jobs": [job_of(case, kind)]}}


RULES: dict[tuple[str, str], Rule] = {
    # jobs
    ("GET", "/changes"): Rule(everybody("2 2 2 2 2")),
    ("GET", "/runs/changes"): Rule(everybody("2 2 2 2 2")),
    ("GET", "/jobs"): Rule(everybody("2 2 2 2 2")),
    ("POST", "/jobs"): Rule(
        {"others": "2 2 2 422 422", "foreign": "2 422 422 422 2", "none": "422 422 422 422 422"}, spec_in
    ),
    ("POST", "/jobs/plan"): Rule(
        {"others": "2 2 2 422 422", "foreign": "2 422 422 422 2", "none": "422 422 422 422 422"}, spec_in
    ),
    ("POST", "/jobs/stop"): Rule(everybody("2 2 2 2 2"), body(jobs=["nothing"])),
    ("POST", "/jobs/delete"): Rule(everybody("2 2 2 2 2"), body(jobs=["nothing"])),
    ("GET", "/jobs/{job}"): Rule(SEE),
    ("DELETE", "/jobs/{job}"): Rule(CHANGE_JOB),
    ("POST", "/jobs/{job}/stop"): Rule(CHANGE_JOB, job="queued"),
    ("POST", "/jobs/{job}/pause"): Rule(CHANGE_JOB, job="queued"),
    ("POST", "/jobs/{job}/resume"): Rule(CHANGE_JOB, job="paused"),
    ("POST", "/jobs/{job}/start"): Rule(CHANGE_JOB),
    ("GET", "/favourites"): Rule(everybody("2 2 2 2 2")),
    ("PUT", "/favourites/{job}"): Rule(SEE),
    ("DELETE", "/favourites/{job}"): Rule(SEE),
    ("GET", "/jobs/{job}/events"): Rule(SEE),
    ("GET", "/jobs/{job}/why"): Rule(SEE),
    # whose shell it would be is asked before whether there is a task to open it in
    ("POST", "/jobs/{job}/terminals"): Rule(
        {name: line.replace("2", "409") for name, line in CHANGE_JOB.items()}, body()
    ),
    ("GET", "/jobs/{job}/terminals/{terminal}/output"): Rule(NOT_THERE),
    ("POST", "/jobs/{job}/terminals/{terminal}/input"): Rule(NOT_THERE, body(data="")),
    ("PUT", "/jobs/{job}/terminals/{terminal}/size"): Rule(NOT_THERE, body(rows=24, columns=80)),
    ("DELETE", "/jobs/{job}/terminals/{terminal}"): Rule(NOT_THERE),
    ("GET", "/ssh-keys"): Rule(everybody("2 2 2 2 2")),
    ("POST", "/ssh-keys"): Rule(everybody("2 2 2 2 2"), body(public_key=SSH_KEY)),
    ("DELETE", "/ssh-keys/{ssh_key}"): Rule(everybody("404 404 404 404 404")),
    ("GET", "/ssh-gateway"): Rule(everybody("2 2 2 2 2")),
    ("GET", "/jobs/{job}/endpoints"): Rule(SEE),
    ("PUT", "/jobs/{job}/endpoints/{endpoint}"): Rule(CHANGE_JOB, body(), job="queued"),
    ("DELETE", "/jobs/{job}/endpoints/{endpoint}"): Rule(CHANGE_JOB),
    ("POST", "/jobs/{job}/endpoints/{endpoint}/links"): Rule(NOT_THERE),
    # it belongs to whoever asks, and is in the project of the job
    ("POST", "/jobs/{job}/viewers"): Rule({**SEE, "own": "2 2 2 422 404", "others": "2 2 2 422 404"}),
    ("GET", "/jobs/{job}/usage"): Rule(SEE),
    ("GET", "/jobs/{job}/alerts"): Rule(SEE),
    ("GET", "/alerts"): Rule(everybody("2 2 2 2 2")),
    ("GET", "/notices"): Rule(everybody("2 2 2 2 2")),
    ("PUT", "/notices/read"): Rule(everybody("2 2 2 2 2"), body(up_to=1)),
    ("GET", "/notices/wishes"): Rule(everybody("2 2 2 2 2")),
    ("PUT", "/notices/wishes"): Rule(everybody("2 2 2 2 2"), body(email=["job.failed"])),
    # whose events a webhook may be for: tests/server/test_webhooks.py
    ("GET", "/webhooks"): Rule(everybody("2 2 2 2 2")),
    ("POST", "/webhooks"): Rule(everybody("2 2 2 2 2"), body(url="https://example.com/hook")),
    ("DELETE", "/webhooks/{webhook}"): Rule(everybody("404 404 404 404 404")),
    ("POST", "/webhooks/{webhook}/test"): Rule(everybody("404 404 404 404 404")),
    ("GET", "/webhooks/{webhook}/deliveries"): Rule(everybody("404 404 404 404 404")),
    ("GET", "/jobs/{job}/watch"): Rule(SEE),
    ("GET", "/jobs/{job}/logs"): Rule(SEE),
    ("GET", "/jobs/{job}/logs/{rank}"): Rule(SEE),
    ("GET", "/jobs/{job}/logs/{rank}/times"): Rule(SEE),
    ("GET", "/jobs/{job}/logs/{rank}/lines"): Rule(SEE),
    ("GET", "/jobs/{job}/logs/{rank}/matches"): Rule(SEE),
    ("GET", "/reasons"): Rule(everybody("2 2 2 2 2")),
    ("GET", "/nodes"): Rule(everybody("2 2 2 2 2")),
    ("GET", "/nodes/holdings"): Rule(everybody("2 2 2 2 2")),
    ("GET", "/nodes/environments"): Rule(everybody("2 2 2 2 2")),
    ("GET", "/examples"): Rule(everybody("2 2 2 2 2")),
    ("GET", "/examples/{example}"): Rule(everybody("2 2 2 2 2")),
    ("PUT", "/nodes/{node}/drain"): Rule(OFFER, body(reason="kernel update")),
    ("DELETE", "/nodes/{node}/drain"): Rule(OFFER),
    # the store
    ("GET", "/buckets"): Rule(everybody("2 2 2 2 2")),
    ("POST", "/buckets"): Rule(
        {"others": "2 2 2 403 404", "foreign": "2 404 404 404 2", "none": "404 404 404 404 404"},
        lambda case: {"json": {"name": "new-bucket", "project": project_of(case, "")}},
    ),
    ("PATCH", "/buckets/{bucket}"): Rule(
        OWN_PROJECT, lambda case: {"json": {"project": project_of(case, "-bare")}}, bucket="-empty"
    ),
    ("DELETE", "/buckets/{bucket}"): Rule(OWN_PROJECT, bucket="-empty"),
    ("GET", "/buckets/{bucket}/objects"): Rule(
        {
            "own": "2 2 2 2 404 2 403",
            "others": "2 2 2 2 404 403 403",
            "foreign": "2 404 404 404 2 403 403",
            "none": "404 404 404 404 404 403 403",
        },
        lambda case: {"params": {"prefix": "data/train/" if case.relation == "own" else "data/secret"}},
    ),
    ("DELETE", "/buckets/{bucket}/objects"): Rule(
        {"others": "2 2 2 403 404", "foreign": "2 404 404 404 2", "none": "404 404 404 404 404"},
        lambda _case: {"params": {"prefix": "data/"}},
    ),
    ("GET", "/buckets/{bucket}/objects/{key:path}"): Rule(
        {
            "own": "2 2 2 2 404 2 403",
            "others": "2 2 2 2 404 403 403",
            "foreign": "2 404 404 404 2 403 403",
            "none": "404 404 404 404 404 403 403",
        }
    ),
    ("HEAD", "/buckets/{bucket}/objects/{key:path}"): Rule(
        {
            "own": "2 2 2 2 404 2 403",
            "others": "2 2 2 2 404 403 403",
            "foreign": "2 404 404 404 2 403 403",
            "none": "404 404 404 404 404 403 403",
        }
    ),
    ("PUT", "/buckets/{bucket}/objects/{key:path}"): Rule(
        {
            "own": "2 2 2 403 404 2 403",
            "others": "2 2 2 403 404 403 403",
            "foreign": "2 404 404 404 2 403 403",
            "none": "404 404 404 404 404 403 403",
        },
        lambda _case: {"content": b"y"},
        key="OUTPUT",
    ),
    ("DELETE", "/buckets/{bucket}/objects/{key:path}"): Rule(
        {"others": "2 2 2 403 404", "foreign": "2 404 404 404 2", "none": "404 404 404 404 404"}
    ),
    # files of a batch are refused one by one: TestBatches
    ("POST", "/buckets/{bucket}/batches"): Rule(
        {"own": "2 2 2 2 2 2 2", "none": "2 2 2 2 2 2 2"}, lambda case: {"content": batch_of(case)}
    ),
    ("POST", "/buckets/{bucket}/reads"): Rule(
        {
            "own": "2 2 2 2 404 2 403",
            "others": "2 2 2 2 404 403 403",
            "foreign": "2 404 404 404 2 403 403",
            "none": "404 404 404 404 404 403 403",
        },
        lambda case: {"json": {"keys": [key_of(case, "")]}},
    ),
    ("POST", "/buckets/{bucket}/uploads"): Rule(
        {
            "own": "2 2 2 403 404 2 403",
            "others": "2 2 2 403 404 403 403",
            "foreign": "2 404 404 404 2 403 403",
            "none": "404 404 404 404 404 403 403",
        },
        lambda case: {"json": {"key": key_of(case, "OUTPUT"), "size": 1, "sha256": NO_DIGEST}},
    ),
    ("GET", "/uploads/{upload}"): Rule(UPLOAD),
    ("PUT", "/uploads/{upload}"): Rule(UPLOAD, lambda _case: {"params": {"offset": 0}, "content": b"x"}),
    ("POST", "/uploads/{upload}/commit"): Rule(
        # an upload is whole when it is committed: who may not write any more by then is refused
        {**UPLOAD, "own": "2 2 2 403 404 2 2"}
    ),
    ("DELETE", "/uploads/{upload}"): Rule(UPLOAD),
    # here all bytes go through the server: 409 says so to whoever may write there
    ("POST", "/uploads/{upload}/grants"): Rule(
        {**UPLOAD, "own": "409 409 409 403 404 409 409"}, body(parts=[{"number": 1, "md5": "1B2M2Y8AsgTpgAmY7PhCfg=="}])
    ),
    ("POST", "/trees"): Rule(everybody("2 2 2 403 2"), body(files=[])),
    ("GET", "/trees/{digest}"): Rule(
        {
            "others": "2 2 2 2 404 2 403",
            "foreign": "2 404 404 404 2 403 2",
            "none": "404 404 404 404 404 403 403",
        }
    ),
    ("PUT", "/blobs/{digest}"): Rule(everybody("2 2 2 403 2"), lambda _case: {"content": CODE}),
    ("POST", "/blobs/batches"): Rule(everybody("2 2 2 403 2"), lambda _case: {"content": pack_of_chunk()}),
    ("POST", "/blobs/reads"): Rule(
        {
            "others": "2 2 2 2 404 2 403",
            "foreign": "2 404 404 404 2 403 2",
            "none": "404 404 404 404 404 403 403",
        },
        lambda case: {"json": {"digests": [blob_of(case)]}},
    ),
    ("GET", "/blobs/{digest}"): Rule(
        {
            "others": "2 2 2 2 404 2 403",
            "foreign": "2 404 404 404 2 403 2",
            "none": "404 404 404 404 404 403 403",
        }
    ),
    # people
    ("GET", "/health"): Rule(OPEN),
    ("POST", "/session"): Rule({"any": "401 401 401 401 401 401 401"}, body(name="max", password="wrong")),
    ("DELETE", "/session"): Rule(everybody("2 2 2 2 2")),
    ("GET", "/me"): Rule({"own": "2 2 2 2 2 2 2"}),
    ("PUT", "/me/password"): Rule(everybody("2 2 2 2 2"), body(password=PASSWORD)),
    ("PUT", "/me/default-project"): Rule(everybody("2 2 2 403 404"), body(project="vision")),
    ("POST", "/keys"): Rule(everybody("2 2 2 2 2"), body()),
    ("GET", "/keys"): Rule(
        {"own": "2 2 2 2 2", "others": "2 403 403 403 403", "none": "404 403 403 403 403"},
        lambda case: {"params": {"user": user_of(case)}},
    ),
    ("DELETE", "/keys/{key_id}"): Rule(
        {
            "own": "2 2 2 2 2",
            "others": "2 404 404 404 404",
            "foreign": "2 404 404 404 404",
            "none": "404 404 404 404 404",
        }
    ),
    ("POST", "/registrations"): Rule(OPEN, body(name="new", password=PASSWORD)),
    ("GET", "/registrations"): Rule(everybody("2 403 403 403 403")),
    ("POST", "/registrations/{registration}/approve"): Rule(
        {"others": "2 403 403 403 403", "none": "404 403 403 403 403"}, body()
    ),
    ("DELETE", "/registrations/{registration}"): Rule({"others": "2 403 403 403 403", "none": "404 403 403 403 403"}),
    ("GET", "/users"): Rule(everybody("2 2 2 2 2")),
    ("POST", "/users"): Rule(everybody("2 403 403 403 403"), body(name="new")),
    ("GET", "/users/{user}"): Rule(
        {"own": "2 2 2 2 2", "others": "2 2 2 2 404", "foreign": "2 404 404 404 2", "none": "404 404 404 404 404"}
    ),
    ("PATCH", "/users/{user}"): Rule(
        {
            "own": "2 2 2 2 2",
            "others": "2 403 403 403 404",
            "foreign": "2 404 404 404 403",
            "none": "404 404 404 404 404",
        },
        body(full_name="Somebody"),
    ),
    ("POST", "/users/{user}/disable"): Rule({**ADMIN_ONLY, "own": "409 403 403 403 403"}, body()),
    ("POST", "/users/{user}/enable"): Rule(ADMIN_ONLY),
    ("POST", "/users/{user}/link"): Rule(ADMIN_ONLY, body()),
    # projects
    ("GET", "/projects"): Rule(everybody("2 2 2 2 2")),
    ("POST", "/projects"): Rule(everybody("2 403 403 403 403"), body(name="new")),
    ("GET", "/projects/{project}"): Rule(
        {"others": "2 2 2 2 404", "foreign": "2 404 404 404 2", "none": "404 404 404 404 404"}
    ),
    ("PATCH", "/projects/{project}"): Rule(OWN_PROJECT, body(description="new")),
    ("DELETE", "/projects/{project}"): Rule(OWN_PROJECT, project="-bare"),
    ("PUT", "/projects/{project}/members/{user}"): Rule(OWN_PROJECT, body(role="viewer")),
    ("DELETE", "/projects/{project}/members/{user}"): Rule(
        {**OWN_PROJECT, "own": "404 409 2 2 404"}  # everybody may leave, but the last owner; others are no members
    ),
    ("POST", "/projects/{project}/invitations"): Rule(OWN_PROJECT, body(user="newcomer")),
    ("GET", "/projects/{project}/invitations"): Rule(OWN_PROJECT),
    ("DELETE", "/projects/{project}/invitations/{user}"): Rule(OWN_PROJECT),
    ("GET", "/invitations"): Rule(everybody("2 2 2 2 2")),
    ("POST", "/invitations/{invitation}/accept"): Rule(INVITATION),
    ("DELETE", "/invitations/{invitation}"): Rule(INVITATION),
    ("GET", "/projects/{project}/quotas"): Rule(
        {"others": "2 2 2 2 404", "foreign": "2 404 404 404 2", "none": "404 404 404 404 404"}
    ),
    ("PUT", "/projects/{project}/quotas"): Rule(
        {"own": "2 403 403 403 404", **OWN_PROJECT},
        lambda case: {
            "json": {"project": {"npu": 4}} if case.relation == "own" else {"users": {user_of(case): {"npu": 1}}}
        },
    ),
    # flavors and frameworks
    ("GET", "/flavors"): Rule(everybody("2 2 2 2 2")),
    ("POST", "/flavors"): Rule(everybody("2 403 403 403 403"), body(name="new")),
    ("GET", "/flavors/{flavor}"): Rule(LOOK_UP),
    ("PATCH", "/flavors/{flavor}"): Rule(OFFER, body(price_per_hour="1")),
    ("DELETE", "/flavors/{flavor}"): Rule(OFFER),
    ("GET", "/flavor-suggestions"): Rule(everybody("2 403 403 403 403")),
    ("GET", "/frameworks"): Rule(everybody("2 2 2 2 2")),
    ("POST", "/frameworks"): Rule(everybody("2 403 403 403 403"), body(name="new")),
    ("GET", "/frameworks/{framework}"): Rule(LOOK_UP),
    ("PATCH", "/frameworks/{framework}"): Rule(OFFER, body(title="new")),
    ("DELETE", "/frameworks/{framework}"): Rule(OFFER),
    # the data flow
    ("GET", "/flow"): Rule(SEE, lambda case: {"params": {"node": f"run:{run_of(case)}"}}),
    # templates
    ("GET", "/templates"): Rule(everybody("2 2 2 2 2")),
    ("POST", "/templates"): Rule(
        {"others": "2 2 2 403 404", "foreign": "2 404 404 404 2", "none": "404 404 404 404 404"},
        lambda case: {"json": {"name": "new", "project": project_of(case, ""), "spec": {"nodes": 2}}},
    ),
    ("DELETE", "/templates/{template}"): Rule(CHANGE_JOB),
    # saved views
    ("GET", "/views"): Rule(everybody("2 2 2 2 2")),
    ("POST", "/views"): Rule(
        {"others": "2 2 2 403 404", "foreign": "2 404 404 404 2", "none": "404 404 404 404 404"},
        lambda case: {
            "json": {"name": "new", "project": project_of(case, ""), "page": "compare", "search": {"log": True}}
        },
    ),
    ("GET", "/views/{view}"): Rule(SEE),
    ("DELETE", "/views/{view}"): Rule(CHANGE_JOB),
    # models
    ("GET", "/models"): Rule(everybody("2 2 2 2 2")),
    ("POST", "/models"): Rule(
        {"others": "2 2 2 403 404", "foreign": "2 404 404 404 2", "none": "404 404 404 404 404"},
        lambda case: {
            "json": {"name": "new", "project": project_of(case, ""), "path": f"{project_of(case, '')}/data/secret"}
        },
    ),
    ("GET", "/models/{model}"): Rule(SEE),
    ("PATCH", "/models/{model}"): Rule(USE_MODEL, body(description="new")),
    ("DELETE", "/models/{model}"): Rule(CHANGE_JOB),
    ("GET", "/models/{model}/versions"): Rule(SEE),
    ("GET", "/models/{model}/versions/{which}"): Rule(SEE),
    ("PATCH", "/models/{model}/versions/{which}"): Rule(USE_MODEL, body(description="new")),
    ("DELETE", "/models/{model}/versions/{which}"): Rule(CHANGE_JOB),
    ("GET", "/models/{model}/compare"): Rule(SEE, lambda _case: {"params": {"version": "1"}}),
    ("PUT", "/models/{model}/aliases/{alias}"): Rule(USE_MODEL, body(version="1")),
    ("DELETE", "/models/{model}/aliases/{alias}"): Rule(USE_MODEL),
    ("GET", "/model-versions/{version_id}"): Rule(SEE),
    # runs
    ("GET", "/runs"): Rule(everybody("2 2 2 2 2")),
    ("POST", "/runs"): Rule(
        {"others": "2 2 2 403 404 2 2", "foreign": "2 404 404 404 2 2 2", "none": "404 404 404 404 404 2 2"},
        lambda case: {"json": {"run": NO_RUN, "name": "new", "project": project_of(case, "")}},
    ),
    ("GET", "/runs/points"): Rule(SEE, lambda case: {"params": {"run": run_of(case)}}),
    ("GET", "/runs/{run}"): Rule(SEE_RUN),
    ("PATCH", "/runs/{run}"): Rule(CHANGE_JOB, body(name="new")),
    ("DELETE", "/runs/{run}"): Rule(CHANGE_JOB),
    ("POST", "/runs/{run}/restore"): Rule(CHANGE_JOB),
    ("GET", "/runs/{run}/series"): Rule(SEE),
    ("GET", "/runs/{run}/environment"): Rule(SEE),
    ("GET", "/runs/{run}/media"): Rule(SEE),
    ("GET", "/runs/{run}/media/{media}"): Rule(SEE),
    ("GET", "/runs/{run}/media/{media}/page"): Rule(SEE),
    ("GET", "/runs/{run}/alerts"): Rule(SEE),
    ("GET", "/runs/{run}/output/{journal}"): Rule(SEE),
    ("GET", "/runs/{run}/export"): Rule(SEE),
    ("GET", "/runs/{run}/watch"): Rule(SEE),
    ("GET", "/runs/{run}/journals/{journal}"): Rule(WRITE_RUN),
    ("PUT", "/runs/{run}/journals/{journal}"): Rule(WRITE_RUN, lambda _case: {"params": {"offset": 0}, "content": b""}),
    ("GET", "/folders"): Rule({"own": "2 2 2 2 2 2 2"}),
    ("POST", "/folders"): Rule(
        {
            "others": "2 2 2 403 404 2 403",
            "foreign": "2 404 404 404 2 403 2",
            "none": "404 404 404 404 404 403 403",
        },
        lambda case: {"json": {"path": "new", "project": project_of(case, "")}},
    ),
    ("POST", "/folders/move"): Rule(
        CHANGE_JOB, lambda case: {"json": {"path": folder_of(case), "to": "moved", "project": project_of(case, "")}}
    ),
    ("DELETE", "/folders"): Rule(
        CHANGE_JOB, lambda case: {"params": {"path": folder_of(case), "project": project_of(case, "")}}
    ),
    ("POST", "/jobs/{job}/metrics"): Rule(CHANGE_JOB, body(metrics=[{"values": {"loss": 1.0}}])),
    # artifacts
    ("GET", "/artifacts"): Rule(everybody("2 2 2 2 2")),
    ("GET", "/artifacts/named"): Rule(SEE_RUN, lambda case: {"params": {"ref": artifact_of(case)}}),
    ("PATCH", "/artifacts/named"): Rule(
        {**CHANGE_JOB, "others": "2 2 2 403 404"},
        lambda case: {"params": named(case), "json": {"description": "new"}},
    ),
    ("DELETE", "/artifacts/named"): Rule(CHANGE_JOB, lambda case: {"params": named(case)}),
    ("GET", "/artifacts/versions"): Rule(SEE, lambda case: {"params": named(case)}),
    ("GET", "/artifacts/versions/{version}"): Rule(SEE_RUN),
    ("PATCH", "/artifacts/versions/{version}"): Rule(CHANGE_JOB, body(aliases=["best"])),
    ("DELETE", "/artifacts/versions/{version}"): Rule(CHANGE_JOB),
    ("GET", "/artifacts/versions/{version}/manifest"): Rule(SEE_RUN),
    ("POST", "/artifacts/versions/{version}/chunks"): Rule(SEE_RUN, body(digests=[digest_of(CHUNK)])),
    ("POST", "/artifacts/versions/{version}/links"): Rule(
        WRITE_RUN, lambda case: {"json": {"run": run_of(case), "kind": "input"}}
    ),
    ("POST", "/artifacts/uploads"): Rule(
        {"others": "2 2 2 403 404 2 2", "foreign": "2 404 404 404 2 2 2", "none": "404 404 404 404 404 2 2"},
        lambda case: {"json": {"artifact": NO_ARTIFACT, "name": "new", "project": project_of(case, "")}},
    ),
    ("POST", "/artifacts/uploads/{artifact}/lacking"): Rule(SEND_ARTIFACT, body(digests=[NO_DIGEST])),
    ("POST", "/artifacts/uploads/{artifact}/chunks"): Rule(SEND_ARTIFACT, lambda _case: {"content": pack_of_chunk()}),
    ("POST", "/artifacts/uploads/{artifact}/commit"): Rule(SEND_ARTIFACT, lambda _case: {"content": commit_of_chunk()}),
    ("GET", "/costs"): Rule({"any": "2 403 403 403 403"}),
    ("GET", "/audit"): Rule(
        {
            "any": "2 2 403 403 2",
            "others": "2 2 403 403 404",
            "foreign": "2 404 404 404 2",
            "none": "404 404 404 404 404",
        },
        lambda case: {} if case.relation == "any" else {"params": {"project": project_of(case, "")}},
    ),
}
