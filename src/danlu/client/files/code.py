"""Upload a local code folder as a tree. Trees are content-addressed, so the same bytes are never sent twice."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

from danlu.client.files.git import fetched_repository, git_state
from danlu.client.files.ignore import IGNORE_FILE, find_files
from danlu.client.http import Http
from danlu.errors import Conflict, InvalidInput, InvalidSpec
from danlu.spec.job import JobSpec, parse_job
from danlu.spec.paths import SCHEME
from danlu.spec.units import show_size
from danlu.transfer.errors import Changed, Damaged, LocalProblem
from danlu.transfer.local_files import open_file, sha256_of_file
from danlu.transfer.trees import send_tree
from danlu.wire.store import Tree, TreeFile, is_executable

MAX_CODE_BYTES = 512 << 20
"""A larger folder is more likely a mistake than code."""


class LocalTree(NamedTuple):
    tree: Tree
    files: dict[str, Path]
    """Digest -> a file with these bytes."""


def prepare(
    spec: Union[JobSpec, Mapping[str, Any], None], fields: Mapping[str, Any], *, folder: Optional[Path] = None
) -> dict[str, Any]:
    """Merge the values of a job, and validate them; code paths become absolute. Raises InvalidSpec."""
    given = spec.model_dump(mode="json", exclude_unset=True) if isinstance(spec, JobSpec) else dict(spec or {})
    values = {**given, **fields}
    code = values.get("code")
    if isinstance(code, (str, os.PathLike)):
        text = os.fspath(code)
        values["code"] = {"store": text} if str(text).startswith(SCHEME) else {"path": text}
    job = parse_job(values)  # the server validates too, but here nothing has been uploaded yet
    checked = job.model_dump(mode="json", exclude_unset=True)
    if job.code is not None and job.code.path is not None:
        checked["code"]["path"] = str(((folder or Path.cwd()) / Path(job.code.path).expanduser()).resolve())
    return checked


def with_code(http: Http, values: dict[str, Any], *, is_uploaded: bool = True) -> dict[str, Any]:
    """Replace a local folder or a repository by the digest of its tree, and upload the tree if `is_uploaded`."""
    code = values.get("code") or {}
    if code.get("git") is not None and code.get("tree") is None:
        with fetched_repository(code["git"], code.get("ref")) as (repository, noted):
            return {
                **values,
                "code": {"tree": _tree_of(http, repository, values, is_uploaded=is_uploaded), "git": noted},
            }
    if code.get("path") is None:
        return values
    folder = Path(code["path"])
    return {**values, "code": {"tree": _tree_of(http, folder, values, is_uploaded=is_uploaded), **git_state(folder)}}


def _tree_of(http: Http, folder: Path, values: Mapping[str, Any], *, is_uploaded: bool) -> str:
    _check_requirements(folder, values.get("requirements"))
    return upload_tree(http, folder, project=values.get("project")) if is_uploaded else build_tree(folder).tree.digest


def _check_requirements(folder: Path, requirements: object) -> None:
    """Fail before the upload when the requirements file is missing."""
    if isinstance(requirements, str) and folder.is_dir() and not (folder / requirements).is_file():
        problem = f"{requirements!r} is not in the code folder {str(folder)!r}"
        raise InvalidSpec(f"invalid job: requirements: {problem}", fields={"requirements": problem})


def build_tree(folder: Path, *, max_bytes: int = MAX_CODE_BYTES) -> LocalTree:
    """Hash the files of a folder. Raises InvalidInput when it is not a folder or too large."""
    if not folder.is_dir():
        what = "is a file; name the folder it is in" if folder.is_file() else "does not exist"
        raise InvalidInput(f"code: the folder {str(folder)!r} {what}", fields={"code.path": str(folder)})
    rows: list[TreeFile] = []
    files: dict[str, Path] = {}
    sizes: list[tuple[int, str]] = []
    total_bytes = 0
    for found in find_files(folder):
        status = found.local.stat()
        sizes.append((status.st_size, found.path))
        total_bytes += status.st_size
        if total_bytes > max_bytes:
            raise InvalidInput(_too_large(folder, sizes, max_bytes), fields={"code.path": str(folder)})
        digest, size = _sha256_of(found.local)
        rows.append(_tree_file(found.path, digest, size, status.st_mode))
        files[digest] = found.local
    return LocalTree(Tree(files=rows), files)


def upload_tree(http: Http, folder: Path, *, project: Optional[str] = None) -> str:
    """Upload a folder to a project, by default yours, and return its digest. Files that the project has are not
    sent."""
    for is_last in (False, True):
        local = build_tree(folder)
        files = {digest: str(path) for digest, path in local.files.items()}
        try:
            with http.plain_errors():
                digest = _send(http, local.tree, files, project=project, is_last=is_last)
        except LocalProblem as problem:
            raise InvalidInput(f"{problem.path} cannot be read: {problem.why}") from problem
        if digest is not None:
            return digest
    raise Conflict("files of the code folder are still missing on the server after they were sent; try again")


def _send(http: Http, tree: Tree, files: Mapping[str, str], *, project: Optional[str], is_last: bool) -> Optional[str]:
    """Return the digest; None when a file changed after it was hashed, and the folder must be read again."""
    try:
        return send_tree(http.api, tree.model_dump(mode="json"), files, project=project)
    except Changed:
        if is_last:
            raise
        return None
    except Damaged as error:
        raise Conflict(str(error)) from error


def _sha256_of(path: Path) -> tuple[str, int]:
    try:
        with open_file(str(path)) as descriptor:
            return sha256_of_file(str(path), descriptor)
    except LocalProblem as problem:
        raise InvalidInput(f"{path} cannot be read: {problem.why}") from problem


def _tree_file(path: str, digest: str, size: int, mode: int) -> TreeFile:
    try:
        return TreeFile(path=path, sha256=digest, size=size, is_executable=is_executable(mode))
    except ValueError as error:
        raise InvalidInput(
            f"code: the file {path!r} has a name that cannot be uploaded; rename it or list it in {IGNORE_FILE}",
            fields={"code.path": path},
        ) from error


def _too_large(folder: Path, sizes: list[tuple[int, str]], max_bytes: int) -> str:
    largest = ", ".join(f"{path} ({show_size(size)})" for size, path in sorted(sizes, reverse=True)[:3])
    return (
        f"code: {str(folder)!r} holds more than {show_size(max_bytes)}; largest so far: {largest}. "
        f"List what is not code in {IGNORE_FILE}, and bring data to the store with `danlu store cp`"
    )
