"""What the server says, in Chinese: why a job waits, its events, forms, failures outside of fields, and notices."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import StorageState, expect
from tests.support.browser import Tab

from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

ENGLISH = re.compile(r"\b(the|is|are|of|requests|expected|which|tasks|submitted|got|failed|first)\b", re.IGNORECASE)
WORDS = re.compile(r"\b[A-Za-z][a-z]+ [A-Za-z][a-z]+\b")
"""Two words of it in a row."""

NAMES = re.compile(r"danlu [a-z -]+|rank table|“.*?”")
PAGES = (
    *("/", "/jobs", "/experiments", "/artifacts", "/models", "/store", "/examples", "/cluster", "/bench", "/flow"),
    *("/projects", "/projects/default", "/profile"),
    *(f"/admin?tab={tab}" for tab in ("people", "flavors", "frameworks", "costs", "audit")),
)

READ = """() => {
  const found = new Set();
  const isCode = element => element.closest('code, pre, kbd, script, style, noscript, .mono, [lang=en]');
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode())
    if (!isCode(texts.currentNode.parentElement)) found.add(texts.currentNode.data.trim());
  for (const name of ['title', 'aria-label', 'aria-description', 'placeholder', 'alt'])
    for (const element of document.querySelectorAll(`[${name}]`)) found.add(element.getAttribute(name));
  return [...found];
}"""
"""All that can be read on a page, also on pointing and by those who listen to it, without code."""


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
    assert not ENGLISH.search(notice.inner_text()), notice.inner_text()
    expect(notice).to_contain_text("请求 2 × (npu:4)")
    page.goto(f"{tab.url}/jobs/{job}/events")
    expect(page.get_by_role("cell", name="由 admin 提交")).to_be_visible()
    expect(page.get_by_role("cell", name="已提交")).to_be_visible()
    tab.check("chinese-events")
    page.goto(f"{tab.url}/submit?from={job}")
    preview = page.locator("section", has=page.get_by_role("heading", name="启动预览（Rank 0）"))
    expect(preview).to_contain_text("所有实例的命令都以 0 结束时，任务成功")
    expect(preview).to_contain_text("任务会排队：请求 2 × (npu:4)")
    page.goto(f"{tab.url}/cluster")
    expect(page.get_by_text("超过空闲节点的全部资源").first).to_be_visible()
    tab.check("chinese-queue")


def test_forms_failures_and_notices_are_told_in_chinese(
    console: RunningServer, open_tab: Callable[..., Tab], signed_in: StorageState, tmp_path: Path
) -> None:
    (tmp_path / "digits.csv").write_text("1,2\n")
    with console.client() as client:
        unread = client.notices.num_unread()
        client.jobs.submit(name="失败的任务", command="exit 3").wait()
        client.store.make_bucket("filled")
        client.store.upload(tmp_path / "digits.csv", "store://filled/")
        wait_until(lambda: client.notices.num_unread() > unread)
    tab = open_tab(storage_state=signed_in, locale="zh-CN")
    page = tab.go("/submit")
    page.get_by_label("名称", exact=True).fill("wrong")
    page.get_by_label("命令", exact=True).fill("true")
    page.get_by_label("设备类型").select_option("npu:910b")
    page.get_by_label("每节点设备数").fill("1000000")
    problem = page.locator(".field", has=page.get_by_label("每节点设备数")).locator(".wrong")
    expect(problem).to_contain_text("应为每节点 1 到 1024 个设备")
    assert not ENGLISH.search(problem.inner_text()), problem.inner_text()
    page.get_by_role("alert").get_by_role("button", name="每节点设备数").click()
    expect(page.get_by_label("每节点设备数")).to_be_focused()
    tab.check("chinese-form")
    tab.go("/store?bucket=filled")
    page.get_by_role("button", name="更多").click()
    page.get_by_role("button", name="删除存储桶").click()
    page.get_by_role("dialog").get_by_role("button", name="删除").click()
    expect(page.get_by_text("存储桶 'filled' 不为空", exact=False)).to_be_visible()
    page.get_by_role("button", name="通知").click()
    entry = page.get_by_role("link", name="失败的任务").filter(has_text="任务失败")
    expect(entry).to_be_visible()
    tab.check("chinese-notices")
    entry.click()
    expect(page.locator(".notice").first).to_contain_text("Rank 0：命令以退出码 3 结束")
    took = page.locator("dt", has_text="时长").locator("xpath=following-sibling::dd").first
    expect(took).to_have_text(re.compile(r"^(\d+ (天|小时|分|秒) ?)+$"))
    tab.go("/jobs/train-000000000000000001")
    expect(page.get_by_text("没有任务 'train-000000000000000001'")).to_be_visible()


def test_nothing_that_people_read_is_english(
    console: RunningServer, open_tab: Callable[..., Tab], signed_in: StorageState
) -> None:
    with console.client() as client:
        done = client.jobs.submit(name="two", command="echo 1 > $DANLU_OUTPUT_DIR/a.txt", nodes=2).wait().id
        waits = client.jobs.submit(name="waits", command="true", resources={"device": "npu:910b:16"}).id
        client.people.invite("grace", project="default", role="viewer")
        hook = client.webhooks.add("https://127.0.0.1/hook")
        client.webhooks.test(hook.id)
    tab = open_tab(storage_state=signed_in, locale="zh-CN")
    wrong = []
    tabs = ("", "/logs", "/metrics", "/resources", "/tasks", "/spec", "/events", "/endpoints", "/flow")
    for path in (*PAGES, f"/submit?from={done}", f"/jobs/{waits}", *(f"/jobs/{done}{one}" for one in tabs)):
        tab.go(path)
        tab.page.wait_for_selector("main h1")
        tab.settle()
        wrong += [f"{path}: {text}" for text in tab.page.evaluate(READ) if WORDS.search(NAMES.sub("", text))]
    assert wrong == []
    page = tab.go("/profile")
    page.get_by_role("button", name="推送记录").click()
    expect(page.get_by_role("dialog")).to_contain_text("不是公网地址")
    tab.check("chinese-deliveries")
    page = tab.go(f"/submit?from={done}")
    expect(page.get_by_title("任务中的第几个实例，从 0 开始", exact=True)).to_contain_text("DANLU_RANK")
    page = tab.go("/admin?tab=audit")
    expect(page.get_by_text("角色：只读成员").first).to_be_visible()
    tab.check("chinese-audit")
    page = tab.go("/examples/ascend")
    expect(page.get_by_text("超过空闲节点的全部资源")).to_be_visible()
    tab.check("chinese-example")
