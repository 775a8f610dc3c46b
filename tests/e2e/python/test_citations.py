"""What the model cites by a mark, clients get as an annotation, however the upstream cuts the mark. The passages
come from the tool test_cite (tests/support/handlers), whose arguments they are."""

import json

import pytest

from harness.recorder import parse_events
from harness.tools import call

CITE = {"type": "mcp", "server_label": "test", "server_url": "builtin:test", "require_approval": "never",
        "allowed_tools": ["test_cite"]}
PASSAGES = [{"file_id": "file-a", "filename": "手册.pdf", "text": "The battery has two years.【9:9】"},
            {"file_id": "file-b", "filename": "faq.md", "text": "Send it back."}]

SAID = "保修两年【1:0†source】。See【注意】 a[0]. Both【1:0,1:1†source】[1:1†x] and gone【7:0†source】, open 【1:0"
# What is left of it in a response, and in a message.
RESPONSE = "保修两年。See【注意】 a[0]. Both and gone, open 【1:0"
MESSAGE = ("保修两年【1:0†source】。See【注意】 a[0]. Both【1:0†source】【1:1†source】【1:1†source】 and gone【7:0†source】, "
           "open 【1:0")


def file_citation(passage, index):
    return {"type": "file_citation", "file_id": PASSAGES[passage]["file_id"],
            "filename": PASSAGES[passage]["filename"], "index": index}


CITED = [file_citation(0, 4), file_citation(0, 23), file_citation(1, 23), file_citation(1, 23)]


def pieces_of(text):
    """Every way to cut it once, and all characters by themselves."""
    return [[text[:at], text[at:]] for at in range(1, len(text))] + [list(text), [text]]


def answers(upstream, pieces, passages=PASSAGES):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": pieces}},
                    {"answer": {"tool_calls": [call("test_cite", passages=passages)]}})


def ask(http, model="demo", **body):
    with http.stream("POST", "/v1/responses",
                     json={"model": model, "input": "Hi", "stream": True, "tools": [CITE], **body}) as answer:
        assert answer.status_code == 200, answer.read()
        return [json.loads(data) for _, data in parse_events(answer.read().decode()) if data != "[DONE]"]


def check_grammar(events):
    """Annotations follow the delta that ends before them, and precede the end of the text."""
    text, count, done = "", 0, False
    for event in events:
        if event["type"] == "response.output_text.delta":
            assert event["delta"] and not done
            text += event["delta"]
        elif event["type"] == "response.output_text.annotation.added":
            assert not done and event["annotation_index"] == count
            assert event["annotation"]["index"] == len(text)
            count += 1
        elif event["type"] == "response.output_text.done":
            done = True
    return text


@pytest.mark.parametrize("pieces", [pytest.param(pieces, id=f"{len(pieces[0])}-{len(pieces)}")
                                    for pieces in pieces_of(SAID)])
def test_annotations_replace_the_marks_of_a_response(http, upstream, pieces):
    answers(upstream, pieces)
    events = ask(http)
    assert check_grammar(events) == RESPONSE
    added = [event["annotation"] for event in events
             if event["type"] == "response.output_text.annotation.added"]
    (part,) = [event["part"] for event in events if event["type"] == "response.content_part.done"]
    (item,) = [event["item"] for event in events if event["type"] == "response.output_item.done"
               and event["item"]["type"] == "message"]
    response = events[-1]["response"]
    assert added == CITED
    assert part == {"type": "output_text", "text": RESPONSE, "annotations": CITED, "logprobs": []}
    assert item["content"] == [part]
    assert response["output"][-1] == item
    assert http.get(f"/v1/responses/{response['id']}").json()["output"] == response["output"]


@pytest.mark.parametrize("pieces", [pytest.param(pieces, id=f"{len(pieces[0])}-{len(pieces)}")
                                    for pieces in pieces_of(SAID)])
def test_a_message_keeps_marks_in_one_form(http, upstream, pieces):
    answers(upstream, pieces)
    text, annotations, message = run(http)
    assert text == message["text"]["value"] == MESSAGE
    assert [{key: value for key, value in annotation.items() if key != "index"}
            for annotation in annotations] == message["text"]["annotations"]
    assert [annotation["index"] for annotation in annotations] == list(range(len(annotations)))
    assert [(annotation["text"], annotation["start_index"], annotation["end_index"],
             annotation["file_citation"]["file_id"]) for annotation in annotations] == [
        ("【1:0†source】", 4, 16, "file-a"), ("【1:0†source】", 35, 47, "file-a"),
        ("【1:1†source】", 47, 59, "file-b"), ("【1:1†source】", 59, 71, "file-b")]


def run(http, **more):
    """The text and the annotations of the deltas, and the content of the message as it is stored."""
    assistant = http.post("/v1/assistants", json={"model": "demo", "tools": [CITE]}).json()["id"]
    body = {"assistant_id": assistant, "stream": True,
            "thread": {"messages": [{"role": "user", "content": "Hi"}]}, **more}
    text, annotations = "", []
    with http.stream("POST", "/v1/threads/runs", json=body) as answer:
        for name, data in parse_events(answer.read().decode()):
            if name != "thread.message.delta":
                continue
            (delta,) = json.loads(data)["delta"]["content"]
            value, cited = delta["text"].get("value"), delta["text"].get("annotations", [])
            for annotation in cited:
                # The mark and nothing else, behind the text so far.
                assert value == annotation["text"] and annotation["start_index"] == len(text)
                assert annotation["end_index"] == len(text) + len(value)
            assert value
            text += value
            annotations += cited
            message = json.loads(data)["id"]
        thread = next(json.loads(data)["thread_id"]
                      for name, data in parse_events(answer.text) if name == "thread.message.created")
    stored = http.get(f"/v1/threads/{thread}/messages/{message}").json()
    (content,) = stored["content"]
    return text, annotations, content


def test_a_run_that_can_cite_nothing_is_left_alone(http, upstream):
    upstream.script({"answer": {"text": SAID}})
    events = ask(http, tools=[])
    assert events[-1]["response"]["output"][0]["content"][0]["text"] == SAID
    assert not [event for event in events if event["type"] == "response.output_text.annotation.added"]


def test_the_model_reads_a_passage_without_marks(http, upstream):
    answers(upstream, ["Fine."])
    ask(http)
    (read,) = [message["content"] for message in upstream.chats()[-1]["messages"] if message["role"] == "tool"]
    assert read == ("2 passages found.\n【1:0†source】 手册.pdf\nThe battery has two years.(9:9】\n"
                    "【1:1†source】 faq.md\nSend it back.\n")


def test_numbers_stay_in_later_requests(http, upstream):
    answers(upstream, ["One【1:0†source】."])
    first = ask(http)[-1]["response"]
    assert first["output"][1]["runnel"]["search"] == 1
    assert "sources" not in first["output"][1]["runnel"]
    answers(upstream, ["Old【1:1†source】, new【2:0†source】, none【3:0†source】."], passages=PASSAGES[1:])
    second = ask(http, previous_response_id=first["id"])[-1]["response"]
    part = second["output"][-1]["content"][0]
    assert part["text"] == "Old, new, none."
    assert part["annotations"] == [file_citation(1, 3), file_citation(1, 8)]
    # The model reads its own answer without marks, and the search as before.
    sent = upstream.chats()[-1]["messages"]
    assert "One." in [message["content"] for message in sent]
    assert [message["content"].split("\n")[1] for message in sent if message["role"] == "tool"] == [
        "【1:0†source】 手册.pdf", "【2:0†source】 faq.md"]
    # Without a search of its own, a later response cites those before it.
    upstream.script({"answer": {"text": "Again【2:0†source】."}})
    third = ask(http, previous_response_id=second["id"], tools=[])[-1]["response"]
    assert third["output"][-1]["content"][0]["annotations"] == [file_citation(1, 5)]


def test_two_searches_of_a_turn_have_two_numbers(http, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "A【1:0†source】 B【2:0†source】"}},
                    {"answer": {"tool_calls": [call("test_cite", 1, passages=PASSAGES[:1]),
                                               call("test_cite", 2, passages=PASSAGES[1:])]}})
    part = ask(http)[-1]["response"]["output"][-1]["content"][0]
    assert part["annotations"] == [file_citation(0, 1), file_citation(1, 3)]


def test_a_message_of_a_thread_is_an_item_of_its_conversation(http, upstream):
    answers(upstream, ["Two years【1:0†source】."])
    assistant = http.post("/v1/assistants", json={"model": "demo", "tools": [CITE]}).json()["id"]
    thread = http.post("/v1/threads", json={"messages": [{"role": "user", "content": "Hi"}]}).json()["id"]
    with http.stream("POST", f"/v1/threads/{thread}/runs",
                     json={"assistant_id": assistant, "stream": True}) as answer:
        answer.read()
    items = http.get(f"/v1/conversations/{thread.replace('thread_', 'conv_')}/items").json()["data"]
    (part,) = next(item["content"] for item in items if item.get("role") == "assistant")
    assert part["text"] == "Two years【1:0†source】."
    assert part["annotations"] == [file_citation(0, 9)]


def test_what_is_held_goes_out_when_the_answer_breaks_off(http, upstream):
    upstream.script({"match": {"tool_results": True},
                     "answer": {"text": ["Two【1:0†so"], "finish_reason": "length"}},
                    {"answer": {"tool_calls": [call("test_cite", passages=PASSAGES)]}})
    events = ask(http)
    assert events[-1]["type"] == "response.incomplete"
    assert check_grammar(events) == "Two【1:0†so"


def test_the_helpers_of_the_sdk_gather_what_is_stored(client, server, upstream, model):
    answers(upstream, list(SAID))
    with client.responses.stream(model=model, input="Hi", tools=[CITE]) as stream:
        for _ in stream:
            pass
        final = stream.get_final_response()
    (part,) = final.output[-1].content
    assert part.text == final.output_text == RESPONSE
    assert [annotation.model_dump() for annotation in part.annotations] == CITED
    client = server.sdk(strict=False)  # its types do not know the tools of an assistant here
    assistant = client.beta.assistants.create(model=model, tools=[CITE])
    with client.beta.threads.create_and_run_stream(
            assistant_id=assistant.id, thread={"messages": [{"role": "user", "content": "Hi"}]}) as stream:
        stream.until_done()
        (message,) = stream.get_final_messages()
    (content,) = message.content
    assert content.text.value == MESSAGE
    assert [(a.text, content.text.value[a.start_index:a.end_index]) for a in content.text.annotations] == [
        (a.text, a.text) for a in content.text.annotations]
    assert client.beta.threads.messages.retrieve(message.id, thread_id=message.thread_id) == message


# ---- Models that write no marks ----

MANUAL = [{"file_id": "file-a", "filename": "drill.md",
           "text": "The battery of the drill is covered by a warranty of two years from the date of purchase."},
          {"file_id": "file-b", "filename": "cleaner.md",
           "text": "Clean the filter of the vacuum cleaner every month with cold water and let it dry."}]
PLAIN = ("电池 Your drill's battery has a warranty of two years from the purchase date.\n\nI hope that helps you today.\n\n"
         "Clean the cleaner's filter with cold water every month, then let it dry.")


def test_a_paragraph_with_the_words_of_one_passage_is_cited(http, upstream):
    answers(upstream, [PLAIN], passages=MANUAL)
    events = ask(http)
    part = events[-1]["response"]["output"][-1]["content"][0]
    first = PLAIN.index("\n\n")
    assert part["text"] == PLAIN
    assert part["annotations"] == [
        {"type": "file_citation", "file_id": "file-a", "filename": "drill.md", "index": first},
        {"type": "file_citation", "file_id": "file-b", "filename": "cleaner.md", "index": len(PLAIN)}]
    kinds = [event["type"].removeprefix("response.output_text.") for event in events
             if event["type"].startswith("response.output_text.")]
    assert kinds[-4:] == ["delta", "annotation.added", "annotation.added", "done"]


@pytest.mark.parametrize("citations, count", [("overlap", 2), ("marks", 0), ("none", 0), (None, 2)])
def test_the_request_says_how_is_cited(http, upstream, citations, count):
    answers(upstream, [PLAIN], passages=MANUAL)
    part = ask(http, runnel={"citations": citations})[-1]["response"]["output"][-1]["content"][0]
    assert len(part["annotations"]) == count


def test_a_mark_leaves_the_other_paragraphs_alone(http, upstream):
    answers(upstream, [PLAIN + "【1:1†source】"], passages=MANUAL)
    part = ask(http)[-1]["response"]["output"][-1]["content"][0]
    assert [(a["file_id"], a["index"]) for a in part["annotations"]] == [("file-b", len(PLAIN))]


def test_without_citations_marks_are_removed_all_the_same(http, upstream):
    answers(upstream, ["Two years【1:0†source】."])
    part = ask(http, runnel={"citations": "none"})[-1]["response"]["output"][-1]["content"][0]
    assert (part["text"], part["annotations"]) == ("Two years.", [])


def test_an_unknown_way_to_cite_is_refused(http):
    answer = http.post("/v1/responses", json={"model": "demo", "input": "Hi", "runnel": {"citations": "all"}})
    assert answer.status_code == 400 and answer.json()["error"]["param"] == "runnel.citations"


def test_a_message_is_cited_by_its_words_only_when_that_is_wanted(http, upstream):
    answers(upstream, [PLAIN], passages=MANUAL)
    text, annotations, _ = run(http)
    assert text == PLAIN and annotations == []
    text, annotations, content = run(http, runnel={"citations": "overlap"})
    assert text == content["text"]["value"] == PLAIN + "【1:0†source】【1:1†source】"
    assert len(annotations) == len(content["text"]["annotations"]) == 2
