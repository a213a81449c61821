"""Nobody gets somebody's jobs by making them a member: people agree first, and choose where their jobs go."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.support.attack import Sides, told

from danlu.auth.identity import Role

NAMES = ("ada", "nobody-such")
"""Somebody who is there, and somebody who is not."""


@pytest.fixture(params=["sqlite", "postgresql"])
def database_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def invite(sides: Sides, user: str = "ada", role: str = "member") -> dict[str, Any]:
    """eve invites somebody to her project."""
    made: dict[str, Any] = sides.eve.json("POST", "/projects/evil/invitations", json={"user": user, "role": role})
    return made


def project_of_a_new_job(api: Any) -> str:
    job = api.json("POST", "/jobs", json={"spec": {"name": "x", "command": "x", "secrets": {"TOKEN": "hush"}}})
    return str(job["project"])


class TestConsent:
    def test_an_owner_adds_nobody_who_has_not_agreed(self, sides: Sides) -> None:
        answers = {told(sides.eve("PUT", f"/projects/evil/members/{name}", json={"role": "member"})) for name in NAMES}
        assert {status for status, _ in answers} == {404}
        assert sides.ada.json("GET", "/me")["projects"] == ["vision"]
        assert project_of_a_new_job(sides.ada) == "vision"

    def test_an_invitation_gives_nothing_before_it_is_accepted(self, sides: Sides) -> None:
        invite(sides)
        assert sides.ada.json("GET", "/me")["projects"] == ["vision"]
        assert sides.ada("GET", "/projects/evil").status_code == 404
        assert [one["name"] for one in sides.eve.json("GET", "/projects/evil")["members"]] == ["eve"]
        assert sides.eve("GET", "/users/ada").status_code == 404

    def test_accepting_does_not_move_ones_jobs(self, sides: Sides) -> None:
        """The project with the smaller id, and the one that was joined last, are both not it."""
        found = sides.ada.json("GET", "/invitations")["items"]
        assert found == []
        made = invite(sides)
        sides.ada.json("POST", f"/invitations/{made['id']}/accept")
        assert sides.ada.json("GET", "/me")["default_project"] == "vision"
        assert project_of_a_new_job(sides.ada) == "vision"
        sides.admin.json("PUT", "/projects/default/members/ada", json={"role": "owner"})
        assert project_of_a_new_job(sides.ada) == "vision"

    def test_a_job_that_stays_at_home_cannot_be_entered(self, sides: Sides) -> None:
        made = invite(sides)
        sides.ada.json("POST", f"/invitations/{made['id']}/accept")
        job = sides.started("ada", secrets={"TOKEN": "hush"})
        assert sides.eve("POST", f"/jobs/{job}/terminals", json={"rank": 0}).status_code == 404

    @pytest.mark.parametrize("way", ["removed", "archived", "deleted"])
    def test_losing_the_default_project_moves_nothing_elsewhere(self, sides: Sides, way: str) -> None:
        """Otherwise whoever can bring that about decides where somebody's jobs go."""
        sides.world.add_user("bob")
        sides.admin.json("POST", "/projects", json={"name": "home", "owner": "ada"})
        sides.admin.json("PUT", "/projects/home/members/bob", json={"role": "member"})
        sides.admin.json("PUT", "/projects/evil/members/bob", json={"role": "member"})
        with sides.person("bob") as bob:
            assert bob.json("GET", "/me")["default_project"] == "home"
            if way == "removed":
                assert sides.ada("DELETE", "/projects/home/members/bob").status_code == 204
            elif way == "archived":
                sides.ada.json("PATCH", "/projects/home", json={"is_archived": True})
            else:
                assert sides.ada("DELETE", "/projects/home").status_code == 204
            refused = bob("POST", "/jobs", json={"spec": {"name": "x", "command": "x"}})
            assert refused.status_code == 403
            assert "danlu projects default evil" in refused.json()["message"]
            assert bob("PUT", "/me/default-project", json={"project": "evil"}).status_code == 204
            assert project_of_a_new_job(bob) == "evil"

    def test_nobody_chooses_for_others(self, sides: Sides) -> None:
        assert sides.eve("PUT", "/me/default-project", json={"project": "vision"}).status_code == 404
        assert sides.admin("PATCH", "/users/ada", json={"default_project": "evil"}).status_code == 422
        assert sides.ada.json("GET", "/me")["default_project"] == "vision"


class TestInvitations:
    def test_one_of_others_is_neither_seen_nor_accepted(self, sides: Sides) -> None:
        sides.world.add_user("bob")
        made = invite(sides)
        with sides.person("bob") as bob:
            assert bob.json("GET", "/invitations")["items"] == []
            for way in (bob("POST", f"/invitations/{made['id']}/accept"), bob("DELETE", f"/invitations/{made['id']}")):
                assert way.status_code == 404
        assert sides.eve("POST", f"/invitations/{made['id']}/accept").status_code == 404, "nor by who has made it"

    def test_it_is_used_once(self, sides: Sides) -> None:
        made = invite(sides)
        sides.ada.json("POST", f"/invitations/{made['id']}/accept")
        assert sides.eve("DELETE", "/projects/evil/members/ada").status_code == 204
        assert sides.ada("POST", f"/invitations/{made['id']}/accept").status_code == 404

    def test_withdrawn_declined_and_old_ones_are_over(self, sides: Sides) -> None:
        made = invite(sides)
        assert sides.eve("DELETE", "/projects/evil/invitations/ada").status_code == 204
        assert sides.ada("POST", f"/invitations/{made['id']}/accept").status_code == 404
        made = invite(sides)
        assert sides.ada("DELETE", f"/invitations/{made['id']}").status_code == 204
        assert sides.ada("POST", f"/invitations/{made['id']}/accept").status_code == 404
        made = invite(sides)
        sides.world.clock.now += timedelta(days=15)
        assert sides.ada.json("GET", "/invitations")["items"] == []
        assert sides.ada("POST", f"/invitations/{made['id']}/accept").status_code == 404

    def test_it_ends_with_the_rights_of_who_made_it(self, sides: Sides) -> None:
        """An owner who is removed leaves no door open."""
        sides.world.add_user("olga", "evil", Role.OWNER)
        made = invite(sides)
        with sides.person("olga") as olga:
            assert olga("DELETE", "/projects/evil/members/eve").status_code == 204
        assert sides.ada("POST", f"/invitations/{made['id']}/accept").status_code == 409

    def test_who_takes_the_name_later_is_not_meant(self, sides: Sides) -> None:
        invite(sides, "newcomer", "owner")
        sides.world.add_user("newcomer")
        with sides.person("newcomer") as newcomer:
            assert newcomer.json("GET", "/invitations")["items"] == []

    def test_only_owners_invite(self, sides: Sides) -> None:
        for name, role in (("max", Role.MEMBER), ("vic", Role.VIEWER)):
            sides.world.add_user(name, "vision", role)
            with sides.person(name) as api:
                assert api("POST", "/projects/vision/invitations", json={"user": "eve"}).status_code == 403
                assert api("GET", "/projects/vision/invitations").status_code == 403
        assert sides.eve("POST", "/projects/vision/invitations", json={"user": "eve"}).status_code == 404

    def test_a_project_has_so_many_at_most(self, sides: Sides) -> None:
        from danlu.server.projects import invitations

        for number in range(invitations.MAX_OF_PROJECT):
            invite(sides, f"name{number}")
        refused = sides.eve("POST", "/projects/evil/invitations", json={"user": "one-more"})
        assert refused.status_code == 409
        assert sides.eve("POST", "/projects/evil/invitations", json={"user": "name1"}).status_code == 201


class TestProbing:
    def test_inviting_tells_nothing_of_who_is_there(self, sides: Sides) -> None:
        answers = []
        for name in NAMES:
            made = invite(sides, name)
            answers.append({key: value for key, value in made.items() if key not in ("id", "user")})
            assert len(made["id"]) == 32
        assert answers[0] == answers[1]
        listed = sides.eve.json("GET", "/projects/evil/invitations")["items"]
        assert sorted(one["user"] for one in listed) == sorted(NAMES)

    def test_setting_a_role_and_removing_tell_nothing(self, sides: Sides) -> None:
        for request in (("PUT", {"json": {"role": "viewer"}}), ("DELETE", {})):
            method, options = request
            found = {
                told(sides.eve(method, f"/projects/evil/members/{name}", **options))[1].replace(name, "NAME")
                for name in NAMES
            }
            assert len(found) == 1

    def test_quotas_tell_nothing(self, sides: Sides) -> None:
        found = set()
        for name in NAMES:
            status, message = told(sides.eve("PUT", "/projects/evil/quotas", json={"users": {name: {"npu": 1}}}))
            found.add((status, message.replace(name, "NAME")))
        assert found == {(422, "users.NAME: 'NAME' is no member of 'evil'")}

    def test_people_of_other_projects_are_not_there(self, sides: Sides) -> None:
        found = {told(sides.eve("GET", f"/users/{name}"))[1].replace(name, "NAME") for name in NAMES}
        assert len(found) == 1
        assert [one["name"] for one in sides.eve.json("GET", "/users")["items"]] == ["eve"]
