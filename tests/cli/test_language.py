"""What the server stored in English, on a terminal that reads Chinese."""

from __future__ import annotations

import os
import subprocess
import sys

from danlu.client import Client
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until


def danlu(server: RunningServer, *words: str, locale: str) -> str:
    env = {**os.environ, "DANLU_URL": server.url, "DANLU_API_KEY": server.api_key, "LC_ALL": locale}
    env["PYTHONIOENCODING"] = "utf-8"
    program = [sys.executable, "-m", "danlu", *words]
    return subprocess.run(program, capture_output=True, encoding="utf-8", env=env, check=True).stdout


def test_notices_are_in_the_language_of_the_terminal(server: RunningServer, client: Client) -> None:
    job = client.jobs.submit({"name": "in-two-languages", "command": "exit 3"})
    job.wait()
    wait_until(lambda: any(one.job == job.id for one in client.notices.list()))
    told = {locale: danlu(server, "notices", "ls", locale=locale) for locale in ("zh_CN.UTF-8", "en_US.UTF-8")}
    line = {locale: next(row for row in text.splitlines() if job.name in row) for locale, text in told.items()}
    assert "Rank 0：命令以退出码 3 结束" in line["zh_CN.UTF-8"]
    assert "rank 0: the command ended with code 3" in line["en_US.UTF-8"]
