"""The job as its user describes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Optional

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from danlu.errors import InvalidSpec
from danlu.spec.devices import DeviceRequest
from danlu.spec.fields import (
    Bytes,
    Command,
    Device_,
    EnvName,
    EnvValue,
    FlavorName,
    FrameworkName,
    ImageName,
    JobName,
    JobPath,
    Number,
    RoleName,
    Seconds,
    StorePathText,
    SuccessRule,
    TagText,
    Text,
)
from danlu.spec.names import check_project_name
from danlu.spec.plain_json import check_plain_json, from_label_value
from danlu.spec.reasons import CATALOGUE
from danlu.spec.sentences import field_errors, show, suggestion
from danlu.spec.states import Word

MAX_NODES = 4096
_TREE = re.compile(r"[0-9a-f]{64}")


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

    flavor: Optional[FlavorName] = None
    """As the flavor of a job, for the nodes of this role; instead of its resources."""

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

    name: JobName
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

    framework: Optional[FrameworkName] = None
    """A named environment that the command runs in (`danlu frameworks`), instead of `image`. Its setup runs before that
    of the job; variables of the job win over those that it sets."""

    image: Optional[ImageName] = None
    """A container image whose files the command sees instead of the machine's. Needs docker or podman there."""

    image_login: Optional[ImageLogin] = None
    """How to sign in where the image comes from: see image_login below."""

    resources: Resources = Resources()
    """What every node of the job has: see resources below."""

    flavor: Optional[FlavorName] = None
    """A named machine shape with a price per hour (`danlu flavors`), instead of `resources`. The job keeps the shape
    and the price that the name stood for when it was submitted."""

    code: Optional[Code] = None
    """A local folder or a `store://` path as text, or one of the fields of code below. HTTP takes `store` or `tree`."""

    data: dict[StorePathText, JobPath] = Field(default_factory=dict, max_length=100)
    """Store path -> path in the job. A relative path lies below the data folder (`DANLU_DATA_DIR`)."""

    output: Optional[StorePathText] = None
    """Results land in `<output>/<job id>/`. When left out: `jobs/` in the project's bucket."""

    env: dict[EnvName, EnvValue] = Field(default_factory=dict)
    """Variables of the command, on every node. Names beginning with `DANLU_` are Danlu's own."""

    hyperparameters: Annotated[dict[str, Any], BeforeValidator(from_label_value), AfterValidator(check_plain_json)] = (
        Field(default_factory=dict)
    )
    """Any JSON values; the job reads them from the file that `DANLU_HYPERPARAMETERS` names. A list of
    `{label: NAME, value: VALUE}`, as ModelArts has it, is read too."""

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

    @field_validator("flavor")
    @classmethod
    def _flavors_of_roles(cls, flavor: Optional[str], info: ValidationInfo) -> Optional[str]:
        if info.data.get("roles") and flavor is not None:
            raise ValueError("every role has a flavor of its own; write it there")
        return flavor

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
        if self.image is None and self.framework is None:
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
