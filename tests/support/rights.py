"""The rights of everybody on everything, as a table: `tests/server/test_rights_matrix.py` tries all of it.

A rule has a line per kind of thing:

    own       of the one who asks (a job of the project vision that they once submitted, their key, they themselves)
    others    of somebody else in vision
    foreign   of the project other, which only the outsider belongs to
    none      of nobody: there is no such thing
    any       the route names no thing

and in each line an answer per person: admin, owner, member and viewer of vision, outsider, and then the tokens of a
job of vision (the member's) and of a job of other. `2` is any success. Who is not let in at all gets 401 everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.support.cases import (
    Case,
    artifact_of,
    blob_of,
    job_of,
    key_of,
    media_of,
    project_of,
    run_of,
    user_of,
)
from tests.support.scene import (
    CODE,
    NO_DIGEST,
    OFFERED,
    PEOPLE,
    TOKENS,
    digest_of,
)

API = "/api/v1"
COLUMNS = (*PEOPLE, *TOKENS)
NO_TOKENS = ("403", "403")


Request = Callable[[Case], dict[str, Any]]
"""What is sent beside the path."""


class Rule(NamedTuple):
    lines: dict[str, str]
    request: Request = lambda _case: {}
    job: str = "over"
    """Which of somebody's jobs the path names."""

    key: str = "data/secret"
    bucket: str = ""
    """Ends the name of the bucket in the path."""

    project: str = ""
    """Ends the name of the project in the path."""


def everybody(people: str, tokens: str = "403 403") -> dict[str, str]:
    return {"any": f"{people} {tokens}"}


PAGES = {
    ("GET", "/"),
    ("GET", "/metrics"),  # for admins and Prometheus: tests/server/test_metrics.py
    ("GET", "/signin"),
    ("POST", "/signin"),
    ("GET", "/signin/cli"),
    ("POST", "/signin/cli"),
    ("GET", "/signin/oidc"),
    ("GET", "/signin/oidc/callback"),
}
"""Outside of the API. They show nothing of others, and take a link's token, a session's cookie or a provider's word."""


def path_of(case: Case, path: str, rule: Rule) -> str:
    scene, relation = case.scene, case.relation
    keys = {"own": scene.key_ids.get(case.role, "x"), "others": scene.key_ids["colleague"], "none": "x"}
    project = project_of(case, "")
    tree = scene.tree.get(project, NO_DIGEST)
    digest = tree if path.startswith("/trees") else digest_of(CODE) if relation == "any" else blob_of(case)
    uploads = {"own": scene.uploads.get(case.role, "x"), "others": scene.uploads["colleague"]}
    values = {
        "example": "hello",
        "job": job_of(case, rule.job) if "{job}" in path else "",
        "rank": "0",
        "terminal": "x",
        "endpoint": "8080",
        "ssh_key": "x",
        "webhook": "x",
        "node": "here" if relation == "others" else "nothing",
        "bucket": f"{project}{rule.bucket}" if relation != "none" else "nothing",
        "key:path": key_of(case, rule.key),
        "digest": digest,
        "upload": uploads.get(relation, "x"),
        "key_id": scene.key_ids["foreigner"] if relation == "foreign" else keys.get(relation, "x"),
        "project": project_of(case, rule.project),
        "run": run_of(case) if "{run}" in path else "",
        "journal": "x" if relation in ("none", "any") else scene.runs[case.role, relation].name,
        "media": media_of(case) if "{media}" in path else "",
        "model": user_of(case),
        "which": "1",
        "version_id": scene.models.get(user_of(case), "x"),
        "alias": "champion",
        "view": scene.views.get(user_of(case), "999"),
        "template": scene.templates.get(user_of(case), "999"),
        "version": artifact_of(case) if "{version}" in path else "",
        "artifact": artifact_of(case, 1) if "{artifact}" in path else "",
        "registration": scene.registration if relation == "others" else "x",
        "user": user_of(case),
        "invitation": scene.invitations.get(user_of(case), "x"),
        "flavor": OFFERED if relation == "others" else "nothing",
        "framework": OFFERED if relation == "others" else "nothing",
    }
    for name, value in values.items():
        path = path.replace(f"{{{name}}}", value)
    return f"{API}{path}"


def expected(rule: Rule, relation: str) -> dict[str, str]:
    answers = rule.lines[relation].split()
    if len(answers) == len(PEOPLE):
        answers += NO_TOKENS
    assert len(answers) == len(COLUMNS), rule.lines[relation]
    return dict(zip(COLUMNS, answers, strict=True))
