"""The job as its user describes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Optional, Union

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    model_validator,
)

from danlu.errors import InvalidSpec
from danlu.spec.devices import DeviceRequest
from danlu.spec.paths import check_job_path, parse_store_path
from danlu.spec.reasons import CATALOGUE
from danlu.spec.states import Word
from danlu.spec.units import parse_device, parse_duration, parse_size

MAX_NODES = 4096
_JOB_ID = re.compile(r"train-\d+")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TREE = re.compile(r"[0-9a-f]{64}")


def _no_control(text: str) -> str:
    if any((ord(char) < 32 and char not in "\t\n\r") or "\ud800" <= char <= "\udfff" for char in text):
        raise ValueError(f"{text!r} contains control characters or lone surrogates")
    return text


def _name(text: str) -> str:
    if not text.strip() or text != text.strip() or len(text) > 100 or "/" in text or "\n" in text or "\t" in text:
        raise ValueError(f"{text!r} is not a name; 1 to 100 characters without '/' and outer blanks would be right")
    if is_job_id(text):
        raise ValueError(f"{text!r} looks like a job id; choose another name")
    return _no_control(text)


def _env_name(text: str) -> str:
    if not _ENV_NAME.fullmatch(text):
        raise ValueError(f"{text!r} is not a variable name; letters, digits and '_', not beginning with a digit")
    if text.startswith("DANLU_"):
        raise ValueError(f"{text!r} is reserved: names beginning with DANLU_ are set by Danlu")
    return text


def _no_nul(text: str) -> str:
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError("a NUL character or a lone surrogate cannot be in a value")
    return text


def _store_path(text: str) -> str:
    return str(parse_store_path(text))


def _device(value: object) -> object:
    return parse_device(value) if isinstance(value, str) else value


def _seconds(value: object) -> object:
    return parse_duration(value) if isinstance(value, str) else value


def _bytes(value: object) -> object:
    return parse_size(value) if isinstance(value, str) else value


def _env_value(value: object) -> object:
    """YAML turns `1` into a number; an environment holds text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else value


Text = Annotated[str, AfterValidator(_no_nul)]
EnvName = Annotated[str, AfterValidator(_env_name)]
EnvValue = Annotated[str, BeforeValidator(_env_value), AfterValidator(_no_nul)]
StorePathText = Annotated[str, AfterValidator(_store_path)]
JobPath = Annotated[str, AfterValidator(check_job_path)]
Seconds = Annotated[float, BeforeValidator(_seconds), Field(ge=0, le=10 * 365 * 86400, allow_inf_nan=False)]
Bytes = Annotated[int, BeforeValidator(_bytes), Field(ge=1, le=2**60)]
Device_ = Annotated[DeviceRequest, BeforeValidator(_device), PlainSerializer(str, return_type=str)]
TagText = Annotated[str, Field(max_length=200), AfterValidator(_no_control)]


class LaunchMode(Word):
    """How the command is started on the nodes."""

    PLAIN = "plain"
    DDP = "ddp"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Resources(_Frozen):
    device: Device_ = DeviceRequest()
    """Devices on every node: TYPE[:MODEL][:COUNT]. `cpu:2` means two processes per node."""

    cpus: Optional[float] = Field(default=None, gt=0, le=4096, allow_inf_nan=False)
    """Cores reserved on every node; nothing is reserved when left out."""

    memory: Optional[Bytes] = None
    """Memory reserved on every node, such as 4GB."""


class Code(_Frozen):
    path: Optional[str] = None
    """A local folder. The client uploads it by content and sends `tree` instead."""

    store: Optional[StorePathText] = None
    """A folder in the store."""

    tree: Optional[str] = None
    """The digest of an uploaded folder."""

    @model_validator(mode="after")
    def _one_source(self) -> Code:
        given = [name for name in ("path", "store", "tree") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"give one of path, store or tree; given: {', '.join(given) or 'none'}")
        if self.tree is not None and not _TREE.fullmatch(self.tree):
            raise ValueError(f"{self.tree!r} is not a tree digest; 64 hexadecimal digits would be right")
        return self


class Retry(_Frozen):
    max: int = Field(default=0, ge=0, le=100)
    """How often the job is tried again after its first attempt."""

    on: tuple[str, ...] = ()
    """Reason codes, or exit:N; when left out, the reasons that the catalogue calls retried."""

    backoff: Seconds = 5.0
    """Pause before the first retry; it doubles each time, up to an hour."""

    @model_validator(mode="after")
    def _known_reasons(self) -> Retry:
        for code in self.on:
            if code not in CATALOGUE and not re.fullmatch(r"exit:\d{1,3}", code):
                raise ValueError(f"no reason {code!r}; known: {', '.join(sorted(CATALOGUE))}, exit:N")
        return self


class JobSpec(_Frozen):
    """What a user asks for. The same fields in YAML, Python and HTTP."""

    name: Annotated[str, AfterValidator(_name)]
    """What people call the job. Need not be unique: a name means the newest job of that name."""

    command: Union[Text, tuple[Text, ...]]
    """A shell line, or a list of words that is executed as it is. Runs on every node, in the code folder."""

    setup: Optional[Text] = None
    """A shell script that runs before the command on every node, in the same environment."""

    nodes: int = Field(default=1, ge=1, le=MAX_NODES)
    launch: LaunchMode = LaunchMode.PLAIN
    resources: Resources = Resources()
    code: Optional[Code] = None

    data: dict[StorePathText, JobPath] = Field(default_factory=dict, max_length=100)
    """Store path -> path in the job. A relative path lies below the data folder (`DANLU_DATA_DIR`)."""

    output: Optional[StorePathText] = None
    """Results land in `<output>/<job id>/`. When left out: `jobs/` in the project's bucket."""

    env: dict[EnvName, EnvValue] = Field(default_factory=dict)
    hyperparameters: dict[str, Any] = Field(default_factory=dict)
    tags: dict[TagText, TagText] = Field(default_factory=dict, max_length=50)

    priority: int = Field(default=50, ge=0, le=100)
    """Higher goes first."""

    retry: Retry = Retry()
    max_duration: Optional[Seconds] = None
    """The longest an attempt may run."""

    max_wait: Optional[Seconds] = None
    """The longest the job may wait in the queue before its first attempt."""

    grace: Seconds = 30.0
    """Time between the polite signal and the hard one when the job is stopped."""

    secrets: dict[EnvName, EnvValue] = Field(default_factory=dict, repr=False)
    """Variables that are stored encrypted and seen only inside the job. Never sent back."""

    @model_validator(mode="after")
    def _whole(self) -> JobSpec:
        words = self.command if isinstance(self.command, tuple) else (self.command,)
        if not words or not words[0].strip():
            raise ValueError("command is empty; say what to run")
        both = sorted(set(self.env) & set(self.secrets))
        if both:
            raise ValueError(f"{', '.join(both)}: named in env and in secrets; keep one of them")
        targets = list(self.data.values())
        for target in targets:
            if targets.count(target) > 1:
                raise ValueError(f"data: {target!r} is the target of two store paths; give each its own")
        return self


def is_job_id(text: str) -> bool:
    return _JOB_ID.fullmatch(text) is not None


def parse_job(values: Mapping[str, Any]) -> JobSpec:
    """Check a job description. Raise InvalidSpec with one sentence per wrong field."""
    try:
        return JobSpec.model_validate(values)
    except ValidationError as error:
        fields = field_errors(error)
        told = "; ".join(f"{field}: {problem}" for field, problem in fields.items())
        raise InvalidSpec(f"the job cannot be used: {told}", fields=fields) from error


def field_errors(error: ValidationError) -> dict[str, str]:
    """One sentence per wrong field, with the value that was given."""
    fields: dict[str, str] = {}
    for item in error.errors(include_url=False):
        place = [str(part) for part in item["loc"] if not _is_union_branch(part)]
        problem = _sentence(str(item["type"]), str(item["msg"]), item.get("input"), place)
        fields.setdefault(".".join(place) or "job", problem)
    return fields


def _is_union_branch(part: object) -> bool:
    return isinstance(part, str) and (part.startswith(("function-", "tuple[", "constrained-")) or part == "[key]")


def _sentence(kind: str, message: str, value: object, place: list[str]) -> str:
    if kind == "missing":
        return "missing; it must be given"
    if kind == "extra_forbidden":
        return f"not a field of a job{_suggestion(place)}"
    text = message[len("Value error, ") :] if message.startswith("Value error, ") else message
    if kind == "value_error" or isinstance(value, (dict, list)):
        return text
    return f"{text[0].lower()}{text[1:]}, not {value!r}"


def _suggestion(place: list[str]) -> str:
    """The known field nearest to one that is not, or all that are known there."""
    parts: dict[str, type[BaseModel]] = {"": JobSpec, "resources": Resources, "code": Code, "retry": Retry}
    known = sorted(parts[".".join(place[:-1])].model_fields) if ".".join(place[:-1]) in parts else []
    near = get_close_matches(place[-1].lower(), known, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known: {', '.join(known)}" if known else ""
