"""What a job may do: the least access that lets it use a route. docs/guide/inside.md tells the same to people.

    OPEN      anybody, signed in or not
    ITSELF    any job, for what is its own; more access gives nothing more there
    MORE      any job, for what is its own; with `read` it reads, with `owner` it changes what its owner may as a member
    READ      with `access: read`: as its owner
    OWNER     with `access: owner`: as its owner, as a member of the job's project
    NEVER     people only

A new route fails `tests/server/test_job_rights.py` until it is here.
"""

from __future__ import annotations

OPEN, ITSELF, MORE, READ, OWNER, NEVER = "open", "itself", "more", "read", "owner", "never"

_LINES = {
    OPEN: ("GET /health", "POST /session", "POST /registrations"),
    ITSELF: (
        "GET /me",
        "POST /runs",
        "GET /folders",
        "POST /folders",
        "POST /jobs/{job}/metrics",
        "POST /artifacts/uploads",
        "POST /artifacts/uploads/{artifact}/lacking",
        "POST /artifacts/uploads/{artifact}/chunks",
        "POST /artifacts/uploads/{artifact}/commit",
        "GET /uploads/{upload}",
        "PUT /uploads/{upload}",
        "DELETE /uploads/{upload}",
        "POST /uploads/{upload}/commit",
        "POST /uploads/{upload}/grants",
        "POST /buckets/{bucket}/batches",
    ),
    MORE: (
        "GET /buckets/{bucket}/objects",
        "GET /buckets/{bucket}/objects/{key:path}",
        "HEAD /buckets/{bucket}/objects/{key:path}",
        "PUT /buckets/{bucket}/objects/{key:path}",
        "POST /buckets/{bucket}/reads",
        "POST /buckets/{bucket}/uploads",
        "GET /trees/{digest}",
        "POST /blobs/reads",
        "GET /blobs/{digest}",
        "GET /runs/{run}",
        "GET /runs/{run}/journals/{journal}",
        "PUT /runs/{run}/journals/{journal}",
        "GET /artifacts/named",
        "GET /artifacts/versions/{version}",
        "GET /artifacts/versions/{version}/manifest",
        "POST /artifacts/versions/{version}/chunks",
        "POST /artifacts/versions/{version}/links",
        "POST /models",
    ),
    READ: (
        "GET /changes",
        "GET /runs/changes",
        "GET /jobs",
        "GET /jobs/{job}",
        "GET /jobs/{job}/events",
        "GET /favourites",
        "GET /jobs/{job}/why",
        "GET /jobs/{job}/usage",
        "GET /jobs/{job}/alerts",
        "GET /alerts",
        "GET /jobs/{job}/watch",
        "GET /jobs/{job}/logs",
        "GET /jobs/{job}/logs/{rank}",
        "GET /jobs/{job}/logs/{rank}/lines",
        "GET /jobs/{job}/logs/{rank}/matches",
        "GET /jobs/{job}/logs/{rank}/times",
        "GET /reasons",
        "GET /nodes",
        "GET /nodes/environments",
        "GET /nodes/holdings",
        "GET /examples",
        "GET /examples/{example}",
        "GET /buckets",
        "GET /projects",
        "GET /projects/{project}",
        "GET /projects/{project}/quotas",
        "GET /flavors",
        "GET /flavors/{flavor}",
        "GET /flavor-suggestions",
        "GET /frameworks",
        "GET /frameworks/{framework}",
        "GET /flow",
        "GET /templates",
        "GET /views",
        "GET /views/{view}",
        "GET /models",
        "GET /models/{model}",
        "GET /models/{model}/versions",
        "GET /models/{model}/versions/{which}",
        "GET /models/{model}/compare",
        "GET /model-versions/{version_id}",
        "GET /runs",
        "GET /runs/points",
        "GET /runs/{run}/environment",
        "GET /runs/{run}/series",
        "GET /runs/{run}/media",
        "GET /runs/{run}/media/{media}",
        "GET /runs/{run}/media/{media}/page",
        "GET /runs/{run}/alerts",
        "GET /runs/{run}/output/{journal}",
        "GET /runs/{run}/export",
        "GET /runs/{run}/watch",
        "GET /artifacts",
        "GET /artifacts/versions",
    ),
    OWNER: (
        "POST /jobs",
        "POST /jobs/plan",
        "POST /jobs/stop",
        "POST /jobs/delete",
        "DELETE /jobs/{job}",
        "POST /jobs/{job}/stop",
        "POST /jobs/{job}/pause",
        "POST /jobs/{job}/resume",
        "POST /jobs/{job}/start",
        "POST /trees",
        "PUT /blobs/{digest}",
        "POST /blobs/batches",
        "POST /buckets",
        "DELETE /buckets/{bucket}/objects",
        "DELETE /buckets/{bucket}/objects/{key:path}",
        "POST /folders/move",
        "DELETE /folders",
        "PATCH /runs/{run}",
        "DELETE /runs/{run}",
        "POST /runs/{run}/restore",
        "PATCH /artifacts/named",
        "DELETE /artifacts/named",
        "PATCH /artifacts/versions/{version}",
        "DELETE /artifacts/versions/{version}",
        "PATCH /models/{model}",
        "DELETE /models/{model}",
        "PATCH /models/{model}/versions/{which}",
        "DELETE /models/{model}/versions/{which}",
        "PUT /models/{model}/aliases/{alias}",
        "DELETE /models/{model}/aliases/{alias}",
    ),
    NEVER: (
        "POST /jobs/{job}/terminals",
        "GET /jobs/{job}/terminals/{terminal}/output",
        "POST /jobs/{job}/terminals/{terminal}/input",
        "PUT /jobs/{job}/terminals/{terminal}/size",
        "DELETE /jobs/{job}/terminals/{terminal}",
        "GET /jobs/{job}/endpoints",
        "PUT /jobs/{job}/endpoints/{endpoint}",
        "DELETE /jobs/{job}/endpoints/{endpoint}",
        "POST /jobs/{job}/endpoints/{endpoint}/links",
        "POST /jobs/{job}/viewers",
        "GET /ssh-gateway",
        "PUT /favourites/{job}",
        "DELETE /favourites/{job}",
        "GET /notices",
        "PUT /notices/read",
        "GET /notices/wishes",
        "PUT /notices/wishes",
        "GET /webhooks",
        "POST /webhooks",
        "DELETE /webhooks/{webhook}",
        "POST /webhooks/{webhook}/test",
        "GET /webhooks/{webhook}/deliveries",
        "GET /ssh-keys",
        "POST /ssh-keys",
        "DELETE /ssh-keys/{ssh_key}",
        "PUT /nodes/{node}/drain",
        "DELETE /nodes/{node}/drain",
        "PATCH /buckets/{bucket}",
        "DELETE /buckets/{bucket}",
        "DELETE /session",
        "PUT /me/password",
        "PUT /me/default-project",
        "POST /keys",
        "GET /keys",
        "DELETE /keys/{key_id}",
        "GET /registrations",
        "POST /registrations/{registration}/approve",
        "DELETE /registrations/{registration}",
        "GET /users",
        "POST /users",
        "GET /users/{user}",
        "PATCH /users/{user}",
        "POST /users/{user}/disable",
        "POST /users/{user}/enable",
        "POST /users/{user}/link",
        "POST /projects",
        "PATCH /projects/{project}",
        "DELETE /projects/{project}",
        "PUT /projects/{project}/members/{user}",
        "DELETE /projects/{project}/members/{user}",
        "POST /projects/{project}/invitations",
        "GET /projects/{project}/invitations",
        "DELETE /projects/{project}/invitations/{user}",
        "GET /invitations",
        "POST /invitations/{invitation}/accept",
        "DELETE /invitations/{invitation}",
        "PUT /projects/{project}/quotas",
        "POST /flavors",
        "PATCH /flavors/{flavor}",
        "DELETE /flavors/{flavor}",
        "POST /frameworks",
        "PATCH /frameworks/{framework}",
        "DELETE /frameworks/{framework}",
        "POST /templates",
        "DELETE /templates/{template}",
        "POST /views",
        "DELETE /views/{view}",
        "GET /audit",
        "GET /costs",
    ),
}
JOB_RULES: dict[tuple[str, str], str] = {
    (method, path): word
    for word, lines in _LINES.items()
    for method, _, path in (line.partition(" ") for line in lines)
}
READING_POSTS = {"/buckets/{bucket}/reads", "/blobs/reads", "/artifacts/versions/{version}/chunks"}
"""What only reads, though it is sent with POST."""


def expected_of_job(method: str, path: str, access: str, member: str) -> str | None:
    """What a job of the member gets where they themselves get `member`; None where the table says nothing.

    Of routes that serve what is a job's own the refusals differ: "" stands for any of them.
    """
    word = JOB_RULES[method, path]
    reads = method in ("GET", "HEAD") or path in READING_POSTS
    if word in (OPEN, ITSELF):
        return None
    if word is NEVER or (word is OWNER and access == "read"):
        return "403"
    if word is MORE:
        may = member == "2" and (access == "owner" or (reads and path != "/runs/{run}/journals/{journal}"))
        return "2" if may else ""
    return member
