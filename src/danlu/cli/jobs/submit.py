"""`danlu submit`"""

from __future__ import annotations

from pathlib import Path

import typer

from danlu.cli.options import AsJson, Detach


def submit(
    file: Path = typer.Argument(..., metavar="FILE", help="The job file (YAML)."),
    set_: list[str] = typer.Option([], "--set", metavar="FIELD=VALUE", help="Change a field of the file; repeatable."),
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
      danlu submit job.yml --json | jq -r .id
    """
    from danlu.cli.jobs.send import send
    from danlu.client.jobs.jobfile import read_job_file

    job_file = read_job_file(file, set_)
    with job_file.explained():
        values = {**job_file.values, "debug": True} if debug else job_file.values
        send(values, folder=job_file.folder, detach=detach, as_json=as_json)
