"""File search as the examples of LangChain, LlamaIndex and the OpenAI Agents SDK have it, with nothing changed but the model and
where the server is. The same in JavaScript: tests/e2e/node/file_search.test.mjs."""

import asyncio
import json
import os
import subprocess
import sys

import pytest

from harness.from_pypi import installed
from harness.patience import patience
from harness.tools import call

TEXT = "Arrakis, the desert planet, was once covered by seas."
ASKED = "Be concise, and tell me one sentence about Arrakis I might not know."
SAID = "It was once covered by seas."


@pytest.fixture
def store(client):
    file = client.files.create(file=("arrakis.txt", TEXT.encode()), purpose="assistants")
    store = client.vector_stores.create(name="example-vector-store")
    client.vector_stores.files.create_and_poll(vector_store_id=store.id, file_id=file.id)
    return store.id, file.id


@pytest.fixture
def searching(upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "It was once covered by seas【1:0†source】."}},
                    {"answer": {"tool_calls": [call("file_search", queries=["Arrakis seas"])]}})


def test_langchain_searches_files_and_cites(server, store, searching):
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model="demo", base_url=f"{server.url}/v1", api_key=server.settings["api_key"], max_retries=0,
                       include=["file_search_call.results"])
    answer = model.bind_tools([{"type": "file_search", "vector_store_ids": [store[0]]}]).invoke(ASKED)
    assert answer.text == SAID
    (found,) = [block for block in answer.content if block["type"] == "file_search_call"]
    assert found["results"][0]["text"] == TEXT
    (text,) = [block for block in answer.content if block["type"] == "text"]
    (cited,) = text["annotations"]
    assert (cited["type"], cited["file_id"], cited["filename"]) == ("file_citation", store[1], "arrakis.txt")
    again = model.invoke([("user", ASKED), answer, ("user", "Once more.")])
    assert again.text


def test_the_agents_sdk_searches_files(server, store, searching):
    import agents
    from openai import AsyncOpenAI

    agents.set_tracing_disabled(True)

    async def run():
        async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key=server.settings["api_key"], max_retries=0) as client:
            agent = agents.Agent(
                name="File searcher", instructions="You answer only based on the information in the vector store.",
                model=agents.OpenAIResponsesModel(model="demo", openai_client=client),
                tools=[agents.FileSearchTool(max_num_results=3, vector_store_ids=[store[0]], include_search_results=True)])
            return await agents.Runner.run(agent, ASKED)

    result = asyncio.run(run())
    assert result.final_output == SAID
    searched, message = (item.raw_item for item in result.new_items)
    assert searched.results[0].text == TEXT
    assert message.content[0].annotations[0].file_id == store[1]


# A program of its own: it needs another version of the package openai. It knows OpenAI's models by name, and asks for the context
# window of all others.
LLAMAINDEX = """
import json, sys
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai import OpenAIResponses

store, asked = sys.argv[1:]
llm = OpenAIResponses(model="demo", context_window=128000, include=["file_search_call.results"], track_previous_responses=True,
                      built_in_tools=[{"type": "file_search", "vector_store_ids": [store]}])
whole = llm.complete(asked)
pieces = list(llm.stream_complete(asked))
chat = llm.chat([ChatMessage(role="user", content=asked)])
print(json.dumps({
    "texts": [whole.text, pieces[-1].text, "".join(piece.delta or "" for piece in pieces), chat.message.content],
    "calls": whole.additional_kwargs["built_in_tool_calls"],
    "cited": [each.additional_kwargs["annotations"] for each in (whole, pieces[-1])],
}, default=lambda each: each.model_dump()))
"""


def test_llamaindex_searches_files_and_cites(server, store, searching):
    environment = {**os.environ, "PYTHONPATH": str(installed("llamaindex")), "OPENAI_API_BASE": f"{server.url}/v1",
                   "OPENAI_API_KEY": server.settings["api_key"]}
    done = subprocess.run([sys.executable, "-c", LLAMAINDEX, store[0], ASKED], env=environment, capture_output=True, text=True,
                          timeout=patience(60), check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert set(found["texts"]) == {SAID}
    (searched,) = found["calls"]
    assert (searched["type"], searched["results"][0]["text"]) == ("file_search_call", TEXT)
    for (cited,) in found["cited"]:
        assert (cited["type"], cited["file_id"], cited["filename"]) == ("file_citation", store[1], "arrakis.txt")
