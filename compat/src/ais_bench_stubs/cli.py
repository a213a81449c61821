"""The command. Exit codes are those of AIS-Bench: 0 ok, 1 configuration, 2 training, 4 results."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn, Optional

from ais_bench_stubs.config import InvalidConfig, read_stubs
from ais_bench_stubs.results import MissingResult, Result
from ais_bench_stubs.training import Training, TrainingFailed
from danlu.errors import DanluError

OK, INIT_FAILED, TRAIN_FAILED, RESULT_FAILED = 0, 1, 2, 4
INTERRUPTED = 130


def main(argv: Optional[Sequence[str]] = None) -> NoReturn:
    parser = argparse.ArgumentParser(prog="ais-bench-stubs", description="AIS-Bench's stubs on Danlu")
    parser.add_argument("action", choices=["test", "stop"], help="run the configured training, or stop it")
    parser.add_argument("--folder", type=Path, default=Path(), help="the unpacked package; default: this folder")
    told = parser.parse_args(argv)
    sys.exit(run(told.action, told.folder))


def run(action: str, folder: Path) -> int:
    try:
        training = Training(read_stubs(folder), _say)
        if action == "stop":
            training.stop()
            return OK
    except (InvalidConfig, DanluError) as error:
        return _fail(str(error), INIT_FAILED)
    signal.signal(signal.SIGTERM, _interrupt)
    return _test(training, folder)


def _test(training: Training, folder: Path) -> int:
    began = datetime.now()
    try:
        training.start()
        training.follow()
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
    _write_record(folder, found, began)
    return OK


def record(found: Result, began: datetime, ended: datetime) -> dict[str, Any]:
    """The record that a Tester takes."""
    times = {"start_time": f"{began:%Y-%m-%d %H:%M:%S}", "end_time": f"{ended:%Y-%m-%d %H:%M:%S}"}
    return {
        "train_result_info": {
            "accuracy": str(found.accuracy),
            "throughput_ratio": str(found.throughput),
            "average_power": 0,
            "max_power": 0,
            "energy_consumption": 0,
            "efficientcy": 0,
            "resource_util_ratio": 0,
            **{f"{part}_{name}": value for part in ("proc", "total") for name, value in times.items()},
        }
    }


def _write_record(folder: Path, found: Result, began: datetime) -> None:
    target = folder / "result"
    target.mkdir(exist_ok=True)
    text = json.dumps(record(found, began, datetime.now()), indent=1)
    (target / "result.json").write_text(text + "\n", encoding="utf-8")
    numbers = {"throughput_ratio": found.throughput, "accuracy": found.accuracy}
    (target / "result.log").write_text(json.dumps(numbers) + "\n", encoding="utf-8")


def _fail(message: str, code: int) -> int:
    sys.stderr.write(f"ais-bench-stubs: {message}\n")
    return code


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
