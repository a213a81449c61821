"""What can be set. Each field is documented below it; `docs/reference/settings.md` is made from that."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from danlu.store.logs import DEFAULT_MAX_BYTES
from danlu.store.metrics.sealing import PACK_BYTES


class ServerSettings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="DANLU_SERVER_", frozen=True)

    data_dir: Path = Path("~/.danlu")
    """Database, objects, logs and the folders of running jobs live below this folder."""

    host: str = "127.0.0.1"
    """Address to listen on. Beyond loopback put a proxy with TLS before it: Danlu itself does not encrypt."""

    port: int = Field(default=8400, ge=0, le=65535)
    """Port to listen on; 0 takes a free one."""

    database_url: str = ""
    """SQLAlchemy URL; SQLite in the data folder when left out."""

    engine: str = "local"
    """Where jobs run when they do not say."""

    sandbox: bool = True
    """Run tasks in bubblewrap where it works. Without, jobs see the machine."""

    own_network: bool = True
    """Give every attempt a network of its own where that works."""

    simulate: tuple[str, ...] = ()
    """Devices to pretend to have, such as npu:910b:8, to try things without hardware."""

    max_tasks: int = Field(default=0, ge=0)
    """Most tasks at a time on this machine; 0: four per core, at least 16."""

    max_log_bytes: int = Field(default=DEFAULT_MAX_BYTES, ge=16 << 20)
    """Most that is kept of one rank's log: its first 8 MiB and its end. What is cut out is said where it was."""

    log_days: int = Field(default=0, ge=0)
    """Days that the logs of ended attempts are kept; 0: for ever."""

    pack_bytes: int = Field(default=PACK_BYTES, ge=1 << 16, le=1 << 28)
    """Length of the stretches of a run's journal whose points are packed column by column."""

    bin_days: int = Field(default=30, ge=0)
    """Days that deleted runs can be restored; then they are gone for good. 0: for ever."""

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
    def objects_dir(self) -> Path:
        return self.home / "store"

    @property
    def url(self) -> str:
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"
