"""What a job may read and write, checked when it is submitted and when it is restarted.

The result names rows: ids of buckets, the project that has the tree. Requests with the job's token are checked against
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.errors import DanluError, InvalidSpec
from danlu.server.invalid import bad_spec
from danlu.server.jobs.inputs import find_inputs
from danlu.server.objects.located import Located, bucket_named
from danlu.server.scope import project_to_use
from danlu.server.trees import service as trees
from danlu.spec.job import JobSpec
from danlu.spec.paths import StorePath, parse_store_path
from danlu.store.queries import buckets
from danlu.store.sql.tables import JobRow

DEFAULT_FOLDER = "jobs"


@dataclass(frozen=True, slots=True)
class Access:
    """The rows that a job uses."""

    output: str
    """Folder of its results; at submit without the job's id."""

    stood_for: dict[str, str]
    """What names in it refer to: see `Inputs`. Includes the buckets that it writes to."""

    places: Sequence[Located] = ()
    """Inputs in the store, which must exist."""

    tree: str | None = None
    """Digest of its code."""

    is_tree_here: bool = True
    """Whether the job's own project has the tree; if not, another project of its owner may have it."""


def project_of(session: Session, who: UserIdentity, spec: JobSpec) -> int:
    try:
        return project_to_use(session, who, spec.project)
    except DanluError as error:
        raise error if spec.project is None else bad_spec("project", error.message) from error


def check_access(session: Session, who: UserIdentity, spec: JobSpec, *, project_id: int) -> Access:
    """Reject what the job may not use, before anything is stored."""
    if spec.code is not None and spec.code.is_local:
        name, what = (
            ("code.path", "a folder of the client") if spec.code.path else ("code.git", "fetched by the client")
        )
        raise bad_spec(name, f"{spec.code.path or spec.code.git!r} is {what}; upload it and send code.tree")
    output = output_folder(session, spec, project_id)
    inputs = find_inputs(session, who, spec, project_id=project_id)
    # by default the job writes to its project's bucket, which members may use
    ids = {**inputs.stood_for, **(_check_output(session, who, output) if spec.output is not None else {})}
    bucket = parse_store_path(output).bucket
    if bucket not in ids:
        found = bucket_named(session, bucket)
        ids[bucket] = "" if found is None else found.id
    return Access(output, ids, inputs.places, *_check_tree(session, who, spec, project_id))


def check_access_again(session: Session, who: UserIdentity, spec: JobSpec, row: JobRow) -> Access:
    """The same for a stored job: buckets may have been moved or replaced, and users may have left.

    It reads the versions of artifacts and models that its names referred to at submission.
    """
    inputs = find_inputs(session, who, spec, project_id=row.project_id, known=row.bucket_ids)
    ids = {**inputs.stood_for, **_check_output(session, who, row.output)}
    return Access(row.output, ids, inputs.places, *_check_tree(session, who, spec, row.project_id))


def output_folder(session: Session, spec: JobSpec, project_id: int) -> str:
    """The folder for results, without the job's id: as the job says, or in the project's oldest bucket."""
    if spec.output is not None:
        return f"{spec.output.rstrip('/')}/"
    bucket = buckets.first_bucket(session, project_id)
    if bucket is None:
        raise bad_spec("output", "the project has no bucket to put results in; create one with `danlu store mb`")
    return f"{StorePath(bucket.name, DEFAULT_FOLDER)}/"


def _check_output(session: Session, who: UserIdentity, output: str) -> dict[str, str]:
    """Name -> id of the output's bucket. Raise InvalidSpec when the user may not write there."""
    path = parse_store_path(output)
    bucket = bucket_named(session, path.bucket)
    try:
        rights.check_write_object(who, path, bucket)
    except DanluError as error:
        raise bad_spec("output", error.message) from error
    assert bucket is not None  # the check fails without a bucket
    return {path.bucket: bucket.id}


def _check_tree(session: Session, who: UserIdentity, spec: JobSpec, project_id: int) -> tuple[str | None, bool]:
    """The digest of the job's code, and whether its project has that."""
    tree = spec.code.tree if spec.code is not None else None
    if tree is None:
        return None, True
    if trees.has_tree(session, project_id, tree):
        return tree, True
    if trees.find_tree(session, who, tree) is None and not trees.may_have_tree(session, who, tree):
        raise not_uploaded(tree)
    return tree, False


def not_uploaded(tree: str) -> InvalidSpec:
    return bad_spec("code.tree", f"{tree} is not uploaded; send it with POST /api/v1/trees first")
