"""The folder `/data` that a project's jobs share (`contract: apulis`). Files are copied there by a job.

Only jobs can access the folder, on any node. So a copy has the permissions of its user, and appears in the list of jobs
like every other change of the folder.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Optional

from danlu.client.files.store import Listener, PathText, Store
from danlu.client.http import Http
from danlu.client.jobs.job import Job
from danlu.client.jobs.jobs import Jobs
from danlu.errors import Conflict, InvalidInput
from danlu.spec.states import JobState
from danlu.wire.auth import MeOut

ROOT = "/data"
MAX_EXECUTABLES = 1000
"""If more files are executable, the file system marks every file as executable."""

_COPY = """\
set -e
to=$1 from=$DANLU_DATA_DIR/staged$2
shift 2
mkdir -p -- "$(dirname -- "$to")"
cp -rT -- "$from" "$to"
for path in "$@"; do chmod +x -- "$to$path"; done
"""


class Shared:
    def __init__(self, http: Http, store: Store, jobs: Jobs) -> None:
        self._http = http
        self._store = store
        self._jobs = jobs

    def put(
        self, local: PathText, to: str, *, project: Optional[str] = None, progress: Optional[Listener] = None
    ) -> Job:
        """Copy a file or a folder to a path in `/data`, and wait for it. Return the job that did it.

        If `to` ends in `/`, it is the folder to copy into. Existing files of the same names are replaced. The
        executable bit is kept, unless more than MAX_EXECUTABLES files have it. Raises Conflict when the job fails.
        """
        source = Path(local)
        target = _target(source, to)
        project = project or self._project()
        staged = f"store://{self._bucket(project)}/.to-data/{uuid.uuid4().hex}/"
        try:
            self._store.upload(source, staged, progress=progress)
            job = self._jobs.submit(
                name=f"put {target.replace('/', ' ').strip()}"[:100],
                command=["bash", "-c", _COPY, "put", target, *_what(source)],
                contract="apulis",
                project=project,
                data={staged: "staged"},
            ).wait()
        finally:
            self._store.delete(staged)
        if job.state is not JobState.SUCCEEDED:
            raise Conflict(f"{source} is not in {target}: {job.reason.message}; see `danlu logs {job.id}`")
        return job

    def _project(self) -> str:
        me = self._http.get("/me", MeOut)
        project = me.default_project or next(iter(me.projects), None)
        if project is None:
            raise InvalidInput("project: you are not a member of one; ask an admin")
        return project

    def _bucket(self, project: str) -> str:
        for bucket in self._store.buckets():
            if bucket.project == project:
                return bucket.name
        raise InvalidInput(f"project: {project!r} has no bucket to send files through; `danlu store mb` creates one")


def _target(source: Path, to: str) -> str:
    if not source.exists():
        raise InvalidInput(f"there is no file or folder {str(source)!r}")
    parts = to.split("/")
    if parts[:2] != ["", ROOT[1:]] or ".." in parts or len(parts) < 3:
        raise InvalidInput(f"to: expected a path in {ROOT}/, got {to!r}")
    return f"{to}{source.resolve().name}" if to.endswith("/") else to


def _what(source: Path) -> list[str]:
    """Return the path below the upload, and the paths of executable files."""
    if not source.is_dir():
        return [f"/{source.name}", *([""] if os.access(source, os.X_OK) else [])]
    found = [
        f"/{path.relative_to(source).as_posix()}"
        for path in sorted(source.rglob("*"))
        if path.is_file() and os.access(path, os.X_OK)
    ]
    return ["", *(found if len(found) <= MAX_EXECUTABLES else [])]
