"""driver.py -- the Python of a container: runs cells in one namespace, one after the other.

python.c starts it with its program as descriptor 4, and talks to it on descriptor 3, a SOCK_SEQPACKET socket:

    to the driver      8 bytes, the number of a cell, with a descriptor of its code; or "a": the figure was taken
    to the server      "F" and a file's name in FIGURES: a figure, and the cell waits until it was taken
                       "f" and a name: the same, and it does not wait
                       "B": a cell begins, so that it can be interrupted
                       "E", the number of a cell, and how it ended: "d" done, "r" raised, "i" interrupted

Output is written to descriptors 1 and 2, which are one pipe. The cell waits after a figure so that the server knows
what was printed before it.

The code of cells shares this process, and can do to it what it likes. Only modules that every Python loads at its start
are imported here: each further one would cost milliseconds before the first cell.
"""

import _ast, _signal, _socket, _thread, builtins, io, os, sys  # noqa: E401
from _frozen_importlib_external import PathFinder

FIGURES = "/mnt/data/.figures"
COROUTINE = 0x80  # inspect.CO_COROUTINE
TREE = _ast.PyCF_ONLY_AST | _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT

channel = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, 3)
process = os.getpid()
main_thread = _thread.get_ident()
driver = sys.modules["__main__"]
main = type(sys)("__main__")
sources = {}  # of each cell, by the name that tracebacks show
running = False
figures = 0


def interrupt(_number, _frame):
    if running:
        raise KeyboardInterrupt


# ---- Figures ----


def announce(name):
    waits = running and _thread.get_ident() == main_thread and os.getpid() == process
    sys.stdout.flush()
    channel.send((b"F" if waits else b"f") + name.encode())
    while waits and channel.recv(16) != b"a":
        pass


def save_picture(png):
    global figures
    os.makedirs(FIGURES, exist_ok=True)
    while True:
        figures += 1
        name = f"{figures}.png"
        try:
            with open(f"{FIGURES}/{name}", "xb") as file:
                file.write(png)
            break
        except FileExistsError:  # of an earlier process
            continue
    announce(name)


def save_figure(figure):
    png = io.BytesIO()
    figure.savefig(png, format="png", bbox_inches="tight")
    save_picture(png.getvalue())


def save_figures():
    """Saves what is open in pyplot, and closes it."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if not helpers:
        return
    try:
        for manager in helpers.Gcf.get_all_fig_managers():
            save_figure(manager.canvas.figure)
    finally:
        helpers.Gcf.destroy_all()


class PyplotFinder:
    """Finds matplotlib.pyplot as Python does, and replaces its show() after it was loaded."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        spec = PathFinder.find_spec(name, path, target) if name == "matplotlib.pyplot" else None
        if spec:
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                module.show = lambda *_arguments, **_options: save_figures()

            spec.loader.exec_module = exec_module
        return spec


# ---- Values ----


def show_picture(value):
    """False: it has no picture."""
    figure = sys.modules.get("matplotlib.figure")
    if figure and isinstance(value, figure.Figure):
        save_figure(value)
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close(value)
        return True
    make = getattr(type(value), "_repr_png_", None)
    png = make(value) if make else None
    png = png[0] if isinstance(png, tuple) else png
    if isinstance(png, bytes):
        save_picture(png)
    return isinstance(png, bytes)


def display(*values, **_options):
    for value in values:
        if not show_picture(value):
            print(value if isinstance(value, str) else repr(value))


def show_value(value):
    if value is not None:
        main._ = value
        if not show_picture(value):
            print(repr(value))


# ---- Cells ----


def shell(command):
    """A line that begins with an exclamation mark."""
    sys.stdout.flush()
    child = os.posix_spawn("/bin/bash", ["bash", "-c", command], os.environ, setsigdef=[_signal.SIGPIPE])
    os.waitpid(child, 0)


def replace_line(code, number):
    """The code without what only notebooks understand in this line; None: it is Python, or wrong."""
    lines = code.split("\n")
    if not number or number > len(lines):
        return None
    line = lines[number - 1].lstrip()
    indent = lines[number - 1][: len(lines[number - 1]) - len(line)]
    if line.startswith(("!", "%pip ")):
        lines[number - 1] = f"{indent}__shell__({line[1:]!r})"
    elif line.startswith("%matplotlib"):
        lines[number - 1] = f"{indent}pass"
    else:
        return None
    return "\n".join(lines)


def parse(code, name):
    while True:
        try:
            return compile(code, name, "exec", TREE)
        except SyntaxError as error:
            replaced = replace_line(code, error.lineno)
            if replaced is None:
                raise
            code = replaced


def evaluate(tree, name, mode):
    code = compile(tree, name, mode, _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    value = eval(code, main.__dict__)
    if code.co_flags & COROUTINE:
        import asyncio

        value = asyncio.run(value)
    return value


def run(code, name):
    tree = parse(code, name)
    last = tree.body[-1] if tree.body else None
    is_value = isinstance(last, _ast.Expr)
    if is_value:
        tree.body.pop()
    evaluate(tree, name, "exec")
    if is_value:
        value = evaluate(_ast.Expression(last.value), name, "eval")
        if not code.rstrip().endswith(";"):
            show_value(value)
    save_figures()


def leave_out_driver(shown, seen):
    """An error as it is printed, and those behind it: from the cell on."""
    if shown is None or id(shown) in seen:
        return
    seen.add(id(shown))
    if shown.stack is not None:
        shown.stack[:] = [frame for frame in shown.stack if frame.filename != __file__]
        shown.stack = shown.stack or None
    for other in (shown.__cause__, shown.__context__, *(getattr(shown, "exceptions", None) or ())):
        leave_out_driver(other, seen)


def report(error):
    import linecache
    import traceback

    for name, code in sources.items():
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    shown = traceback.TracebackException.from_exception(error)
    leave_out_driver(shown, set())
    sys.stderr.write("".join(shown.format()))


def attempt(code, name):
    """Runs a cell, and says how it ended."""
    try:
        run(code, name)
    except SystemExit as error:
        if error.code not in (None, 0):
            print(error.code, file=sys.stderr)
    except KeyboardInterrupt as error:
        report(error)
        return b"i"
    except BaseException as error:
        report(error)
        return b"r"
    return b"d"


def take_cell():
    while True:
        message, extra, _, _ = channel.recvmsg(16, _socket.CMSG_SPACE(4))
        if not message:
            os._exit(0)
        if len(message) == 8 and extra:  # what else comes is for a cell that has ended
            with open(int.from_bytes(extra[0][2][:4], sys.byteorder), encoding="utf-8", errors="replace") as file:
                return message, file.read()


def finish():
    """Puts back what a cell may have changed. False: this is a copy of the process, made by a cell."""
    if os.getpid() != process:
        return False
    for name in ("stdout", "stderr"):
        if getattr(getattr(sys, name), "closed", True):
            number = 1 if name == "stdout" else 2
            setattr(sys, name, open(number, "w", buffering=1, encoding="utf-8", closefd=False))
    sys.stdout.flush()
    return True


def serve():
    global running
    while True:
        number, code = take_cell()
        name = f"<cell {int.from_bytes(number, 'little')}>"
        sources[name] = code
        end = b"r"
        try:
            _signal.signal(_signal.SIGINT, interrupt)
            running = True
            channel.send(b"B")
            end = attempt(code, name)
            running = False
        except BaseException:  # while an error was printed
            running = False
        try:
            if not finish():
                os._exit(0)
        except BaseException:  # their streams
            pass
        channel.send(b"E" + number + end)


os.close(4)
os.set_inheritable(3, False)
sys.modules["__main__"] = main
sys.meta_path.insert(0, PyplotFinder)
sys.path.append("")  # the workspace; last, so that a file there does not hide a module
sys.argv = [""]
main.display = display
builtins.__shell__ = shell
serve()
