"""Failures in the shape that MLflow's clients read: `{"error_code": ..., "message": ...}`."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from danlu.errors import AlreadyExists, DanluError, TooManyRequests

log = logging.getLogger(__name__)
MAX_SHOWN_CHARS = 200

_CODES = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "RESOURCE_DOES_NOT_EXIST",
    409: "INVALID_STATE",
    429: "REQUEST_LIMIT_EXCEEDED",
    501: "NOT_IMPLEMENTED",
    503: "TEMPORARILY_UNAVAILABLE",
}


def install(app: FastAPI) -> None:
    app.add_exception_handler(DanluError, _danlu_error)
    app.add_exception_handler(RequestValidationError, _bad_request)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(Exception, _bug)


def told(code: str, message: str, *, status: int, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error_code": code, "message": message}, status_code=status, headers=headers)


def _danlu_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, DanluError)
    if isinstance(error, AlreadyExists):
        return told("RESOURCE_ALREADY_EXISTS", error.message, status=400)
    headers = {"WWW-Authenticate": "Bearer"} if error.status == 401 else {}
    if isinstance(error, TooManyRequests) and error.retry_after_seconds is not None:
        headers["Retry-After"] = str(error.retry_after_seconds)
    if error.status in (413, 416, 422):
        return told("INVALID_PARAMETER_VALUE", error.message, status=400)
    return told(_CODES.get(error.status, "INTERNAL_ERROR"), error.message, status=error.status, headers=headers)


def _bad_request(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    sentences = dict.fromkeys(_sentence(item, error.body) for item in error.errors()[:10])
    return told("INVALID_PARAMETER_VALUE", " ".join(sentences), status=400)


def _sentence(item: Mapping[str, Any], body: object) -> str:
    """Name the parameter of the request, as MLflow does, and where in it the problem is."""
    place = [str(part) for part in item["loc"][1:]]
    name = place[0] if place else "body"
    given = body.get(name) if isinstance(body, dict) else item["input"]
    if len(place) == 1 and (item["type"] == "missing" or given is None):
        return f"Missing value for required parameter '{name}'. See the API docs for more information."
    shown = json.dumps(given, separators=(",", ":"), default=str)[:MAX_SHOWN_CHARS]
    return f"Invalid value {shown} for parameter '{name}' supplied: {'.'.join(place)}: {item['msg']}."


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code in (404, 405):
        path = request.url.path[:200]
        return told("ENDPOINT_NOT_FOUND", f"Danlu's door for MLflow has no {request.method} {path}", status=404)
    return told("BAD_REQUEST", str(error.detail), status=error.status_code)


def _gone(_request: Request, _error: Exception) -> Response:
    return Response(status_code=400)  # the client has disconnected


def _bug(request: Request, error: Exception) -> Response:
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return told("INTERNAL_ERROR", "internal error; the server's log has the details", status=500)
