"""What can be set. Each field is documented below it; `docs/reference/settings.md` is made from that."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal, Optional
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from danlu.engines.settings import EngineOptions, EngineSettings
from danlu.errors import InvalidInput
from danlu.spec.messages.languages import Language, of_locale
from danlu.store.logs.index import DEFAULT_MAX_BYTES
from danlu.store.metrics.build_packs import PACK_BYTES


class ServerSettings(EngineOptions, BaseSettings):
    model_config = SettingsConfigDict(env_prefix="DANLU_SERVER_", frozen=True)

    data_dir: Path = Path("~/.danlu")
    """Database, objects, logs and the folders of running jobs live below this folder."""

    host: str = "127.0.0.1"
    """Address to listen on. Beyond loopback put a proxy with TLS before it: Danlu itself does not encrypt."""

    port: int = Field(default=8400, ge=0, le=65535)
    """Port to listen on; 0 takes a free one."""

    endpoints_port: Optional[int] = Field(default=None, ge=0, le=65535)
    """Port of the proxy to endpoints of jobs; 0 takes a free one. When omitted: the one above `port`, or a free one
    when that is taken."""

    ssh_port: Optional[int] = Field(default=None, ge=0, le=65535)
    """Port of the SSH gateway to running jobs; 0 takes a free one. When omitted: two above `port`, or a free one when
    that is taken."""

    endpoints_bare_port: Optional[int] = Field(default=None, ge=0, le=65535)
    """Port for endpoints at a bare address such as 10.0.0.5, for the owner of a job only; none when omitted. Used when
    people open the console at an address, and `endpoints_url` is not set."""

    endpoints_url: str = Field(default="", pattern=r"^(https?://\*\.[^/\s*]+)?$")
    """Address of endpoints with an asterisk for each one's own name, such as https://*.jobs.example.com. When omitted:
    http://*.localhost:PORT, which browsers look for on their own machine."""

    name: str = Field(default="", pattern=r"^([a-z0-9][a-z0-9-]{0,19})?$")
    """Name of this server when several share a PostgreSQL database and a data folder; each has its own."""

    public_url: str = Field(default="", pattern=r"^(https?://[^/\s]+)?$")
    """Address under which people and jobs reach Danlu when it is not the one it listens on, such as a proxy's."""

    trusted_proxies: str = ""
    """Addresses of proxies, separated by commas, whose X-Forwarded-For is trusted; none when omitted."""

    registration: Literal["open", "approval", "closed"] = "approval"
    """Whether registered users are active at once, wait for approval by an admin, or are rejected."""

    join_project: str = ""
    """Project that users join when no admin approves them (open registration, OIDC)."""

    oidc_issuer: str = ""
    """Address of an OpenID Connect provider that people can sign in with; none when omitted."""

    oidc_client_id: str = ""
    """Name under which the provider knows this server."""

    oidc_client_secret_file: Path | None = None
    """File with the secret that goes with the client id; for a public client none."""

    oidc_name: str = "OpenID Connect"
    """What the button on the sign-in page says."""

    oidc_people: Literal["active", "approval"] = "approval"
    """Whether users who come from the provider for the first time are active at once or wait for an admin."""

    database_url: str = ""
    """SQLite in the data folder when omitted; postgresql://USER:PASSWORD@HOST/NAME for several servers."""

    objects_url: str = ""
    """Where objects are: s3://BUCKET or s3://BUCKET/FOLDER; a folder in the data folder when omitted."""

    s3_endpoint: str = Field(default="", pattern=r"^(https?://[^/\s]+)?$")
    """Address of the S3 service, without the bucket; that of AWS in the region when omitted."""

    s3_region: str = "us-east-1"
    """Region of the S3 service; part of every signature."""

    s3_access_key_id: str = ""
    """Key pair for the S3 service: its id."""

    s3_secret_access_key: SecretStr = SecretStr("")
    """Key pair for the S3 service: its secret."""

    s3_virtual_host: bool = False
    """Put the bucket into the host name (COS, OBS, AWS) and not into the path (MinIO, Ceph, rclone)."""

    s3_proxy: str = Field(default="", pattern=r"^(http://[^/\s]+)?$")
    """HTTP proxy between the server and the S3 service."""

    direct_transfers: bool = False
    """Let clients and nodes move large files to and from the S3 service by themselves, with short-lived grants.

    They must reach the service. What they cannot reach goes through the server."""

    engine: str = Field(default="local", pattern=r"^[a-z][a-z0-9_-]*(,[a-z][a-z0-9_-]*)*$")
    """Engine that runs jobs: `local` or `ray`; several with commas between them, such as `ray,local`: each job runs on
    nodes of one of them, and gangs prefer the one that is named first."""

    tencent_door: bool = False
    """Answer Tencent Cloud's own SDK of TI-ONE at /compat/tencent, signed with keys of `danlu keys new --signs`. Needs
    danlu-compat beside the server."""

    mlflow_door: bool = True
    """Answer MLflow's own clients at /compat/mlflow, with API keys."""

    currency: str = Field(default="CNY", pattern=r"^[A-Z]{3}$")
    """Currency of all prices, by its code of three letters; jobs keep the one they were submitted with."""

    max_log_bytes: int = Field(default=DEFAULT_MAX_BYTES, ge=16 << 20)
    """Maximum size of a rank's log: its first 8 MiB and its end are kept. A line marks where the middle was removed."""

    log_days: int = Field(default=0, ge=0)
    """Days that the logs of ended attempts are kept; 0: forever."""

    pack_bytes: int = Field(default=PACK_BYTES, ge=1 << 16, le=1 << 28)
    """Bytes of a run's journal whose points are packed into columns at a time."""

    trash_days: int = Field(default=30, ge=0)
    """Days that deleted runs can be restored; then they are deleted permanently. 0: never."""

    max_body_bytes: int = Field(default=1 << 20, ge=1 << 16, le=1 << 28)
    """Maximum size of a request body, except files, trees and uploads in pieces. Without valid credentials: 64 KiB."""

    max_streams_per_person: int = Field(default=100, ge=1)
    """Maximum number of open streams (followed logs, jobs and lists) per user, and for all of their jobs together;
    further ones are answered with 429."""

    max_exports_per_person: int = Field(default=4, ge=1)
    """Maximum number of concurrent exports of runs per user; further ones are answered with 429."""

    max_shells_per_person: int = Field(default=10, ge=1)
    """Maximum number of open shells in running tasks per user; further ones are answered with 429."""

    max_uploads_per_person: int = Field(default=20, ge=1)
    """Maximum number of concurrent file uploads per user, or per job; more wait for half a minute and are then
    answered with 429."""

    max_connections_per_address: int = Field(default=1000, ge=0)
    """Maximum number of connections from one address, or one /64 network of IPv6, to the API and to endpoints each;
    more are closed. 0: no limit. Does not hold for trusted proxies."""

    request_seconds: float = Field(default=20.0, ge=0.1, le=3600)
    """Time limit for the head of a request, to endpoints too, and for each 16 KiB of its body."""

    reading_seconds: float = Field(default=60.0, ge=0.1, le=3600)
    """Time limit of a response that the client does not read; then the connection is closed."""

    @property
    def trusted_addresses(self) -> frozenset[str]:
        return frozenset(text.strip() for text in self.trusted_proxies.split(",") if text.strip())

    metrics_token_file: Path | None = None
    """File with the token that Prometheus sends as Bearer to read /metrics; without it admins alone read it."""

    otlp_endpoint: str = Field(default="", pattern=r"^(https?://[^\s]+)?$")
    """Address of an OpenTelemetry collector that takes OTLP over HTTP, such as http://localhost:4318; no traces when
    omitted."""

    alert_seconds: float = Field(default=15.0, ge=0.1, le=3600)
    """Seconds between two looks at what might be wrong with running jobs."""

    alert_device_idle_minutes: float = Field(default=30.0, ge=0)
    """Minutes that devices may do nothing before the job that holds them gets an alert. 0: never."""

    alert_silent_minutes: float = Field(default=30.0, ge=0)
    """Minutes without a line of log and without a metric before a job gets an alert. 0: never."""

    alert_memory_share: float = Field(default=0.95, ge=0, le=1)
    """Part of its memory that a task uses before it gets an alert. 0: never."""

    alert_disk_share: float = Field(default=0.95, ge=0, le=1)
    """Part of the disk of the data folder that is in use before admins get an alert. 0: never."""

    debug_idle_minutes: float = Field(default=120.0, ge=0)
    """Minutes that nobody uses a debug job that has no `idle_limit` of its own, before it ends. 0: never."""

    webhook_networks: str = ""
    """Networks, separated by commas, that webhooks may be sent to beside public addresses, such as 10.1.0.0/16; plain
    http:// is allowed there. None when omitted: people could reach services of this machine and its networks."""

    smtp_host: str = ""
    """Mail server that e-mail is sent by; no e-mail when omitted."""

    smtp_port: int = Field(default=587, ge=1, le=65535)
    """Port of the mail server."""

    smtp_security: Literal["starttls", "tls", "none"] = "starttls"
    """How the connection to the mail server is encrypted."""

    smtp_user: str = ""
    """Name to sign in at the mail server with; it is not signed in when omitted."""

    smtp_password_file: Path | None = None
    """File with the password that goes with the name."""

    mail_from: str = "danlu@localhost"
    """Sender of e-mail."""

    mail_language: Language | None = None
    """Language of e-mail, `en` or `zh`; the one of the server's locale when omitted."""

    @property
    def speaks(self) -> Language:
        """The language of e-mail: accounts have none of their own."""
        return self.mail_language or of_locale(os.environ)

    @property
    def log_dir(self) -> Path:
        return self.server_dir / "logs"

    @property
    def home(self) -> Path:
        return self.data_dir.expanduser().absolute()

    @property
    def server_dir(self) -> Path:
        """What only the server may read: database, key file, logs."""
        return self.home / "server"

    @property
    def work_dir(self) -> Path:
        """Folders of running tasks."""
        return self.home / "work"

    @property
    def engines(self) -> tuple[str, ...]:
        """Names of the engines, each once."""
        return tuple(dict.fromkeys(self.engine.split(",")))

    def for_engine(self, server_id: str) -> EngineSettings:
        """What the engine is set up with. `server_id` is the name of this data folder."""
        options = {name: getattr(self, name) for name in EngineOptions.model_fields}
        options["homes_dir"] = (self.homes_dir or self.home / "homes").expanduser().absolute()
        options["shared_dir"] = (self.shared_dir or self.home / "shared").expanduser().absolute()
        return EngineSettings(**options, work_dir=self.work_dir, hide=(self.home,), server_id=server_id)

    @property
    def objects_dir(self) -> Path:
        return self.home / "store"

    @property
    def spool_dir(self) -> Path:
        """Uploads on their way to a service."""
        return self.server_dir / "spool"

    @property
    def reached_at(self) -> str:
        """Where people and jobs reach the server."""
        return self.public_url.rstrip("/") or self.url

    @property
    def endpoints_at(self) -> str:
        """Where browsers reach endpoints, with an asterisk for the name of one."""
        return self.endpoints_url or f"http://*.localhost:{self.endpoints_port}"

    @property
    def has_bare_endpoints(self) -> bool:
        return self.endpoints_bare_port is not None and not self.endpoints_url

    @property
    def ssh_at(self) -> tuple[str, int]:
        """Host and port where `ssh` finds jobs."""
        return urlsplit(self.reached_at).hostname or self.host, self.ssh_port or 0

    @property
    def url(self) -> str:
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def load_settings(**given: Any) -> ServerSettings:
    """What is given here (None: is not), then DANLU_SERVER_... variables, then the defaults."""
    try:
        return ServerSettings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        fields = {".".join(str(part) for part in one["loc"]): one["msg"] for one in error.errors()}
        told = "; ".join(f"{name}: {problem}" for name, problem in fields.items())
        raise InvalidInput(f"invalid settings: {told}", fields=fields) from error
