"""The server is killed at every point of every kind of run, and started again (F110)."""

import pytest

from harness import shapes
from harness.faults import listen

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

SHAPES = [shapes.Text, shapes.Client, shapes.ClientStreamed, shapes.ServerTools, shapes.Mixed,
          shapes.Hidden, shapes.Final, shapes.Background, shapes.BackgroundQuiet,
          shapes.BackgroundTools, shapes.InConversation, shapes.Foreground, shapes.Limit,
          shapes.BackgroundLimit]

# The points that a run visits. Points of tools are no use in runs without tools.
RUN_POINTS = ["run.write", "run.committed", "run.ask", "run.turn_done", "model.start",
              "model.done", "writer.send", "writer.result"]
TOOL_POINTS = ["tool.before_run", "tool.after_run"]
# Early visits, and ever fewer of the later ones. A crash at each step of a run is what the schedules of the engine
# try (tests/unit/core/run/engine); here each point is met with a real database and a real kill -9. Neighbours among
# the shapes are alike, so they share the later visits.
VISITS = [[1, 3, 8, 21, 55], [1, 2, 5, 13, 34]]


def go_through(fault_server, upstream, database, shape, path, entry=None):
    """One run of that shape, to its end. True when the fault happened."""
    fault_server.arm()
    run = shape(fault_server, upstream, path)
    if entry:
        fault_server.arm(entry)
    run.walk()
    fired = fault_server.has_fired()
    if fault_server.ended() is not None:
        fault_server.restart()
    fault_server.arm()
    run.check(database, fault_server.settings["database_url"])
    fault_server.forgets_its_runs()
    return fired


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_the_run_completes_without_a_fault(fault_server, upstream, database, shape, tmp_path):
    assert not go_through(fault_server, upstream, database, shape, tmp_path / "count")


def kill_everywhere(fault_server, upstream, database, shape, tmp_path, point):
    """How often the server was killed at that point: until the run comes there no more."""
    for kills, visit in enumerate(VISITS[SHAPES.index(shape) % len(VISITS)]):
        if not go_through(fault_server, upstream, database, shape, tmp_path / f"{point}-{visit}",
                          f"{point}:{visit}:kill"):
            return kills
    raise AssertionError(f"{point} is visited without an end")


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("point", RUN_POINTS)
def test_killed_on_early_and_late_visits(fault_server, upstream, database, shape, point, tmp_path):
    assert kill_everywhere(fault_server, upstream, database, shape, tmp_path, point)


# Statements on behalf of clients, and of the server that recovers a run.
SAID = ["thread_lock", "run_check_idle", "runs_insert", "leases_insert",
        "load_thread_items", "load_steps", "load_calls", "lease_lock",
        "submit_answers", "submit_queue_again", "lease_take", "store_key_find"]
TAKING_UP = ["claim_leases", "claim_run", "load_thread_items", "load_steps", "load_calls",
             "store_events_read"]


@pytest.mark.parametrize("statement", [*SAID, "store.begin", "store.commit",
                                       "store.commit_unanswered"])
def test_killed_at_a_statement(fault_server, upstream, database, statement, tmp_path):
    fired = [go_through(fault_server, upstream, database, shapes.Client, tmp_path,
                        f"{statement}:{visit}:kill") for visit in (1, 2)]
    assert fired[0]


@pytest.mark.parametrize("statement", TAKING_UP)
def test_killed_while_a_run_is_recovered(fault_server, upstream, database, statement, tmp_path):
    """Killed twice: while it runs, and while the next server loads it."""
    fault_server.arm()
    run = shapes.Text(fault_server, upstream, tmp_path)
    fault_server.arm("run.turn_done:1:kill")
    listen(fault_server.api(), *run.beginning())
    assert fault_server.process.child.wait(20) < 0
    fault_server.arm(f"{statement}:1:kill")
    fault_server.launch()
    fault_server.restart()
    assert fault_server.has_fired()
    run.run = run.find()
    run.walk()
    run.check(database, fault_server.settings["database_url"])


WITH_TOOLS = [shapes.ServerTools, shapes.Mixed, shapes.Hidden, shapes.Final,
              shapes.BackgroundTools, shapes.Limit, shapes.BackgroundLimit]


@pytest.mark.parametrize("shape", WITH_TOOLS, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("point", TOOL_POINTS)
def test_killed_at_every_tool(fault_server, upstream, database, shape, point, tmp_path):
    assert kill_everywhere(fault_server, upstream, database, shape, tmp_path, point)
