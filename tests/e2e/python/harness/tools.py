"""Tools that tests offer, as each API names them."""

WEATHER_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}

# Assistants and Chat Completions.
WEATHER = {"type": "function", "function": {"name": "get_weather", "description": "The weather.",
                                            "parameters": WEATHER_SCHEMA}}
TIME = {"type": "function", "function": {"name": "get_time", "parameters": {"type": "object",
                                                                            "properties": {}}}}

# Responses.
WEATHER_FLAT = {"type": "function", "name": "get_weather", "description": "The weather.",
                "parameters": WEATHER_SCHEMA, "strict": True}
GRAMMAR = {"type": "custom", "name": "run_sql", "description": "Runs SQL."}


# What comes along with any tool of the server.
READERS = ["ReadVar", "ListVars"]


def offered_names(chat):
    """The names of the tools that the model was offered, without those that the server adds."""
    return [tool["function"]["name"] for tool in chat.get("tools", [])
            if tool["function"]["name"] not in READERS]


def call(name="get_weather", /, number=1, **arguments):
    """A call in a script."""
    return {"name": name, "id": f"call_{number}", "arguments": arguments}


def asks_for(upstream, *calls, text="Done: {{tool_output}}", **answer):
    """The model makes calls, and then repeats their outputs."""
    upstream.script({"match": {"tool_results": True}, "answer": {"text": text}},
                    {"answer": {"tool_calls": list(calls), **answer}})


def then_says(upstream, *turns, **answer):
    """Turns of calls, and an answer."""
    rules = [{"times": 1, "answer": {"tool_calls": calls}} for calls in turns]
    upstream.script(*rules, {"answer": answer})


PARIS = call(city="Paris")

# The model asks for the weather, then repeats the output.
WEATHER_RULES = [
    {"match": {"tool_results": True}, "answer": {"text": "It is {{tool_output}}."}},
    {"answer": {"tool_calls": [PARIS]}},
]
