"""Hyperparameters and summary of a run: whatever users keep them in, and their limits."""

from __future__ import annotations

import argparse
import dataclasses
import enum
from collections import deque
from types import SimpleNamespace
from typing import Any, NamedTuple, Optional

import pytest
from tests.support.written_runs import logged

from danlu import track
from danlu.track.reading import read_run


@dataclasses.dataclass
class Net:
    depth: int = 3


@dataclasses.dataclass
class Settings:
    lr: float = 0.1
    net: Net = dataclasses.field(default_factory=Net)


class Pair(NamedTuple):
    lr: float
    net: Any


class Plain:
    def __init__(self) -> None:
        self.lr = 0.1
        self.net = Net()
        self._hidden = object()


class Attributes:
    """As attrs makes them, with slots."""

    __slots__ = ("lr", "net")
    __attrs_attrs__ = (SimpleNamespace(name="lr"), SimpleNamespace(name="net"))

    def __init__(self) -> None:
        self.lr, self.net = 0.1, Net()


class Slots:
    __slots__ = ("lr", "net")

    def __init__(self) -> None:
        self.lr, self.net = 0.1, SimpleNamespace(depth=3)


class OwnNamespace(argparse.Namespace):
    pass


class Mode(str, enum.Enum):
    FAST = "fast"


class Level(enum.IntEnum):
    HIGH = 3


@dataclasses.dataclass
class Part:
    parts: list[Part] = dataclasses.field(default_factory=list)
    whole: Optional[Part] = None


def shared(levels: int) -> list[Any]:
    """Return lists that stand for 2 to the power of `levels` lists."""
    found: list[Any] = []
    for _ in range(levels):
        found = [found, found]
    return found


class TestMappings:
    def test_every_change_is_written(self) -> None:
        run = track.start("mnist", {"lr": 0.1, "old": 1})
        run.hparams["layers"] = [1, 2]
        del run.hparams["old"]
        run.hparams.update(lr=0.2)
        run.summary["best"] = float("nan")
        run.labels = ["a", "b"]
        run.total_steps(100)
        run.flush()
        known = read_run(run.path)
        assert (known.hparams, known.summary) == ({"lr": 0.2, "layers": [1, 2]}, {"best": "nan"})
        assert known.fields == {"labels": ["a", "b"], "total_steps": 100}
        run.hparams = {"only": True}
        run.flush()
        assert read_run(run.path).hparams == {"only": True}
        run.finish()

    @pytest.mark.parametrize(
        "kept", [argparse.Namespace(lr=0.1, net={"depth": 3}), Settings(), Pair(0.1, {"depth": 3}), Plain(), Slots()]
    )
    def test_what_people_keep_hyperparameters_in_is_taken_by_start(
        self, kept: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        run = track.start("mnist", kept)
        run.log({"loss": 1.0})
        run.finish()
        assert read_run(run.path).hparams == {"lr": 0.1, "net": {"depth": 3}}
        assert caplog.text == ""

    @pytest.mark.parametrize(
        "kept", [Attributes(), OwnNamespace(lr=0.1, net=Net()), SimpleNamespace(lr=0.1, net=Net())]
    )
    def test_they_are_taken_within_others(self, kept: Any) -> None:
        run = track.start("mnist", {"model": kept})
        run.hparams.update(kept)
        run.finish()
        taken = {"lr": 0.1, "net": {"depth": 3}}
        assert read_run(run.path).hparams == {"model": taken, **taken}

    def test_values_are_what_they_stand_for(self) -> None:
        run = track.start("mnist", {"mode": Mode.FAST, "level": Level.HIGH, Mode.FAST: 1, "queue": deque([1, 2])})
        run.hparams["set"] = {"b", "a", "c"}
        run.finish()
        found = {"mode": "fast", "level": 3, "fast": 1, "queue": [1, 2], "set": ["a", "b", "c"]}
        assert read_run(run.path).hparams == found

    def test_one_value_that_nobody_can_write_does_not_take_the_others_along(self) -> None:
        part = Part()
        part.parts = [Part(whole=part) for _ in range(20)]
        loop: list[Any] = []
        loop.append(loop)
        run = track.start("mnist", {"n": 10**5000, "shared": shared(60), "loop": loop, "part": part, "lr": 0.1})
        run.finish()
        found = read_run(run.path).hparams
        assert (found["lr"], found["loop"]) == (0.1, ["<this list again>"])
        assert found["n"].startswith("0x")
        assert found["shared"] == "<list of more than 524288 values>"
        assert found["part"]["parts"][19] == {"parts": [], "whole": "<this Part again>"}

    def test_an_update_with_what_has_no_fields_is_one_warning(self, caplog: pytest.LogCaptureFixture) -> None:
        run = track.start("mnist")
        run.hparams.update(7)
        run.hparams.update([("lr", 0.1)], depth=3)
        run.finish()
        assert "hparams takes a mapping, a Namespace or a data class, not 7" in caplog.text
        assert read_run(run.path).hparams == {"lr": 0.1, "depth": 3}

    def test_what_has_no_fields_is_one_warning_and_the_run_goes_on(self, caplog: pytest.LogCaptureFixture) -> None:
        run = track.start("mnist", 7)
        run.log({"loss": 1.0})
        run.finish()
        assert "hparams takes a mapping, a Namespace or a data class, not 7" in caplog.text
        assert len(logged(run)) == 1

    def test_many_and_large_values_are_kept_and_what_is_too_large_is_named(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        large = {f"key{number}": "x" * 100_000 for number in range(30)}
        run = track.start("mnist", {**large, "prompt": "y" * (2 << 20), "long" * 100: 1})
        run.finish()
        assert read_run(run.path).hparams == {**large, "long" * 100: 1}
        assert "hparams['prompt'] is left out" in caplog.text

    def test_values_have_a_limit_together_and_what_is_above_it_is_named(self, caplog: pytest.LogCaptureFixture) -> None:
        run = track.start("mnist")
        for number in range(18):
            run.summary[f"key{number:02}"] = "x" * 1_000_000
        run.summary["key00"] = "small"
        run.summary["last"] = "y" * 900_000
        run.finish()
        kept = read_run(run.path).summary
        assert sorted(kept) == [*(f"key{number:02}" for number in range(16)), "last"]
        assert "summary['key16'] is left out: a value has at most 1 MiB, all values together 16 MiB" in caplog.text

    def test_a_namespace_is_taken(self) -> None:
        run = track.start("mnist")
        run.hparams = argparse.Namespace(lr=0.1, device=object)
        run.flush()
        assert read_run(run.path).hparams == {"lr": 0.1, "device": "<class 'object'>"}
        run.finish()
