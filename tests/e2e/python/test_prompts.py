"""Prompt templates: made, versioned, listed, deleted; and responses that are made with one."""

import openai
import pytest


UNKNOWN = "pmpt_000000000000000000000000"


@pytest.fixture
def prompts(http):
    class Prompts:
        def ask(self, method, path="", body=None, status=200):
            answer = http.request(method, f"/v1/runnel/prompts{path}", json=body)
            assert answer.status_code == status, answer.text
            return answer.json()

        def make(self, **body):
            return self.ask("POST", "", body)
    return Prompts()


def system(text):
    return {"role": "system", "content": text}


def user(text):
    return {"role": "user", "content": text}


def ids(page):
    return [entry["id"] for entry in page["data"]]


# ---- The resource ----

def test_a_template_is_created_read_and_deleted(prompts):
    made = prompts.make(name="greeting", instructions="Greet {{name}}.", model="demo",
                        temperature=0.5)
    assert made["id"].startswith("pmpt_") and made["object"] == "prompt"
    assert (made["version"], made["variables"]) == ("1", ["name"])
    assert (made["name"], made["instructions"]) == ("greeting", "Greet {{name}}.")
    assert prompts.ask("GET", f"/{made['id']}") == made
    gone = prompts.ask("DELETE", f"/{made['id']}")
    assert gone == {"id": made["id"], "object": "prompt.deleted", "deleted": True}
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/versions"),
                         ("GET", "/versions/1")):
        error = prompts.ask(method, f"/{made['id']}{path}", status=404)["error"]
        assert error["message"] == f"Prompt with id '{made['id']}' not found."


def test_versions_are_added_and_kept(prompts):
    made = prompts.make(instructions="One.")
    second = prompts.ask("POST", f"/{made['id']}/versions", {"instructions": "Two {{x}}."})
    assert (second["object"], second["version"]) == ("prompt.version", "2")
    assert second["prompt_id"] == made["id"]
    newest = prompts.ask("GET", f"/{made['id']}")
    assert (newest["version"], newest["instructions"]) == ("2", "Two {{x}}.")
    first = prompts.ask("GET", f"/{made['id']}/versions/1")
    assert (first["id"], first["instructions"], first["variables"]) == ("1", "One.", [])
    assert ids(prompts.ask("GET", f"/{made['id']}/versions")) == ["2", "1"]
    assert ids(prompts.ask("GET", f"/{made['id']}/versions?order=asc&after=1")) == ["2"]
    error = prompts.ask("GET", f"/{made['id']}/versions/3", status=404)["error"]
    assert error["message"] == f"Version '3' of prompt with id '{made['id']}' not found."


def test_templates_are_listed(prompts):
    made = [prompts.make(name=str(i), instructions="x")["id"] for i in range(3)]
    assert ids(prompts.ask("GET", "?limit=3")) == made[::-1]
    page = prompts.ask("GET", f"?limit=1&order=asc&after={made[0]}")
    assert (ids(page), page["has_more"]) == ([made[1]], True)
    assert ids(prompts.ask("GET", f"?order=asc&after={made[0]}&before={made[2]}")) == [made[1]]


@pytest.mark.parametrize("body,param,message", [
    ({}, "instructions", "Missing required parameter: 'instructions'."),
    ({"instructions": "x", "name": "n" * 257}, "name",
     "Invalid 'name': string too long. Expected a string with maximum length 256, but got a "
     "string with length 257 instead."),
    ({"instructions": "x", "top_p": 2}, "top_p",
     "Invalid 'top_p': decimal above maximum value. Expected a value <= 1, but got 2 instead."),
    ({"input": [{"role": "nobody", "content": "x"}]}, "input[0].role", None),
])
def test_bad_templates_are_refused(prompts, body, param, message):
    error = prompts.ask("POST", "", body, status=400)["error"]
    assert error["param"] == param
    assert message in (None, error["message"])


# ---- Responses ----

def test_a_template_has_a_size_limit(prompts):
    """A page of a list has a hundred of them."""
    room = 1048576 - len('{"instructions":""}')
    made = prompts.make(instructions="x" * room)
    for path in ("", f"/{made['id']}/versions"):
        error = prompts.ask("POST", path, {"instructions": "x" * (room + 1)}, 400)["error"]
        assert error == {"message": "Invalid prompt: too large. Expected a template of at most "
                                    "1048576 bytes, but got 1048577 bytes instead.",
                         "type": "invalid_request_error", "param": None,
                         "code": "string_above_max_length"}


def test_a_response_is_made_with_a_template(client, prompts, upstream):
    made = prompts.make(instructions="Greet {{name}} in {{language}}.", model="demo",
                        temperature=0.5)
    answer = client.responses.create(
        prompt={"id": made["id"], "variables": {"name": "Ann", "language": "Latin"}}, input="Now!")
    assert answer.status == "completed" and answer.model == "demo"
    assert answer.instructions == "Greet Ann in Latin."
    assert (answer.prompt.id, answer.prompt.version) == (made["id"], "1")
    assert answer.prompt.variables == {"name": "Ann", "language": "Latin"}
    chat = upstream.chats()[0]
    assert chat["messages"] == [system("Greet Ann in Latin."), user("Now!")]
    assert chat["temperature"] == 0.5
    assert client.responses.retrieve(answer.id) == answer


def test_messages_of_a_template_come_first_and_are_not_carried_along(client, prompts,
                                                                         upstream):
    made = prompts.make(model="demo", instructions="Be {{how}}.", input=[
        {"role": "user", "content": "I am {{name}}."},
        {"role": "assistant", "content": "Hi {{name}}."}])
    prompt = {"id": made["id"], "variables": {"how": "brief", "name": "Ann"}}
    first = client.responses.create(prompt=prompt)
    assert [item.role for item in first.instructions] == ["developer", "user", "assistant"]
    front = [system("Be brief."), user("I am Ann."), {"role": "assistant", "content": "Hi Ann."}]
    assert upstream.chats()[0]["messages"] == front
    second = client.responses.create(model="demo", input="And?", previous_response_id=first.id)
    assert second.instructions is None
    assert upstream.chats()[1]["messages"] == [
        {"role": "assistant", "content": first.output_text}, user("And?")]
    client.responses.create(prompt=prompt, input="So?", previous_response_id=second.id)
    assert upstream.chats()[2]["messages"][:3] == front
    assert list(client.responses.input_items.list(first.id)) == []


def test_pictures_and_files_are_variables_too(client, prompts, upstream):
    made = prompts.make(model="demo", input=[{"role": "user", "content": [
        {"type": "input_text", "text": "What is {{this}} and {{that}}?"}]}])
    client.responses.create(prompt={"id": made["id"], "variables": {
        "this": {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "low"},
        "that": {"type": "input_file", "filename": "a.txt", "file_data": "data:text/plain;base64,YQ=="},
    }})
    parts = upstream.chats()[0]["messages"][0]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url", "text", "file", "text"]
    assert parts[1]["image_url"]["url"] == "https://example.org/a.png"
    assert parts[2]["text"] == " and "


def test_a_version_may_be_named(client, prompts, upstream):
    made = prompts.make(model="demo", instructions="One.")
    prompts.ask("POST", f"/{made['id']}/versions", {"model": "demo", "instructions": "Two."})

    def ask(**prompt):
        answer = client.responses.create(prompt={"id": made["id"], **prompt}, input="Hi")
        return answer.instructions, answer.prompt.version
    assert ask() == ("Two.", "2")
    assert ask(version="1") == ("One.", "1")


def test_settings_of_the_request_win(client, prompts, upstream):
    made = prompts.make(model="other/model", instructions="One.", temperature=1, tools=[
        {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}])
    answer = client.responses.create(model="demo", prompt={"id": made["id"]}, input="Hi",
                                     instructions="Mine.", tools=[])
    assert (answer.model, answer.instructions, answer.tools) == ("demo", "Mine.", [])
    assert answer.temperature == 1


VARIABLE = {"instructions": "Greet {{name}}.", "model": "demo"}


@pytest.mark.parametrize("template,prompt,status,message,param,code", [
    (None, {"id": UNKNOWN}, 404, f"Prompt with id '{UNKNOWN}' not found.", None, None),
    (None, {"id": "x"}, 404, "Prompt with id 'x' not found.", None, None),
    (VARIABLE, {"version": "2"}, 404, "Version '2' of prompt with id '{id}' not found.", None,
     None),
    (VARIABLE, {"version": "new"}, 404, "Version 'new' of prompt with id '{id}' not found.", None,
     None),
    (VARIABLE, {}, 400, "Missing required parameter: 'prompt.variables.name'.",
     "prompt.variables.name", "missing_required_parameter"),
    (VARIABLE, {"variables": {"name": "A", "nam": "B"}}, 400,
     "Unknown parameter: 'prompt.variables.nam'.", "prompt.variables.nam", "unknown_parameter"),
    (VARIABLE, {"variables": {"name": 1}}, 400,
     "Invalid type for 'prompt.variables.name': expected one of a string or an object, but got an "
     "integer instead.", "prompt.variables.name", "invalid_type"),
    (VARIABLE, {"variables": {"name": {"type": "input_audio"}}}, 400,
     "Invalid value: 'input_audio'. Supported values are: 'input_text', 'input_image', and "
     "'input_file'.", "prompt.variables.name.type", "invalid_value"),
    ({"instructions": "Hi."}, {}, 400, "Missing required parameter: 'model'.", "model",
     "missing_required_parameter"),
    (None, {}, 400, "Missing required parameter: 'prompt.id'.", "prompt.id",
     "missing_required_parameter"),
])
def test_bad_prompts_are_refused(http, prompts, upstream, template, prompt, status, message, param,
                                 code):
    if template:
        prompt = {"id": prompts.make(**template)["id"], **prompt}
    answer = http.post("/v1/responses", json={"prompt": prompt, "input": "Hi"})
    assert answer.status_code == status, answer.text
    assert answer.json() == {"error": {
        "message": message.replace("{id}", prompt.get("id", "")), "type": "invalid_request_error",
        "param": param, "code": code}}
    assert upstream.chats() == []


def test_a_template_belongs_to_its_project(prompts, client, stranger_key):
    """The key of another project does not open it."""
    made = prompts.make(model="demo", instructions="Secret.")
    other = client.with_options(api_key=stranger_key)
    with pytest.raises(openai.NotFoundError):
        other.responses.create(prompt={"id": made["id"]}, input="Hi")


def test_a_picture_in_many_places_counts_in_each(client, prompts):
    made = prompts.make(model="demo", input=[{"role": "user", "content": "{{a}}" * 1000}])
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(input="x", prompt={"id": made["id"], "variables": {
            "a": {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 100_000}}})
    assert caught.value.param == "prompt.variables"
    assert caught.value.code == "string_above_max_length"
