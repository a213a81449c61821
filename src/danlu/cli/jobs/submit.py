"""`danlu submit`"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import typer

from danlu.cli.options import AsJson, Detach
from danlu.cli.terminal import echo_err


def submit(
    file: Path = typer.Argument(..., metavar="FILE", help="The job file (YAML)."),
    set_: list[str] = typer.Option([], "--set", metavar="FIELD=VALUE", help="Change a field of the file; repeatable."),
    platform: Optional[str] = typer.Option(
        None, "--from", metavar="ti-one|apulis|modelarts", help="The file is a job of this platform, in JSON."
    ),
    debug: bool = typer.Option(False, "--debug", help="Prepare everything and wait for `danlu shell`."),
    detach: Detach = False,
    as_json: AsJson = False,
) -> None:
    """Submit a job file and follow its logs.

    The local code folder of the file is uploaded, without files in .danluignore. Ctrl-C detaches: the job
    keeps running. With --json the job is printed and not followed.

    \b
    Exit codes: 0 succeeded, 100 failed, 101 not finished (detached), 103 stopped.

    \b
    Examples:
      danlu submit job.yml
      danlu submit job.yml --set nodes=4 --set hyperparameters.lr=0.01
      danlu submit job.yml --detach
      danlu submit job.yml --debug --detach
      danlu submit --from ti-one task.json --set nodes=1
      danlu submit job.yml --json | jq -r .id
    """
    from danlu.cli.jobs.send import send
    from danlu.client.jobs.jobfile import JobFile, read_job_file

    job_file = read_job_file(file, set_) if platform is None else JobFile(file, _foreign(file, platform, set_), None)
    with job_file.explained():
        values = {**job_file.values, "debug": True} if debug else job_file.values
        send(values, folder=job_file.folder, detach=detach, as_json=as_json)


def _foreign(file: Path, platform: str, settings: list[str]) -> dict[str, Any]:
    """The fields of a job that another platform's JSON describes. What means nothing here is told."""
    from danlu.client.jobs.foreign import read_foreign_job
    from danlu.client.jobs.jobfile import set_value

    found = read_foreign_job(file, platform)
    if found.unused:
        echo_err(f"not used here: {', '.join(found.unused)}")
    values = found.values
    for setting in settings:
        values = set_value(values, setting)
    return values
