"""`danlu bench suites|run|attach|stop|report|compare|history|ls`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.options import AsJson
from danlu.cli.terminal import echo, echo_block, echo_err, echo_file, echo_json

if TYPE_CHECKING:
    from danlu.bench.report import Report
    from danlu.bench.runs import Run
    from danlu.client import Client

app = typer.Typer(name="bench", rich_markup_mode=None, context_settings=CONTEXT)
RunName = Annotated[str, typer.Argument(metavar="RUN", help="Id of a run or of its job, or a suite (its newest run).")]
SuiteName = Annotated[str, typer.Argument(metavar="SUITE", help="A shipped suite, or a file.")]
Timeout = Annotated[
    Optional[str], typer.Option(help="Time limit of the wait, such as 10m; default: that of the suite.")
]
Settings = Annotated[
    list[str], typer.Option("--set", metavar="FIELD=VALUE", help="Change a field of the suite; repeatable.")
]
FAILED, NOT_FINISHED, STOPPED = 100, 101, 103


@app.callback()
def bench() -> None:
    """Measure a cluster: run suites, collect what every rank leaves, report and compare.

    \b
    Examples:
      danlu bench suites
      danlu bench run allreduce
    """


@app.command(context_settings=CONTEXT)
def suites(as_json: AsJson = False) -> None:
    """List the suites that ship with Danlu.

    \b
    Examples:
      danlu bench suites
    """
    from danlu.bench.suite import read_suite, shipped
    from danlu.cli.output import table

    found = [read_suite(path) for path in shipped().values()]
    if as_json:
        echo_json(found)
        return
    rows = [(one.name, f"{one.nodes}x {one.device}", ", ".join(one.measures), one.task) for one in found]
    echo_block(table(("SUITE", "ON", "MEASURES", "TASK"), rows))


@app.command(context_settings=CONTEXT)
def run(
    suite: SuiteName,
    nodes: Annotated[
        Optional[str], typer.Option(help="Nodes; several, such as 1,2,4, give the scaling efficiency.")
    ] = None,
    single_server: bool = typer.Option(False, "--single-server", help="Every node works alone; mean over nodes."),
    set_: Settings = [],  # noqa: B006
    detach: bool = typer.Option(False, "--detach", "-d", help="Start it and return."),
    timeout: Timeout = None,
    as_json: AsJson = False,
) -> None:
    """Run a suite, wait for it and report.

    Ctrl-C detaches: the run goes on, and `danlu bench attach` waits for it again, on any machine.

    \b
    Exit codes: 0 passed, 100 failed, 101 not finished, 103 stopped.

    \b
    Examples:
      danlu bench run allreduce
      danlu bench run resnet-like --single-server
      danlu bench run matmul --nodes 1,2,4 --set device=gpu:8 --set parameters.size=8192
      danlu bench run suite.yml --detach
    """
    from danlu.bench import runs
    from danlu.bench.suite import Mode, find_suite, read_suite
    from danlu.client import Client

    chosen = read_suite(find_suite(suite), set_)
    mode = Mode.SINGLE_SERVER if single_server else Mode.NORMAL
    with Client() as client:
        begun = runs.start(client, chosen, mode=mode, nodes=_counts(nodes))
        echo_err(f"started {begun.id}: {', '.join(job.id for job in begun.jobs)}")
        if detach:
            echo_json({"run": begun.id, "jobs": [job.id for job in begun.jobs]}) if as_json else echo(begun.id)
            return
        _finish(client, begun, timeout=timeout, as_json=as_json)


@app.command(context_settings=CONTEXT)
def attach(run: RunName, timeout: Timeout = None, as_json: AsJson = False) -> None:
    """Wait for a run that was started elsewhere or detached, and report.

    \b
    Exit codes: 0 passed, 100 failed, 101 not finished, 103 stopped.

    \b
    Examples:
      danlu bench attach bench-5d7c1f2a9b04
      danlu bench attach allreduce --timeout 10m
    """
    from danlu.bench import runs
    from danlu.client import Client

    with Client() as client:
        _finish(client, runs.find(client, run), timeout=timeout, as_json=as_json)


@app.command(context_settings=CONTEXT)
def stop(run: RunName) -> None:
    """Stop a run: its jobs are stopped, what was measured stays.

    \b
    Examples:
      danlu bench stop bench-5d7c1f2a9b04
    """
    from danlu.bench import runs
    from danlu.client import Client

    with Client() as client:
        found = runs.find(client, run)
        runs.stop(client, found)
        echo(f"{found.id} is being stopped")


@app.command(context_settings=CONTEXT)
def report(
    run: RunName,
    format_: str = typer.Option("markdown", "--format", help="json, markdown or html."),
    output: Annotated[Optional[Path], typer.Option("--output", "-o", help="Write to this file.")] = None,
    baseline: Annotated[Optional[str], typer.Option(help="Run to compare with.")] = None,
    tolerance: float = typer.Option(0.1, min=0.0, max=1.0, help="What is worse by more than this is marked."),
) -> None:
    """Print the report of a run: JSON, Markdown, or one HTML page with charts.

    \b
    Examples:
      danlu bench report allreduce
      danlu bench report bench-5d7c1f2a9b04 --format html -o report.html
      danlu bench report resnet-like --baseline bench-5d7c1f2a9b04 --format json
    """
    from danlu.bench import runs
    from danlu.bench.report import compare as compared
    from danlu.client import Client

    with Client() as client:
        made = runs.make_report(client, runs.find(client, run))
        if baseline is not None:
            before = runs.make_report(client, runs.find(client, baseline))
            made = compared(made, before, tolerance=tolerance)
    text = runs.render(made, format_)
    if output is None:
        echo_file(text)
        return
    output.write_text(text, encoding="utf-8")
    echo_err(f"wrote {output}")


@app.command(context_settings=CONTEXT)
def compare(
    run: RunName,
    baseline: Annotated[str, typer.Argument(metavar="BASELINE", help="The run to compare with.")],
    tolerance: float = typer.Option(0.1, min=0.0, max=1.0, help="How much worse a measure may be."),
    as_json: AsJson = False,
) -> None:
    """Compare a run with another one; exit with 100 when a measure is worse by more than the tolerance.

    \b
    Examples:
      danlu bench compare bench-90d1e5c3f7aa bench-5d7c1f2a9b04
      danlu bench compare allreduce bench-5d7c1f2a9b04 --tolerance 0.05
    """
    from danlu.bench import runs
    from danlu.bench.markdown import number, signed
    from danlu.bench.report import compare as compared
    from danlu.cli.output import table
    from danlu.client import Client

    with Client() as client:
        one, two = (runs.make_report(client, runs.find(client, name)) for name in (run, baseline))
    found = compared(one, two, tolerance=tolerance).comparison
    assert found is not None
    if as_json:
        echo_json(found)
    else:
        rows = [
            (
                each.measure,
                number(each.value),
                number(each.baseline),
                signed(each.change),
                "worse" if each.is_worse else "",
            )
            for each in found.changes
        ]
        echo_block(table(("MEASURE", "VALUE", "BASELINE", "CHANGE", ""), rows))
    if any(each.is_worse for each in found.changes):
        raise typer.Exit(FAILED)


@app.command(context_settings=CONTEXT)
def history(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="Name of a suite.")],
    limit: int = typer.Option(20, min=1, help="Number of runs."),
    as_json: AsJson = False,
) -> None:
    """Show the runs of a suite with their results, newest first.

    \b
    Examples:
      danlu bench history allreduce
      danlu bench history resnet-like --limit 5 --json
    """
    from danlu.bench import runs
    from danlu.bench.markdown import number
    from danlu.cli.output import table
    from danlu.client import Client

    with Client() as client:
        found = [runs.make_report(client, one) for one in runs.history(client, suite, limit=limit)]
    if as_json:
        echo_json(found)
        return
    rows = [
        (
            one.run,
            str(one.verdict),
            str(one.mode),
            str(one.jobs[-1].job.nodes),
            f"{number(one.main.value)} {one.main.unit}" if one.main is not None else "-",
            f"{one.ended_at:%Y-%m-%d %H:%M}" if one.ended_at is not None else "-",
        )
        for one in found
    ]
    echo_block(table(("RUN", "VERDICT", "MODE", "NODES", "RESULT", "ENDED"), rows))


@app.command("ls", context_settings=CONTEXT)
def ls(
    limit: int = typer.Option(20, min=1, help="Number of runs."),
    as_json: AsJson = False,
) -> None:
    """List runs of all suites, newest first.

    \b
    Examples:
      danlu bench ls
      danlu bench ls --json | jq '.[].run'
    """
    from danlu.bench import runs
    from danlu.cli.output import age, table
    from danlu.client import Client

    with Client() as client:
        found = list(runs.history(client, limit=limit))
    if as_json:
        echo_json([{"run": one.id, "suite": one.suite.name, "jobs": [job.row for job in one.jobs]} for one in found])
        return
    rows = [
        (
            one.id,
            one.suite.name,
            ", ".join(str(job.row.nodes) for job in one.jobs),
            ", ".join(sorted({str(job.state) for job in one.jobs})),
            f"{age(one.jobs[0].row.created_at)} ago",
        )
        for one in found
    ]
    echo_block(table(("RUN", "SUITE", "NODES", "STATE", "STARTED"), rows))


def _finish(client: Client, begun: Run, *, timeout: Optional[str], as_json: bool) -> None:
    """Wait, collect, keep the report beside the results, print it, and exit with the code of the verdict."""
    from danlu.bench import runs
    from danlu.spec.units import parse_duration

    try:
        runs.wait(begun, timeout_seconds=None if timeout is None else parse_duration(timeout))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--timeout") from error
    except TimeoutError as error:
        echo_err(f"{error}. Wait for it again: danlu bench attach {begun.id}")
        raise typer.Exit(NOT_FINISHED) from None
    except KeyboardInterrupt:
        echo_err(f"detached: {begun.id} keeps running; wait for it: danlu bench attach {begun.id}")
        raise typer.Exit(NOT_FINISHED) from None
    made = runs.make_report(client, begun)
    folder = runs.keep_report(client, begun, report=made)
    echo_json(made) if as_json else echo_file(runs.render(made, "markdown"))
    echo_err(f"reports: danlu store ls {folder}")
    raise typer.Exit(_code(made))


def _code(made: Report) -> int:
    codes = {"passed": 0, "failed": FAILED, "stopped": STOPPED, "unfinished": NOT_FINISHED}
    return codes[str(made.verdict)]


def _counts(text: Optional[str]) -> list[int]:
    if text is None:
        return []
    try:
        return [int(one) for one in text.split(",")]
    except ValueError as error:
        raise typer.BadParameter(f"expected numbers such as 1,2,4, got {text!r}", param_hint="--nodes") from error
