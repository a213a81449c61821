"""Rights on users, keys, projects, costs and the audit log: see tests/support/rules.py"""

from __future__ import annotations

from tests.support.cases import project_of, user_of
from tests.support.rights import Rule, everybody
from tests.support.rule_lines import ADMIN_ONLY, INVITATION, OPEN, OWN_PROJECT, body
from tests.support.scene import PASSWORD

PEOPLE_RULES: dict[tuple[str, str], Rule] = {
    # people
    ("GET", "/health"): Rule(OPEN),
    ("POST", "/session"): Rule({"any": "401 401 401 401 401 401 401"}, body(name="max", password="wrong")),
    ("DELETE", "/session"): Rule(everybody("2 2 2 2 2")),
    ("GET", "/me"): Rule({"own": "2 2 2 2 2 2 2"}),
    ("PUT", "/me/password"): Rule(everybody("2 2 2 2 2"), body(password=PASSWORD)),
    ("PUT", "/me/default-project"): Rule(everybody("2 2 2 403 404"), body(project="vision")),
    ("POST", "/keys"): Rule(everybody("2 2 2 2 2"), body()),
    ("GET", "/keys"): Rule(
        {"own": "2 2 2 2 2", "others": "2 403 403 403 403", "none": "404 403 403 403 403"},
        lambda case: {"params": {"user": user_of(case)}},
    ),
    ("DELETE", "/keys/{key_id}"): Rule(
        {
            "own": "2 2 2 2 2",
            "others": "2 404 404 404 404",
            "foreign": "2 404 404 404 404",
            "none": "404 404 404 404 404",
        }
    ),
    ("POST", "/registrations"): Rule(OPEN, body(name="new", password=PASSWORD)),
    ("GET", "/registrations"): Rule(everybody("2 403 403 403 403")),
    ("POST", "/registrations/{registration}/approve"): Rule(
        {"others": "2 403 403 403 403", "none": "404 403 403 403 403"}, body()
    ),
    ("DELETE", "/registrations/{registration}"): Rule({"others": "2 403 403 403 403", "none": "404 403 403 403 403"}),
    ("GET", "/users"): Rule(everybody("2 2 2 2 2")),
    ("POST", "/users"): Rule(everybody("2 403 403 403 403"), body(name="new")),
    ("GET", "/users/{user}"): Rule(
        {"own": "2 2 2 2 2", "others": "2 2 2 2 404", "foreign": "2 404 404 404 2", "none": "404 404 404 404 404"}
    ),
    ("PATCH", "/users/{user}"): Rule(
        {
            "own": "2 2 2 2 2",
            "others": "2 403 403 403 404",
            "foreign": "2 404 404 404 403",
            "none": "404 404 404 404 404",
        },
        body(full_name="Somebody"),
    ),
    ("POST", "/users/{user}/disable"): Rule({**ADMIN_ONLY, "own": "409 403 403 403 403"}, body()),
    ("POST", "/users/{user}/enable"): Rule(ADMIN_ONLY),
    ("POST", "/users/{user}/link"): Rule(ADMIN_ONLY, body()),
    # projects
    ("GET", "/projects"): Rule(everybody("2 2 2 2 2")),
    ("POST", "/projects"): Rule(everybody("2 403 403 403 403"), body(name="new")),
    ("GET", "/projects/{project}"): Rule(
        {"others": "2 2 2 2 404", "foreign": "2 404 404 404 2", "none": "404 404 404 404 404"}
    ),
    ("PATCH", "/projects/{project}"): Rule(OWN_PROJECT, body(description="new")),
    ("DELETE", "/projects/{project}"): Rule(OWN_PROJECT, project="-bare"),
    ("PUT", "/projects/{project}/members/{user}"): Rule(OWN_PROJECT, body(role="viewer")),
    ("DELETE", "/projects/{project}/members/{user}"): Rule(
        {**OWN_PROJECT, "own": "404 409 2 2 404"}  # everybody may leave, but the last owner; others are no members
    ),
    ("POST", "/projects/{project}/invitations"): Rule(OWN_PROJECT, body(user="newcomer")),
    ("GET", "/projects/{project}/invitations"): Rule(OWN_PROJECT),
    ("DELETE", "/projects/{project}/invitations/{user}"): Rule(OWN_PROJECT),
    ("GET", "/invitations"): Rule(everybody("2 2 2 2 2")),
    ("POST", "/invitations/{invitation}/accept"): Rule(INVITATION),
    ("DELETE", "/invitations/{invitation}"): Rule(INVITATION),
    ("GET", "/projects/{project}/quotas"): Rule(
        {"others": "2 2 2 2 404", "foreign": "2 404 404 404 2", "none": "404 404 404 404 404"}
    ),
    ("PUT", "/projects/{project}/quotas"): Rule(
        {"own": "2 403 403 403 404", **OWN_PROJECT},
        lambda case: {
            "json": {"project": {"npu": 4}} if case.relation == "own" else {"users": {user_of(case): {"npu": 1}}}
        },
    ),
    # costs and the audit log
    ("GET", "/costs"): Rule({"any": "2 403 403 403 403"}),
    ("GET", "/audit"): Rule(
        {
            "any": "2 2 403 403 2",
            "others": "2 2 403 403 404",
            "foreign": "2 404 404 404 2",
            "none": "404 404 404 404 404",
        },
        lambda case: {} if case.relation == "any" else {"params": {"project": project_of(case, "")}},
    ),
}
