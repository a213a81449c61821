"""Registering and deleting models with their files, which are copied and deleted while no transaction is open."""

from __future__ import annotations

from collections.abc import Sequence

from danlu.auth.identity import Identity, UserIdentity
from danlu.server.flow import operations as flow
from danlu.server.models import files as model_files
from danlu.server.models import registering, service
from danlu.server.models.registrar import registrar
from danlu.server.models.sources import Measured, Source, journals_of_runs, measured
from danlu.server.models.view import version_out
from danlu.server.objects.located import Located
from danlu.server.state import ServerState
from danlu.wire.models import DeletedModel, ModelVersionOut, RegisterModel


def register(state: ServerState, asker: Identity, body: RegisterModel) -> ModelVersionOut:
    """Register a version. Its files exist before the version becomes visible.

    If the server dies in between, files of the copy are left that nothing refers to, and no version.
    """
    who = state.database.read(registrar, asker, body)
    version_id = registering.version_id_for(who, body)
    found = state.database.read(registering.prepare, who, body, version_id)
    if found is not None:
        files = model_files.look(state, found.source)
        if found.target is not None:
            model_files.copy(state, files, found.target.stored)
        where = files.where if found.target is None else found.target
        made = registering.Made(files=files, measured=_measure(state, found.source), where=where)
        row = registering.new_version(state, who, body, found, made)
        state.database.write(registering.add, state, who, body, found, row)
    with state.database.reading() as session:
        return version_out(session, service.get_version(session, who, version_id))


def delete_version(
    state: ServerState, who: UserIdentity, model: str, which: str, project: str | None, *, with_files: bool
) -> DeletedModel:
    """Delete a version. Its own files are deleted only `with_files`; its node in the data flow stays."""
    with state.database.writing() as session:
        row = service.find_version(session, service.find_model(session, who, model, project), which)
        places = service.delete_version(session, state, who, row, with_files=with_files)
    return DeletedModel(num_versions=1, num_files=_delete_files(state, places))


def delete_model(
    state: ServerState, who: UserIdentity, name: str, project: str | None, *, with_files: bool
) -> DeletedModel:
    """Delete a model with all its versions."""
    with state.database.writing() as session:
        model = service.find_model(session, who, name, project)
        num_versions, places = service.delete_model(session, state, who, model, with_files=with_files)
    return DeletedModel(num_versions=num_versions, num_files=_delete_files(state, places))


def _measure(state: ServerState, source: Source) -> Measured:
    """Metrics and hyperparameters of the source's runs, after ingesting what has arrived."""
    for run, journal in state.database.read(journals_of_runs, source):
        state.metrics.ingest_journal(run.number, run.id, journal)
    return state.database.read(measured, source)


def _delete_files(state: ServerState, places: Sequence[Located]) -> int:
    num_files = 0
    for where in places:
        num_files += state.objects.delete_below(where.stored)
        flow.bury_emptied(state, where.path)
    return num_files
