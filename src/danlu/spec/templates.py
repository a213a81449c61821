"""Templates: parts of a job that people begin with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from danlu.errors import InvalidSpec
from danlu.spec.job import parse_job


def check_template(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that it gives, as a job has them; a job's name and command may be left out.

    Raise InvalidSpec with one sentence per wrong field.
    """
    given = {name: value for name, value in values.items() if value is not None}
    if given.get("secrets"):
        raise _bad("secrets", "a template is read by others and keeps no secrets; give them when you submit")
    blanks = {"name": "template", **({} if given.get("roles") else {"command": "true"})}
    spec = parse_job({**blanks, **given})
    if spec.code is not None and spec.code.path is not None:
        raise _bad("code.path", f"{spec.code.path!r} is a folder of one machine; a folder in the store would be right")
    return spec.model_dump(mode="json", include=set(given) - {"secrets"})


def _bad(field: str, problem: str) -> InvalidSpec:
    return InvalidSpec(f"{field}: {problem}", fields={field: problem})
