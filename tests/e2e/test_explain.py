"""`danlu plan --explain` of every example, as people read it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from danlu.cli.jobs.plan_explained import explained_text
from danlu.client import Client
from danlu.client.jobs.jobfile import read_job_file
from danlu.testing.serving import RunningServer

EXAMPLES = sorted(path.parent for path in (Path(__file__).parents[2] / "examples").glob("*/job.yml"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_every_example_is_explained(client: Client, example: Path) -> None:
    if example.name == "image" and not next(client.nodes()).image_tool:
        pytest.skip(f"no images here: {next(client.nodes()).image_problem}")
    job_file = read_job_file(example / "job.yml", [])
    plan = client.jobs.plan(job_file.values, folder=job_file.folder, explain=True)
    text = explained_text(plan)
    for part in (
        "How it is started",
        "When it has succeeded",
        "  runs in /opt/ml/code\n",
        "  files\n",
        "  folders\n",
        "Good to know",
    ):
        assert part in text
    for name in plan.tasks[0].env:
        assert f"    {name}=" in text
    assert max(map(len, text.splitlines())) < 2000
    assert plan.explanation is not None
    assert [task.rank for task in plan.explanation.tasks] == [task.rank for task in plan.tasks]


def test_the_command_line_explains(server: RunningServer) -> None:
    env = {**os.environ, "DANLU_URL": server.url, "DANLU_API_KEY": server.api_key}
    job = str(EXAMPLES[0] / "job.yml")
    done = subprocess.run(
        [sys.executable, "-m", "danlu", "plan", job, "--explain", "--rank", "1"],
        capture_output=True,
        text=True,
        env=env,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Rank 1\n  a worker on " in done.stdout
    assert "Rank 0" not in done.stdout
    done = subprocess.run([*done.args, "--json"], capture_output=True, text=True, env=env, check=True)
    shown = json.loads(done.stdout)
    assert [[task["rank"] for task in part["tasks"]] for part in (shown, shown["explanation"])] == [[1], [1]]


JOB = """\
name: both
command: python train.py
nodes: 2
launch: ddp
setup: export A=1
max_duration: 1h
hyperparameters: {lr: 0.1}
"""
ENGLISH = re.compile(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}")
"""Three words of it in a row are a sentence that nobody translated."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text("print(1)")
    (tmp_path / "job.yml").write_text(JOB)
    (tmp_path / "wrong.yml").write_text("name: both\nnodes: two\ncommand: x\nlunch: ddp\n")
    return tmp_path


def planned(server: RunningServer, folder: Path, *words: str, locale: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "DANLU_URL": server.url, "DANLU_API_KEY": server.api_key, "LC_ALL": locale}
    env["PYTHONIOENCODING"] = "utf-8"
    program = [sys.executable, "-m", "danlu", "plan", *words]
    return subprocess.run(program, capture_output=True, encoding="utf-8", env=env, cwd=folder, check=False)


@pytest.mark.parametrize(
    ("options", "english", "chinese"),
    [
        (
            [],
            ["  environment\n", "  outputs\n", "(at the end)"],
            ["  环境变量\n", "  输出\n", "（结束时）", "Rank 1（worker）"],
        ),
        (
            ["--explain"],
            ["How it is started", "the address of node 0", "Good to know", "as rank 0, but"],
            ["如何启动", "各进程在节点 0 上会合。", "节点 0 的地址", "须知", "与 Rank 0 相同，以下除外"],
        ),
    ],
)
def test_a_plan_is_in_the_language_of_the_terminal(
    server: RunningServer, folder: Path, *, options: list[str], english: list[str], chinese: list[str]
) -> None:
    for locale, told, others in (("en_US.UTF-8", english, chinese), ("zh_CN.UTF-8", chinese, english)):
        done = planned(server, folder, "job.yml", *options, locale=locale)
        assert done.returncode == 0, done.stderr
        assert [text for text in told if text not in done.stdout] == []
        assert [text for text in others if text in done.stdout] == []
        if locale.startswith("zh"):
            assert ENGLISH.findall(done.stdout) == []


@pytest.mark.parametrize(
    ("words", "chinese"),
    [
        (
            ["wrong.yml"],
            "wrong.yml:2:1: nodes：应为整数，实际为 'two'\n"
            "danlu: wrong.yml:4:1: lunch：任务 没有此字段；是否为 'launch'？",
        ),
        (["none.yml"], "无法读取 none.yml：No such file or directory"),
        (["job.yml", "--rank", "9"], "Rank 应为 0 到 1"),
        (["job.yml", "--set", "nodes"], "'nodes' 不是有效的设置；应为 nodes=4 或 hyperparameters.lr=0.1 这样的形式"),
        (["job.yml", "--set", "code=.", "--set", "requirements=no.txt"], "job.yml:1:1: requirements：代码目录 "),
    ],
)
def test_what_is_wrong_is_told_in_it(server: RunningServer, folder: Path, words: list[str], chinese: str) -> None:
    done = planned(server, folder, *words, locale="zh_CN.UTF-8")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"danlu: {chinese}" in done.stderr
    assert ENGLISH.findall(done.stderr.replace("No such file or directory", "")) == []
    assert chinese not in planned(server, folder, *words, locale="C.UTF-8").stderr
