"""`danlu open` and `danlu close`"""

from __future__ import annotations

from typing import Optional

import typer

from danlu.cli.options import AsJson, JobName
from danlu.cli.output import table
from danlu.cli.terminal import echo

Endpoint = typer.Argument(None, metavar="[PORT]", help="Port in the job; without it, list what is open.")


def open_(
    job: JobName,
    endpoint: Optional[str] = Endpoint,
    share: bool = typer.Option(False, "--share", help="Let everybody who may submit to the job's project use it."),
    browser: bool = typer.Option(False, "--browser", "-b", help="Open it in the browser of this machine."),
    as_json: AsJson = False,
) -> None:
    """Open a port of a running job in a browser.

    Prints a link that lets one browser in: it works for a minute, for you and for this port only. The browser may
    then use the port until the job ends, the endpoint is closed, or you are signed out, for half a day at most.

    \b
    Examples:
      danlu open mnist 8080
      danlu open mnist 8080 --share
      danlu open mnist
    """
    import webbrowser

    from danlu.client import Client

    with Client() as client:
        endpoints = client.jobs.get(job).endpoints
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
        link = endpoints.link(endpoint)
    echo(link.model_dump_json() if as_json else link.url)
    if browser:
        webbrowser.open(link.url)


def close(
    job: JobName, endpoint: str = typer.Argument(..., metavar="PORT", help="Port that is open in the job.")
) -> None:
    """Close an endpoint of a job. Whoever uses it is cut off within seconds.

    \b
    Examples:
      danlu close mnist 8080
    """
    from danlu.client import Client

    with Client() as client:
        found = client.jobs.get(job)
        found.endpoints.close(endpoint)
    echo(f"Endpoint {endpoint} of {found.id} is closed.")
