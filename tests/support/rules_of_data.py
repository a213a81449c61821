"""Rights on the store, runs, artifacts, models and their lineage: see tests/support/rules.py"""

from __future__ import annotations

from tests.support.cases import (
    NO_ARTIFACT,
    NO_RUN,
    artifact_of,
    batch_of,
    blob_of,
    folder_of,
    key_of,
    named,
    project_of,
    run_of,
)
from tests.support.rights import Rule, everybody
from tests.support.rule_lines import (
    CHANGE_JOB,
    OWN_PROJECT,
    SEE,
    SEE_RUN,
    SEND_ARTIFACT,
    UPLOAD,
    USE_MODEL,
    WRITE_RUN,
    body,
)
from tests.support.scene import CHUNK, CODE, NO_DIGEST, commit_of_chunk, digest_of, pack_of_chunk

DATA_RULES: dict[tuple[str, str], Rule] = {
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
    # the data flow
    ("GET", "/flow"): Rule(SEE, lambda case: {"params": {"node": f"run:{run_of(case)}"}}),
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
}
