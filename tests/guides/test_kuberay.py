"""The manifest for KubeRay in the guide: what must agree with Danlu, and with itself. It is applied nowhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from danlu.testing.ray_cluster import GCS_PORT

ROOT = Path(__file__).parents[2]
FIRST_WITH_TOKENS = (2, 52)
"""KubeRay takes `authOptions` of a cluster with this version of Ray or a newer one."""


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    """By kind."""
    page = (ROOT / "docs" / "guide" / "cluster.md").read_text()
    (text,) = re.findall(r"```yaml\n(apiVersion: ray\.io/v1\n.*?)```", page, re.DOTALL)
    return {part["kind"]: part for part in yaml.safe_load_all(text)}


def containers(template: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = template["spec"]["containers"]
    return found


def test_the_version_of_ray_is_the_one_that_is_tested(manifest: dict[str, Any]) -> None:
    version = manifest["RayCluster"]["spec"]["rayVersion"]
    assert f"ray=={version}" in (ROOT / "constraints.txt").read_text().split()
    assert tuple(map(int, version.split(".")[:2])) >= FIRST_WITH_TOKENS


def test_the_image_has_that_version_and_the_commands_build_it(manifest: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "guide" / "cluster.md").read_text()
    (base,) = re.findall(r"^FROM rayproject/ray:(\S+)-py311$", page, re.MULTILINE)
    assert base == manifest["RayCluster"]["spec"]["rayVersion"]
    (server,) = containers(manifest["Deployment"]["spec"]["template"])
    assert f"docker build -t {server['image']} .\ndocker push {server['image']}\n" in page
    assert f"deployment/{manifest['Deployment']['metadata']['name']} " in page


def test_all_pods_have_one_image(manifest: dict[str, Any]) -> None:
    cluster, server = manifest["RayCluster"]["spec"], manifest["Deployment"]["spec"]
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"], server]
    assert len({one["image"] for group in groups for one in containers(group["template"])}) == 1


def test_the_server_joins_this_cluster_without_cpus_and_with_its_token(manifest: dict[str, Any]) -> None:
    name = manifest["RayCluster"]["metadata"]["name"]
    (server,) = containers(manifest["Deployment"]["spec"]["template"])
    (command,) = server["args"]
    assert re.findall(r"address[= ](\S+)", command) == [f"{name}-head-svc:{GCS_PORT}"] * 2
    assert "--engine ray " in command
    assert "--num-cpus=0 " in command
    env = {one["name"]: one for one in server["env"]}
    assert manifest["RayCluster"]["spec"]["authOptions"]["mode"] == env["RAY_AUTH_MODE"]["value"] == "token"
    assert env["RAY_AUTH_TOKEN"]["valueFrom"]["secretKeyRef"] == {"name": name, "key": "auth_token"}


def test_jobs_run_on_workers_only_and_these_have_limits(manifest: dict[str, Any]) -> None:
    cluster = manifest["RayCluster"]["spec"]
    assert cluster["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    for group in cluster["workerGroupSpecs"]:
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
        for one in containers(group["template"]):
            assert set(one["resources"]["limits"]) >= {"cpu", "memory"}


def test_the_data_of_the_server_outlives_its_pod(manifest: dict[str, Any]) -> None:
    (volume,) = manifest["Deployment"]["spec"]["template"]["spec"]["volumes"]
    assert volume["persistentVolumeClaim"]["claimName"] == manifest["PersistentVolumeClaim"]["metadata"]["name"]
    assert manifest["Deployment"]["spec"]["strategy"] == {"type": "Recreate"}
