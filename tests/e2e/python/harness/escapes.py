"""The list of tries to get out of a sandbox, 80 rows, and what each of them is tried with.

A native row is a function of tests/support/box_tries.c, which runs in a box by itself (test_escape.c) and through each
way here. A command is a script for bash that runs through each way. All others need the server: test_escape.py has a
test for each."""

import dataclasses
import re

# The ways by which a model's commands come into a box.
WAYS = ["bash", "python", "shell"]


SHORT, LONG = 0.4, 60


@dataclasses.dataclass
class Command:
    number: int
    what: str
    script: str
    ends: str = "."  # what the output must have, as a regular expression
    seconds: float = 0  # of its timeout, which ends most of them

    def __post_init__(self):
        self.seconds = self.seconds or SHORT


# The process of the box that the first process has started for this command.
SUPERVISOR = r"""
p=$$
while :; do
    read -r line < /proc/$p/stat; set -- ${line##*) }
    [ "$2" = 1 ] && break
    p=$2
done
"""

ANY = "(?s).*"
FULL = "workspace is full"

COMMANDS = [
    Command(44, "a fork bomb", "bomb() { bomb | bomb & }; bomb 2>/dev/null; wait; sleep 987", ANY),
    Command(45, "daemons that forked twice", "(setsid sh -c \"trap '' TERM HUP INT; sleep 987 & (sleep 987 &) ; sleep 987\" &)"
            "; sleep 987", ANY),
    Command(47, "kill all processes", "kill -9 -1; sleep 987", ANY),
    Command(48, "kill the supervisor", f"{SUPERVISOR}\nsetsid sleep 987 & kill -9 $p; sleep 987", ANY),
    Command(49, "stop all processes", "kill -STOP -1; sleep 987 & sleep 987", ANY),
    Command(49, "stop supervisors in a loop", f"{SUPERVISOR}\nfor i in 1 2 3; do (trap '' TERM; while :; do "
            "kill -STOP $p 2>/dev/null; done) & done; while :; do kill -STOP $p 2>/dev/null; done", ANY),
    Command(51, "a farm of zombies", "for i in $(seq 40); do (exit 0) & done; exec sleep 987", ANY),
    Command(53, "all signals are ignored", "trap '' TERM INT HUP QUIT USR1; while :; do sleep 987; done", ANY),
    Command(55, "3 GiB that are shared", "exec python3 -c 'import mmap\nm = mmap.mmap(-1, 3 << 30)\n"
            "for at in range(0, 3 << 30, 4096): m[at] = 1\nprint(\"had \" + \"it\")'", "(?s)^(?!.*had it).*", LONG),
    Command(58, "bytes without end", "for i in $(seq 40); do head -c 20M /dev/zero > fill-$i || break; done; sleep 987",
            FULL, LONG),
    Command(59, "a million files", "i=0; while :; do : > many-$((i++)); done 2>/dev/null", FULL, LONG),
    Command(61, "output without end", "yes", "(?s)^.{100,3000000}$"),
    Command(62, "output that is no text", r"head -c 100000 /dev/urandom; printf 'a\0\377\376\303\033[2J\033]0;x\007';"
            "head -c 2000000 /dev/zero | tr '\\0' a; printf '\\360\\237'", ANY, LONG),
    Command(63, "output that is closed", "exec >&- 2>&-; sleep 987", ANY),
    Command(64, "loops on all processors", "for i in 1 2 3 4; do (while :; do :; done) & done; wait", ANY),
]

# The box goes on, and how many processes of a try are left in it.
AFTER = """
rm -rf fill-* many-*; n=0; last=7
for p in /proc/[0-9]*; do
    [[ $(tr '\\0' ' ' < $p/cmdline 2>/dev/null) == *98$last* ]] && n=$((n + 1))
done
echo alive $n
"""

# Rows that a test of its own has.
SERVER = {8: "rename race against file tools", 9: "link swap race", 10: "FIFO as a file to read",
          12: "sparse file read by a tool", 13: "10,000-deep directory, removal", 14: "odd names",
          15: "file replaced between plan and run", 18: "mount point swapped for a link before a box starts",
          19: "case of SKILL.md twice in a zip", 20: "zip with .., absolute, link, bomb", 22: "other project's container id",
          23: "files with names of the server's own", 61: "a client that does not read", 65: "the disk's reserve",
          68: "internal addresses through the proxy", 69: "DNS rebinding, redirects, mapped and decimal addresses",
          70: "ports of other services", 71: "two meanings of a head", 76: "domain of a suffix",
          78: "two containers side by side", 79: "kill of each process", 80: "script swapped after its approval"}


def native_rows(source):
    """The numbers of the table in box_tries.c."""
    return {int(number) for number in re.findall(r'^    \{(\d+),\s+"', source, re.M)}
