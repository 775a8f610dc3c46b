"""Skills: made of a SKILL.md, attached to runs, and read by their models."""

import openai
import pytest

from harness.tools import call

UNKNOWN = "skill_000000000000000000000000"


def skill_file(name="release-notes", description="How release notes are written here.",
               text="Begin with what breaks.\n", more=""):
    return f"---\nname: {name}\ndescription: {description}\n{more}---\n{text}"


@pytest.fixture
def make(http):
    """Makes a skill; its id."""
    def make(*args, **kwargs):
        answer = http.post("/v1/skills", json={"content": skill_file(*args, **kwargs)})
        assert answer.status_code == 200, answer.text
        return answer.json()["id"]
    return make


# ---- The resource ----

@pytest.mark.feature("F107")
def test_a_skill_is_created_read_and_deleted(client, http):
    content = skill_file(more="license: MIT\n")
    made = http.post("/v1/skills", json={"content": content}).json()
    assert made["id"].startswith("skill_") and made["object"] == "skill"
    assert (made["name"], made["description"]) == ("release-notes",
                                                   "How release notes are written here.")
    shown = client.skills.retrieve(made["id"])
    assert shown.name == "release-notes" and shown.default_version == shown.latest_version == "1"
    answer = http.get(f"/v1/skills/{made['id']}/content", headers={"Accept": "text/markdown"})
    assert answer.text == content and answer.headers["content-type"].startswith("text/markdown")
    gone = client.skills.delete(made["id"])
    assert gone.id == made["id"] and gone.deleted and gone.object == "skill.deleted"
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/content")):
        answer = http.request(method, f"/v1/skills/{made['id']}{path}")
        assert answer.status_code == 404
        assert answer.json()["error"]["message"] == f"Skill with id '{made['id']}' not found."


@pytest.mark.feature("F107")
def test_skills_are_listed_in_pages(client, make):
    made = [make(name=f"skill-{i}") for i in range(3)]
    newest = client.skills.list(limit=2)
    assert [skill.id for skill in newest.data] == made[:0:-1]
    assert newest.get_next_page().data[0].id == made[0]
    older = client.skills.list(order="asc", after=made[1], limit=1)
    assert [skill.name for skill in older.data] == ["skill-2"]


@pytest.mark.feature("F107")
def test_a_skill_is_its_projects_own(server, stranger_key, make):
    made = make()
    stranger = openai.OpenAI(base_url=f"{server.url}/v1", api_key=stranger_key, max_retries=0)
    with pytest.raises(openai.NotFoundError):
        stranger.skills.retrieve(made)
    with pytest.raises(openai.NotFoundError):
        stranger.skills.delete(made)
    assert made not in [skill.id for skill in stranger.skills.list()]


@pytest.mark.feature("F107")
@pytest.mark.parametrize("content, words", [
    ("Begin with what breaks.", "expected the text of a SKILL.md"),
    ("---\nname: a\ndescription: b\n", "expected the text of a SKILL.md"),
    (skill_file(text=" \n"), "there are no instructions"),
    (skill_file(name="Release"), "needs a 'name'"),
    (skill_file(name="-a"), "needs a 'name'"),
    (skill_file(name="a" * 65), "needs a 'name'"),
    (skill_file(name="[a]"), "needs a 'name'"),
    (skill_file(description=""), "needs a 'description'"),
    (skill_file(description="|\n  one\n  two"), "needs a 'description'"),
    (skill_file(description="a" * 1025), "needs a 'description'"),
    (skill_file(more="name: b\n"), "SKILL.md:3: 'name' is given twice"),
    (skill_file(more="x: [\n"), "SKILL.md:"),
    (skill_file(more="x: " + "[" * 100000 + "\n"), "longer than 8192 bytes"),
])
def test_an_invalid_skill_file_is_refused(http, content, words):
    answer = http.post("/v1/skills", json={"content": content})
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error["param"] == "content" and words in error["message"], error


@pytest.mark.feature("F107")
def test_a_description_may_be_folded(http):
    folded = skill_file(description=">\n  How they\n  are written.")
    assert http.post("/v1/skills", json={"content": folded}).json()["description"] == (
        "How they are written.")


def test_an_invalid_skill_is_refused(http):
    for body, param in [({}, "content"), ({"content": 7}, "content"), ({"content": ""}, "content"),
                        ({"content": skill_file(text="a" * 131072)}, "content")]:
        answer = http.post("/v1/skills", json=body)
        assert answer.status_code == 400 and answer.json()["error"]["param"] == param


# ---- Uploaded ----

@pytest.mark.feature("F107")
def test_a_skill_is_uploaded_as_the_sdk_does(client, http, tmp_path):
    """One file, alone or in a list; by its name or with its folder."""
    path = tmp_path / "SKILL.md"
    path.write_text(skill_file())
    whole = path.read_bytes()
    for files in (path.open("rb"), [path.open("rb")], [("release-notes/SKILL.md", whole, "text/markdown")],
                  ("skill.md", whole)):
        made = client.skills.create(files=files)
        assert (made.name, made.description) == ("release-notes", "How release notes are written here.")
        assert http.get(f"/v1/skills/{made.id}/content", headers={"Accept": "text/*"}).text == skill_file()
        assert client.skills.retrieve(made.id) == made


@pytest.mark.feature("F107")
def test_a_folder_is_uploaded_and_its_files_are_read(client, ask, http, upstream):
    """The instructions say which there are; both ways of reading lead to them."""
    made = client.skills.create(files=[
        ("notes/reference/style.md", "Write \u00e4 plainly.\n".encode()),
        ("notes/SKILL.md", skill_file().encode()), ("notes/check.py", b"print('no')\n"), ("notes/empty", b"")])
    runnel = {"skills": [made.id], "tool_groups": {"vars": True}}
    listed = ("Begin with what breaks.\n\n\nFurther files of this skill, to be read with "
              'skill({"name": "release-notes", "file": "<path>"}):\n\n- reference/style.md\n- check.py\n- empty\n')
    sent = []
    for tool, arguments in (("skill", {"name": "release-notes"}),
                            ("skill", {"name": "release-notes", "file": "reference/style.md"}),
                            ("skill", {"name": "release-notes", "file": "empty"}),
                            ("skill", {"name": "release-notes", "file": "SKILL.md"}),
                            ("ReadVar", {"name": "Rule/skills/release-notes"}),
                            ("ReadVar", {"name": "Rule/skills/release-notes/check.py"}),
                            ("ReadVar", {"name": "Rule/skills/release-notes/../check.py"})):
        upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                        {"answer": {"tool_calls": [{**call(tool), "arguments": arguments}]}})
        client.responses.create(model="demo", input="go", extra_body={"runnel": runnel})
        sent.append(upstream.chats()[-1]["messages"][-1]["content"])
    assert sent == [
        f"# Skill: release-notes\n\nHow release notes are written here.\n\n{listed}",
        "Write \u00e4 plainly.\n", "", "The skill 'release-notes' has no file 'SKILL.md'.", listed,
        "print('no')\n", "The skill 'release-notes' has no file '../check.py'."]
    assert "file" in next(t for t in upstream.chats()[-1]["tools"]
                          if t["function"]["name"] == "skill")["function"]["parameters"]["properties"]


@pytest.mark.feature("F107")
def test_a_file_of_a_skill_needs_the_same_approval(client, ask):
    made = client.skills.create(files=[("SKILL.md", skill_file().encode()), ("secret.md", b"hidden")])
    runnel = {"skills": [made.id], "tool_groups": {"vars": True},
              "skill_permissions": [{"skill": "*", "permission": "ask"}]}
    answer = ask(runnel, read="Rule/skills/release-notes/secret.md", tool="ReadVar")
    assert only_call(answer).status == "failed" and "hidden" not in answer.model_dump_json()


SKILL = skill_file().encode()
ONE_IN_A_FOLDER = "Invalid 'files': expected one SKILL.md at the top of one folder, but got"


@pytest.mark.feature("F107")
@pytest.mark.parametrize("files, param, code, words", [
    ([("a/b/SKILL.md", SKILL)], "files", "invalid_value", f"{ONE_IN_A_FOLDER} 0."),
    ([("readme.md", SKILL)], "files", "invalid_value", f"{ONE_IN_A_FOLDER} 0."),
    ([("a/SKILL.md", SKILL), ("SKILL.md", SKILL)], "files", "invalid_value", f"{ONE_IN_A_FOLDER} 2."),
    ([("a/SKILL.md", SKILL), ("b/x.md", b"x")], "files[1]", "invalid_value",
     "Invalid 'files[1]': it is not in the folder of SKILL.md."),
    ([("SKILL.md", SKILL), ("x.md", b"1"), ("x.md", b"2")], "files[2]", "invalid_value",
     "Invalid 'files[2]': its path is given twice."),
    *[([("SKILL.md", SKILL), (path, b"x")], "files[1]", "invalid_value",
       f"Invalid 'files[1]': its filename {why}.")
      for path, why in (("../x", "has a part '..'"), ("a/../x", "has a part '..'"), ("/x", "is absolute"),
                        ("a//x", "has an empty part"), ("a/", "has an empty part"), (".", "has a part '.'"),
                        ("a\\b", "has a backslash or a control character"), ("x" * 257, "is longer than 256 bytes"),
                        ("x/" * 16 + "x", "is more than 16 folders deep"))],
    ([("SKILL.md", b"---\0")], "files[0]", "invalid_value",
     "Invalid 'files[0]': SKILL.md must be text in UTF-8."),
    (("skill.zip", b"x", "application/zip"), "files", "invalid_value",
     "Invalid 'files': the zip: it is no whole zip."),
    (("skill", b"PK\3\4"), "files", "invalid_value", "Invalid 'files': the zip: it is no whole zip."),
    (("SKILL.md", skill_file(name="Release").encode()), "files", "invalid_value",
     "Invalid 'files': the front matter needs a 'name' of at most 64 small letters, digits and hyphens."),
    (("SKILL.md", skill_file(text="a" * 131072).encode()), "files", "string_above_max_length",
     "Invalid 'files': string too long."),
    ([("SKILL.md", SKILL)] + [(f"{n}", b"x") for n in range(500)], "files", "array_above_max_length",
     "Invalid 'files': array too long. Expected an array with maximum length 500, but got an array with length "
     "501 instead."),
], ids=str)
def test_an_invalid_folder_is_refused(client, files, param, code, words):
    with pytest.raises(openai.BadRequestError) as refused:
        client.skills.create(files=files)
    error = refused.value
    assert (error.param, error.code) == (param, code), error
    assert error.body["message"].startswith(words), error


def form(*parts, end=b"--bound--\r\n"):
    return b"".join(b"--bound\r\nContent-Disposition: form-data; " + head + b"\r\n\r\n" + data + b"\r\n"
                    for head, data in parts) + end


NOT_PARSED = "We could not parse the form of your request: "
NO_FORM = f"{NOT_PARSED}expected multipart/form-data that ends with its boundary."


@pytest.mark.parametrize("body, param, words", [
    (form((b'name="fiels"; filename="SKILL.md"', SKILL)), "fiels", "Unknown parameter: 'fiels'."),
    (form((b'name="files"', SKILL)), "files[0]",
     "Invalid 'files[0]': expected a file, but got a field instead."),
    (form((b'name="files"; filename="SKILL.md"', SKILL), end=b""), None, NO_FORM),
    (b"", None, NO_FORM),
    (b"nothing", None, f"{NOT_PARSED}it does not begin with its boundary."),
    (form() + b"more", None, f"{NOT_PARSED}there is text behind its last boundary."),
    (b"--bound--\r\n", "files", "Missing required parameter: 'files'."),
    (form(*[(b'name="files[]"; filename="%d"' % n, b"x") for n in range(513)]), None,
     "The form of your request has more than 512 parts."),
], ids=["name", "field", "cut", "empty", "nothing", "behind", "no-parts", "many"])
def test_an_invalid_form_is_refused(http, body, param, words):
    answer = http.post("/v1/skills", content=body,
                       headers={"Content-Type": "multipart/form-data; boundary=bound"})
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert (error["param"], error["message"]) == (param, words)


@pytest.mark.parametrize("boundary, parameters", [
    ("bound", "; boundary=bound; charset=utf-8"),
    ("bound", "; charset=utf-8; Boundary=bound"),
    ("bound", '; x-boundary=other; boundary="bound"; charset=utf-8'),
    ("a b", '; boundary="a b"'),
    ("b", "; boundary=b"),
    ("----=_Part_0:1", "; boundary=----=_Part_0:1"),
    ("x" * 70, f"; boundary={'x' * 70}"),
])
def test_a_boundary_is_found_anywhere_in_the_header(http, boundary, parameters):
    body = form((b'name="files"; filename="SKILL.md"', SKILL)).replace(b"bound", boundary.encode())
    answer = http.post("/v1/skills", content=body,
                       headers={"Content-Type": f"Multipart/Form-Data{parameters}"})
    assert answer.status_code == 200, answer.text


def test_no_part_of_a_form_is_cut_at_a_nul(http):
    """A head with one is refused, and data with one is no text."""
    for head, data, words in [
            (b'name="files\0x"; filename="SKILL.md"', SKILL, f"{NOT_PARSED}the head of a part is not well-formed."),
            (b'name="files"; filename="SKILL.md\0.exe"', SKILL,
             f"{NOT_PARSED}the head of a part is not well-formed."),
            (b'name="files"; filename="SKILL.md"', SKILL + b"\0more",
             "Invalid 'files[0]': SKILL.md must be text in UTF-8.")]:
        answer = http.post("/v1/skills", content=form((head, data)),
                           headers={"Content-Type": "multipart/form-data; boundary=bound"})
        assert (answer.status_code, answer.json()["error"]["message"]) == (400, words)


@pytest.mark.parametrize("parameters", [
    "", "; boundary", "; boundary=", '; boundary="bound', "; boundary=bo*nd", '; boundary="bound "',
    "; boundary=bound; boundary=bound", f"; boundary={'x' * 71}"])
def test_a_form_without_a_boundary_is_refused(http, parameters):
    body = form((b'name="files"; filename="SKILL.md"', SKILL))
    answer = http.post("/v1/skills", content=body,
                       headers={"Content-Type": f"multipart/form-data{parameters}"})
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"] == {
        "message": NO_FORM, "type": "invalid_request_error", "param": None, "code": None}


def test_a_form_is_accepted_only_where_it_is_expected(http):
    answer = http.post("/v1/responses", files={"files": ("SKILL.md", SKILL)})
    assert answer.status_code == 415 and "expected application/json." in answer.json()["error"]["message"]
    answer = http.post("/v1/skills", content="a=b", headers={"Content-Type": "application/x-www-form-urlencoded"})
    assert answer.status_code == 415
    assert "expected application/json or multipart/form-data." in answer.json()["error"]["message"]
    answer = http.post("/v1/skills", content=b"x", headers={"Content-Type": "multipart/form-data"})
    assert answer.status_code == 400 and answer.json()["error"]["message"] == NO_FORM


# ---- Attached ----

TEXT = "Begin with what breaks.\n"


def system_text(request):
    return "\n".join(message["content"] for message in request["messages"]
                     if message["role"] == "system")


def skill_tool(request):
    """The definition of the tool that reads skills; None when it was not offered."""
    for tool in request.get("tools", []):
        if tool["function"]["name"] == "skill":
            return tool["function"]["parameters"]["properties"]["name"]["enum"]
    return None


@pytest.fixture
def ask(client, upstream):
    """A response whose model reads a skill of that name, or calls what is given."""
    def ask(runnel, read=None, tool="skill", **more):
        if read:
            upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                            {"answer": {"tool_calls": [{**call(tool), "arguments": {"name": read}}]}})
        return client.responses.create(model="demo", input="go", extra_body={"runnel": runnel}, **more)
    return ask


def only_call(response):
    called, = (item for item in response.output if item.type == "mcp_call")
    return called


@pytest.mark.feature("F107")
def test_a_run_offers_its_skills_and_reads_one(ask, make, upstream):
    """The index stands in the rules, the text is read when the model wants it."""
    notes, mail = make(), make(name="mail", description="Mail | and how.", text="Be kind.")
    answer = ask({"skills": [notes, mail]}, read="release-notes")
    sent = upstream.chats()[0]
    assert skill_tool(sent) == ["release-notes", "mail"]
    rules = system_text(sent)
    assert '<tool-group-rule group="skills">' in rules
    assert "| `release-notes` | How release notes are written here. |\n" in rules
    assert "| `mail` | Mail \\| and how. |\n" in rules
    assert '*Access via: skill({"name": "<Skill>"})' in rules and TEXT not in rules
    expected = f"# Skill: release-notes\n\nHow release notes are written here.\n\n{TEXT}"
    assert only_call(answer).output == expected
    assert upstream.chats()[-1]["messages"][-1]["content"] == expected


@pytest.mark.feature("F107")
def test_without_skills_the_tool_is_missing(ask, make, upstream):
    ask({"tool_groups": {"skills": True, "basic": True}})
    assert skill_tool(upstream.chats()[-1]) is None
    ask({"skills": [make()], "tool_groups": {"skills": False}})
    assert "tools" not in upstream.chats()[-1]


@pytest.mark.feature("F73", "F107")
def test_another_run_has_other_skills(ask, make, upstream):
    notes, mail = make(), make(name="mail")
    ask({"skills": [notes]})
    ask({"skills": [mail, mail]})
    assert [skill_tool(request) for request in upstream.chats()] == [["release-notes"], ["mail"]]


@pytest.mark.feature("F107")
def test_skills_are_read_as_variables(ask, make):
    groups = {"vars": True}
    answer = ask({"skills": [make()], "tool_groups": groups}, read="Rule/skills/release-notes",
                 tool="ReadVar")
    assert only_call(answer).output == TEXT
    answer = ask({"skills": [make()], "tool_groups": groups}, read="Rule/skills/mail", tool="ReadVar")
    assert only_call(answer).status == "failed"
    listed = ask({"skills": [make()], "tool_groups": groups}, read="x", tool="ListVars")
    assert "- Rule/skills/release-notes\n" in only_call(listed).output


@pytest.mark.feature("F107")
def test_a_skill_is_read_by_a_response_that_is_not_stored(ask, make):
    assert only_call(ask({"skills": [make()]}, read="release-notes", store=False)).status == "completed"


@pytest.mark.feature("F107")
def test_a_skill_deleted_meanwhile_is_not_read(client, http, make, upstream):
    """Attached to an assistant, whose new runs say so; a running one gets the error from the tool."""
    made = make()
    assistant = client.beta.assistants.create(model="demo", extra_body={"runnel": {"skills": [made]}})
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "go"}])
    client.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id,
                                             poll_interval_ms=50)
    assert skill_tool(upstream.chats()[-1]) == ["release-notes"]
    client.skills.delete(made)
    refused = http.post(f"/v1/threads/{thread.id}/runs", json={"assistant_id": assistant.id})
    assert refused.status_code == 400
    assert refused.json()["error"]["message"] == f"Skill with id '{made}' not found."


@pytest.mark.feature("F107")
def test_the_last_matching_line_counts(ask, make, upstream):
    skills = [make(name=name) for name in ("mail", "internal-mail", "internal-notes")]
    def offered(*lines):
        ask({"skills": skills, "skill_permissions": [
            {"skill": skill, "permission": permission} for skill, permission in lines]})
        return skill_tool(upstream.chats()[-1])

    assert offered(("internal-*", "deny")) == ["mail"]
    assert offered(("*", "deny"), ("internal-*", "allow")) == ["internal-mail", "internal-notes"]
    assert offered(("internal-*", "allow"), ("*", "deny")) is None
    assert "internal-mail" not in system_text(upstream.chats()[0])


@pytest.mark.feature("F107")
def test_a_denied_skill_is_not_loaded(ask, make):
    runnel = {"skills": [make(), make(name="mail")], "tool_groups": {"vars": True},
              "skill_permissions": [{"skill": "mail", "permission": "deny"}]}
    assert only_call(ask(runnel, read="mail")).status == "failed"
    assert only_call(ask(runnel, read="Rule/skills/mail", tool="ReadVar")).status == "failed"


@pytest.mark.feature("F107")
def test_permissions_only_tighten_from_assistant_to_run(client, make, upstream):
    skills = [make(), make(name="mail")]
    assistant = client.beta.assistants.create(model="demo", extra_body={"runnel": {
        "skills": skills, "skill_permissions": [{"skill": "mail", "permission": "deny"}]}})
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "go"}])
    for lines, expected in [([], ["release-notes"]),
                            ([{"skill": "*", "permission": "allow"}], ["release-notes"]),
                            ([{"skill": "release-*", "permission": "deny"}], None)]:
        client.beta.threads.runs.create_and_poll(
            thread_id=thread.id, assistant_id=assistant.id, poll_interval_ms=50,
            extra_body={"runnel": {"skill_permissions": lines}})
        assert skill_tool(upstream.chats()[-1]) == expected


@pytest.mark.feature("F107")
def test_a_skill_may_need_an_approval(client, ask, make, upstream):
    """Only that skill, and there is no way around the question."""
    runnel = {"skills": [make(), make(name="mail", text="Be kind.")], "tool_groups": {"vars": True},
              "skill_permissions": [{"skill": "mail", "permission": "ask"}]}
    assert only_call(ask(runnel, read="release-notes")).status == "completed"
    around = only_call(ask(runnel, read="Rule/skills/mail", tool="ReadVar"))
    assert around.status == "failed" and "Somebody has to agree" in str(around.error)
    asked = ask(runnel, read="mail")
    question, = (item for item in asked.output if item.type == "mcp_approval_request")
    assert question.name == "skill" and question.runnel["kind"] == "permission"
    assert (question.runnel["type"], question.runnel["patterns"]) == ("skill", ["mail"])
    assert not [item for item in asked.output if item.type == "mcp_call"]
    done = client.responses.create(
        model="demo", previous_response_id=asked.id, extra_body={"runnel": runnel},
        input=[{"type": "mcp_approval_response", "approval_request_id": question.id, "approve": True}])
    assert "Be kind." in only_call(done).output


@pytest.mark.feature("F84", "F107")
def test_an_approval_to_read_a_skill_is_remembered_for_that_skill(client, http, ask, make):
    """Always means: until another skill is asked for, or the skills of the run are others."""
    skills = [make(), make(name="mail", text="Be kind.")]
    runnel = {"skills": skills, "skill_permissions": [{"skill": "*", "permission": "ask"}]}
    asked = ask(runnel, read="mail")
    question, = (item for item in asked.output if item.type == "mcp_approval_request")
    assert question.runnel["remember"] == ["pattern"] and question.runnel["title"] == "Read the skill mail"
    done = client.responses.create(
        model="demo", previous_response_id=asked.id, extra_body={"runnel": runnel},
        input=[{"type": "mcp_approval_response", "approval_request_id": question.id, "approve": True,
                "runnel": {"remember": {"match": "pattern"}}}])
    assert "Be kind." in only_call(done).output

    def read(name, **more):
        return [item.type for item in ask({**runnel, **more}, read=name, previous_response_id=done.id).output]
    assert "mcp_approval_request" not in read("mail") and "mcp_call" in read("mail")
    assert "mcp_approval_request" in read("release-notes")
    assert "mcp_approval_request" in read("mail", skills=skills[1:])
    http.post(f"/v1/skills/{skills[1]}/versions", json={"content": skill_file(name="mail"), "default": True})
    assert "mcp_approval_request" in read("mail"), "another text"


def question_of(response):
    return next((item for item in response.output if item.type == "mcp_approval_request"), None)


@pytest.fixture
def allow(client):
    """Continues with an approval, and the rest of the answer."""
    def allow(asked, wanted, **more):
        return client.responses.create(
            model="demo", previous_response_id=asked.id, extra_body={"runnel": wanted},
            input=[{"type": "mcp_approval_response", "approval_request_id": question_of(asked).id,
                    "approve": True, **more}])
    return allow


@pytest.mark.feature("F84", "F107")
@pytest.mark.parametrize("asks, match", [
    ({"skill_permissions": [{"skill": "*", "permission": "ask"}]}, "pattern"),
    ({"permissions": {"skills": {"execution": "ask-once"}}}, "exact"),
    ({"permissions": {"skills": {"execution": "ask-once"}}}, "tool"),
])
def test_always_covers_only_the_skill_that_was_shown(client, ask, allow, make, asks, match):
    """Another text under the same name is another skill, with an approval of its own."""
    seen = {**asks, "skills": [make("mail", text="Be kind.")]}
    done = allow(ask(seen, read="mail"), seen, runnel={"remember": {"match": match}})
    assert "Be kind." in only_call(done).output
    again = ask(seen, read="mail", previous_response_id=done.id)
    assert question_of(again) is None and "Be kind." in only_call(again).output

    client.skills.delete(seen["skills"][0])
    other = {**asks, "skills": [make("mail", text="Be rude.")]}
    asked = ask(other, read="mail", previous_response_id=done.id)
    assert question_of(asked) and not [i for i in asked.output if i.type == "mcp_call"]
    allowed = allow(asked, other, runnel={"remember": {"match": match}})
    assert "Be rude." in only_call(allowed).output
    again = ask(other, read="mail", previous_response_id=allowed.id)
    assert question_of(again) is None and "Be rude." in only_call(again).output


@pytest.mark.feature("F84", "F107")
def test_an_approval_covers_only_the_skill_of_its_request(ask, allow, make):
    """The answer comes with other skills: the approved one is missing, so a new approval is needed."""
    asks = {"skill_permissions": [{"skill": "*", "permission": "ask"}]}
    asked = ask({**asks, "skills": [make("mail", text="Be kind.")]}, read="mail")
    other = {**asks, "skills": [make("mail", text="Be rude.")]}
    anew = allow(asked, other)
    assert not [item for item in anew.output if item.type == "mcp_call"]
    assert question_of(anew).runnel["changed"] is True
    assert question_of(anew).runnel["metadata"] == {"id": other["skills"][0]}
    assert "Be rude." in only_call(allow(anew, other)).output


@pytest.mark.feature("F107")
@pytest.mark.parametrize("runnel, param", [
    ({"skills": "skill_1"}, "runnel.skills"),
    ({"skills": [7]}, "runnel.skills[0]"),
    ({"skills": [{"id": UNKNOWN, "name": "a"}]}, "runnel.skills[0]"),
    ({"skills": ["asst_1"]}, "runnel.skills[0]"),
    ({"skills": [UNKNOWN]}, "runnel.skills"),
    ({"skills": [UNKNOWN] * 33}, "runnel.skills"),
    ({"skill": []}, "runnel.skill"),
    ({"skill_permissions": {"*": "deny"}}, "runnel.skill_permissions"),
    ({"skill_permissions": [["*", "deny"]]}, "runnel.skill_permissions[0]"),
    ({"skill_permissions": [{"skill": "*"}]}, "runnel.skill_permissions[0].permission"),
    ({"skill_permissions": [{"permission": "deny"}]}, "runnel.skill_permissions[0].skill"),
    ({"skill_permissions": [{"skill": "*", "permission": "Deny"}]},
     "runnel.skill_permissions[0].permission"),
    ({"skill_permissions": [{"skill": "*", "permission": "deny", "x": 1}]},
     "runnel.skill_permissions[0].x"),
])
def test_typing_errors_are_refused(http, runnel, param):
    for path in ("/v1/responses", "/v1/responses/input_tokens"):
        answer = http.post(path, json={"model": "demo", "input": "go", "runnel": runnel})
        assert answer.status_code == 400, path
        assert answer.json()["error"]["param"] == param


@pytest.mark.feature("F107")
def test_duplicate_names_and_skills_of_other_projects_are_refused(http, server, stranger_key, make):
    answer = http.post("/v1/responses", json={"model": "demo", "input": "go",
                                              "runnel": {"skills": [make(), make()]}})
    assert answer.status_code == 400
    assert "two skills named 'release-notes'" in answer.json()["error"]["message"]
    stranger = openai.OpenAI(base_url=f"{server.url}/v1", api_key=stranger_key, max_retries=0)
    with pytest.raises(openai.BadRequestError, match="not found"):
        stranger.responses.create(model="demo", input="go", extra_body={"runnel": {"skills": [make()]}})


@pytest.mark.feature("F107")
def test_an_assistant_names_skills_of_its_project_only(client, http, server, stranger_key, make):
    """Checked when the assistant is made, and when it is changed."""
    stranger = openai.OpenAI(base_url=f"{server.url}/v1", api_key=stranger_key, max_retries=0)
    made = make()
    for whose, id in ((client, UNKNOWN), (stranger, made)):
        assistant = whose.beta.assistants.create(model="demo")
        named = {"runnel": {"skills": [id]}}
        for attempt in (lambda: whose.beta.assistants.create(model="demo", extra_body=named),
                        lambda: whose.beta.assistants.update(assistant.id, extra_body=named)):
            with pytest.raises(openai.BadRequestError) as refused:
                attempt()
            assert refused.value.body["message"] == f"Skill with id '{id}' not found."
            assert refused.value.param == "runnel.skills"
    twins = {"runnel": {"skills": [made, make(), made]}}  # a run may deny one of them
    assert client.beta.assistants.create(model="demo", extra_body=twins).runnel == twins["runnel"]


@pytest.mark.feature("F107")
def test_skills_count_as_tokens(http, make):
    body = {"model": "demo", "input": "go"}
    plain = http.post("/v1/responses/input_tokens", json=body).json()["input_tokens"]
    sent = http.post("/v1/responses/input_tokens",
                     json={**body, "runnel": {"skills": [make()]}}).json()["input_tokens"]
    assert sent > plain
