"""Bodies that the operations of the Assistants API refuse, with what they say word for word. Status
and type are the same for all: 400, invalid_request_error. Used one by one (test_errors.py) and at
random, in the middle of everything (walk.py)."""

from dataclasses import dataclass
from typing import Any, Optional


@dataclass(frozen=True)
class Case:
    name: str
    body: Any
    message: str
    param: Optional[str]
    code: Optional[str]


FUNCTION = {"type": "function", "function": {"name": "f"}}
MESSAGE = {"role": "user", "content": "Hi"}
EFFORTS = "'none', 'minimal', 'low', 'medium', 'high', 'xhigh', and 'max'"
TOOL_TYPES = ("'code_interpreter', 'file_search', 'function', 'mcp', 'custom', 'local_shell', "
              "'shell', 'apply_patch', 'computer', 'computer_use_preview', 'image_generation', "
              "'web_search', and 'web_search_preview'")


# ---- The ways to be wrong ----

def missing(param, body):
    return Case(f"no {param}", body, f"Missing required parameter: '{param}'.", param,
                "missing_required_parameter")


def wrong_type(param, expected, got, body):
    return Case(f"{param} is {got}", body,
                f"Invalid type for '{param}': expected {expected}, but got {got} instead.", param,
                "invalid_type")


def wrong_word(param, got, words, body):
    return Case(f"{param} is '{got}'", body,
                f"Invalid value: '{got}'. Supported values are: {words}.", param, "invalid_value")


def long_text(param, most, length, body):
    return Case(f"long {param}", body,
                f"Invalid '{param}': string too long. Expected a string with maximum length {most}, "
                f"but got a string with length {length} instead.", param,
                "string_above_max_length")


def long_list(param, most, length, body):
    return Case(f"long {param}", body,
                f"Invalid '{param}': array too long. Expected an array with maximum length {most}, "
                f"but got an array with length {length} instead.", param,
                "array_above_max_length")


def empty_text(param, body):
    return Case(f"empty {param}", body,
                f"Invalid '{param}': empty string. Expected a string with minimum length 1, but "
                "got an empty string instead.", param, "empty_string")


def out_of_range(param, kind, side, limit, got, body):
    edge, sign = ("above maximum", "<=") if side == "above_max" else ("below minimum", ">=")
    return Case(f"{param} is {got}", body,
                f"Invalid '{param}': {kind} {edge} value. Expected a value {sign} {limit}, but got "
                f"{got} instead.", param, f"{kind}_{side}_value")


def bad_name(param, body):
    return Case(f"bad {param}", body,
                f"Invalid '{param}': string does not match pattern. Expected a string that matches "
                "the pattern '^[a-zA-Z0-9_-]+$'.", param, "invalid_value")


def bad_id(param, got, prefix, body):
    return Case(f"bad {param}", body,
                f"Invalid '{param}': '{got}'. Expected an ID that begins with '{prefix}'.", param,
                "invalid_value")


# ---- What several operations share ----

def metadata(make=lambda metadata: {"metadata": metadata}, path="metadata"):
    many = {str(n): "x" for n in range(17)}
    return [
        wrong_type(path, "an object", "a string", make("a")),
        wrong_type(f"{path}.a", "a string", "an integer", make({"a": 1})),
        long_text(f"{path}.a", 512, 513, make({"a": "x" * 513})),
        Case(f"long key of {path}", make({"k" * 65: "x"}),
             f"Invalid property name in '{path}': string too long. Expected a string with maximum "
             "length 64, but got a string with length 65 instead.", path,
             "string_above_max_length"),
        Case(f"much {path}", make(many),
             f"Invalid '{path}': too many properties. Expected an object with at most 16 "
             "properties, but got an object with 17 properties instead.", path,
             "object_above_max_properties"),
    ]


def tools(make):
    return [
        wrong_type("tools", "an array", "a string", make("none")),
        long_list("tools", 128, 129, make([{"type": "file_search"}] * 129)),
        wrong_type("tools[0]", "an object", "a string", make(["f"])),
        missing("tools[0].type", make([{}])),
        wrong_word("tools[0].type", "bogus", TOOL_TYPES, make([{"type": "bogus"}])),
        missing("tools[1].function", make([FUNCTION, {"type": "function"}])),
        missing("tools[0].function.name", make([{"type": "function", "function": {}}])),
        bad_name("tools[0].function.name", make([{"type": "function", "function": {"name": "a b"}}])),
        long_text("tools[0].function.name", 64, 65,
                  make([{"type": "function", "function": {"name": "f" * 65}}])),
        Case("two tools of one name", make([FUNCTION, FUNCTION]),
             "Invalid 'tools[1]': duplicate function name 'f'.", "tools[1]", "invalid_value"),
        wrong_type("tools[0].function.parameters", "an object", "an array",
                   make([{"type": "function", "function": {"name": "f", "parameters": []}}])),
        Case("a schema that is not strict", make([{"type": "function", "function": {
            "name": "f", "strict": True, "parameters": {"type": "object", "properties": {}}}}]),
             "Invalid schema for function 'f': In context=(), 'additionalProperties' is required "
             "to be supplied and to be false.", "tools[0].function.parameters",
             "invalid_function_parameters"),
        out_of_range("tools[0].file_search.max_num_results", "integer", "above_max", 50, 51,
                     make([{"type": "file_search", "file_search": {"max_num_results": 51}}])),
        missing("tools[0].file_search.ranking_options.score_threshold", make(
            [{"type": "file_search", "file_search": {"ranking_options": {"ranker": "auto"}}}])),
    ]


def resources(make, path="tool_resources"):
    return [
        wrong_type(path, "an object", "an array", make([])),
        wrong_type(f"{path}.code_interpreter", "an object", "a string",
                   make({"code_interpreter": "x"})),
        wrong_type(f"{path}.code_interpreter.file_ids", "an array", "a string",
                   make({"code_interpreter": {"file_ids": "file-a"}})),
        long_list(f"{path}.code_interpreter.file_ids", 20, 21,
                  make({"code_interpreter": {"file_ids": [f"file-{n}" for n in range(21)]}})),
        long_list(f"{path}.file_search.vector_store_ids", 1, 2,
                  make({"file_search": {"vector_store_ids": ["vs_a", "vs_b"]}})),
    ]


def sampling(make):
    return [
        out_of_range("temperature", "decimal", "above_max", 2, 2.1, make("temperature", 2.1)),
        out_of_range("temperature", "decimal", "below_min", 0, -1, make("temperature", -1)),
        wrong_type("temperature", "a decimal", "a string", make("temperature", "hot")),
        out_of_range("top_p", "decimal", "above_max", 1, 1.5, make("top_p", 1.5)),
        wrong_word("reasoning_effort", "much", EFFORTS, make("reasoning_effort", "much")),
        long_text("instructions", 256000, 256001, make("instructions", "x" * 256001)),
        wrong_type("instructions", "a string", "an integer", make("instructions", 1)),
    ]


def response_format(make):
    return [
        wrong_word("response_format", "json", "'auto'", make("json")),
        wrong_type("response_format", "one of a string or an object", "an integer", make(1)),
        missing("response_format.type", make({})),
        wrong_word("response_format.type", "xml", "'text', 'json_object', and 'json_schema'",
                   make({"type": "xml"})),
        missing("response_format.json_schema", make({"type": "json_schema"})),
        missing("response_format.json_schema.name",
                make({"type": "json_schema", "json_schema": {"schema": {}}})),
        Case("a format that is not strict", make({"type": "json_schema", "json_schema": {
            "name": "n", "strict": True, "schema": {"type": "object", "properties": {}}}}),
             "Invalid schema for response_format 'n': In context=(), 'additionalProperties' is "
             "required to be supplied and to be false.", "response_format.json_schema.schema",
             "invalid_json_schema"),
    ]


def message(make, path=""):
    """`make` puts a message where the operation has one, at `path`."""
    def case(**changes):
        return make({**MESSAGE, **changes})

    def part(part):
        return case(content=[part])

    def attachment(attachment):
        return case(attachments=[attachment])

    file = {"file_id": "file-a"}
    return [
        missing(f"{path}role", make({"content": "Hi"})),
        wrong_word(f"{path}role", "robot", "'user' and 'assistant'", case(role="robot")),
        missing(f"{path}content", make({"role": "user"})),
        empty_text(f"{path}content", case(content="")),
        long_text(f"{path}content", 256000, 256001, case(content="x" * 256001)),
        wrong_type(f"{path}content", "one of a string or an array", "an integer", case(content=1)),
        Case(f"empty {path}content", case(content=[]),
             f"Invalid '{path}content': empty array. Expected an array with minimum length 1, but "
             "got an empty array instead.", f"{path}content", "empty_array"),
        wrong_type(f"{path}content[0]", "an object", "a string", part("Hi")),
        missing(f"{path}content[0].type", part({"text": "Hi"})),
        wrong_word(f"{path}content[0].type", "sound", "'text', 'image_url', and 'image_file'",
                   part({"type": "sound"})),
        missing(f"{path}content[0].text", part({"type": "text"})),
        missing(f"{path}content[0].image_url", part({"type": "image_url"})),
        missing(f"{path}content[0].image_url.url", part({"type": "image_url", "image_url": {}})),
        wrong_word(f"{path}content[0].image_url.detail", "some", "'auto', 'low', and 'high'",
                   part({"type": "image_url", "image_url": {"url": "https://example.org/a.png",
                                                            "detail": "some"}})),
        Case(f"no URL in {path}content", part({"type": "image_url", "image_url": {"url": "a.png"}}),
             f"Invalid '{path}content[0].image_url.url'. Expected a valid URL, but got a value with "
             "an invalid format.", f"{path}content[0].image_url.url", "invalid_value"),
        bad_id(f"{path}content[0].image_file.file_id", "a", "file",
               part({"type": "image_file", "image_file": {"file_id": "a"}})),
        wrong_word(f"{path}content[0].type", "image_url", "'text'",
                   case(role="assistant", content=[{"type": "image_url"}])),
        wrong_type(f"{path}attachments", "an array", "an object", case(attachments={})),
        wrong_type(f"{path}attachments[0]", "an object", "a string", attachment("file-a")),
        missing(f"{path}attachments[0].file_id", attachment({})),
        wrong_word(f"{path}attachments[0].tools[0].type", "function",
                   "'code_interpreter' and 'file_search'",
                   attachment({**file, "tools": [{"type": "function"}]})),
        *metadata(lambda metadata: case(metadata=metadata), f"{path}metadata"),
    ]


def run(make):
    return [
        missing("assistant_id", {}),
        wrong_type("assistant_id", "a string", "an integer", make("assistant_id", 1)),
        bad_id("assistant_id", "x", "asst", make("assistant_id", "x")),
        wrong_type("stream", "a boolean", "a string", make("stream", "yes")),
        out_of_range("max_prompt_tokens", "integer", "below_min", 256, 255,
                     make("max_prompt_tokens", 255)),
        out_of_range("max_completion_tokens", "integer", "below_min", 256, 0,
                     make("max_completion_tokens", 0)),
        wrong_type("max_completion_tokens", "an integer", "a decimal",
                   make("max_completion_tokens", 300.5)),
        wrong_type("parallel_tool_calls", "a boolean", "an integer",
                   make("parallel_tool_calls", 1)),
        missing("truncation_strategy.type", make("truncation_strategy", {})),
        wrong_word("truncation_strategy.type", "first", "'auto' and 'last_messages'",
                   make("truncation_strategy", {"type": "first"})),
        missing("truncation_strategy.last_messages",
                make("truncation_strategy", {"type": "last_messages"})),
        out_of_range("truncation_strategy.last_messages", "integer", "below_min", 1, 0,
                     make("truncation_strategy", {"type": "last_messages", "last_messages": 0})),
        wrong_word("tool_choice", "any", "'none', 'auto', and 'required'",
                   make("tool_choice", "any")),
        wrong_type("tool_choice", "one of a string or an object", "an array",
                   make("tool_choice", [])),
        missing("tool_choice.type", make("tool_choice", {})),
        missing("tool_choice.function", make("tool_choice", {"type": "function"})),
        missing("tool_choice.function.name",
                make("tool_choice", {"type": "function", "function": {}})),
        empty_text("model", make("model", "")),
        *sampling(make),
        *tools(lambda value: make("tools", value)),
        *response_format(lambda value: make("response_format", value)),
        *metadata(lambda value: make("metadata", value)),
    ]


# ---- The operations ----

def new_assistant(key, value):
    return {"model": "demo", key: value}


def assistant(make):
    return [
        empty_text("model", make("model", "")),
        wrong_type("model", "a string", "an integer", make("model", 1)),
        long_text("name", 256, 257, make("name", "x" * 257)),
        wrong_type("name", "a string", "an array", make("name", [])),
        long_text("description", 512, 513, make("description", "x" * 513)),
        *sampling(make),
        *tools(lambda value: make("tools", value)),
        *resources(lambda value: make("tool_resources", value)),
        *response_format(lambda value: make("response_format", value)),
        *metadata(lambda value: make("metadata", value)),
    ]


def new_run(key, value):
    return {"assistant_id": "asst_" + "0" * 24, key: value}


def outputs(value):
    return {"tool_outputs": value}


REFUSALS = {
    "POST /assistants": [missing("model", {}), *assistant(new_assistant)],
    "POST /assistants/{assistant}": assistant(lambda key, value: {key: value}),
    "POST /threads": [
        wrong_type("messages", "an array", "an object", {"messages": {}}),
        wrong_type("messages[0]", "an object", "a string", {"messages": ["Hi"]}),
        *message(lambda value: {"messages": [MESSAGE, value]}, "messages[1]."),
        *metadata(),
        *resources(lambda value: {"tool_resources": value}),
    ],
    "POST /threads/{thread}": [*metadata(), *resources(lambda value: {"tool_resources": value})],
    "POST /threads/{thread}/messages": message(lambda value: value),
    "POST /threads/{thread}/messages/{message}": metadata(),
    "POST /threads/{thread}/runs": [
        *run(new_run),
        wrong_type("additional_instructions", "a string", "an integer",
                   new_run("additional_instructions", 1)),
        wrong_type("additional_messages", "an array", "a string",
                   new_run("additional_messages", "Hi")),
        *message(lambda value: new_run("additional_messages", [value]), "additional_messages[0]."),
    ],
    "POST /threads/runs": [
        *run(new_run),
        *resources(lambda value: new_run("tool_resources", value)),
        wrong_type("thread", "an object", "a string", new_run("thread", "thread_1")),
        wrong_type("thread.messages", "an array", "a string", new_run("thread", {"messages": "Hi"})),
        *message(lambda value: new_run("thread", {"messages": [value]}), "thread.messages[0]."),
        *metadata(lambda value: new_run("thread", {"metadata": value}), "thread.metadata"),
        *resources(lambda value: new_run("thread", {"tool_resources": value}),
                   "thread.tool_resources"),
    ],
    "POST /threads/{thread}/runs/{run}": metadata(),
    "POST /threads/{thread}/runs/{run}/submit_tool_outputs": [
        missing("tool_outputs", {}),
        wrong_type("tool_outputs", "an array", "an object", outputs({})),
        long_list("tool_outputs", 128, 129,
                  outputs([{"tool_call_id": f"call_{n}", "output": ""} for n in range(129)])),
        wrong_type("tool_outputs[0]", "an object", "a string", outputs(["sunny"])),
        missing("tool_outputs[0].tool_call_id", outputs([{"output": "sunny"}])),
        empty_text("tool_outputs[0].tool_call_id", outputs([{"tool_call_id": ""}])),
        wrong_type("tool_outputs[0].output", "a string", "an object",
                   outputs([{"tool_call_id": "call_1", "output": {}}])),
        wrong_type("stream", "a boolean", "a string",
                   {**outputs([{"tool_call_id": "call_1", "output": ""}]), "stream": "yes"}),
    ],
}


# ---- Paths and queries ----

# Every operation with an id in its path, and a body that it would take.
PATHS = [
    ("GET", "/assistants/{assistant}", None),
    ("POST", "/assistants/{assistant}", {"name": "C"}),
    ("DELETE", "/assistants/{assistant}", None),
    ("GET", "/threads/{thread}", None),
    ("POST", "/threads/{thread}", {"metadata": {}}),
    ("DELETE", "/threads/{thread}", None),
    ("POST", "/runnel/threads/{thread}/fork", None),
    ("GET", "/threads/{thread}/messages", None),
    ("POST", "/threads/{thread}/messages", {"role": "user", "content": "x"}),
    ("GET", "/threads/{thread}/messages/{message}", None),
    ("POST", "/threads/{thread}/messages/{message}", {"metadata": {}}),
    ("DELETE", "/threads/{thread}/messages/{message}", None),
    ("GET", "/threads/{thread}/runs", None),
    ("GET", "/threads/{thread}/runs/{run}", None),
    ("POST", "/threads/{thread}/runs/{run}", {"metadata": {}}),
    ("POST", "/threads/{thread}/runs/{run}/cancel", None),
    ("POST", "/threads/{thread}/runs/{run}/submit_tool_outputs",
     {"tool_outputs": [{"tool_call_id": "call_1", "output": "x"}]}),
    ("GET", "/threads/{thread}/runs/{run}/events", None),
    ("GET", "/threads/{thread}/runs/{run}/steps", None),
    ("GET", "/threads/{thread}/runs/{run}/steps/{step}", None),
]

LISTS = ["/assistants", "/threads/{thread}/messages", "/threads/{thread}/runs",
         "/threads/{thread}/runs/{run}/steps"]
QUERIES = [
    out_of_range("limit", "integer", "above_max", 100, 101, "limit=101"),
    out_of_range("limit", "integer", "below_min", 0, -1, "limit=-1"),
    wrong_type("limit", "an integer", "a string", "limit=ten"),
    wrong_word("order", "up", "'asc' and 'desc'", "order=up"),
    *(Case(f"{cursor} nobody", f"{cursor}=nobody",
           f"Invalid '{cursor}': 'nobody'. Expected the ID of an object in this list.", cursor,
           "invalid_value") for cursor in ("after", "before")),
]
