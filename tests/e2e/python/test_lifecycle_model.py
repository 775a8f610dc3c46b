"""Random sequences of operations, allowed and forbidden, against a reference model of the life of
threads, messages, runs and steps. RUNNEL_WALK_SEED=N repeats the walk of a failure."""

import os

import pytest

from harness import lifecycle
from harness.walk import OPERATIONS, Walk

RUN_EXPIRY = 1  # of the hasty node


@pytest.fixture
def nodes(start_fault_server, upstream):
    """Two servers on one database. Waiting runs that are too old are looked for every
    lease_ttl / 15 seconds."""
    upstream.script(*lifecycle.rules())
    settings = {"lease_ttl": 3, "drain_timeout": 1}
    node = start_fault_server(**settings)
    return node, start_fault_server(url=node.settings["database_url"], run_expiry=RUN_EXPIRY,
                                    **settings)


@pytest.fixture
def foreign_key(nodes):
    return nodes[0].new_key("strangers")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed, steps", [
    pytest.param(1, 1000, marks=pytest.mark.threads),
    pytest.param(2, 9000, marks=pytest.mark.slow)])
def test_random_operations_match_the_model(nodes, foreign_key, seed, steps):
    seed = int(os.environ.get("RUNNEL_WALK_SEED", seed))
    walk = Walk(seed, *nodes, foreign_key)
    try:
        walk.go(steps)
    except Exception as problem:
        raise AssertionError(f"RUNNEL_WALK_SEED={seed}, step {walk.number}: {problem}\n"
                             + "\n".join(walk.trace)) from problem
    finally:
        walk.close()
    assert walk.number == steps
    assert set(walk.seen) == {operation.__name__ for operation, _ in OPERATIONS}
