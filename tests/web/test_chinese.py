"""What the server says, in Chinese: why a job waits, what would help, its events and the queue."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import StorageState, expect
from tests.support.browser import Tab

from danlu.testing.serving import RunningServer

ENGLISH = re.compile(r"\b(the|is|are|of|requests|expected|which|tasks|submitted)\b", re.IGNORECASE)


def test_why_a_job_waits_is_told_in_chinese(
    console: RunningServer, open_tab: Callable[..., Tab], signed_in: StorageState
) -> None:
    with console.client() as client:
        job = client.jobs.submit({"name": "large", "command": "true", "nodes": 2, "resources": {"device": "npu:4"}}).id
    tab = open_tab(storage_state=signed_in, locale="zh-CN")
    page = tab.go(f"/jobs/{job}")
    notice = page.locator(".notice").first
    expect(notice).to_contain_text("超过空闲节点的全部资源")
    expect(notice).to_contain_text("减少请求")
    assert not ENGLISH.search(re.sub(r"\d+ x \(.*?\)|\d+ task slots.*", "", notice.inner_text())), notice.inner_text()
    page.goto(f"{tab.url}/jobs/{job}/events")
    expect(page.get_by_role("cell", name="由 admin 提交")).to_be_visible()
    tab.check("chinese-events")
    page.goto(f"{tab.url}/cluster")
    expect(page.get_by_text("超过空闲节点的全部资源").first).to_be_visible()
    tab.check("chinese-queue")
