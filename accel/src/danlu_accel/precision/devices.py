"""The low precision that suits a device."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


@dataclass(frozen=True)
class LowPrecision:
    """The type to use, None if full precision is faster, and the reason."""

    dtype: torch.dtype | None
    reason: str

    @property
    def needs_scaler(self) -> bool:
        """fp16's small exponent underflows without loss scaling; bf16 has the exponent of float32."""
        return self.dtype == torch.float16


def choose_dtype(device_type: str, cpu_flags: Iterable[str] | None = None) -> LowPrecision:
    """Return the low precision for a device. `cpu_flags`: None for those of this machine."""
    if device_type == "cuda":
        if torch.cuda.is_available() and torch.cuda.is_bf16_supported():
            return LowPrecision(torch.bfloat16, "this GPU computes in bf16")
        return LowPrecision(torch.float16, "this GPU computes in fp16, not in bf16")
    if device_type != "cpu":
        return LowPrecision(torch.bfloat16, f"bf16 is the default on {device_type}")
    flags = set(read_cpu_flags() if cpu_flags is None else cpu_flags)
    for flag, name in (("amx_bf16", "AMX"), ("avx512_bf16", "AVX512-BF16"), ("bf16", "Arm BF16")):
        if flag in flags:
            return LowPrecision(torch.bfloat16, f"this CPU has {name}")
    return LowPrecision(None, "this CPU has no bf16 instructions: bf16 would be slower than float32")


def require_sensible(dtype: torch.dtype, device_type: str, model: nn.Module) -> None:
    """Raise ValueError for a combination that would be hundreds of times slower."""
    if device_type == "cpu" and dtype == torch.float16:
        for name, module in model.named_modules():
            if isinstance(module, CONVOLUTIONS):
                raise ValueError(
                    f"{name or 'the model'} is a convolution, and fp16 convolutions on a CPU train about 300 times "
                    "slower than float32; use torch.bfloat16"
                )


def read_cpu_flags(path: str = "/proc/cpuinfo") -> set[str]:
    """Return the flags of the first core; empty if the system does not report them."""
    try:
        text = Path(path).read_text()
    except OSError:
        return set()
    for line in text.splitlines():
        name, _, flags = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return set(flags.split())
    return set()
