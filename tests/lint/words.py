#!/usr/bin/env python3
"""Names, comments and messages use the words of core/GLOSSARY.md, and none that it retired.

  words.py [ROOT]      names each retired word
  words.py PATH...     names each retired word in these files
  words.py --self-test looks whether each rule catches what it is for, and only that

What is read: in C and JavaScript comments, strings and identifiers (an include names a file, and is left
out); in Python the same; in Markdown everything but code; openapi.yaml and SQL whole. An identifier is read
as the words that it is made of: approval_webhook_tell is "approval webhook tell".
"""

import bisect
import fnmatch
import functools
import io
import keyword
import pathlib
import re
import subprocess
import sys
import tokenize

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# Pattern, what to write instead, what the pattern may be part of, and an example. A blank stands for any
# white space, also for that of a comment that goes on in the next line.
RULES = [
    (r"who(?:m|so)?ever", "say who: the client, the caller, the loop, another node", [], "Whoever asks is answered."),
    # At the beginning of a sentence, and in names. Within a sentence the words may do.
    (r"(?-i:Whatever|Nobody)|\A[a-z0-9 ]+ (?:whatever|nobody) [a-z0-9 ]+\Z|\A(?:whatever|nobody) [a-z0-9 ]+\Z",
     "subject first, and say who or what: any file, each answer, no client", [], "Whatever the bytes are, they are text."),
    (r"somebody(?:'s)?", "say who: the client, a person, another thread", [], "It is for somebody_to_say."),
    (r"of ours", "server-side, internal, the server's own", [], "a mistake of ours"),
    (r"(?:go|goes|gone|going|went) on with", "continue", [], "a response that is gone on with"),
    (r"tells?|telling|told", "emit an event, notify a node, report an error, send to the model",
     [r"t(?:ell|ells|elling|old) (?:\w+ ){0,4}apart",
      r"(?:can|cannot|could|may|to|way to|not|nobody can) tell (?:which|whether|how|who|when|from|that|if|the difference|\w+ from)",
      r"tell me"],
     "what the model is told; webhook_tell()"),
    (r"(?:over)?(?:hear|hears|heard|hearing)|unheard", "receive, read, notice", [], "a run hears of it; check_heard()"),
    (r"wish(?:es|ed)?", "override; want", [], "wishes_merge()"),
    (r"bells?", "wake-up", [], "bell_ring()"),
    (r"(?:a|the|its|this|that|each|every|one|last|earlier|same|another|of) stay|stay to stay", "residency", [],
     "executed before this stay"),
    (r"(?:next|another|second|each|every|one|a|more) look(?! like)", "poll, check", [r"a look (?:at|of)"], "found at the next look"),
    (r"in line", "in the queue, waiting", [r"in line(?: \d|-?\w*\.)"], "runs that wait in line"),
    (r"what (?:\w+ ){1,4}(?:gave|gives|had given|has given)", "the result, the output", [], "what the tool gave"),
    (r"there (?:is|are|was|were) none", "missing, absent; no X", [], "NULL when there is none"),
    (r"in (?:the )?place of", "instead of, replaces", [], "in the place of the old one"),
    (r"(?:is|are|was|were) not there", "is missing, does not exist", [], "a tool that is not there"),
    (r"never mind", "nothing to store", [], "never_mind(write)"),
    (r"in (?:the|its|their|our|today's|older|so many)(?: \w+){0,2} words|in words of|(?:with)?out a(?:nother)? word|not a(?:nother)? word",
     "value, keyword, text; as X names it", [], "in the words of the API; dropped without another word"),
    (r"ask(?:s|ed|ing)? (?:the|a|its) (?:model|upstream)|(?:model|upstream) (?:is|was|be|has been) (?:never )?asked",
     "request, send a request to", [], "The model is asked again."),
    (r"ask(?:s|ed|ing)? (?:about|anew)", "needs an approval, an approval request", [], "a result that is asked about"),
    (r"chat hal(?:f|ves)", "split character", [], "chat_half_cut()"),
]

# Texts that clients, seed documents or files elsewhere have fixed: path, part of the line, why.
ALLOWED = [
    ("*http_client*.c", "go on with its answer", "tests fix the message"),
    ("handlers/*patch_item.c", "with a line that tells where it is", "models read it: plain English there"),
    ("handlers/*datetime.c", "Tells the current date and time", "models read it: plain English there"),
    ("*variables.c", "Somebody has to agree before this skill is read", "tests fix the message"),
    ("*harness/ranks.py", "\"Tell\"", "a vocabulary"),
    ("*test_skills.py", "Somebody has to agree", "tests fix the message"),
    ("*memory/group.c", "What a tool gave you is kept", "models read it: plain English there"),
    ("*test_handlers.c", "These tools do what a test tells them", "models read it: plain English there"),
    ("migrations/0006_approvals.sql", "its predecessor asked about", "a migration that was applied is never changed"),
]

SKIPPED = ("tests/lint/words.py", "tests/e2e/golden/*", "tests/e2e/open_responses.json", "*/package-lock.json",
           "core/GLOSSARY.md")

C_TOKENS = re.compile(
    r"(?P<include>^[ \t]*#[ \t]*include[^\n]*)|(?P<text>/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')"
    r"|(?P<name>[A-Za-z_]\w*)", re.M | re.S)
JS_TOKENS = re.compile(
    r"(?P<include>^[ \t]*import\b[^\n]*)"
    r"|(?P<text>/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)"
    r"|(?P<name>[A-Za-z_]\w*)", re.M | re.S)
CODE_IN_MARKDOWN = re.compile(r"^ *```.*?^ *```|`[^`\n]+`|\]\([^)]*\)", re.M | re.S)
COMMENT_EDGE = re.compile(r"\n[ \t]*(?:\*(?!/)|//|#|--)?")
HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def compiled(pattern):
    return re.compile(r"(?<![\w])(?:" + pattern.replace(" ", r"\s+") + r")(?!\w)", re.I)


PATTERNS = [(compiled(pattern), [compiled(part) for part in parts], instead)
            for pattern, instead, parts, _ in RULES]


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def words_of(name):
    return HUMP.sub("_", name).replace("_", " ")


def pieces_of_c(text, tokens=C_TOKENS):
    for match in tokens.finditer(text):
        if match["text"]:
            yield match.start(), match["text"]
        elif match["name"]:
            yield match.start(), words_of(match["name"])


def pieces_of_python(text):
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        offset = starts[token.start[0] - 1] + token.start[1]
        if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
            yield offset, words_of(token.string)
        elif token.type in (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)):
            yield offset, token.string


def pieces_of(path, text):
    """(offset, text) of all that a person may read in the file"""
    if path.endswith((".c", ".h")):
        yield from pieces_of_c(text)
    elif path.endswith(".mjs"):
        yield from pieces_of_c(text, JS_TOKENS)
    elif path.endswith(".py"):
        yield from pieces_of_python(text)
    elif path.endswith(".md"):
        yield 0, CODE_IN_MARKDOWN.sub(blank, text)
    else:
        yield 0, text.replace("_", " ") if path.endswith(".sql") else text


def is_allowed(path, line):
    return any(fnmatch.fnmatch(path, where) and part in line for where, part, _ in ALLOWED)


@functools.cache
def finds_in(piece):
    """[(place, number of the rule, the words, what to write instead)]. Most pieces are names that stand in many places."""
    # The same length as before, so that offsets hold.
    piece = COMMENT_EDGE.sub(lambda edge: "\n" + " " * (len(edge.group()) - 1), piece)
    return [(match.start(), number, " ".join(match.group().split()), instead)
            for number, (pattern, parts, instead) in enumerate(PATTERNS) for match in pattern.finditer(piece)
            if not any(part.start() <= match.start() and match.end() <= part.end()
                       for exception in parts for part in exception.finditer(piece))]


def problems_of(path, text):
    """(line number, number of the rule, the words, what to write instead)"""
    lines = text.split("\n")
    ends = [match.start() for match in re.finditer(r"\n", text)]
    seen = set()
    for offset, piece in pieces_of(path, text):
        for place, number, words, instead in finds_in(piece):
            line = bisect.bisect_left(ends, offset + place)
            if not is_allowed(path, lines[line]) and (line, number, words) not in seen:
                seen.add((line, number, words))
                yield line + 1, number, words, instead


def files_of(root):
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, capture_output=True, text=True,
                            check=True).stdout.split("\n")
    return sorted(path for path in listed if path.endswith((".c", ".h", ".py", ".mjs", ".md", ".sql", "openapi.yaml"))
                  and not any(fnmatch.fnmatch(path, skipped) for skipped in SKIPPED) and (root / path).is_file())


def problems_in(root):
    """{path: its problems}, without the clean files"""
    found = {path: list(problems_of(path, (root / path).read_text())) for path in files_of(root)}
    return {path: problems for path, problems in found.items() if problems}


FINE = [
    ("a.c", "/* It cannot tell which of them is meant, and tells the two apart. */"),
    ("a.c", '#include "core/run/bells.h"\nint bella, shell, header, inline_limit, wishbone;'),
    ("a.c", "/* Line 3: see in line 3. It looks like the next one. Stay here. There is one. */"),
    ("a.py", "def test_a_header_is_read():\n    '''Tell me a story.'''\n"),
    ("a.c", "/* It is drawn whatever it means. */ char *a = \"sk-nobody\"; int channel_nobody;"),
    ("a.md", "Use `bell_ring()`.\n\n```\nwhoever\n```\n"),
]
CAUGHT = [
    ("a.c", "/* It is gone\n * on with. */", 1),
    ("a.c", "int run_tell_peers;\nint runTellPeers;", 1),
    ("a.c", "int run_tell_peers;\nint runTellPeers;", 2),
    ("a.c", 'const char *a = "somebody";', 1),
    ("a.c", "TEST(an_upload_ends_whatever_comes)", 1),
    ("a.c", "TEST(nobody_needs_it)", 1),
    ("a.py", "x = 1\n\n\n# somebody\n", 4),
    ("a.py", "def told(x):\n    return f'{x} somebody'\n", 1),
    ("a.md", "one\ntwo of\nours\n", 2),
    ("openapi.yaml", "description: >\n  whoever\n", 2),
    ("a.sql", "SELECT told_at", 1),
    ("a.mjs", "// somebody", 1),
]


def self_test():
    for number, (_, _, _, example) in enumerate(RULES):
        hit = {problem[1] for problem in problems_of("a.c", f"/* {example} */ {example}")}
        assert number in hit, (RULES[number], hit)
    for path, text in FINE:
        assert not list(problems_of(path, text)), (path, text, list(problems_of(path, text)))
    for path, text, line in CAUGHT:
        assert line in [problem[0] for problem in problems_of(path, text)], (path, text)


def show(path, problems):
    for line, _, words, instead in problems:
        print(f"{path}:{line}: \"{words}\": {instead}")


def main():
    arguments = sys.argv[1:]
    if arguments == ["--self-test"]:
        self_test()
        return 0
    root = ROOT
    if arguments and not arguments[0].startswith("--"):
        if pathlib.Path(arguments[0]).is_dir():
            root = pathlib.Path(arguments[0])
        else:
            for path in arguments:
                show(path, problems_of(path, pathlib.Path(path).read_text()))
            return 0
    dirty = problems_in(root)
    for path, problems in sorted(dirty.items()):
        show(path, problems)
    print(f"words: {len(dirty)} files with retired words")
    return bool(dirty)


if __name__ == "__main__":
    sys.exit(main())
