"""The command line. Exit codes are those of AIS-Bench: 0 ok, 1 configuration, 2 training, 4 results."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn, Optional

from ais_bench_stubs.config import InvalidConfig, read_stubs
from ais_bench_stubs.record import keep, record, report
from ais_bench_stubs.results import MissingResult, Result
from ais_bench_stubs.training import Training, TrainingFailed
from danlu.errors import DanluError
from danlu.spec.units import parse_duration

OK, INIT_FAILED, TRAIN_FAILED, RESULT_FAILED = 0, 1, 2, 4
INTERRUPTED = 130


def main(argv: Optional[Sequence[str]] = None) -> NoReturn:
    parser = argparse.ArgumentParser(prog="ais-bench-stubs", description="AIS-Bench's stubs on Danlu")
    parser.add_argument("action", choices=["test", "stop"], help="run the configured training, or stop it")
    parser.add_argument("--folder", type=Path, default=Path(), help="the unpacked package; default: this folder")
    parser.add_argument("--timeout", default="7d", help="stop the training after this time; default: 7d")
    told = parser.parse_args(argv)
    try:
        limit_seconds = parse_duration(told.timeout)
    except ValueError as error:
        parser.error(f"--timeout: {error}")
    sys.exit(run(told.action, told.folder, limit_seconds=limit_seconds))


def run(action: str, folder: Path, *, limit_seconds: float) -> int:
    try:
        training = Training(read_stubs(folder), _say)
        if action == "stop":
            training.stop()
            return OK
    except (InvalidConfig, DanluError) as error:
        return _fail(str(error), INIT_FAILED)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return _test(training, folder, limit_seconds=limit_seconds)
    except TimeoutError as error:
        training.stop()
        return _fail(f"{error}; it was stopped after {limit_seconds:g} s", TRAIN_FAILED)


def _test(training: Training, folder: Path, *, limit_seconds: float) -> int:
    began = datetime.now()
    try:
        training.start()
        training.follow(limit_seconds=limit_seconds)
        found = training.result()
    except KeyboardInterrupt:
        training.stop()
        return INTERRUPTED
    except TrainingFailed as error:
        return _fail(str(error), TRAIN_FAILED)
    except MissingResult as error:
        return _fail(str(error), RESULT_FAILED)
    except DanluError as error:
        return _fail(error.message, TRAIN_FAILED)
    for line in found.lines:
        _say(line)
    told = record(found, began, datetime.now())
    keep(folder, found, told)
    return _report(training, found, told)


def _report(training: Training, found: Result, told: dict[str, Any]) -> int:
    """Report the record to the Tester, if one is configured; return the exit code."""
    assert training.job is not None
    try:
        place = report(told, found, job=training.job, suite=training.name, who=training.who)
    except DanluError as error:
        return _fail(f"the Tester did not take the record: {error.message}", RESULT_FAILED)
    if place is not None:
        _say(f"reported to the Tester: {place}")
    return OK


def _fail(message: str, code: int) -> int:
    sys.stderr.write(f"ais-bench-stubs: {message}\n")
    return code


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
