"""Which tables a statement refers to without saying which project: see tenant.py.

Not a parser of SQL, but of as much of it as says what is bound. What it does not understand is not bound.
"""

import re

TOKEN_OF_SQL = re.compile(r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | \$\d+ | %[-.*\w]+ | [A-Za-z_]\w*
                            | \d+(?:\.\d+)? | :: | <> | <= | >= | != | \|\| | \S""", re.X)
QUERY = {"SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "VALUES"}
SET_OPERATION = {"UNION", "INTERSECT", "EXCEPT"}
CLAUSES = {"SELECT": "select", "SET": "set", "WHERE": "where", "GROUP": "other", "ORDER": "other",
           "HAVING": "other", "LIMIT": "other", "OFFSET": "other", "RETURNING": "other",
           "WINDOW": "other", "FOR": "other", "VALUES": "values", "DO": "conflict"}
JOIN_WORDS = {"JOIN", "INNER", "LEFT", "RIGHT", "FULL", "OUTER", "CROSS", "NATURAL"}
NOT_AN_ALIAS = set(CLAUSES) | JOIN_WORDS | SET_OPERATION | {
    "ON", "USING", "AS", "FROM", "WHERE", "AND", "OR", "NOT", "WITH", "ORDINALITY", "DEFAULT",
    "TABLESAMPLE", "INTO", "CONFLICT", "SKIP", "LOCKED", "IN"}


class Group(list):
    """What stands in a pair of parentheses."""

    def is_query(self):
        return bool(self) and isinstance(self[0], str) and self[0].upper() in QUERY


def tree(sql):
    """The tokens, with a Group for each pair of parentheses."""
    stack = [Group()]
    for token in TOKEN_OF_SQL.findall(sql):
        if token == "(":
            stack.append(Group())
        elif token == ")" and len(stack) > 1:
            group = stack.pop()
            stack[-1].append(group)
        else:
            stack[-1].append(token)
    while len(stack) > 1: # a fragment
        group = stack.pop()
        stack[-1].append(group)
    return stack[0]


def word(token):
    return token.upper() if isinstance(token, str) else ""


def is_name(token):
    return isinstance(token, str) and re.fullmatch(r"[A-Za-z_]\w*", token) is not None


def split(tokens, separator):
    """The parts between separators of this level."""
    parts = [[]]
    for token in tokens:
        if word(token) == separator:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def flat(tokens):
    for token in tokens:
        if isinstance(token, Group):
            yield from flat(token)
        else:
            yield token


def has_parameter(tokens):
    return any(re.fullmatch(r"\$\d+", token) for token in flat(tokens))


class Reference:
    """A table, or something like one, in a FROM, an INTO ..."""

    def __init__(self, table, alias, bound):
        self.table, self.alias = table, alias # table: None where it is no tenant's
        self.bound = bound
        self.is_target = False # of an INSERT: its columns cannot be meant where it gets its rows


class Scope:
    """One SELECT, INSERT, UPDATE or DELETE."""

    def __init__(self, parent):
        self.parent, self.references = parent, []

    def find(self, alias):
        for reference in self.references:
            if reference.alias == alias and not reference.is_target:
                return reference
        return self.parent.find(alias) if self.parent else None

    def find_only(self):
        """What project_id without a table means."""
        sources = [reference for reference in self.references if not reference.is_target]
        tenants = [reference for reference in sources if reference.table]
        if tenants:
            return tenants[0] if len(tenants) == 1 else None
        others = [reference for reference in sources if reference.bound]
        if others:
            return others[0]
        return self.parent.find_only() if self.parent else None


PARAMETER = Reference(None, "", True)


class Statement:
    def __init__(self, sql, tables):
        self.tables = tables
        self.references = [] # to tenants' tables
        self.equalities = [] # (scope, term, term, the only one that it may bind, or None)
        self.seen = 0        # how often such a table is named where it is understood
        self.query(tree(sql), None, frozenset())
        self.settle()
        self.lost = self.count_names(sql) - self.seen

    def count_names(self, sql):
        """Every token that is a tenant's table, but for `table.column` and FOR UPDATE OF."""
        tokens = TOKEN_OF_SQL.findall(sql)
        count = 0
        for i, token in enumerate(tokens):
            after = tokens[i + 1] if i + 1 < len(tokens) else ""
            before = tokens[i - 1] if i else ""
            locks = before == "OF" and tokens[i - 2] in ("UPDATE", "SHARE")
            if token.strip('"') in self.tables and "." not in (before, after) and not locks:
                count += 1
        return count

    # ---- Reading ----

    def query(self, tokens, parent, ctes):
        tokens = list(tokens)
        if tokens and word(tokens[0]) == "WITH":
            tokens, ctes = self.read_ctes(tokens[1:], parent, ctes)
        part = []
        for token in tokens:
            if word(token) in SET_OPERATION:
                self.simple_query(part, parent, ctes)
                part = []
            elif part or word(token) not in ("ALL", "DISTINCT"):
                part.append(token)
        self.simple_query(part, parent, ctes)

    def read_ctes(self, tokens, parent, ctes):
        i = 1 if tokens and word(tokens[0]) == "RECURSIVE" else 0
        while i < len(tokens):
            ctes = ctes | {tokens[i]}
            while i < len(tokens) and not (isinstance(tokens[i], Group) and tokens[i].is_query()):
                i += 1
            if i == len(tokens):
                break
            self.query(tokens[i], parent, ctes)
            i += 1
            if i == len(tokens) or tokens[i] != ",":
                break
            i += 1
        return tokens[i:], ctes

    def simple_query(self, tokens, parent, ctes):
        if len(tokens) == 1 and isinstance(tokens[0], Group):
            self.query(tokens[0], parent, ctes)
            return
        scope = Scope(parent)
        Reader(self, scope, ctes).read(tokens)

    # ---- Judging ----

    def resolve(self, scope, term):
        if isinstance(term, Reference):
            return term
        if term == "$":
            return PARAMETER
        return scope.find(term) if term else scope.find_only()

    def settle(self):
        changed = True
        while changed:
            changed = False
            for scope, one, other, only in self.equalities:
                a, b = self.resolve(scope, one), self.resolve(scope, other)
                for target, source in ((a, b), (b, a)):
                    if (target and source and source.bound and not target.bound and
                            target in scope.references and only in (None, target)):
                        target.bound = changed = True

    def unbound(self, exempt=()):
        """What is still unbound when the first ones of the exempt tables count as bound."""
        for table in exempt:
            for reference in self.references:
                if reference.table == table and not reference.bound:
                    reference.bound = True
                    break
        self.settle()
        return [reference.table for reference in self.references if not reference.bound]


class Reader:
    """Reads one simple query into its scope."""

    def __init__(self, statement, scope, ctes):
        self.statement, self.scope, self.ctes = statement, scope, ctes
        self.nested = []  # subqueries, read when all tables of this one are known
        self.conditions = [] # (tokens, the only one that they may bind)
        self.into = None  # of an INSERT: its reference and the place of project_id
        self.selected, self.values = [], [] # what is listed after SELECT, and the rows after VALUES

    def read(self, tokens):
        self.walk(tokens)
        for condition, only in self.conditions:
            self.read_condition(condition, only)
        if self.into:
            self.read_source()
        for group in self.nested:
            self.statement.query(group, self.scope, self.ctes)

    def walk(self, tokens):
        clause, expecting, only, i = None, False, None, 0
        before = ""
        while i < len(tokens):
            token = tokens[i]
            key = word(token)
            step = 1
            if key == "UPDATE" and before in ("FOR", "KEY", "DO"):
                clause = "conflict" if before == "DO" else "other"
            elif key == "FROM" and before == "DISTINCT":
                pass # IS DISTINCT FROM
            elif key in ("FROM", "INTO", "TABLE") or key == "UPDATE":
                clause, expecting = key.lower(), clause != "conflict"
            elif key == "USING":
                following = tokens[i + 1] if i + 1 < len(tokens) else None
                if isinstance(following, Group) and not following.is_query():
                    self.read_using(following)
                    step = 2
                else:
                    clause, expecting = "from", True
            elif key == "ON" and before == "DISTINCT":
                self.selected.append(token)
            elif key == "ON" and clause != "conflict":
                following = word(tokens[i + 1]) if i + 1 < len(tokens) else ""
                clause = "conflict" if following == "CONFLICT" else "on"
                if clause == "on":
                    self.conditions.append(([], only))
            elif key in JOIN_WORDS and clause in ("from", "on"):
                clause, expecting = "from", key == "JOIN"
                only = None
                if key == "JOIN" and word_before(tokens, i) in ("LEFT", "RIGHT", "FULL", "OUTER"):
                    only = "joined"
            elif token == "," and clause in ("from", "on"):
                clause, expecting, only = "from", True, None
            elif clause == "conflict":
                self.look_inside(token) # what happens to a row that the INSERT has found
            elif key in CLAUSES:
                clause, expecting = CLAUSES[key], False
                if clause == "where":
                    self.conditions.append(([], None))
            elif clause in ("from", "into", "update", "table") and expecting:
                if key in ("ONLY", "LATERAL", "IF", "EXISTS", "NOT"):
                    pass
                else:
                    step, reference = self.read_item(tokens, i, clause)
                    expecting = False
                    if only == "joined":
                        only = reference
            elif clause in ("where", "on"):
                self.conditions[-1][0].append(token)
                self.look_inside(token)
            elif clause == "select":
                self.selected.append(token)
                self.look_inside(token)
            elif clause == "values" and isinstance(token, Group):
                self.values.append(token)
                self.look_inside(token)
            else:
                self.look_inside(token)
            before = key
            i += step

    def look_inside(self, token):
        if not isinstance(token, Group):
            return
        if token.is_query():
            self.nested.append(token)
            return
        for inner in token:
            self.look_inside(inner)

    def read_item(self, tokens, i, clause):
        """One item of a FROM: how many tokens it takes, and its reference."""
        start, token = i, tokens[i]
        i += 1
        if isinstance(token, Group):
            if not token.is_query(): # a join in parentheses
                self.walk(["FROM", *token])
                return 1, None
            self.nested.append(token)
            name, bound = None, True
        else:
            name, bound = token.strip('"'), False
            while i + 1 < len(tokens) and tokens[i] == ".":
                name, i = tokens[i + 1].strip('"'), i + 2
        alias = name
        if name:
            if clause == "from" and i < len(tokens) and isinstance(tokens[i], Group):
                bound = has_parameter(tokens[i]) # a function's arguments
                self.look_inside(tokens[i])
                name, i = None, i + 1
            elif name in self.ctes:
                name, bound = None, True
        if word_at(tokens, i) == "WITH" and word_at(tokens, i + 1) == "ORDINALITY":
            i += 2
        if word_at(tokens, i) == "AS":
            i += 1
        if i < len(tokens) and is_name(tokens[i]) and word(tokens[i]) not in NOT_AN_ALIAS:
            alias, i = tokens[i], i + 1
        reference = Reference(name if name in self.statement.tables else None, alias, bound)
        self.scope.references.append(reference)
        if reference.table:
            self.statement.references.append(reference)
            self.statement.seen += 1
        if i < len(tokens) and isinstance(tokens[i], Group) and not tokens[i].is_query():
            if clause == "into" and reference.table:
                reference.is_target = True
                columns = [part[0] if part else "" for part in split(tokens[i], ",")]
                place = columns.index("project_id") if "project_id" in columns else None
                self.into = (reference, place)
            i += 1
        return i - start, reference

    # ---- Conditions ----

    def equal(self, one, other, only):
        self.statement.equalities.append((self.scope, one, other, only))

    def read_using(self, columns):
        """JOIN ... USING (project_id): the last two are alike in it."""
        if "project_id" in columns and len(self.scope.references) > 1:
            a, b = self.scope.references[-2:]
            if a.alias and b.alias:
                self.equal(a.alias, b.alias, None)

    def read_condition(self, tokens, only):
        if any(word(token) == "OR" for token in tokens):
            return
        for part in split(tokens, "AND"):
            if len(part) == 1 and isinstance(part[0], Group) and not part[0].is_query():
                self.read_condition(part[0], only)
            elif part and word(part[0]) != "NOT" and not any(word(t) == "CASE" for t in part):
                self.read_comparison(part, only)

    def read_comparison(self, part, only):
        words = [word(token) for token in part]
        if "=" in words:
            at = words.index("=")
            left, right = part[:at], part[at + 1:]
            if right and word(right[0]) == "ANY" and len(right) == 2 and has_parameter(right[1:]):
                right = ["$1"]
            self.compare(left, right, only)
        elif "IN" in words and "NOT" not in words:
            at = words.index("IN")
            source = part[at + 1] if at + 1 < len(part) else None
            if isinstance(source, Group) and source.is_query():
                self.compare_in(part[:at], source, only)

    def compare(self, left, right, only):
        if len(left) == len(right) == 1 and all(isinstance(x[0], Group) for x in (left, right)):
            if not right[0].is_query():
                for one, other in zip(split(left[0], ","), split(right[0], ",")):
                    self.compare(one, other, only)
            return
        one, other = term(left), term(right)
        if one is not None and other is not None:
            self.equal(one, other, only)

    def compare_in(self, left, source, only):
        """(project_id, id) IN (SELECT project_id, id ...): what the subquery says is looked at there."""
        mine = split(left[0], ",") if len(left) == 1 and isinstance(left[0], Group) else [left]
        theirs = split([t for t in source[1:]][:end_of_list(source[1:])], ",")
        for one, other in zip(mine, theirs):
            if term(one) is not None and term(other) is not None:
                self.equal(term(one), "$", only)

    # ---- INSERT ----

    def read_source(self):
        reference, place = self.into
        if place is None:
            return
        if self.values:
            rows = [split(row, ",") for row in self.values]
            reference.bound = all(place < len(row) and term(row[place]) == "$" for row in rows)
            return
        listed = split(without_distinct(self.selected), ",")
        if place < len(listed) and term(listed[place]) is not None:
            self.equal(reference, term(listed[place]), reference)
        elif any(part[-1:] == ["*"] for part in listed[:place + 1]):
            source = [r for r in self.scope.references if r is not reference]
            if len(source) == 1 and source[0].bound:
                reference.bound = True


def word_at(tokens, i):
    return word(tokens[i]) if i < len(tokens) else ""


def word_before(tokens, i):
    return word(tokens[i - 1]) if i else ""


def without_distinct(tokens):
    if tokens and word(tokens[0]) == "DISTINCT":
        return tokens[3:] if word_at(tokens, 1) == "ON" else tokens[1:]
    return tokens


def end_of_list(tokens):
    for i, token in enumerate(tokens):
        if word(token) == "FROM":
            return i
    return len(tokens)


def term(tokens):
    """"$" for a parameter, the alias for alias.project_id, "" for project_id; None for all else."""
    tokens = list(tokens)
    for i, token in enumerate(tokens):
        if token == "::" or word(token) == "COLLATE":
            tokens = tokens[:i]
            break
    if len(tokens) == 1 and isinstance(tokens[0], str):
        if re.fullmatch(r"\$\d+", tokens[0]):
            return "$"
        return "" if tokens[0] == "project_id" else None
    if len(tokens) == 3 and tokens[1] == "." and tokens[2] == "project_id":
        return tokens[0]
    return None
