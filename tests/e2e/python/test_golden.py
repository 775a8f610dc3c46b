"""Every order of events there is, whole, against golden files; after a change that is meant,
`tests/e2e/run.sh BUILD_DIR --write-golden test_golden.py` writes them anew, for reading the
difference."""

import json

import pytest

from harness.golden import all_cases, normalised
from harness.sandbox import require_sandbox

CASES = [pytest.param(case, model, id=f"{case.name}-{model}")
         for case in all_cases() for model in case.models]


def play(http, case, model):
    """The bytes of the stream; cancels the response where the case wants it."""
    text = ""
    with http.stream("POST", "/v1/responses", json=case.body(model)) as answer:
        assert answer.status_code == 200, answer.read()
        for piece in answer.iter_text():
            before, text = text, text + piece
            if case.cancel and case.cancel in text and case.cancel not in before:
                created = json.loads(text.split("data: ", 1)[1].split("\n", 1)[0])
                cancelled = http.post(f"/v1/responses/{created['response']['id']}/cancel")
                assert cancelled.status_code == 200
    return text


@pytest.mark.parametrize("case, model", CASES)
def test_events_match_the_golden_files(http, upstream, case, model, pytestconfig, binary):
    if case.needs_sandbox:
        require_sandbox(binary)
    upstream.script(*case.rules)
    events = normalised(play(http, case, model), model)
    if pytestconfig.getoption("--write-golden"):
        case.golden.write_text(events)
    assert events.splitlines() == case.golden.read_text().splitlines()


def test_every_golden_file_has_its_case():
    names = {case.name for case in all_cases()}
    assert names == {path.stem for path in all_cases()[0].path.parent.glob("*.events")}
