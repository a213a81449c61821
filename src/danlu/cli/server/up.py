"""`danlu up`"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import typer


def up(
    host: Optional[str] = typer.Option(None, help="Listen address.", show_default="127.0.0.1"),
    port: Optional[int] = typer.Option(
        None, min=0, max=65535, help="Listen port; 0 for a free one.", show_default="8400"
    ),
    endpoints_port: Optional[int] = typer.Option(
        None, min=0, max=65535, help="Port of endpoints.", show_default="8401"
    ),
    endpoints_bare_port: Optional[int] = typer.Option(
        None, min=0, max=65535, help="Port of endpoints at a bare address, for the owner of a job only."
    ),
    endpoints_url: Optional[str] = typer.Option(None, help="Their address, such as https://*.jobs.example.com."),
    data_dir: Optional[Path] = typer.Option(None, help="Database, logs and objects.", show_default="~/.danlu"),
    sandbox: Optional[bool] = typer.Option(
        None, "--sandbox/--no-sandbox", help="Run jobs in a sandbox (bubblewrap) if possible.", show_default="yes"
    ),
    own_network: Optional[bool] = typer.Option(
        None, "--own-network/--no-own-network", help="Give jobs a private network if possible.", show_default="yes"
    ),
    simulate: Optional[list[str]] = typer.Option(
        None, metavar="TYPE[:MODEL]:COUNT", help="Simulate devices, such as npu:910b:8; repeatable."
    ),
    max_tasks: Optional[int] = typer.Option(
        None, min=1, help="Maximum number of parallel tasks.", show_default="four per core, at least 16"
    ),
    engine: Optional[str] = typer.Option(None, help="Where jobs run: local, ray, or ray,local.", show_default="local"),
    ray_address: Optional[str] = typer.Option(None, metavar="HOST:PORT", help="Head of the Ray cluster."),
    insecure_ray: Optional[bool] = typer.Option(None, "--insecure-ray", help="Use Ray without token authentication."),
    name: Optional[str] = typer.Option(None, help="Name of this server when several share a database."),
    new_link: bool = typer.Option(False, "--new-link", help="Print a new one-time sign-in link for the admin."),
) -> None:
    """Start a server on this machine.

    It runs until Ctrl-C. Jobs keep running: the next `danlu up` with the same data folder finds them.
    The first start creates an admin and prints a one-time link for `danlu login`.

    \b
    Examples:
      danlu up
      danlu up --port 9000 --data-dir /srv/danlu
      danlu up --simulate npu:910b:8
      danlu up --engine ray,local --ray-address 10.0.0.10:6379 --host 10.0.0.10
    """
    _serve(
        new_link=new_link,
        host=host,
        port=port,
        endpoints_port=endpoints_port,
        endpoints_bare_port=endpoints_bare_port,
        endpoints_url=endpoints_url,
        data_dir=data_dir.absolute() if data_dir is not None else None,
        sandbox=sandbox,
        own_network=own_network,
        simulate=tuple(simulate) if simulate else None,
        max_tasks=max_tasks,
        engine=engine,
        ray_address=ray_address,
        insecure_ray=insecure_ray,
        name=name,
    )


def _serve(*, new_link: bool, **given: Any) -> None:
    from danlu.errors import MissingExtra

    try:
        from danlu.server.main import serve
        from danlu.server.settings import load_settings
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("danlu"):
            raise
        raise MissingExtra(f"the server needs {error.name!r}; install it with pip install 'danlu[server]'") from error

    serve(load_settings(**given), new_link=new_link)
