"""`danlu ranktable`, without a server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from danlu.launch.ranktable import RankedDevice, RankTable, Server, check, write_a, write_c

if TYPE_CHECKING:
    from tests.cli.conftest import Said

TABLE = RankTable(
    tuple(Server(f"10.0.0.{9 + k}", f"job-{k}", (RankedDevice(0, f"192.168.{k}.8", k),)) for k in range(2))
)


class TestCheck:
    def test_a_good_table(self, offline: Callable[..., Said], alone: Path) -> None:
        (alone / "hccl.json").write_text(write_a(TABLE))
        assert offline("ranktable", "check", "hccl.json") == (0, "hccl.json: valid\n", "")

    def test_one_line_for_each_fault_and_1(self, offline: Callable[..., Said], alone: Path) -> None:
        values = json.loads(write_a(TABLE))
        values["server_count"] = 2
        values["server_list"][1]["device"][0]["rank_id"] = "0"
        (alone / "hccl.json").write_text(json.dumps(values))
        said = offline("ranktable", "check", "hccl.json")
        assert (said.code, said.err) == (1, "")
        assert said.out.splitlines() == [
            'server_count: 2; every value must be a string; expected "2" in quotes',
            'server_list[1].device[0].rank_id: "0"; it is listed at server_list[0].device[0].rank_id as well; '
            'expected each of "0" to "1" once',
        ]

    def test_json_for_programs(self, offline: Callable[..., Said], alone: Path) -> None:
        (alone / "hccl.json").write_text("{}")
        said = offline("ranktable", "check", "hccl.json", "--json")
        assert said.code == 1
        assert {"path": "status", "value": "missing", "right": 'expected "completed"'} in json.loads(said.out)

    def test_a_file_that_cannot_be_read(self, offline: Callable[..., Said], alone: Path) -> None:
        assert offline("ranktable", "check", "no.json") == (1, "", "danlu: no.json: No such file or directory\n")
        (alone / "latin.json").write_bytes(b"\xff\xfe")
        assert offline("ranktable", "check", "latin.json").err.startswith("danlu: latin.json is not text in UTF-8")

    def test_a_chip_that_is_not_known(self, offline: Callable[..., Said], alone: Path) -> None:
        (alone / "hccl.json").write_text(write_a(TABLE))
        said = offline("ranktable", "check", "hccl.json", "--chip", "920")
        assert said.code == 2
        assert "--chip: expected one of 910, 910b, got '920'" in " ".join(said.err.split())


class TestConvert:
    def test_to_a_file_and_to_the_screen(self, offline: Callable[..., Said], alone: Path) -> None:
        (alone / "jobstart_hccl.json").write_text(write_c(TABLE))
        assert offline("ranktable", "convert", "jobstart_hccl.json", "-o", "hccl.json") == (0, "", "")
        made = (alone / "hccl.json").read_text()
        assert check(made) == []
        assert offline("ranktable", "convert", "jobstart_hccl.json").out == made == write_a(TABLE)

    def test_a_faulty_table_is_not_converted(self, offline: Callable[..., Said], alone: Path) -> None:
        (alone / "jobstart_hccl.json").write_text("{}")
        said = offline("ranktable", "convert", "jobstart_hccl.json", "-o", "hccl.json")
        assert said.code == 1
        assert "danlu: status: missing" in said.err
        assert not (alone / "hccl.json").exists()

    def test_a_name_that_hccl_would_not_open(self, offline: Callable[..., Said], alone: Path) -> None:
        (alone / "jobstart_hccl.json").write_text(write_c(TABLE))
        assert "ends in .json" in offline("ranktable", "convert", "jobstart_hccl.json", "-o", "table").err
