"""Templates: incomplete job descriptions to start from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from danlu.errors import InvalidSpec
from danlu.spec.job import parse_job


def check_template(values: Mapping[str, Any]) -> dict[str, Any]:
    """Validate the fields of a template; name and command may be left out.

    Raise InvalidSpec with one message per invalid field.
    """
    given = {name: value for name, value in values.items() if value is not None}
    if given.get("secrets"):
        raise _bad("secrets", "a template cannot contain secrets, because others can read it; give them at submission")
    blanks = {"name": "template", **({} if given.get("roles") else {"command": "true"})}
    spec = parse_job({**blanks, **given})
    if spec.code is not None and spec.code.path is not None:
        raise _bad("code.path", f"expected a folder in the store, got the local folder {spec.code.path!r}")
    return spec.model_dump(mode="json", include=set(given) - {"secrets"})


def _bad(field: str, problem: str) -> InvalidSpec:
    return InvalidSpec(f"{field}: {problem}", fields={field: problem})
