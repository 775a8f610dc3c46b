"""Skills: made of a SKILL.md, attached to runs, and read by their models."""

import openai
import pytest

UNKNOWN = "skill_000000000000000000000000"


def skill_file(name="release-notes", description="How release notes are written here.",
               text="Begin with what breaks.\n", more=""):
    return f"---\nname: {name}\ndescription: {description}\n{more}---\n{text}"


@pytest.fixture
def make(http):
    """Makes a skill; its id."""
    def make(*args, **kwargs):
        answer = http.post("/v1/skills", json={"content": skill_file(*args, **kwargs)})
        assert answer.status_code == 200, answer.text
        return answer.json()["id"]
    return make


# ---- The resource ----

def test_F107_a_skill_is_made_shown_and_deleted(client, http):
    content = skill_file(more="license: MIT\n")
    made = http.post("/v1/skills", json={"content": content}).json()
    assert made["id"].startswith("skill_") and made["object"] == "skill"
    assert (made["name"], made["description"]) == ("release-notes",
                                                   "How release notes are written here.")
    shown = client.skills.retrieve(made["id"])
    assert shown.name == "release-notes" and shown.default_version == shown.latest_version == "1"
    answer = http.get(f"/v1/skills/{made['id']}/content")
    assert answer.text == content and answer.headers["content-type"].startswith("text/markdown")
    gone = client.skills.delete(made["id"])
    assert gone.id == made["id"] and gone.deleted and gone.object == "skill.deleted"
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/content")):
        answer = http.request(method, f"/v1/skills/{made['id']}{path}")
        assert answer.status_code == 404
        assert answer.json()["error"]["message"] == f"Skill with id '{made['id']}' not found."


def test_F107_skills_are_listed_in_pages(client, make):
    made = [make(name=f"skill-{i}") for i in range(3)]
    newest = client.skills.list(limit=2)
    assert [skill.id for skill in newest.data] == made[:0:-1]
    assert newest.get_next_page().data[0].id == made[0]
    older = client.skills.list(order="asc", after=made[1], limit=1)
    assert [skill.name for skill in older.data] == ["skill-2"]


def test_F107_a_skill_is_its_projects_own(server, stranger_key, make):
    made = make()
    stranger = openai.OpenAI(base_url=f"{server.url}/v1", api_key=stranger_key, max_retries=0)
    with pytest.raises(openai.NotFoundError):
        stranger.skills.retrieve(made)
    with pytest.raises(openai.NotFoundError):
        stranger.skills.delete(made)
    assert made not in [skill.id for skill in stranger.skills.list()]


@pytest.mark.parametrize("content, words", [
    ("Begin with what breaks.", "expected the text of a SKILL.md"),
    ("---\nname: a\ndescription: b\n", "expected the text of a SKILL.md"),
    (skill_file(text=" \n"), "there are no instructions"),
    (skill_file(name="Release"), "needs a 'name'"),
    (skill_file(name="-a"), "needs a 'name'"),
    (skill_file(name="a" * 65), "needs a 'name'"),
    (skill_file(name="[a]"), "needs a 'name'"),
    (skill_file(description=""), "needs a 'description'"),
    (skill_file(description="|\n  one\n  two"), "needs a 'description'"),
    (skill_file(description="a" * 1025), "needs a 'description'"),
    (skill_file(more="name: b\n"), "SKILL.md:3: 'name' is given twice"),
    (skill_file(more="x: [\n"), "SKILL.md:"),
])
def test_F107_what_is_no_skill_is_refused(http, content, words):
    answer = http.post("/v1/skills", json={"content": content})
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error["param"] == "content" and words in error["message"], error


def test_F107_a_description_may_be_folded(http):
    folded = skill_file(description=">\n  How they\n  are written.")
    assert http.post("/v1/skills", json={"content": folded}).json()["description"] == (
        "How they are written.")


def test_a_skill_that_makes_no_sense_is_refused(http):
    for body, param in [({}, "content"), ({"content": 7}, "content"), ({"content": ""}, "content"),
                        ({"content": skill_file(text="a" * 131072)}, "content")]:
        answer = http.post("/v1/skills", json=body)
        assert answer.status_code == 400 and answer.json()["error"]["param"] == param
