"""`danlu doctor`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Optional

import typer

from danlu.cli.options import AsJson
from danlu.cli.terminal import echo_block, echo_json, paint

if TYPE_CHECKING:
    from danlu.cli.server.checks import Finding


def doctor(
    data_dir: Optional[Path] = typer.Option(
        None, help="The data folder of the server.", show_default="DANLU_SERVER_DATA_DIR, else ~/.danlu"
    ),
    as_json: AsJson = False,
) -> None:
    """Check this machine and the server, and say how to fix problems.

    Runs real tests and changes nothing. The exit code is 1 if something does not work.

    \b
    Examples:
      danlu doctor
      danlu doctor --data-dir /srv/danlu
      danlu doctor --json | jq '.[] | select(.level != "good")'
    """
    from danlu.cli.server.checks import Level, check_folder, check_machine, check_server, data_folder
    from danlu.client.config import load_settings

    folder, is_named = data_folder(data_dir)
    findings = []
    for finding in (check_folder(folder, is_named=is_named), *check_machine(folder), *check_server(load_settings())):
        findings.append(finding)
        if not as_json:
            echo_block(finding_text(finding))
    if as_json:
        echo_json([finding._asdict() for finding in findings])
    if any(finding.level is Level.BAD for finding in findings):
        raise typer.Exit(1)


def finding_text(finding: Finding) -> str:
    from danlu.cli.server.checks import Level

    colours = {Level.GOOD: 32, Level.WARNING: 33, Level.BAD: 31}
    line = f"{paint(f'{finding.level!s:<8}', colours[finding.level])} {finding.what:<9} {finding.text}"
    return f"{line}\n{'':19}what to do: {finding.remedy}" if finding.remedy else line
