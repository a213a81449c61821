"""`danlu ranktable`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.options import AsJson
from danlu.cli.terminal import echo_block, echo_file, echo_json

if TYPE_CHECKING:
    from danlu.launch.ranktable import Chip

app = typer.Typer(name="ranktable", rich_markup_mode=None, no_args_is_help=True, context_settings=CONTEXT)
LARGEST_FILE_BYTES = 64 << 20


@app.callback()
def _ranktable() -> None:
    """Check and convert Ascend rank tables (hccl.json)."""


@app.command(context_settings=CONTEXT)
def check(
    file: Path = typer.Argument(..., metavar="FILE", help="The rank table."),
    chip: Optional[str] = typer.Option(None, help="Also check the rules of this chip: 910 or 910b."),
    as_json: AsJson = False,
) -> None:
    """Check a rank table and print every error.

    One line for each: path, expected and actual value. No server is needed.

    \b
    Exit codes: 0 valid, 1 errors, or a file that cannot be read.

    \b
    Examples:
      danlu ranktable check hccl.json
      danlu ranktable check hccl.json --chip 910
      danlu ranktable check hccl.json --json | jq -r '.[].path'
    """
    from danlu.launch import ranktable

    faults = ranktable.check(_read(file), file_name=file.name, chip=_chip(chip))
    if as_json:
        echo_json([fault._asdict() for fault in faults])
    else:
        echo_block("\n".join(str(fault) for fault in faults) or f"{file}: valid")
    if faults:
        raise typer.Exit(1)


@app.command(context_settings=CONTEXT)
def convert(
    file: Path = typer.Argument(..., metavar="FILE", help="A rank table without version (TensorFlow, ModelArts)."),
    output: Optional[Path] = typer.Option(None, "--output", "-o", metavar="OUT", help="Where to write it."),
) -> None:
    """Convert a rank table without version to version 1.0.

    Ranks follow the number at the end of each pod_name, as on ModelArts, and then the order of the devices.
    An invalid table is not converted.

    \b
    Examples:
      danlu ranktable convert jobstart_hccl.json
      danlu ranktable convert jobstart_hccl.json -o hccl.json
    """
    from danlu.errors import InvalidInput
    from danlu.launch import ranktable

    if output is not None and output.suffix != ".json":
        raise InvalidInput(f"{output}: HCCL opens only files whose name ends in .json")
    text = ranktable.convert(_read(file))
    if output is None:
        echo_file(text)
    else:
        output.write_text(text, encoding="utf-8")


def _read(file: Path) -> str:
    from danlu.errors import InvalidInput

    if file.is_file() and file.stat().st_size > LARGEST_FILE_BYTES:
        raise InvalidInput(f"{file} is larger than {LARGEST_FILE_BYTES >> 20} MiB, and not a rank table")
    try:
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file} is not text in UTF-8: {error.reason} at byte {error.start}") from error


def _chip(name: Optional[str]) -> Optional[Chip]:
    from danlu.launch.ranktable import Chip

    if name is None:
        return None
    known = [chip.value for chip in Chip]
    if name.lower() not in known:
        raise typer.BadParameter(f"expected one of {', '.join(known)}, got {name!r}", param_hint="--chip")
    return Chip(name.lower())
