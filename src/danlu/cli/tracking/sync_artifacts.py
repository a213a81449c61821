"""Upload of artifacts by `danlu sync`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from danlu.cli.terminal import echo, progress_bar

if TYPE_CHECKING:
    from danlu.track.sync.address import Address
    from danlu.track.sync.syncing import SyncedArtifact


def sync_artifacts(address: Address, folders: Sequence[str], *, is_quiet: bool) -> list[SyncedArtifact]:
    """Upload artifacts one by one, with a progress bar. A rejected one does not stop the others."""
    from danlu.client.files.progress import Meter
    from danlu.content.drafts import read_draft
    from danlu.errors import ServerUnreachable
    from danlu.spec.units import show_size
    from danlu.track.sync.address import connected
    from danlu.track.sync.syncing import ServerAway, sync_artifact

    done: list[SyncedArtifact] = []
    with connected(address) as api:
        for folder in folders:
            draft = read_draft(folder)
            if draft is None:
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
            if not is_quiet:
                sent = f"{show_size(found.num_bytes)} sent" if found.num_bytes else "already uploaded"
                version = f":{found.version}" if found.version is not None else ""
                echo(f"{found.artifact_id}  {found.name}{version}  {found.problem or sent}")
    return done
