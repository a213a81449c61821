"""The job description, as users write it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Optional

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
from danlu.spec.code import Code
from danlu.spec.devices import DeviceRequest
from danlu.spec.endpoints import EndpointNames
from danlu.spec.fields import (
    Bytes,
    Command,
    Device_,
    EnvName,
    EnvValue,
    FixedPorts,
    FlavorName,
    FrameworkName,
    IdleSeconds,
    ImageName,
    InputSource,
    JobFields,
    JobName,
    JobPath,
    Network,
    Number,
    OwnTargets,
    PythonVersion,
    Requirements,
    RoleName,
    Seconds,
    StorePathText,
    SuccessRule,
    TagText,
    Text,
    check_environment,
    check_secrets,
    code_from_text,
)
from danlu.spec.names import check_project_name
from danlu.spec.plain_json import check_plain_json, from_label_value
from danlu.spec.reasons import CATALOGUE
from danlu.spec.sentences import field_errors, show, suggestion
from danlu.spec.states import Word

if TYPE_CHECKING:
    from typing_extensions import Unpack

MAX_NODES = 4096
_SHELL = re.compile(r"[][|&;<>()$`\\*?~#!{}\n'\"]")
"""Characters that have a meaning in the shell: a line without them is only words."""


class LaunchMode(Word):
    """How the command is launched on the nodes."""

    PLAIN = "plain"
    DDP = "ddp"
    ASCEND = "ascend"
    PS_WORKER = "ps_worker"
    MPI = "mpi"
    HOROVOD = "horovod"
    DEEPSPEED = "deepspeed"
    COLOSSALAI = "colossalai"
    RAY = "ray"


class Processes(Word):
    """How many times the command is started on each node."""

    PER_NODE = "per_node"
    PER_DEVICE = "per_device"


class Contract(Word):
    """Another platform whose scripts run unchanged."""

    TIONE = "tione"
    APULIS = "apulis"
    MODELARTS = "modelarts"


class JobAccess(Word):
    """What a job may do on the server, least first."""

    OWN = "own"
    READ = "read"
    OWNER = "owner"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Resources(_Frozen):
    device: Device_ = DeviceRequest()
    """Devices on every node: TYPE[:MODEL][:COUNT]. `cpu:2` means two processes per node."""

    cpus: Annotated[Optional[float], Number] = Field(default=None, gt=0, le=4096, allow_inf_nan=False)
    """Cores reserved on every node; nothing is reserved when omitted."""

    memory: Optional[Bytes] = None
    """Memory reserved on every node, such as 4GB."""


class Role(_Frozen):
    command: Optional[Command] = None
    """Command of this role's tasks. Roles that wait for mpirun have none."""

    count: Annotated[int, Number] = Field(default=1, ge=1, le=MAX_NODES)
    """Number of nodes with this role."""

    resources: Resources = Resources()
    """Resources of every node of this role: see resources above."""

    flavor: Optional[FlavorName] = None
    """Flavor of this role's nodes, instead of resources."""

    env: dict[EnvName, EnvValue] = Field(default_factory=dict)
    """Variables of this role's command; they override those of the job."""


class ImageLogin(_Frozen):
    username: Text
    """User name at the registry."""

    secret: EnvName
    """Name of the job secret with the password. The command does not get it."""


class Retry(_Frozen):
    max: Annotated[int, Number] = Field(default=0, ge=0, le=100)
    """Maximum number of retries after the first attempt."""

    on: tuple[str, ...] = ()
    """Reason codes, or exit:N, that are retried; when omitted, those that the catalogue marks as retried."""

    backoff: Seconds = 5.0
    """Delay before the first retry; it doubles each time, up to an hour."""

    @field_validator("on")
    @classmethod
    def _known_reasons(cls, on: tuple[str, ...]) -> tuple[str, ...]:
        for code in on:
            if code not in CATALOGUE and not re.fullmatch(r"exit:[0-9]{1,3}", code):
                raise ValueError(f"unknown reason {show(code)}{suggestion(code, [*CATALOGUE, 'exit:N'])}")
        return on


class JobSpec(_Frozen):
    """A job description. The same fields in YAML, Python and HTTP."""

    if TYPE_CHECKING:

        def __init__(self, **fields: Unpack[JobFields]) -> None: ...

    name: JobName
    """Name of the job. It need not be unique: commands use the newest job of a name."""

    roles: dict[RoleName, Role] = Field(default_factory=dict, max_length=20)
    """Role -> what its nodes run, for jobs with different kinds of nodes (`launch: ps_worker`): see role below. Instead
    of `command`, `nodes` and `resources`."""

    command: Optional[Command] = Field(default=None, validate_default=True)
    """A shell line, or a list of words that is executed as it is. Runs on every node, in the code folder."""

    requirements: Optional[Requirements] = None
    """Packages: a file of the code folder (`requirements.txt`, `pyproject.toml`, `uv.lock`), or a list such as
    `[torch==2.8.0, numpy]`. A node installs them once for all jobs of the project that require the same."""

    python: Optional[PythonVersion] = None
    """Python version, such as `'3.11'`; one of those that the node has. Default: the server's."""

    setup: Optional[Text] = None
    """A shell script that runs before the command on every node, in the same environment."""

    nodes: Annotated[int, Number] = Field(default=1, ge=1, le=MAX_NODES)
    """Number of nodes that run the command. All start together, or none does."""

    launch: LaunchMode = LaunchMode.PLAIN
    """How the nodes find each other: `ddp` sets `MASTER_ADDR`, `RANK`, `WORLD_SIZE` and the like, `plain` does not;
    `ascend` gives NPUs their rank table, `ps_worker` sets `TF_CONFIG`; with `mpi`, `horovod`, `deepspeed` and
    `colossalai` the command runs once, and reaches the other nodes itself; `ray` runs it once on a Ray cluster that is
    made of all nodes."""

    success: Optional[SuccessRule] = None
    """Which tasks must succeed for the job to succeed: `all`, `any`, `chief`, all of a role (`worker`) or one task
    (`worker-0`). The others are then stopped. The default depends on the launch mode."""

    processes: Processes = Processes.PER_NODE
    """Whether the command runs once on every node, or once for each device there (with `launch: ascend`)."""

    network: Network = Network.OWN
    """`own`: a private network of the job, on which every port is free; `host`: that of the nodes, for RDMA and full
    speed, where the server allows it: use the ports that Danlu gives (`MASTER_PORT`), or name others in `ports`."""

    ports: FixedPorts = ()
    """Fixed ports that the job uses with `network: host`. Two jobs with the same port never share a node."""

    contract: Optional[Contract] = None
    """A platform whose scripts run unchanged: the job also has its variables, files and folders."""

    framework: Optional[FrameworkName] = None
    """A named environment for the command (`danlu frameworks`), instead of `image`. Its setup runs before that of the
    job; variables of the job override its variables."""

    image: Optional[ImageName] = None
    """Container image for the command. The node needs docker or podman."""

    image_login: Optional[ImageLogin] = None
    """Credentials for the registry of the image: see image_login below."""

    resources: Resources = Resources()
    """Resources of every node: see resources below."""

    flavor: Optional[FlavorName] = None
    """A named machine shape with a price per hour (`danlu flavors`), instead of `resources`. The job keeps the shape
    and price that the flavor had at submission."""

    code: Annotated[Optional[Code], BeforeValidator(code_from_text)] = None
    """A local folder or a `store://` path as text, or one of the fields of code below. HTTP takes `store` or `tree`;
    folders and repositories are sent by the client."""

    data: Annotated[dict[InputSource, JobPath], OwnTargets] = Field(default_factory=dict, max_length=100)
    """Input -> path in the job; a relative path is below the data folder (`DANLU_DATA_DIR`). An input is a store path,
    `artifact:NAME:VERSION`, `model:NAME@ALIAS`, `https://...#sha256=...`, or `s3://...#secret=NAME`."""

    output: Optional[StorePathText] = None
    """Results are stored in `<output>/<job id>/`. Default: `jobs/` in the project's bucket."""

    env: dict[EnvName, EnvValue] = Field(default_factory=dict)
    """Environment variables of the command. Names that start with `DANLU_` are reserved."""

    hyperparameters: Annotated[dict[str, Any], BeforeValidator(from_label_value), AfterValidator(check_plain_json)] = (
        Field(default_factory=dict)
    )
    """Any JSON values; the job reads them from the file that `DANLU_HYPERPARAMETERS` names. A list of
    `{label: NAME, value: VALUE}`, as ModelArts has it, is read too."""

    project: Optional[Annotated[str, AfterValidator(check_project_name)]] = None
    """Project of the job. Default: your default project (`danlu projects default`)."""

    tags: dict[TagText, TagText] = Field(default_factory=dict, max_length=50)
    """Tags to find the job by: `danlu ps --tag team=vision`."""

    access: JobAccess = JobAccess.OWN
    """What the job may do on the server, with credentials of its own that end with it: `own` is its inputs, its output,
    its runs and artifacts; with `read` it also reads what you may read; with `owner` it also adds to its project and
    submits jobs in your name, as a member and never as an admin."""

    debug: bool = False
    """Prepare everything but do not start the command: `danlu shell` opens a shell in its place."""

    endpoints: EndpointNames = ()
    """What you can open while the job runs (`danlu open JOB 8080`): `ssh`, `jupyter`, `tensorboard`, ports."""

    priority: Annotated[int, Number] = Field(default=50, ge=0, le=100)
    """Jobs with a higher priority start first."""

    preemptible: bool = False
    """Whether the job may be stopped for another one and run again later. In return it may use idle quota of others."""

    retry: Retry = Retry()
    """When to retry after a failed attempt: see retry below."""

    max_duration: Optional[Seconds] = None
    """Time limit of an attempt."""

    idle_limit: Optional[IdleSeconds] = None
    """The job is stopped after being idle for this long (`1m` or more), with an alert before."""

    max_wait: Optional[Seconds] = None
    """Time limit in the queue before the first attempt."""

    grace: Seconds = 30.0
    """Time between SIGTERM and SIGKILL when the job is stopped."""

    secrets: dict[EnvName, EnvValue] = Field(default_factory=dict, repr=False)
    """Environment variables that are stored encrypted and visible only inside the job."""

    @field_validator("command")
    @classmethod
    def _command_or_roles(cls, command: Optional[Command], info: ValidationInfo) -> Optional[Command]:
        if command is None and info.data.get("roles") == {}:
            raise ValueError("this field is required")
        if command is not None and info.data.get("roles"):
            raise ValueError("expected either command or roles, got both: each role has its own command")
        return command

    @field_validator("nodes")
    @classmethod
    def _nodes_of_roles(cls, nodes: int, info: ValidationInfo) -> int:
        roles = info.data.get("roles") or {}
        total = sum(role.count for role in roles.values())
        if roles and nodes != total:
            raise ValueError(f"expected {total}, the sum of the roles, got {nodes}; leave it out")
        return nodes

    @field_validator("resources", "flavor")
    @classmethod
    def _of_roles(cls, value: object, info: ValidationInfo) -> object:
        if info.data.get("roles") and value not in (None, Resources()):
            verb = "belong" if info.field_name == "resources" else "belongs"
            raise ValueError(f"with roles, {info.field_name} {verb} to each role")
        return value

    @model_validator(mode="after")
    def _count_nodes(self) -> JobSpec:
        if self.roles:
            total = sum(role.count for role in self.roles.values())
            if total > MAX_NODES:
                raise ValueError(f"expected at most {MAX_NODES} nodes in all roles together, got {total}")
            # derived, so that code that counts nodes can ignore roles
            object.__setattr__(self, "nodes", total)
        return self

    @model_validator(mode="after")
    def _words_of_boot_file(self) -> JobSpec:
        if self.contract is Contract.MODELARTS and isinstance(self.command, str) and not _SHELL.search(self.command):
            # split into words, because the contract appends arguments
            object.__setattr__(self, "command", tuple(shlex.split(self.command)))
        return self

    @model_validator(mode="after")
    def _has_what_it_names(self) -> JobSpec:
        check_environment(self.requirements, self.python, code=self.code, image=self.image)
        if self.image_login is not None and self.image is None and self.framework is None:
            raise ValueError("image_login needs an image")
        login = self.image_login.secret if self.image_login is not None else None
        check_secrets(self.data, login=login, secrets=self.secrets)
        return self

    @field_validator("secrets")
    @classmethod
    def _not_in_env(cls, secrets: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        roles = (info.data.get("roles") or {}).values()
        named = {*info.data.get("env", {}), *(name for role in roles for name in role.env)}
        both = sorted(named & set(secrets))
        if both:
            raise ValueError(f"{', '.join(both)} is also in env; use one of them")
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
    """Parse a stored job; fields of newer versions are ignored. Raise ValidationError."""
    return JobSpec.model_validate(values, extra="ignore")


def parse_job(values: Mapping[str, Any]) -> JobSpec:
    """Validate a job description. Raise InvalidSpec with one message per invalid field."""
    try:
        return JobSpec.model_validate(values)
    except ValidationError as error:
        found = field_errors(error.errors(include_url=False), _KNOWN, noun="a job")
        fields = {place or "job": problem for place, problem in found.items()}
        told = "; ".join(f"{place}: {problem}" for place, problem in fields.items())
        raise InvalidSpec(f"invalid job: {told}", fields=fields) from error
