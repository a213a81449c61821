"""`danlu why`"""

from __future__ import annotations

from typing import TYPE_CHECKING

from danlu.cli.options import AsJson, JobName
from danlu.cli.terminal import echo_block, echo_json, one_line

if TYPE_CHECKING:
    from danlu.wire.why import WhyOut


def why(job: JobName, as_json: AsJson = False) -> None:
    """Explain why a job waits, and what would let it start.

    Missing resources, jobs ahead, quota, and an estimate of the start.

    \b
    Examples:
      danlu why mnist
      danlu why train-0741234 --json | jq .limit
    """
    from danlu.client import Client

    with Client() as client:
        found = client.jobs.get(job).why()
    echo_json(found) if as_json else echo_block(why_text(found))


def why_text(found: WhyOut) -> str:
    lines = ["\n  ".join(map(one_line, found.sentence.split("; ")))]
    if found.ahead:
        lines.append(one_line(f"ahead of it: {', '.join(found.ahead)}"))
    if found.estimate is not None:
        lines.append(f"estimated start: {found.estimate.starts_at:%Y-%m-%d %H:%M:%S} UTC, by {found.estimate.basis}")
    if found.would_help:
        lines.append("what would help:")
        lines += [f"  {one_line(text)}" for text in found.would_help]
    return "\n".join(lines)
