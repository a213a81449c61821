"""Runs a query."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from graphql import GraphQLError, GraphQLResolveInfo, execute_sync, parse, validate

from danlu.errors import DanluError, InvalidInput
from danlu.server.mlflow.bodies import GraphQLQuery
from danlu.server.mlflow.door import Caller
from danlu.server.mlflow.graphql import limits
from danlu.server.mlflow.graphql.resolvers import Asked, resolve
from danlu.server.mlflow.graphql.schema import schema
from danlu.server.state import ServerState

log = logging.getLogger(__name__)
MAX_ERRORS = 10
MAX_ERROR_CHARS = 500


def run(
    state: ServerState, caller: Caller, body: GraphQLQuery, *, seconds: float = limits.MAX_SECONDS
) -> dict[str, Any]:
    """The answer: data, and what is wrong with the query or its parts."""
    try:
        document = parse(body.query, no_location=True, max_tokens=limits.MAX_TOKENS)
        limits.check(document)
    except (GraphQLError, InvalidInput) as error:
        return _refused(error.message)
    errors = validate(schema(), document, max_errors=MAX_ERRORS)
    if errors:
        return {"data": None, "errors": [_told(one) for one in errors]}
    try:
        done = execute_sync(
            schema(),
            document,
            context_value=Asked(state, caller, limits.Budget(seconds)),
            variable_values=body.variables or {},
            operation_name=body.operation_name,
            field_resolver=resolve,
            middleware=[_counted],
        )
    except limits.Exhausted as error:
        return _refused(error.message)
    return {"data": done.data, "errors": [_told(one) for one in (done.errors or [])[:MAX_ERRORS]] or None}


def _counted(resolver: Callable[..., Any], source: Any, info: GraphQLResolveInfo[Any], **given: Any) -> Any:
    """The value of any field, taken from the budget. Around `resolve`, and around the library's `__typename`."""
    asked: Asked = info.context
    asked.budget.check_time()
    value = resolver(source, info, **given)
    asked.budget.answer(str(info.path.key), value)
    return value


def _refused(message: str) -> dict[str, Any]:
    return {"data": None, "errors": [message[:MAX_ERROR_CHARS]]}


def _told(error: GraphQLError) -> str:
    original = error.original_error
    if original is None:
        return error.message[:MAX_ERROR_CHARS]
    if isinstance(original, DanluError):
        return original.message[:MAX_ERROR_CHARS]
    log.error("a field of a GraphQL query failed", exc_info=original)
    return "internal error; the server's log has the details"
