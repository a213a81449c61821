"""Write docs/reference/openapi.json: the description of the API that clients are generated from."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from danlu.auth.secrets import Sealer
from danlu.scheduler.context import Context, utc_now
from danlu.scheduler.loop import Scheduler
from danlu.server.app import create_app
from danlu.server.settings import ServerSettings
from danlu.server.state import ServerState
from danlu.store.logs.index import Logs
from danlu.store.logs.segments import LogFiles
from danlu.store.metrics.journal_files import JournalFiles
from danlu.store.metrics.store import Metrics
from danlu.store.metrics.usage import UsageFiles
from danlu.store.objects.blobs import Blobs
from danlu.store.objects.local import LocalObjects
from danlu.store.objects.uploads import Uploads
from danlu.store.sql.database import Database, sqlite_url

FILE = Path(__file__).parents[1] / "docs" / "reference" / "openapi.json"


def openapi() -> str:
    """The description as text. Nothing is served, nothing is stored."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        database = Database(sqlite_url(home / "unused.db"))
        sealer = Sealer(home / "key")
        logs, usage = Logs(database, LogFiles(home)), UsageFiles(home)
        context = Context(
            database=database, logs=logs, usage=usage, engines={}, sealer=sealer, server_url="", server_id=""
        )
        scheduler = Scheduler(context)
        state = ServerState(
            settings=ServerSettings(data_dir=home),
            database=database,
            objects=LocalObjects(home),
            blobs=Blobs(LocalObjects(home), database),
            uploads=Uploads(home),
            logs=logs,
            usage=usage,
            metrics=Metrics(database, JournalFiles(home), LocalObjects(home)),
            sealer=sealer,
            now=utc_now,
            wake_scheduler=scheduler.wake,
        )
        described = create_app(state, scheduler).openapi()
        database.close()
    return json.dumps(described, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether the file is current")
    text = openapi()
    if parser.parse_args().check:
        sys.exit(0 if FILE.exists() and FILE.read_text() == text else f"{FILE.name} is old: run {sys.argv[0]}")
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(text)
