"""A report as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from danlu.bench.report import JobReport, Report


def to_markdown(report: Report) -> str:
    lines = [f"# {report.suite.name}: {report.verdict}", ""]
    if report.suite.task:
        lines += [report.suite.task, ""]
    lines += [f"Run `{report.run}`, {report.mode} mode, {when(report)}.", ""]
    if report.problems:
        lines += ["## Problems", "", *(f"- {problem}" for problem in report.problems), ""]
    for job in report.jobs:
        lines += _job(job)
    if report.scaling:
        rows = [(str(one.nodes), number(one.value), percent(one.efficiency)) for one in report.scaling]
        lines += ["## Scaling", "", *table(("nodes", report.suite.main_measure, "efficiency"), rows), ""]
    if report.comparison is not None:
        changes = [
            (one.measure, number(one.value), number(one.baseline), signed(one.change), "worse" if one.is_worse else "")
            for one in report.comparison.changes
        ]
        lines += [f"## Against {report.comparison.run}", ""]
        lines += [*table(("measure", "value", "baseline", "change", ""), changes), ""]
    return "\n".join(lines)


def when(report: Report) -> str:
    ended = report.ended_at
    return "not finished" if ended is None else f"ended {ended:%Y-%m-%d %H:%M:%S} UTC"


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def signed(value: float) -> str:
    return f"{100 * value:+.1f} %"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    shown = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *shown)]


def _job(job: JobReport) -> list[str]:
    facts = job.job
    lines = [f"## {facts.nodes} node{'s' if facts.nodes > 1 else ''}, {job.num_ranks} ranks: `{facts.id}`", ""]
    if not job.measures:
        return [*lines, f"{facts.state}: no results.", ""]
    rows = [
        (
            name,
            f"{number(one.value)} {one.unit}".strip(),
            f"{one.over_ranks} over ranks" if str(facts.mode) == "normal" else "mean over servers",
            percent(one.spread),
            percent(one.steps_spread),
            f"{one.slowest.server} ({one.slowest.node})" if one.slowest is not None else "-",
            ", ".join(f"rank {rank}" for rank in one.outliers) or "-",
        )
        for name, one in job.measures.items()
    ]
    header = ("measure", "value", "how", "spread of ranks", "spread of steps", "slowest server", "outliers")
    lines += [*table(header, rows), ""]
    names = list(job.measures)
    ranks = sorted({rank for one in job.measures.values() for rank in one.ranks})
    cells = [
        [
            str(rank),
            *(number(job.measures[name].ranks[rank]) if rank in job.measures[name].ranks else "-" for name in names),
        ]
        for rank in ranks
    ]
    lines += [*table(("rank", *names), cells), ""]
    for name, points in job.curves.items():
        lines += [*table((name, ""), [(number(x), number(y)) for x, y in points]), ""]
    lines += [*table(("server", "node", "hardware and software"), _servers(job)), ""]
    return lines


def _servers(job: JobReport) -> list[tuple[str, str, str]]:
    return [
        (str(one.server), one.node, ", ".join(f"{name} {value}" for name, value in sorted(one.facts.items()) if value))
        for one in job.servers
    ]
