"""Rights on jobs, nodes, flavors, templates and saved views: see tests/support/rules.py"""

from __future__ import annotations

from tests.support.cases import project_of
from tests.support.rights import Rule, everybody
from tests.support.rule_lines import CHANGE_JOB, LOOK_UP, NOT_THERE, OFFER, SEE, SSH_KEY, body, spec_in

JOB_RULES: dict[tuple[str, str], Rule] = {
    # jobs
    ("GET", "/changes"): Rule(everybody("2 2 2 2 2")),
    ("GET", "/runs/changes"): Rule(everybody("2 2 2 2 2")),
    ("GET", "/jobs"): Rule(everybody("2 2 2 2 2")),
    ("POST", "/jobs"): Rule(
        {"others": "2 2 2 422 422", "foreign": "2 422 422 422 2", "none": "422 422 422 422 422"}, spec_in
    ),
    ("POST", "/jobs/plan"): Rule(
        {"others": "2 2 2 422 422", "foreign": "2 422 422 422 2", "none": "422 422 422 422 422"}, spec_in
    ),
    ("POST", "/jobs/stop"): Rule(everybody("2 2 2 2 2"), body(jobs=["nothing"])),
    ("POST", "/jobs/delete"): Rule(everybody("2 2 2 2 2"), body(jobs=["nothing"])),
    ("GET", "/jobs/{job}"): Rule(SEE),
    ("DELETE", "/jobs/{job}"): Rule(CHANGE_JOB),
    ("POST", "/jobs/{job}/stop"): Rule(CHANGE_JOB, job="queued"),
    ("POST", "/jobs/{job}/pause"): Rule(CHANGE_JOB, job="queued"),
    ("POST", "/jobs/{job}/resume"): Rule(CHANGE_JOB, job="paused"),
    ("POST", "/jobs/{job}/start"): Rule(CHANGE_JOB),
    ("GET", "/favourites"): Rule(everybody("2 2 2 2 2")),
    ("PUT", "/favourites/{job}"): Rule(SEE),
    ("DELETE", "/favourites/{job}"): Rule(SEE),
    ("GET", "/jobs/{job}/events"): Rule(SEE),
    ("GET", "/jobs/{job}/why"): Rule(SEE),
    # whose shell it would be is asked before whether there is a task to open it in
    ("POST", "/jobs/{job}/terminals"): Rule(
        {name: line.replace("2", "409") for name, line in CHANGE_JOB.items()}, body()
    ),
    ("GET", "/jobs/{job}/terminals/{terminal}/output"): Rule(NOT_THERE),
    ("POST", "/jobs/{job}/terminals/{terminal}/input"): Rule(NOT_THERE, body(data="")),
    ("PUT", "/jobs/{job}/terminals/{terminal}/size"): Rule(NOT_THERE, body(rows=24, columns=80)),
    ("DELETE", "/jobs/{job}/terminals/{terminal}"): Rule(NOT_THERE),
    ("GET", "/ssh-keys"): Rule(everybody("2 2 2 2 2")),
    ("POST", "/ssh-keys"): Rule(everybody("2 2 2 2 2"), body(public_key=SSH_KEY)),
    ("DELETE", "/ssh-keys/{ssh_key}"): Rule(everybody("404 404 404 404 404")),
    ("GET", "/ssh-gateway"): Rule(everybody("2 2 2 2 2")),
    ("GET", "/jobs/{job}/endpoints"): Rule(SEE),
    ("PUT", "/jobs/{job}/endpoints/{endpoint}"): Rule(CHANGE_JOB, body(), job="queued"),
    ("DELETE", "/jobs/{job}/endpoints/{endpoint}"): Rule(CHANGE_JOB),
    ("POST", "/jobs/{job}/endpoints/{endpoint}/links"): Rule(NOT_THERE),
    # it belongs to whoever asks, and is in the project of the job
    ("POST", "/jobs/{job}/viewers"): Rule({**SEE, "own": "2 2 2 422 404", "others": "2 2 2 422 404"}),
    ("GET", "/jobs/{job}/usage"): Rule(SEE),
    ("GET", "/jobs/{job}/alerts"): Rule(SEE),
    ("GET", "/alerts"): Rule(everybody("2 2 2 2 2")),
    ("GET", "/notices"): Rule(everybody("2 2 2 2 2")),
    ("PUT", "/notices/read"): Rule(everybody("2 2 2 2 2"), body(up_to=1)),
    ("GET", "/notices/wishes"): Rule(everybody("2 2 2 2 2")),
    ("PUT", "/notices/wishes"): Rule(everybody("2 2 2 2 2"), body(email=["job.failed"])),
    # whose events a webhook may be for: tests/server/test_webhooks.py
    ("GET", "/webhooks"): Rule(everybody("2 2 2 2 2")),
    ("POST", "/webhooks"): Rule(everybody("2 2 2 2 2"), body(url="https://example.com/hook")),
    ("DELETE", "/webhooks/{webhook}"): Rule(everybody("404 404 404 404 404")),
    ("POST", "/webhooks/{webhook}/test"): Rule(everybody("404 404 404 404 404")),
    ("GET", "/webhooks/{webhook}/deliveries"): Rule(everybody("404 404 404 404 404")),
    ("GET", "/jobs/{job}/watch"): Rule(SEE),
    ("GET", "/jobs/{job}/logs"): Rule(SEE),
    ("GET", "/jobs/{job}/logs/{rank}"): Rule(SEE),
    ("GET", "/jobs/{job}/logs/{rank}/times"): Rule(SEE),
    ("GET", "/jobs/{job}/logs/{rank}/lines"): Rule(SEE),
    ("GET", "/jobs/{job}/logs/{rank}/matches"): Rule(SEE),
    ("GET", "/reasons"): Rule(everybody("2 2 2 2 2")),
    ("GET", "/nodes"): Rule(everybody("2 2 2 2 2")),
    ("GET", "/nodes/holdings"): Rule(everybody("2 2 2 2 2")),
    ("GET", "/nodes/environments"): Rule(everybody("2 2 2 2 2")),
    ("GET", "/examples"): Rule(everybody("2 2 2 2 2")),
    ("GET", "/examples/{example}"): Rule(everybody("2 2 2 2 2")),
    ("PUT", "/nodes/{node}/drain"): Rule(OFFER, body(reason="kernel update")),
    ("DELETE", "/nodes/{node}/drain"): Rule(OFFER),
    # flavors and frameworks
    ("GET", "/flavors"): Rule(everybody("2 2 2 2 2")),
    ("POST", "/flavors"): Rule(everybody("2 403 403 403 403"), body(name="new")),
    ("GET", "/flavors/{flavor}"): Rule(LOOK_UP),
    ("PATCH", "/flavors/{flavor}"): Rule(OFFER, body(price_per_hour="1")),
    ("DELETE", "/flavors/{flavor}"): Rule(OFFER),
    ("GET", "/flavor-suggestions"): Rule(everybody("2 403 403 403 403")),
    ("GET", "/frameworks"): Rule(everybody("2 2 2 2 2")),
    ("POST", "/frameworks"): Rule(everybody("2 403 403 403 403"), body(name="new")),
    ("GET", "/frameworks/{framework}"): Rule(LOOK_UP),
    ("PATCH", "/frameworks/{framework}"): Rule(OFFER, body(title="new")),
    ("DELETE", "/frameworks/{framework}"): Rule(OFFER),
    # templates
    ("GET", "/templates"): Rule(everybody("2 2 2 2 2")),
    ("POST", "/templates"): Rule(
        {"others": "2 2 2 403 404", "foreign": "2 404 404 404 2", "none": "404 404 404 404 404"},
        lambda case: {"json": {"name": "new", "project": project_of(case, ""), "spec": {"nodes": 2}}},
    ),
    ("DELETE", "/templates/{template}"): Rule(CHANGE_JOB),
    # saved views
    ("GET", "/views"): Rule(everybody("2 2 2 2 2")),
    ("POST", "/views"): Rule(
        {"others": "2 2 2 403 404", "foreign": "2 404 404 404 2", "none": "404 404 404 404 404"},
        lambda case: {
            "json": {"name": "new", "project": project_of(case, ""), "page": "compare", "search": {"log": True}}
        },
    ),
    ("GET", "/views/{view}"): Rule(SEE),
    ("DELETE", "/views/{view}"): Rule(CHANGE_JOB),
}
