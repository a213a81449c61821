"""Flavors, frameworks and costs on the command line, against a real server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Said

from danlu.client import Client
from danlu.errors import InvalidSpec, NotFound
from danlu.testing.serving import RunningServer

Danlu = Callable[..., Said]


@pytest.fixture
def client(server: RunningServer) -> Iterator[Client]:
    """Leaves no flavor and no framework behind: the server is shared."""
    with Client(server.url, server.api_key) as made:
        yield made
        for flavor in list(made.flavors.list()):
            made.flavors.remove(flavor.name)
        for framework in list(made.frameworks.list()):
            made.frameworks.remove(framework.name)


def parsed(said: Said) -> Any:
    assert said.code == 0, said.err
    return json.loads(said.out)


def test_from_a_price_to_the_cost_of_a_job(danlu: Danlu, client: Client, alone: Path) -> None:
    assert "danlu flavors suggest" in danlu("flavors").err
    said = danlu("flavors", "add", "small", "--cpus", "0.5", "--price", "3600", "--description", "to try")
    assert said.out.splitlines()[1].split()[:5] == ["small", "cpu:1", "0.5", "-", "¥3600.00/h"], said.err
    said = danlu("frameworks", "add", "own", "--title", "Own", "--setup", "export WHO=framework", "--launch", "plain")
    assert "  setup      export WHO=framework\n" in said.out, said.err
    assert parsed(danlu("flavors", "list", "--json"))[0]["price_per_hour"] == "3600.00"
    assert [one["name"] for one in parsed(danlu("frameworks", "list", "--json"))] == ["own"]

    (alone / "job.yml").write_text("name: priced\ncommand: test $WHO = framework\nflavor: small\nframework: own\n")
    assert "price  ¥3600.00/h for all nodes" in danlu("plan", "job.yml").out
    assert danlu("plan", "job.yml", "--explain").out.endswith("price  ¥3600.00/h for all nodes\n")
    assert danlu("submit", "job.yml").code == 0
    job = parsed(danlu("show", "priced", "--json"))
    assert job["spec"]["flavor"] == "small"
    held = [(one["started_at"], one["ended_at"]) for one in job["attempts"]]
    assert all(held[0])
    assert Decimal(job["cost"]) > 0
    shown = danlu("show", "priced").out
    assert "  flavor     small\n" in shown
    assert "  framework  own (the node's own Python)\n" in shown
    assert ", ¥3600.00/h\n" in shown
    assert "COST" in danlu("ps", "-a").out.splitlines()[0]

    said = danlu("submit", "job.yml", "--set", "flavor=smal")
    assert (said.code, said.err) == (
        1,
        "danlu: job.yml:3:1: flavor: there is no flavor 'smal'; did you mean 'small'?\n",
    )
    assert danlu("flavors", "change", "small", "--price", "1").code == 0
    assert danlu("flavors", "disable", "small").out == "small is disabled\n"
    assert parsed(danlu("show", "priced", "--json"))["price_per_hour"] == "3600.00"
    said = danlu("run", "--flavor", "small", "--", "true")
    assert (said.code, "is disabled" in said.err) == (1, True)
    assert danlu("flavors", "enable", "small").code == 0
    assert danlu("flavors", "remove", "small").out == "removed small\n"
    assert danlu("frameworks", "change", "own", "--setup", "").code == 0
    assert danlu("frameworks", "remove", "own").out == "removed own\n"


def test_the_same_from_python(client: Client) -> None:
    made = client.flavors.add("npu-1", device="npu:910b:1", memory="1GiB", price_per_hour="18.4008")
    assert (made.price_per_hour, made.currency, made.memory) == (Decimal("18.4008"), "CNY", 1 << 30)
    assert client.flavors.change("npu-1", memory=0).memory is None
    assert [one.name for one in client.flavors.list()] == ["npu-1"]
    plan = client.jobs.plan(name="a", command="x", nodes=3, flavor="npu-1")
    assert plan.price_per_hour == Decimal("55.2024")
    with pytest.raises(InvalidSpec, match="cpu:2 contradicts flavor 'npu-1'"):
        client.jobs.plan(name="a", command="x", flavor="npu-1", resources={"device": "cpu:2"})
    framework = client.frameworks.add("torch", env={"A": 1}, launch=["ddp"])
    assert (framework.env, [str(mode) for mode in framework.launch]) == ({"A": "1"}, ["ddp"])
    with pytest.raises(InvalidSpec, match="supports ddp, got 'plain'"):
        client.jobs.plan(name="a", command="x", framework="torch")
    with pytest.raises(NotFound, match="no framework 'tensorflow'"):
        client.frameworks.get("tensorflow")
    assert all(one.price_per_hour == 0 and one.num_total for one in client.flavors.suggestions())


def test_costs_are_told_by_project_and_user(danlu: Danlu, client: Client) -> None:
    client.flavors.add("costly", price_per_hour="3600")
    job = client.jobs.submit(name="costly", command="true", flavor="costly").wait()
    table = danlu("cost").out
    assert table.splitlines()[0].split() == ["PROJECT", "USER", "JOBS", "HOURS", "COST"]
    by_user = danlu("cost", "--by", "user", "--since", "1d").out.splitlines()
    assert by_user[0].split() == ["USER", "JOBS", "HOURS", "COST"]
    assert job.row.owner in by_user[1]
    assert json.loads(danlu("cost", "--json").out)["items"][0]["num_jobs"] >= 1
    assert danlu("cost", "--by", "week").code == 2
    client.flavors.remove("costly")
