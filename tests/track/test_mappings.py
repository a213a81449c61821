"""Hyperparameters and summary of a run: whatever users keep them in, and their limits."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any, NamedTuple

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
        "kept", [argparse.Namespace(lr=0.1, net={"depth": 3}), Settings(), Pair(0.1, {"depth": 3}), Plain()]
    )
    def test_what_people_keep_hyperparameters_in_is_taken_by_start(
        self, kept: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        run = track.start("mnist", kept)
        run.log({"loss": 1.0})
        run.finish()
        assert read_run(run.path).hparams == {"lr": 0.1, "net": {"depth": 3}}
        assert caplog.text == ""

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
