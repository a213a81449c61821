"""GraphQL as MLflow's web pages send it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from danlu.server.mlflow.bodies import GraphQLQuery
from danlu.server.mlflow.door import CurrentCaller
from danlu.server.state import State

router = APIRouter()


@router.post("/graphql")
def graphql(body: GraphQLQuery, caller: CurrentCaller, state: State) -> dict[str, Any]:
    # few servers get such a query, and the library takes a moment to load
    from danlu.server.mlflow.graphql import running

    return running.run(state, caller, body)
