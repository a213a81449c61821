"""What of Ray's files is found, so that jobs do not see it."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.engines.ray.private import of_variables, of_words, private_paths


def config(fields: dict[str, object]) -> str:
    return "--config_list=" + base64.b64encode(json.dumps(fields).encode()).decode()


def test_variables_name_the_token_the_key_and_the_tables(tmp_path: Path) -> None:
    variables = {
        "RAY_AUTH_TOKEN_PATH": "/etc/danlu/ray-token",
        "RAY_TLS_SERVER_KEY": "/etc/ray/tls.key",
        "RAY_TLS_CA_CERT": "/etc/ssl/certs/ca-certificates.crt",
        "RAY_gcs_storage_path": "/var/lib/ray-gcs",
    }
    assert list(of_variables(variables)) == ["/etc/danlu/ray-token", "/etc/ray/tls.key", "/var/lib/ray-gcs"]
    assert list(of_variables({"RAY_AUTH_TOKEN_PATH": "here"})) == []


def test_a_volume_of_kubernetes_is_hidden_whole(tmp_path: Path) -> None:
    """A new token is a new file in it."""
    (tmp_path / "..2026").mkdir()
    (tmp_path / "..2026" / "token").write_text("secret")
    (tmp_path / "..data").symlink_to("..2026")
    (tmp_path / "token").symlink_to("..data/token")
    token = str(tmp_path / "token")
    assert list(of_variables({"RAY_AUTH_TOKEN_PATH": token})) == [token, str(tmp_path)]


@pytest.mark.parametrize("folders", ["/spill", ["/spill", 5]])
def test_words_of_daemons_name_sessions_sockets_and_settings(folders: object) -> None:
    spilling = json.dumps({"type": "filesystem", "params": {"directory_path": folders}})
    words = ["--temp_dir=/data/ray", "--raylet_socket_name=/run/ray/raylet", "--plasma_directory=/dev/shm"]
    settings = config({"gcs_storage_path": "/var/lib/gcs", "object_spilling_config": spilling})
    assert list(of_words([*words, settings])) == ["/data/ray", "/run/ray/raylet", "/var/lib/gcs", "/spill"]


@pytest.mark.parametrize("word", ["--config_list=", "--config_list=!", config({"object_spilling_config": "[]"})])
def test_settings_that_cannot_be_read_name_nothing(word: str) -> None:
    assert list(of_words([word])) == []


@pytest.fixture
def head(tmp_path: Path) -> Iterator[None]:
    """A process that looks like Ray's head of somebody who set its tables in another shell."""
    script = "import os, sys; os.write(1, b'x'); sys.stdin.read()"
    daemon = tmp_path / "gcs_server"
    daemon.symlink_to(sys.executable)
    env = {**os.environ, "RAY_gcs_storage_path": "/srv/tables"}
    with subprocess.Popen(
        [daemon, "-c", script, "--session-dir=/srv/ray/session_1"],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        yield
        process.send_signal(signal.SIGKILL)


@pytest.mark.usefixtures("head")
def test_a_head_on_this_machine_says_where_its_tables_are() -> None:
    found = set(map(str, private_paths("/srv/other/session_2")))
    assert {"/srv/tables", "/srv/ray/session_1", "/srv/other", "/srv/other/session_2"} <= found
    assert os.path.expanduser("~/.ray") in found


def test_folders_that_hold_other_things_too_are_not_hidden() -> None:
    assert not {"/", "/tmp"} & set(map(str, private_paths("/tmp/session_2")))
