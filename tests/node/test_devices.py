"""Devices from what tools print. The outputs are recordings of others: see recorded/README.md."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from danlu.node import devices
from danlu.node.devices import Found, parse_hccn_conf, parse_hccn_tool, parse_npu_smi, parse_nvidia_smi, parse_spod_info

RECORDED = Path(__file__).with_name("recorded")
FAKE_NVML = """
#include <string.h>
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **h) { *h = (void *)(long)(i + 1); return 0; }
int nvmlDeviceGetName(void *h, char *s, unsigned n) { strncpy(s, "NVIDIA H100 80GB HBM3", n); return 0; }
int nvmlDeviceGetUUID(void *h, char *s, unsigned n) { strncpy(s, h == (void *)1 ? "GPU-a" : "GPU-b", n); return 0; }
int nvmlDeviceGetMinorNumber(void *h, unsigned *m) { *m = h == (void *)1 ? 1 : 0; return 0; }
"""


def recorded(name: str) -> str:
    return (RECORDED / name).read_text()


class TestNpuSmi:
    def test_one_chip_for_each_npu(self) -> None:
        found, problems = parse_npu_smi(recorded("npu-smi-910a.txt"))
        assert found == [Found("npu", "910a", number) for number in range(3)]
        assert problems == ["npu 3 is not given to jobs: npu-smi calls its health Alarm"]

    def test_the_list_of_processes_holds_no_devices(self) -> None:
        assert parse_npu_smi(recorded("npu-smi-910b.txt")) == ([Found("npu", "910b3", 0), Found("npu", "910b3", 1)], [])

    def test_two_chips_for_each_npu_have_physical_ids(self) -> None:
        assert parse_npu_smi(recorded("npu-smi-a3.txt")) == ([Found("npu", "910c", number) for number in range(4)], [])

    def test_two_chips_without_physical_ids_are_counted_through(self) -> None:
        text = recorded("npu-smi-a3.txt").replace("Phy-ID", "      ")
        assert [device.id for device in parse_npu_smi(text)[0]] == [0, 1, 2, 3]

    @pytest.mark.parametrize("text", ["", "dcmi module initialize failed. ret is -8005", "| 0 |\n| x | y | z |"])
    def test_anything_else_is_no_device(self, text: str) -> None:
        assert parse_npu_smi(text) == ([], [])


def test_addresses_of_npus() -> None:
    assert parse_hccn_tool(recorded("hccn-tool.txt")) == "29.1.112.213"
    assert parse_hccn_tool("Command execute failed!") is None
    assert parse_hccn_conf(recorded("hccn.conf")) == {0: "192.168.100.101", 1: "192.168.101.101"}


def test_nvidia_smi() -> None:
    assert parse_nvidia_smi(recorded("nvidia-smi.csv")) == [
        Found("gpu", "a100-sxm4-80gb", 0, uuid="GPU-22b2c6ac-2d49-4863-197c-9c469071178a"),
        Found("gpu", "tesla-v100-sxm2-16gb", 1, uuid="GPU-5f3c1a70-8a14-4d6b-9a52-0c3f62a1be11"),
    ]
    assert parse_nvidia_smi("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.") == []


def found_by_a_process(env: dict[str, str]) -> list[dict[str, object]]:
    """Libraries and programs are looked for as they would be at a server's start."""
    script = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); from danlu.node.devices import find_devices;"
        "print(json.dumps([device._asdict() for device in find_devices('/nowhere').devices]))"
    )
    source = str(Path(devices.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", script, source], env={**os.environ, **env}, capture_output=True, text=True, check=True
    )
    found: list[dict[str, object]] = json.loads(done.stdout)
    return found


NO_POD = {"super_pod": None, "super_device": None}


def test_nvml_is_asked_through_its_library(tmp_path: Path) -> None:
    (tmp_path / "nvml.c").write_text(FAKE_NVML)
    library = tmp_path / "libnvidia-ml.so.1"
    subprocess.run(["g++", "-x", "c", "-shared", "-fPIC", "-w", "-o", library, tmp_path / "nvml.c"], check=True)
    assert found_by_a_process({"LD_LIBRARY_PATH": str(tmp_path)}) == [
        {"type": "gpu", "model": "h100-80gb-hbm3", "id": 1, "ip": None, "uuid": "GPU-a", **NO_POD},
        {"type": "gpu", "model": "h100-80gb-hbm3", "id": 0, "ip": None, "uuid": "GPU-b", **NO_POD},
    ]


def test_tools_in_the_path_are_asked(tmp_path: Path) -> None:
    tools = {
        "npu-smi": f'#!/bin/sh\n[ "$1" = info ] && cat {RECORDED}/npu-smi-910b.txt\n',
        "hccn_tool": '#!/bin/sh\n[ "$3 $4" = "-ip -g" ] && echo "ipaddr:192.168.7.$2"\n',
        "nvidia-smi": f"#!/bin/sh\ncat {RECORDED}/nvidia-smi.csv\n",
    }
    for name, text in tools.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    found = found_by_a_process({"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert [(one["type"], one["id"], one["ip"]) for one in found] == [
        ("gpu", 0, None),
        ("gpu", 1, None),
        ("npu", 0, "192.168.7.0"),
        ("npu", 1, "192.168.7.1"),
    ]


def test_chips_of_an_a3_say_their_super_pod(tmp_path: Path) -> None:
    (tmp_path / "npu-smi").write_text(
        f'#!/bin/sh\n[ "$*" = info ] && exec cat {RECORDED}/npu-smi-a3.txt\n'
        'echo "    SDID : $((16777216 + 2 * $5 + $7))"\necho "    Super Pod Size : 384"\n'
        'echo "    Super Pod ID : 3"\necho "    Server Index : 4"\n'
    )
    (tmp_path / "npu-smi").chmod(0o755)
    found = found_by_a_process({"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert [(one["super_pod"], one["super_device"]) for one in found] == [
        ("3", str(16777216 + number)) for number in range(4)
    ]
    assert parse_spod_info("This device does not support querying spod-info.") is None


def test_a_tool_that_fails_or_is_missing_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "npu-smi").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "npu-smi").chmod(0o755)
    assert found_by_a_process({"PATH": str(tmp_path)}) == []


def test_device_files_tell_how_many_there_are(tmp_path: Path) -> None:
    for name in ("nvidia0", "nvidia10", "nvidiactl", "davinci2", "davinci_manager", "sda"):
        (tmp_path / name).touch()
    found = devices.find_devices(str(tmp_path)).devices
    assert found == [Found("gpu", None, 0), Found("gpu", None, 10), Found("npu", None, 2)]
