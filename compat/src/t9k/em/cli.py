"""`em`: look at runs and artifacts in the old layout and upload them."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from pathlib import Path
from typing import Any, Optional, TextIO

from t9k.em import files, remote
from t9k.em.artifact import load_artifact, objects_in, references_in
from t9k.em.upload import upload
from t9k.em.upload_artifact import STRATEGIES


def main(argv: Optional[list[str]] = None) -> int:
    options = _options(argv)
    try:
        return int(options.run(options))
    except (RuntimeError, ValueError, OSError) as error:
        _say(f"em: {error}", file=sys.stderr)
        return 1


def _options(argv: Optional[list[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="em", description=__doc__)
    parser.add_argument("--version", action="version", version="em (danlu-compat 0.1.0)")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, help, run in (
        ("ls", "list runs and artifacts", _ls),
        ("describe", "show a run or an artifact", _describe),
    ):
        command = commands.add_parser(name, help=help)
        command.add_argument("path")
        command.add_argument("-d", "--detail", action="store_true")
        command.set_defaults(run=run)
    command = commands.add_parser("upload", help="upload runs and artifacts")
    command.add_argument("path")
    command.add_argument("-f", "--folder", default="default")
    command.add_argument("-m", "--make-folder", action="store_true")
    command.add_argument("-c", "--conflict-strategy", choices=STRATEGIES, default="new")
    command.set_defaults(run=_upload)
    command = commands.add_parser("login", help="check an address and a key; `danlu login` keeps them")
    command.add_argument("-k", "--api-key")
    command.add_argument("-H", "--host")
    command.set_defaults(run=_login)
    commands.add_parser("logout", help="nothing is kept, so there is nothing to forget").set_defaults(run=_logout)
    return parser.parse_args(argv)


def _ls(options: argparse.Namespace) -> int:
    found, made = files.find(Path(options.path)), files.find(Path(options.path), "Artifact")
    if not found and not made:
        raise RuntimeError(f"no runs and no artifacts in {options.path}")
    if found:
        _print_table(_run_rows(found, options))
    if made:
        _print_table(_artifact_rows(made, options))
    return 0


def _run_rows(found: list[Path], options: argparse.Namespace) -> list[list[str]]:
    header = ["NAME", "STATUS", "STARTED", "DURATION", *(["ALTERNATIVE_NAME", "LABELS"] if options.detail else [])]
    rows = [header]
    for one in found:
        about = files.read(one / files.METADATA)
        began, ended = files.moment(about["startTimestamp"]), files.moment(about.get("endTimestamp"))
        more = [about["alternativeName"], ",".join(about.get("labels") or ())] if options.detail else []
        rows.append([about["name"], about["status"], _time(began), _duration(began, ended), *more])
    return rows


def _artifact_rows(found: list[Path], options: argparse.Namespace) -> list[list[str]]:
    rows = [["NAME", "CREATED", "OBJECTS", *(["ALTERNATIVE_NAME", "LABELS"] if options.detail else [])]]
    for one in found:
        about = files.read(one / files.METADATA)
        count = len(objects_in(one)) + len(references_in(one))
        more = [about["alternativeName"], ",".join(about.get("labels") or ())] if options.detail else []
        rows.append([about["name"], _time(files.moment(about.get("createdTimestamp"))), str(count), *more])
    return rows


def _print_table(rows: list[list[str]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        _say("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def _describe(options: argparse.Namespace) -> int:
    if files.is_kept(Path(options.path), "Artifact"):
        made = load_artifact(options.path)
        _print("metadata", made.to_dict())
        if options.detail:
            _print("objects", made.objects)
        return 0
    found = files.load(Path(options.path))
    _print("metadata", found.metadata)
    if options.detail:
        _print("hyperparameters", found.hparams)
        for type, records in found.metrics.items():
            _say(f"metrics {type}: {len(records)} records")
            for record in records[-10:]:
                _say(f"  step {record['sequence']['step']}: {record['value']}")
        _print("platform", found.platform)
        _print("git", found.git)
    return 0


def _upload(options: argparse.Namespace) -> int:
    remote.login()
    upload(options.path, options.folder, options.make_folder, options.conflict_strategy)
    return 0


def _login(options: argparse.Namespace) -> int:
    remote.login(options.host, options.api_key)
    _say("the key is good; `danlu login` keeps it for later")
    return 0


def _logout(_: argparse.Namespace) -> int:
    _say("nothing is kept by em; `danlu logout` forgets the key of the command line")
    return 0


def _print(title: str, values: dict[str, Any]) -> None:
    _say(f"{title}:")
    for name, value in values.items():
        _say(f"  {name}: {value}")


def _say(text: str, file: Optional[TextIO] = None) -> None:
    """Print. Escapes control characters: names and values come from others and could control the terminal."""
    print(
        "".join(char if char.isprintable() or char in "\n\t\u3000" else ascii(char)[1:-1] for char in text), file=file
    )


def _time(moment: Optional[datetime]) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}" if moment is not None else "-"


def _duration(began: Optional[datetime], ended: Optional[datetime]) -> str:
    if began is None:
        return "-"
    seconds = int(((ended or datetime.now().astimezone()) - began).total_seconds())
    return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


if __name__ == "__main__":
    sys.exit(main())
