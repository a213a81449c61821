"""`danlu examples list|show|run|copy`"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from danlu.cli import CONTEXT
from danlu.cli.language import is_chinese
from danlu.cli.options import AsJson, Detach
from danlu.cli.terminal import echo_block, echo_err, echo_file, echo_json, fail

if TYPE_CHECKING:
    from danlu.wire.examples import ExampleOut, ExampleRow, NeedOut, Words

app = typer.Typer(name="examples", rich_markup_mode=None, no_args_is_help=True, context_settings=CONTEXT)
_Name = typer.Argument(..., metavar="NAME", help="An example; see `danlu examples list`.")


@app.callback()
def _examples() -> None:
    """Read, run and copy examples."""


@app.command("list", context_settings=CONTEXT)
def list_(
    tag: str = typer.Option("", "--tag", metavar="TAG", help="Only with this tag."), as_json: AsJson = False
) -> None:
    """List examples, and whether this cluster can run them.

    \b
    Examples:
      danlu examples list
      danlu examples list --tag npu
      danlu examples list --json | jq -r '.[].name'
    """
    from danlu.client import Client

    with Client() as client:
        found = [row for row in client.examples.list() if not tag or tag in row.tags]
    echo_json(found) if as_json else echo_block(rows_text(found))


@app.command(context_settings=CONTEXT)
def show(
    name: str = _Name,
    file: str = typer.Option("", "--file", metavar="PATH", help="Print only this file."),
    as_json: AsJson = False,
) -> None:
    """Show an example: description, requirements, files and job.

    \b
    Examples:
      danlu examples show ddp_images
      danlu examples show ddp_images --file code/train.py
      danlu examples show ddp_images --json | jq .job
    """
    from danlu.client import Client

    with Client() as client:
        found = client.examples.get(name)
    if file:
        texts = {one.path: one.text for one in found.files}
        if file not in texts:
            fail(f"{name} has no file {file!r}; its files: {', '.join(texts)}")
        echo_file(texts[file])
    elif as_json:
        echo_json(found)
    else:
        echo_block(example_text(found))


@app.command(context_settings=CONTEXT)
def run(
    name: str = _Name,
    set_: list[str] = typer.Option([], "--set", metavar="FIELD=VALUE", help="Change a field of its job; repeatable."),
    detach: Detach = False,
    as_json: AsJson = False,
) -> None:
    """Run an example as a job and follow its logs.

    Its code is uploaded as with `danlu submit`. Ctrl-C detaches: the job keeps running.

    \b
    Exit codes: 0 succeeded, 100 failed, 101 not finished (detached), 103 stopped.

    \b
    Examples:
      danlu examples run hello
      danlu examples run ddp_images --set hyperparameters.epochs=2
      danlu examples run ddp_images --detach
    """
    from danlu.cli.jobs.send import follow_or_leave
    from danlu.client import Client
    from danlu.client.jobs.examples import submit_example
    from danlu.client.jobs.jobfile import set_value

    with Client() as client:
        example = client.examples.get(name)
        changes = dict(example.job or {})
        for setting in set_:
            changes = set_value(changes, setting)
        follow_or_leave(submit_example(client.jobs, example, changes), detach=detach, as_json=as_json)


@app.command(context_settings=CONTEXT)
def copy(
    name: str = _Name,
    folder: Path = typer.Argument(..., metavar="FOLDER", help="Target folder; existing files are not overwritten."),
    as_json: AsJson = False,
) -> None:
    """Copy the files of an example into a folder, as a start for your own job.

    \b
    Examples:
      danlu examples copy ddp_images my-training
      danlu submit my-training/job.yml
    """
    from danlu.client import Client

    with Client() as client:
        example = client.examples.get(name)
        written = [str(path) for path in client.examples.copy(name, folder)]
    if as_json:
        echo_json(written)
        return
    echo_block("\n".join(written))
    if example.is_job:
        echo_err(f"Run it: danlu submit {folder / 'job.yml'}")


def rows_text(rows: list[ExampleRow]) -> str:
    from danlu.cli.output import table

    if not rows:
        return "no examples"
    told = [
        (row.name, "job" if row.is_job else "script", _fitness(row), f"{row.seconds} s", words(row.title))
        for row in rows
    ]
    return table(("NAME", "KIND", "HERE", "TAKES", "WHAT"), told)


def example_text(example: ExampleOut) -> str:
    from danlu.cli.output import bold
    from danlu.spec.units import show_size

    lines = [bold(words(example.title)), "", words(example.about), ""]
    if example.before is not None:
        lines += [words(example.before), ""]
    lines += [f"needs   {_need_text(need)}" for need in example.needs]
    lines += [f"file    {file.path} ({show_size(file.size)})" for file in example.files]
    lines += [f"takes   about {example.seconds} s", ""]
    way = f"danlu examples run {example.name}" if example.is_job else f"danlu examples copy {example.name} FOLDER"
    return "\n".join([*lines, f"Run it: {way}" if example.is_job else f"Copy it: {way}"])


def words(text: Words) -> str:
    """The text in the language of the terminal."""
    return text.zh if is_chinese() else text.en


def _fitness(row: ExampleRow) -> str:
    missing = list(_missing(row.needs))
    return f"missing: {', '.join(missing)}" if missing else "runs"


def _missing(needs: list[NeedOut]) -> Iterator[str]:
    return (need.name for need in needs if need.is_met is False)


def _need_text(need: NeedOut) -> str:
    told = {True: "is here", False: f"not here: {need.why}", None: "unknown"}[need.is_met]
    return f"{need.name} ({told})"
