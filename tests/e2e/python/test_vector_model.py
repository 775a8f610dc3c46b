"""Random operations on files and vector stores of two projects beside a dictionary, and every search beside brute force over what
the dictionary says is visible, on either of two servers. This is the test of tenancy, filters and deletes. RUNNEL_SEED repeats a
walk."""

import os
import random

import pytest

from harness.server import eventually
from test_meaning import with_embeddings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

WORDS = ["amber", "birch", "cobalt", "delta", "ember", "fjord", "电池", "保修"]
OPERATIONS = 600


def passes(condition, attributes):
    """A filter as files-wire says it: types count, numbers are numbers, a missing key fails all but `ne` and `nin`."""
    kind = condition["type"]
    if kind in ("and", "or"):
        return (all if kind == "and" else any)(passes(part, attributes) for part in condition["filters"])
    value, wanted = attributes.get(condition["key"]), condition["value"]

    def same(left, right):
        return left is not None and is_kind(left) == is_kind(right) and left == right

    if kind in ("eq", "ne"):
        return same(value, wanted) == (kind == "eq")
    if kind in ("in", "nin"):
        return any(same(value, one) for one in wanted) == (kind == "in")
    if value is None or is_kind(value) != is_kind(wanted) or isinstance(value, bool):
        return False
    return {"gt": value > wanted, "gte": value >= wanted, "lt": value < wanted, "lte": value <= wanted}[kind]


def is_kind(value):
    return bool if isinstance(value, bool) else str if isinstance(value, str) else float


class Project:
    """On several servers of one database."""

    def __init__(self, *nodes):
        self.nodes = nodes
        self.files = {}   # id: set of words
        self.stores = {}  # id: {file: attributes}


class Walk:
    def __init__(self, projects, seed, mode):
        self.projects = projects
        self.mode = mode
        self.random = random.Random(seed)
        self.any_node = random.Random(seed).choice  # by itself: how often a walk polls is chance
        self.searches = 0

    def call(self, project, method, path, status=200, **options):
        answer = self.any_node(project.nodes).request(method, f"/v1{path}", **options)
        assert answer.status_code == status, (method, path, options, answer.text)
        return answer.json()

    def any(self, things):
        return self.random.choice(sorted(things)) if things else None

    def scalar(self):
        return self.random.choice([1, 2, 2.5, "a", "b", "é", True, False])

    def attributes(self):
        return {key: self.scalar() for key in "xyz" if self.random.random() < 0.6}

    def filter(self, depth=2):
        kind = self.random.choice(["eq", "ne", "in", "nin", "gt", "gte", "lt", "lte"] + ["and", "or"] * depth)
        if kind in ("and", "or"):
            return {"type": kind, "filters": [self.filter(depth - 1) for _ in range(self.random.randint(1, 3))]}
        value = self.random.choice([1, 2, 2.5, "a", "b", "é"])
        if kind in ("in", "nin"):
            value = [self.random.choice([1, 2, 2.5, "a", "b"]) for _ in range(2)]
        elif kind in ("eq", "ne"):
            value = self.scalar()
        return {"type": kind, "key": self.random.choice("xyzw"), "value": value}

    # ---- Operations ----

    def upload(self, project):
        words = set(self.random.sample(WORDS, self.random.randint(1, 4)))
        made = self.call(project, "POST", "/files", files={"file": ("a.txt", " ".join(sorted(words)).encode())},
                         data={"purpose": "assistants"})
        project.files[made["id"]] = words

    def make_store(self, project):
        some = self.random.sample(sorted(project.files), min(len(project.files), self.random.randint(0, 3)))
        made = self.call(project, "POST", "/vector_stores", json={"file_ids": some})
        project.stores[made["id"]] = {file: {} for file in some}

    def attach(self, project):
        store, file = self.any(project.stores), self.any(project.files)
        if not store or not file:
            return
        given = self.attributes() if self.random.random() < 0.7 else None
        body = {"file_id": file, **({} if given is None else {"attributes": given})}
        if self.random.random() < 0.3:
            body["chunking_strategy"] = {"type": "static", "static": {"max_chunk_size_tokens": 200,
                                                                     "chunk_overlap_tokens": 50}}
        self.call(project, "POST", f"/vector_stores/{store}/files", json=body)
        before = project.stores[store].get(file, {})
        project.stores[store][file] = before if given is None else given

    def attach_batch(self, project):
        store = self.any(project.stores)
        some = self.random.sample(sorted(project.files), min(len(project.files), 4))
        if not store or not some:
            return
        given = self.attributes()
        self.call(project, "POST", f"/vector_stores/{store}/file_batches",
                  json={"file_ids": some, "attributes": given})
        project.stores[store].update({file: given for file in some})

    def set_attributes(self, project):
        store = self.any(project.stores)
        file = self.any(project.stores.get(store, ()))
        if not file:
            return
        given = self.attributes()
        self.call(project, "POST", f"/vector_stores/{store}/files/{file}", json={"attributes": given})
        project.stores[store][file] = given

    def remove(self, project):
        store = self.any(project.stores)
        file = self.any(project.stores.get(store, ()))
        if file:
            self.call(project, "DELETE", f"/vector_stores/{store}/files/{file}")
            del project.stores[store][file]

    def delete_file(self, project):
        file = self.any(project.files)
        if file:
            self.call(project, "DELETE", f"/files/{file}")
            del project.files[file]
            for files in project.stores.values():
                files.pop(file, None)

    def delete_store(self, project):
        store = self.any(project.stores)
        if store:
            self.call(project, "DELETE", f"/vector_stores/{store}")
            del project.stores[store]

    def trespass(self, project):
        """What another project has does not exist."""
        other = next(each for each in self.projects if each is not project)
        store, file = self.any(other.stores), self.any(other.files)
        if store:
            self.call(project, "GET", f"/vector_stores/{store}", 404)
            self.call(project, "POST", f"/vector_stores/{store}/search", 404, json={"query": WORDS[0]})
        own = self.any(project.stores)
        if own and file:
            self.call(project, "POST", f"/vector_stores/{own}/files", 404, json={"file_id": file})

    def settle(self, project, store):
        return eventually(lambda: self.call(project, "GET", f"/vector_stores/{store}"),
                          lambda found: found["status"] == "completed", 60)

    def search(self, project):
        store = self.any(project.stores)
        if not store:
            return
        counts = self.settle(project, store)["file_counts"]
        assert counts["completed"] == counts["total"] == len(project.stores[store])
        word = self.random.choice(WORDS)
        condition = self.filter() if self.random.random() < 0.7 else None
        body = {"query": word, "max_num_results": 50, **({"filters": condition} if condition else {})}
        page = self.call(project, "POST", f"/vector_stores/{store}/search", json=body)
        seen = {file: attributes for file, attributes in project.stores[store].items()
                if not condition or passes(condition, attributes)}
        with_word = {file: attributes for file, attributes in seen.items() if word in project.files[file]}
        found = {hit["file_id"]: hit["attributes"] for hit in page["data"]}
        assert len(found) == len(page["data"])
        assert page["runnel"]["mode"] == (self.mode if seen else "lexical"), body
        if self.mode == "lexical":
            assert found == with_word, body
        else:  # everything has some meaning
            assert len(seen) <= 50 and found == seen, body
        self.searches += 1

    def step(self):
        project = self.random.choice(self.projects)
        operations = [(self.upload, 3), (self.make_store, 1), (self.attach, 6), (self.attach_batch, 2),
                      (self.set_attributes, 3), (self.remove, 2), (self.delete_file, 1), (self.delete_store, 0.4),
                      (self.trespass, 1), (self.search, 8)]
        self.random.choices([one for one, _ in operations], [weight for _, weight in operations])[0](project)


@pytest.mark.parametrize("mode, operations", [("lexical", OPERATIONS), ("hybrid", OPERATIONS // 3)])
def test_searches_see_what_a_dictionary_says(start_server, upstream, tmp_path, mode, operations):
    settings = {"upstream_url": None, "config": with_embeddings(tmp_path, upstream.url)} if mode == "hybrid" else {}
    server = start_server(**settings)
    other = start_server(**settings, database_url=server.settings["database_url"])
    keys = [server.settings["api_key"], server.new_key("stranger")]
    projects = [Project(*(node.http() for node in (server, other))) for _ in keys]
    for project, key in zip(projects, keys):
        for node in project.nodes:
            node.headers["Authorization"] = f"Bearer {key}"
    seed = int(os.environ.get("RUNNEL_SEED", 20261124))
    walk = Walk(projects, seed, mode)
    for step in range(operations):
        try:
            walk.step()
        except AssertionError as failure:
            raise AssertionError(f"RUNNEL_SEED={seed}, step {step}") from failure
    assert walk.searches > operations / 8
