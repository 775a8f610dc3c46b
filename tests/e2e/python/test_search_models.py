"""Searches that ask models: a re-ranker judges what was found."""

import pytest

CONFIG = """
rerank: {url: "%s", model: judge, api_key_env: TEST_RERANK_KEY}
rewrite: {model: demo}
hooks: {before_send: [{pattern: "Berlin", replacement: "[masked]"}]}
"""
DOG = "# Dogs\n\nA white dog barks in Berlin.\n"
CAT = "# Cats\n\nThe black cat sleeps, and a dog does not, and a cat does again.\n"


@pytest.fixture
def searched(start_server, upstream, tmp_path, monkeypatch):
    """A server with a re-ranker, and search(query, **options) -> the page, in a store with two files."""
    monkeypatch.setenv("TEST_RERANK_KEY", "key-of-the-judge")
    config = tmp_path / "rerank.yaml"
    config.write_text(CONFIG % upstream.url)
    server = start_server(config=config)
    client, http = server.sdk(), server.http()
    files = [client.files.create(file=(name, text.encode()), purpose="assistants").id
             for name, text in (("dog.md", DOG), ("cat.md", CAT))]
    store = client.vector_stores.create(file_ids=files).id
    batch = client.vector_stores.file_batches.create_and_poll(store, file_ids=files)
    assert batch.file_counts.completed == 2

    def search(query, status=200, **options):
        answer = http.post(f"/v1/vector_stores/{store}/search", json={"query": query, **options})
        assert answer.status_code == status, answer.text
        return answer.json()

    search.http = http
    search.metrics = lambda: {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
                              for line in http.get("/metrics").text.splitlines() if line[0] != "#"}
    return search


def asked(upstream):
    return [seen for seen in upstream.requests() if seen["path"] == "/v1/rerank"]


def names(page):
    return [hit["filename"] for hit in page["data"]]


def test_a_reranker_judges_what_words_have_found(searched, upstream):
    page = searched("dog Berlin")
    assert page["runnel"] == {"mode": "lexical", "reranked": True}
    scores = [hit["score"] for hit in page["data"]]
    assert scores == sorted(scores, reverse=True) and all(0 <= score <= 1 for score in scores)
    [seen] = asked(upstream)
    assert "authorization" in seen["headers"]
    assert seen["body"]["model"] == "judge" and seen["body"]["query"] == "dog [masked]"
    assert sorted(text.splitlines()[0] for text in seen["body"]["documents"]) == ["Cats", "Dogs"]
    assert "Berlin" not in str(seen["body"])
    upstream.forget()
    assert searched("dog", ranking_options={"ranker": "none"})["runnel"]["reranked"] is False
    assert searched("xylophone")["data"] == []
    assert asked(upstream) == []


def test_a_reranker_decides_against_words(searched, upstream):
    assert searched.http.get("/v1/runnel/retrieval").json()["reranker"] == {"model": "judge"}
    assert names(searched("dog", ranking_options={"ranker": "none"})) == ["dog.md", "cat.md"]
    upstream.script({"match": {"path": "/v1/rerank"}, "answer": {"fault": {"kind": "status", "status": 200, "body": {
        "results": [{"index": 1, "relevance_score": 0.75}, {"index": 0, "relevance_score": 0.25}]}}}})
    page = searched("dog")
    assert names(page) == ["cat.md", "dog.md"]
    assert [hit["score"] for hit in page["data"]] == [0.75, 0.25]
    assert names(searched("dog", ranking_options={"score_threshold": 0.5})) == ["cat.md"]


def test_a_reranker_that_fails_leaves_the_order(searched, upstream):
    before = searched("dog", ranking_options={"ranker": "none"})
    upstream.script({"match": {"path": "/v1/rerank"}, "times": 1,
                     "answer": {"fault": {"kind": "status", "status": 429, "retry_after": 60}}})
    for _ in range(4):
        assert searched("dog") == before
    assert len(asked(upstream)) == 1  # it is left alone after a failure
    metrics = searched.metrics()
    assert metrics["runnel_rerank_failures_total"] == 4 and metrics["runnel_searches_reranked_total"] == 0
    assert metrics['runnel_searches_total{end="completed"}'] == metrics["runnel_search_seconds_count"] == 5
    assert metrics['runnel_search_seconds_bucket{le="+Inf"}'] == 5 and metrics["runnel_search_seconds_sum"] > 0
    assert metrics["runnel_segment_cache_documents"] == 2
    assert metrics['runnel_documents_total{end="ready"}'] == metrics["runnel_document_seconds_count"] == 2
    assert metrics["runnel_documents_working"] == 0 and metrics["runnel_documents_waiting"] == 0


def test_a_query_is_rewritten_by_a_model(searched, upstream):
    upstream.answer(text=' "cat black"\n')
    page = searched("Which animal sleeps in Berlin?", rewrite_query=True)
    assert page["search_query"] == ["cat black"] and names(page)[0] == "cat.md"
    [seen] = upstream.chats()
    assert seen["model"] == "demo" and seen["messages"][1] == {
        "role": "user", "content": "Which animal sleeps in [masked]?"}
    page = searched(["dog", "cat"], rewrite_query=True)
    assert page["search_query"] == ["cat black", "cat black"]
    assert searched("dog", rewrite_query=False)["search_query"] == ["dog"]
    assert len(upstream.chats()) == 3


def test_a_model_that_does_not_rewrite_leaves_the_query(searched, upstream):
    for answer in ({"text": "two\nlines"}, {"text": ""}, {"text": "x" * 1025}, {"fault": {"kind": "html"}},
                   {"fault": {"kind": "status", "status": 503}}, {"delay_ms": 30000, "text": "late"}):
        upstream.answer(**answer)
        assert searched("dog", rewrite_query=True)["search_query"] == ["dog"], answer
