"""Endpoints of a job: services and ports that users can open while it runs."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

SSH, JUPYTER, TENSORBOARD = "ssh", "jupyter", "tensorboard"
SERVICES = (JUPYTER, TENSORBOARD)
"""Services that Danlu starts in the job when a user opens them."""

READY_FILE = "TENSORBOARD_READY_FILE"
"""Variable of a job: TensorBoard starts once the file that it names exists."""

JUPYTER_PORT, TENSORBOARD_PORT = 28888, 26006
"""Ports of the services in the job's network. Fixed, so that a second instance cannot start."""

JUPYTER_OPTIONS = (
    "--no-browser --allow-root --ip=127.0.0.1 --ServerApp.port_retries=0 --IdentityProvider.token= "
    "--ServerApp.allow_remote_access=True --LabApp.news_url=None "
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate --LabApp.extension_manager=readonly"
)
"""No token: only the gateway reaches it, and authenticates users. No requests to the internet."""

OWN_NETWORK_URL = "http://10.88.255.254:8400"
"""DANLU_URL in a job with a private network. Without one, others on the node can reach its ports on loopback."""

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
