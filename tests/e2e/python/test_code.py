"""The group code, executed for real: files of a container, commands in it, who is asked, and whose files they are."""

import pytest

from harness.sandbox import require_sandbox
from harness.tools import call, offered_names, then_says
from test_approvals import answer, calls_of, questions

CODE = {"type": "mcp", "server_label": "code", "server_url": "builtin:code"}


@pytest.fixture(autouse=True)
def sandbox(binary):
    require_sandbox(binary)


def respond(client, input="go", **more):
    return client.responses.create(model="demo", input=input, tools=[CODE], **more)


def outputs(response):
    """What each call has returned."""
    return [item.output or item.error.content[0]["text"] for item in calls_of(response)]


@pytest.mark.feature("F86")
def test_a_person_is_asked_for_what_writes_and_for_commands_that_are_not_known(client, upstream):
    then_says(upstream, [call("write", 1, file_path="a.txt", content="one\n")],
              [call("bash", 2, command="cat a.txt | sort")], [call("bash", 3, command="cp a.txt b.txt")],
              [call("bash", 4, command="ls; sudo id")], text="Done.")
    first = respond(client)
    (question,) = questions(first)
    assert "+one" in question.runnel["preview"]["diff"]
    second = respond(client, [answer(question)], previous_response_id=first.id)
    assert outputs(second) == ["Successfully created a.txt\n4 bytes written (2 lines)", "one\n"]
    (question,) = questions(second)
    assert (question.runnel["type"], question.runnel["patterns"]) == ("bash", ["cp *"])
    third = respond(client, [answer(question)], previous_response_id=second.id)
    assert outputs(third) == ["(no output)", 'Command "sudo" is forbidden for security reasons']
    assert third.output_text == "Done."


@pytest.mark.feature("F84")
def test_always_covers_the_pattern_of_a_command(client, upstream):
    then_says(upstream, [call("bash", 1, command="touch a")], [call("bash", 2, command="touch b && ls")], text="Done.")
    first = respond(client)
    (question,) = questions(first)
    done = respond(client, [answer(question, runnel={"remember": {"match": "pattern"}})],
                   previous_response_id=first.id)
    assert not questions(done) and outputs(done) == ["(no output)", "a\nb\n"]


@pytest.mark.feature("F52")
def test_a_person_is_asked_for_tools_of_the_group_files_and_shown_what_they_find(client, upstream):
    files = {**CODE, "server_label": "files", "server_url": "builtin:files"}
    block = "<<<<<<< SEARCH\none\n=======\n1\n>>>>>>> REPLACE"
    then_says(upstream, [call("fs-Inspect", 1, path="/")], [call("fs-WriteFile", 2, path="a", content="one\n")],
              [call("fs-SearchReplace", 3, path="a", blocks=block)], text="Done.")
    first = client.responses.create(model="demo", input="go", tools=[files])
    assert outputs(first)[0].startswith("path: /\ntype: directory\nentries: 0")
    (question,) = questions(first)
    assert question.name == "fs-WriteFile" and "+one" in question.runnel["preview"]["diff"]
    seen = []
    response = first
    while questions(response):
        (question,) = questions(response)
        seen.append((question.name, question.runnel["kind"]))
        response = client.responses.create(model="demo", input=[answer(question)], tools=[files],
                                           previous_response_id=response.id)
    assert seen == [("fs-WriteFile", "execution"), ("fs-WriteFile", "result"),
                    ("fs-SearchReplace", "execution"), ("fs-SearchReplace", "result")]
    assert response.output_text == "Done."


@pytest.fixture
def run(client, upstream):
    """The outputs of calls in a run of a thread; questions are answered with yes."""
    assistant = client.beta.assistants.create(model="demo", extra_body={"runnel": {"tool_groups": {"code": True}}})

    def run(thread, *calls):
        then_says(upstream, *[[each] for each in calls], text="Done.")
        made = client.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
        while made.status == "requires_action":
            answers = [{"tool_call_id": question.id, "output": "true"}
                       for question in made.required_action.submit_tool_outputs.tool_calls]
            made = client.beta.threads.runs.submit_tool_outputs_and_poll(
                run_id=made.id, thread_id=thread.id, tool_outputs=answers)
        assert made.status == "completed", made.last_error
        steps = client.beta.threads.runs.steps.list(made.id, thread_id=thread.id, order="asc")
        return [each.function.output for step in steps if step.type == "tool_calls"
                for each in step.step_details.tool_calls]
    return run


@pytest.mark.feature("F81")
@pytest.mark.feature("F101")
def test_two_threads_do_not_see_each_others_files(client, run):
    mine, other = (client.beta.threads.create(messages=[{"role": "user", "content": "go"}]) for _ in range(2))
    assert run(mine, call("write", 1, file_path="secret", content="x"), call("read", 2, file_path="secret")) == [
        "Successfully created secret\n1 bytes written (1 line)", "1\tx"]
    assert run(mine, call("grep", pattern="x")) == ["Found 1 matches\n/mnt/data/secret:\n  1: x"]
    seen, found = run(other, call("read", 1, file_path="secret"), call("glob", 2, pattern="*"))
    assert "secret does not exist." in seen and found == "No files found"


def test_the_group_is_offered_as_a_whole(client, upstream):
    upstream.answer(text="Hi.")
    respond(client)
    assert offered_names(upstream.chats()[0]) == ["read", "write", "edit", "glob", "grep", "bash"]


# Each setting names a program that would leave a file.
REPOSITORY = r"""
set -e
git init -q . && git config user.email a@b && git config user.name a && echo one > a.txt && git add . && git commit -qm one
mark() { printf '#!/bin/sh\ntouch /mnt/data/ran-%s\ncat\n' "$1" > "/mnt/data/.$1.sh"; chmod +x "/mnt/data/.$1.sh"; }
for each in fsmonitor pager external textconv clean hook gpg; do mark $each; done
cp .hook.sh .git/hooks/post-index-change
git config core.fsmonitor /mnt/data/.fsmonitor.sh
git config core.pager /mnt/data/.pager.sh
git config diff.external /mnt/data/.external.sh
git config diff.d.textconv /mnt/data/.textconv.sh
git config filter.f.clean /mnt/data/.clean.sh
git config log.showSignature true
git config gpg.program /mnt/data/.gpg.sh
echo '*.txt diff=d filter=f' > .gitattributes
echo two > a.txt
rm -f ran-*
"""


@pytest.mark.feature("F86")
def test_programs_that_a_repository_names_change_no_file_unasked(client, upstream):
    commands = ["git status", "git diff", "git log -p", "git show HEAD", "git --no-pager blame a.txt"]
    then_says(upstream, [call("bash", 1, command=REPOSITORY)],
              *[[call("bash", number, command=command)] for number, command in enumerate(commands, 2)],
              [call("glob", 9, pattern="ran-*")], [call("bash", 10, command="git -C . diff")], text="Done.")
    first = respond(client)
    (question,) = questions(first)
    second = respond(client, [answer(question)], previous_response_id=first.id)
    seen = outputs(second)
    assert "Exit code" not in seen[0], seen[0]
    assert "modified:   a.txt" in seen[1], seen[1]
    assert seen[6] == "No files found"
    # Such a line asks when it works elsewhere; a person who says yes gets git as it is.
    (question,) = questions(second)
    assert question.runnel["patterns"] == ["git diff *"]
    then_says(upstream, [call("glob", 11, pattern="ran-*")], text="Done.")
    third = respond(client, [answer(question)], previous_response_id=second.id)
    assert "/mnt/data/ran-" in outputs(third)[-1]
