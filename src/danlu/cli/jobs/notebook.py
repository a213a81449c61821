"""`danlu notebook`"""

from __future__ import annotations

from typing import Any, Optional

import typer

from danlu.cli.terminal import echo, echo_err


def notebook(
    name: str = typer.Option("notebook", help="Job name."),
    device: Optional[str] = typer.Option(None, help="Devices, TYPE[:MODEL][:COUNT], such as gpu:1."),
    flavor: Optional[str] = typer.Option(None, help="Machine shape with a price; see `danlu flavors`."),
    framework: Optional[str] = typer.Option(None, help="Named environment; see `danlu frameworks`."),
    image: Optional[str] = typer.Option(None, help="Container image with JupyterLab in it."),
    code: Optional[str] = typer.Option(None, help="Local folder to begin with, or store://... path."),
    project: Optional[str] = typer.Option(None, help="Project of the job; default: your default project."),
    idle: str = typer.Option("2h", help="Stop the job after being idle for this long, at least 1m."),
    browser: bool = typer.Option(False, "--browser", "-b", help="Open it in the browser of this machine."),
) -> None:
    """Start JupyterLab as a job.

    Prints the link to it. It has the devices, files and variables of a job, and Danlu's SDK is signed in as the
    job. It ends when it is stopped, or after some idle time, with an alert before: kernels and terminals that did
    nothing for this long end, and so does the job when no page is open and nothing runs in it. Another link:
    `danlu open NAME jupyter`.

    \b
    Examples:
      danlu notebook
      danlu notebook --device npu:910b:1 --idle 30m --code .
    """
    import webbrowser

    from danlu.client import Client

    values = _job(idle)
    given = {"flavor": flavor, "framework": framework, "image": image, "code": code, "project": project}
    values.update({key: value for key, value in given.items() if value is not None})
    if device is not None:
        values["resources"] = {"device": device}
    with Client() as client:
        job = client.jobs.submit({"name": name, **values})
        echo_err(f"{job.id} is starting")
        _wait_for_it(job)
        link = job.endpoints.link("jupyter")
    echo(link.url)
    if browser:
        webbrowser.open(link.url)


def _job(idle: str) -> dict[str, Any]:
    from danlu.spec.endpoints import JUPYTER, JUPYTER_OPTIONS, JUPYTER_PORT, OWN_NETWORK_URL
    from danlu.spec.units import parse_duration

    seconds = int(parse_duration(idle))
    ends = (
        f"--MappingKernelManager.cull_idle_timeout={seconds} --MappingKernelManager.cull_connected=True "
        f"--TerminalManager.cull_inactive_timeout={seconds}"
    )
    # it has no token: where others share the network of the job, they could use it
    told = "a notebook needs its own network, which jobs do not have on this node (danlu nodes)"
    check = f'[ "$DANLU_URL" = {OWN_NETWORK_URL} ] || {{ echo "{told}"; exit 1; }}'
    start = f'exec python3 -m jupyterlab {JUPYTER_OPTIONS} --port={JUPYTER_PORT} --ServerApp.root_dir="$PWD" {ends}'
    return {"command": f"{check}; {start}", "endpoints": [JUPYTER], "idle_limit": idle}


def _wait_for_it(job: Any) -> None:
    """Wait for its first line. Raise WrongState when it ends before."""
    from danlu.errors import WrongState

    for _ in job.logs(follow=True):
        return
    job.refresh()
    raise WrongState(f"{job.id} is {job.state}: {job.reason.message}; `danlu logs {job.id}` shows its output")
