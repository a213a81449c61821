"""Upload of artifacts by `danlu sync`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from danlu.cli.terminal import echo, progress_bar

if TYPE_CHECKING:
    from danlu.track.sync.address import Address
    from danlu.track.sync.syncing import SyncedArtifact

LATER = "an earlier version of it has to be sent first; run danlu sync again"


def sync_artifacts(address: Address, folders: Sequence[str], *, is_quiet: bool) -> list[SyncedArtifact]:
    """Upload artifacts one by one, with a progress bar. A rejected one does not stop the others.

    Versions are numbered in order: one that the server has no room for keeps back the later ones of its name.
    """
    from danlu.client.files.progress import Meter
    from danlu.content.drafts import read_draft
    from danlu.errors import ServerUnreachable
    from danlu.track.sync.address import connected
    from danlu.track.sync.syncing import ServerAway, SyncedArtifact, sync_artifact

    done: list[SyncedArtifact] = []
    waiting: set[str] = set()
    with connected(address) as api:
        for folder in folders:
            draft = read_draft(folder)
            if draft is None:
                continue
            name = str(draft.header.get("name"))
            if name in waiting:
                done.append(SyncedArtifact(folder, draft.id, name, None, 0, LATER))
                _show(done[-1], is_quiet=is_quiet)
                continue
            try:
                with progress_bar() as listener:
                    total = sum(draft.files.values())
                    meter = Meter(None if is_quiet else listener, total_bytes=total, num_files=len(draft.files))
                    found = sync_artifact(api, folder, moved=meter.moved)
            except ServerAway as error:
                told = f"no server at {address.url} ({error}); {len(done)} of {len(folders)} artifacts are there"
                raise ServerUnreachable(told) from error
            if found is None:
                continue
            done.append(found)
            if found.is_temporary:
                waiting.add(found.name)
            _show(found, is_quiet=is_quiet)
    return done


def _show(found: SyncedArtifact, *, is_quiet: bool) -> None:
    from danlu.spec.units import show_size

    if is_quiet:
        return
    sent = f"{show_size(found.num_bytes)} sent" if found.num_bytes else "already uploaded"
    version = f":{found.version}" if found.version is not None else ""
    echo(f"{found.artifact_id}  {found.name}{version}  {found.problem or sent}")
