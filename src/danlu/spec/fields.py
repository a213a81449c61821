"""Types of a job's fields, with validation. Error messages say what was expected and what was given."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Optional, TypedDict, Union

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, PlainSerializer, ValidationInfo, WithJsonSchema

from danlu.spec.devices import DeviceRequest
from danlu.spec.names import check_flavor_name, check_framework_name
from danlu.spec.paths import SCHEME, check_job_path, check_source, parse_store_path, secret_of
from danlu.spec.sentences import show
from danlu.spec.states import Word
from danlu.spec.units import parse_device, parse_duration, parse_size

_JOB_ID = re.compile(r"train-[0-9]+")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_IMAGE = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?/)?"  # registry.example.com:5000/
    r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*"  # team/torch
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?"  # :2.8@sha256:...
)
MAX_IMAGE_CHARS = 500
IMAGE_TRANSPORTS = {
    "containers-storage",
    "dir",
    "docker-archive",
    "docker-daemon",
    "oci",
    "oci-archive",
    "ostree",
    "sif",
}
"""Transports of podman for images in local files, before a colon. Rejected, because podman would read them as root."""

_ROLE = re.compile(r"[a-z][a-z0-9]{0,19}")
_SUCCESS = re.compile(r"(?P<role>[a-z][a-z0-9]{0,19})(?:-(?P<index>0|[1-9][0-9]{0,3}))?")
ALL, ANY = "all", "any"
MAX_REQUIREMENTS = 1000
_CONDA = re.compile(r"(environment|conda[^/]*|env)\.ya?ml")
_PYTHON = re.compile(r"3\.[0-9]{1,2}")
_EXPECTED = "expected a file of the code folder (requirements.txt, pyproject.toml or uv.lock) or a list of packages"


def is_job_id(text: str) -> bool:
    return _JOB_ID.fullmatch(text) is not None


def _no_control(text: str) -> str:
    if any((ord(char) < 32 and char not in "\t\n\r") or "\ud800" <= char <= "\udfff" for char in text):
        raise ValueError(f"{text!r} contains control characters or lone surrogates")
    return text


def _name(text: str) -> str:
    if not text.strip() or text != text.strip() or len(text) > 100 or "/" in text or "\n" in text or "\t" in text:
        raise ValueError(f"expected 1 to 100 characters without '/' or surrounding spaces, got {text!r}")
    if is_job_id(text):
        raise ValueError(f"{text!r} looks like a job id; choose another name")
    return _no_control(text)


def _env_name(text: str) -> str:
    if not _ENV_NAME.fullmatch(text):
        raise ValueError(f"expected a variable name (letters, digits and '_', not starting with a digit), got {text!r}")
    if text.startswith("DANLU_"):
        raise ValueError(f"{text!r} is reserved: names that start with DANLU_ are set by Danlu")
    return text


def _role_name(text: str) -> str:
    if not _ROLE.fullmatch(text) or text in (ALL, ANY):
        raise ValueError(f"expected a role of up to 20 lower-case letters and digits, such as worker, got {text!r}")
    return text


def _success(text: str) -> str:
    if not _SUCCESS.fullmatch(text):
        raise ValueError(f"expected all, any, chief, a role, or one task such as worker-0, got {text!r}")
    return text


def _no_nul(text: str) -> str:
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError("NUL characters and lone surrogates are not allowed")
    return text


def _image(text: str) -> str:
    is_file = text.partition(":")[0] in IMAGE_TRANSPORTS and ":" in text
    if is_file or len(text) > MAX_IMAGE_CHARS or not _IMAGE.fullmatch(text):
        raise ValueError(f"expected the name of an image, such as registry.example.com/team/torch:2.8, got {text!r}")
    return text


def _store_path(text: str) -> str:
    return str(parse_store_path(text))


def _device(value: object) -> object:
    """Parse text such as `gpu:2`, or a mapping."""
    if isinstance(value, DeviceRequest):
        return value
    if isinstance(value, Mapping):
        value = str(DeviceRequest.model_validate(value))
    return parse_device(value if isinstance(value, str) else show(value))


def _seconds(value: object) -> object:
    return parse_duration(value) if isinstance(value, (str, bool)) else value


def _bytes(value: object) -> object:
    return parse_size(value) if isinstance(value, (str, bool)) else value


def _no_yes(value: object) -> object:
    """Reject booleans: YAML reads `yes` as true, which Python accepts as 1."""
    if isinstance(value, bool):
        raise ValueError(f"expected a number, got {show(value)}")
    return value


def _command(value: object) -> object:
    """Check a command here, so that there is one message instead of one per type."""
    if isinstance(value, str):
        words = [value]
    elif isinstance(value, (list, tuple)):
        for number, word in enumerate(value, start=1):
            if not isinstance(word, str):
                raise ValueError(f"expected text as word {number}, got {show(word)}; put it in quotes")
        words = list(value)
    else:
        raise ValueError(f"expected a shell line or a list of words, got {show(value)}")
    if not words or not words[0].strip():
        raise ValueError("expected a command, got an empty one")
    for word in words:
        _no_nul(word)
    return value


def _env_value(value: object) -> object:
    """Convert numbers and booleans, as which YAML reads some texts, to text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else value


def _requirements(value: object) -> object:
    if isinstance(value, (list, tuple)):
        return _packages(list(value))
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{_EXPECTED}, got {show(value)}")
    name = posixpath.basename(value)
    if _CONDA.fullmatch(name):
        raise ValueError(f"{value!r} is a file of conda, which is not supported; {_EXPECTED}, or an image with conda")
    if posixpath.isabs(value) or ".." in value.split("/") or posixpath.normpath(value) != value or "\0" in value:
        raise ValueError(f"{_EXPECTED}, got {show(value)}: a path is relative to the code folder and stays in it")
    if name not in ("pyproject.toml", "uv.lock") and not name.endswith((".txt", ".in")):
        raise ValueError(f"{_EXPECTED}, got {show(value)}; one package is a list too: [{value}]")
    return value


def _packages(lines: list[object]) -> tuple[str, ...]:
    if not lines:
        raise ValueError(f"{_EXPECTED}, got an empty list")
    if len(lines) > MAX_REQUIREMENTS:
        raise ValueError(f"expected at most {MAX_REQUIREMENTS} packages, got {len(lines)}; put them into a file")
    for number, line in enumerate(lines, start=1):
        if not isinstance(line, str) or not line.strip() or "\n" in line or "\0" in line:
            raise ValueError(f"expected a line such as torch==2.8.0 as package {number}, got {show(line)}")
    return tuple(str(line).strip() for line in lines)


def _python(value: object) -> object:
    if isinstance(value, float):  # 3.10 would be 3.1
        raise ValueError(f"expected text such as '3.11', got the number {value}; put it in quotes")
    if not isinstance(value, str) or not _PYTHON.fullmatch(value):
        raise ValueError(f"expected a version such as '3.11', got {show(value)}")
    return value


def code_from_text(value: object) -> object:
    """Expand text to a mapping: a store path, or a local folder."""
    if not isinstance(value, str):
        return value
    return {"store" if value.startswith(SCHEME) else "path": value}


def check_environment(requirements: object, python: object, *, code: object, image: object) -> None:
    """Raise ValueError for a requirements file without code, and for packages or a Python version with an image."""
    if isinstance(requirements, str) and code is None:
        problem = f"requirements: {requirements!r} is a file of the code folder, and the job has no code"
        raise ValueError(f"{problem}; add `code: .`, or list the packages: [torch, numpy]")
    for name, value in (("requirements", requirements), ("python", python)):
        if value is not None and image is not None:
            raise ValueError(f"{name} goes with the Python of the node, and this job has an image; use one of them")


def check_secrets(data: Mapping[str, str], *, login: str | None, secrets: Mapping[str, str]) -> None:
    """Raise ValueError for references to secrets that the job does not have."""
    named = [("image_login.secret", login), *((f"data.{source}", secret_of(source)) for source in data)]
    for field, name in named:
        if name is not None and name not in secrets:
            raise ValueError(f"{field}: {name!r} is not one of the job's secrets")


Number = BeforeValidator(_no_yes)
Text = Annotated[str, AfterValidator(_no_nul)]
EnvName = Annotated[str, AfterValidator(_env_name)]
EnvValue = Annotated[str, BeforeValidator(_env_value), AfterValidator(_no_nul)]
Command = Annotated[Union[str, tuple[str, ...]], BeforeValidator(_command)]
RoleName = Annotated[str, AfterValidator(_role_name)]
SuccessRule = Annotated[str, AfterValidator(_success)]
StorePathText = Annotated[str, AfterValidator(_store_path)]
InputSource = Annotated[str, AfterValidator(check_source)]
JobPath = Annotated[str, AfterValidator(check_job_path)]
Seconds = Annotated[float, BeforeValidator(_seconds), Field(ge=0, le=10 * 365 * 86400, allow_inf_nan=False)]
IdleSeconds = Annotated[float, BeforeValidator(_seconds), Field(ge=60, le=365 * 86400, allow_inf_nan=False)]
_SizeSchema = WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "string", "examples": ["64GiB"]}]})
Bytes = Annotated[int, BeforeValidator(_bytes), Field(ge=1, le=2**60), _SizeSchema]
BytesOrNone = Annotated[int, BeforeValidator(_bytes), Field(ge=0, le=2**60), _SizeSchema]
Device_ = Annotated[
    DeviceRequest,
    BeforeValidator(_device),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "examples": ["npu:910b:8"]}),
]
JobName = Annotated[str, AfterValidator(_name)]
ImageName = Annotated[str, AfterValidator(_image)]
FlavorName = Annotated[str, AfterValidator(check_flavor_name)]
FrameworkName = Annotated[str, AfterValidator(check_framework_name)]
TagText = Annotated[str, BeforeValidator(_env_value), Field(max_length=200), AfterValidator(_no_control)]
Requirements = Annotated[
    Union[str, tuple[str, ...]],
    BeforeValidator(_requirements),
    WithJsonSchema(
        {
            "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
            "examples": ["requirements.txt", ["torch==2.8.0"]],
        }
    ),
]
PythonVersion = Annotated[str, BeforeValidator(_python)]


class JobFields(TypedDict, total=False):
    """The fields of a job as written in Python; texts such as "2h" and "gpu:2" are accepted."""

    name: str
    roles: Mapping[str, Any]
    command: Union[str, Sequence[str]]
    requirements: Union[str, Sequence[str]]
    python: str
    setup: str
    nodes: int
    launch: str
    success: str
    processes: str
    network: str
    ports: Sequence[int]
    contract: str
    framework: str
    image: str
    image_login: Union[Mapping[str, str], BaseModel]
    resources: Union[Mapping[str, Any], BaseModel]
    flavor: str
    code: Union[str, os.PathLike[str], Mapping[str, Any], BaseModel, None]
    data: Mapping[str, str]
    output: str
    env: Mapping[str, Any]
    hyperparameters: Union[Mapping[str, Any], Sequence[Mapping[str, Any]]]
    project: Optional[str]
    tags: Mapping[str, Any]
    access: str
    debug: bool
    endpoints: Sequence[str]
    priority: int
    preemptible: bool
    retry: Union[Mapping[str, Any], BaseModel]
    max_duration: Union[str, float]
    max_wait: Union[str, float]
    idle_limit: Union[str, float, None]
    grace: Union[str, float]
    secrets: Mapping[str, Any]


class Network(Word):
    """Which network the tasks are on."""

    OWN = "own"
    HOST = "host"


def _go_with_host(ports: tuple[int, ...], info: ValidationInfo) -> tuple[int, ...]:
    if ports and info.data.get("network") is not Network.HOST:
        raise ValueError("requires network: host; without it, a job has its own network and all of its ports")
    return tuple(dict.fromkeys(ports))


FixedPorts = Annotated[
    tuple[Annotated[int, Number, Field(ge=1024, le=65535)], ...], Field(max_length=20), AfterValidator(_go_with_host)
]


def _own_targets(data: dict[str, str]) -> dict[str, str]:
    """Raise ValueError if two inputs have the same target."""
    targets = list(data.values())
    for target in targets:
        if targets.count(target) > 1:
            raise ValueError(f"{target!r} is the target of two inputs")
    return data


OwnTargets = AfterValidator(_own_targets)
