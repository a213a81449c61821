"""Job fields for users of other platforms, where these are implied."""

from __future__ import annotations

from typing import Optional

from danlu.errors import InvalidInput
from danlu.spec.job import Contract, LaunchMode, Processes
from danlu.spec.sentences import suggestion


def preset(platform: str, device: Optional[str]) -> dict[str, str]:
    """Return launch mode, contract and processes for scripts of a platform on such devices.

    NPUs get their rank tables, everything else the variables of PyTorch.
    """
    if platform not in [contract.value for contract in Contract]:
        known = [contract.value for contract in Contract]
        raise InvalidInput(f"expected one of {', '.join(known)}, got {platform!r}{suggestion(platform, known)}")
    is_npu = "npu" in (device or "").partition(":")[0].lower()
    is_ascend = is_npu and platform != Contract.TIONE
    chosen = {"contract": platform, "launch": (LaunchMode.ASCEND if is_ascend else LaunchMode.DDP).value}
    if is_ascend and platform == Contract.MODELARTS:
        chosen["processes"] = Processes.PER_DEVICE.value
    return chosen
