"""What people type in their first hour, and what used to lead them astray."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Said

from danlu.client import Client
from danlu.errors import InvalidSpec
from danlu.spec.job import JobSpec

Danlu = Callable[..., Said]


class TestStop:
    def test_one_that_runs_comes_before_a_newer_one_that_has_ended(self, danlu: Danlu, client: Client) -> None:
        old = client.jobs.submit(name="twin", command="exec sleep 3600")
        new = client.jobs.submit(name="twin", command="true")
        new.wait()
        assert danlu("stop", "twin") == (0, f"stopping {old.id}\n", "")
        assert old.wait().state == "stopped"
        assert danlu("stop", "twin").out == f"{new.id} has already ended: succeeded\n"

    def test_of_several_that_run_none_is_chosen(self, danlu: Danlu, client: Client) -> None:
        jobs = [client.jobs.submit(name="triplet", command="exec sleep 3600") for _ in range(3)]
        code, out, err = danlu("stop", "triplet")
        assert (code, out) == (2, "")
        assert all(job.id in err for job in jobs)
        assert danlu("stop", *(job.id for job in jobs)).code == 0


class TestDevices:
    @pytest.mark.parametrize(
        ("setting", "told"),
        [
            ("resources.gpus=2", "resources.gpus: unknown field of a job; expected device: gpu:2"),
            ("resources.accelerators=8", "resources.accelerators: unknown field of a job; expected device: gpu:8"),
            ("resources.device=gpu:two", "expected a number of devices such as gpu:2, got 'gpu:two'"),
            ("resources.device=a100", "no node and no flavor has devices of the type 'a100'"),
        ],
    )
    def test_what_nothing_here_has_is_refused(self, danlu: Danlu, alone: Path, setting: str, told: str) -> None:
        (alone / "job.yml").write_text("name: wide\ncommand: 'true'\n")
        code, _, err = danlu("submit", "job.yml", "--set", setting, "-d")
        assert code == 1
        assert told in err

    def test_a_model_without_its_type_is_understood(self, danlu: Danlu, alone: Path) -> None:
        assert danlu("flavors", "add", "big", "--device", "gpu:a100:8", "--price", "1").code == 0
        (alone / "job.yml").write_text("name: wide\ncommand: 'true'\n")
        planned = json.loads(danlu("plan", "job.yml", "--json", "--set", "resources.device=a100:2").out)
        assert planned["tasks"][0]["device_type"] == "gpu"
        refused = danlu("plan", "job.yml", "--set", "resources.device=gpu:h100")
        assert "no node and no flavor has gpu:h100; nodes and flavors have gpu:a100" in refused.err
        assert danlu("flavors", "remove", "big").code == 0


class TestQuota:
    def test_it_changes_what_it_names(self, danlu: Danlu, client: Client) -> None:
        danlu("projects", "new", "narrow")
        assert danlu("quota", "set", "npu=8", "memory=1GiB", "--project", "narrow").code == 0
        assert danlu("quota", "set", "cpus=1", "--project", "narrow").code == 0
        assert {one.resource: one.quota for one in client.quotas.get("narrow").quotas} == {
            "npu": 8.0,
            "memory": float(1 << 30),
            "cpus": 1.0,
        }
        danlu("quota", "set", "npu=none", "--project", "narrow")
        assert "npu" not in {one.resource for one in client.quotas.get("narrow").quotas}


class TestLists:
    def test_a_list_that_was_cut_says_so(self, danlu: Danlu, client: Client) -> None:
        for _ in range(2):
            client.jobs.submit(name="many", command="true").wait()
        code, out, err = danlu("ps", "-a", "--name", "many", "-n", "1", "--json")
        assert (code, len(json.loads(out))) == (0, 1)
        assert err == "danlu: only the newest 1 are shown; -n 10 shows more\n"
        assert danlu("ps", "-a", "--name", "many", "-n", "2").err == ""

    def test_names_that_nothing_has_are_errors(self, danlu: Danlu, client: Client) -> None:
        job = client.jobs.submit(name="measured", command="true")
        job.wait()
        client.runs.push(job.id, {"acc": 0.5}, step=1)
        assert job.id in danlu("runs", "ls", "--job", "measured", "--json").out
        assert danlu("runs", "ls", "--job", "nothing").err == (
            "danlu: no job named 'nothing'; `danlu ps -a` lists them\n"
        )
        (name,) = {f"metrics.{one.type}.{one.name}" for run in client.runs.list(job=job.id) for one in run.metrics}
        code, _, err = danlu("runs", "ls", f"{name}uracy > 0.9")
        assert code == 1
        assert f"no run has {name}uracy; did you mean '{name}'?" in err
        assert danlu("runs", "ls", f"{name} > 0.9").code == 0


class TestEnvironments:
    def test_none_are_there_at_first(self, danlu: Danlu) -> None:
        assert danlu("environments").out == "no environments; a job with `requirements` creates one\n"
        assert "no environment 'abc'" in danlu("environments", "abc").err

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            (["-r", "environment.yml", "--code", "."], "is a file of conda, which is not supported"),
            (["-r", "requirements.txt"], "is a file of the code folder, and the job has no code"),
            (["-r", "requirements.txt", "--code", "."], "'requirements.txt' is not in the code folder"),
            (["-r", "numpy", "--image", "a/b"], "requirements goes with the Python of the node"),
            (["--python", "3.2"], "(those of the nodes), got '3.2'"),
            (["--python", "three"], "expected a version such as '3.11', got 'three'"),
        ],
    )
    def test_what_cannot_be_installed_is_refused(self, danlu: Danlu, words: list[str], told: str) -> None:
        code, _, err = danlu("run", *words, "-d", "--", "true")
        assert code == 1
        assert told in err

    def test_a_version_must_be_text(self, danlu: Danlu, alone: Path) -> None:
        (alone / "job.yml").write_text("name: old\ncommand: 'true'\npython: 3.10\n")
        assert "expected text such as '3.11', got the number 3.1" in danlu("submit", "job.yml").err

    def test_the_plan_shows_them(self, danlu: Danlu, alone: Path) -> None:
        version = "{}.{}".format(*sys.version_info[:2])
        text = f"name: planned\ncommand: 'true'\nrequirements: [torch, numpy]\npython: '{version}'\n"
        (alone / "job.yml").write_text(text)
        assert f"  packages torch, numpy (Python {version})" in danlu("plan", "job.yml").out.splitlines()
        assert "Packages (torch, numpy) are installed first" in danlu("plan", "job.yml", "--explain").out


class TestCode:
    def test_a_script_that_would_not_be_there_is_refused_with_what_to_do(self, danlu: Danlu, alone: Path) -> None:
        (alone / "train.py").write_text("print('trained')")
        code, _, err = danlu("run", "--", "python", "train.py")
        assert code == 2
        assert "'train.py' is in this folder, and the job gets no code; add --code ." in err
        assert danlu("run", "--code", ".", "--", "python", "train.py").out == "trained\n"

    def test_a_setting_makes_the_folder_the_default(self, danlu: Danlu, alone: Path) -> None:
        (alone / "train.py").write_text("print('trained')")
        (alone / ".danlu.yml").write_text("code: .\n")
        assert danlu("run", "--", "python", "train.py").out == "trained\n"

    @pytest.mark.parametrize("elsewhere", ["/", "..", "~/.ssh", "a/../.."])
    def test_a_projects_file_cannot_send_what_is_elsewhere(self, danlu: Danlu, alone: Path, elsewhere: str) -> None:
        (alone / ".danlu.yml").write_text(f"code: {elsewhere}\n")
        assert f"code: expected a folder in {alone}, got {elsewhere!r}" in danlu("run", "--", "true").err


class TestAttempts:
    def test_retries_are_told_while_following_and_at_the_end(self, danlu: Danlu, alone: Path) -> None:
        command = "echo $DANLU_ATTEMPT; [ $DANLU_ATTEMPT = 2 ] || exit 7"
        (alone / "job.yml").write_text(
            f"name: again\ncommand: '{command}'\nretry: {{max: 1, on: ['exit:7'], backoff: 0}}\n"
        )
        said = danlu("submit", "job.yml")
        assert said.out == "1\n2\n"
        assert "attempt 1 is over; attempt 2:\n" in said.err
        assert "succeeded after 2 attempts" in said.err


class TestSubmit:
    def test_a_job_file_and_a_spec_with_plain_texts(self, client: Client, alone: Path) -> None:
        (alone / "src").mkdir()
        (alone / "src" / "train.py").write_text("print('trained')")
        (alone / "job.yml").write_text("name: filed\ncommand: python train.py\ncode: src\n")
        job = client.jobs.submit("job.yml", max_duration="2h")
        assert job.wait().state == "succeeded"
        assert job.details.spec["max_duration"] == 7200.0
        values: dict[str, Any] = {"code": "src", "max_duration": "2h", "launch": "ddp"}
        spec = JobSpec(name="typed", command="python train.py", **values)
        assert client.jobs.submit(spec).wait().state == "succeeded"

    def test_what_git_says_of_the_code_is_noted(self, danlu: Danlu, client: Client, alone: Path) -> None:
        git = ["git", "-C", str(alone), "-c", "user.name=a", "-c", "user.email=a@example.com"]
        (alone / "train.py").write_text("print('trained')")
        for words in (["init", "-q", "-b", "trunk"], ["add", "."], ["commit", "-q", "-m", "first"]):
            subprocess.run([*git, *words], check=True)
        head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
        clean = client.jobs.submit(name="clean", command="true", code=".")
        assert clean.details.spec["code"]["git"] == f"{head} on trunk"
        (alone / "train.py").write_text("print('changed')")
        dirty = client.jobs.submit(name="dirty", command="ls -a", code=".")
        assert f"{head} on trunk, with changes" in danlu("show", dirty.id).out
        patch = danlu("show", dirty.id, "--diff").out
        assert "diff --git a/" in patch
        assert "\n+" in patch
        assert dirty.wait().state == "succeeded"
        assert ".git" not in [line.text for line in dirty.logs()]

    def test_code_comes_from_a_repository(self, client: Client, tmp_path: Path) -> None:
        made = tmp_path / "made"
        made.mkdir()
        git = ["git", "-C", str(made), "-c", "user.name=a", "-c", "user.email=a@example.com"]
        subprocess.run([*git, "init", "-q", "-b", "trunk"], check=True)
        for text in ("first", "second"):
            (made / "say.sh").write_text(f"echo {text}")
            subprocess.run([*git, "add", "."], check=True)
            subprocess.run([*git, "commit", "-q", "-m", text], check=True)
            subprocess.run([*git, "tag", f"of-{text}"], check=True)
        head = subprocess.run([*git, "rev-parse", "HEAD~1"], check=True, capture_output=True, text=True).stdout.strip()
        for ref, told in ((None, "second"), ("of-first", "first"), (head, "first")):
            code = {"git": f"file://{made}", **({"ref": ref} if ref else {})}
            job = client.jobs.submit(name="from-git", command="sh say.sh; ls -A", code=code)
            job.wait()
            assert [line.text for line in job.logs()] == [told, "say.sh"]
            assert job.details.spec["code"]["git"].endswith(f" of file://{made}")
        with pytest.raises(InvalidSpec, match="cannot be fetched"):
            client.jobs.submit(name="from-git", command="true", code={"git": f"file://{made}", "ref": "gone"})
