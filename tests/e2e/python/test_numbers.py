"""Numbers of any size, from models and clients (remote tools: test_mcp.py): what is passed on keeps the text in which it was
written, and no number is a reason to refuse an answer."""

import json

import pytest

LARGE = 18446744073709551615
# Python reads the second as infinity, so it is compared as text.
NUMBERS = '{"id":18446744073709551615,"far":1e400,"price":0.10,"low":-9223372036854775809}'
SCHEMA = {"type": "object", "properties": {"id": {"type": "integer", "maximum": LARGE}},
          "required": ["id"], "additionalProperties": False}
FLAT = {"type": "function", "name": "find", "parameters": SCHEMA, "strict": True}
NESTED = {"type": "function", "function": {"name": "find", "parameters": SCHEMA}}


def chunk(finish=None, /, **delta):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def seeded(*chunks):
    """An answer whose chunks have a member `seed` that no 64-bit integer holds."""
    return {"events": [json.dumps({**one, "seed": LARGE}) for one in chunks]}


def says(text):
    return seeded(chunk(role="assistant"), chunk(content=text), chunk("stop"))


@pytest.mark.parametrize("streamed", [False, True])
def test_a_large_seed_in_a_models_answer_does_no_harm(client, upstream, streamed):
    upstream.answer(**says("Hello."))
    response = client.responses.create(model="demo", input="Hi", stream=streamed)
    if streamed:
        response = list(response)[-1].response
    assert (response.status, response.output_text) == ("completed", "Hello.")
    assert len(upstream.asked()) == 1


def test_a_large_seed_does_no_harm_to_an_assistants_run(client, upstream):
    upstream.answer(**says("Hello."))
    assistant = client.beta.assistants.create(model="demo")
    run = client.beta.threads.create_and_run_poll(
        assistant_id=assistant.id, thread={"messages": [{"role": "user", "content": "Hi"}]})
    assert run.status == "completed"
    assert len(upstream.asked()) == 1


@pytest.mark.parametrize("written", ["text", "object"])
def test_a_clients_call_has_the_numbers_that_the_model_wrote(client, http, upstream, written):
    arguments = json.dumps(NUMBERS) if written == "text" else NUMBERS
    delta = ('{"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,'
             '"id":"call_1","type":"function","function":{"name":"find","arguments":%s}}]},'
             '"finish_reason":null}]}' % arguments)
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}},
                    {"answer": {"events": [delta, json.dumps(chunk("tool_calls"))]}})
    response = client.responses.create(model="demo", input="Hi", tools=[FLAT])
    assert response.output[0].arguments == NUMBERS
    assert http.get(f"/v1/responses/{response.id}").json()["output"][0]["arguments"] == NUMBERS
    client.responses.create(model="demo", previous_response_id=response.id, input=[
        {"type": "function_call_output", "call_id": "call_1", "output": NUMBERS}])
    *_, made, result = upstream.chats()[-1]["messages"]
    assert made["tool_calls"][0]["function"]["arguments"] == NUMBERS
    assert result["content"] == NUMBERS


@pytest.mark.parametrize("model", ["demo", "native"])
def test_a_functions_schema_reaches_the_model_with_its_numbers(client, upstream, model):
    upstream.answer(text="Hello.")
    response = client.responses.create(
        model=model, input="Hi", tools=[FLAT],
        text={"format": {"type": "json_schema", "name": "found", "schema": SCHEMA}})
    asked = upstream.asked()[0]
    offered = asked["tools"][0]
    assert (offered if model == "native" else offered["function"])["parameters"] == SCHEMA
    form = asked["text"]["format"] if model == "native" else asked["response_format"]["json_schema"]
    assert form["schema"] == SCHEMA
    for shown in response, client.responses.retrieve(response.id):
        assert shown.tools[0].parameters == SCHEMA
        assert shown.text.format.schema_ == SCHEMA


def test_an_assistants_function_keeps_the_numbers_of_its_schema(client, upstream):
    upstream.answer(text="Hello.")
    assistant = client.beta.assistants.create(model="demo", tools=[NESTED])
    assert client.beta.assistants.retrieve(assistant.id).tools[0].function.parameters == SCHEMA
    run = client.beta.threads.create_and_run_poll(
        assistant_id=assistant.id, thread={"messages": [{"role": "user", "content": "Hi"}]})
    assert run.status == "completed" and run.tools[0].function.parameters == SCHEMA
    assert upstream.chats()[0]["tools"][0]["function"]["parameters"] == SCHEMA


def test_a_schema_is_passed_on_as_it_was_written(http, upstream):
    upstream.answer(text="Hello.")
    schema = ('{"type":"object","properties":{"id":{"type":"number","minimum":-0,'
              '"maximum":1e400,"multipleOf":0.10,"default":1.00}}}')
    body = ('{"model":"demo","input":"Hi","tools":[{"type":"function","name":"find",'
            '"strict":false,"parameters":%s}]}' % schema)
    answer = http.post("/v1/responses", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 200, answer.text
    assert schema in answer.text
    assert schema in http.get(f"/v1/responses/{answer.json()['id']}").text


def test_a_large_number_elsewhere_is_a_decimal(http):
    refused = http.post("/v1/responses", content='{"model":"demo","input":"Hi","max_output_tokens":%d}'
                        % LARGE, headers={"content-type": "application/json"})
    assert refused.status_code == 400
    assert refused.json()["error"]["param"] == "max_output_tokens"
    named = http.post("/v1/responses", content='{"model":%d,"input":"Hi"}' % LARGE,
                      headers={"content-type": "application/json"})
    assert named.status_code == 400 and named.json()["error"]["param"] == "model"
    assert "a decimal" in named.json()["error"]["message"]
