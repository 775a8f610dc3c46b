"""Chunks are cut by a tokenizer of the operator: retrieval.tokenizer."""

import subprocess

import pytest

from harness.ranks import rank_file
from harness.server import eventually

TEXT = "\n".join(f"Line {n} says some words of its own." for n in range(40))  # 1,400 bytes
SMALL = {"type": "static", "static": {"max_chunk_size_tokens": 100, "chunk_overlap_tokens": 0}}


def attach(client, store, file):
    client.vector_stores.files.create(vector_store_id=store, file_id=file, chunking_strategy=SMALL)
    found = eventually(lambda: client.vector_stores.files.retrieve(file, vector_store_id=store),
                       lambda found: found.status != "in_progress", 60)
    assert found.status == "completed"
    return found.runnel["chunks"]


def test_chunks_are_cut_by_the_tokenizer_and_anew_by_another(start_server, tmp_path, scratch):
    server = start_server()
    client = server.sdk()
    file = client.files.create(file=("a.txt", TEXT.encode()), purpose="assistants").id
    first = client.vector_stores.create().id
    estimated = attach(client, first, file)
    assert estimated <= 8  # four letters a token
    # In this rank file a token is a byte, but for a few words.
    config = tmp_path / "ranks.yaml"
    config.write_text(f"retrieval: {{tokenizer: {rank_file(scratch / 'small.tiktoken')}, tokenizer_split: cl100k}}\n")
    server.stop()
    server.settings["config"] = config
    server.start()
    client = server.sdk()
    second = client.vector_stores.create().id
    counted = attach(client, second, file)
    assert 14 <= counted <= 20
    hits = [hit.content[0].text for hit in client.vector_stores.search(second, query="words of its own", max_num_results=50)]
    assert hits and all(len(text) <= 110 for text in hits)
    # The first store has its old chunks until it is indexed anew.
    assert max(len(hit.content[0].text) for hit in client.vector_stores.search(first, query="words of its own")) > 200
    assert client.vector_stores.files.retrieve(file, vector_store_id=first).runnel["chunks"] == estimated


@pytest.mark.parametrize("section, sentence", [
    ("{tokenizer: /nowhere/cl100k.tiktoken}", "retrieval.tokenizer: cannot open /nowhere/cl100k.tiktoken"),
    ("{tokenizer_split: cl100k}", "retrieval: 'tokenizer' is missing"),
    ("{tokenizer: /etc/passwd, tokenizer_split: cl100k}", "retrieval.tokenizer: /etc/passwd"),
    ("{tokenizer: RANKS, tokenizer_split: '('}", "retrieval.tokenizer:"),
])
def test_a_wrong_tokenizer_stops_the_start(binary, tmp_path, section, sentence):
    config = tmp_path / "wrong.yaml"
    config.write_text(f"retrieval: {section.replace('RANKS', str(rank_file(tmp_path / 'small.tiktoken')))}\n")
    made = subprocess.run([binary, "serve", "--data-dir", tmp_path / "data", "--config", config],
                          capture_output=True, text=True, timeout=60, check=False)
    assert made.returncode == 2 and sentence in made.stderr, made.stderr
