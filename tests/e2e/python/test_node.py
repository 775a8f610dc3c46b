"""The SDKs for Node, each with tests of its own in tests/e2e/node."""

import os
import pathlib
import subprocess

import pytest

from harness.sandbox import lacking

NODE = pathlib.Path(__file__).resolve().parents[1] / "node"


def run_node(server, sdk, **environment):
    result = subprocess.run(
        [NODE / "node_modules/.bin/node", "--test", "--test-reporter=spec",
         NODE / f"{sdk}.test.mjs"],
        env={"PATH": os.environ["PATH"], "BASE_URL": f"{server.url}/v1",
             "API_KEY": server.settings["api_key"], "UPSTREAM_URL": server.settings["upstream_url"],
             **environment},
        capture_output=True, text=True, check=False)
    failures = result.stdout[result.stdout.find("failing tests:"):]
    assert result.returncode == 0, failures[:6000] + result.stderr[-2000:]
    assert "ℹ fail 0" in result.stdout and "ℹ pass 0" not in result.stdout


@pytest.mark.timeout(180)
@pytest.mark.parametrize("sdk", ["openai7", "openai4", "golden", "state", "websocket", "approvals",
                                 "harmless", "variables", "skills", "files", "vector_stores", "citations", "frameworks",
                                 "starter", "quickstart", "file_search"])
def test_the_tests_of_node_pass(server, binary, sdk):
    run_node(server, sdk, **({"NO_SANDBOX": reason} if (reason := lacking(binary)) else {}))


@pytest.mark.timeout(180)
def test_the_tests_of_openai_7_pass_with_openai_6(server):
    run_node(server, "openai7", OPENAI_SDK="openai6")
