"""`danlu why`"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Optional

from danlu.cli.language import is_chinese, parts_of, told
from danlu.cli.options import AsJson, JobName
from danlu.cli.terminal import echo_block, echo_json, one_line

if TYPE_CHECKING:
    from danlu.spec.messages.catalogue import Message
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


class _Words(NamedTuple):
    ahead: str
    start: str
    help: str


_ENGLISH = _Words("ahead of it: ", "estimated start: ", "what would help:")
_CHINESE = _Words("排在前面：", "预计开始：", "处理建议：")


def why_text(found: WhyOut) -> str:
    words = _CHINESE if is_chinese() else _ENGLISH
    lines = ["\n  ".join(map(one_line, parts_of(found)))]
    if found.ahead:
        lines.append(one_line(f"{words.ahead}{', '.join(found.ahead)}"))
    if found.estimate is not None:
        basis = "" if is_chinese() else f", by {found.estimate.basis}"
        lines.append(f"{words.start}{found.estimate.starts_at:%Y-%m-%d %H:%M:%S} UTC{basis}")
    if found.would_help:
        lines.append(words.help)
        said: Sequence[Optional[Message]] = found.would_help_said or [None] * len(found.would_help)
        lines += [f"  {one_line(told(one, text))}" for one, text in zip(said, found.would_help)]
    return "\n".join(lines)
