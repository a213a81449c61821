"""Artifacts on this machine, as training leaves them."""

from __future__ import annotations

from pathlib import Path

from danlu.content.drafts import FILES, add_line, begin_record


def write_artifact(parent: Path, artifact: str, *, at: float, name: str = "model", run: str = "") -> str:
    """Make a finished artifact with one file, begun at a time, and return its folder."""
    folder = parent / artifact
    begin_record(str(folder), {"artifact": artifact, "name": name, "created_at": at})
    (folder / FILES).mkdir()
    (folder / FILES / "model.pt").write_bytes(artifact.encode())
    add_line(str(folder), {"file": "model.pt", "size": len(artifact)})
    if run:
        add_line(str(folder), {"link": {"run": run, "kind": "output"}})
    add_line(str(folder), {"sealed": True})
    return str(folder)
