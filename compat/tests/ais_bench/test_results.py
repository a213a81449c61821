"""Results by the book, and what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from ais_bench_stubs import results
from ais_bench_stubs.config import InvalidConfig, read_shell, read_stubs
from ais_bench_stubs.training import set_single_server


def reader(files: dict[str, str]) -> results.Read:
    def read(name: str) -> str:
        if name not in files:
            raise FileNotFoundError(name)
        return files[name]

    return read


class TestResults:
    def test_normal_is_the_sum_over_ranks(self) -> None:
        files = {f"throughput_{rank}.json": "112.5" for rank in range(4)} | {"accuracy.json": "0.76"}
        found = results.normal(reader(files), num_ranks=4)
        assert (found.throughput, found.accuracy) == (450.0, 0.76)
        assert found.lines[-2:] == ["report result total_throughput : 450.0", "report result accuracy:0.76"]

    def test_single_servers_is_the_mean_of_sums(self) -> None:
        files = {f"{server}/throughput_{rank}.json": str(10 * (server + 1)) for server in (0, 1) for rank in (0, 1)}
        files |= {"accuracy_0.json": "0.5", "1/accuracy_1.json": "0.7"}
        found = results.single_servers(reader(files), num_servers=2, per_server=2)
        assert found.throughput == 30.0
        assert found.lines[-2] == "report >> throughput_list:[20.0, 40.0] average:30.0"

    def test_a_missing_rank_is_named(self) -> None:
        files = {"throughput_0.json": "1", "accuracy.json": "1"}
        with pytest.raises(results.MissingResult, match=r"rank 1 left no throughput_1\.json"):
            results.normal(reader(files), num_ranks=2)

    def test_what_is_no_number_is_named(self) -> None:
        with pytest.raises(results.MissingResult, match=r"rank 0: throughput_0\.json: expected a number, got 'fast'"):
            results.normal(reader({"throughput_0.json": "fast"}), num_ranks=1)


class TestConfig:
    def test_only_what_the_file_exports_counts(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SINGLESERVER_MODE", "True")
        script = tmp_path / "config.sh"
        script.write_text("#!/bin/bash\nexport PYTHON_COMMAND=python3.7\nexport MODELARTS_VERSION=V2  # the second\n")
        found = read_shell(script)
        assert (found["PYTHON_COMMAND"], found["MODELARTS_VERSION"]) == ("python3.7", "V2")
        assert "SINGLESERVER_MODE" not in found

    def test_a_folder_without_configuration(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidConfig, match=r"no code/config/modelarts_config.py or config/modelarts_config.py"):
            read_stubs(tmp_path)

    @pytest.mark.parametrize(
        ("shell", "python", "told"),
        [
            ("export MODELARTS_VERSION=V3", "", "MODELARTS_VERSION: expected V1 or V2, got 'V3'"),
            ("exit 3", "", "bash cannot read it"),
            ("", "access_config = {}", "expected session_config = ed"),
            ("", "import nothing_of_this_name", "ModuleNotFoundError"),
            (
                "",
                "access_config = {}\nsession_config = {'code_dir': '/b/c/', 'boot_file': '/b/d/train.py'}",
                "boot_file: expected a file below code_dir '/b/c/', got '/b/d/train.py'",
            ),
        ],
    )
    def test_what_is_wrong_is_named(self, tmp_path: Path, shell: str, python: str, told: str) -> None:
        (tmp_path / "code" / "config").mkdir(parents=True)
        (tmp_path / "code" / "config" / "config.sh").write_text(shell)
        (tmp_path / "code" / "config" / "modelarts_config.py").write_text(python)
        with pytest.raises(InvalidConfig, match=told):
            read_stubs(tmp_path)

    def test_single_server_mode_is_written_once_and_taken_back(self, tmp_path: Path) -> None:
        script = tmp_path / "ma-pre-start.sh"
        script.write_text("#!/bin/bash\nexport GLOG_v=3\n")
        for _ in range(2):
            set_single_server(script, is_on=True)
        assert script.read_text() == "#!/bin/bash\nexport GLOG_v=3\nexport SINGLESERVER_MODE=True\n"
        set_single_server(script, is_on=False)
        assert script.read_text() == "#!/bin/bash\nexport GLOG_v=3\n"
