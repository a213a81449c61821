"""Import runs of other trackers: each becomes a journal, and artifacts with its files.

Ids are derived from a run's identity, so that importing again creates no duplicates and continues after an
interruption. What cannot be read is reported, and the rest is imported.
"""

from __future__ import annotations

import tempfile
from typing import Callable, NamedTuple, Optional

from danlu.client.http import Http
from danlu.client.jobs.jobs import path_part
from danlu.client.tracking.artifacts import Artifacts, Contents, Draft
from danlu.content.ids import artifact_id_of
from danlu.errors import DanluError, InvalidInput, NotFound, NotSignedIn, ServerUnreachable
from danlu.importing import journals
from danlu.importing.records import UNREADABLE, ForeignRun, MadeArtifact, Source, storable
from danlu.spec.runs import RunState
from danlu.transfer.artifact_upload import Source as FileSource
from danlu.transfer.journals import announce, send_open
from danlu.wire.artifacts import LinkKind, LinkRun
from danlu.wire.auth import MeOut
from danlu.wire.runs import RunOut


class ImportedRuns(NamedTuple):
    runs: dict[str, str]
    """Id in the other tracker -> id here, of runs that were imported."""

    num_known: int
    """Runs that had been imported before."""

    num_points: int
    num_media: int
    num_files: int
    problems: list[str]
    """One sentence for each thing that could not be imported, with its run."""


def bring(
    http: Http,
    source: Source,
    *,
    project: Optional[str] = None,
    on_run: Callable[[ForeignRun], None] = lambda _run: None,
) -> ImportedRuns:
    """Import every run of a source. Runs that fail are skipped and reported; an unreachable server is an error. Raises
    InvalidInput when there is no run at all."""
    me = http.get("/me", MeOut)
    place = _Place(me.name, project, project or me.default_project or "")
    found = _Brought(http, place)
    num_seen = 0
    for run in source.runs():
        num_seen += 1
        on_run(run)
        try:
            found.take(run)
        except (ServerUnreachable, NotSignedIn):
            raise
        except (DanluError, *UNREADABLE) as error:
            run.problems.add(f"not brought: {error}")
        found.problems += [f"{run.key} ({run.name[:80]}): {one}" for one in run.problems.all()]
    problems = [*source.problems(), *found.problems]
    if not num_seen:
        raise InvalidInput(problems[0] if problems else "there are no runs at this place")
    return ImportedRuns(found.runs, found.num_known, found.num_points, found.num_media, found.num_files, problems)


class _Place(NamedTuple):
    owner: str
    wanted: Optional[str]
    """The project that the user named."""

    project: str
    """The project that will be used."""


class _Brought:
    def __init__(self, http: Http, place: _Place) -> None:
        self._http, self._place = http, place
        self.runs: dict[str, str] = {}
        self.problems: list[str] = []
        self.num_known = self.num_points = self.num_media = self.num_files = 0

    def take(self, run: ForeignRun) -> None:
        id = journals.run_id(run, owner=self._place.owner, project=self._place.project)
        if self._is_here(run, id):
            self.num_known += 1
            return
        header = journals.header_of(run, id=id, project=self._place.wanted)
        with tempfile.TemporaryFile() as file:
            written = journals.write(run, header, file=file)
            file.flush()
            with self._http.plain_errors():
                announce(self._http.api, header)
            for made in run.artifacts:
                self._artifact(run, id, made)
            with self._http.plain_errors():
                sent = send_open(self._http.api, id, file.fileno())  # the end comes last, so an ended run is complete
        if not sent:
            self.num_known += 1
            return
        self.runs[run.key] = id
        self.num_points += written.num_points
        self.num_media += written.num_media

    def _is_here(self, run: ForeignRun, id: str) -> bool:
        """Whether the run was imported completely. If its file has changed since, report that and add nothing."""
        try:
            known = self._http.get(f"/runs/{path_part(id)}", RunOut)
        except NotFound:
            return False
        wanted = journals.journal_id(run)
        same = [one.name for one in known.journals if one.name[:16] == wanted[:16]]
        if same and wanted not in same:
            run.problems.add(f"it has changed since it was imported as {id}; purge that run to import it again")
            return True
        return bool(same) and known.state != RunState.RUNNING

    def _artifact(self, run: ForeignRun, id: str, made: MadeArtifact) -> None:
        key = artifact_id_of("import", run.tracker, made.key, self._place.owner, self._place.project)
        draft = Draft(
            storable(made.name),
            references={storable(path): storable(uri) for path, uri in made.references.items()},
            labels=[storable(label) for label in made.labels],
            description=storable(made.description),
            aliases=made.aliases,
            project=self._place.wanted,
            id=key,
        )
        contents = Contents([FileSource(storable(path), str(place)) for path, place in sorted(made.files.items())], [])
        try:
            Artifacts(self._http).send(draft, contents)
            path = f"/artifacts/versions/{key}/links"
            self._http.send("POST", path, body=LinkRun(run=id, kind=LinkKind(made.kind)))
            self.num_files += len(made.files)
        except (ServerUnreachable, NotSignedIn):
            raise
        except DanluError as error:
            run.problems.add(f"artifact {made.name}: {error}")
