"""Live jobs are read when something happens with them, and not at every look."""

from __future__ import annotations

from tests.support.statements import statements
from tests.support.steps import want
from tests.support.world import World

from danlu.spec.states import JobState
from danlu.store.queries import nodes


def look(world: World) -> None:
    """A look at live jobs; the queue is not due."""
    world.scheduler.tick()


def test_a_job_that_just_runs_is_read_once(world: World) -> None:
    world.started(nodes=2)
    world.tick(2)
    with statements(world) as asked:
        look(world)
    assert [statement for statement in asked if "FROM attempts" in statement or "FROM tasks" in statement] == []


def test_however_many_just_run_a_look_asks_as_little(world: World) -> None:
    counts = []
    for _ in range(3):
        world.started()
        world.tick(2)
        with statements(world) as asked:
            look(world)
        counts.append(len(asked))
    assert len(set(counts)) == 1


def test_a_stop_is_seen_at_the_next_look(world: World) -> None:
    job_id = world.started()
    world.tick(2)
    want(world, job_id, "stop")
    look(world)
    assert world.job(job_id).state is JobState.STOPPING


def test_a_task_that_writes_is_read_until_its_log_is_stored(world: World) -> None:
    job_id = world.started()
    world.tick(2)
    for length in (5, 10):
        world.engine.task(job_id).log += b"line\n"
        look(world)
        look(world)
        assert world.job(job_id).attempts[0].tasks[0].log_bytes == length


def test_an_end_is_seen_after_many_quiet_looks(world: World) -> None:
    job_id = world.started(nodes=2)
    world.tick(5)
    world.engine.finish(job_id)
    look(world)
    assert world.job(job_id).state is JobState.SUCCEEDED


def test_a_time_limit_counts_for_a_job_that_does_not_change(world: World) -> None:
    job_id = world.started(max_duration="1m")
    world.tick(2)
    world.clock.pass_seconds(3600)
    world.engine.task(job_id).started_at = world.clock().timestamp() - 120
    look(world)
    assert world.job(job_id).state is JobState.STOPPING


def test_a_report_that_says_nothing_new_writes_no_node(world: World) -> None:
    infos = {info.name: {**info.model_dump(mode="json"), "engine": "local"} for info in world.engine.nodes()}
    before = world.database.read(nodes.mark)
    with statements(world) as asked:
        world.database.write(nodes.save_nodes, world.engine.name, infos, world.clock())
    written = [statement for statement in asked if statement.startswith(("UPDATE", "INSERT"))]
    assert len(written) == 1
    assert "info" not in written[0]
    assert world.database.read(nodes.mark) == before


def test_a_node_that_is_not_reported_any_more_is_not_reachable(world: World) -> None:
    before = world.database.read(nodes.mark)
    world.database.write(nodes.save_nodes, world.engine.name, {}, world.clock())
    assert world.database.read(nodes.mark) != before
    with world.database.reading() as session:
        assert [row.is_reachable for row in nodes.list_nodes(session)] == [False]
        assert not any(report.is_reachable for report in nodes.reports(session))
