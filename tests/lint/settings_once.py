#!/usr/bin/env python3
"""Requests are decoded once, and only the server complains about them in the terms of OpenAI's API.

  settings_once.py [ROOT]      names each line that breaks one of the rules
  settings_once.py --self-test breaks each rule once and looks whether it is caught

The engine reads a request as struct run_settings. core/domain/run_settings.c alone knows the keys of
a stored snapshot, server/params those of a request that comes in. The core says what is wrong with a
code, a reason and a sentence; server/complaint.c has what OpenAI calls that.
"""

import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FOLDERS = ("core", "handlers", "server")

STRING_OR_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|/\*.*?\*/|//[^\n]*', re.DOTALL)

# What is looked for, in which folders, which files may do it, and what to say.
RULES = [
    (re.compile(r'\bjson_(?:object_get|get_[a-z]+)\s*\([^;{}]*?"runnel"'), FOLDERS,
     ("core/domain/run_settings.c",  # the request's, in its snapshot
      "core/mcp/mcp_extra.c",        # a tool's entry: what is wanted of its server
      "server/params",               # requests that come in
      "server/encode"),              # objects as they are shown
     "the object runnel is decoded elsewhere: struct run_settings of a request, notes_of() of stored objects"),
    (re.compile(r'"(?:runnel_approvals|runnel_compact|tool_settings)"'), FOLDERS,
     ("core/domain/run_settings.c",),
     "only core/domain/run_settings.c knows what the server adds to a snapshot"),
    (re.compile(r'\bjson_\w*parse\w*\s*\([^;{}]*?\bconfig\b(?!\w|\s*\()'), FOLDERS,
     ("server/encode",),  # shows the snapshot as it is
     "a stored snapshot is loaded by run_settings_load()"),
    (re.compile(r'\b(?:err_invalid|err_set_api|err_http_status|err_api_type)\s*\('), ("core", "handlers"), (),
     "complaints in the terms of OpenAI's API are made in server/: use err_refuse()"),
    (re.compile(r'(?:\berr|\bwhy|\berror|failure->err)(?:\.|->)word\s*=[^=]'), ("core", "handlers"),
     ("core/base/err.c",
      "core/model",  # an upstream's own name for it
      "core/web/pages.c"),  # codes for models, in results of tools
     "what the API calls an error is decided in server/complaint.c, by its reason"),
    (re.compile(r'"(?:invalid_value|invalid_type|unknown_parameter|missing_required_parameter|unsupported_value|'
                r'unsupported_parameter|array_above_max_length|string_above_max_length|invalid_encrypted_content|'
                r'invalid_api_key|previous_response_not_found|previous_response_id|idempotency_key_reused|'
                r'Idempotency-Key|conversation_locked|approval_already_decided|approval_already_used|'
                r'invalid_request_error)"'), ("core", "handlers"),
     ("core/model",),  # refusals of upstreams, which speak the same API
     "a name of OpenAI's API for an error or a request field: it stands in server/complaint.c"),
]


def without_comments(text):
    """Comments as blanks of the same length, so that lines keep their numbers."""
    def blank(match):
        return match.group() if match.group().startswith('"') else re.sub(r"[^\n]", " ", match.group())
    return STRING_OR_COMMENT.sub(blank, text)


def covers(owner, path):
    return path == owner or path.startswith(owner + "/")


def problems_of(path, text):
    text = without_comments(text)
    for pattern, folders, owners, why in RULES:
        if path.split("/")[0] not in folders or any(covers(owner, path) for owner in owners):
            continue
        for match in pattern.finditer(text):
            yield text.count("\n", 0, match.start()) + 1, why


def files_of(root, owner):
    path = root / owner
    return [path] if path.is_file() else path.rglob("*.[ch]")


def unused_owners(root):
    """An exception that nothing needs any more is a hole."""
    for pattern, _, owners, _ in RULES:
        for owner in owners:
            if not any(pattern.search(without_comments(file.read_text(encoding="utf-8")))
                       for file in files_of(root, owner)):
                yield f"{owner}: an exception that nothing needs"


def check(root):
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*.[ch]")):
            path = file.relative_to(root).as_posix()
            for line, why in problems_of(path, file.read_text(encoding="utf-8")):
                yield f"{path}:{line}: {why}"
    yield from unused_owners(root)


SELF_TEST = [
    # path, text, how many problems
    ("core/run/turn/run.c", 'x = json_object_get(run->config, "runnel");', 1),
    ("core/run/turn/run.c", 'x = json_object_get(json_object_get(config,\n "runnel"), "approval");', 1),
    ("server/api/a.c", 'x = json_get_string(body, "runnel", NULL);', 1),
    ("core/domain/run_settings.c", 'x = json_object_get(snapshot, "runnel");', 0),
    ("server/params/runnel_params.c", 'x = json_object_get(body, "runnel");', 0),
    ("core/run/turn/run.c", '/* json_object_get(body, "runnel") */ x = notes_of(body);', 0),
    ("core/run/turn/run.c", 'json_set(body, "runnel", notes); f(json_object_get(a, "b")); g("runnel");', 0),
    ("core/run/turn/run.c", 'x = json_object_get(c, "tool_settings");', 1),
    ("core/run/turn/run.c", "x = json_parse_own(run->row.config);", 1),
    ("server/api/a.c", "x = json_parse_own(load->run.config);", 1),
    ("server/encode/encode.c", "x = json_parse_own(row->config);", 0),
    ("core/run/turn/run.c", "run_settings_load(&run->settings, run->row.config);", 0),
    ("core/run/turn/run.c", 'return err_invalid(err, word, "tools", "no");', 1),
    ("core/store/a.c", "status = err_http_status(code);", 1),
    ("server/api/a.c", 'return err_invalid(err, "invalid_value", "tools", "no");', 0),
    ("core/store/a.c", 'err->word = "some_code";', 1),
    ("core/model/a.c", 'failure->err.word = "some_code";', 0),
    ("core/store/a.c", 'if (err->word == code) f("invalid_value");', 1),
    ("core/store/a.c", 'return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, "keep", "No.");', 0),
]


def self_test():
    for path, text, count in SELF_TEST:
        found = list(problems_of(path, text))
        if len(found) != count:
            yield f"{path}: {text!r}: {count} problems expected, found {found}"
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "core").mkdir()
        (root / "core" / "a.c").write_text('x = json_object_get(b, "runnel");\n', encoding="utf-8")
        if not any(line.startswith("core/a.c:1: ") for line in check(root)):
            yield "a broken file of a tree is not found"


def main():
    if "--self-test" in sys.argv:
        problems, what = list(self_test()), "self-test"
    else:
        root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent.parent
        problems, what = list(check(root)), "tree"
    print(*problems, f"settings_once: {what}, {len(problems)} problems", sep="\n")
    return 1 if problems else 0


sys.exit(main())
