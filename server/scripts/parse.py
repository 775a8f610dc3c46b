# Reads a module of tools without executing it: its functions, what they take, what they say about themselves. The source
# comes as the standard input, one JSON object goes out. It runs in a box of its own.

import ast
import json
import re
import sys

NAMES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object", "Dict": "object",
         "list": "array", "List": "array", "Sequence": "array", "tuple": "array", "set": "array"}
POLICIES = {"execution": ("auto", "ask-once", "ask-always"), "result": ("never", "on-error", "always")}
LEVELS = {"public": "auto", "moderate": "ask-once", "sensitive": "ask-always"}
SECTIONS = re.compile(r"^(Args|Arguments|Parameters|Returns?|Raises|Yields|Examples?|Notes?):\s*$")
FUNCTIONS, TEXT, PROPERTIES = 64, 4096, 64


class Refused(Exception):
    pass


def simple_name(node):
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None


def is_none(node):
    return isinstance(node, ast.Constant) and node.value is None


def union_of(parts):
    """The schema of several types, and whether None is one of them."""
    kept = [part for part in parts if not is_none(part)]
    return (schema_of(kept[0])[0] if len(kept) == 1 else {"type": "string"}), len(kept) < len(parts)


def subscripted(node):
    name, inner = simple_name(node.value), node.slice
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if name == "Optional":
        return schema_of(inner)[0], True
    if name == "Union":
        return union_of(parts)
    if name == "Annotated":
        return schema_of(parts[0])
    if name == "Literal":
        values = [part.value for part in parts if isinstance(part, ast.Constant)]
        kinds = {NAMES.get(type(value).__name__) for value in values}
        return {"type": kinds.pop() if len(kinds) == 1 else "string", "enum": values}, False
    kind = NAMES.get(name, "string")
    return ({"type": kind, "items": schema_of(parts[0])[0]} if kind == "array" else {"type": kind}), False


def schema_of(node):
    """The JSON Schema of an annotation, and whether the argument may be missing."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return schema_of(ast.parse(node.value, mode="eval").body)
        except SyntaxError:
            return {"type": "string"}, False
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        parts = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            parts.append(node.right)
            node = node.left
        return union_of(parts + [node])
    if isinstance(node, ast.Subscript):
        return subscripted(node)
    return {"type": NAMES.get(simple_name(node), "string")}, False


def sections_of(text):
    """The paragraphs before the first heading, and the lines below each heading."""
    found, name = {"": []}, ""
    for line in (text or "").splitlines():
        heading = SECTIONS.match(line)
        if heading:
            name = heading.group(1)
        found.setdefault(name, [])
        if not heading:
            found[name].append(line)
    return found


def described(lines):
    """From "name (type): text", with further lines below it, to {name: text}."""
    found, name = {}, None
    for line in lines:
        entry = re.match(r"^\s{1,8}\*{0,2}(\w+)[ \t]*(?:(\([^)]*\))[ \t]*)?:\s*(.*)$", line)
        if entry and (name is None or len(line) - len(line.lstrip()) <= depth):
            name, depth = entry.group(1), len(line) - len(line.lstrip())
            found[name] = entry.group(3).strip()
        elif name and line.strip():
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found


def returns_of(function, lines):
    note = " ".join(line.strip() for line in lines if line.strip())
    kind = ast.unparse(function.returns) if function.returns else None
    return {"type": (kind or "any")[:200], "note": note[:TEXT]} if kind or note else None


def parameters_of(function, texts):
    given = function.args
    if given.posonlyargs:
        raise Refused(f"line {function.lineno}: {function.name}() has arguments without a name.")
    plain = list(zip(given.args, [None] * (len(given.args) - len(given.defaults)) + given.defaults))
    properties, required = {}, []
    for argument, default in plain + list(zip(given.kwonlyargs, given.kw_defaults)):
        schema, optional = schema_of(argument.annotation)
        schema["description"] = texts.get(argument.arg, "")[:TEXT] or argument.arg
        if default is not None:
            try:
                value = ast.literal_eval(default)
                json.dumps(value, allow_nan=False)
                if value is not None:
                    schema["default"] = value
            except (ValueError, TypeError, SyntaxError):
                pass
        elif not optional:
            required.append(argument.arg)
        properties[argument.arg] = schema
    if len(properties) > PROPERTIES:
        raise Refused(f"line {function.lineno}: {function.name}() has more than {PROPERTIES} arguments.")
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def constant(node):
    return node.value if isinstance(node, ast.Constant) else None


def policies_of(attributes):
    """The newer attributes count before the older ones. Nothing that executes goes unasked."""
    execution, result = "ask-once", "never"
    if "permissionLevel" in attributes:
        execution = LEVELS.get(constant(attributes["permissionLevel"]), "ask-always")
    if constant(attributes.get("requireExecutionApproval")) is False:
        execution = "ask-once"
    if constant(attributes.get("requireResultApproval")) is True:
        result = "always"
    if "executionPolicy" in attributes:
        value = constant(attributes["executionPolicy"])
        execution = value if value in POLICIES["execution"] else "ask-always"
    if "resultApprovalPolicy" in attributes:
        value = constant(attributes["resultApprovalPolicy"])
        result = value if value in POLICIES["result"] else "always"
    return ("ask-once" if execution == "auto" else execution), result


def tool_of(function, attributes):
    if not re.fullmatch(r"[A-Za-z0-9_]{1,64}", function.name):
        raise Refused(f"line {function.lineno}: a model cannot call a function named '{function.name[:64]}'.")
    sections = sections_of(ast.get_docstring(function))
    arguments = sections.get("Args") or sections.get("Arguments") or sections.get("Parameters") or []
    execution, result = policies_of(attributes)
    tool = {"name": function.name, "description": "\n".join(sections[""]).strip()[:TEXT],
            "parameters": parameters_of(function, described(arguments)),
            "execution_policy": execution, "result_policy": result}
    returns = returns_of(function, sections.get("Returns") or sections.get("Return") or [])
    if returns:
        tool["returns"] = returns
    return tool


def attributes_of(module):
    """f.executionPolicy = "auto" -> {"f": {"executionPolicy": node}}"""
    found = {}
    for statement in module.body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                    found.setdefault(target.value.id, {})[target.attr] = statement.value
    return found


def read(source):
    try:
        module = ast.parse(source)
    except SyntaxError as error:
        raise Refused(f"line {error.lineno}: {error.msg}.") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Refused(f"it cannot be parsed: {str(error)[:200] or type(error).__name__}.") from None
    attributes = attributes_of(module)
    functions = {each.name: each for each in module.body
                 if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)) and not each.name.startswith("_")}
    if not functions:
        raise Refused("it has no function whose name begins without '_'.")
    if len(functions) > FUNCTIONS:
        raise Refused(f"it has more than {FUNCTIONS} functions.")
    return {"rules": (ast.get_docstring(module) or "")[:TEXT],
            "functions": [tool_of(each, attributes.get(name, {})) for name, each in functions.items()]}


try:
    answer = read(sys.stdin.buffer.read().decode("utf-8"))
except Refused as refused:
    answer = {"refused": str(refused)}
except (RecursionError, UnicodeDecodeError) as error:
    answer = {"refused": f"it cannot be parsed: {type(error).__name__}."}
print(json.dumps(answer))
