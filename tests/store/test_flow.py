"""The data flow in SQL, on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

import pytest
from sqlalchemy.orm import Session
from tests.support.databases import Databases

from danlu.spec.flow import Direction, NodeKind, NodeRef, Relation, store_node
from danlu.store.queries import flow, people, projects
from danlu.store.queries.flow_walk import Reach

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
LATER = datetime(2026, 1, 2, tzinfo=timezone.utc)


@pytest.fixture
def session(databases: Databases) -> Iterator[Session]:
    with databases.open() as database, database.writing() as session:
        people.add_project(session, "one")
        people.add_project(session, "two")
        yield session


def ref(text: str) -> NodeRef:
    return NodeRef.parse(text)


def draw(session: Session, *edges: str, project_id: int = 1) -> None:
    """Make edges known that are written `artifact:a > run:b`."""
    for edge in edges:
        ends = [ref(text) for text in edge.split(" > ")]
        for end in ends:
            if flow.find(session, end) is None:
                flow.node(session, end, project_id=project_id, label=end.key.upper(), at=NOW)
        flow.connect(session, ends[0], ends[1], Relation.INPUT, NOW)


def look(
    session: Session,
    node: str,
    direction: Direction = Direction.BOTH,
    depth: int = 10,
    project_ids: list[int] | None = None,
) -> tuple[dict[str, int], set[str]]:
    """Nodes with their distances, and edges, of all pages."""
    distances: dict[str, int] = {}
    edges: list[str] = []
    names: dict[int, str] = {}
    after: int | None = 0
    while after is not None:
        reach = Reach(direction, depth, limit=2, after=after)
        page = flow.neighbourhood(session, ref(node), reach, project_ids=project_ids)
        assert page is not None
        assert len(page.nodes) <= 2
        names.update({found.number: "?" if found.is_hidden else found.key for found in page.nodes})
        distances.update({names[found.number]: found.distance for found in page.nodes})
        edges += [f"{names[edge.source]}>{names[edge.target]}" for edge in page.edges]
        after = page.next
    assert len(edges) == len(set(edges))
    return distances, set(edges)


class TestWalking:
    def test_both_directions_and_no_siblings(self, session: Session) -> None:
        draw(session, "store:b/d > job:1", "store:b/d > job:2", "job:1 > run:r", "run:r > artifact:a")
        distances, edges = look(session, "run:r")
        assert distances == {"r": 0, "1": -1, "a": 1, "b/d": -2}
        assert edges == {"b/d>1", "1>r", "r>a"}

    def test_one_direction(self, session: Session) -> None:
        draw(session, "artifact:a > run:r", "run:r > artifact:b")
        assert look(session, "run:r", Direction.UP)[0] == {"r": 0, "a": -1}
        assert look(session, "run:r", Direction.DOWN)[0] == {"r": 0, "b": 1}

    def test_depth_is_kept(self, session: Session) -> None:
        draw(session, *(f"run:{number} > run:{number + 1}" for number in range(9)))
        assert look(session, "run:4", depth=2)[0] == {"4": 0, "3": -1, "5": 1, "2": -2, "6": 2}

    def test_circles_end(self, session: Session) -> None:
        draw(session, "run:a > run:b", "run:b > run:c", "run:c > run:a")
        distances, edges = look(session, "run:a", depth=100)
        assert distances == {"a": 0, "c": -1, "b": 1}
        assert edges == {"a>b", "b>c", "c>a"}

    def test_an_edge_between_pages_is_given_once(self, session: Session) -> None:
        draw(session, *(f"run:{a} > run:{b}" for a in range(6) for b in range(a + 1, 6)))
        distances, edges = look(session, "run:0")
        assert len(distances) == 6
        assert len(edges) == 15

    def test_an_unknown_node_is_none(self, session: Session) -> None:
        assert flow.neighbourhood(session, ref("run:x"), Reach("both", depth=1, limit=1)) is None


class TestDeleting:
    def test_a_tombstone_keeps_label_and_edges(self, session: Session) -> None:
        draw(session, "store:b/d > job:1", "job:1 > run:r")
        flow.bury(session, ref("job:1"), LATER)
        page = flow.neighbourhood(session, ref("run:r"), Reach("up", depth=5, limit=10))
        assert page is not None
        assert [(node.key, node.label, node.deleted_at) for node in page.nodes] == [
            ("r", "R", None),
            ("1", "1", LATER),
            ("b/d", "B/D", None),
        ]

    def test_many_at_once(self, session: Session) -> None:
        draw(session, "job:1 > run:r", "job:2 > run:r")
        flow.bury_many(session, NodeKind.JOB, ["1", "2", "unknown"], LATER)
        session.expire_all()
        buried = [flow.find(session, ref(f"job:{number}")) for number in (1, 2)]
        assert [row.deleted_at if row else None for row in buried] == [LATER, LATER]

    def test_what_comes_back_lives_again(self, session: Session) -> None:
        draw(session, "job:1 > run:r")
        flow.bury(session, ref("run:r"), LATER)
        flow.node(session, ref("run:r"), project_id=1, label="back", at=LATER)
        row = flow.find(session, ref("run:r"))
        assert row is not None
        assert (row.label, row.deleted_at) == ("back", None)

    def test_a_deleted_project_leaves_nodes_that_only_admins_see(self, session: Session) -> None:
        draw(session, "run:a > run:b", project_id=2)
        session.flush()
        project = projects.get_project(session, 2)
        assert project is not None
        projects.delete_project(session, project, at=LATER)
        session.expire_all()
        assert flow.neighbourhood(session, ref("run:a"), Reach("both", depth=1, limit=9), project_ids=[1, 2]) is None
        assert look(session, "run:a")[0] == {"a": 0, "b": 1}


class TestHiding:
    def test_a_node_of_another_project_is_hidden_and_led_through(self, session: Session) -> None:
        draw(session, "artifact:a > run:theirs", project_id=2)
        flow.node(session, ref("artifact:a"), project_id=1, label="A", at=NOW)
        draw(session, "run:theirs > artifact:b")
        distances, edges = look(session, "artifact:a", project_ids=[1])
        assert distances == {"a": 0, "?": 1, "b": 2}
        assert edges == {"a>?", "?>b"}

    def test_nothing_is_told_of_what_is_behind_a_hidden_node(self, session: Session) -> None:
        draw(session, "run:mine > artifact:theirs")
        draw(session, "artifact:theirs > run:far", "run:far > artifact:farther", project_id=2)
        flow.node(session, ref("artifact:theirs"), project_id=2, label="X", at=NOW)
        assert look(session, "run:mine", project_ids=[1])[0] == {"mine": 0, "?": 1}

    def test_the_bucket_s_new_project_sees_its_paths(self, session: Session) -> None:
        draw(session, "store:data/a > job:1", "store:datax/a > job:1")
        flow.move_bucket(session, "data", 2)
        session.expire_all()
        found = [flow.find(session, store_node(f"store://{path}")) for path in ("data/a", "datax/a")]
        assert [row.project_id if row else None for row in found] == [2, 1]


class TestStorePaths:
    def test_a_folder_is_one_node_with_and_without_its_slash(self, session: Session) -> None:
        draw(session, "job:1 > store:b/out/", "store:b/out > job:2")
        assert look(session, "job:1")[0] == {"1": 0, "b/out/": 1, "2": 2}

    def test_what_is_written_below_is_read_from_above(self, session: Session) -> None:
        draw(session, "job:1 > store:b/out/1/", "job:2 > store:b/out/2/", "store:b/out > job:3")
        assert look(session, "job:3")[0] == {"3": 0, "b/out": -1, "b/out/1/": -2, "b/out/2/": -2, "1": -3, "2": -3}
        assert look(session, "job:1")[0] == {"1": 0, "b/out/1/": 1, "b/out": 2, "3": 3}

    def test_a_part_of_what_was_written_is_read(self, session: Session) -> None:
        draw(session, "store:b/out/1/model/ > job:2", "job:1 > store:b/out/1/", "store:b/out/10/ > job:4")
        assert look(session, "job:1")[0] == {"1": 0, "b/out/1/": 1, "b/out/1/model/": 2, "2": 3}

    def test_two_that_only_read_have_nothing_to_do_with_each_other(self, session: Session) -> None:
        draw(session, "store:b/data/ > job:1", "store:b/data/part/ > job:2", "store:b/ > job:3")
        assert look(session, "job:2")[0] == {"2": 0, "b/data/part/": -1}

    def test_unknown_ends_are_refused(self, session: Session) -> None:
        with pytest.raises(LookupError, match="run:a is not a known node"):
            flow.connect(session, ref("run:a"), ref("run:b"), Relation.INPUT, NOW)


class TestNames:
    def test_they_are_read_as_they_are_written(self) -> None:
        for text in ("run:run-a", "job:train-1", "store:b/k:x/", "model:mv-1", "artifact:art-1", "code:1/ab"):
            assert str(NodeRef.parse(text)) == text
        assert NodeRef.parse("store://b/k") == NodeRef(NodeKind.STORE, "b/k")

    @pytest.mark.parametrize("text", ["", "job", "job:", "train-1", "pod:x"])
    def test_others_are_refused_with_what_would_be_right(self, text: str) -> None:
        with pytest.raises(ValueError, match="expected KIND:ID with one of run, artifact, job"):
            NodeRef.parse(text)
