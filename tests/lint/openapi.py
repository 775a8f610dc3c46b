#!/usr/bin/env python3
"""Holds openapi.yaml against the program.

  openapi.py             routes and operations are the same, both ways; the words for a status are
                         the same in openapi.yaml, C and SQL; openapi.yaml is valid OpenAPI
  openapi.py --self-test changes copies in each way that must be caught
"""

import copy
import pathlib
import re
import sys

import yaml
from jsonschema import Draft202012Validator, SchemaError
from openapi_spec_validator import OpenAPIV31SpecValidator

ROOT = pathlib.Path(__file__).resolve().parents[2]
METHODS = ("get", "post", "put", "patch", "delete")
ROUTE = re.compile(r'\{"([A-Z]+)",\s*"([^"]+)",\s*(\w+),\s*"(\w+)"')


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def shape(path):
    """A path whose parameters have no names: /v1/threads/{}."""
    return re.sub(r"\{[^}]*\}", "{}", path)


def routes():
    """{(method, shape): operation} of the table in server/api/routes.c."""
    rows = ROUTE.findall(read("server/api/routes.c"))
    return {(method.lower(), shape(path)): operation for method, path, _, operation in rows}


def operations(document):
    return {(method, shape(path)): item[method].get("operationId")
            for path, item in document["paths"].items() for method in METHODS if method in item}


def words_of_c(path, prefix):
    return set(re.findall(rf'\[{prefix}\w+\]\s*=\s*"(\w+)"', read(path))) - {"none"}


def words_of_sql(constraint):
    """The words that the newest migration which mentions the constraint allows."""
    found = set()
    for file in sorted((ROOT / "migrations").glob("*.sql")):
        for words in re.findall(rf"CONSTRAINT {constraint} CHECK \(\w+ IN\s*\(([^)]*)\)", file.read_text()):
            found = set(re.findall(r"'(\w+)'", words))
    return found


def statuses():
    """name: (words of C, words of SQL, where openapi.yaml has them)."""
    return {
        "run status": (words_of_c("core/domain/status/run_status.c", "RUN_"), words_of_sql("runs_status"),
                       lambda schemas: schemas["RunStatus"]["enum"]),
        "step status": (words_of_c("core/domain/rows.c", "STEP_(?!MESSAGE|TOOL)"), words_of_sql("run_steps_status"),
                        lambda schemas: schemas["RunStep"]["properties"]["status"]["enum"]),
        # A deleted container is not shown.
        "container status": (words_of_c("core/domain/status/container_status.c", "CONTAINER_(?!STATUS)"),
                             words_of_sql("containers_status"),
                             lambda schemas: schemas["Container"]["properties"]["status"]["enum"] + ["deleted"]),
        "upload status": (words_of_c("core/domain/status/upload_status.c", "UPLOAD_(?!STATUS)"), words_of_sql("uploads_status"),
                          lambda schemas: schemas["Upload"]["properties"]["status"]["enum"]),
    }


def used_references(node):
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for value in node.values():
            yield from used_references(value)
    elif isinstance(node, list):
        for value in node:
            yield from used_references(value)


def problems(document, table):
    described = operations(document)
    for key in sorted(table.keys() - described.keys()):
        yield f"{key[0].upper()} {key[1]} is served and not described"
    for key in sorted(described.keys() - table.keys()):
        yield f"{key[0].upper()} {key[1]} is described and not served"
    for key in sorted(table.keys() & described.keys()):
        if table[key] != described[key]:
            yield f"{key[0].upper()} {key[1]} is {table[key]} in routes.c and {described[key]} in openapi.yaml"

    for what, (in_c, in_sql, find) in statuses().items():
        in_yaml = set(find(document["components"]["schemas"]))
        if not in_c == in_sql == in_yaml:
            yield f"{what}: C has {sorted(in_c)}, SQL {sorted(in_sql)}, openapi.yaml {sorted(in_yaml)}"

    paths = list(document["paths"])
    if paths != sorted(paths):
        yield "paths are not in alphabetical order"

    used = set(used_references(document))
    for kind in ("schemas", "parameters", "responses", "headers"):
        for name in document["components"].get(kind, {}):
            if f"#/components/{kind}/{name}" not in used:
                yield f"components/{kind}/{name} is used by nobody"
    for name, schema in document["components"]["schemas"].items():
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            yield f"invalid at schemas/{name}: {error.message.splitlines()[0][:200]}"
    for error in OpenAPIV31SpecValidator(document).iter_errors():
        yield f"invalid at {'/'.join(map(str, error.absolute_path))}: {error.message.splitlines()[0][:200]}"


def anchors(text):
    if re.search(r"[:\-] [&*]\w", text):
        yield "YAML anchors make it hard to read"


def self_test(document, table):
    """Each change of the document must be caught."""
    def changed(change):
        other = copy.deepcopy(document)
        change(other)
        return other

    changes = {
        "not described": lambda d: d["paths"]["/v1/threads/{thread_id}"].pop("delete"),
        "not served": lambda d: d["paths"]["/healthz"].update(post=d["paths"]["/healthz"]["get"] | {"operationId": "x"}),
        "in routes.c and": lambda d: d["paths"]["/healthz"]["get"].update(operationId="other"),
        "run status": lambda d: d["components"]["schemas"]["RunStatus"]["enum"].append("sleeping"),
        "alphabetical": lambda d: d["paths"].update({"/healthz": d["paths"].pop("/healthz")}),
        "used by nobody": lambda d: d["components"]["schemas"].update(Lost={"type": "string"}),
        "invalid at schemas/Time": lambda d: d["components"]["schemas"]["Time"].update(type="moment"),
        "invalid at paths": lambda d: d["paths"]["/healthz"]["get"].update(responses=[]),
    }
    for word, change in changes.items():
        if not any(word in problem for problem in problems(changed(change), table)):
            yield f"not caught: {word}"
    if not list(anchors("a: &b {}\nc: *b\n")):
        yield "not caught: an anchor"


def main():
    text, table = read("openapi.yaml"), routes()
    document = yaml.load(text, yaml.CSafeLoader)
    if len(table) < 10:
        found = [f"only {len(table)} routes found in server/api/routes.c"]
    elif "--self-test" in sys.argv:
        found = list(self_test(document, table))
    else:
        found = [*anchors(text), *problems(document, table)]
    print(*found, f"openapi: {len(table)} operations, {len(found)} problems", sep="\n")
    return 1 if found else 0


sys.exit(main())
