"""Lists of items, of a response's input and of a conversation: pages, order, what is refused."""

import pytest

from test_conversations import say

BOGUS = ("Invalid value: 'bogus'. Supported values are: 'file_search_call.results', "
         "'web_search_call.results', 'web_search_call.action.sources', "
         "'message.input_image.image_url', 'computer_call_output.output.image_url', "
         "'code_interpreter_call.outputs', 'reasoning.encrypted_content', and "
         "'message.output_text.logprobs'.")
ITEMS = [say(f"number {number}") for number in range(7)]


@pytest.fixture(params=["input_items", "conversation items"])
def path(request, http):
    """A list of seven messages."""
    if request.param == "input_items":
        made = http.post("/v1/responses", json={"model": "demo", "input": ITEMS}).json()
        return f"/v1/responses/{made['id']}/input_items"
    made = http.post("/v1/conversations", json={"items": ITEMS}).json()
    return f"/v1/conversations/{made['id']}/items"


def numbers(page):
    return [int(item["content"][0]["text"].split()[1]) for item in page["data"]]


def test_pages_follow_one_another_both_ways(http, path):
    for order, expected in (("asc", list(range(7))), ("desc", list(range(6, -1, -1)))):
        for limit in (1, 2, 3, 6, 7, 100):
            found, after = [], None
            while True:
                page = http.get(path, params={"order": order, "limit": limit,
                                              **({"after": after} if after else {})}).json()
                assert page["object"] == "list" and len(page["data"]) <= limit
                assert page["first_id"] == page["data"][0]["id"]
                assert page["last_id"] == page["data"][-1]["id"]
                found += numbers(page)
                after = page["last_id"]
                if not page["has_more"]:
                    break
            assert found == expected


def test_by_default_a_page_has_the_twenty_newest(http):
    items = [say(f"number {number}") for number in range(25)]
    made = http.post("/v1/responses", json={"model": "demo", "input": items}).json()
    page = http.get(f"/v1/responses/{made['id']}/input_items").json()
    assert numbers(page) == list(range(24, 4, -1)) and page["has_more"]


def test_ids_are_stable_across_pages(http, path):
    first, second = http.get(path).json(), http.get(path).json()
    assert first == second and len({item["id"] for item in first["data"]}) == 7


def test_the_end_of_a_list_is_an_empty_page(http, path):
    last = http.get(path).json()["last_id"]
    for query in ({"after": last}, {"limit": 0}):
        page = http.get(path, params=query).json()
        assert page["data"] == [] and (page["first_id"], page["last_id"]) == (None, None)
    assert page["has_more"] is True
    assert http.get(path, params={"after": last}).json()["has_more"] is False


def test_every_allowed_include_is_accepted(http, path):
    for name in ("include", "include[]"):
        answer = http.get(path, params=[(name, "message.output_text.logprobs"),
                                        (name, "reasoning.encrypted_content")])
        assert numbers(answer.json()) == list(range(6, -1, -1))


@pytest.mark.parametrize(("query", "message", "param", "code"), [
    ({"limit": "x"}, "Invalid type for 'limit': expected an integer, but got a string instead.",
     "limit", "invalid_type"),
    ({"limit": -1}, "Invalid 'limit': integer below minimum value. Expected a value >= 0, but got "
     "-1 instead.", "limit", "integer_below_min_value"),
    ({"limit": 101}, "Invalid 'limit': integer above maximum value. Expected a value <= 100, but "
     "got 101 instead.", "limit", "integer_above_max_value"),
    ({"order": "up"}, "Invalid value: 'up'. Supported values are: 'asc' and 'desc'.", "order",
     "invalid_value"),
    ({"after": "msg_nope"},
     "Invalid 'after': 'msg_nope'. Expected the ID of an object in this list.", "after",
     "invalid_value"),
    ({"include": "bogus"}, BOGUS, "include[0]", "invalid_value"),
    ([("include[]", "reasoning.encrypted_content"), ("include[]", "bogus")], BOGUS, "include[1]",
     "invalid_value"),
])
def test_invalid_page_parameters_are_refused(http, path, query, message, param, code):
    answer = http.get(path, params=query)
    assert answer.status_code == 400
    assert answer.json()["error"] == {"message": message, "type": "invalid_request_error",
                                      "param": param, "code": code}


def test_include_is_checked_everywhere(http):
    response = http.post("/v1/responses", json={"model": "demo", "input": "Hi"}).json()
    made = http.post("/v1/conversations", json={"items": [say("Hi")]}).json()["id"]
    items = f"/v1/conversations/{made}/items"
    item = http.get(items).json()["last_id"]
    for method, path in (("GET", f"/v1/responses/{response['id']}"), ("POST", items),
                         ("GET", f"{items}/{item}")):
        for value, status in (("bogus", 400), ("reasoning.encrypted_content", 200)):
            answer = http.request(method, f"{path}?include={value}",
                                  json={"items": [say("x")]} if method == "POST" else None)
            assert answer.status_code == status, answer.text
    assert len(http.get(items).json()["data"]) == 2


def test_an_item_of_another_list_is_no_cursor(http, path):
    other = http.post("/v1/conversations", json={"items": [say("x")]}).json()["id"]
    item = http.get(f"/v1/conversations/{other}/items").json()["last_id"]
    answer = http.get(path, params={"after": item})
    assert answer.status_code == 400 and answer.json()["error"]["param"] == "after"
