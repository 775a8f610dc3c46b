"""The tools that the server executes, listed."""


def listed(http, query=""):
    answer = http.get(f"/v1/runnel/tools{query}")
    assert answer.status_code == 200, answer.text
    return [tool for tool in answer.json()["data"] if tool["group"] in ("basic", "test")]


def names(http, query=""):
    return [tool["name"] for tool in listed(http, query)]


def test_F09_F76_all_tools_are_listed_with_their_schema(http):
    tools = listed(http)
    assert [tool["name"] for tool in tools[:3]] == ["datetime", "text", "json2interface"]
    assert len(tools) > 20 and len({tool["name"] for tool in tools}) == len(tools)
    clock = tools[0]
    assert clock["object"] == "runnel.tool" and clock["group"] == "basic"
    assert clock["parameters"]["type"] == "object" and "timezone" in clock["parameters"]["properties"]
    assert clock["returns"] == {"type": "string", "note": "ISO 8601, or as `format` says"}
    assert [tool["name"] for tool in tools if tool["final"]] == ["test_final", "test_final_image"]


def test_F72_a_definition_has_the_fields_of_a_tool(http):
    """On, and run without a question only where the tool or its group says so."""
    clock, = (tool for tool in listed(http) if tool["name"] == "datetime")
    assert clock["id"] == "basic/datetime" and clock["category"] == "builtin"
    assert clock["enabled"] is True and clock["auto_execute"] is True
    assert (clock["execution_policy"], clock["result_policy"]) == ("auto", "never")
    careful, = http.get("/v1/runnel/tools?group=careful").json()["data"]
    assert careful["enabled"] is True and careful["auto_execute"] is False
    assert careful["execution_policy"] == "ask-once"


def test_F70_tools_are_found_by_permission_level(http):
    assert names(http, "?group=basic&level=public") == ["datetime", "text", "json2interface"]
    assert names(http, "?group=basic&level=sensitive") == []
    careful = http.get("/v1/runnel/tools?level=moderate").json()["data"]
    assert "test_careful" in [tool["name"] for tool in careful]
    assert all(tool["execution_policy"] == "ask-once" for tool in careful)


def test_F70_tools_are_found_by_tags(http):
    """All of the tags unless any will do; what has none is never found."""
    assert names(http, "?tag=text") == ["text", "json2interface"]
    assert names(http, "?tag=text&tag=json") == ["json2interface"]
    assert names(http, "?tag=text&tag=json&match=any") == ["text", "json2interface"]
    assert names(http, "?tag=time&tag=json&match=any") == ["datetime", "json2interface"]
    assert names(http, "?tag=time&tag=json") == []
    assert names(http, "?tag=nothing&match=any") == []


def test_F12_tools_are_listed_by_group(http):
    assert names(http, "?group=basic") == ["datetime", "text", "json2interface"]
    assert all(name.startswith("test_") for name in names(http, "?group=test"))
    assert names(http, "?group=test&tag=text") == []


def test_a_list_that_makes_no_sense_is_refused(http):
    for query, param in [("?group=basics", "group"), ("?match=some", "match"),
                         ("?level=PUBLIC", "level")]:
        answer = http.get(f"/v1/runnel/tools{query}")
        assert answer.status_code == 400 and answer.json()["error"]["param"] == param
