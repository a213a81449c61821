"""Models and their versions on the wire."""

from __future__ import annotations

from typing import Annotated, Any, Optional

from pydantic import Field, field_validator, model_validator

from danlu.spec.fields import EnvName, EnvValue, TagText
from danlu.spec.models import check_alias, check_format, check_model_name
from danlu.wire.base import Answer, Body, Moment

MAX_COMPARED = 50


class Environment(Body):
    """What it takes to run a model. Everything may be omitted."""

    image: Optional[str] = Field(default=None, max_length=500)
    """The container image that inference runs in."""

    command: Optional[str] = Field(default=None, max_length=10_000)
    env: dict[EnvName, EnvValue] = Field(default_factory=dict, max_length=200)


class RegisterModel(Body):
    """A new version of a model, from a job's output, an artifact or a path in the store. A new name makes a model."""

    name: str
    project: Optional[str] = Field(default=None, max_length=100)
    """Whose model it is; the first project that you may use when omitted."""

    job: Optional[str] = Field(default=None, max_length=200)
    """Id or name of a job: its output is the model."""

    folder: Optional[str] = Field(default=None, max_length=900)
    """Which part of the job's output; when omitted, `model/` if the job has written there, otherwise all of it."""

    artifact: Optional[str] = Field(default=None, max_length=300)
    """Id of a version, or `name:3`."""

    path: Optional[str] = Field(default=None, max_length=1000)
    """`store://bucket/folder/`, or an object."""

    run: Optional[str] = Field(default=None, max_length=200)
    """Whose metrics and hyperparameters the version gets; found automatically for jobs and artifacts."""

    copy_files: Optional[bool] = None
    """Whether the version gets files of its own. When omitted: yes, but for artifacts, which do not change."""

    to: Optional[str] = Field(default=None, max_length=1000)
    """Folder for the copy; `models/<name>/<version id>/` in the project's bucket when omitted."""

    format: str = Field(default="", max_length=60)
    framework: str = Field(default="", max_length=100)
    environment: Environment = Environment()
    metrics: dict[str, Annotated[float, Field(allow_inf_nan=False)]] = Field(default_factory=dict, max_length=1000)
    """Beside those of the run; these win."""

    aliases: list[str] = Field(default_factory=list, max_length=20)
    description: str = Field(default="", max_length=100_000)
    tags: dict[TagText, TagText] = Field(default_factory=dict, max_length=50)
    request_id: Optional[str] = Field(default=None, min_length=8, max_length=64)
    """Chosen by the client. Sent a second time (a lost answer), the first version is returned."""

    @field_validator("name")
    @classmethod
    def _name(cls, name: str) -> str:
        return check_model_name(name)

    @field_validator("format")
    @classmethod
    def _format(cls, text: str) -> str:
        return check_format(text)

    @field_validator("aliases")
    @classmethod
    def _aliases(cls, aliases: list[str]) -> list[str]:
        return [check_alias(alias) for alias in aliases]

    @model_validator(mode="after")
    def _one_source(self) -> RegisterModel:
        given = [name for name in ("job", "artifact", "path") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"give one of job, artifact or path; given: {', '.join(given) or 'none'}")
        if self.folder is not None and self.job is None:
            raise ValueError("folder is a part of a job's output; omit it, or pass job")
        if self.to is not None and self.copy_files is False:
            raise ValueError("to is the destination of a copy; omit it, or pass copy_files")
        return self


class ChangeModel(Body):
    """What is omitted stays as it is."""

    description: Optional[str] = Field(default=None, max_length=100_000)
    tags: Optional[dict[TagText, TagText]] = Field(default=None, max_length=50)


class ChangeModelVersion(ChangeModel):
    format: Optional[str] = Field(default=None, max_length=60)
    framework: Optional[str] = Field(default=None, max_length=100)
    environment: Optional[Environment] = None

    @field_validator("format")
    @classmethod
    def _format(cls, text: Optional[str]) -> Optional[str]:
        return None if text is None else check_format(text)


class SetAlias(Body):
    version: str = Field(max_length=80)
    """A number, `latest`, or another alias."""


class ModelVersionOut(Answer):
    id: str
    model: str
    """The model's name."""

    project: str
    version: int
    aliases: list[str] = []
    source: str
    """What it was registered from: `job:<id>`, `artifact:<id>` or `store://…`."""

    source_name: str = ""
    """What people call that, such as mnist-model:v3; empty when it is of another project."""

    job: Optional[str] = None
    run: Optional[str] = None
    """The run whose metrics these are."""

    artifact: Optional[str] = None
    path: Optional[str] = None
    """Where its files are; None when they are those of the artifact."""

    is_copied: bool
    """Whether it has files of its own."""

    size: int
    num_files: int
    format: str = ""
    framework: str = ""
    environment: Environment = Environment()
    metrics: dict[str, Optional[float]] = {}
    """As they were when it was registered, as `hparams`."""

    hparams: dict[str, Any] = {}
    tags: dict[str, str] = {}
    description: str = ""
    owner: str
    created_at: Moment


class ModelOut(Answer):
    id: str
    name: str
    project: str
    description: str = ""
    tags: dict[str, str] = {}
    num_versions: int
    aliases: dict[str, int] = {}
    """Alias -> version."""

    latest: Optional[ModelVersionOut] = None
    """The newest version; None when all were deleted."""

    created_at: Moment


class ComparedRow(Answer):
    """One value of all versions that are compared."""

    name: str
    values: list[Any]
    """In the order of the versions; null where a version has none."""

    is_same: bool


class ModelComparison(Answer):
    """Versions side by side."""

    versions: list[ModelVersionOut]
    facts: list[ComparedRow]
    """Format, framework, source, size and the like."""

    metrics: list[ComparedRow]
    hparams: list[ComparedRow]


class DeletedModel(Answer):
    num_versions: int
    num_files: int
    """Files that were deleted with it; 0 unless that was asked for."""
