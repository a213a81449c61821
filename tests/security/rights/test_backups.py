"""A backup is read by nobody else, holds no credentials, and brings back exactly the rights there were."""

from __future__ import annotations

import os
import stat
import zipfile
from pathlib import Path

from tests.support.attack import SECRET, Sides, put_blob, put_object, put_tree, tree_of

from danlu.store.objects.local import LocalObjects
from danlu.store.queries import buckets
from danlu.store.sql.database import Database, sqlite_url
from danlu.store.upkeep.backup import Stores, restore_backup, write_backup


def stores_of(sides: Sides) -> Stores:
    return Stores(sides.world.state.objects, LocalObjects(sides.world.settings.server_dir))


def test_a_backup_is_readable_by_its_owner_only(sides: Sides, tmp_path: Path) -> None:
    target = tmp_path / "backup.zip"
    write_backup(sides.world.database, stores_of(sides), target, now=sides.world.clock())
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_file_or_link_that_waits_in_a_shared_folder_gets_nothing(sides: Sides, tmp_path: Path) -> None:
    """Somebody else on the machine guesses where a backup in /tmp is written to."""
    shared, theirs = tmp_path / "shared", tmp_path / "theirs"
    shared.mkdir()
    theirs.write_text("")
    for name in (f".partial.{os.getpid()}.backup.zip", ".partial.backup.zip"):
        (shared / name).symlink_to(theirs)
    (shared / "backup.zip").symlink_to(theirs)
    write_backup(sides.world.database, stores_of(sides), shared / "backup.zip", now=sides.world.clock())
    assert theirs.read_text() == ""
    assert not (shared / "backup.zip").is_symlink()


def test_there_are_no_credentials_and_no_secrets_in_it(sides: Sides, tmp_path: Path) -> None:
    job = sides.started("ada", secrets={"TOKEN": "hush-hush"})
    key = sides.ada.http.headers["Authorization"].removeprefix("Bearer ")
    target = tmp_path / "backup.zip"
    write_backup(sides.world.database, stores_of(sides), target, now=sides.world.clock())
    with zipfile.ZipFile(target) as archive:
        content = b"".join(archive.read(name) for name in archive.namelist())
    for secret in ("hush-hush", key.partition(".")[2], sides.world.job_token(job)):
        assert secret.encode() not in content
    assert "secret.key" not in zipfile.ZipFile(target).namelist()


def test_what_it_brings_back_are_the_same_rows(sides: Sides, tmp_path: Path) -> None:
    """A bucket that was made anew has its own place after that as well, and the tree is vision's only."""
    sides.eve.json("POST", "/buckets", json={"name": "shared", "project": "evil"})
    assert sides.eve("DELETE", "/buckets/shared").status_code == 204
    sides.ada.json("POST", "/buckets", json={"name": "shared", "project": "vision"})
    put_object(sides.ada, "shared/secret")
    put_blob(sides.ada, SECRET)
    put_tree(sides.ada, tree_of(**{"main.py": SECRET}))
    sides.eve.json("POST", "/projects/evil/invitations", json={"user": "ada"})
    target = tmp_path / "backup.zip"
    write_backup(sides.world.database, stores_of(sides), target, now=sides.world.clock())
    restored = Database(sqlite_url(tmp_path / "restored.db"))
    try:
        report = restore_backup(restored, stores_of(sides), target, {})
        assert report.missing == []
        assert {name: report.num_rows[name] for name in ("trees", "invitations", "used_names")} == {
            "trees": 1,
            "invitations": 1,
            "used_names": 1,
        }
        with restored.reading() as session, sides.world.database.reading() as before:
            rows = [buckets.get_bucket(one, "shared") for one in (session, before)]
        assert rows[0] is not None
        assert rows[1] is not None
        assert (rows[0].id, rows[0].place) == (rows[1].id, rows[1].place)
        assert rows[0].place != "shared"
    finally:
        restored.close()
