"""`danlu up`"""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import typer


def up(
    host: str = typer.Option("127.0.0.1", help="Address to listen at; this machine only unless told otherwise."),
    port: int = typer.Option(8400, min=0, max=65535, help="Port to listen at; 0 takes a free one."),
    data_dir: Optional[Path] = typer.Option(None, help="Database, logs and objects; ~/.danlu when left out."),
    sandbox: bool = typer.Option(True, "--sandbox/--no-sandbox", help="Run jobs in a sandbox (bubblewrap)."),
    own_network: bool = typer.Option(True, "--own-network/--no-own-network", help="Give each job its own network."),
    simulate: list[str] = typer.Option(
        [], metavar="TYPE[:MODEL]:COUNT", help="Pretend to have devices, such as npu:910b:8; repeatable."
    ),
) -> None:
    """Start a server on this machine.

    It runs until Ctrl-C. Jobs outlive it: the next `danlu up` with the same data folder finds them again.
    The first start makes an admin and prints a one-time link for `danlu login`.

    \b
    Examples:
      danlu up
      danlu up --port 9000 --data-dir /srv/danlu
      danlu up --simulate npu:910b:8
    """
    from danlu.errors import MissingExtra

    try:
        from danlu.server.main import serve
        from danlu.server.settings import ServerSettings
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("danlu"):
            raise
        raise MissingExtra(f"the server needs {error.name!r}; pip install 'danlu[server]' brings it") from error

    settings = ServerSettings(host=host, port=port, sandbox=sandbox, own_network=own_network, simulate=tuple(simulate))
    serve(settings if data_dir is None else settings.model_copy(update={"data_dir": data_dir}))
