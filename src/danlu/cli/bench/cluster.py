"""`danlu bench admit|schedule|post|board`"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.bench.commands import FAILED, RunName, Settings, SuiteName, app
from danlu.cli.options import AsJson
from danlu.cli.terminal import echo, echo_block, echo_err, echo_json

if TYPE_CHECKING:
    from danlu.bench.admission import Judged

KEY_VARIABLE = "DANLU_TESTER_KEY"
Bucket = Annotated[str, typer.Option(help="Bucket of the collecting server.")]


@app.command(context_settings=CONTEXT)
def admit(
    suite: SuiteName,
    nodes: Annotated[Optional[int], typer.Option(min=1, help="Nodes to measure; default: all that are open.")] = None,
    repeat: int = typer.Option(
        3, min=1, help="Runs; the best of each node counts. As many again where a node is below."
    ),
    tolerance: float = typer.Option(0.1, min=0.0, max=1.0, help="How far below its baseline a node may be."),
    baseline: Annotated[Optional[str], typer.Option(help="Run to compare with; default: the runs so far.")] = None,
    dry_run: bool = typer.Option(False, "--dry-run", help="Drain nothing."),
    set_: Settings = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Measure nodes and drain those below their baseline. For admins.

    Every node works alone. One that is below is measured once more before it is drained; where the others are below
    as well, nothing is drained. Exits with 100 when a node is below its baseline, or a run failed.

    \b
    Examples:
      danlu bench admit matmul
      danlu bench admit matmul --set device=npu:8 --repeat 5 --dry-run
      danlu bench admit memory --baseline bench-5d7c1f2a9b04 --tolerance 0.15
    """
    from danlu.bench import admitting
    from danlu.bench.suite import find_suite, read_suite
    from danlu.client import Client

    chosen = read_suite(find_suite(suite), set_)
    with Client() as client:
        rules = admitting.Rules(repeat, tolerance, nodes, baseline)
        found = admitting.admit(client, chosen, rules=rules, say=echo_err)
        drained = [] if dry_run else admitting.drain(client, found)
    if as_json:
        told = {one.node: {"is_below": one.is_below, "is_drained": one.node in drained} for one in found.judged}
        echo_json([{**one._asdict(), **told[one.node]} for one in found.judged])
    else:
        _show(found.judged, drained)
    for problem in found.problems:
        echo_err(problem)
    for name in found.missed:
        echo_err(f"{name} was not measured")
    if found.problems or any(one.standing.is_bad for one in found.judged):
        raise typer.Exit(FAILED)


@app.command(context_settings=CONTEXT)
def schedule(
    suite: SuiteName,
    at: str = typer.Option("02:00", help="Time of the day, UTC."),
    single_server: bool = typer.Option(False, "--single-server", help="Every node works alone; mean over nodes."),
    set_: Settings = [],  # noqa: B006
) -> None:
    """Run a suite every day: a job starts the runs, as you, until it is stopped.

    \b
    Examples:
      danlu bench schedule resnet-like
      danlu bench schedule allreduce --at 04:30 --set nodes=8
    """
    from danlu.bench.schedule import submit_schedule
    from danlu.bench.suite import Mode, find_suite, read_suite
    from danlu.client import Client

    chosen = read_suite(find_suite(suite), set_)
    mode = Mode.SINGLE_SERVER if single_server else Mode.NORMAL
    with Client() as client:
        job = submit_schedule(client, chosen, mode=mode, at=at)
    echo(job.id)
    echo_err(f"{chosen.name} runs every day at {at} UTC. See its runs: danlu bench history {chosen.name}")
    echo_err(f"  End it: danlu stop {job.id}")


@app.command(context_settings=CONTEXT)
def post(
    run: RunName,
    to: Annotated[str, typer.Option(help="Address of the collecting server.")],
    bucket: Bucket = "main",
    plain: bool = typer.Option(False, "--plain", help="POST the record as JSON to this very address, of any server."),
    limit: str = typer.Option("1h", help="How long a server that does not answer is retried."),
) -> None:
    """Post the results of a run to a collecting server (a Tester), again and again until it takes them.

    The key for it is in the variable DANLU_TESTER_KEY. Any Danlu server can be the one that collects; another one is
    sent the record with POST, and has taken it when it answers with 2xx.

    \b
    Examples:
      danlu bench post resnet-like --to https://tester.example.org
      danlu bench post resnet-like --to https://judge.example.org/api/results --plain
    """
    from danlu.bench import runs, tester
    from danlu.client import Client
    from danlu.spec.units import parse_duration

    key = os.environ.get(KEY_VARIABLE)
    if not key:
        raise typer.BadParameter(f"set {KEY_VARIABLE} to a key of the collecting server", param_hint="--to")
    limit_seconds = parse_duration(limit)
    with Client() as client:
        record = tester.record_of(runs.make_report(client, runs.find(client, run)), who=client.me().name)
    if plain:
        tester.post_plain(to, record, key=key, limit_seconds=limit_seconds)
        echo(to)
        return
    with Client(url=to, api_key=key) as collecting:
        echo(tester.post(collecting, record, bucket=bucket, limit_seconds=limit_seconds))


@app.command(context_settings=CONTEXT)
def board(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="Name of a suite.")],
    bucket: Bucket = "main",
    as_json: AsJson = False,
) -> None:
    """Show the results that were posted to this server, best first.

    \b
    Examples:
      danlu bench board resnet-like
    """
    from danlu.bench import tester
    from danlu.bench.markdown import number
    from danlu.cli.output import table
    from danlu.client import Client

    with Client() as client:
        found = tester.board(client, suite, bucket=bucket)
    if as_json:
        echo_json(found)
        return
    rows = [
        (str(place), f"{number(one.value)} {one.unit}", str(one.nodes), str(one.num_ranks), one.who, one.run)
        for place, one in enumerate(found, 1)
    ]
    echo_block(table(("PLACE", "RESULT", "NODES", "RANKS", "BY", "RUN"), rows))


def _show(judged: list[Judged], drained: list[str]) -> None:
    from danlu.bench.markdown import number, signed
    from danlu.cli.output import table

    rows = [
        (
            one.node,
            number(one.value),
            "-" if one.baseline is None else number(one.baseline),
            "-" if one.baseline is None else signed(-one.worse),
            "drained" if one.node in drained else str(one.standing),
        )
        for one in judged
    ]
    echo_block(table(("NODE", "VALUE", "BASELINE", "CHANGE", ""), rows))
