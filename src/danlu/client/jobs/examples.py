"""`client.examples`: jobs to read, copy and run."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, List, Optional, Union  # noqa: UP035

from danlu.client.files.paths import quote_part
from danlu.client.http import Http
from danlu.client.jobs.job import Job
from danlu.client.jobs.jobs import Jobs
from danlu.client.pages import pages
from danlu.errors import Conflict
from danlu.spec.paths import check_key
from danlu.wire.examples import ExampleOut, ExampleRow


class Examples:
    def __init__(self, http: Http, jobs: Jobs) -> None:
        self._http = http
        self._jobs = jobs

    def list(self) -> Iterator[ExampleRow]:
        """All examples, those for beginners first."""
        return pages(self._http, "/examples", ExampleRow)

    def get(self, name: str) -> ExampleOut:
        """Return an example with its files."""
        return self._http.get(f"/examples/{quote_part(name)}", ExampleOut)

    def copy(self, name: str, folder: Union[str, os.PathLike[str]]) -> List[Path]:  # noqa: UP006
        """Write the files of an example into a folder, which is created. Existing files are never overwritten."""
        return write_example(self.get(name), Path(folder))

    def run(self, name: str, changes: Optional[Mapping[str, Any]] = None) -> Job:
        """Submit an example, with some fields of the job changed. Its code is uploaded like that of any job.

            job = client.examples.run("ddp_images", {"nodes": 4})

        Raise Conflict when the example is not a job.
        """
        return submit_example(self._jobs, self.get(name), changes or {})


def submit_example(jobs: Jobs, example: ExampleOut, changes: Mapping[str, Any]) -> Job:
    if example.job is None:
        raise Conflict(
            f"the example {example.name} does not run as a job; "
            f"`danlu examples copy {example.name} FOLDER` copies its files here, and its README describes how to run it"
        )
    values = {**example.job, **changes}
    if example.code_folder is None:
        return jobs.submit(values)
    with tempfile.TemporaryDirectory() as folder:
        write_example(example, Path(folder))
        return jobs.submit({**values, "code": {"path": str(Path(folder) / example.code_folder)}})


def write_example(example: ExampleOut, folder: Path) -> list[Path]:
    targets = []
    for file in example.files:
        check_key(file.path)  # never write outside the folder, whatever the server returns
        targets.append(folder / file.path)
    taken = [target for target in targets if target.exists()]
    if taken:
        raise Conflict(f"{taken[0]} exists already and is not overwritten; name another folder")
    for file, target in zip(example.files, targets):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.text.encode())
        if file.is_executable:
            target.chmod(0o755)
    return targets
