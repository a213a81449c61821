"""`danlu open` and `danlu close`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

import typer

from danlu.cli.options import AsJson, JobName
from danlu.cli.output import table
from danlu.cli.terminal import echo, echo_err

if TYPE_CHECKING:
    from danlu.client.jobs.job import Job

Endpoint = typer.Argument(
    None, metavar="[ENDPOINT]", help="ssh, jupyter, tensorboard or a port of the job; without it, list what is open."
)


def open_(
    job: JobName,
    endpoint: Optional[str] = Endpoint,
    share: bool = typer.Option(False, "--share", help="Share it with all users who may submit to the job's project."),
    browser: bool = typer.Option(False, "--browser", "-b", help="Open it in the browser of this machine."),
    as_json: AsJson = False,
) -> None:
    """Open JupyterLab, TensorBoard or a port of a running job in a browser.

    Prints a link that lets one browser in: it works for a minute, for you and for this endpoint only. The browser may
    then use it until the job ends, the endpoint is closed, or you are signed out, for half a day at most. JupyterLab
    and TensorBoard start inside the job when they are first opened. TensorBoard of a job that is over is a small job
    of its own, which ends after two hours. For `ssh` the ssh command is printed; with --share everybody who may submit
    to the project may use it, with a key of their own.

    \b
    Examples:
      danlu open mnist jupyter
      danlu open mnist 8080
      danlu open mnist 8080 --share
      danlu open mnist ssh --share
      danlu open mnist
    """
    import shlex
    import webbrowser

    from danlu.cli.jobs.ssh import ssh_words
    from danlu.client import Client

    with Client() as client:
        found = client.jobs.get(job)
        if endpoint == "tensorboard" and found.is_over:
            found = _viewer(found)
        endpoints = found.endpoints
        if endpoint is None:
            listed = endpoints.list()
            rows = [(one.name, "project" if one.is_shared else "owner", one.address) for one in listed]
            if as_json:
                echo("[" + ",".join(one.model_dump_json() for one in listed) + "]")
            else:
                echo(table(("ENDPOINT", "FOR", "ADDRESS"), rows))
            return
        if share or endpoint not in {one.name for one in endpoints.list()}:
            endpoints.open(endpoint, is_shared=share)
        if endpoint == "ssh":
            echo(shlex.join(ssh_words(client, found.id)))
            return
        link = endpoints.link(endpoint)
    echo(link.model_dump_json() if as_json else link.url)
    if browser:
        webbrowser.open(link.url)


def _viewer(ended: Job) -> Job:
    """The job that shows an ended one, once it has begun: one that runs already, or a new one."""
    from danlu.errors import WrongState

    viewer = ended.view()
    if viewer.state != "running":
        echo_err(f"{ended.id} is over; {viewer.id} is starting, to show what it has left")
    for now in viewer.watch():
        if now.state == "running" or now.is_over:
            break
    if viewer.is_over:
        told = f"{viewer.id} is {viewer.state}: {viewer.reason.message}"
        raise WrongState(f"{told}; `danlu logs {viewer.id}` shows its output")
    return viewer


def close(
    job: JobName, endpoint: str = typer.Argument(..., metavar="ENDPOINT", help="An endpoint that is open.")
) -> None:
    """Close an endpoint of a job.

    Users of it are disconnected within seconds.

    \b
    Examples:
      danlu close mnist 8080
    """
    from danlu.client import Client

    with Client() as client:
        found = client.jobs.get(job)
        found.endpoints.close(endpoint)
    echo(f"Endpoint {endpoint} of {found.id} is closed.")
