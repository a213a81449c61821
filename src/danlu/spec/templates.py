"""Defaults for new jobs: templates, and presets for users of other platforms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

from danlu.errors import InvalidInput, InvalidSpec
from danlu.spec.job import Contract, LaunchMode, Processes, parse_job
from danlu.spec.sentences import suggestion


def check_template(values: Mapping[str, Any]) -> dict[str, Any]:
    """Validate the fields of a template; name and command may be omitted.

    Raise InvalidSpec with one message per invalid field.
    """
    given = {name: value for name, value in values.items() if value is not None}
    if given.get("secrets"):
        raise _bad("secrets", "a template cannot contain secrets, because others can read it; give them at submission")
    blanks = {"name": "template", **({} if given.get("roles") else {"command": "true"})}
    spec = parse_job({**blanks, **given})
    if spec.code is not None and spec.code.path is not None:
        raise _bad("code.path", f"expected a repository or a folder in the store, got the folder {spec.code.path!r}")
    return spec.model_dump(mode="json", include=set(given) - {"secrets"})


def preset(platform: str, device: Optional[str]) -> dict[str, str]:
    """Return launch mode, contract and processes for scripts of a platform on a device type.

    The mode is `ascend` for NPUs, except on TI-ONE, and `ddp` for everything else.
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


def _bad(field: str, problem: str) -> InvalidSpec:
    return InvalidSpec(f"{field}: {problem}", fields={field: problem})
