"""People, projects, keys and the audit trail on the command line, against a real server."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from tests.cli.conftest import Said

Danlu = Callable[..., Said]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """What comes on standard input."""

    def type_(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))

    return type_


def parsed(said: Said) -> Any:
    assert said.code == 0, said.err
    return json.loads(said.out)


def test_from_registering_to_a_job_in_a_project(
    danlu: Danlu, typed: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, server: Any
) -> None:
    """The way of seed and guide: register, be let in, be a member, submit; the admin sees who did what."""
    typed("a good password\n")
    said = danlu("register", "ada", "--full-name", "Ada Lovelace", "--note", "vision", "--password-stdin")
    assert said.out == (
        "an admin has to approve your account; after that `danlu login --name` works with your password\n"
    ), said.err
    listed = danlu("users", "ls")
    assert "ada" in listed.out
    assert "Ada Lovelace vision" in listed.out
    assert "approve a request: danlu users approve NAME" in listed.err
    assert "vision\n" in danlu("projects", "new", "vision", "--bucket", "vision-data", "--description", "Pictures").out
    said = danlu("users", "approve", "ada", "--project", "vision")
    assert said.out.startswith("ada is active\n  full name  Ada Lovelace\n  projects   vision (member)\n"), said.err
    assert danlu("projects", "add", "vision", "ada", "--role", "owner").out == "ada is owner of vision\n"
    shown = danlu("projects", "show", "vision").out
    assert "  owner    ada\n" in shown
    assert "  buckets  vision-data\n" in shown

    monkeypatch.delenv("DANLU_API_KEY")
    typed("a good password\n")
    assert danlu("login", "--name", "ada", "--password-stdin").out.startswith("signed in at http://127.0.0.1:")
    assert "projects vision (owner)" in danlu("whoami").out
    job = parsed(danlu("run", "--project", "vision", "--json", "--", "true"))
    assert job["project"] == "vision"
    refused = danlu("users", "invite", "bob")
    assert (refused.code, refused.err) == (1, "danlu: only admins may do this\n")
    events = parsed(danlu("audit", "--project", "vision", "--json"))
    assert [event["action"] for event in events if event["actor"] == "ada"] == ["job.submit"]
    typed("a good password\na new password\n")
    assert danlu("passwd", "--password-stdin").out == "the password of ada is changed\n"
    assert danlu("logout").out.startswith("signed out")

    monkeypatch.setenv("DANLU_API_KEY", server.api_key)
    disabled = danlu("users", "disable", "ada", "--stop-jobs")
    assert disabled.out == "ada is disabled\n"
    told = danlu("audit", "--person", "admin", "--object", "user/ada").out
    assert "user.disable" in told
    assert "key " in told


def test_an_invitation(danlu: Danlu, typed: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    said = danlu("users", "invite", "grace", "--admin")
    link = said.out.strip()
    assert "/signin?token=" in link
    assert said.err.startswith("for grace, once, until ")
    assert parsed(danlu("users", "show", "grace", "--json"))["state"] == "invited"
    monkeypatch.delenv("DANLU_API_KEY")
    typed("a good password\n")
    assert danlu("login", "--new-password", "--password-stdin", link).code == 0
    assert "grace (admin)" in danlu("whoami").out
    assert parsed(danlu("keys", "ls", "--json"))[0]["user"] == "grace"
    again = danlu("login", link)
    assert again.err.startswith("danlu: the sign-in link was used or has expired")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["users", "show", "nobody"], "no user 'nobody'; `danlu users ls` lists the users that you can see"),
        (["users", "approve", "nobody"], "no pending registration for 'nobody'; `danlu users ls` lists them"),
        (["users", "invite", "Bob"], "name: expected a user name of a lower-case letter and up to 31"),
        (["users", "invite", "bob", "--role", "king"], "role: expected one of member, owner, viewer, got 'king'"),
        (["users", "show", ""], "'' is not a name"),
        (["projects", "show", "nothing"], "no project 'nothing'; `danlu projects ls` shows yours"),
        (["projects", "new", "A B"], "name: expected a project name of up to 63 lower-case letters"),
        (["projects", "rm", "default"], "project 'default' is not empty: "),
        (
            ["projects", "remove", "default", "admin"],
            "admin is the last owner of 'default'; make another user an owner first",
        ),
        (["projects", "add", "default", "nobody"], "no active user 'nobody'"),
        (["store", "rb", "nothing"], "no bucket 'nothing'; `danlu store ls` shows yours"),
        (["store", "mvb", "main", "nothing"], "no project 'nothing'"),
        (["keys", "ls", "--user", "nobody"], "no user 'nobody'"),
        (["keys", "rm", "x"], "no API key 'x' of yours"),
        (["audit", "--action", "job.sub"], "action: unknown value 'job.sub'; did you mean 'job.submit'"),
        (
            ["run", "--project", "nothing", "--", "true"],
            "project: no project 'nothing'; `danlu projects ls` shows yours",
        ),
    ],
)
def test_wrong_words_get_one_clear_sentence(danlu: Danlu, words: list[str], told: str) -> None:
    said = danlu(*words)
    assert said.code == 1
    assert told in said.err
    assert "Traceback" not in said.err


def test_times_for_the_audit_trail(danlu: Danlu) -> None:
    assert danlu("audit", "--since", "1h", "-n", "1").code == 0
    assert danlu("audit", "--since", "2020-01-01", "--until", "2020-01-02").out.count("\n") == 1
    wrong = danlu("audit", "--since", "yesterday")
    assert wrong.code == 2
    assert "expected 2h, 3d, 2026-11-15 or 2026-11-15T08:00" in " ".join(wrong.err.split())


def test_an_invitation_is_made_listed_accepted_and_the_default_project_stays(
    danlu: Danlu, monkeypatch: pytest.MonkeyPatch, server: Any
) -> None:
    with server.client() as admin:
        for project in ("home", "lab"):
            admin.projects.make(project)
        invited = admin.people.invite("hopper", project="home")
    assert (
        "if there is a hopper, they are invited to lab as viewer"
        in danlu("projects", "invite", "lab", "hopper", "--role", "viewer").out
    )
    assert "if there is a nobody-such, they are" in danlu("projects", "invite", "lab", "nobody-such").out
    asked = parsed(danlu("projects", "invitations", "lab", "--json"))
    assert {one["user"] for one in asked} == {"hopper", "nobody-such"}
    assert danlu("projects", "withdraw", "lab", "nobody-such").out == "nobody-such is no longer invited to lab\n"

    monkeypatch.delenv("DANLU_API_KEY")
    assert danlu("login", invited.url).code == 0
    listed = danlu("projects", "invitations").out.splitlines()
    assert [line.split()[:4] for line in listed[1:]] == [["lab", "hopper", "viewer", "admin"]]
    assert danlu("projects", "accept", "lab").out.startswith("you are viewer of lab;")
    again = danlu("projects", "accept", "lab")
    assert (again.code, again.err.partition(";")[0]) == (1, "danlu: you are not invited to 'lab'")
    assert danlu("projects", "default").out == "home\n"
    assert "  default  home\n" in danlu("whoami").out
    refused = danlu("projects", "default", "lab")
    told = "danlu: you may view project 'lab' but not add to it; ask an owner of it\n"
    assert (refused.code, refused.err) == (1, told)
