"""Endpoints of a job: what people reach in it while it runs."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

SSH, JUPYTER, TENSORBOARD = "ssh", "jupyter", "tensorboard"
SERVICES = (JUPYTER, TENSORBOARD)
"""Programs that Danlu starts in the job when they are opened."""

READY_FILE = "TENSORBOARD_READY_FILE"
"""Variable of a job: TensorBoard starts when the file that it names is there."""

JUPYTER_PORT, TENSORBOARD_PORT = 28888, 26006
"""Where they listen in the network of the job. Fixed: what keeps a second one from starting."""

JUPYTER_OPTIONS = (
    "--no-browser --allow-root --ip=127.0.0.1 --ServerApp.port_retries=0 --IdentityProvider.token= "
    "--ServerApp.allow_remote_access=True --LabApp.news_url=None "
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate --LabApp.extension_manager=readonly"
)
"""Without a token: only the proxy reaches it, and lets nobody else in. Without anything that asks the internet."""

OWN_NETWORK_URL = "http://10.88.255.254:8400"
"""DANLU_URL in a job whose network is its own. Elsewhere others reach its ports on loopback."""

MAX_ENDPOINTS = 20
_EXPECTED = "expected ssh, jupyter, tensorboard or a port from 1 to 65535"


def check_endpoint(value: object) -> str:
    """Return the name of an endpoint: a service, or a port as text. Raise ValueError."""
    if isinstance(value, str) and value in (SSH, *SERVICES):
        return value
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not (text.isascii() and text.isdigit() and len(text) <= 5):
        raise ValueError(f"{_EXPECTED}, got {value!r}"[:200])
    if text.startswith("0") or int(text) > 65535:
        raise ValueError(f"{_EXPECTED}, got {value!r}")
    return text


def _each_once(endpoints: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(endpoints))


EndpointName = Annotated[str, BeforeValidator(check_endpoint)]
EndpointNames = Annotated[tuple[EndpointName, ...], Field(max_length=MAX_ENDPOINTS), AfterValidator(_each_once)]
