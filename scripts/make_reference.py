"""Write docs/reference/{job,reasons,settings,http,errors,metrics}.md from the tables and classes they describe."""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from danlu import errors
from danlu.engines.settings import EngineOptions
from danlu.server.monitoring.names import METRICS
from danlu.server.settings import ServerSettings
from danlu.spec.code import Code
from danlu.spec.fields import Network
from danlu.spec.job import (
    Contract,
    ImageLogin,
    JobAccess,
    JobSpec,
    LaunchMode,
    Processes,
    Resources,
    Retry,
    Role,
)
from danlu.spec.reasons import CATALOGUE

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
NOTE = "<!-- made by scripts/make_reference.py; change the source and run it again -->\n"


TYPES = {
    "EndpointNames": "list of `ssh`, `jupyter`, `tensorboard` and ports",
    "str": "text",
    "bool": "true or false",
    "Contract": " or ".join(f"`{contract}`" for contract in Contract),
    "JobAccess": " or ".join(f"`{access}`" for access in JobAccess),
    "ImageLogin": "[image_login](#image_login)",
    "Text": "text",
    "JobName": "text",
    "ImageName": "text",
    "FlavorName": "text",
    "FrameworkName": "text",
    "EnvName": "text",
    "int": "whole number",
    "float": "number",
    "Seconds": "duration",
    "IdleSeconds": "duration",
    "Bytes": "size",
    "Device_": "device",
    "StorePathText": "store path",
    "Command": "text, or list of texts",
    "Requirements": "text, or list of texts",
    "PythonVersion": "text",
    "SuccessRule": "text",
    "dict[RoleName, Role]": "mapping: role -> [role](#role)",
    "tuple[str, ...]": "list of texts",
    "dict[InputSource, JobPath]": "mapping: input -> path",
    "dict[EnvName, EnvValue]": "mapping: variable -> text",
    "dict[TagText, TagText]": "mapping: text -> text",
    "dict[str, Any]": "mapping: text -> any JSON value",
    "LaunchMode": " or ".join(f"`{mode}`" for mode in LaunchMode),
    "Processes": " or ".join(f"`{way}`" for way in Processes),
    "Network": " or ".join(f"`{network}`" for network in Network),
    "FixedPorts": "list of whole numbers, 1024 to 65535",
    "Resources": "[resources](#resources)",
    "Code": "text, or [code](#code)",
    "Retry": "[retry](#retry)",
}
"""Annotation of a field -> what to write. A new kind of field has to be named here first."""


def pages() -> dict[str, str]:
    """File name -> text."""
    return {
        "job.md": job(),
        "reasons.md": reasons(),
        "settings.md": settings(),
        "errors.md": error_tree(),
        "http.md": http(),
        "metrics.md": metrics(),
    }


def job() -> str:
    kinds: dict[str, type[BaseModel]] = {
        "": JobSpec,
        "resources": Resources,
        "role": Role,
        "code": Code,
        "retry": Retry,
        "image_login": ImageLogin,
    }
    lines: list[str] = []
    for title, kind in kinds.items():
        head = [f"## {title}", ""] if title else []
        lines += [*head, "| field | type | default | meaning |", "|---|---|---|---|", *_field_rows(kind), ""]
    return _page(
        "Fields of a job",
        "The same in a job file (YAML), in `client.jobs.submit(...)` and over HTTP. Only `name` and `command` "
        "(or `roles`) must be there. [The guide](../guide/jobs.md) shows them at work.\n\n"
        "- *duration*: seconds as a number, or text such as `90s`, `15m`, `2h`, `1d`\n"
        "- *size*: bytes as a number, or text such as `512MB`, `4GB` (10^9) or `16GiB` (2^30)\n"
        "- *device*: `TYPE[:MODEL][:COUNT]`, such as `cpu:2`, `gpu:8` or `npu:910b:8`\n"
        "- *store path*: `store://bucket/path`",
        lines[:-1],
    )


def reasons() -> str:
    rows = [
        f"| `{code}` | {entry.cause} | {entry.fault} | {'yes' if entry.is_retried else 'no'} | {entry.remedy} |"
        for code, entry in CATALOGUE.items()
    ]
    return _page(
        "Reasons",
        "Every job that waits and every job that ended carries one of these codes, and a sentence with particulars. "
        "*Retried* says whether a retry policy that names no reasons (`retry: {max: 3}`) covers it; "
        "`retry: {on: [...]}` names others, or exit codes as `exit:N`.",
        ["| code | what happened | who can do something | retried | what to do |", "|---|---|---|---|---|", *rows],
    )


def metrics() -> str:
    rows = [
        f"| `{metric.name}` | {metric.kind} | {', '.join(f'`{label}`' for label in metric.labels)} | {metric.meaning} |"
        for metric in METRICS
    ]
    return _page(
        "Metrics",
        "What `/metrics` tells Prometheus. Names and labels are stable: they are changed only with a major version. "
        "Beside them are the usual `process_...` and `python_gc_...` of the server. `route` is the pattern of a path "
        "below `/api/v1`, and `other` for all else. [How to scrape them](../guide/monitoring.md#prometheus).",
        ["| metric | kind | labels | meaning |", "|---|---|---|---|", *rows],
    )


def settings() -> str:
    told = {**dict(_documented(EngineOptions)), **dict(_documented(ServerSettings))}
    prefix = str(ServerSettings.model_config["env_prefix"])
    rows = []
    for name, field in ServerSettings.model_fields.items():
        default = _show(field.default)
        rows.append(f"| `{name}` | `{prefix}{name.upper()}` | {default} | {told.get(name, '')} |")
    return _page(
        "Settings of the server",
        "`danlu up` takes the common ones as options; an option wins over the variable.",
        ["| setting | variable | default | meaning |", "|---|---|---|---|", *rows],
    )


def error_tree() -> str:
    rows = [
        f"| `{kind.__name__}` | {kind.status} | `{kind.__mro__[1].__name__}` |"
        for kind in sorted(errors.all_errors(), key=lambda kind: (kind.status, kind.__name__))
    ]
    drawn = (inspect.getdoc(errors) or "").split("\n\n")[1]
    return _page(
        "Errors",
        "Every failure is one of these, on both sides of the wire: the server sends "
        '`{"error": "<class>", "message": "...", "fields": {...}}`, the SDK raises the class of that name. '
        "`fields` holds a sentence for each field that is wrong.",
        ["```", drawn, "```", "", "| class | HTTP status | is a |", "|---|---|---|", *rows],
    )


def http() -> str:
    described = json.loads((FOLDER / "openapi.json").read_text())
    rows = []
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            done = ", ".join(code for code in operation["responses"] if code.isdigit())
            told = (operation.get("description") or operation.get("summary", "")).split("\n")[0]
            query = ", ".join(f"`{item['name']}`" for item in operation.get("parameters", []) if item["in"] == "query")
            rows.append(f"| `{method.upper()} {path}` | {query} | {done} | {told} |")
    return _page(
        "HTTP",
        "Send `Authorization: Bearer <API key>`. Lists are paged: send `next` back as `cursor`. "
        "Failures have one shape: [errors](errors.md). All bodies are in [openapi.json](openapi.json).",
        ["| request | query | answers | |", "|---|---|---|---|", *rows],
    )


def _page(title: str, intro: str, lines: list[str]) -> str:
    return f"{NOTE}# {title}\n\n{intro}\n\n" + "\n".join(lines) + "\n"


def _field_rows(kind: type[BaseModel]) -> Iterator[str]:
    told, written = dict(_documented(kind)), dict(_annotations(kind))
    for name, field in kind.model_fields.items():
        what = f"{TYPES[written[name]]}{_limits(field)}"
        yield f"| `{name}` | {what} | {_field_default(field)} | {told[name]} |"


def _annotations(kind: type[Any]) -> Iterator[tuple[str, str]]:
    """Each field with its type as it is written, without `Optional` and what `Annotated` adds."""
    for field in _class_body(kind):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            found = field.annotation
            while isinstance(found, ast.Subscript) and ast.unparse(found.value) in ("Optional", "Annotated"):
                found = found.slice.elts[0] if isinstance(found.slice, ast.Tuple) else found.slice
            yield field.target.id, ast.unparse(found)


def _limits(field: FieldInfo) -> str:
    found = {name: getattr(rule, name) for rule in field.metadata for name in ("ge", "gt", "le") if hasattr(rule, name)}
    if field.annotation not in (int, Optional[float]):
        return ""
    begin = f"{found['ge']} to" if "ge" in found else f"above {found['gt']}, up to"
    return f", {begin} {found['le']}"


def _field_default(field: FieldInfo) -> str:
    if field.is_required():
        return "must be given"
    if field.default_factory is not None or isinstance(field.default, (Resources, Retry)):
        return ""
    return _show(f"{field.default:g}" if isinstance(field.default, float) else field.default)


def _documented(kind: type[Any]) -> Iterator[tuple[str, str]]:
    """Each field with the string that stands under it."""
    body = _class_body(kind)
    for field, below in zip(body, body[1:]):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            value = below.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield field.target.id, " ".join(value.value.split())


def _class_body(kind: type[Any]) -> list[ast.stmt]:
    body = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(body, ast.ClassDef)
    return body.body


def _show(value: object) -> str:
    if value in ("", (), None):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether the pages are current")
    check = parser.parse_args().check
    for name, text in pages().items():
        file = FOLDER / name
        if check and (not file.exists() or file.read_text() != text):
            sys.exit(f"docs/reference/{name} is old: run {sys.argv[0]}")
        if not check:
            file.write_text(text)
