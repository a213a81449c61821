"""What a task uses: the file that stays small, and what device tools say."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from danlu.journal.usage import CELL, HEADER, MOST, NEWEST, OLDER, Cell, Header, pack, pack_header, read_cells, thin
from danlu.journal.usage import read_header as header_of
from danlu.node.measure import device_usage
from danlu.node.measure.usage_file import UsageFile, read_usage

RECORDED = Path(__file__).parent / "recorded"
GIB = 1 << 30


def cell(at: float, cpu: float = 1.0, memory: float = 2.0, seconds: float = 5.0) -> Cell:
    rest = (math.nan,) * 6
    return Cell(at, seconds, (cpu, memory, *rest), (cpu, memory, *rest))


class TestFile:
    def test_a_month_stays_small_and_loses_neither_sums_nor_peaks(self, tmp_path: Path) -> None:
        file = UsageFile(str(tmp_path), every_seconds=5.0)
        num_looks = 5 * MOST
        for number in range(num_looks):
            file.add(cell(5.0 * (number + 1), cpu=number % 2, memory=999.0 if number == 70 else 2.0))
        file.close()
        found = read_usage(str(tmp_path), -1, 0)
        assert found is not None
        cells = list(read_cells(found[2]))
        assert len(found[2]) <= HEADER.size + MOST * CELL.size
        assert len(cells) > NEWEST + OLDER / 2
        assert sum(one.seconds for one in cells) == 5.0 * num_looks
        assert sum(one.seconds * one.means[0] for one in cells) == pytest.approx(2.5 * num_looks, rel=1e-4)
        assert max(one.peaks[1] for one in cells) == 999.0
        assert all(math.isnan(one.means[6]) for one in cells)
        assert [one.seconds for one in cells[-NEWEST:]] == [5.0] * NEWEST
        widths = {one.seconds for one in cells[: -2 * NEWEST]}
        assert max(widths) <= 4 * min(widths), "the beginning of a long job is as good as its middle"
        starts = [one.at - one.seconds for one in cells]
        assert starts[1:] == [one.at for one in cells][:-1], "there is no hole in it"

    def test_who_copies_it_gets_what_is_new_or_all_of_another_generation(self, tmp_path: Path) -> None:
        file = UsageFile(str(tmp_path), every_seconds=5.0)
        for number in range(MOST):
            file.add(cell(float(number)))
        generation, offset, data = read_usage(str(tmp_path), -1, 0) or (9, 9, b"")
        assert (generation, offset, len(data)) == (0, 0, HEADER.size + MOST * CELL.size)
        assert read_usage(str(tmp_path), 0, len(data)) == (0, len(data), b"")
        file.add(cell(float(MOST)))
        assert (read_usage(str(tmp_path), 0, len(data)) or ())[:2] == (1, 0)
        file.close()
        assert read_usage(str(tmp_path / "nowhere"), 0, 0) is None

    def test_a_full_disk_loses_cells_and_nothing_else(self, tmp_path: Path) -> None:
        file = UsageFile(str(tmp_path), every_seconds=5.0)
        os.dup2(os.open("/dev/full", os.O_WRONLY), file._file)
        file.add(cell(1.0))
        file.close()

    def test_the_form_of_old_files_is_read_for_ever(self) -> None:
        data = (Path(__file__).parent / "recorded" / "use-1.bin").read_bytes()
        assert header_of(data) == Header(3, 5.0)
        assert [one.at for one in read_cells(data)] == [1700000005.0, 1700000010.0]
        assert data == pack_header(Header(3, 5.0)) + b"".join(pack(cell(1.7e9 + at, 0.5, 1024.0)) for at in (5, 10))

    def test_what_is_another_file_is_said_to_be(self) -> None:
        for data in (b"", b"x" * HEADER.size, b"DLUS\x02\x00" + b"\0" * HEADER.size):
            with pytest.raises(ValueError, match="what a task uses"):
                header_of(data)

    def test_few_cells_are_left_as_they_are(self) -> None:
        cells = [cell(float(number)) for number in range(100)]
        assert thin(cells) == cells


class TestDevices:
    def test_npu_smi(self) -> None:
        text = (RECORDED / "npu-smi-910b.txt").read_text()
        held = 3355 << 20
        assert device_usage.parse_npu_smi(text) == {"npu:0": (0.0, held), "npu:1": (0.0, held)}
        busy = text.replace("0000:C1:00.0  | 0  ", "0000:C1:00.0  | 87 ")
        assert device_usage.parse_npu_smi(busy)["npu:0"] == (0.87, held)

    def test_npu_smi_of_old_and_of_new_machines(self) -> None:
        old = device_usage.parse_npu_smi((RECORDED / "npu-smi-910a.txt").read_text())
        assert {name: value[1] >> 20 for name, value in old.items()} == {
            "npu:0": 591,
            "npu:1": 1129,
            "npu:2": 1129,
            "npu:3": 2103,
        }
        new = device_usage.parse_npu_smi((RECORDED / "npu-smi-a3.txt").read_text())
        assert sorted(new) == ["npu:0", "npu:1", "npu:2", "npu:3"]
        assert new["npu:3"] == (0.0, 2895 << 20)

    def test_nvidia_smi(self) -> None:
        assert device_usage.parse_nvidia_smi("0, 87, 34120\n1, [N/A], 0\nno devices\n") == {
            "gpu:0": (0.87, 34120 << 20)
        }

    def test_one_asks_for_all_and_another_one_ends_at_once(self, tmp_path: Path) -> None:
        tools = tmp_path / "bin"
        tools.mkdir()
        tool = tools / "npu-smi"
        tool.write_text(f"#!/bin/sh\necho asked >> {tmp_path}/asked\ncat {RECORDED}/npu-smi-910b.txt\n")
        tool.chmod(0o755)
        target = tmp_path / "use.json"
        argv = [sys.executable, "-I", "-S", device_usage.__file__, str(target)]
        for _ in range(2):
            subprocess.run(argv, env={"PATH": f"{tools}:{os.environ['PATH']}"}, check=True)
        assert json.loads(target.read_text())["npu:1"] == [0.0, 3355 << 20]
        assert (tmp_path / "asked").read_text() == "asked\n"
