"""Somebody asks about something in the scene: which job, run, artifact or key that is."""

from __future__ import annotations

from typing import NamedTuple

from tests.support.scene import CODE, NO_DIGEST, PEOPLE, Scene, digest_of

from danlu.content.packs import pack
from danlu.journal import Kind, scan

NO_ARTIFACT = "art-" + "a" * 26
NO_RUN = "run-" + "a" * 26


class Case(NamedTuple):
    """Somebody who asks about something."""

    scene: Scene
    role: str
    relation: str


def job_of(case: Case, kind: str) -> str:
    if case.relation == "none":
        return "train-000000000000000001"
    role = case.role if case.role in PEOPLE else "member"
    return case.scene.jobs[role, case.relation][kind]


def project_of(case: Case, end: str) -> str:
    return {"foreign": f"other{end}", "none": "nothing"}.get(case.relation, f"vision{end}")


def user_of(case: Case) -> str:
    if case.relation == "own":
        return PEOPLE.get(case.role, "max")
    return {"foreign": "finn", "none": "nobody-such"}.get(case.relation, "mona")


def run_of(case: Case) -> str:
    return NO_RUN if case.relation == "none" else case.scene.runs[case.role, case.relation].run


def artifact_of(case: Case, number: int = 0) -> str:
    """A version, or with 1 an upload on its way."""
    return NO_ARTIFACT if case.relation == "none" else case.scene.artifacts[case.role, case.relation][number]


def named(case: Case) -> dict[str, str]:
    name = {"foreign": "finn", "none": "nobody", "others": "mona"}.get(case.relation, PEOPLE.get(case.role, "max"))
    return {"name": f"of-{name}", "project": project_of(case, "")}


def folder_of(case: Case) -> str:
    return "nothing" if case.relation == "none" else f"of-{case.scene.runs[case.role, case.relation].header['name']}"


def media_of(case: Case) -> str:
    """Where in the journal its text is: before the frame that ends it."""
    if case.relation == "none":
        return "x:1"
    made = case.scene.runs[case.role, case.relation]
    kinds = [frame for frame in scan(made.data).frames if frame.kind == Kind.MEDIA]
    return f"{made.name}:{kinds[0].start}"


def key_of(case: Case, key: str) -> str:
    """`OUTPUT` is where the member's job writes; another's object otherwise."""
    if case.relation != "own":
        return "data/secret"
    return f"jobs/{case.scene.running['job']}/model.pt" if key == "OUTPUT" else "data/train/1"


def blob_of(case: Case) -> str:
    """A file of the project's code."""
    project = project_of(case, "")
    return digest_of(CODE + project.encode()) if project in case.scene.tree else NO_DIGEST


def batch_of(case: Case) -> bytes:
    return pack([{"key": key_of(case, "OUTPUT"), "size": 1, "sha256": digest_of(b"y")}], [b"y"])
