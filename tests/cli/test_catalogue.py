"""`danlu admin catalogue`: names of another platform, loaded with one command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from danlu.client.cluster import catalogues
from danlu.errors import InvalidInput
from danlu.testing.serving import RunningServer


def admin(server: RunningServer, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "DANLU_URL": server.url, "DANLU_API_KEY": server.api_key, "LC_ALL": "C.UTF-8"}
    command = [sys.executable, "-m", "danlu", "admin", "catalogue", *words]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def test_ti_one_is_loaded_once_and_again(make_server: Callable[..., RunningServer], tmp_path: Path) -> None:
    server = make_server("--simulate", "gpu:v100:2", "--no-sandbox", "--no-own-network")
    done = admin(server, "load", "ti-one", "--devices-only")
    assert done.returncode == 0, done.stderr
    assert "added flavor TI.GN10.2XLARGE40.POST" in done.stdout
    with server.client() as client:
        flavor = client.flavors.get("TI.GN10.2XLARGE40.POST")
        assert (flavor.device, str(flavor.price_per_hour), flavor.num_total) == ("gpu:v100:1", "18.4008", 2)
        assert str(client.frameworks.get("torch1.9.0-py38-cu111").purpose) == "inference"
        again = admin(server, "load", "ti-one", "--device", "npu:910b")
        assert "changed flavor TI.GN10.2XLARGE40.POST" in again.stdout
        changed = client.flavors.get("TI.GN10.2XLARGE40.POST")
        assert (changed.device, changed.cpus) == ("npu:910b:1", 8)
        assert client.flavors.get("TI.S.MEDIUM.POST").device == "cpu:1"
        own = tmp_path / "own.yml"
        own.write_text(admin(server, "show", "ti-one").stdout.replace("TI.S.", "OUR.S."))
        assert "added flavor OUR.S.MEDIUM.POST" in admin(server, "load", str(own)).stdout
        assert client.flavors.get("OUR.S.LARGE.POST").cpus == 4


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "expected a catalogue with flavors and frameworks"),
        ("machines: []", "expected a catalogue with flavors and frameworks"),
        ("flavors: {}", "flavors: expected a list"),
        ("flavors: [{name: a}, {name: a}]", "flavors 2: 'a' appears twice"),
        ("flavors: [{name: a, price: 3}]", "flavors 1: price: "),
        ("frameworks: [{name: a, launch: [x]}]", "frameworks 1: launch"),
        ("a: [", "not valid YAML"),
    ],
)
def test_a_catalogue_that_cannot_be_used(text: str, told: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        catalogues.parse(text)
    assert told in caught.value.message


def test_a_name_that_is_none() -> None:
    with pytest.raises(InvalidInput, match=r"no catalogue and no file 'ti-two'.*ti-one"):
        catalogues.read_text("ti-two")
