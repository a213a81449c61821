"""`danlu artifacts list|show|versions|upload|download|label|delete`"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.options import AsJson, pairs
from danlu.cli.terminal import echo, echo_block, echo_json, one_line, progress_bar

if TYPE_CHECKING:
    from danlu.content.manifest import Manifest
    from danlu.wire.artifacts import ArtifactOut, VersionOut

app = typer.Typer(name="artifacts", rich_markup_mode=None, no_args_is_help=True, context_settings=CONTEXT)
Ref = Annotated[str, typer.Argument(metavar="ARTIFACT", help="NAME, NAME:latest, NAME:3, NAME:ALIAS, or a version id.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the artifact, such as vision/mnist-model.")]
Project = Annotated[Optional[str], typer.Option("--project", "-p", help="Project of the artifact.")]


@app.callback()
def _artifacts() -> None:
    """Store versions of files by name: checkpoints, models, data sets.

    Content that the server already has is not uploaded again.
    """


@app.command(name="list", context_settings=CONTEXT)
def list_(
    prefix: str = typer.Argument("", metavar="[PREFIX]", help="Only names with this prefix, such as vision/."),
    label: Optional[str] = typer.Option(None, "--label", "-l", help="Only artifacts with this label."),
    project: Project = None,
    limit: int = typer.Option(100, "--limit", "-n", min=1, help="Maximum number, newest first."),
    as_json: AsJson = False,
) -> None:
    """List artifacts, newest first.

    \b
    Examples:
      danlu artifacts list
      danlu artifacts list vision/ --label baseline
      danlu artifacts list --json | jq -r '.[].name'
    """
    from itertools import islice

    from danlu.client import Client

    with Client() as client:
        rows = list(islice(client.artifacts.list(prefix, label=label, project=project), limit))
    echo_json(rows) if as_json else echo_block(_artifacts_text(rows))


@app.command(context_settings=CONTEXT)
def versions(name: Name, project: Project = None, as_json: AsJson = False) -> None:
    """List the versions of an artifact, newest first.

    \b
    Examples:
      danlu artifacts versions mnist-model
      danlu artifacts versions mnist-model --json | jq '.[0].size'
    """
    from danlu.client import Client

    with Client() as client:
        rows = list(client.artifacts.versions(name, project=project))
    echo_json(rows) if as_json else echo_block(_versions_text(rows))


@app.command(context_settings=CONTEXT)
def show(ref: Ref, project: Project = None, as_json: AsJson = False) -> None:
    """Show a version: files and origin.

    \b
    Examples:
      danlu artifacts show mnist-model
      danlu artifacts show mnist-model:3 --json | jq .files
    """
    from danlu.client import Client

    with Client() as client:
        version = client.artifacts.get(ref, project=project)
        found = client.artifacts.manifest(version)
    if as_json:
        echo_json({**version.model_dump(mode="json"), **_contents(found)})
        return
    echo_block(_version_text(version, found))


@app.command(context_settings=CONTEXT)
def upload(
    name: Name,
    paths: Optional[list[Path]] = typer.Argument(None, metavar="[PATH]...", help="Files and folders."),
    reference: list[str] = typer.Option(
        [], "--reference", "-r", metavar="PATH=URI", help="Reference to external data; repeatable."
    ),
    ignore: list[str] = typer.Option(
        [], "--ignore", metavar="PATTERN", help="Leave out names or paths such as *.tmp; repeatable."
    ),
    label: list[str] = typer.Option([], "--label", "-l", help="Repeatable."),
    alias: list[str] = typer.Option([], "--alias", "-a", help="Such as best; repeatable."),
    description: str = typer.Option("", "--description", "-d"),
    project: Project = None,
    as_json: AsJson = False,
) -> None:
    """Upload files as the next version of an artifact.

    Large files are split by content, and only chunks that the server lacks are sent. A version appears when it is
    complete; run the command again to resume. Links in folders are followed; a broken link, a fifo, a socket or a name
    with a backslash is an error.

    \b
    Examples:
      danlu artifacts upload mnist-model model.pt config.json
      danlu artifacts upload vision/photos images/ --label cleaned
      danlu artifacts upload mnist-model model.pt -r data=s3://bucket/mnist/ --alias best
    """
    from danlu.client import Client
    from danlu.client.tracking.artifacts import Draft, plan
    from danlu.spec.units import show_size

    draft = Draft(name, _references(reference), label, description, alias, project)
    contents = plan(paths or [], ignore=ignore)
    if not any(contents) and not draft.references:
        raise typer.BadParameter("expected files, folders or a --reference, got none")
    with Client() as client, progress_bar() as progress:
        done = client.artifacts.send(draft, contents, progress=None if as_json else progress)
    if as_json:
        echo_json({**done.version.model_dump(mode="json"), "sent_bytes": done.sent_bytes})
        return
    echo(
        f"{done.version.name}:{done.version.version}  {done.version.num_files} files, {show_size(done.size)}, "
        f"of which {show_size(done.sent_bytes)} were sent  {done.version.id}"
    )


@app.command(context_settings=CONTEXT)
def download(
    ref: Ref,
    to: Path = typer.Argument(Path("."), metavar="[FOLDER]", help="Target folder; default: the current one."),
    only: list[str] = typer.Option([], "--only", "-o", metavar="PATH", help="Only this file or folder; repeatable."),
    project: Project = None,
    as_json: AsJson = False,
) -> None:
    """Download the files of a version.

    Every file is checked; existing files are not downloaded again. References are only listed.

    \b
    Examples:
      danlu artifacts download mnist-model
      danlu artifacts download mnist-model:3 models/ --only model.pt
    """
    from danlu.client import Client
    from danlu.spec.units import show_size

    with Client() as client, progress_bar() as progress:
        version = client.artifacts.get(ref, project=project)
        paths = client.artifacts.download(version, to, only=only, progress=None if as_json else progress)
    if as_json:
        echo_json([str(path) for path in paths])
        return
    echo(f"{version.name}:{version.version}  {len(paths)} files, {show_size(version.size)} in {to}")


@app.command(context_settings=CONTEXT)
def label(
    ref: Ref,
    add: list[str] = typer.Option([], "--add", "-l", metavar="LABEL", help="Repeatable."),
    remove: list[str] = typer.Option([], "--remove", metavar="LABEL", help="Repeatable."),
    alias: list[str] = typer.Option(
        [], "--alias", "-a", help="Alias such as best; it moves from the version that has it."
    ),
    description: Optional[str] = typer.Option(None, "--description", "-d"),
    project: Project = None,
    as_json: AsJson = False,
) -> None:
    """Set labels, description or alias of a version.

    \b
    Examples:
      danlu artifacts label mnist-model:3 --add released --alias best
      danlu artifacts label mnist-model --remove draft -d "trained on the cleaned data"
    """
    from danlu.client import Client

    with Client() as client:
        version = client.artifacts.get(ref, project=project)
        labels = [one for one in (*version.labels, *add) if one not in remove]
        changed = client.artifacts.change(
            version.id,
            labels=list(dict.fromkeys(labels)),
            aliases=sorted({*version.aliases, *alias}),
            description=description,
        )
    echo_json(changed) if as_json else echo_block(_versions_text([changed]))


@app.command(context_settings=CONTEXT)
def delete(
    ref: Ref,
    all_: bool = typer.Option(False, "--all", help="Delete all versions of the name."),
    project: Project = None,
    as_json: AsJson = False,
) -> None:
    """Delete a version, or with --all an artifact.

    It stays in the data flow. Unused bytes are removed later.

    \b
    Examples:
      danlu artifacts delete mnist-model:1
      danlu artifacts delete mnist-model --all
    """
    from danlu.client import Client
    from danlu.content.names import is_artifact_id

    if not all_ and ":" not in ref and not is_artifact_id(ref):
        raise typer.BadParameter(f"expected a version such as {ref}:latest, or --all")
    with Client() as client:
        if all_:
            num_versions = client.artifacts.delete_all(ref, project=project)
        else:
            client.artifacts.delete(ref, project=project)
            num_versions = 1
    if as_json:
        echo_json({"num_versions": num_versions})
        return
    echo(f"deleted {num_versions} version{'' if num_versions == 1 else 's'} of {ref.partition(':')[0]}")


def _references(texts: Sequence[str]) -> dict[str, str]:
    shape = "PATH=URI, such as data=s3://bucket/mnist/"
    found = pairs(texts, "--reference", shape=shape)
    for path, uri in found.items():
        if ":" not in uri:
            raise typer.BadParameter(f"expected {shape}, got {f'{path}={uri}'!r}", param_hint="--reference")
    return found


def _contents(found: Manifest) -> dict[str, Any]:
    files = [{"path": one.path, "size": one.size, "sha256": one.sha256} for one in found.files]
    references = [one._asdict() for one in found.references]
    return {"files": files, "references": references, "empty_folders": list(found.folders)}


def _artifacts_text(rows: Sequence[ArtifactOut]) -> str:
    from danlu.cli.output import age, table
    from danlu.spec.units import show_size

    def row(one: ArtifactOut) -> list[str]:
        last = one.latest
        known = ["-", "-", "-", "-"]
        if last is not None:
            known = [str(last.version), show_size(last.size), str(last.num_files), age(last.created_at)]
        return [one.name, one.project, *known, ",".join(one.labels)]

    return table(["NAME", "PROJECT", "LATEST", "SIZE", "FILES", "AGE", "LABELS"], [row(one) for one in rows])


def _versions_text(rows: Sequence[VersionOut]) -> str:
    from danlu.cli.output import age, table
    from danlu.spec.units import show_size

    return table(
        ["VERSION", "ALIASES", "SIZE", "FILES", "OWNER", "AGE", "RUN", "LABELS"],
        [
            [
                f"{one.name}:{one.version}",
                ",".join(one.aliases) or "-",
                show_size(one.size),
                str(one.num_files),
                one.owner,
                age(one.created_at),
                one.run or "-",
                ",".join(one.labels),
            ]
            for one in rows
        ],
    )


def _version_text(version: VersionOut, found: Manifest) -> str:
    from danlu.cli.output import facts
    from danlu.spec.units import show_size

    about = {
        "id": version.id,
        "project": version.project,
        "owner": version.owner,
        "made": f"{version.made_at:%Y-%m-%d %H:%M:%S} UTC",
        "aliases": ", ".join(version.aliases),
        "labels": ", ".join(version.labels),
        "run": version.run or "",
        "job": version.job or "",
        "manifest": version.manifest,
        "description": version.description,
    }
    lines = [facts(f"{version.name}:{version.version}", about, width=12)]
    lines.append(f"{len(found.files)} files, {show_size(version.size)}")
    lines += [f"  {show_size(one.size):>10}  {one_line(one.path)}" for one in found.files]
    lines += [f"              {one_line(path)}/" for path in found.folders]
    if found.references:
        lines.append(f"{len(found.references)} references")
        lines += [one_line(f"  {one.path} -> {one.uri}") for one in found.references]
    return "\n".join(lines)
