"""Versions of skills, their zips, and what is refused of the zips of strangers."""

import io
import stat
import zipfile

import openai
import pytest

from harness.tools import call

UNKNOWN = "skill_000000000000000000000000"
LOGO = b"\x89PNG\0\xff"


def skill_file(text="Begin with what breaks.\n", name="notes", description="How notes are written."):
    return f"---\nname: {name}\ndescription: {description}\n---\n{text}"


def zip_of(*files, **options):
    """The bytes of a zip; each file is a name, or a ZipInfo, and its bytes."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED, **options) as made:
        for name, data in files:
            made.writestr(name, data)
    return whole.getvalue()


def link(name):
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return info


def unzip(data):
    with zipfile.ZipFile(io.BytesIO(data)) as whole:
        return {name: whole.read(name) for name in whole.namelist()}


@pytest.fixture
def skill(client):
    return client.skills.create(files=[("notes/SKILL.md", skill_file().encode()), ("notes/img/logo.png", LOGO)])


def add(client, skill, text="More.\n", **more):
    return client.skills.versions.create(skill.id, files=("SKILL.md", skill_file(text).encode()), **more)


def read(client, upstream, ids, name="notes", file=None):
    """What the model reads of a skill."""
    arguments = {"name": name, **({"file": file} if file else {})}
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [{**call("skill"), "arguments": arguments}]}})
    client.responses.create(model="demo", input="go", extra_body={"runnel": {"skills": ids}})
    return upstream.chats()[-1]["messages"][-1]["content"]


# ---- Contents ----

def test_a_folder_comes_back_as_a_zip_with_its_bytes(client, http, skill):
    content = client.skills.content.retrieve(skill.id).read()
    assert unzip(content) == {"notes/SKILL.md": skill_file().encode(), "notes/img/logo.png": LOGO}
    answer = http.get(f"/v1/skills/{skill.id}/content")
    assert (answer.headers["content-type"], answer.content) == ("application/zip", content)
    assert http.get(f"/v1/skills/{skill.id}/content", headers={"Accept": "text/*"}).text == skill_file()


@pytest.mark.feature("F107")
def test_a_zip_is_uploaded_and_comes_back(client, http, upstream):
    whole = zip_of(("notes/", b""), ("notes/skill.MD", skill_file()), ("notes/a/b.md", "deep"), ("notes/logo", LOGO))
    made = client.skills.create(files=("notes.zip", whole, "application/zip"))
    assert (made.name, made.default_version, made.latest_version) == ("notes", "1", "1")
    assert unzip(client.skills.content.retrieve(made.id).read()) == {
        "notes/SKILL.md": skill_file().encode(), "notes/a/b.md": b"deep", "notes/logo": LOGO}
    again = client.skills.create(files=("again.zip", client.skills.content.retrieve(made.id).read()))
    assert again.name == "notes"
    assert read(client, upstream, [made.id], file="a/b.md") == "deep"
    assert read(client, upstream, [made.id], file="logo") == (
        "The file 'logo' of the skill 'notes' is no text in UTF-8.")


@pytest.mark.parametrize("files, message", [
    ([("../SKILL.md", skill_file())], "the zip: the path of the entry '../SKILL.md' has a part '..'."),
    ([("a/SKILL.md", skill_file()), ("/etc/x", "x")], "the zip: the path of the entry '/etc/x' is absolute."),
    ([("a/SKILL.md", skill_file()), (link("a/link"), "/etc/passwd")], "the zip: the entry 'a/link' is a link."),
    ([("a/SKILL.md", skill_file()), ("a/skill.md", skill_file())],
     "expected one SKILL.md at the top of one folder, but got 2."),
    ([("a/SKILL.md", skill_file()), ("b/x", "x")],
     "the entry 'b/x' of the zip: it is not in the folder of SKILL.md."),
    ([("a/b/SKILL.md", skill_file())], "expected one SKILL.md at the top of one folder, but got 0."),
    ([("lib 0.zip", zip_of(("0.dll", b"0" * 2**20)))], "expected one SKILL.md at the top of one folder, but got 0."),
    ([("a/SKILL.md", skill_file()), ("a/bomb", b"0" * (12 << 20))],
     "the zip: the entry 'a/bomb' unpacks to more than 100 times the size of the zip."),
    ([("a/SKILL.md", skill_file()), *((f"a/{n}", "") for n in range(500))], "the zip: it has more than 500 files."),
    ([("a/SKILL.md", b"---\xff")], "the entry 'a/SKILL.md' of the zip: SKILL.md must be text in UTF-8."),
], ids=["parent", "absolute", "link", "two cases", "second folder", "too deep", "zips in a zip", "bomb", "many", "bytes"])
def test_the_tricks_of_a_zip_are_refused(client, files, message):
    before = [skill.id for skill in client.skills.list()]
    with pytest.raises(openai.BadRequestError) as refused:
        client.skills.create(files=("skill.zip", zip_of(*files), "application/zip"))
    assert (refused.value.param, refused.value.body["message"]) == ("files", f"Invalid 'files': {message}")
    assert [skill.id for skill in client.skills.list()] == before


def test_a_zip_that_is_cut_is_refused(client):
    whole = zip_of(("a/SKILL.md", skill_file()))
    for cut in (whole[:-10], whole[:40], b"PK\5\6" + b"\0" * 18):
        with pytest.raises(openai.BadRequestError):
            client.skills.create(files=("skill.zip", cut, "application/zip"))


# ---- Versions ----

def test_versions_are_numbered_and_the_default_stays(client, http, skill):
    second = add(client, skill)
    assert (second.object, second.skill_id, second.version, second.name) == ("skill.version", skill.id, "2", "notes")
    assert second.id.startswith("skillver_")
    shown = client.skills.retrieve(skill.id)
    assert (shown.default_version, shown.latest_version) == ("1", "2")
    third = add(client, skill, extra_body={"default": True})
    shown = client.skills.retrieve(skill.id)
    assert (third.version, shown.default_version, shown.latest_version) == ("3", "3", "3")
    assert client.skills.versions.retrieve("2", skill_id=skill.id) == second
    assert client.skills.versions.retrieve("latest", skill_id=skill.id) == third
    answer = http.get(f"/v1/skills/{skill.id}/versions/1/content", headers={"Accept": "text/*"})
    assert answer.text == skill_file()
    assert unzip(client.skills.versions.content.retrieve("2", skill_id=skill.id).read()) == {
        "notes/SKILL.md": skill_file("More.\n").encode()}


def test_versions_are_listed_in_pages(client, skill):
    second, third = add(client, skill), add(client, skill)
    newest = client.skills.versions.list(skill.id, limit=2)
    assert [version.version for version in newest.data] == ["3", "2"]
    assert [version.version for version in newest.get_next_page().data] == ["1"]
    older = client.skills.versions.list(skill.id, order="asc", after=second.id)
    assert [version.id for version in older.data] == [third.id]


@pytest.mark.parametrize("number", ["2", 2])
def test_another_version_becomes_the_default(client, skill, number, http):
    add(client, skill)
    changed = http.post(f"/v1/skills/{skill.id}", json={"default_version": number}).json()
    assert (changed["default_version"], changed["latest_version"]) == ("2", "2")
    assert client.skills.update(skill.id, default_version="1").default_version == "1"


@pytest.mark.parametrize("value, param, status", [
    (None, "default_version", 400), ("0", "default_version", 400), ("latest", "default_version", 400),
    (1.5, "default_version", 400), ("9", None, 404)])
def test_no_other_default_is_accepted(http, skill, value, param, status):
    answer = http.post(f"/v1/skills/{skill.id}", json={} if value is None else {"default_version": value})
    assert (answer.status_code, answer.json()["error"]["param"]) == (status, param), answer.text


def test_the_default_version_goes_last_and_takes_the_skill_along(client, skill):
    add(client, skill)
    with pytest.raises(openai.BadRequestError, match="Cannot delete the default version of a skill. "
                                                     "Set another default version first."):
        client.skills.versions.delete("1", skill_id=skill.id)
    gone = client.skills.versions.delete("2", skill_id=skill.id)
    assert (gone.object, gone.version, gone.deleted) == ("skill.version.deleted", "2", True)
    assert client.skills.retrieve(skill.id).latest_version == "1"
    assert add(client, skill).version == "3", "a number is never given twice"
    client.skills.versions.delete("latest", skill_id=skill.id)
    client.skills.versions.delete("1", skill_id=skill.id)
    with pytest.raises(openai.NotFoundError, match=f"Skill with id '{skill.id}' not found."):
        client.skills.retrieve(skill.id)


def test_a_version_has_the_name_of_its_skill(client, skill):
    with pytest.raises(openai.BadRequestError) as refused:
        client.skills.versions.create(skill.id, files=("SKILL.md", skill_file(name="other").encode()))
    assert refused.value.body["message"] == (
        "Invalid 'files': the name of this version is 'other', and that of the skill is 'notes'.")


@pytest.mark.feature("F107")
def test_a_run_reads_the_default_version(client, upstream, skill):
    second = add(client, skill)
    assert "Begin with what breaks." in read(client, upstream, [skill.id])
    client.skills.update(skill.id, default_version=second.version)
    assert "More." in read(client, upstream, [skill.id])


def test_what_is_missing_or_anothers_is_not_found(client, stranger, http, skill):
    for wrong in (f"{skill.id}/versions/2", f"{skill.id}/versions/2/content", f"{UNKNOWN}/versions/1",
                  f"{UNKNOWN}/versions", f"{UNKNOWN}/content"):
        answer = http.get(f"/v1/skills/{wrong}")
        assert answer.status_code == 404 and "not found." in answer.json()["error"]["message"], answer.text
    assert http.get(f"/v1/skills/{skill.id}/versions/x").status_code == 400
    for asked in (lambda: stranger.skills.versions.retrieve("1", skill_id=skill.id),
                  lambda: stranger.skills.versions.list(skill.id),
                  lambda: stranger.skills.versions.delete("1", skill_id=skill.id),
                  lambda: stranger.skills.content.retrieve(skill.id),
                  lambda: stranger.skills.update(skill.id, default_version="1"),
                  lambda: add(stranger, skill)):
        with pytest.raises(openai.NotFoundError):
            asked()
    assert client.skills.retrieve(skill.id).latest_version == "1"


def test_a_skill_has_at_most_a_hundred_versions(http, skill):
    body = {"content": skill_file()}
    for _ in range(99):
        assert http.post(f"/v1/skills/{skill.id}/versions", json=body).status_code == 200
    answer = http.post(f"/v1/skills/{skill.id}/versions", json=body)
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, "A skill has at most 100 versions.")
