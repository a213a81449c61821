"""What the server, its nodes and engines tell people is whole in Chinese: every text in the source is looked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import pytest
from tests.support.said import calls_in, pairs_in, returned_in, variables_in

from danlu.errors import InvalidInput
from danlu.spec.messages.catalogue import FAILURES, MESSAGES, in_chinese, recognise
from danlu.spec.reasons import CATALOGUE
from danlu.spec.run_filter import parse_filter

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
    "{} grew to what a task may hold on the disk{}{}",
}
"""Their values are texts of ours, which are looked for here on their own or below."""

OF_PROGRAMS = (
    *("server/admission", "server/artifacts/uploads.py", "server/batches", "server/mlflow", "server/packs.py"),
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


@pytest.mark.parametrize(
    "text",
    [
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
        "the log grew to what a task may hold on the disk; the command ended with code 1",
        "a file grew to what a task may hold on the disk (max_disk_bytes: 7)",
        "it would wait: requests 1 x (npu:4), which is in use",
        "no node and no flavor has npu:910z; nodes and flavors have npu:910b",
        "no node and no flavor has devices of the type 'tpu'; expected gpu:2 or npu:8",
        "'.' is a folder of the client; upload it and send code.tree",
        "no room on the disk of /work; the command ended with code 1",
        "the requirements cannot be used: 'a.txt' has more than 1 MiB",
        "train:1 cannot be fetched: a layer has 7 bytes and not 8",
        "an input arrived damaged: data/a: other bytes arrived than were sent; try again",
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
