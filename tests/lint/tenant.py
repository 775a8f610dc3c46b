#!/usr/bin/env python3
"""No statement reads or writes a project's rows without saying which project.

  tenant.py [ROOT]      names each reference to a tenant's table that is not tied to a project
  tenant.py --self-test breaks statements of each kind and looks whether it is caught

A tenant's table is one that migrations/*.sql give a column project_id. The sources of core/store are
preprocessed, so that macros are expanded; every string literal that names such a table is parsed as SQL,
however it comes to the database. In it each reference to such a table must be bound:

  SELECT, UPDATE, DELETE   by a condition that always holds (WHERE or ON, under AND only):
                           its project_id = $n, = ANY ($n), or that of something bound
  INSERT                   by its column project_id, whose value is $n or comes from something bound

Bound are parameters, unnest() of parameters, subqueries and CTEs (their insides are looked at by
themselves), and tables that are bound already. A condition in a subquery binds that subquery's tables, and
in the ON of a LEFT JOIN the joined table, but no other. What is not understood is not bound.

EXCEPTIONS says which references need not be, and why. One that is not needed any more is an error, too.

A tenant is passed as a struct tenant: no parameter and no field outside core/domain/tenant.* is a
`const char *project`, and no statement gets a project but through db_arg_tenant() or batch_tenant().
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

from tenant_sql import Statement

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Statement, or how it begins: (tables that are referred to without a project, why).
EXCEPTIONS = {
    # A key is what says which project it is; nobody knows one before.
    "store_key_find": (["api_keys"], "authentication: from a key to its project"),
    "key_opens": (["api_keys"], "whether the setting api_key opens the default project"),
    "store_key_list": (["api_keys"], "`runnel keys list`: the operator sees all projects"),
    "store_key_revoke": (["api_keys"], "`runnel keys revoke`: by the key or its id alone"),
    # A node owns leases, of the runs of all projects.
    "store_leases_renew": (["run_leases"], "a node renews what it owns, by owner and fence"),
    "store_leases_give_back": (["run_leases"], "a node gives back what it owns and does not have"),
    "claim_leases": (["run_leases"], "recovery: orphans of all projects, oldest first"),
    "store_runs_fail_foreground": (["run_leases"], "recovery: what died with its node"),
    # The keeper's sweeps, which go by age.
    "purge_find": (["runs"], "deleted responses that are due; each is then purged by its project"),
    "checks_find": (["approval_grants", "approval_checks"], "checks that are owed; each is then made for its project"),
    "idempotency_forget": (["idempotency_keys"], "keys that are past their time"),
    "deletion_marks_forget": (["deletion_marks"], "marks that are past their time"),
    "events_find_old": (["run_leases"], "days of the log that no run needs any more"),
    "events_clean_default": (["run_events_default", "run_leases"], "the same in the default partition"),
    "store_blobs_stale": (["blobs"], "what nobody holds; each is then removed by its project"),
    "store_pictures_due": (["pictures"], "pictures that may have no item; each is then looked at by its project"),
    # Documents are work of all projects, as runs are.
    "store_document_claim": (["documents", "a name that is not understood"],
                             "the oldest of the project whose turn it is"),
    "store_document_leases_renew": (["documents"], "a node renews what it owns, by owner and fence"),
    "store_documents_recover": (["documents"], "recovery: what died with its node"),
    "store_document_queue": (["documents"], "a figure for the operator: what waits, of all projects"),
    "store_reindex_page": (["documents"], "documents of older models; each is then handled by its project"),
    "store_documents_left": (["left_documents"], "what no file may name; each is then looked at by its project"),
    "store_vector_stores_expired": (["vector_stores"], "stores past their time; each is then emptied by its project"),
    "store_containers_late": (["containers"], "containers past their time; each is then ended by its project"),
    "store_containers_left": (["containers", "containers"], "what a node has to remove of its own disk"),
    "store_containers_asked": (["container_files", "containers", "containers"], "what other nodes ask of one"),
    "store_containers_forget": (["containers"], "containers that ended a day ago"),
    "store_files_expired": (["files"], "files past their time; each is then deleted by its project"),
    "store_uploads_late": (["uploads"], "uploads past their time; each is then ended by its project"),
    "store_uploads_old": (["uploads"], "uploads that ended long ago; each is then deleted by its project"),
    # The log has a partition a day, for all projects.
    "store_skill_create": (["a name that is not understood"], "files is a column here"),
    "store_skill_version_create": (["a name that is not understood"], "files is a column here"),
    "CREATE TABLE %s (LIKE run_events": (["a name made at run time", "a name that is not understood"],
                                         "makes a partition"),
    "LOCK TABLE run_events_default": (["run_events_default"], "keeps others from a row that moves"),
    "WITH moved AS (DELETE FROM run_events_default": (
        ["a name made at run time", "run_events_default"], "moves a day's rows into its partition"),
    "ALTER TABLE run_events ATTACH PARTITION": (["run_events"], "attaches a partition"),
    "DROP TABLE IF EXISTS %s": (["a name made at run time"], "drops a partition past retention"),
}

# File: why a project is passed there as it is.
PLAIN_PROJECT = {
    "core/domain/tenant.c": "makes tenants",
    "core/domain/tenant.h": "makes tenants",
    "core/memory/variable_memory.c": "a table of shares, searched by the name that a share has",
    "core/run/engine/slots.c": "a table of shares, searched by the name that a share has",
}

# File and text: why a project is bound there without a tenant.
PLAIN_BINDING = {
    ("core/store/pg/db.c", "db_arg_text(args, tenant->project);"): "is db_arg_tenant()",
    ("core/store/pg/batch.c", "batch_text(batch, tenant->project);"): "is batch_tenant()",
    ("core/store/tables/runs/upserts.c", "batch_text(batch, run->project);"):
        "a new run's row names its project, which store_run_create() holds against its tenant",
    ("core/store/cluster/wakeups.c", "batch_text(&batch, hints[i]->project);"):
        "hints of several projects in one statement, as they were queued",
}


# ---- Tables ----

CREATE = re.compile(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+) \((.*?)\n\)", re.S)
PARTITION = re.compile(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+) PARTITION OF (\w+)")
ADD_COLUMN = re.compile(r"ALTER TABLE (\w+)[^;]*?ADD COLUMN (?:IF NOT EXISTS )?project_id\b", re.S)


def tenant_tables(migrations):
    """The tables that have a project_id, by all migrations together."""
    sql = re.sub(r"--.*", "", "\n".join(migrations))
    found = {name for name, columns in CREATE.findall(sql)
             if re.search(r"^\s*project_id\b", columns, re.M)}
    found |= set(ADD_COLUMN.findall(sql))
    return found | {name for name, parent in PARTITION.findall(sql) if parent in found}


# ---- Literals of C ----

TOKEN_OF_C = re.compile(r'''(?P<string>"(?:[^"\\\n]|\\.)*")
                          | (?P<char>'(?:[^'\\\n]|\\.)*')
                          | (?P<line>^\#[^\n]*)
                          | (?P<space>\s+)
                          | (?P<other>\w+|.)''', re.X | re.M)
LINE = re.compile(r'# (\d+) "([^"]*)"')
ESCAPE = re.compile(r'\\(?:x[0-9a-fA-F]+|[0-7]{1,3}|.)')
SYSTEM_INCLUDE = re.compile(r"^\s*#\s*include\s*<([^>]+)>", re.M)


def unescape(text):
    return ESCAPE.sub(lambda m: {"\\n": "\n", "\\t": "\t", '\\"': '"', "\\\\": "\\"}.get(m[0], " "), text)


class Literal:
    """Adjacent string literals, as the compiler joins them, and the name of the statement they are of."""

    def __init__(self, file, line, before):
        self.file, self.line, self.text = file, line, ""
        match = re.search(r'\{ (?:"(\w+)"|NULL|\( \( void \* \) 0 \)) , $', before)
        self.name = match[1] if match else None


def literals(preprocessed):
    """Of one preprocessed file."""
    found, open_one, before = [], None, []
    file, line = "", 1
    for match in TOKEN_OF_C.finditer(preprocessed):
        kind, text = match.lastgroup, match[0]
        if kind == "line":
            marker = LINE.match(text)
            if marker:
                line, file = int(marker[1]) - 1, marker[2]
        elif kind == "string":
            if not open_one:
                open_one = Literal(file, line, " ".join(before[-8:]) + " ")
                found.append(open_one)
                before.append(text)
            open_one.text += unescape(text[1:-1])
        elif kind != "space":
            open_one = None
            before.append(text)
        line += text.count("\n")
    return found


def preprocess(root, files):
    """(file, text): with our own headers only. Of a library's macros no statement is made."""
    compiler = os.environ.get("CC", "cc").split()
    with tempfile.TemporaryDirectory() as stubs:
        for source in sorted(root.glob("core/**/*.[ch]")):
            for name in SYSTEM_INCLUDE.findall(source.read_text(encoding="utf-8")):
                stub = pathlib.Path(stubs) / name
                stub.parent.mkdir(parents=True, exist_ok=True)
                stub.touch()
        for file in files:
            done = subprocess.run([*compiler, "-E", "-nostdinc", "-isystem", stubs, "-I", str(root),
                                   str(file)], capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"tenant: {file} cannot be preprocessed: {done.stderr}")
            yield done.stdout


# ---- The check ----

def is_sql(text, tables):
    names = "|".join(sorted(tables))
    if re.search(rf"\b(?:FROM|JOIN|INTO|UPDATE|TABLE|USING|ONLY)\s+\"?(?:{names})\b", text, re.I):
        return True
    says_so = re.search(r"\b(?:SELECT|INSERT|DELETE|WITH|WHERE|TRUNCATE|AND)\b", text)
    return bool(at_run_time(text) or says_so and re.search(rf"\b(?:{names})\b", text))


def at_run_time(sql):
    """FROM %s, or a text that ends where a table's name would come."""
    return re.search(r"\b(?:FROM|JOIN|INTO|UPDATE|TABLE|ONLY)\s+(?:IF (?:NOT )?EXISTS\s+)?\"?(?:%|$)",
                     sql) is not None


def unbound_in(sql, tables, exempt=()):
    """What the statement refers to without a project, beyond what it may; and what it may in vain."""
    alone, exempted = Statement(sql, tables), Statement(sql, tables)
    strange = ["a name that is not understood"] * max(alone.lost, 0)
    strange += ["a name made at run time"] * at_run_time(sql)
    unbound = alone.unbound() + strange
    beyond = exempted.unbound(exempt) + [what for what in strange if what not in exempt]
    return sorted(beyond), sorted(table for table in exempt if table not in unbound)


def exception_for(literal, exceptions):
    for key in exceptions:
        if key == literal.name or (not literal.name and literal.text.startswith(key)):
            return key
    return None


def check_statements(found, tables, exceptions):
    """Complaints about the literals, and how many are statements about tenants' tables."""
    complaints, used, known = [], set(), {}
    for literal in found:
        if is_sql(literal.text, tables):
            known[(literal.name, literal.text)] = literal
    for literal in known.values():
        key = exception_for(literal, exceptions)
        beyond, in_vain = unbound_in(literal.text, tables, exceptions[key][0] if key else ())
        used.add(key)
        where = f"{literal.file}:{literal.line}: {literal.name or literal.text[:40]}:"
        if beyond:
            complaints.append(f"{where} without a project: {', '.join(beyond)}")
        if in_vain:
            complaints.append(f"{where} tenant.py exempts what is bound: {', '.join(in_vain)}")
    complaints += [f"tenant.py: the exception for {key} is not needed"
                   for key in exceptions if key not in used]
    return complaints, len(known)


PLAIN = re.compile(r"\bconst char (?:\*\s*(?:const )?project(?:_id)?\b|project(?:_id)?\[)(?!\s*=)")
BINDING = re.compile(r"\b(?:db_arg|batch)_(?:text|id)\([^;]*?\bproject\b[^;]*;")


def check_source(path, text):
    complaints, used = [], set()
    code = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    for match in PLAIN.finditer(code):
        if path in PLAIN_PROJECT:
            used.add(path)
        else:
            line = code.count("\n", 0, match.start()) + 1
            complaints.append(f"{path}:{line}: a project is passed as a struct tenant")
    for match in BINDING.finditer(code):
        key = (path, match[0])
        if key in PLAIN_BINDING:
            used.add(key)
        else:
            line = code.count("\n", 0, match.start()) + 1
            complaints.append(f"{path}:{line}: a project is bound by db_arg_tenant() or batch_tenant()")
    return complaints, used


def check(root):
    tables = tenant_tables([file.read_text(encoding="utf-8")
                            for file in sorted((root / "migrations").glob("*.sql"))])
    found = []
    for text in preprocess(root, sorted((root / "core/store").rglob("*.c"))):
        found += literals(text)
    for literal in found:
        literal.file = os.path.relpath(literal.file, root)
    complaints, count = check_statements(found, tables, EXCEPTIONS)
    used = set()
    for folder in ("core", "server", "handlers"):
        for file in sorted((root / folder).rglob("*.[ch]")):
            path = file.relative_to(root).as_posix()
            more, uses = check_source(path, file.read_text(encoding="utf-8"))
            complaints += more
            used |= uses
    complaints += [f"tenant.py: the exception for {key} is not needed"
                   for key in (*PLAIN_PROJECT, *PLAIN_BINDING) if key not in used]
    return complaints, count, tables


# ---- The self-test ----

SCHEMA = """
CREATE TABLE projects (
    id   text PRIMARY KEY, -- not a tenant's: project_id
    name text
);
CREATE TABLE runs (
    project_id text NOT NULL,
    id         text NOT NULL
);
CREATE TABLE items (
    project_id text NOT NULL,
    id         text NOT NULL
);
CREATE TABLE log (
    project_id text NOT NULL
) PARTITION BY RANGE (id);
CREATE TABLE log_default PARTITION OF log DEFAULT;
CREATE TABLE late (
    id text NOT NULL
);
ALTER TABLE late ADD COLUMN project_id text;
"""

# A statement: what it refers to without a project.
STATEMENTS = {
    "SELECT id FROM projects WHERE name = $1": [],
    "SELECT id FROM runs WHERE project_id = $1 AND id = $2": [],
    "SELECT id FROM runs WHERE id = $2": ["runs"],
    "SELECT id FROM runs": ["runs"],
    "SELECT project_id = $1 FROM runs": ["runs"],
    "SELECT r.id FROM runs r WHERE $1 = r.project_id": [],
    "SELECT r.id FROM runs r WHERE r.project_id = ANY ($1::text[])": [],
    "SELECT r.id FROM runs AS r WHERE r.id = $1 AND (r.project_id = $2)": [],
    "SELECT id FROM runs WHERE project_id = 'proj_1'": ["runs"],
    "SELECT id FROM runs WHERE project_id = project_id": ["runs"],
    "SELECT id FROM runs WHERE project_id <> $1": ["runs"],
    "SELECT id FROM runs WHERE project_id = $1 OR id = $2": ["runs"],
    "SELECT id FROM runs WHERE id = $2 AND (project_id = $1 OR id = $3)": ["runs"],
    "SELECT id FROM runs WHERE NOT (project_id = $1)": ["runs"],
    "SELECT id FROM runs WHERE CASE WHEN id = $1 THEN project_id = $2 END": ["runs"],
    "SELECT id FROM runs WHERE project_id IS NOT DISTINCT FROM $1": ["runs"],
    "SELECT id FROM late WHERE id = $1": ["late"],
    "SELECT id FROM log_default": ["log_default"],
    "SELECT id FROM \"runs\"": ["runs"],
    "SELECT id FROM public.runs WHERE id = $1": ["runs"],
    "select id from runs where id = $1": ["runs"],
    # Several tables
    "SELECT 1 FROM runs r JOIN items i ON i.project_id = r.project_id WHERE r.project_id = $1": [],
    "SELECT 1 FROM runs r JOIN items i ON i.project_id = r.project_id": ["items", "runs"],
    "SELECT 1 FROM runs r JOIN items i ON i.id = r.id WHERE r.project_id = $1": ["items"],
    "SELECT 1 FROM runs r, items i WHERE r.project_id = $1 AND i.id = $2": ["items"],
    "SELECT 1 FROM runs r JOIN items i USING (project_id) WHERE r.project_id = $1": [],
    "SELECT 1 FROM (runs r JOIN items i ON i.id = r.id) WHERE r.project_id = $1": ["items"],
    "SELECT 1 FROM runs r LEFT JOIN items i ON r.project_id = $1 AND i.project_id = $1": ["runs"],
    "SELECT 1 FROM runs r CROSS JOIN items i WHERE project_id = $1": ["items", "runs"],
    "SELECT 1 FROM unnest($1::text[]) u (project_id) JOIN runs r ON r.project_id = u.project_id": [],
    "SELECT 1 FROM unnest(array['a']) u (project_id) JOIN runs r ON r.project_id = u.project_id":
        ["runs"],
    "SELECT 1 FROM projects p JOIN runs r ON r.project_id = p.id WHERE p.name = $1": ["runs"],
    "SELECT 1 FROM runs r, LATERAL (SELECT 1 FROM items i WHERE i.project_id = r.project_id) x"
    " WHERE r.project_id = $1": [],
    # Subqueries
    "SELECT 1 FROM runs r WHERE EXISTS (SELECT FROM items i WHERE i.project_id = $1"
    " AND r.project_id = i.project_id)": ["runs"],
    "SELECT 1 FROM runs r WHERE r.project_id = $1 AND NOT EXISTS (SELECT FROM items i"
    " WHERE i.project_id = r.project_id)": [],
    "SELECT 1 FROM runs r WHERE r.project_id = $1 AND NOT EXISTS (SELECT FROM items i"
    " WHERE i.id = r.id)": ["items"],
    "SELECT (SELECT max(id) FROM items) FROM runs r WHERE r.project_id = $1": ["items"],
    "SELECT coalesce((SELECT max(id) FROM items), 0) FROM runs r WHERE project_id = $1": ["items"],
    "SELECT 1 FROM runs WHERE (project_id, id) IN (SELECT project_id, id FROM items"
    " WHERE project_id = $1)": [],
    "SELECT 1 FROM runs WHERE id IN (SELECT id FROM items WHERE project_id = $1)": ["runs"],
    "SELECT 1 FROM runs WHERE project_id = $1 UNION ALL SELECT 1 FROM items WHERE id = $2":
        ["items"],
    "SELECT 1 FROM runs WHERE project_id = $1 ORDER BY (SELECT min(id) FROM items)": ["items"],
    # WITH
    "WITH a AS (SELECT project_id FROM runs WHERE project_id = $1)"
    " SELECT 1 FROM a JOIN items i ON i.project_id = a.project_id": [],
    "WITH a AS MATERIALIZED (SELECT project_id FROM runs), b AS (SELECT 1)"
    " SELECT 1 FROM a JOIN items i ON i.project_id = a.project_id": ["runs"],
    "WITH RECURSIVE up (id) AS (SELECT id FROM runs WHERE project_id = $1 UNION ALL"
    " SELECT r.id FROM up u JOIN runs r ON r.id = u.id) SELECT id FROM up": ["runs"],
    # INSERT
    "INSERT INTO runs (project_id, id) VALUES ($1, $2)": [],
    "INSERT INTO runs (project_id, id) VALUES ($1, $2), ('x', $3)": ["runs"],
    "INSERT INTO runs (id) VALUES ($1)": ["runs"],
    "INSERT INTO runs VALUES ($1, $2)": ["runs"],
    "INSERT INTO runs (id, project_id) VALUES ($1, 'proj_1')": ["runs"],
    "INSERT INTO runs (project_id, id) SELECT project_id, id FROM items WHERE project_id = $1": [],
    "INSERT INTO runs (project_id, id) SELECT i.id, $1 FROM items i WHERE i.project_id = $1":
        ["runs"],
    "INSERT INTO runs (project_id, id) SELECT * FROM unnest($1::text[], $2::text[])": [],
    "INSERT INTO runs AS r (project_id, id) SELECT DISTINCT ON (u.id) u.project_id, u.id"
    " FROM unnest($1::text[]) u (project_id, id) ON CONFLICT (project_id, id) DO UPDATE"
    " SET id = excluded.id WHERE r.id = excluded.id": [],
    "INSERT INTO runs (project_id, id) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE"
    " SET id = (SELECT max(id) FROM items)": ["items"],
    # UPDATE and DELETE
    "UPDATE runs SET id = $2 WHERE project_id = $1": [],
    "UPDATE runs SET project_id = $1 WHERE id = $2": ["runs"],
    "UPDATE runs r SET id = i.id FROM items i WHERE r.project_id = $1 AND i.id = r.id": ["items"],
    "UPDATE runs SET id = $2 WHERE project_id = $1 RETURNING (SELECT 1 FROM items)": ["items"],
    "DELETE FROM runs WHERE id = $1": ["runs"],
    "DELETE FROM runs r USING items i WHERE r.project_id = i.project_id AND i.project_id = $1": [],
    "DELETE FROM runs r USING items i WHERE r.project_id = $1": ["items"],
    "SELECT 1 FROM runs WHERE project_id = $1 FOR UPDATE OF runs": [],
    "SELECT r.id FROM runs r WHERE r.project_id = $1 FOR NO KEY UPDATE": [],
    # Made at run time, or in other words
    "DELETE FROM %s WHERE project_id = $1": ["a name made at run time"],
    "DELETE FROM ": ["a name made at run time"],
    "TRUNCATE TABLE runs": ["runs"],
    "TRUNCATE runs": ["a name that is not understood"],
    "LOCK TABLE runs": ["runs"],
    ", items i WHERE i.id = $1": ["a name that is not understood"],
}

SOURCE = """
#include <libpq-fe.h>
#include "core/store/columns.h"
static const struct db_statement good = {
    "good", "SELECT " COLUMNS /* of runs */ " FROM runs r"
            " WHERE " MINE("r")};
static const struct db_statement bad = {"bad", "SELECT \\"id\\" FROM runs r"
                                               " WHERE r.id = $1"};
void f(void)
{
    static const struct db_statement *which, both[] = {{NULL, "DELETE FROM items"},
                                                       {"two", "DELETE FROM runs"}};
    char *sql = mem_printf("DROP TABLE %s", name);

    log_warn("nothing came from %s, runs into trouble", name);
}
"""
COLUMNS = """
#define COLUMNS "id, project_id"
#define MINE(alias) alias ".project_id = $1"
"""

SOURCES = {
    "static void f(struct db *db, const char *project)\n{": 1,
    "static void f(struct db *db, const char *project, int n);": 1,
    "static void f(const char *const project_id);": 1,
    "struct place {\n    const char *project;\n};": 1,
    "static void f(const char project[ID_SIZE]);": 1,
    "static void f(const char *project_name, const char *const *projects);": 0,
    "    const char *project = tenant->project;": 0,
    "/* const char *project; */": 0,
    "    db_arg_text(&args, run->project);": 1,
    "    batch_text(batch,\n               owner->tenant->project);": 1,
    "    db_arg_tenant(&args, tenant);\n    db_arg_text(&args, id);": 0,
}


def self_test():
    wrong = []
    tables = tenant_tables([SCHEMA])
    if tables != {"runs", "items", "log", "log_default", "late"}:
        wrong.append(f"tables: {sorted(tables)}")
    for sql, expected in STATEMENTS.items():
        if not is_sql(sql, tables) and expected:
            wrong.append(f"is not looked at: {sql}")
        found = unbound_in(sql, tables)[0] if is_sql(sql, tables) else []
        if found != expected:
            wrong.append(f"{sql}: {expected} expected, {found} found")

    claim = ("WITH p AS (SELECT project_id FROM runs) UPDATE runs r SET id = $1 FROM p"
             " WHERE r.project_id = p.project_id")
    for sql, exempt, expected in (
            (claim, ["runs"], ([], [])),
            (claim.replace("r.project_id = p.project_id", "true"), ["runs"], (["runs"], [])),
            (claim, ["runs", "items"], ([], ["items"])),
            ("SELECT 1 FROM runs r JOIN items i ON i.project_id = r.project_id", ["runs"], ([], []))):
        if unbound_in(sql, tables, exempt) != expected:
            wrong.append(f"{sql} with {exempt}: {unbound_in(sql, tables, exempt)}")

    with tempfile.TemporaryDirectory() as folder:
        store = pathlib.Path(folder) / "core/store"
        store.mkdir(parents=True)
        (store / "columns.h").write_text(COLUMNS)
        (store / "source.c").write_text(SOURCE)
        found = [literal for text in preprocess(pathlib.Path(folder), [store / "source.c"])
                 for literal in literals(text)]
    complaints, count = check_statements(found, tables, {"good": (["runs"], ""), "gone": ([], "")})
    text = "\n".join(complaints)
    for part in ("source.c:5: good: tenant.py exempts what is bound: runs",
                 "source.c:7: bad: without a project: runs",
                 "source.c:11: DELETE FROM items: without a project: items",
                 "source.c:12: two: without a project: runs",
                 "source.c:13: DROP TABLE %s: without a project: a name made at run time",
                 "the exception for gone is not needed"):
        if part not in text:
            wrong.append(f"not said: {part}")
    if len(complaints) != 6 or count != 5:
        wrong.append(f"6 complaints of 5 statements expected, {len(complaints)} of {count} came:\n{text}")

    for source, expected in SOURCES.items():
        if len(check_source("core/x.c", source)[0]) != expected:
            wrong.append(f"{expected} complaints expected: {source}")
    for line in wrong:
        print(f"tenant: {line}")
    print(f"tenant: self-test, {len(STATEMENTS)} statements, {len(wrong)} mistakes")
    return bool(wrong)


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = pathlib.Path(sys.argv[1]).resolve() if sys.argv[1:] else ROOT
    complaints, count, tables = check(root)
    for complaint in complaints:
        print(complaint)
    print(f"tenant: {count} statements about {len(tables)} tables, {len(complaints)} complaints")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
