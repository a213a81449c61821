"""Convert JSON descriptions of jobs of other platforms into fields of a Danlu job."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Callable

from danlu.client.jobs.foreign.fields import Converted, Fields
from danlu.errors import InvalidSpec
from danlu.spec.sentences import suggestion

PLATFORMS = {"ti-one": "ti_one", "apulis": "apulis", "modelarts": "modelarts"}


def read_foreign_job(path: Path, platform: str) -> Converted:
    """Read a JSON file and convert it. Raise InvalidSpec naming what is wrong or unknown."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidSpec(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InvalidSpec(f"{path} is not JSON: {error}") from error
    return convert(values, platform)


def convert(values: Mapping[str, Any], platform: str) -> Converted:
    """Convert a platform's JSON. Unknown fields are an error that names all of them."""
    if platform not in PLATFORMS:
        raise InvalidSpec(f"no platform {platform!r}{suggestion(platform, list(PLATFORMS))}")
    fields = Fields(values)
    make: Callable[[Fields], dict[str, Any]] = import_module(f"{__name__}.{PLATFORMS[platform]}").job
    job = make(fields)
    unknown = fields.left()
    if unknown:
        told = dict.fromkeys(unknown, f"not a field of {platform}'s jobs that is known here")
        raise InvalidSpec(f"fields of the file that are not known here: {', '.join(unknown)}", fields=told)
    return Converted({name: value for name, value in job.items() if value not in (None, "", {}, [])}, fields.unused())
