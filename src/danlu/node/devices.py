"""Find the accelerators of a machine: NVIDIA's through NVML, Ascend's through npu-smi and hccn_tool.

Parsers are pure functions of text, so that they can be tested with recorded output. Without the tools, devices are
counted by the kernel's device files.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple, Optional

TOOL_SECONDS = 10.0
HCCN_CONF = "/etc/hccn.conf"
SICK = ("alarm", "critical", "unknown", "ua")
"""Health values of npu-smi for NPUs that no job should get."""

_NAME_BYTES = 96
_GPU_FIELDS = "index,uuid,name"


class Found(NamedTuple):
    type: str
    model: Optional[str]
    id: int
    ip: Optional[str] = None
    """IP address of the device's own network interface."""

    uuid: Optional[str] = None
    super_pod: Optional[str] = None
    """Id of its super pod; `super_device` is its number in it."""

    super_device: Optional[str] = None


class Inventory(NamedTuple):
    devices: list[Found]
    problems: list[str]
    """Sentences about devices that exist and cannot be used."""


def find_devices(dev: str = "/dev") -> Inventory:
    """Return the accelerators of this machine."""
    names = [path.name for path in Path(dev).iterdir()] if Path(dev).is_dir() else []
    gpus = nvml_gpus() or parse_nvidia_smi(say("nvidia-smi", f"--query-gpu={_GPU_FIELDS}", "--format=csv,noheader"))
    if not gpus:
        gpus = [Found("gpu", None, number) for number in _numbers(names, "nvidia")]
    npus, problems = parse_npu_smi(say("npu-smi", "info"))
    if not npus and not problems:
        npus = [Found("npu", None, number) for number in _numbers(names, "davinci")]
    ips = npu_ips([npu.id for npu in npus])
    return Inventory([*gpus, *(in_super_pod(npu._replace(ip=ips.get(npu.id))) for npu in npus)], problems)


def in_super_pod(npu: Found) -> Found:
    """Add the super pod of an NPU. Only an Atlas A3, whose boards have two chips each, can be part of one."""
    if npu.model != "910c":
        return npu
    board, chip = divmod(npu.id, 2)
    told = parse_spod_info(say("npu-smi", "info", "-t", "spod-info", "-i", str(board), "-c", str(chip)))
    return npu if told is None else npu._replace(super_pod=told[0], super_device=told[1])


def nvml_gpus() -> list[Found]:
    """Query NVML, which comes with the driver; empty when it is not installed or finds no GPU."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return []
    count = ctypes.c_uint(0)
    if nvml.nvmlInit_v2() != 0:
        return []
    try:
        if nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
            return []
        found = [_nvml_gpu(nvml, index) for index in range(count.value)]
    finally:
        nvml.nvmlShutdown()
    return [gpu for gpu in found if gpu is not None]


def _nvml_gpu(nvml: ctypes.CDLL, index: int) -> Optional[Found]:
    handle, minor = ctypes.c_void_p(), ctypes.c_uint(index)
    if nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(handle)) != 0:
        return None
    texts = []
    for ask in (nvml.nvmlDeviceGetName, nvml.nvmlDeviceGetUUID):
        text = ctypes.create_string_buffer(_NAME_BYTES)
        texts.append(text.value.decode() if ask(handle, text, ctypes.c_uint(_NAME_BYTES)) == 0 else "")
    # the number of the device file, which may differ from the index
    nvml.nvmlDeviceGetMinorNumber(handle, ctypes.byref(minor))
    return Found("gpu", model_name(texts[0]), minor.value, uuid=texts[1] or None)


def parse_nvidia_smi(text: str) -> list[Found]:
    """Parse the output of `--query-gpu=index,uuid,name --format=csv,noheader`."""
    found = []
    for line in text.splitlines():
        parts = [part.strip() for part in line.split(",", 2)]
        if len(parts) == 3 and parts[0].isdigit() and parts[1].startswith("GPU-"):
            found.append(Found("gpu", model_name(parts[2]), int(parts[0]), uuid=parts[1]))
    return found


def parse_npu_smi(text: str) -> tuple[list[Found], list[str]]:
    """Parse the table of `npu-smi info`: two rows per chip. Newer versions include the physical id."""
    found: list[Found] = []
    problems: list[str] = []
    has_physical_ids = "Phy-ID" in text
    first: Optional[tuple[int, str, str]] = None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        words = cells[0].split() if line.lstrip().startswith("|") else []
        if len(cells) < 3 or not words or not words[0].isdigit():
            continue
        if re.match(r"[0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:", cells[1]) and first is not None:
            npu, model, health = first
            if has_physical_ids and model == "910":
                model = "910c"  # Atlas A3: a board has two chips, and the table names only the board
            number = int(words[1]) if has_physical_ids and len(words) > 1 and words[1].isdigit() else npu
            if health.lower() in SICK:
                problems.append(f"npu {number} is not given to jobs: npu-smi calls its health {health}")
            else:
                found.append(Found("npu", model, number))
            first = None
        elif len(words) > 1:
            first = int(words[0]), model_name(words[1]) or "", cells[1]
    return _once(found), problems


def parse_hccn_tool(text: str) -> Optional[str]:
    """Parse the output of `hccn_tool -i N -ip -g`."""
    found = re.search(r"^\s*ipaddr\s*:\s*([0-9A-Fa-f.:]+)\s*$", text, re.MULTILINE)
    return found[1] if found else None


def parse_spod_info(text: str) -> Optional[tuple[str, str]]:
    """Parse the output of `npu-smi info -t spod-info`: (id of the super pod, number of the chip in it)."""
    pod = re.search(r"^\s*Super Pod ID\s*:\s*(\d+)\s*$", text, re.MULTILINE)
    device = re.search(r"^\s*SDID\s*:\s*(\d+)\s*$", text, re.MULTILINE)
    return (pod[1], device[1]) if pod and device else None


def parse_hccn_conf(text: str) -> dict[int, str]:
    """Parse /etc/hccn.conf: device -> address."""
    return {
        int(number): ip for number, ip in re.findall(r"^\s*address_(\d+)\s*=\s*([0-9A-Fa-f.:]+)", text, re.MULTILINE)
    }


def npu_ips(numbers: list[int]) -> dict[int, str]:
    """Addresses of the NPUs' own network interfaces, if known."""
    if not numbers:
        return {}
    found = {}
    with contextlib.suppress(OSError):
        found = parse_hccn_conf(Path(HCCN_CONF).read_text())
    for number in numbers:
        told = parse_hccn_tool(say("hccn_tool", "-i", str(number), "-ip", "-g"))
        if told is not None:
            found[number] = told
    return found


def model_name(text: str) -> Optional[str]:
    """The model's name as in job files: `NVIDIA A100-SXM4-80GB` -> `a100-sxm4-80gb`, `Ascend910B3` -> `910b3`."""
    plain = re.sub(r"\s+", "-", text.strip().lower())
    return re.sub(r"^(nvidia-|ascend)", "", plain) or None


def say(program: str, *words: str) -> str:
    """Output of a tool; empty when it is missing, fails or times out."""
    path = shutil.which(program)
    if path is None:
        return ""
    try:
        done = subprocess.run(
            [path, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=TOOL_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace") if done.returncode == 0 else ""


def _numbers(names: list[str], prefix: str) -> list[int]:
    return sorted(int(name[len(prefix) :]) for name in names if re.fullmatch(rf"{prefix}\d+", name))


def _once(found: list[Found]) -> list[Found]:
    """Renumber devices if numbers repeat, as on boards with several chips when there are no physical ids."""
    if len({device.id for device in found}) == len(found):
        return found
    return [device._replace(id=index) for index, device in enumerate(found)]
