"""`danlu models list|register|show|versions|compare|alias|tag|download|delete`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.options import AsJson, pairs
from danlu.cli.terminal import echo, echo_block, echo_json, fail
from danlu.cli.tracking.model_text import comparison_text, metrics_text, model_text, version_text

if TYPE_CHECKING:
    from danlu.wire.models import ModelVersionOut

app = typer.Typer(name="models", rich_markup_mode=None, no_args_is_help=True, context_settings=CONTEXT)
Model = Annotated[str, typer.Argument(metavar="MODEL", help="Model name; project/name if it is ambiguous.")]
Version = Annotated[
    str, typer.Argument(metavar="MODEL:VERSION", help="A number, an alias or latest: mnist:3, mnist:champion, mnist.")
]
SHOWN_METRICS = 4
_COPY = typer.Option(None, "--copy/--no-copy", help="Whether to copy the files; default: yes, except for artifacts.")


@app.callback()
def _models() -> None:
    """Register, compare, alias, download and delete models.

    A model is a name in a project; the server numbers its versions: mnist:1, mnist:2, ... An alias such as
    champion points to one version.
    """


@app.command("list", context_settings=CONTEXT)
def list_(
    name: str = typer.Argument("", help="Text in the name."),
    project: Optional[str] = typer.Option(None, help="Only of this project."),
    tag: Optional[list[str]] = typer.Option(None, metavar="KEY=VALUE", help="Only with this tag."),
    as_json: AsJson = False,
) -> None:
    """List models, newest first.

    \b
    Examples:
      danlu models list
      danlu models list mnist --tag team=vision
    """
    from danlu.cli.output import age, table
    from danlu.client import Client

    with Client() as client:
        found = list(client.models.list(name, project=project, tags=pairs(tag, "--tag")))
    if as_json:
        echo_json(found)
        return
    rows = [
        (
            one.name,
            one.project,
            str(one.num_versions),
            ", ".join(f"{alias}={version}" for alias, version in one.aliases.items()) or "-",
            one.latest.format or "-" if one.latest else "-",
            age(one.latest.created_at if one.latest else one.created_at),
            " ".join(one.description.split()) or "-",
        )
        for one in found
    ]
    echo_block(table(("NAME", "PROJECT", "VERSIONS", "ALIASES", "FORMAT", "AGE", "DESCRIPTION"), rows))


@app.command(context_settings=CONTEXT)
def register(
    name: Model,
    job: Optional[str] = typer.Option(None, help="From the output of this job."),
    artifact: Optional[str] = typer.Option(None, help="From this artifact: an id, or name:3."),
    path: Optional[str] = typer.Option(None, help="From this path: store://bucket/folder/, or an object."),
    folder: Optional[str] = typer.Option(None, help="Part of the job's output; default: model/ if it exists."),
    run: Optional[str] = typer.Option(None, help="Use metrics and hyperparameters of this run."),
    copy: Optional[bool] = _COPY,
    to: Optional[str] = typer.Option(None, help="Folder in the store for the copy."),
    format: str = typer.Option("", "--format", "-f", help="Such as pytorch, onnx, safetensors, saved_model."),
    framework: str = typer.Option("", help="Such as 'torch 2.13'."),
    image: Optional[str] = typer.Option(None, help="Container image to run it in."),
    command: Optional[str] = typer.Option(None, help="Command that serves it."),
    env: Optional[list[str]] = typer.Option(None, "--env", "-e", metavar="NAME=VALUE", help="Variable it needs."),
    metric: Optional[list[str]] = typer.Option(None, "--metric", "-m", metavar="NAME=VALUE", help="A metric of it."),
    alias: Optional[list[str]] = typer.Option(None, "--alias", "-a", help="Alias, such as champion."),
    tag: Optional[list[str]] = typer.Option(None, "--tag", "-t", metavar="KEY=VALUE", help="A tag."),
    description: str = typer.Option("", "--description", "-d", help="Description."),
    project: Optional[str] = typer.Option(None, help="Project of the model; default: your default project."),
    as_json: AsJson = False,
) -> None:
    """Register a new version of a model. A new name creates a model.

    \b
    Examples:
      danlu models register mnist --job train-074123456789012345 --format pytorch --alias champion
      danlu models register mnist --artifact mnist-weights:7 --tag stage=trial
      danlu models register mnist --path store://main/upload/mnist/ --no-copy --metric val/acc=0.97
    """
    from danlu.client import Client
    from danlu.spec.models import parse_named

    try:
        named = parse_named(name)
    except ValueError as error:
        fail(str(error), code=2)
    if ":" in name:
        fail(f"{name!r}: the server assigns the number; leave it out", code=2)
    with Client() as client:
        made = client.models.register(
            named.name,
            job=job,
            artifact=artifact,
            path=path,
            folder=folder,
            run=run,
            copy=copy,
            to=to,
            format=format,
            framework=framework,
            image=image,
            command=command,
            env=pairs(env, "--env"),
            metrics=_numbers(metric),
            aliases=alias or (),
            tags=pairs(tag, "--tag"),
            description=description,
            project=project or named.project,
        )
    _print_version(made, as_json)


@app.command(context_settings=CONTEXT)
def show(model: Version, as_json: AsJson = False) -> None:
    """Show a version: source, files, metrics, hyperparameters, environment.

    \b
    Examples:
      danlu models show mnist              # the newest version
      danlu models show mnist:champion
      danlu models show mnist:3 --json | jq .metrics
    """
    from danlu.client import Client

    with Client() as client:
        _print_version(client.models.version(model), as_json)


@app.command(context_settings=CONTEXT)
def versions(model: Model, as_json: AsJson = False) -> None:
    """List the versions of a model, newest first.

    \b
    Examples:
      danlu models versions mnist
    """
    from danlu.cli.output import age, table
    from danlu.client import Client
    from danlu.spec.units import show_size

    with Client() as client:
        found = list(client.models.versions(model))
    if as_json:
        echo_json(found)
        return
    rows = [
        (
            f"{one.model}:{one.version}",
            ", ".join(one.aliases) or "-",
            one.format or "-",
            show_size(one.size),
            one.source_name or one.source,
            metrics_text(one, SHOWN_METRICS),
            one.owner,
            age(one.created_at),
        )
        for one in found
    ]
    echo_block(table(("VERSION", "ALIASES", "FORMAT", "SIZE", "SOURCE", "METRICS", "OWNER", "AGE"), rows))


@app.command(context_settings=CONTEXT)
def compare(
    model: Model,
    which: Optional[list[str]] = typer.Argument(
        None, metavar="[VERSION]...", help="Numbers, aliases or latest; default: the newest five."
    ),
    all_: bool = typer.Option(False, "--all", help="Include equal values."),
    as_json: AsJson = False,
) -> None:
    """Compare versions: metrics, hyperparameters, facts. Equal values are omitted.

    \b
    Examples:
      danlu models compare mnist
      danlu models compare mnist 3 champion --all
    """
    from danlu.client import Client

    with Client() as client:
        found = client.models.compare(model, which or ())
    if as_json:
        echo_json(found)
        return
    echo_block(comparison_text(found, is_all=all_))


@app.command(context_settings=CONTEXT)
def alias(
    model: Version,
    name: str = typer.Argument(..., metavar="ALIAS", help="Such as champion."),
    remove: bool = typer.Option(False, "--remove", help="Remove the alias."),
    as_json: AsJson = False,
) -> None:
    """Set an alias of a version; it moves from the version that has it.

    \b
    Examples:
      danlu models alias mnist:3 champion
      danlu models alias mnist champion --remove
    """
    from danlu.client import Client

    with Client() as client:
        if remove:
            client.models.remove_alias(model, name)
            echo(f"{model} no longer has the alias {name}")
            return
        _print_version(client.models.alias(model, name), as_json)


@app.command(context_settings=CONTEXT)
def tag(
    model: Version,
    tags: Optional[list[str]] = typer.Argument(None, metavar="KEY=VALUE...", help="KEY= removes a tag."),
    description: Optional[str] = typer.Option(None, "--description", "-d", help="Description."),
    as_json: AsJson = False,
) -> None:
    """Tag or describe a model, or one version of it.

    \b
    Examples:
      danlu models tag mnist team=vision                the model
      danlu models tag mnist:3 stage=trial checked=     one version; removes the tag checked
      danlu models tag mnist -d 'Digits, 28 x 28'
    """
    from danlu.client import Client

    changes = pairs(tags, "KEY=VALUE")
    with Client() as client:
        if ":" in model:
            before = client.models.version(model).tags
            version = client.models.change_version(model, tags=_merged(before, changes), description=description)
            _print_version(version, as_json)
            return
        found = client.models.change(
            model, tags=_merged(client.models.get(model).tags, changes), description=description
        )
    echo_json(found) if as_json else echo_block(model_text(found))


@app.command(context_settings=CONTEXT)
def download(
    model: Version,
    to: str = typer.Argument(".", metavar="[FOLDER]", help="Target folder."),
    as_json: AsJson = False,
) -> None:
    """Download the files of a version, checked by SHA-256.

    \b
    Examples:
      danlu models download mnist:champion ./mnist
    """
    from danlu.client import Client

    with Client() as client:
        files = client.models.download(model, to)
    if as_json:
        echo_json([str(file) for file in files])
        return
    echo(f"{len(files)} file{'' if len(files) == 1 else 's'} in {to}")


@app.command(context_settings=CONTEXT)
def delete(
    model: str = typer.Argument(..., metavar="MODEL[:VERSION]", help="A version, or a model with all versions."),
    files: bool = typer.Option(False, "--files", help="Also delete files that are the versions' own copies."),
    yes: bool = typer.Option(False, "--yes", "-y", help="Do not ask for confirmation."),
    as_json: AsJson = False,
) -> None:
    """Delete a version or a whole model. Files stay without --files; the data flow stays.

    \b
    Examples:
      danlu models delete mnist:2
      danlu models delete mnist --files --yes
    """
    from danlu.client import Client

    with Client() as client:
        if ":" in model:
            gone = client.models.delete_version(model, files=files)
        else:
            found = client.models.get(model)
            if not yes:
                typer.confirm(f"delete {found.name} with {found.num_versions} versions?", abort=True)
            gone = client.models.delete(model, files=files)
    if as_json:
        echo_json(gone)
        return
    kept = "its files stay" if not files else f"{gone.num_files} files were deleted"
    echo(f"deleted {model} ({gone.num_versions} version{'' if gone.num_versions == 1 else 's'}; {kept})")


def _print_version(version: ModelVersionOut, as_json: bool) -> None:
    echo_json(version) if as_json else echo_block(version_text(version))


def _merged(before: dict[str, str], changes: dict[str, str]) -> Optional[dict[str, str]]:
    if not changes:
        return None
    return {key: value for key, value in {**before, **changes}.items() if value}


def _numbers(texts: Optional[list[str]]) -> dict[str, float]:
    numbers = {}
    for name, value in pairs(texts, "--metric").items():
        try:
            numbers[name] = float(value)
        except ValueError:
            fail(f"--metric {name}: expected a number, got {value!r}", code=2)
    return numbers
