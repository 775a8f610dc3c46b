#!/usr/bin/env python3
"""The engine and the encoders know no tool, group or hosted item by its name, and each item has a schema.

  tool_names.py [ROOT]      says where they do
  tool_names.py --self-test looks whether it would notice

The names are those that stand in handlers/ and in the test handlers: of tools, groups, item types, tool calls of
run steps. In core/run and server/encode none of them may be compared, a name with an underscore may not stand
at all, and no enumerator of such an item type may. What depends on a tool is said in its descriptor
(core/tool/tool.h) or its item (core/tool/tool_item.h).

Each type of item that a handler has is also the type of a schema in openapi.yaml. Those of test handlers are in a
YAML file beside them.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACES = ("core/run", "server/encode")
SOURCES = ("handlers", "tests/support/handlers")

# Words that are also something else there, each with what it is.
ALLOWED = {
    "code": "a member of errors, and the streamed field of code",
    "text": "the type of a content part, and a response format",
    "custom_tool_call": "a kind of call in both APIs' words: its input streams, and upstreams write it",
    "custom_tool_call_output": "the same",
}

FIELD = re.compile(r'\.(?:name|group|type|step_type|alias)\s*=\s*"([A-Za-z0-9_-]+)"')
MACRO = re.compile(r'^#define\s+(\w+)\s+"([A-Za-z0-9_-]+)"', re.M)
USE_OF_MACRO = re.compile(r"\.(?:name|group)\s*=\s*([A-Z_]+)\b")
ITEM = re.compile(r'\.type\s*=\s*"(\w+_call)"')
TEST_TOOL = re.compile(r"\bTEST_HANDLER\((\w+),")
# Finding a tool by a literal name is a comparison, too.
COMPARISON = re.compile(r"\b(?:str(?:n|case|ncase)?cmp|memcmp|strstr|tool_set_find|tool_registry_find)\s*\(")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
ENUMERATOR = re.compile(r"\bITEM_[A-Z_]+\b")
COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|/\*.*?\*/|//[^\n]*', re.S)


def without_comments(text):
    """Each comment as blanks, so that lines keep their numbers."""
    def blank(match):
        found = match.group()
        return found if found.startswith('"') else re.sub(r"[^\n]", " ", found)
    return COMMENT.sub(blank, text)


def sources(root, folders):
    for folder in folders:
        for path in sorted((root / folder).rglob("*.[ch]")):
            yield path, without_comments(path.read_text())


def names_of(root):
    """What is in handlers/, and the macros by which it is called there."""
    names, used = set(), set()
    for _, text in sources(root, SOURCES):
        names |= set(FIELD.findall(text)) | {f"test_{word}" for word in TEST_TOOL.findall(text)}
        used |= set(USE_OF_MACRO.findall(text))
    macros = {}
    for path in sorted((root / "core").rglob("*.h")):
        macros |= {macro: word for macro, word in MACRO.findall(path.read_text()) if macro in used}
    return names | set(macros.values()), set(macros)


def end_of_call(text, start):
    depth = 0
    for i in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0 and text[i] == ")":
            return i
    return len(text)


def faults_in(text, names, macros):
    """(place, what is wrong) of each, in the text of one file without its comments."""
    found = set()
    enumerators = {"ITEM_" + name.upper() for name in names if name not in ALLOWED}
    for call in COMPARISON.finditer(text):
        inside = text[call.start():end_of_call(text, call.end() - 1)]
        words = [word for word in LITERAL.findall(inside) if word in names] + \
                [word for word in re.findall(r"\b[A-Z_]+\b", inside) if word in macros]
        found |= {(call.start(), f"compares with '{word}'") for word in words if word not in ALLOWED}
    for literal in LITERAL.finditer(text):
        word = literal.group(1)
        if word in names and "_" in word and word not in ALLOWED:
            found.add((literal.start(), f"knows '{word}'"))
    for enumerator in ENUMERATOR.finditer(text):
        word = enumerator.group().removesuffix("_OUTPUT").removesuffix("_CALL")
        if {enumerator.group(), f"{word}_CALL"} & enumerators:
            found.add((enumerator.start(), f"knows {enumerator.group()}"))
    return sorted(found)


def types_without_schema(texts, contract):
    """(path, type) of each item of a handler for which the contract has no schema"""
    return sorted((path, kind) for path, text in texts for kind in ITEM.findall(text)
                  if not re.search(rf"\bconst: {kind}\b", contract))


def contract_of(root):
    paths = [root / "openapi.yaml", *sorted((root / "tests/support/handlers").glob("*.yaml"))]
    return "".join(path.read_text() for path in paths if path.exists())


def check(root):
    names, macros = names_of(root)
    count = 0
    for path, kind in types_without_schema(sources(root, SOURCES), contract_of(root)):
        count += 1
        print(f"{path.relative_to(root)}: the item '{kind}' has no schema in openapi.yaml")
    for path, text in sources(root, PLACES):
        for place, fault in faults_in(text, names, macros):
            count += 1
            line = text.count("\n", 0, place) + 1
            print(f"{path.relative_to(root)}:{line}: {fault}; let the tool say it (core/tool/tool_item.h)")
    print(f"tool_names: {len(names)} names of tools, {count} problems")
    if len(names) < 20:
        print("tool_names: so few names cannot be all")
        return 1
    return count > 0


def self_test():
    names = {"shell", "skills", "file_search_call", "shell_call", "text", "tool_search_call"}
    macros = {"SKILL_GROUP"}

    def faults(text):
        return [fault for _, fault in faults_in(without_comments(text), names, macros)]

    assert faults('if (strcmp(use->type, "shell") != 0)') == ["compares with 'shell'"]
    assert faults('return strncmp(group(a, "x"),\n "skills", 6);') == ["compares with 'skills'"]
    assert faults("strcmp(group, SKILL_GROUP) == 0") == ["compares with 'SKILL_GROUP'"]
    assert faults('tool_set_find(tools, "shell");') == ["compares with 'shell'"]
    assert faults('{"file_search_call", "{}"},') == ["knows 'file_search_call'"]
    assert faults("case ITEM_SHELL_CALL: return;") == ["knows ITEM_SHELL_CALL"]
    assert faults("type == ITEM_SHELL_CALL_OUTPUT") == ["knows ITEM_SHELL_CALL_OUTPUT"]
    assert faults("type == ITEM_TOOL_SEARCH_OUTPUT") == ["knows ITEM_TOOL_SEARCH_OUTPUT"]
    assert faults('strcmp(type, "text"); json_build("{s:s}", "type", "shell");') == []
    assert faults('/* strcmp(a, "shell") */ type == ITEM_MCP_CALL; strcmp(a, "//shell");') == []
    assert FIELD.findall('.name = "greet",\n    .step_type = "file_search",') == ["greet", "file_search"]
    assert TEST_TOOL.findall("TEST_HANDLER(slow, x)") == ["slow"]
    assert types_without_schema([("a.c", '.type = "x_call",\n.type = "skill"'), ("b.c", '.type = "y_call"')],
                                "type: {const: x_call}") == [("b.c", "y_call")]
    names, macros = names_of(ROOT)
    assert {"datetime", "basic", "skills", "shell_call", "file_search_call", "file_search", "test_weather",
            "weather_call", "computer_use", "test_image"} <= names, names
    assert macros == {"SKILL_GROUP"}, macros


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    return check(pathlib.Path(sys.argv[1]) if sys.argv[1:] else ROOT)


if __name__ == "__main__":
    sys.exit(main())
