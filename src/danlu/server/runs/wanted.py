"""Which runs a request asks for."""

from __future__ import annotations

from typing import Annotated, Optional

from fastapi import Depends, Query

from danlu.server.folders.service import folder_in
from danlu.server.identity import CurrentReader
from danlu.server.scope import visible_project_ids
from danlu.store.queries import runs


def _wanted(
    who: CurrentReader,
    query: Annotated[Optional[str], Query(alias="filter", max_length=4000)] = None,
    folder: Annotated[Optional[str], Query(max_length=500)] = None,
    below: bool = True,
    job: Annotated[Optional[str], Query(max_length=40)] = None,
    deleted: bool = False,
) -> runs.RunFilter:
    return runs.RunFilter(
        project_ids=visible_project_ids(who),
        folder=None if folder is None else folder_in("folder", folder),
        with_folders_below=below,
        job_id=job,
        text=query,
        is_deleted=deleted,
    )


WantedRuns = Annotated[runs.RunFilter, Depends(_wanted)]
