"""A world with somebody of every kind in it, and with things of theirs: what the matrix of rights is tried on.

project vision   bucket vision   olga (owner), max (member), vic (viewer)
project other    bucket other    otto (owner), who is the outsider
admin            member of neither
pending          has registered;  dora was disabled
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
from fastapi.routing import iter_route_contexts
from tests.support.journals import BEGAN, JournalMaker
from tests.support.shared import Snapshot
from tests.support.world import World, make_node, make_world

from danlu import journal
from danlu.auth.identity import JobIdentity, Role, UserIdentity
from danlu.content.ids import new_artifact_id
from danlu.content.manifest import Chunk, File, Manifest
from danlu.content.packs import pack
from danlu.server.artifacts import operations as artifact_operations
from danlu.server.artifacts import uploads as artifact_uploads
from danlu.server.jobs import service
from danlu.server.models import operations as model_operations
from danlu.server.nodes import service as node_service
from danlu.server.objects.located import locate
from danlu.server.runs import service as run_service
from danlu.server.templates import service as template_service
from danlu.server.uploads import service as upload_service
from danlu.server.views import service as view_service
from danlu.spec.flavors import Flavor
from danlu.spec.frameworks import Framework
from danlu.spec.paths import StorePath
from danlu.store.objects import blobs
from danlu.store.queries import buckets, catalog, invitations, people, projects, registrations
from danlu.store.sql.rights_tables import InvitationRow
from danlu.store.sql.tables import RegistrationRow
from danlu.wire.artifacts import BeginArtifact
from danlu.wire.models import RegisterModel
from danlu.wire.nodes import DrainNode
from danlu.wire.runs import CreateRun
from danlu.wire.saved.templates import SaveTemplate
from danlu.wire.saved.views import SaveView, ViewPage
from danlu.wire.store import BeginUpload, Tree, TreeFile

PEOPLE = {"admin": "admin", "owner": "olga", "member": "max", "viewer": "vic", "outsider": "otto"}
TOKENS = ("job", "other_job")
NOBODIES = ("pending", "disabled", "anonymous")
ROLES = (*PEOPLE, *TOKENS, *NOBODIES)
PASSWORD = "a good password"
CHUNK = b"weights"
CODE = b"print('hello')\n"
NO_DIGEST = "a" * 64
OFFERED = "small"
"""What the flavor and the framework are called."""


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass
class Scene:
    world: World
    http: httpx.Client
    keys: dict[str, str] = field(default_factory=dict)
    """Role -> what goes into the Authorization header; empty for nothing."""

    key_ids: dict[str, str] = field(default_factory=dict)
    jobs: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    """(role, relation) -> kind of job -> id."""

    uploads: dict[str, str] = field(default_factory=dict)
    """Role -> id of an upload that it began."""

    running: dict[str, str] = field(default_factory=dict)
    """The jobs whose tokens are used."""

    runs: dict[tuple[str, str], JournalMaker] = field(default_factory=dict)
    """(role, relation) -> a run with a point and a text in it."""

    models: dict[str, str] = field(default_factory=dict)
    """Whose -> id of the first version of a model of theirs, which is called as they are."""

    templates: dict[str, str] = field(default_factory=dict)
    """Whose -> id of a template that they share."""

    views: dict[str, str] = field(default_factory=dict)
    """Whose -> id of a view that they share."""

    artifacts: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    """(role, relation) -> the id of a version with CHUNK in it, and that of an upload on its way."""

    invitations: dict[str, str] = field(default_factory=dict)
    """Whose -> id of an invitation of theirs."""

    registration: str = ""
    tree: dict[str, str] = field(default_factory=dict)
    """Project -> digest of a tree that it has sent."""

    snapshot: Snapshot | None = None

    def routes(self) -> list[tuple[str, str]]:
        found = [
            (method, str(route.path))
            for route in iter_route_contexts(self.world.app().routes)
            for method in sorted(route.methods or ())
            if not str(route.path).endswith("/openapi.json")
        ]
        assert len(found) > 40, "the walk finds no routes any more"
        return found

    def send(self, role: str, method: str, path: str, **options: Any) -> Any:
        key = self.keys[role]
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return self.http.request(method, path, headers={**headers, **options.pop("headers", {})}, **options)

    def restore(self) -> None:
        """Put everything back to how it was."""
        assert self.snapshot is not None
        self.snapshot.restore()


@contextmanager
def make_scene(folder: Path, *, accesses: Sequence[str] = ()) -> Iterator[Scene]:
    """`accesses`: also the tokens of jobs of the member with such access, under these names."""
    node = make_node(npus=64, cpus=256, max_tasks=256)
    with make_world(folder, node) as world, world.serving() as url, httpx.Client(base_url=url, timeout=None) as http:
        scene = Scene(world, http)
        _people(scene)
        _things(scene, accesses)
        scene.snapshot = Snapshot(world)
        yield scene
        scene.snapshot.close()


def _people(scene: Scene) -> None:
    world = scene.world
    for name, project, role in (
        ("olga", "vision", Role.OWNER),
        ("max", "vision", Role.MEMBER),
        ("vic", "vision", Role.VIEWER),
        ("otto", "other", Role.OWNER),
        ("dora", "vision", Role.MEMBER),
        ("finn", "other", Role.MEMBER),
        ("mona", "vision", Role.MEMBER),
    ):
        world.add_user(name, project, role)
    with world.database.writing() as session:
        row = RegistrationRow(
            id="00000000000000aa",
            name="petra",
            full_name="",
            email="",
            note="",
            password_hash=world.state.passwords.hash(PASSWORD),
            address="",
            created_at=world.clock(),
        )
        registrations.add_registration(session, row)
        scene.registration = row.id
    for kind, name in PEOPLE.items():
        scene.keys[kind], scene.key_ids[kind] = _key(world, name)
    scene.keys["anonymous"] = ""
    scene.keys["pending"] = "dk-00000000000000aa.never-had-one"
    scene.keys["disabled"], _ = _key(world, "dora")
    _, scene.key_ids["colleague"] = _key(world, "mona")
    _, scene.key_ids["foreigner"] = _key(world, "finn")
    with world.database.writing() as session:
        dora = people.user_by_name(session, "dora")
        assert dora is not None
        dora.is_active = False


def _key(world: World, name: str) -> tuple[str, str]:
    text = world.api_key(world.identity(name))
    return text, text.removeprefix("dk-").partition(".")[0]


def _things(scene: Scene, accesses: Sequence[str]) -> None:
    world = scene.world
    for project in ("vision", "other"):
        for key in ("data/train/1", "data/secret"):
            writer = world.state.objects.put(StorePath(project, key))
            writer.write(b"x")
            writer.commit(None)
        tree = Tree(files=[TreeFile(path="main.py", sha256=digest_of(CODE + project.encode()), size=len(CODE))])
        world.state.blobs.put_bytes(digest_of(CODE + project.encode()), CODE + project.encode())
        world.state.blobs.put_bytes(tree.digest, tree.to_json())
        with world.database.writing() as session:
            row = projects.project_by_name(session, project)
            assert row is not None
            for digest in (tree.digest, digest_of(CODE + project.encode())):
                blobs.own(session, row.id, digest, world.clock())
            blobs.add_tree(session, row.id, tree.digest, world.clock())
        scene.tree[project] = tree.digest
    with world.database.writing() as session:
        vision = projects.project_by_name(session, "vision")
        other = projects.project_by_name(session, "other")
        assert vision is not None
        assert other is not None
        buckets.add_bucket(session, "vision-empty", project_id=vision.id, at=world.clock())
        buckets.add_bucket(session, "other-empty", project_id=other.id, at=world.clock())
        for name, where in (("vision-bare", vision), ("other-bare", other)):
            bare = people.add_project(session, name, at=world.clock())
            for member in projects.members(session, where.id):
                projects.set_member(session, bare.id, member.user_id, member.role)
        catalog.put(session, Flavor(name=OFFERED), world.clock())
        catalog.put(session, Framework(name=OFFERED), world.clock())
    mona, finn = world.identity("mona"), world.identity("finn")
    scene.running["job"] = _running(world, world.identity("max"), "vision", scene.tree["vision"])
    scene.running["other_job"] = _running(world, finn, "other", scene.tree["other"])
    scene.running |= {
        access: world.started(who=world.identity("max"), project="vision", access=access) for access in accesses
    }
    for role in (*TOKENS, *accesses):
        scene.keys[role] = world.job_token(scene.running[role])
    owners = {name: _as_member(world, name) for name in PEOPLE.values()} | {"mona": mona, "finn": finn}
    made: dict[str, dict[str, str]] = {name: {} for name in owners}
    for kind in ("paused", "over", "queued"):  # nothing ticks once there are queued ones
        for name, who in owners.items():
            project = "other" if name == "finn" else "vision"
            made[name][kind] = world.submit(who, project=project, name=f"{name}-{kind}")
            wish = {"paused": service.pause, "over": service.stop}.get(kind)
            if wish is not None:
                world.database.write(wish, world.state, world.admin, made[name][kind])
        if kind == "over":
            world.tick()
    for role, name in PEOPLE.items():
        scene.jobs[role, "own"] = made[name]
        scene.jobs[role, "others"], scene.jobs[role, "foreign"] = made["mona"], made["finn"]
    _invitations(scene)
    _uploads(scene)
    _runs(scene, owners)
    _models(scene, owners)
    _artifacts(scene, owners)
    drain = DrainNode(reason="kernel update")  # nothing starts any more: there is something to open
    world.database.write(node_service.drain, world.state, world.admin, "here", drain)
    _saved(scene, owners)


def _saved(scene: Scene, owners: dict[str, UserIdentity]) -> None:
    """A template and a view of everybody's."""
    world = scene.world
    for name, who in owners.items():
        project = "other" if name == "finn" else "vision"
        template = SaveTemplate(name=name, project=project, is_shared=True, spec={})
        scene.templates[name] = world.database.write(template_service.save, world.state, who, template, spec={}).id
        view = SaveView(name=name, project=project, is_shared=True, page=ViewPage.EXPERIMENTS, search={})
        scene.views[name] = world.database.write(view_service.save, world.state, who, view).id


def _invitations(scene: Scene) -> None:
    """Everybody is asked to join: those who are in already as well."""
    world = scene.world
    for name in (*PEOPLE.values(), "mona", "finn"):
        project, owner = ("other", "otto") if name == "finn" else ("vision", "olga")
        scene.invitations[name] = f"{len(scene.invitations):032x}"
        with world.database.writing() as session:
            row = projects.project_by_name(session, project)
            assert row is not None
            invitations.add_invitation(
                session,
                InvitationRow(
                    id=scene.invitations[name],
                    project_id=row.id,
                    name=name,
                    user_id=world.identity(name).user_id,
                    role=Role.VIEWER.value,
                    invited_by=world.identity(owner).user_id,
                    created_at=world.clock(),
                    expires_at=world.clock() + timedelta(days=1),
                ),
            )


def _artifacts(scene: Scene, owners: dict[str, UserIdentity]) -> None:
    made = {name: _artifact(scene.world, who, name) for name, who in owners.items()}
    of_job = _artifact(scene.world, scene.world.job_identity(scene.running["job"]), "job")
    for role in (*PEOPLE, *TOKENS, *NOBODIES):
        scene.artifacts[role, "own"] = of_job if role in TOKENS else made[PEOPLE.get(role, "max")]
        scene.artifacts[role, "others"], scene.artifacts[role, "foreign"] = made["mona"], made["finn"]


def _artifact(world: World, who: UserIdentity | JobIdentity, name: str) -> tuple[str, str]:
    project = "other" if name == "finn" else "vision"
    ids = new_artifact_id(), new_artifact_id()
    for one in ids:
        begin = BeginArtifact(artifact=one, name=f"of-{name}", project=project)
        world.database.write(artifact_uploads.begin, world.state, who, begin)
        artifact_operations.take_chunks(world.state, who, one, pack_of_chunk())
    artifact_operations.commit(world.state, who, ids[0], commit_of_chunk())
    return ids


def pack_of_chunk() -> bytes:
    return pack([{"sha256": digest_of(CHUNK), "size": len(CHUNK)}], [CHUNK])


def commit_of_chunk() -> bytes:
    manifest = Manifest((File("model.pt", len(CHUNK), digest_of(CHUNK), (Chunk(digest_of(CHUNK), len(CHUNK)),)),))
    return json.dumps({"manifest": json.loads(manifest.to_json())}).encode()


def _runs(scene: Scene, owners: dict[str, UserIdentity]) -> None:
    made = {name: _run(scene.world, who, "other" if name == "finn" else "vision") for name, who in owners.items()}
    for role, name in PEOPLE.items():
        scene.runs[role, "own"] = made[name]
    who = scene.world.job_identity(scene.running["job"])
    for role in TOKENS:
        scene.runs[role, "own"] = scene.runs.get(("job", "own")) or _run(scene.world, who, "vision")
    for role in (*PEOPLE, *TOKENS, *NOBODIES):
        scene.runs.setdefault((role, "own"), made["max"])
        scene.runs[role, "others"], scene.runs[role, "foreign"] = made["mona"], made["finn"]


def _models(scene: Scene, owners: dict[str, UserIdentity]) -> None:
    for name, who in owners.items():
        project = "other" if name == "finn" else "vision"
        body = RegisterModel(
            name=name, project=project, path=f"{project}/data/secret", copy_files=False, aliases=["champion"]
        )
        with _member_of_vision(scene.world, name):
            scene.models[name] = model_operations.register(scene.world.state, who, body).id


def _run(world: World, who: UserIdentity | JobIdentity, project: str) -> JournalMaker:
    name = who.name if isinstance(who, UserIdentity) else "job"
    made = JournalMaker(name=name, project=project, folder=f"of-{name}").log("train", {"loss": [1.0]}, [1])
    about = {"kind": "html", "type": "train", "name": "note", "step": 1, "time": BEGAN, "format": "text/html"}
    made.add(journal.encode_media(about, b"secret")).finish()
    with world.database.writing() as session:
        number = run_service.create(session, world.state, who, CreateRun.model_validate(made.header)).number
    world.state.metrics.append(number, made.run, made.name, offset=0, data=made.data, now=world.clock())
    world.state.metrics.ingest_changed()
    return made


@contextmanager
def _member_of_vision(world: World, name: str) -> Iterator[None]:
    """Somebody is a member for a while: what takes long is held against the rights of the moment."""
    who, vision = world.identity(name), next(iter(world.identity("max").roles))
    with world.database.writing() as session:
        projects.set_member(session, vision, who.user_id, Role.MEMBER.value)
    yield
    with world.database.writing() as session:
        if vision in who.roles:
            projects.set_member(session, vision, who.user_id, who.roles[vision].value)
        else:
            projects.delete_member(session, vision, who.user_id)


def _as_member(world: World, name: str) -> UserIdentity:
    """Somebody with the role of a member of vision, whatever they are now: roles change, and jobs stay."""
    who = world.identity(name)
    vision = world.identity("max").roles
    return UserIdentity(user_id=who.user_id, name=name, is_admin=False, roles=dict(vision))


def _running(world: World, who: UserIdentity, project: str, tree: str) -> str:
    return world.started(who=who, project=project, data={f"store://{project}/data/train": "train"}, code={"tree": tree})


def _uploads(scene: Scene) -> None:
    world = scene.world
    path = StorePath("vision", "data/upload")
    for role in (*PEOPLE, *TOKENS, "colleague"):
        who: Any
        if role in TOKENS:
            job_id = scene.running[role]
            who = world.job_identity(job_id)
            project = "vision" if role == "job" else "other"
            path = StorePath(project, f"jobs/{job_id}/upload")
        else:
            who = world.identity(PEOPLE.get(role, "mona"))
            path = StorePath("vision", f"data/upload-{role}")
        body = BeginUpload(key=path.key, size=1, sha256=digest_of(b"x"))
        where = world.database.read(locate, path)
        made = world.database.write(upload_service.add, world.state, who, where, body, None)
        scene.uploads[role] = made.id
        world.state.uploads.append(made.id, 0, b"x")
