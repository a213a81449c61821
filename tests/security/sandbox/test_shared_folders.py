"""Hole 7: /data belongs to a project. Its owners can change its name, and others can take that name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from danlu.client import Client
from danlu.launch import Owner
from danlu.server.shared_folders import DONE, name_by_id
from danlu.spec.states import JobState, TaskState
from danlu.testing.engines import Starter
from danlu.testing.serving import RunningServer


def run(starter: Starter, owner: Owner, owner_id: int, command: str) -> str:
    starter.owner, starter.owner_id = owner, owner_id
    job = starter.start(command, contract="apulis")
    assert job.wait()[0].state is TaskState.SUCCEEDED, job.log()
    return job.log()


class TestNames:
    def test_a_name_that_was_taken_over_opens_nothing(self, starter: Starter) -> None:
        run(starter, Owner("alice", "vision", 1), 1, "echo weights > /data/secret; chmod 666 /data/secret")
        assert run(starter, Owner("mallory", "vision", 2), 66, "ls -A /data") == ""

    def test_a_project_keeps_its_folder_under_a_new_name(self, starter: Starter) -> None:
        run(starter, Owner("alice", "vision", 1), 1, "echo weights > /data/kept")
        assert run(starter, Owner("alice", "sight", 1), 1, "cat /data/kept") == "weights\n"

    @pytest.mark.parametrize("name", ["..", ".", "", "a/b", "../homes/alice"])
    def test_no_name_leads_out_of_the_folder(self, starter: Starter, name: str) -> None:
        plan = starter.plan("true", contract="apulis")
        task = plan.tasks[0]
        mounts = tuple(mount.model_copy(update={"name": name}) for mount in task.mounts)
        with pytest.raises(Exception, match="cannot be the name of a folder"):
            starter.start_plan(plan.model_copy(update={"tasks": (task.model_copy(update={"mounts": mounts}),)}))


class TestServer:
    def test_over_a_real_server(self, server: RunningServer, client: Client) -> None:
        if not next(iter(client.nodes())).has_sandbox:
            pytest.skip("no sandbox here")
        job = client.jobs.submit(name="writes", contract="apulis", command="echo weights > /data/of-main")
        assert job.wait(timeout=60).state is JobState.SUCCEEDED
        shared = server.data_dir / "shared"
        (folder,) = [path for path in shared.iterdir() if (path / "of-main").exists()]
        assert folder.name.isdigit()
        assert (shared / DONE).exists()


class TestRenaming:
    """Folders of older versions were named after projects."""

    def test_once_and_by_the_names_of_that_moment(self, tmp_path: Path) -> None:
        for name in ("vision", "u-old-name-123", "gone"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "of").write_text(name)
        told = list(name_by_id(tmp_path, {1: "main", 3: "vision"}))
        assert (tmp_path / "3" / "of").read_text() == "vision"
        assert sorted(path.name for path in tmp_path.iterdir()) == [DONE, "3", "gone", "u-old-name-123"]
        assert len(told) == 3
        assert "gone belongs to no project" in told[1]
        # whoever takes the name later gets nothing
        assert list(name_by_id(tmp_path, {1: "main", 3: "vision", 7: "gone"})) == []
        assert not (tmp_path / "7").exists()

    def test_a_folder_that_is_there_is_not_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "vision").mkdir()
        (tmp_path / "3").mkdir()
        (tmp_path / "3" / "new").touch()
        told = list(name_by_id(tmp_path, {3: "vision"}))
        assert (tmp_path / "3" / "new").exists()
        assert "vision belongs to no project" in told[0]

    def test_a_link_is_not_a_folder(self, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        shared = tmp_path / "shared"
        shared.mkdir()
        (shared / "vision").symlink_to(tmp_path / "elsewhere")
        list(name_by_id(shared, {3: "vision"}))
        assert not (shared / "3").exists()

    def test_a_new_server_has_nothing_to_rename(self, tmp_path: Path) -> None:
        assert list(name_by_id(tmp_path / "shared", {1: "main"})) == []
        assert os.listdir(tmp_path / "shared") == [DONE]
