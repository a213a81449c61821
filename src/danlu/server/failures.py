"""Error responses: all failures have one shape."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from danlu.errors import DanluError, InvalidInput, TooManyRequests
from danlu.spec.messages.catalogue import Message, recognise, recognise_failure
from danlu.spec.sentences import field_errors

log = logging.getLogger(__name__)


def install(app: FastAPI) -> None:
    app.add_exception_handler(DanluError, _danlu_error)
    app.add_exception_handler(RequestValidationError, _bad_request)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(Exception, _bug)


def _danlu_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, DanluError)
    return answer_to(error)


def answer_to(error: DanluError) -> Response:
    headers = {"WWW-Authenticate": "Bearer"} if error.status == 401 else {}
    if isinstance(error, TooManyRequests) and error.retry_after_seconds is not None:
        headers["Retry-After"] = str(error.retry_after_seconds)
    said = {field: _said(recognise(text)) for field, text in error.fields.items()}
    body = {**error.to_wire(), "said": said, "message_said": _said(recognise_failure(error.message))}
    return JSONResponse(body, status_code=error.status, headers=headers)


def _said(message: Message) -> dict[str, Any]:
    return message.model_dump(exclude_none=True)


def _bad_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    fields = field_errors([_plain(item) for item in error.errors()], {}, noun="this request")
    told = "; ".join(f"{place}: {problem}" for place, problem in fields.items())
    return _danlu_error(request, InvalidInput(f"invalid request: {told}", fields=fields))


def _plain(item: dict[str, Any]) -> dict[str, Any]:
    """Drop FastAPI's first part of the location, which names the part of the request."""
    if item["type"] == "json_invalid":
        told = f"it is not JSON: {item['ctx']['error']} at character {item['loc'][-1]}"
        return {"type": "value_error", "loc": ("body",), "msg": told}
    return {**item, "loc": item["loc"][1:] or ("body",)}


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    names = {404: "NotFound", 405: "NotFound"}
    told = f"no {request.method} {request.url.path} here" if error.status_code in names else str(error.detail)
    return JSONResponse(
        _body(names.get(error.status_code, "InvalidInput"), told), status_code=error.status_code, headers=error.headers
    )


def _gone(_request: Request, _error: Exception) -> Response:
    """The client disconnected during its request: not an error, and nobody reads this response."""
    return Response(status_code=400)


def _bug(request: Request, error: Exception) -> Response:
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return JSONResponse(_body("DanluError", "internal error; the server's log has the details"), status_code=500)


def _body(error: str, message: str) -> dict[str, Any]:
    said = _said(recognise_failure(message))
    return {"error": error, "message": message, "fields": {}, "said": {}, "message_said": said}
