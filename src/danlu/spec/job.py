"""The job as its user describes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Optional, Union

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from danlu.errors import InvalidSpec
from danlu.spec.devices import DeviceRequest
from danlu.spec.names import check_project_name
from danlu.spec.paths import check_job_path, parse_store_path
from danlu.spec.plain_json import check_plain_json
from danlu.spec.reasons import CATALOGUE
from danlu.spec.sentences import field_errors, show, suggestion
from danlu.spec.states import Word
from danlu.spec.units import parse_device, parse_duration, parse_size

MAX_NODES = 4096
_JOB_ID = re.compile(r"train-[0-9]+")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,500}")
_TREE = re.compile(r"[0-9a-f]{64}")
_ROLE = re.compile(r"[a-z][a-z0-9]{0,19}")
_SUCCESS = re.compile(r"(?P<role>[a-z][a-z0-9]{0,19})(?:-(?P<index>0|[1-9][0-9]{0,3}))?")
ALL, ANY = "all", "any"


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


def _role_name(text: str) -> str:
    if not _ROLE.fullmatch(text) or text in (ALL, ANY):
        raise ValueError(f"{text!r} is not a role; up to 20 small letters and digits would be right, such as worker")
    return text


def _success(text: str) -> str:
    if not _SUCCESS.fullmatch(text):
        raise ValueError(
            f"{text!r} is not a rule; all, any, chief, a role, or one task such as worker-0 would be right"
        )
    return text


def _no_nul(text: str) -> str:
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError("a NUL character or a lone surrogate cannot be in a value")
    return text


def _image(text: Optional[str]) -> Optional[str]:
    if text is not None and not _IMAGE.fullmatch(text):
        raise ValueError(f"{text!r} is not the name of an image; such as registry.example.com/team/torch:2.8")
    return text


def _store_path(text: str) -> str:
    return str(parse_store_path(text))


def _device(value: object) -> object:
    """Text as people write it; a mapping is held to the same rules."""
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
    """YAML turns `yes` into true, which Python takes for 1."""
    if isinstance(value, bool):
        raise ValueError(f"a number would be right, not {show(value)}")
    return value


def _command(value: object) -> object:
    """One sentence instead of one per form that a command may have."""
    if isinstance(value, str):
        words = [value]
    elif isinstance(value, (list, tuple)):
        for number, word in enumerate(value, start=1):
            if not isinstance(word, str):
                raise ValueError(f"word {number} is {show(word)}, not text; put it in quotes")
        words = list(value)
    else:
        raise ValueError(f"a shell line or a list of words would be right, not {show(value)}")
    if not words or not words[0].strip():
        raise ValueError("it is empty; say what to run")
    for word in words:
        _no_nul(word)
    return value


def _env_value(value: object) -> object:
    """YAML turns `1` into a number; an environment holds text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else value


Number = BeforeValidator(_no_yes)
Text = Annotated[str, AfterValidator(_no_nul)]
EnvName = Annotated[str, AfterValidator(_env_name)]
EnvValue = Annotated[str, BeforeValidator(_env_value), AfterValidator(_no_nul)]
Command = Annotated[Union[str, tuple[str, ...]], BeforeValidator(_command)]
RoleName = Annotated[str, AfterValidator(_role_name)]
SuccessRule = Annotated[str, AfterValidator(_success)]
StorePathText = Annotated[str, AfterValidator(_store_path)]
JobPath = Annotated[str, AfterValidator(check_job_path)]
Seconds = Annotated[float, BeforeValidator(_seconds), Field(ge=0, le=10 * 365 * 86400, allow_inf_nan=False)]
Bytes = Annotated[int, BeforeValidator(_bytes), Field(ge=1, le=2**60)]
Device_ = Annotated[DeviceRequest, BeforeValidator(_device), PlainSerializer(str, return_type=str)]
TagText = Annotated[str, BeforeValidator(_env_value), Field(max_length=200), AfterValidator(_no_control)]


class LaunchMode(Word):
    """How the command is started on the nodes."""

    PLAIN = "plain"
    DDP = "ddp"
    ASCEND = "ascend"
    PS_WORKER = "ps_worker"
    MPI = "mpi"
    HOROVOD = "horovod"


class Processes(Word):
    """How often the command is started on a node."""

    PER_NODE = "per_node"
    PER_DEVICE = "per_device"


class Contract(Word):
    """Another platform whose scripts are to find what they know."""

    APULIS = "apulis"
    MODELARTS = "modelarts"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Resources(_Frozen):
    device: Device_ = DeviceRequest()
    """Devices on every node: TYPE[:MODEL][:COUNT]. `cpu:2` means two processes per node."""

    cpus: Annotated[Optional[float], Number] = Field(default=None, gt=0, le=4096, allow_inf_nan=False)
    """Cores reserved on every node; nothing is reserved when left out."""

    memory: Optional[Bytes] = None
    """Memory reserved on every node, such as 4GB."""


class Role(_Frozen):
    command: Optional[Command] = None
    """As the command of a job, for the tasks of this role. Roles that wait for mpirun have none."""

    count: Annotated[int, Number] = Field(default=1, ge=1, le=MAX_NODES)
    """How many nodes have this role."""

    resources: Resources = Resources()
    """What every node of this role has: see resources above."""

    env: dict[EnvName, EnvValue] = Field(default_factory=dict)
    """Variables of this role's command; they win over those of the job."""


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


class ImageLogin(_Frozen):
    username: Text
    """Who the registry knows."""

    secret: EnvName
    """Which of the job's secrets is the password. The command does not get it."""


class Retry(_Frozen):
    max: Annotated[int, Number] = Field(default=0, ge=0, le=100)
    """How often the job is tried again after its first attempt."""

    on: tuple[str, ...] = ()
    """Reason codes, or exit:N; when left out, the reasons that the catalogue calls retried."""

    backoff: Seconds = 5.0
    """Pause before the first retry; it doubles each time, up to an hour."""

    @field_validator("on")
    @classmethod
    def _known_reasons(cls, on: tuple[str, ...]) -> tuple[str, ...]:
        for code in on:
            if code not in CATALOGUE and not re.fullmatch(r"exit:[0-9]{1,3}", code):
                raise ValueError(f"there is no reason {show(code)}{suggestion(code, [*CATALOGUE, 'exit:N'])}")
        return on


class JobSpec(_Frozen):
    """What a user asks for. The same fields in YAML, Python and HTTP."""

    name: Annotated[str, AfterValidator(_name)]
    """What people call the job. Need not be unique: a name means the newest job of that name."""

    roles: dict[RoleName, Role] = Field(default_factory=dict, max_length=20)
    """Role -> what its nodes run, for jobs whose nodes are not all alike (`launch: ps_worker`): see role below. Instead
    of `command`, `nodes` and `resources`."""

    command: Optional[Command] = Field(default=None, validate_default=True)
    """A shell line, or a list of words that is executed as it is. Runs on every node, in the code folder."""

    setup: Optional[Text] = None
    """A shell script that runs before the command on every node, in the same environment."""

    nodes: Annotated[int, Number] = Field(default=1, ge=1, le=MAX_NODES)
    """How many nodes run the command. All start together, or none does."""

    launch: LaunchMode = LaunchMode.PLAIN
    """How the nodes find each other: `ddp` sets `MASTER_ADDR`, `RANK`, `WORLD_SIZE` and the like, `plain` does not;
    `ascend` gives NPUs their rank table, `ps_worker` sets `TF_CONFIG`; with `mpi` and `horovod` the command runs
    once, and mpirun reaches the other nodes."""

    success: Optional[SuccessRule] = None
    """Whose good end is the job's: `all` tasks, `any` of them, `chief`, all of a role (`worker`) or one task
    (`worker-0`). The others are then ended. When left out, what the launch mode says."""

    processes: Processes = Processes.PER_NODE
    """Whether the command runs once on every node, or once for each device there (with `launch: ascend`)."""

    contract: Optional[Contract] = None
    """A platform whose scripts run unchanged: its variables, files and folders are there as well."""

    image: Annotated[Optional[str], AfterValidator(_image)] = None
    """A container image whose files the command sees instead of the machine's. Needs docker or podman there."""

    image_login: Optional[ImageLogin] = None
    """How to sign in where the image comes from: see image_login below."""

    resources: Resources = Resources()
    """What every node of the job has: see resources below."""

    code: Optional[Code] = None
    """A local folder or a `store://` path as text, or one of the fields of code below. HTTP takes `store` or `tree`."""

    data: dict[StorePathText, JobPath] = Field(default_factory=dict, max_length=100)
    """Store path -> path in the job. A relative path lies below the data folder (`DANLU_DATA_DIR`)."""

    output: Optional[StorePathText] = None
    """Results land in `<output>/<job id>/`. When left out: `jobs/` in the project's bucket."""

    env: dict[EnvName, EnvValue] = Field(default_factory=dict)
    """Variables of the command, on every node. Names beginning with `DANLU_` are Danlu's own."""

    hyperparameters: Annotated[dict[str, Any], AfterValidator(check_plain_json)] = Field(default_factory=dict)
    """Any JSON values; the job reads them from the file that `DANLU_HYPERPARAMETERS` names."""

    project: Optional[Annotated[str, AfterValidator(check_project_name)]] = None
    """The project that the job belongs to. When left out: the first of yours that you may submit to."""

    tags: dict[TagText, TagText] = Field(default_factory=dict, max_length=50)
    """Words of your own to find the job by: `danlu ps --tag team=vision`."""

    debug: bool = False
    """Prepare everything and do not start the command: `danlu shell` opens a shell where it would have run."""

    priority: Annotated[int, Number] = Field(default=50, ge=0, le=100)
    """Higher goes first."""

    preemptible: bool = False
    """Whether the job may be told to make room, and runs again later. In return it may use idle quota of others."""

    retry: Retry = Retry()
    """Whether the job is tried again when an attempt fails: see retry below."""

    max_duration: Optional[Seconds] = None
    """The longest an attempt may run."""

    max_wait: Optional[Seconds] = None
    """The longest the job may wait in the queue before its first attempt."""

    grace: Seconds = 30.0
    """Time between the polite signal and the hard one when the job is stopped."""

    secrets: dict[EnvName, EnvValue] = Field(default_factory=dict, repr=False)
    """Variables that are stored encrypted and seen only inside the job. Never sent back."""

    @field_validator("command")
    @classmethod
    def _command_or_roles(cls, command: Optional[Command], info: ValidationInfo) -> Optional[Command]:
        if command is None and info.data.get("roles") == {}:
            raise ValueError("missing; it must be given")
        if command is not None and info.data.get("roles"):
            raise ValueError("roles are given as well, and each has a command of its own; keep one of the two")
        return command

    @field_validator("nodes")
    @classmethod
    def _nodes_of_roles(cls, nodes: int, info: ValidationInfo) -> int:
        roles = info.data.get("roles") or {}
        total = sum(role.count for role in roles.values())
        if roles and nodes != total:
            raise ValueError(f"{nodes} nodes, but the roles have {total} together; leave it out")
        return nodes

    @field_validator("resources")
    @classmethod
    def _resources_of_roles(cls, resources: Resources, info: ValidationInfo) -> Resources:
        if info.data.get("roles") and resources != Resources():
            raise ValueError("every role has resources of its own; write them there")
        return resources

    @model_validator(mode="after")
    def _count_nodes(self) -> JobSpec:
        if self.roles:
            total = sum(role.count for role in self.roles.values())
            if total > MAX_NODES:
                raise ValueError(f"the roles have {total} nodes together; at most {MAX_NODES} would be right")
            # the one field that follows from another: whoever counts nodes need not know of roles
            object.__setattr__(self, "nodes", total)
        return self

    @field_validator("data")
    @classmethod
    def _own_targets(cls, data: dict[str, str]) -> dict[str, str]:
        targets = list(data.values())
        for target in targets:
            if targets.count(target) > 1:
                raise ValueError(f"{target!r} is the target of two store paths; give each its own")
        return data

    @model_validator(mode="after")
    def _login_is_complete(self) -> JobSpec:
        if self.image_login is None:
            return self
        if self.image is None:
            raise ValueError("image_login is given, and no image")
        if self.image_login.secret not in self.secrets:
            raise ValueError(f"image_login.secret: {self.image_login.secret!r} is not one of the job's secrets")
        return self

    @field_validator("secrets")
    @classmethod
    def _not_in_env(cls, secrets: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        roles = (info.data.get("roles") or {}).values()
        named = {*info.data.get("env", {}), *(name for role in roles for name in role.env)}
        both = sorted(named & set(secrets))
        if both:
            raise ValueError(f"{', '.join(both)} is named in env as well; keep one of them")
        return secrets


_KNOWN = {
    "": JobSpec.model_fields,
    "resources": Resources.model_fields,
    "resources.device": DeviceRequest.model_fields,
    "code": Code.model_fields,
    "retry": Retry.model_fields,
    "roles.*": Role.model_fields,
    "roles.*.resources": Resources.model_fields,
    "roles.*.resources.device": DeviceRequest.model_fields,
    "image_login": ImageLogin.model_fields,
}


def is_job_id(text: str) -> bool:
    return _JOB_ID.fullmatch(text) is not None


def stored_job(values: Mapping[str, Any]) -> JobSpec:
    """Read a job back from the database; fields that a newer version added are passed over. Raise ValidationError."""
    return JobSpec.model_validate(values, extra="ignore")


def parse_job(values: Mapping[str, Any]) -> JobSpec:
    """Check a job description. Raise InvalidSpec with one sentence per wrong field."""
    try:
        return JobSpec.model_validate(values)
    except ValidationError as error:
        found = field_errors(error.errors(include_url=False), _KNOWN, noun="a job")
        fields = {place or "job": problem for place, problem in found.items()}
        told = "; ".join(f"{place}: {problem}" for place, problem in fields.items())
        raise InvalidSpec(f"the job cannot be used: {told}", fields=fields) from error
