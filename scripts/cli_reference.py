"""Write docs/reference/cli.md from the commands themselves: python scripts/cli_reference.py"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from danlu.cli import SECTIONS, load_command

TARGET = Path(__file__).parent.parent / "docs" / "reference" / "cli.md"
HEAD = """# The command line

Made from the commands by `scripts/cli_reference.py`; `danlu COMMAND --help` says the same.

Every command that prints results takes `--json`. Jobs are named by id, or by name, which means the newest job
of that name. Colours and bars appear on a terminal only, and not with `NO_COLOR`.

| exit code | meaning |
|---|---|
| 0 | success; of `run`, `submit`, `wait`, `logs -f`: the job succeeded |
| 1 | error; a line on standard error names it |
| 2 | usage error |
| 100 | the job failed |
| 101 | the job is not finished (detached, or time is up) |
| 102 | `wait`, `logs`: there is no such job |
| 103 | the job was stopped |

Address and key are taken from, in this order: `DANLU_URL` and `DANLU_API_KEY`, `./.danlu.yml`, `~/.danlu/config.yml`
(`DANLU_CONFIG` names another file). Without any, the address is `http://127.0.0.1:8400`.
"""


def render() -> str:
    parts = [HEAD]
    for title, section in SECTIONS.items():
        parts.append(f"## {title}\n")
        for name in section:
            command = load_command(name)
            inner = getattr(command, "commands", None)
            if inner is None:
                parts.append(_command(f"danlu {name}", command))
            elif command.invoke_without_command:
                parts.append(_command(f"danlu {name}", command))
                parts += [_command(f"danlu {name} {word}", inner[word]) for word in inner if not inner[word].hidden]
            else:
                parts.append(f"### danlu {name}\n\n{_prose(command.help)}\n")
                parts += [_command(f"danlu {name} {word}", inner[word]) for word in inner if not inner[word].hidden]
    return "\n".join(parts)


def _command(name: str, command: Any) -> str:
    text, _, examples = command.help.partition("Examples:")
    parameters = list(_parameters(command))
    lines = [f"### {name}", "", f"`{name} {_usage(command)}`", "", _prose(text), ""]
    if parameters:
        lines += ["| | |", "|---|---|", *parameters, ""]
    block = "\n".join(line.strip() for line in examples.strip().splitlines())
    return "\n".join([*lines, "```bash", block, "```", ""])


def _usage(command: Any) -> str:
    words = ["[OPTIONS]"]
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            word = (parameter.metavar or parameter.name.upper()).strip("[]")
            word = f"{word.rstrip('.')}..." if parameter.nargs == -1 else word
            words.append(word if parameter.required else f"[{word}]")
    return " ".join(words)


def _parameters(command: Any) -> Iterator[str]:
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            names = f"`{(parameter.metavar or parameter.name.upper()).strip('[]')}`"
        else:
            value = parameter.metavar or ("" if parameter.is_flag else "VALUE")
            options = [*parameter.opts, *parameter.secondary_opts]
            names = ", ".join(f"`{option}`" for option in options) + (f" `{value}`" if value else "")
        yield f"| {_cell(names)} | {_cell((parameter.help or '') + _default(parameter))} |"


def _default(parameter: Any) -> str:
    shown = parameter.show_default if isinstance(parameter.show_default, str) else parameter.default
    if shown in (None, False, "", (), []) or parameter.required:
        return ""
    return f" Default: `{shown}`."


def _prose(text: str) -> str:
    """Paragraphs of a docstring; what stands line by line there does so here."""
    paragraphs = []
    for paragraph in text.strip().split("\n\n"):
        lines = [line.strip() for line in paragraph.splitlines()]
        is_kept = lines[0] == "\b"
        paragraphs.append(("\n" if is_kept else " ").join(line for line in lines if line not in ("\b", "")))
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


if __name__ == "__main__":
    TARGET.write_text(render(), encoding="utf-8")
    print(f"wrote {TARGET}")
