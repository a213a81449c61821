"""`danlu frameworks list|show|add|change|enable|disable|remove`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.options import AsJson, pairs
from danlu.cli.terminal import echo, echo_block, echo_err, echo_json

if TYPE_CHECKING:
    from danlu.wire.frameworks import FrameworkOut

app = typer.Typer(name="frameworks", rich_markup_mode=None, context_settings=CONTEXT)
Name = Annotated[str, typer.Argument(metavar="NAME", help="A framework's name.")]
Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of frameworks.")]
Title = Annotated[Optional[str], typer.Option(help="Display name, such as 'PyTorch 2.13'.")]
Image = Annotated[Optional[str], typer.Option(help="Container image; without one, the node's own Python.")]
Setup = Annotated[
    Optional[str], typer.Option(help="Shell script that runs before the job's setup; @FILE reads a file.")
]
Env = Annotated[list[str], typer.Option("--env", metavar="NAME=VALUE", help="Variable; repeatable.")]
Launch = Annotated[list[str], typer.Option("--launch", metavar="MODE", help="Supported launch mode; repeatable.")]
Purpose = Annotated[Optional[str], typer.Option(help="training (for jobs) or inference (for models).")]
Description = Annotated[Optional[str], typer.Option(help="What it contains.")]


@app.callback(invoke_without_command=True)
def _frameworks(context: typer.Context) -> None:
    """Named environments for jobs.

    Without a subcommand: the list. A job uses one as `framework` (`danlu run --framework NAME`) and gets its image, or
    the node's own Python, its setup and its variables. Admins change them.

    \b
    Examples:
      danlu frameworks
      danlu frameworks add torch --image registry.example/torch:2
    """
    if context.invoked_subcommand is None:
        list_()


@app.command("list", context_settings=CONTEXT)
def list_(as_json: AsJson = False) -> None:
    """List frameworks with images and launch modes.

    \b
    Examples:
      danlu frameworks list
      danlu frameworks
      danlu frameworks list --json | jq -r '.[].name'
    """
    from danlu.cli.output import table
    from danlu.client import Client

    with Client() as client:
        found = list(client.frameworks.list())
    if as_json:
        echo_json(found)
        return
    rows = [
        (
            one.name,
            one.image or "the node's own",
            ", ".join(map(str, one.launch)) or "all",
            str(one.purpose),
            "" if one.is_enabled else "disabled",
            " ".join(one.title.split()),
        )
        for one in found
    ]
    echo_block(table(("NAME", "IMAGE", "LAUNCH", "PURPOSE", "STATE", "TITLE"), rows))
    if not found:
        echo_err("no frameworks; an admin can add some: danlu frameworks add --help")


@app.command(context_settings=CONTEXT)
def show(framework: Name, as_json: AsJson = False) -> None:
    """Show a framework: image, setup, variables, launch modes.

    \b
    Examples:
      danlu frameworks show pytorch-2.13
    """
    from danlu.client import Client

    with Client() as client:
        _print(client.frameworks.get(framework), as_json)


@app.command(context_settings=CONTEXT)
def add(
    framework: Name,
    title: Title = None,
    image: Image = None,
    setup: Setup = None,
    env: Env = [],  # noqa: B006  typer's own way
    launch: Launch = [],  # noqa: B006
    purpose: Purpose = None,
    description: Description = None,
    as_json: AsJson = False,
) -> None:
    """Add a framework; for admins.

    \b
    Examples:
      danlu frameworks add pytorch-2.13 --title 'PyTorch 2.13' --image registry.example.com/torch:2.13 --launch ddp
      danlu frameworks add venv --setup '. /opt/venv/bin/activate' --env OMP_NUM_THREADS=4
      danlu frameworks add cann --setup @set_env.sh --launch ascend
    """
    from danlu.client import Client

    with Client() as client:
        made = client.frameworks.add(
            framework,
            title=title,
            image=image,
            setup=_script(setup),
            env=pairs(env, "--env") or None,
            launch=launch,
            purpose=purpose,
            description=description,
        )
    _print(made, as_json)


@app.command(context_settings=CONTEXT)
def change(
    framework: Name,
    title: Title = None,
    image: Image = None,
    setup: Setup = None,
    env: Env = [],  # noqa: B006
    launch: Launch = [],  # noqa: B006
    purpose: Purpose = None,
    description: Description = None,
    as_json: AsJson = False,
) -> None:
    """Change a framework; for admins. Existing jobs do not change.

    Other fields stay unchanged. --image '' means the node's own Python, --setup '' none. --env and --launch replace
    all values.

    \b
    Examples:
      danlu frameworks change pytorch-2.13 --image registry.example.com/torch:2.13.1
    """
    from danlu.client import Client

    with Client() as client:
        changed = client.frameworks.change(
            framework,
            title=title,
            image=image,
            setup=_script(setup),
            env=pairs(env, "--env") or None,
            launch=launch or None,
            purpose=purpose,
            description=description,
        )
    _print(changed, as_json)


@app.command(context_settings=CONTEXT)
def enable(frameworks: Names) -> None:
    """Enable frameworks for new jobs; for admins.

    \b
    Examples:
      danlu frameworks enable pytorch-2.13
    """
    from danlu.client import Client

    with Client() as client:
        for name in frameworks:
            client.frameworks.enable(name)
            echo(f"{name} is enabled")


@app.command(context_settings=CONTEXT)
def disable(frameworks: Names) -> None:
    """Disable frameworks for new jobs; for admins.

    \b
    Examples:
      danlu frameworks disable pytorch-1.9
    """
    from danlu.client import Client

    with Client() as client:
        for name in frameworks:
            client.frameworks.disable(name)
            echo(f"{name} is disabled")


@app.command(context_settings=CONTEXT)
def remove(frameworks: Names) -> None:
    """Delete frameworks; for admins. Existing jobs do not change.

    \b
    Examples:
      danlu frameworks remove pytorch-1.9
    """
    from danlu.client import Client

    with Client() as client:
        for name in frameworks:
            client.frameworks.remove(name)
            echo(f"removed {name}")


def _print(framework: FrameworkOut, as_json: bool) -> None:
    from danlu.cli.output import facts

    if as_json:
        echo_json(framework)
        return
    values = {
        "title": framework.title,
        "state": "" if framework.is_enabled else "disabled",
        "image": framework.image or "none: the node's own Python",
        "launch": ", ".join(map(str, framework.launch)) or "all",
        "purpose": str(framework.purpose),
        "env": " ".join(f"{name}={value}" for name, value in framework.env.items()),
        "about": " ".join(framework.description.split()),
    }
    if framework.setup:
        values["setup"] = framework.setup.strip()
    echo_block(facts(framework.name, values))


def _script(text: Optional[str]) -> Optional[str]:
    """The text, or the content of the file after `@`."""
    if text is None or not text.startswith("@"):
        return text
    return Path(text[1:]).read_text(encoding="utf-8")
