"""README.md and the manual: every example runs, with the built server and the script of the demo model."""

import pytest
import yaml

from harness.manual import PAGES, ROOT, Block, Reader, blocks, compare, difference, lines_match
from harness.sandbox import require_sandbox
from harness.upstream import Upstream

DATABASE = "postgresql://runnel:secret@db.internal/runnel"
RUN_CODE = ("code-interpreter",)
RUN, SHOWN = ("sh", "python", "js", "yaml"), ("json", "text")


@pytest.fixture(scope="module")
def demo(binary, scratch):
    """The demo model as a server of its own, without its pauses."""
    script = yaml.safe_load(next((ROOT / "server").rglob("demo_script.yaml")).read_text())
    upstream = Upstream(binary, scratch / "demo.log")
    upstream.script(*script["rules"], defaults={**script["defaults"], "piece_delay_ms": 0})
    yield upstream
    assert upstream.stop() == 0


@pytest.fixture
def reader(binary, scratch, demo, recorder, monkeypatch, request, discard, path):
    directory = scratch / f"manual-{request.node.callspec.id}"
    directory.mkdir(mode=0o755)
    reader = Reader(binary, directory, demo.url, recorder, monkeypatch)
    if DATABASE in path.read_text():
        reader.stand_ins[DATABASE] = request.getfixturevalue("database").new()
    yield reader
    reader.leave()
    if reader.server.process:
        reader.stop_server()
    monkeypatch.undo()
    discard(reader.server)


def count(found):
    """How many examples ran, how many outputs were compared, how many did not run."""
    skipped = [block for block in found if block.reason]
    return (sum(block.language in RUN and not block.reason for block in found),
            sum(block.language in SHOWN and not block.reason for block in found), len(skipped))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("path", [
    pytest.param(path, id=path.stem if path.parent != ROOT else "landing", marks=() if path.parent == ROOT else pytest.mark.slow) for path in PAGES])
def test_every_example_runs(path, reader, binary):
    if path.stem in RUN_CODE:
        require_sandbox(binary)
    found = blocks(path)
    reader.start_server()
    for block in found:
        if not block.reason:
            reader.run(block)


def test_few_examples_do_not_run(capsys):
    found = [block for path in PAGES for block in blocks(path)]
    ran, compared, skipped = count(found)
    with capsys.disabled():
        print(f"\nexamples of README.md and the manual: {ran} run, {compared} outputs compared, {skipped} not run")
        for block in found:
            if block.reason:
                print(f"  {block.place}: {block.reason}")
    assert skipped * 15 <= ran


# ---- the harness itself ----

def test_every_block_is_run_or_listed(tmp_path):
    for text in ("```sh\ntrue\n", "  ```sh\n  true\n  ```\n", "```sh title\ntrue\n```\n",
                 "~~~\ntrue\n~~~\n", "```\ntrue\n```\n", "```ruby\ntrue\n```\n",
                 "<!-- not run: why -->\n\n```sh\ntrue\n```\n", "<!-- not run -->\n```sh\ntrue\n```\n"):
        with pytest.raises(AssertionError):
            blocks(tmp_path / "page.md", text)
    one, two = blocks(tmp_path / "page.md", "a\n```sh\ntrue\n```\n<!-- not run: why -->\n```js\nx\n```\n")
    assert one == Block("page.md:2", "sh", "true\n", None)
    assert two == Block("page.md:6", "js", "x\n", "why")


def test_output_that_differs_is_noticed():
    shown = {"id": "resp_...", "n": 7, "ok": True, "list": [{"type": "a"}], "none": None}
    value = {**shown, "id": "resp_1", "n": 8, "list": [{"type": "a", "b": 1}, {}], "more": 1}
    assert difference(shown, value) is None
    for other in ({"id": "msg_1"}, {"n": "8"}, {"n": True}, {"ok": False}, {"list": []},
                  {"list": [{"type": "b"}]}, {"none": 0}, {"list": {}}):
        assert difference(shown, {**value, **other})
    assert difference(shown, {key: value[key] for key in value if key != "ok"})
    assert lines_match("one ... two\n", "one and\ntwo") is False
    assert lines_match("one...two\n", "one and\ntwo\n")
    with pytest.raises(AssertionError):
        compare(Block("page.md:1", "text", "Hello\n", None), "Hello!\n")
    with pytest.raises(AssertionError):
        compare(Block("page.md:1", "json", "{}\n", None), "no JSON\n")
