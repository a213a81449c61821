"""Convert an artifact of the old layout to a version on a Danlu server, and back.

A node of the original is `/<user>/<folder>/<name>`; here it is the artifact `<folder>/<name>`. Uploading the same node
with changed files creates its next version.
"""

from __future__ import annotations

import hashlib
import re
import urllib.parse
from pathlib import Path
from typing import Any, Optional

from danlu.content.ids import artifact_id_of
from danlu.content.manifest import Reference
from danlu.transfer.artifact_download import fetch_files, fetch_manifest, make_folders
from danlu.transfer.artifact_upload import ArtifactUpload, Source, send_artifact
from danlu.transfer.errors import Changed, Damaged, LocalProblem, Refused, ServerAway
from t9k.em import files, remote
from t9k.em.artifact import empty_folders_in, incomplete_in, objects_in, references_in
from t9k.em.errors import NoFolder, NotAnArtifact, cannot_connect
from t9k.em.remote import Session

STRATEGIES = ("skip", "error", "new", "replace")


def check_strategy(conflict_strategy: str) -> None:
    if conflict_strategy not in STRATEGIES:
        raise ValueError(f"conflict_strategy is {conflict_strategy!r}; known: {', '.join(STRATEGIES)}")


def upload_artifact(
    artifact: Path, folder: Optional[str], make_folder: bool, conflict_strategy: str
) -> Optional[dict[str, Any]]:
    """Upload one artifact and record that in its metadata. Returns the entry; None if it was skipped."""
    check_strategy(conflict_strategy)
    session = remote.session()
    lost = incomplete_in(artifact)
    if lost is not None:
        raise RuntimeError(f"Artifact is incomplete, add_dir({lost!r}) did not end: '{artifact}'; add it again")
    where = folder_in(folder)
    metadata = files.read(files.own_file(artifact, files.METADATA))
    if not isinstance(metadata, dict) or not metadata.get("name") or not metadata.get("alternativeName"):
        raise files.Unreadable(f"{artifact / files.METADATA} has no name; it cannot be imported")
    known = _earlier(metadata, session, where)
    name = known or f"{_clean(where)}/{metadata['name']}"
    begin = {
        "artifact": _id(artifact, metadata),
        "name": name,
        "conflict": "version" if known else conflict_strategy,
        "other_name": f"{_clean(where)}/{metadata['alternativeName']}",
        "folder": where,
        "make_folder": make_folder or where == "default",
    }
    made, labels = files.moment(metadata.get("createdTimestamp")), metadata.get("labels")
    about = {
        "labels": [str(label) for label in labels] if isinstance(labels, list) else [],
        "description": str(metadata.get("description") or ""),
        "created_at": made.timestamp() if made is not None else None,
    }
    sources = [Source(path, str(files.own_file(artifact, path))) for path in objects_in(artifact)]
    references = [Reference(path, uri) for path, uri in references_in(artifact).items()]
    try:
        folders = empty_folders_in(artifact)
        sent = send_artifact(session.api, ArtifactUpload(begin, about, sources, references, folders))
    except Refused as refused:
        if "folder" in refused.message and refused.status == 422:
            raise NoFolder(f"Folder does not exist: '{folder}'") from refused
        raise RuntimeError(refused.message) from refused
    except (Changed, Damaged, LocalProblem) as error:
        raise RuntimeError(str(error)) from error
    except ServerAway as error:
        raise cannot_connect(f"{session.host} does not answer: {error}") from error
    if sent.version is None or sent.is_skipped:
        return None
    noted = _note("upload", session, sent.version)
    files.write(artifact / files.METADATA, {**metadata, "remote": [*files.notes(metadata), noted]})
    return noted


def connect_artifacts(run: Path, run_id: str, folder: str) -> None:
    """Upload the artifacts that a run names, unless the server has them, and create the links to the run."""
    session = remote.session()
    associations = (files.read(run / files.METADATA) or {}).get("associations")
    for kind in ("input", "output"):
        named = associations.get(kind) if isinstance(associations, dict) else None
        for one in files.mappings_in(named):
            place = _find(run, one) if one.get("kind") == "Artifact" else None
            if place is None:
                continue  # an asset, or missing on this machine
            noted = on_server(files.read(place / files.METADATA), session.host)
            noted = noted or upload_artifact(place, folder, True, "new")
            if noted is None:
                continue
            try:
                session.api.post(f"/artifacts/versions/{noted['id']}/links", {"run": run_id, "kind": kind})
            except Refused as refused:
                if refused.status != 404:  # 404: the version was deleted on the server
                    raise RuntimeError(refused.message) from refused


def on_server(metadata: dict[str, Any], host: str) -> Optional[dict[str, Any]]:
    """Return the latest entry about this server."""
    return next((one for one in reversed(files.notes(metadata)) if one.get("host") == host), None)


def download_artifact(path: str) -> Path:
    """Fetch an artifact into the folder for artifacts; return its path."""
    missing = f"Not a local directory or a remote path: '{path}'"
    try:
        session = remote.session()
    except RuntimeError:
        raise NotAnArtifact(f"Not a local directory: '{path}'") from None
    full = path if path.startswith("/") else f"/{session.user}/{path}"
    name = full.strip("/").partition("/")[2]
    if "/" not in name:
        name = f"default/{name}"
    try:
        version = session.api.get(f"/artifacts/named?{urllib.parse.urlencode({'ref': name})}")
        manifest = fetch_manifest(session.api, version["id"], version["manifest"])
        own = _own_name(version)
        place = files.artifacts_folder() / own
        fetch_files(session.api, version["id"], manifest.files, str(place))
        make_folders(manifest, str(place))
    except Refused as refused:
        raise NotAnArtifact(missing if refused.status in (404, 422) else refused.message) from refused
    except (Changed, Damaged, LocalProblem) as error:
        raise RuntimeError(str(error)) from error
    except ServerAway as error:
        raise cannot_connect(f"{session.host} does not answer: {error}") from error
    metadata = {
        "kind": "Artifact",
        "name": _node_name(version),
        "labels": version["labels"],
        "description": version["description"],
        "createdTimestamp": version["made_at"],
        "alternativeName": own,
        "remote": [_note("download", session, version)],
    }
    files.write(place / files.METADATA, metadata)
    if manifest.references:
        files.write(place / "references.yaml", {one.path: one.uri for one in manifest.references})
    return place


def folder_in(folder: Optional[str]) -> str:
    """`/me/a/b` and `a/b` are the folder a/b of the project; the default is `default`."""
    text = folder or "default"
    if text.startswith("/"):
        text = text.strip("/").partition("/")[2]
    return text.strip("/") or "default"


def _find(run: Path, association: dict[str, Any]) -> Optional[Path]:
    """Return the path of a run's artifact: the recorded one, or beside the runs if the tree was moved."""
    own = str(association.get("name"))
    places = (
        Path(str(association.get("localDir") or own)),
        run.absolute().parent.parent / "artifacts" / own,
        files.artifacts_folder() / own,
    )
    return next((place for place in places if files.is_kept(place, "Artifact")), None)


def _earlier(metadata: dict[str, Any], session: Session, where: str) -> Optional[str]:
    """Return the name of this node in this folder on the server, if it was uploaded before."""
    for one in reversed(files.notes(metadata)):
        name = str(one.get("path") or "").strip("/").partition("/")[2]
        if one.get("host") == session.host and name.rpartition("/")[0] == _clean(where):
            return name
    return None


def _id(artifact: Path, metadata: dict[str, Any]) -> str:
    """Return an id that is the same for every copy of the folder with the same files."""
    contents = []
    for path, local in objects_in(artifact).items():
        digest = hashlib.sha256()
        with local.open("rb") as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
        contents.append([path, digest.hexdigest()])
    contents += [[f"{path}/", ""] for path in empty_folders_in(artifact)]
    made = str(metadata.get("createdTimestamp"))
    return artifact_id_of(metadata["alternativeName"], made, contents, sorted(references_in(artifact).items()))


def _clean(where: str) -> str:
    """Convert a folder to a valid prefix of a name."""
    return "/".join(re.sub(r"[^\w.-]+", "-", part).strip("-_.") or "x" for part in where.split("/"))


def _note(action: str, session: Session, version: dict[str, Any]) -> dict[str, Any]:
    path = f"/{session.user}/{version['name']}"
    return {"action": action, "timestamp": files.now(), "host": session.host, "id": version["id"], "path": path}


def _node_name(version: dict[str, Any]) -> str:
    return str(version["name"]).rpartition("/")[2]


def _own_name(version: dict[str, Any]) -> str:
    """Return a folder name in the original's format, the same on every download of this version."""
    made = files.moment(version["made_at"])
    tail = hashlib.sha256(str(version["id"]).encode()).hexdigest()[:6]
    base = files.FOLDER.sub("", _node_name(version))
    return f"{base}_{made:%y%m%d_%H%M%S}_{tail}" if made is not None else f"{base}_700101_000000_{tail}"
