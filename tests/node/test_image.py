"""Fetching images, with a program that only says what it was told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from danlu.node.image.tool import ImageProblem, _registries
from danlu.node.stage import image as image_script
from danlu.node.supervise.records import IMAGE
from danlu.node.task import TaskElsewhere, TaskImage

PODMAN = """#!/bin/bash
# has the image once it was pulled with the right password, or when it is public
here={here}
echo "$*" >> $here/asked
case "$1 $2" in
  "image inspect")
    [ -e $here/has ] || exit 125
    case "$4" in *Config*) echo '{{"Env": ["A=1", "PATH=/opt/bin"]}}' ;; *) echo sha256:abc ;; esac ;;
  "pull --authfile")
    grep -q "$(printf 'li:right' | base64)" "$3" || {{ echo "Error: unauthorized: access denied" >&2; exit 125; }}
    touch $here/has ;;
  pull*)
    [ -e $here/public ] || {{ echo "Error: initializing source: manifest unknown" >&2; exit 125; }}
    touch $here/has ;;
  create*) echo container ;;
  export*) tar -C $here/files -c . ;;
  rm*) ;;
  *) echo "what is $*" >&2; exit 1 ;;
esac
"""


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    here = tmp_path / "registry"
    (here / "files" / "etc").mkdir(parents=True)
    (here / "files" / "etc" / "passwd").write_text("root:x:0:0::/:/bin/sh\n")
    (here / "podman").write_text(PODMAN.format(here=here))
    (here / "podman").chmod(0o755)
    return here


def fetch(registry: Path, name: str, *, username: str = "", password: str = "") -> dict[str, Any]:
    folder = registry.parent / name
    (folder / "etc").mkdir(parents=True)
    (folder / "etc" / "passwd").write_text("of the machine\ndanlu:x:7:7::/home/danlu:/bin/sh\n")
    image = TaskImage(
        name="r.example/team/torch:2",
        username=username,
        tool=str(registry / "podman"),
        cache=str(registry.parent / "cache"),
        fetch=(),
        root="",
    )
    image_script.fetch(str(folder), image, password, allowed=TaskElsewhere())
    found: dict[str, Any] = json.loads((folder / IMAGE).read_text())
    return {**found, "root": (folder / "image").resolve(), "passwd": (folder / "etc" / "passwd").read_text()}


def test_a_public_image_is_unpacked_once(registry: Path) -> None:
    (registry / "public").touch()
    first = fetch(registry, "first")
    assert (first["id"], first["env"]) == ("abc", {"A": "1", "PATH": "/opt/bin"})
    assert first["passwd"] == "root:x:0:0::/:/bin/sh\ndanlu:x:7:7::/home/danlu:/bin/sh\n"
    assert fetch(registry, "second")["root"] == first["root"]
    asked = (registry / "asked").read_text()
    assert (asked.count("export"), asked.count("pull")) == (1, 1)


def test_a_private_image_is_asked_for_again_with_each_jobs_own_password(registry: Path) -> None:
    assert fetch(registry, "first", username="li", password="right")["id"] == "abc"
    with pytest.raises(ImageProblem, match="access denied") as refused:
        fetch(registry, "second", username="li", password="wrong")
    assert refused.value.reason == "image_missing"
    with pytest.raises(ImageProblem, match="manifest unknown"):
        fetch(registry, "third")
    assert fetch(registry, "fourth", username="li", password="right")["id"] == "abc"
    assert "right" not in (registry / "asked").read_text()


def test_an_image_that_cannot_be_unpacked_leaves_nothing(registry: Path) -> None:
    (registry / "public").touch()
    (registry / "podman").write_text(PODMAN.format(here=registry).replace("tar -C $here/files -c .", "echo junk"))
    with pytest.raises(ImageProblem, match="cannot be unpacked") as failed:
        fetch(registry, "first")
    assert failed.value.reason == "image_failed"
    assert [path.name for path in (registry.parent / "cache").iterdir() if path.suffix not in (".lock", ".use")] == []


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("torch", "docker.io"),
        ("team/torch:2", "docker.io"),
        ("r.example/torch", "r.example"),
        ("r:5000/torch", "r:5000"),
        ("localhost/torch", "localhost"),
    ],
)
def test_where_an_image_comes_from(name: str, host: str) -> None:
    assert host in _registries(name)
