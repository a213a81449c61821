"""A report as one HTML page with charts, which loads no other files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from danlu.bench.aggregate import Aggregate
from danlu.bench.charts import Bar, bar_chart, line_chart
from danlu.bench.markdown import number, percent, signed, when
from danlu.bench.report import JobReport, Report

_STYLE = """
:root{color-scheme:light dark;--ink:#1c2430;--paper:#fff;--soft:#667085;--line:#d5dbe3;--mark:#c2410c;--bar:#2563eb}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ef;--paper:#12161c;--soft:#98a2b3;--line:#313a46;--bar:#60a5fa}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
body{max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;margin:.5rem 0 1.5rem;font-variant-numeric:tabular-nums}
th,td{border-bottom:1px solid var(--line);padding:.25rem .8rem .25rem 0;text-align:left;vertical-align:top}
svg{width:100%;max-width:40rem;display:block;margin:.5rem 0 1.5rem}
svg text{font-size:11px;fill:var(--soft)}.grid{stroke:var(--line)}.bar{fill:var(--bar)}.marked{fill:var(--mark)}
.ideal{fill:none;stroke:var(--soft);stroke-dasharray:4 4}
.line{fill:none;stroke:var(--bar);stroke-width:2}.dot{fill:var(--bar)}
.verdict{font-weight:600}.failed,.stopped,.worse{color:var(--mark)}.soft{color:var(--soft)}
"""


def to_html(report: Report) -> str:
    title = f"{report.suite.name}: {report.verdict}"
    parts = [
        f'<h1>{escape(report.suite.name)}: <span class="verdict {report.verdict}">{report.verdict}</span></h1>',
        f"<p>{escape(report.suite.task)}</p>",
        f'<p class="soft">Run {escape(report.run)}, {report.mode} mode, {escape(when(report))}</p>',
    ]
    if report.problems:
        items = "".join(f"<li>{escape(problem)}</li>" for problem in report.problems)
        parts.append(f'<h2>Problems</h2><ul class="problems">{items}</ul>')
    if report.comparison is not None:
        parts.append(_comparison(report))
    for job in report.jobs:
        parts.append(_job(job))
    if report.scaling:
        parts.append(_scaling(report))
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>\n'
        f"<body>\n{body}\n</body></html>\n"
    )


def _job(job: JobReport) -> str:
    facts = job.job
    parts = [f"<h2>{facts.nodes} node{'s' if facts.nodes > 1 else ''}, {job.num_ranks} ranks</h2>"]
    parts.append(f'<p class="soft">{escape(facts.id)} {facts.state}</p>')
    if job.measures:
        header = ("measure", "value", "how", "spread of ranks", "spread of steps", "slowest server", "outliers")
        parts.append(_table(header, (_measure_row(job, name, one) for name, one in job.measures.items())))
    for name, one in job.measures.items():
        if len(one.ranks) > 1 or name == next(iter(job.measures)):
            bars = [Bar(f"rank {rank}", value, rank in one.outliers) for rank, value in one.ranks.items()]
            parts.append(f"<h3>{escape(name)} of each rank</h3>")
            parts.append(bar_chart(bars, title=f"{name} of each rank", unit=one.unit))
    for name, points in job.curves.items():
        is_log = len(points) > 2 and points[0][0] > 0 and points[-1][0] / points[0][0] > 50
        unit = job.measures[name].unit if name in job.measures else ""
        parts.append(f"<h3>{escape(name)}</h3>{line_chart(points, title=name, unit=unit, is_log=is_log)}")
    if job.servers:
        rows = [
            (
                str(one.server),
                one.node,
                ", ".join(f"{key} {value}" for key, value in sorted(one.facts.items()) if value),
            )
            for one in job.servers
        ]
        parts.append("<h3>Hardware and software</h3>" + _table(("server", "node", ""), rows))
    return "\n".join(parts)


def _measure_row(job: JobReport, name: str, one: Aggregate) -> Sequence[str]:
    is_normal = str(job.job.mode) == "normal"
    return (
        name,
        f"{number(one.value)} {one.unit}".strip(),
        f"{one.over_ranks} over ranks" if is_normal else "mean over servers",
        percent(one.spread),
        percent(one.steps_spread),
        f"{one.slowest.server} ({one.slowest.node})" if one.slowest is not None else "-",
        ", ".join(f"rank {rank}" for rank in one.outliers) or "-",
    )


def _scaling(report: Report) -> str:
    main = report.main
    unit = main.unit if main is not None else ""
    rows = [(str(one.nodes), f"{number(one.value)} {unit}", percent(one.efficiency)) for one in report.scaling]
    points = [[float(one.nodes), one.value] for one in report.scaling]
    first = report.scaling[0]
    ideal = [first.value * one.nodes / first.nodes for one in report.scaling]
    chart = line_chart(points, title="scaling; dashed: without loss", unit=unit, ideal=ideal)
    return f"<h2>Scaling</h2>{chart}{_table(('nodes', report.suite.main_measure, 'efficiency'), rows)}"


def _comparison(report: Report) -> str:
    assert report.comparison is not None
    parts = [f"<h2>Against {escape(report.comparison.run)}</h2>"]
    rows = [
        (one.measure, number(one.value), number(one.baseline), signed(one.change), "worse" if one.is_worse else "")
        for one in report.comparison.changes
    ]
    parts.append(_table(("measure", "value", "baseline", "change", ""), rows))
    for one in report.comparison.changes:
        bars = [Bar("baseline", one.baseline), Bar("this run", one.value, one.is_worse)]
        parts.append(bar_chart(bars, title=f"{one.measure} against the baseline", unit=""))
    return "\n".join(parts)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"
