"""Saving a template: its code is added to its project, so that all users who see the template can use it."""

from __future__ import annotations

from danlu.auth.identity import UserIdentity
from danlu.errors import NotFound
from danlu.server.invalid import bad_field
from danlu.server.scope import project_to_use
from danlu.server.state import ServerState
from danlu.server.templates import service
from danlu.server.trees.operations import adopt_tree
from danlu.spec.templates import check_template
from danlu.wire.saved.templates import SaveTemplate, TemplateOut


def save(state: ServerState, who: UserIdentity, body: SaveTemplate) -> TemplateOut:
    spec = check_template(body.spec)
    tree = (spec.get("code") or {}).get("tree")
    if tree is not None:
        project_id = state.database.read(project_to_use, who, body.project)
        try:
            adopt_tree(state, who, tree, project_id=project_id)
        except NotFound as error:
            told = f"{tree} is not uploaded; send it with POST /api/v1/trees first"
            raise bad_field("spec.code.tree", told) from error
    return state.database.write(service.save, state, who, body, spec=spec)
