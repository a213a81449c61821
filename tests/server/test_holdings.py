"""Who held what, and when."""

from __future__ import annotations

from datetime import timedelta

from tests.support.world import START, Api, World

from danlu.auth.identity import Role


def finished(world: World, seconds: float, **fields: object) -> str:
    """The id of a job that held two devices for so long."""
    job = world.started(**{"resources": {"device": "npu:2"}, **fields})
    world.clock.pass_seconds(seconds)
    world.engine.finish(job)
    world.tick(2)
    return job


def test_what_was_held_between_two_moments_the_last_first(world: World, api: Api) -> None:
    early = finished(world, 100)
    between = world.clock()
    world.clock.pass_seconds(1000)
    late = world.started(name="goes-on", nodes=2, resources={"device": "npu:4"})
    found = api.json("GET", "/nodes/holdings")["items"]
    assert [(one["job"], one["rank"], one["ended_at"] is None) for one in found] == [
        (late, 0, True),
        (late, 1, True),
        (early, 0, False),
    ]
    assert (found[0]["name"], found[0]["node"]) == ("goes-on", "here")
    assert sorted(found[0]["device_ids"] + found[1]["device_ids"]) == list(range(8))
    until = api.json("GET", "/nodes/holdings", params={"until": between.isoformat()})["items"]
    assert [one["job"] for one in until] == [early]
    since = {"since": (between + timedelta(seconds=10)).isoformat()}
    assert [one["job"] for one in api.json("GET", "/nodes/holdings", params=since)["items"]] == [late, late]


def test_pages_hold_all_of_them_once(world: World, api: Api) -> None:
    jobs = [finished(world, 10) for _ in range(3)]
    seen, cursor = [], None
    for _ in range(3):
        params = {"limit": 1, "until": world.clock().isoformat()} | ({"cursor": cursor} if cursor else {})
        page = api.json("GET", "/nodes/holdings", params=params)
        seen += [one["job"] for one in page["items"]]
        cursor = page["next"]
    assert (seen, cursor) == (jobs[::-1], None)


def test_of_projects_that_one_does_not_see_only_the_devices_are_told(world: World) -> None:
    finished(world, 10, name="secret")
    eve = world.add_user("eve", "others", Role.MEMBER)
    with world.serving() as url, Api(url, world.api_key(eve)) as api:
        (one,) = api.json("GET", "/nodes/holdings")["items"]
    assert len(one["device_ids"]) == 2
    assert [one[key] for key in ("job", "name", "owner", "project")] == [None] * 4


def test_moments_that_cannot_be_used(world: World, api: Api) -> None:
    for since in (START + timedelta(days=2), START - timedelta(days=40)):
        answer = api("GET", "/nodes/holdings", params={"since": since.isoformat()})
        assert (answer.status_code, list(answer.json()["fields"])) == (422, ["since"])
    assert api("GET", "/nodes/holdings", params={"cursor": "x"}).status_code == 422
