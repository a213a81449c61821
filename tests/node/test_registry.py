"""Images fetched by Danlu itself, from a registry on this machine."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.registry import MACHINE, TOKEN, Registry, layer, running_registry
from tests.support.certificates import make_certificate

from danlu.node.image.cache import list_images
from danlu.node.image.registry import parse_name
from danlu.node.image.tool import BUILT_IN, ImageProblem
from danlu.node.stage import image as image_script
from danlu.node.supervise.image_root import hold_image
from danlu.node.supervise.records import IMAGE
from danlu.node.task import TaskElsewhere, TaskImage

Fetch = Callable[..., Path]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def registry(certificate: Path) -> Iterator[Registry]:
    with running_registry(certificate) as registry:
        yield registry


@pytest.fixture
def fetch(tmp_path: Path, certificate: Path) -> Fetch:
    """Have an image for a task; return the task's folder."""

    def run(name: str, *, networks: tuple[str, ...] = ("127.0.0.0/8", "::1/128"), **fields: Any) -> Path:
        folder = tmp_path / f"task-{len(list(tmp_path.glob('task-*')))}"
        (folder / "etc").mkdir(parents=True)
        password = fields.pop("password", "")
        wanted = TaskImage(name=name, tool=BUILT_IN, cache=str(tmp_path / "cache"), fetch=(), root="/", **fields)
        allowed = TaskElsewhere(networks=networks, ca_file=str(certificate))
        image_script.fetch(str(folder), wanted, password, allowed=allowed)
        return folder

    return run


def files_of(root: Path) -> dict[str, bytes]:
    """Path -> content of every file, links aside."""
    paths = [Path(parent, name) for parent, _, names in os.walk(root) for name in names]
    return {str(path.relative_to(root)): path.read_bytes() for path in paths if not path.is_symlink()}


def test_layers_lie_over_each_other(registry: Registry, fetch: Fetch) -> None:
    first = layer(
        {
            **{"etc": None, "etc/old": b"1", "etc/same": b"1", "opt/a/x": b"1", "opt/a/y": b"1"},
            **{"var/lib": None, "srv/f": b"1"},
        },
        links={"var/log": "/var/lib", "bin": "usr/bin", "srv/link": "f"},
    )
    second = layer(
        {"etc/.wh.old": b"", "etc/same": b"2", "opt/a/.wh..wh..opq": b"", "opt/a/z": b"2", "var/log/here": b"2"}
    )
    third = layer({"srv/link": None, "srv/link/deep": b"3", "usr/bin/tool": b"3", "bin/other": b"3"})
    name = registry.add_image("team/x:1", [first, second, third], env=["A=1", "PATH=/opt/bin"])
    folder = fetch(name)
    root = (folder / "image").resolve()
    # `var/log` is a link of the image: what a later layer puts there is in the image's own /var/lib
    assert files_of(root) == {
        **{"etc/same": b"2", "opt/a/z": b"2", "var/lib/here": b"2", "srv/f": b"1", "srv/link/deep": b"3"},
        **{"usr/bin/tool": b"3", "usr/bin/other": b"3"},
    }
    assert json.loads((folder / IMAGE).read_text())["env"] == {"PATH": "/opt/bin", "A": "1"}
    assert [path.name for path in root.parent.parent.iterdir() if path.name.endswith(".layers")] == []


def test_it_is_fetched_once(registry: Registry, fetch: Fetch) -> None:
    name = registry.add_image("team/x:1", [layer({"f": b"1"})])
    first = fetch(name)
    num_asked = len(registry.asked)
    assert (fetch(name) / "image").resolve() == (first / "image").resolve()
    assert len(registry.asked) == num_asked


def test_other_layers_with_the_config_of_an_image_are_another_image(registry: Registry, fetch: Fetch) -> None:
    good = fetch(registry.add_image("team/good:1", [layer({"f": b"good"})]))
    evil = fetch(registry.add_image("evil/good:1", [layer({"f": b"evil"})]))
    assert [(one / "image" / "f").read_bytes() for one in (good, evil)] == [b"good", b"evil"]


def test_a_private_one_is_for_who_shows_a_password(registry: Registry, fetch: Fetch) -> None:
    name = registry.add_image("team/secret:1", [layer({"f": b"1"})])
    registry.private.add("team/secret")
    with pytest.raises(ImageProblem, match="401") as refused:
        fetch(name)
    assert refused.value.reason == "image_missing"
    assert fetch(name, username="li", password="right").exists()
    with pytest.raises(ImageProblem, match="cannot be fetched"):
        fetch(name, username="li", password="wrong")
    with pytest.raises(ImageProblem, match="cannot be fetched"):
        fetch(name)
    blobs = [proof for path, proof in registry.asked if path.startswith("/elsewhere/")]
    assert blobs
    assert set(blobs) == {""}, "who keeps the bytes for the registry is not told who asks"
    assert any(proof == f"Bearer {TOKEN}" for _, proof in registry.asked)


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("no such tag", "404"),
        ("other machine", "it is not available for"),
        ("changed layer", "expected the SHA-256"),
        ("junk", "cannot be unpacked"),
        ("wrong size", "bytes and not 1"),
        ("bad digest", "expected a SHA-256 digest, got '../../x'"),
    ],
)
def test_what_cannot_be_is_refused(registry: Registry, fetch: Fetch, tmp_path: Path, kind: str, told: str) -> None:
    data = layer({"f": b"1"})
    machine = "vax" if kind == "other machine" else MACHINE
    name = registry.add_image("x/y:1", [b"junk" if kind == "junk" else data], machine=machine)
    if kind == "no such tag":
        registry.tags.clear()
    elif kind == "changed layer":
        registry.blobs[registry.add(data)] = data + b"more"
    elif kind == "wrong size":
        manifest = {"config": {"digest": registry.add(b"{}")}, "layers": [{"digest": registry.add(data), "size": 1}]}
        registry.tags["x/y:1"] = registry.add(json.dumps(manifest).encode())
    elif kind == "bad digest":
        registry.tags["x/y:1"] = registry.add(json.dumps({"config": {"digest": "../../x"}, "layers": []}).encode())
    with pytest.raises(ImageProblem, match=told):
        fetch(name)
    assert list_images(str(tmp_path / "cache")) == []


@pytest.mark.parametrize(
    "manifest",
    [
        *(b"[]", b"1", b"not JSON", b"{}", b"[" * 200_000, b'{"manifests": 3}', b'{"manifests": [1]}'),
        *(b'{"manifests": [{"platform": 3}]}', b'{"config": 1, "layers": []}', b'{"config": {}, "layers": [1]}'),
        *(b'{"config": {"digest": "sha256:"}, "layers": {}}', b'{"config": {}, "layers": [' + b"{}," * 600 + b"{}]}"),
    ],
)
def test_a_manifest_that_makes_no_sense_is_refused(registry: Registry, fetch: Fetch, manifest: bytes) -> None:
    name = registry.add_image("x/y:1", [])
    registry.tags["x/y:1"] = registry.add(manifest)
    with pytest.raises(ImageProblem, match="cannot be fetched"):
        fetch(name)


def test_a_network_that_the_operator_did_not_list_is_not_asked(registry: Registry, fetch: Fetch) -> None:
    name = registry.add_image("x/y:1", [layer({"f": b"1"})])
    with pytest.raises(ImageProblem, match="not a public address"):
        fetch(name, networks=())
    assert registry.asked == []


@pytest.mark.parametrize("path", ["link/out", "hard", "../../out", "a/../../../out"])
def test_no_layer_leads_out_through_another(registry: Registry, fetch: Fetch, tmp_path: Path, path: str) -> None:
    """The link is there before the second archive is read, so that its names can pass through it."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "kept").write_text("of the machine")
    first = layer({"a": None}, links={"link": str(victim), "hard": str(victim / "kept")})
    name = registry.add_image("x/y:1", [first, layer({path: b"evil"})])
    with contextlib.suppress(ImageProblem):  # refused, or unpacked in its own folder
        assert b"evil" in files_of((fetch(name) / "image").resolve()).values()
    assert [(one.name, one.read_text()) for one in victim.iterdir()] == [("kept", "of the machine")]
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "cache" / "out").exists()
    assert not Path("/out").exists()


def test_the_least_used_are_removed_and_none_in_use(registry: Registry, fetch: Fetch, tmp_path: Path) -> None:
    names = [registry.add_image(f"x/{number}:1", [layer({"f": b"%d" % number * 9000})]) for number in range(3)]
    first = fetch(names[0])
    assert hold_image(str(first)) == {"PATH": image_script.PATH}
    second = fetch(names[1], max_bytes=1)
    third = fetch(names[2], max_bytes=1)
    assert (first / "image" / "f").exists(), "it is in use"
    assert not (second / "image" / "f").exists()
    assert hold_image(str(second)) is None
    assert (third / "image" / "f").exists(), "it was fetched just now"
    assert (fetch(names[1]) / "image" / "f").exists(), "it is fetched anew"


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("torch", ("registry-1.docker.io", "library/torch", "latest")),
        ("team/torch:2", ("registry-1.docker.io", "team/torch", "2")),
        ("r.example:5000/a/b", ("r.example:5000", "a/b", "latest")),
        ("localhost/torch:2", ("localhost", "torch", "2")),
        (f"r.example/a:1@sha256:{'0' * 64}", ("r.example", "a", f"sha256:{'0' * 64}")),
    ],
)
def test_what_a_name_says(name: str, parts: tuple[str, str, str]) -> None:
    assert tuple(parse_name(name)) == parts
