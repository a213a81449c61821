"""What the server refuses people is in the catalogue, in both languages: every raised text is looked for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import danlu
from danlu import errors
from danlu.spec.messages.catalogue import recognise_failure

SOURCE = Path(danlu.__file__).parent
FOLDERS = ("auth", "server", "gateway")
NAMES = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.DanluError)}
NOT_FOR_PEOPLE = (
    "auth/secrets.py",
    "server/admin.py",
    "server/admission",
    "server/artifacts/uploads.py",
    "server/batches",
    "server/gateway_ports.py",
    "server/hosts.py",
    "server/jobs/identity.py",
    "server/main.py",
    "server/mlflow",
    "server/models/registrar.py",
    "server/monitoring",
    "server/packs",
    "server/request_body.py",
    "server/runs/operations.py",
    "server/runs/pushed.py",
    "server/runs/routes.py",
    "server/settings.py",
    "server/stores.py",
    "server/tencent",
    "server/trees",
    "server/uploads",
)
"""Settings of the server, doors for other clients, and what programs are told of their transfers."""

OF_PROGRAMS = {
    "{} has `access: {}`, and the account of its owner is disabled",
    "{} is not an input of {}; without `access: read` a job reads those only",
    "{} is not below {}; without `access: owner` a job writes there only",
    "the id {} is taken by another upload; use a new id",
    "no artifact {} among what this job reads and made; {}",
    "{} makes folders in its own project only; expected {}, got {}",
    "webhook_networks: {}",
    "oidc_issuer: {} is not an address that begins with https://",
    "{}; use a name of this server, or see docs/guide/endpoints.md",
    "{}: {}",
}
"""Told to jobs and programs, of settings, or made of another message."""


def test_what_people_are_refused_is_in_both_languages() -> None:
    texts = [(place, text) for place, text in raised() if text not in OF_PROGRAMS]
    unknown = [f"{place}: {text}" for place, text in texts if recognise_failure(filled(text)).code == "text"]
    assert len(texts) > 120
    assert unknown == []


def filled(text: str) -> str:
    return text.replace("{}", "7")


def raised() -> Iterator[tuple[str, str]]:
    """The texts of failures without fields: a text, or one with values in it."""
    for folder in FOLDERS:
        for path in sorted((SOURCE / folder).rglob("*.py")):
            place = path.relative_to(SOURCE).as_posix()
            if not place.startswith(NOT_FOR_PEOPLE):
                yield from ((place, text) for text in _texts(ast.parse(path.read_text())))


def _texts(module: ast.Module) -> Iterator[str]:
    for call in ast.walk(module):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in NAMES:
            continue
        if call.args and not any(keyword.arg == "fields" for keyword in call.keywords):
            text = _text(call.args[0])
            if text is not None:
                yield text


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return None
