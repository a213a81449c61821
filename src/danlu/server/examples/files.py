"""The examples as files: each is a folder with `example.yml`, which describes it; most have a `job.yml` and code."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Optional

import yaml
from pydantic import BaseModel, ConfigDict, Field

from danlu.spec.job import JobSpec, parse_job
from danlu.wire.examples import ExampleFile, Words
from danlu.wire.store import is_executable

ABOUT, JOB = "example.yml", "job.yml"
LEFT_OUT = ("__pycache__", ABOUT)
"""Files that are neither read nor copied with an example."""


class About(BaseModel):
    """What `example.yml` says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    order: int
    """Its place in the gallery."""

    title: Words
    about: Words
    tags: list[str] = Field(min_length=1)
    seconds: int = Field(gt=0)
    needs: list[str] = []
    """Programs and Python packages; the job file names devices and images."""

    before: Optional[Words] = None


class Example(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    about: About
    files: list[ExampleFile]
    job: Optional[dict[str, Any]] = None
    """The job file's values, without the code."""

    spec: Optional[JobSpec] = None
    code_folder: Optional[str] = None


def packaged() -> Path:
    """The folder of the examples: beside the code in a wheel, in the root of a checkout."""
    inside = Path(__file__).parents[2]
    shipped = inside / "example_files"
    return shipped if shipped.is_dir() else inside.parents[1] / "examples"


@lru_cache(maxsize=4)
def load_examples(folder: Path) -> Mapping[str, Example]:
    """Read all of them, in the order of the gallery. They do not change while a server runs."""
    found = [read_example(file.parent) for file in folder.glob(f"*/{ABOUT}")]
    return {example.name: example for example in sorted(found, key=lambda one: (one.about.order, one.name))}


def read_example(folder: Path) -> Example:
    about = About.model_validate(yaml.safe_load((folder / ABOUT).read_text("utf-8")))
    if not (folder / JOB).exists():
        return Example(name=folder.name, about=about, files=list(_files(folder, None)))
    values = yaml.safe_load((folder / JOB).read_text("utf-8"))
    spec = parse_job({**values, "code": None})
    code = values.pop("code", None)
    path = code.get("path") if isinstance(code, dict) else code
    inner = os.path.normpath(path) if path else None
    files = list(_files(folder, inner))
    return Example(name=folder.name, about=about, files=files, job=values, spec=spec, code_folder=inner)


def _files(folder: Path, code: Optional[str]) -> Iterator[ExampleFile]:
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder)
        if not file.is_file() or any(part in LEFT_OUT for part in path.parts):
            continue
        status = file.stat()
        yield ExampleFile(
            path=path.as_posix(),
            size=status.st_size,
            text=file.read_text("utf-8"),
            is_executable=is_executable(status.st_mode),
            is_code=code is not None and (code == "." or path.is_relative_to(code)),
        )
