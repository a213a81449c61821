"""What the server, its nodes and engines tell people is whole in Chinese: every text in the source is looked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from tests.launch.test_golden import CASES, plan_of
from tests.support.said import calls_in, formatted_in, names_given_in, pairs_in, returned_in, variables_in

from danlu.errors import InvalidInput
from danlu.launch.contracts import MODULES
from danlu.launch.explain import MODES, explain
from danlu.spec.flavors import Flavor
from danlu.spec.frameworks import Framework
from danlu.spec.job import parse_job
from danlu.spec.messages.catalogue import (
    FAILURES,
    MESSAGES,
    TEXTS,
    in_chinese,
    recognise,
    recognise_bench,
    recognise_end,
)
from danlu.spec.messages.page_texts import BENCH_PROBLEMS
from danlu.spec.messages.variable_texts import VARIABLE_TEXTS
from danlu.spec.monitoring.alerts import AlertKind, alert_message
from danlu.spec.reasons import CATALOGUE
from danlu.spec.run_filter import parse_filter
from danlu.track.capture import environment, git
from danlu.track.sync.syncing import DIED
from danlu.wire.people import ChangeUser
from danlu.wire.projects import ChangeProject

ROOT = Path(__file__).parents[2]
TEXTS_OF_CONSOLE = ROOT / "web" / "src" / "texts" / "zh"

ENGLISH = re.compile(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}")
"""Three words of it in a row are a sentence that nobody translated."""

COMMAND = re.compile(r"`.*?`|danlu [a-z ]+[A-Z]*")

OF_TASKS = {
    *("InputMissing", "EnvironmentProblem", "ImageProblem", "NotFetched", "NotUnpacked", "TooLarge", "BadRequirements"),
    *("EngineUnavailable", "EngineUnreachable", "StorageFull", "Unsupported", "PortClosed", "MissingExtra"),
    *("Damaged", "AddressRefused", "Verdict", "Observation", "TimeoutError", "reason"),
}
OF_FIELDS = {"ValueError", "bad_field", "bad_spec", "_bad", "_reject", "_wrong", "_fail", "_refused", "wrong_filter"}

PUT_TOGETHER = {
    "{} is a file of conda, which is not supported; {}, or an image with conda",
    "{}, got {}: a path is relative to the code folder and stays in it",
    "{}, got {}; one package is a list too: [{}]",
    "{}, got an empty list",
    "{}; add `code: .`, or list the packages: [torch, numpy]",
    "requirements: {} is a file of the code folder, and the job has no code",
    "with roles, {} {} to each role",
    "{} conflicts with framework {}, which {}; use one of them",
    "{}; remove one of them",
    "{} cannot be used: {}",
    "the task reached its limit of {} processes and threads, and could not start another{}",
    "the task used more than its memory{}, and the kernel ended one of its processes",
    "no node and no flavor has devices of the type {}{}",
    "no node and no flavor has {}:{}{}",
    "{} reached the disk limit of the task{}{}",
}
"""Their values are texts of ours, which are looked for here on their own or below."""

OF_PROGRAMS = (
    *("server/admission", "server/artifacts/uploads.py", "server/batches", "server/mlflow", "server/packs"),
    *("server/runs/pushed.py", "server/runs/routes.py", "server/runs/operations.py", "server/settings.py"),
    *("server/tencent", "server/trees", "server/uploads", "server/people/routes.py", "server/models/registrar.py"),
    *(
        "engines/ray/engine.py",
        "launch/ranktable",
        "node/mpi",
        "node/supervise/below.py",
        "node/supervise/forwarder.py",
        "node/ray",
    ),
)
"""What only programs and admins at their shell are told."""


def test_what_is_told_of_tasks() -> None:
    texts = [text for folder in ("node", "engines", "scheduler", "launch", "transfer") for text in _of_tasks(folder)]
    assert len(texts) > 150
    assert half(texts) == []


def test_what_is_told_of_fields() -> None:
    texts = [text for folder in ("spec", "wire", "server", "launch") for text in calls_in(folder, OF_FIELDS)]
    assert len(texts) > 150
    assert half(texts) == []


def test_what_is_told_on_single_pages() -> None:
    deliveries = list(calls_in("server/webhooks", {"Outcome"}, parameters={"problem"}))
    needs = list(calls_in("server/examples", {"_lacking"}))
    assert len(deliveries) > 5
    assert len(needs) > 1
    assert half([*deliveries, *needs]) == []


def test_what_the_variables_of_a_plan_hold() -> None:
    tables = [module.TOLD for module in (*MODES.values(), *MODULES.values())]
    texts = {line.what for table in tables for line in table.values()}
    assert len(texts) > 80
    assert [text for text in texts if not recognise(text).code.startswith("var_")] == []
    (others,) = {text for text, _ in VARIABLE_TEXTS.values()} - texts
    assert others == "set in the job file"


@pytest.mark.parametrize("case", CASES)
def test_what_is_told_of_a_plan(case: str) -> None:
    about = explain(parse_job({"name": "shapes", **CASES[case][0]}), plan_of(case))
    texts = {*about.starts, about.succeeds, *about.notes}
    for task in about.tasks:
        texts |= {*task.files.values(), *task.folders.values()}
        texts |= {one for line in task.variables.values() for one in (line.set_by, line.read_by)}
    assert [text for text in texts if ENGLISH.search(told(text))] == []
    unknown = {text for text in texts if recognise(text).code == "text"}
    assert [text for text in unknown if re.search(r"[a-z]{3,} [a-z]{3,}|'s ", text)] == []


def test_what_the_modes_and_contracts_tell() -> None:
    modules = (*MODES.values(), *MODULES.values())
    texts = {text for module in modules for text in (module.STARTS, *module.FILES.values())}
    assert len(texts) > 20
    assert [text for text in texts if recognise(text).code == "text"] == []


def test_what_alerts_tell() -> None:
    details = (
        "num_devices",
        "rank",
        "used_bytes",
        "limit_bytes",
        "metric",
        "run",
        "value",
        "step",
        "free_bytes",
        "folder",
    )
    seconds = dict.fromkeys(("idle_seconds", "silent_seconds", "left_seconds"), 3900)
    for kind in AlertKind:
        text = alert_message(kind, {**dict.fromkeys(details, 7), "free_bytes": 5, "total_bytes": 9, **seconds})
        assert recognise(text).code == f"alert_{kind}"
        assert ENGLISH.search(told(text)) is None
        assert "1h05m" not in told(text)


def test_what_is_wrong_with_a_benchmark() -> None:
    texts = [text for file in ("report.py", "results.py") for _, text in formatted_in(f"bench/{file}")]
    assert len(texts) > 10
    told = [in_chinese(recognise_bench(text.replace("{}", "7"))) for text in texts]
    assert [text for text in told if ENGLISH.search(text)] == []


@pytest.mark.parametrize(
    ("text", "chinese"),
    [
        (DIED, "进程意外结束：被终止，或所在机器停机"),
        (
            "SIGTERM: the process was told to end, in fit (train.py, line 3)",
            "收到终止信号（SIGTERM），当时位于 fit (train.py, line 3)",
        ),
        ("the file of SwanLab ends without the end of the run", "SwanLab 的文件不完整，缺少运行的结尾"),
        ("ValueError: expected 3, got 4", "ValueError: expected 3, got 4"),
        ("rank 0: expected 3 channels", "rank 0: expected 3 channels"),
    ],
)
def test_why_a_run_ended_is_told_where_its_program_did_not_say_so(text: str, chinese: str) -> None:
    assert in_chinese(recognise_end(text)) == chinese


def test_details_of_the_audit_log_have_names() -> None:
    beside = {"at", "project_id"}
    changed = (Flavor, Framework, ChangeProject, ChangeUser)
    named = {
        name for folder in ("server", "auth") for name in names_given_in(folder, "record_action", "Action")
    } - beside
    named |= {field for model in changed for field in model.model_fields} | {"user", "role", "first"}
    assert {"from_project", "way", "num_jobs_stopped", "ends_access"} <= named
    texts = (TEXTS_OF_CONSOLE / "details.ts").read_text()
    assert named - set(re.findall(r"^    (\w+): ", texts, re.MULTILINE)) == set()


def test_what_is_captured_of_a_run_has_names() -> None:
    texts = (TEXTS_OF_CONSOLE / "captured.ts").read_text()
    captured = {*environment(), *(f"git.{name}" for name in git(str(ROOT)))}
    assert "pid_space" in captured
    assert captured - set(re.findall(r'^  "?([\w.]+)"?: ', texts, re.MULTILINE)) == set()


@pytest.mark.parametrize(
    "text",
    [
        "a.example.com answered 302; redirects are not followed",
        "a.example.com answered 500; expected 2xx",
        "url: 'a.example.com' is at 10.0.0.1, which is not a public address; admins can list its network",
        "url: expected https:// for 'a.example.com'; plain http:// is for networks that admins list",
        "overlays cannot be mounted: EPERM",
        "there is no sandbox to run them in",
        "no node runs images: n1: overlays cannot be mounted: EPERM (/a); n2: its engine runs none",
        "no node runs images: there is no node",
        "'a:1' cannot be used: n1: there is no sandbox to run them in; n2: its engine runs none",
        "requirements: 'a.txt' is a file of the code folder, and the job has no code; "
        "add `code: .`, or list the packages: [torch, numpy]",
        "expected a file of the code folder (requirements.txt, pyproject.toml or uv.lock) or a list of packages, "
        "got an empty list",
        "with roles, resources belong to each role",
        "with roles, flavor belongs to each role",
        "'a:1' conflicts with framework 'b', which has image 'c'; use one of them",
        "'a:1' conflicts with framework 'b', which uses the node's own Python; use one of them",
        "2 contradicts flavor 'small', which has 4; remove one of them",
        "rank 0 (worker): the task used more than its memory of 512 MiB, and the kernel ended one of its processes",
        "the task reached its limit of 7 processes and threads, and could not start another",
        "the task used more than its memory, and the kernel ended one of its processes",
        "the log reached the disk limit of the task; the command ended with code 1",
        "a file reached the disk limit of the task (max_disk_bytes: 7)",
        "it would wait: requests 1 x (npu:4), which is in use",
        "no node and no flavor has npu:910z; nodes and flavors have npu:910b",
        "no node and no flavor has devices of the type 'tpu'; expected gpu:2 or npu:8",
        "'.' is a folder of the client; upload it and send code.tree",
        "no room on the disk of /work; the command ended with code 1",
        "the requirements cannot be used: 'a.txt' has more than 1 MiB",
        "train:1 cannot be fetched: a layer has 7 bytes and not 8",
        "an input arrived damaged: data/a: the bytes that arrived differ from those sent; try again",
        "the server could not be reached: 7 (tried for 30 s); the files are kept in /work/7",
        "requests 2 x (npu:4, 8 cpus, 16 GiB) and 1 x (cpu), which is in use; nodes a, b and 3 more are drained: fan",
        "requests 2 x (npu:4), which is in use or free only in parts of different rings; node a is drained: fan",
        "requests 1 x (npu:4), more than the nodes have even when empty: 2 cpus, 8 task slots on n1; and 3 more nodes",
        "free now: 0 npu, 3.5 cpus, 12 GiB memory, 4 tasks",
        "reopening a node (nodes a, b are drained: fan)",
        "git: expected an address such as https://example.com/team/train.git, got 'x'",
    ],
)
def test_what_is_put_together(text: str) -> None:
    assert not re.search(r"[a-z]{3,} [a-z]{3,}|cpus|slots| on ", told(text).replace("pyproject.toml", "")), told(text)


def test_amounts_are_told_in_the_words_of_the_field() -> None:
    nodes = "4 npu, 2 cpus, 8 task slots on n1; 4 npu, 8 task slots on n2; and 3 more nodes"
    text = f"requests 2 x (npu:4), more than the nodes have even when empty: {nodes}"
    shown = "n1：4 npu、2 核、8 个实例位；n2：4 npu、8 个实例位；以及另外 3 个节点"
    assert told(text) == f"请求 2 × (npu:4)，超过空闲节点的全部资源：{shown}"


def test_a_filter_keeps_the_mark_below_its_mistake() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_filter("hparams.lr <")
    assert (
        told(caught.value.message)
        == "filter：应为数字，或引号中的文本（第 13 个字符）：\n  hparams.lr <\n              ^"
    )


def test_a_code_is_one_message() -> None:
    assert not set(MESSAGES) & set(FAILURES)
    assert len(TEXTS) == len(MESSAGES) + len(FAILURES) + len(BENCH_PROBLEMS)
    english = [text for text, _ in MESSAGES.values()]
    assert len(english) == len(set(english))


def _of_tasks(folder: str) -> Iterator[tuple[str, str]]:
    yield from calls_in(folder, OF_TASKS, parameters={"message"})
    yield from pairs_in(folder, CATALOGUE)
    yield from variables_in(folder, {"message", "told", "problem"})
    if folder == "node":
        yield from returned_in("node/supervise/verdict.py")
        yield from returned_in("node/measure/disk_watch.py")


def half(texts: Iterable[tuple[str, str]]) -> list[str]:
    """Those that are not whole in Chinese, with where they are told."""
    asked = {(place, text) for place, text in texts if not place.startswith(OF_PROGRAMS) and text not in PUT_TOGETHER}
    return sorted(f"{place}: {text}" for place, text in asked if ENGLISH.search(told(text.replace("{}", "7"))))


def told(text: str) -> str:
    return COMMAND.sub("", in_chinese(recognise(text)))
