"""`danlu run`"""

from __future__ import annotations

import os
import re
from pathlib import PurePath
from typing import Any, Optional, Union

import typer

from danlu.cli import CONTEXT
from danlu.cli.options import AsJson, Detach, pair, pairs

_PRESET = typer.Option(None, help="Settings for scripts of another platform: tione, apulis or modelarts.")
_LAUNCH = typer.Option(
    None,
    help="How the command is started: plain, ddp, ascend, mpi, horovod, deepspeed, colossalai or ray.",
    show_default="plain",
)
_PROCESSES = typer.Option(None, help="Start the command per_node or per_device (with ascend).", show_default="per_node")
_REQUIREMENTS = typer.Option(
    [], "--requirements", "-r", metavar="FILE|PACKAGE", help="requirements.txt in the code, or a package; repeatable."
)
_PLAIN = (
    *("nodes", "launch", "processes", "success", "flavor", "framework", "code", "image", "contract", "python", "setup"),
    *("output", "project", "priority", "max_duration", "grace"),
)
"""Options that are fields of a job as they are."""

_CONTRACT = typer.Option(None, help="Platform whose scripts run unchanged: tione, apulis or modelarts.")


_SCRIPT = re.compile(r"\.(py|sh)$")


def run(
    command: list[str] = typer.Argument(..., metavar="COMMAND", help="Command to run on every node."),
    nodes: int = typer.Option(1, "--nodes", "-N", min=1, help="Number of nodes."),
    name: Optional[str] = typer.Option(None, help="Job name; default: from the command."),
    preset: Optional[str] = _PRESET,
    launch: Optional[str] = _LAUNCH,
    success: Optional[str] = typer.Option(None, help="Which tasks must succeed: all, any, chief or worker-0."),
    processes: Optional[str] = _PROCESSES,
    flavor: Optional[str] = typer.Option(None, help="Machine shape with a price; see `danlu flavors`."),
    device: Optional[str] = typer.Option(None, help="Devices per node, TYPE[:MODEL][:COUNT], such as gpu:2."),
    cpus: Optional[float] = typer.Option(None, help="Cores reserved on every node."),
    memory: Optional[str] = typer.Option(None, help="Memory reserved on every node, such as 4GB."),
    code: Optional[str] = typer.Option(
        None, help="Local folder to upload, or store://... path.", show_default="code of .danlu.yml"
    ),
    framework: Optional[str] = typer.Option(None, help="Named environment; see `danlu frameworks`."),
    image: Optional[str] = typer.Option(None, help="Container image for the command."),
    contract: Optional[str] = _CONTRACT,
    requirements: list[str] = _REQUIREMENTS,
    python: Optional[str] = typer.Option(None, help="Python version of the command, such as 3.11."),
    setup: Optional[str] = typer.Option(None, help="Shell script that runs before the command."),
    data: list[str] = typer.Option([], metavar="INPUT=PATH", help="Input and its path in the job; repeatable."),
    output: Optional[str] = typer.Option(None, help="Store folder for results."),
    project: Optional[str] = typer.Option(None, help="Project of the job; default: your default project."),
    env: list[str] = typer.Option([], metavar="NAME=VALUE", help="Variable; NAME alone copies yours. Repeatable."),
    secret: list[str] = typer.Option([], metavar="NAME[=VALUE]", help="Secret environment variable. Repeatable."),
    hp: list[str] = typer.Option([], metavar="NAME=VALUE", help="Hyperparameter; repeatable."),
    tag: list[str] = typer.Option([], metavar="NAME=VALUE", help="Tag; repeatable."),
    priority: Optional[int] = typer.Option(None, help="0 to 100; higher starts first."),
    retries: Optional[int] = typer.Option(None, help="Maximum number of retries."),
    max_duration: Optional[str] = typer.Option(None, help="Time limit, such as 2h."),
    grace: Optional[str] = typer.Option(None, help="Grace period when stopped, such as 30s."),
    detach: Detach = False,
    as_json: AsJson = False,
) -> None:
    """Run a command as a job and follow its logs.

    Everything after -- is the command, executed as it is; a single word is a shell line.
    Ctrl-C detaches: the job keeps running.

    \b
    Exit codes: 0 succeeded, 100 failed, 101 not finished (detached), 103 stopped.

    \b
    Examples:
      danlu run -N 2 --launch ddp --code . -- python train.py --lr 0.1
      danlu run -N 2 -- 'echo I am $INDEX of $NODE_NUM'
      danlu run --code . -r requirements.txt -- python train.py
      danlu run -N 2 --preset tione --code . -- sh start_cloud.sh
      danlu run --flavor npu-910b-8 --framework pytorch-2.13 --code . -- python train.py
      danlu run --device npu:910b:8 --code . --data store://main/mnist/=mnist -d -- python train.py
    """
    from danlu.cli.jobs.send import send

    code = code or _code_for(command, needs_none=image is not None or bool(data))
    given = locals()
    values = _chosen(preset, device) | _given(
        **{field: given[field] for field in _PLAIN},
        name=name or name_of(command),
        command=command_of(command),
        resources=_given(device=device, cpus=cpus, memory=memory) or None,
        requirements=_requirements(requirements),
        data=dict(_input(item) for item in data) or None,
        env=dict(_variable(item, "--env") for item in env) or None,
        secrets=dict(_variable(item, "--secret") for item in secret) or None,
        hyperparameters=_hyperparameters(hp) or None,
        tags=pairs(tag, "--tag") or None,
        retry={"max": retries} if retries is not None else None,
    )
    send(values, folder=None, detach=detach, as_json=as_json)


# options after the first word belong to the command
run.context_settings = {**CONTEXT, "allow_interspersed_args": False}  # type: ignore[attr-defined]


def _code_for(command: list[str], *, needs_none: bool) -> Optional[str]:
    """The code folder that the user's settings name. Without one, refuse a command whose script would not be there."""
    from danlu.client.config import default_code

    chosen = default_code()
    if chosen is not None or needs_none:
        return chosen
    words = command[0].split() if len(command) == 1 else command
    script = next((word for word in words if _SCRIPT.search(word) and not os.path.isabs(word)), None)
    if script is not None and os.path.isfile(script):
        raise typer.BadParameter(
            f"{script!r} is in this folder, and the job gets no code; add --code . to send the folder",
            param_hint="--code",
        )
    return None


def _requirements(words: list[str]) -> Union[str, list[str], None]:
    """One word that is a file is that file; others are packages."""
    if len(words) == 1 and words[0].endswith((".txt", ".in", ".toml", ".lock", ".yml", ".yaml")):
        return words[0]
    return words or None


def _chosen(platform: Optional[str], device: Optional[str]) -> dict[str, Any]:
    from danlu.spec.templates import preset

    return dict(preset(platform, device)) if platform is not None else {}


def command_of(words: list[str]) -> Union[str, list[str]]:
    """One word is a shell line; several are executed as they are."""
    return words[0] if len(words) == 1 else list(words)


def name_of(words: list[str]) -> str:
    """Job name from a command: of its script, else of its program."""
    split = words[0].split() if len(words) == 1 else words
    script = next((word for word in split if _SCRIPT.search(word)), split[0] if split else "run")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", PurePath(script).stem).strip("-.")[:60]
    return name or "run"


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _input(text: str) -> tuple[str, str]:
    """An address may contain signs of equality; a path in the job has none."""
    source, equals, path = text.rpartition("=")
    if not equals or not source:
        raise typer.BadParameter(f"expected INPUT=PATH, got {text!r}", param_hint="--data")
    return source, path


def _variable(text: str, option: str) -> tuple[str, str]:
    if "=" in text:
        return pair(text, option)
    if text not in os.environ:
        raise typer.BadParameter(f"{text!r} is not set in your environment; use {text}=VALUE", param_hint=option)
    return text, os.environ[text]


def _hyperparameters(items: list[str]) -> dict[str, Any]:
    from danlu.client.jobs.jobfile import parse_value

    return {name: parse_value(value) for name, value in pairs(items, "--hp").items()}
