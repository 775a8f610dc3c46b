"""File search as the examples of LangChain and of the OpenAI Agents SDK have it, with nothing changed but the model and
where the server is. The same in JavaScript: tests/e2e/node/file_search.test.mjs."""

import asyncio

import pytest

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
