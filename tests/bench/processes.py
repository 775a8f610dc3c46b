"""What the bench starts: the servers and the clients, and what they cost."""

import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TICK = os.sysconf("SC_CLK_TCK")
MODEL = "bench"
KEY = "bench-key"

SERVER_CORE = "0"
CLIENT_CORE = "1"
BOTH_CORES = "0,1"


# ---- Processes ----

def find(program, *places):
    """The program's path, or the end with a sentence that says what is missing."""
    found = shutil.which(program) or next((p for place in places for p in glob.glob(place)), None)
    if not found:
        sys.exit(f"{program} is missing: docker/packages.sh bench installs it")
    return found


def free_port(start):
    for port in range(start, 32768):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    sys.exit("no free port below 32768")


class Settings:
    realtime = False  # our processes go before all others of the machine
    others = 0.0      # the most that others have had of it in one measurement since this was reset
    drops = 0         # packets that the loopback device has dropped since then


def may_be_realtime():
    done = subprocess.run(["chrt", "-r", "1", "true"], stderr=subprocess.DEVNULL)
    return done.returncode == 0


def pinned(cores, *command):
    """The database inherits the class from the server."""
    first = ["chrt", "-r", "1"] if Settings.realtime else []
    return [*first, "taskset", "-c", cores, *command]


def children(pid):
    try:
        return [int(word) for word in open(f"/proc/{pid}/task/{pid}/children").read().split()]
    except FileNotFoundError:
        return []


def stat_fields(pid):
    try:
        return [int(word) for word in open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[11:15]]
    except FileNotFoundError:
        return [0, 0, 0, 0]


def cpu_seconds(pids):
    """Of these processes alone."""
    return sum(sum(stat_fields(pid)[:2]) for pid in pids) / TICK


def family_cpu_seconds(pid):
    """Of a process, the children it has and those it had."""
    return sum(stat_fields(pid)) / TICK + cpu_seconds(children(pid)) if pid else 0


def rss_kb(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    return 0


def wait_for_port(port):
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    sys.exit(f"nothing listens on port {port}")


class Process:
    database = None  # the postmaster's pid, where there is one
    alive = []       # all that the bench has started

    def __init__(self, argv, **options):
        self.process = subprocess.Popen(argv, **options)
        self.pid = self.process.pid
        self.pids = [self.pid]
        Process.alive.append(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        Process.alive.remove(self)
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Upstream(Process):
    def __init__(self, programs, tokens, rate, cores=CLIENT_CORE):
        self.port = free_port(21000)
        super().__init__(pinned(cores, f"{programs}/fake_upstream", str(self.port), str(tokens),
                                str(rate)))
        wait_for_port(self.port)


class Nginx(Process):
    """A plain reverse proxy: one worker, no buffering, keep-alive to the upstream."""

    def __init__(self, upstream, folder):
        self.port = free_port(22000)
        config = os.path.join(folder, "nginx.conf")
        with open(config, "w") as file:
            file.write(f"""
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log crit;
worker_rlimit_nofile 20000;
events {{ worker_connections 19000; }}
http {{
    access_log off; keepalive_requests 1000000000; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    upstream model {{ server 127.0.0.1:{upstream.port}; keepalive 512;
                      keepalive_requests 1000000000; }}
    server {{
        listen 127.0.0.1:{self.port} backlog=4096;
        location / {{
            proxy_pass http://model; proxy_http_version 1.1; proxy_set_header Connection "";
            proxy_buffering off; proxy_read_timeout 600s;
        }}
    }}
}}
""")
        super().__init__(pinned(SERVER_CORE, find("nginx", "/usr/sbin/nginx"), "-c", config, "-e",
                                f"{folder}/nginx.log"))
        wait_for_port(self.port)
        self.pids = [self.pid] + self.workers()
        self.idle_kb = sum(rss_kb(pid) for pid in self.pids)

    def workers(self):
        """The master listens before it has made them."""
        deadline = time.monotonic() + 10
        while not children(self.pid):
            if time.monotonic() > deadline:
                sys.exit("nginx made no worker")
            time.sleep(0.02)
        return children(self.pid)


class Runnel(Process):
    """The server with a private cluster in `folder`. The server has `cores`, its database both. With `config`, a file, that
    names the upstreams. `more` is added to the command; a database that it names is not measured."""

    def __init__(self, build, upstream, folder, cores=SERVER_CORE, config=None, more=()):
        self.port = free_port(23000)
        self.folder = folder
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("RUNNEL_")}
        started = time.monotonic()
        super().__init__(
            pinned(cores, f"{build}/runnel", "serve", "--listen", f"127.0.0.1:{self.port}",
                   "--data-dir", folder, *(["--config", str(config)] if config else
                                           ["--upstream-url", f"http://127.0.0.1:{upstream.port}/v1"]),
                   "--api-key", KEY,
                   "--log", "error", "--drain-timeout", "1", "--max-connections", "12000",
                   "--max-connections-per-ip", "12000", "--max-runs", "12000", *more),
            stdout=subprocess.PIPE, text=True, env=environment)
        if not any("curl" in line for line in self.process.stdout):
            sys.exit("runnel did not start")
        self.ready_seconds = time.monotonic() - started
        if "--database-url" not in more:
            self.database = int(open(os.path.join(folder, "pg/postmaster.pid")).readline())
            for pid in [self.database] + children(self.database):
                os.sched_setaffinity(pid, {int(core) for core in BOTH_CORES.split(",")})
        self.idle_kb = rss_kb(self.pid)

    def threads(self):
        return len(os.listdir(f"/proc/{self.pid}/task"))

    def post(self, path, body):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", json.dumps(body).encode(),
            {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"})
        return json.load(urllib.request.urlopen(request))

    def database_command(self, program, *arguments):
        """A client program of PostgreSQL's, on the private cluster."""
        sockets = os.path.join(self.folder, "run")
        if not glob.glob(f"{sockets}/.s.PGSQL.*"):
            sockets = open(os.path.join(self.folder, "pg/postmaster.pid")).read().split("\n")[4]
        command = [find(program, f"/usr/lib/postgresql/*/bin/{program}"), "-h", sockets, "-U",
                   "runnel", *arguments, "runnel"]
        if os.geteuid() == 0:  # the cluster lets in who owns it
            owner = os.stat(os.path.join(self.folder, "pg")).st_uid
            command = ["setpriv", "--reuid", str(owner), "--regid", str(owner), "--clear-groups",
                       *command]
        return command

    def sql(self, text):
        done = subprocess.run(self.database_command("psql", "-qAtX", "-v", "ON_ERROR_STOP=1", "-c",
                                                    text),
                              capture_output=True, text=True, cwd="/")
        if done.returncode:
            sys.exit(f"psql failed: {done.stderr}")
        return done.stdout.strip()


# ---- Load ----

def softnet_drops():
    return sum(int(line.split()[1], 16) for line in open("/proc/net/softnet_stat"))


def machine_seconds():
    """CPU time of all processes of the machine. Not that of interrupts, which is charged to nobody."""
    words = [int(word) for word in open("/proc/stat").readline().split()[1:4]]
    return sum(words) / TICK


def busy_part(seconds=2):
    """What part of the machine is busy while we do nothing."""
    before = machine_seconds()
    time.sleep(seconds)
    return (machine_seconds() - before) / seconds / os.cpu_count()


def our_seconds():
    """CPU time of all that the bench has started, and its own."""
    own = sum(os.times()[:4])
    return own + sum(cpu_seconds(one.pids) + family_cpu_seconds(one.database) for one in Process.alive)


def measure(command, server, count, seconds):
    """Runs the clients; returns their figures with the CPU that the server used meanwhile."""
    drops = softnet_drops()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()  # "measuring": all streams are open
    cpu, database = cpu_seconds(server.pids), family_cpu_seconds(server.database)
    clients = -cpu_seconds([process.pid])
    machine, ours, started = machine_seconds(), our_seconds(), time.monotonic()
    rss = 0
    deadline = started + seconds * 0.9
    while time.monotonic() < deadline and process.poll() is None:
        rss = max(rss, sum(rss_kb(pid) for pid in server.pids))
        time.sleep(0.2)
    process.stdout.readline()  # "measured"
    cpu = cpu_seconds(server.pids) - cpu
    database = family_cpu_seconds(server.database) - database
    clients += cpu_seconds([process.pid])
    others = machine_seconds() - machine - (our_seconds() - ours) - clients
    others /= (time.monotonic() - started) * os.cpu_count()
    result = json.loads(process.stdout.readline())
    process.wait()
    done = max(result["done"], 1)
    result["cpu_us"] = cpu * 1e6 / done
    result["database_us"] = database * 1e6 / done
    result["stream_kb"] = (rss - server.idle_kb) / count
    result["drops"] = softnet_drops() - drops
    Settings.others = max(Settings.others, others)
    Settings.drops += result["drops"]
    return result


def load_streams(programs, server, path, body, count, seconds, folder, kind="streams"):
    """`count` streams at once, on the clients' core. A burst: only until each has its first token."""
    body_path = os.path.join(folder, "body.json")
    with open(body_path, "w") as file:
        json.dump(body, file)
    def command(count, seconds, kind):
        return pinned(CLIENT_CORE, f"{programs}/load", kind, str(server.port), path, body_path,
                      str(count), str(seconds), f"Authorization: Bearer {KEY}")

    # What the first stream brings into memory (code, buffers of connections) is not each stream's.
    subprocess.run(command(1, 0.5, "streams"), stdout=subprocess.DEVNULL, check=True)
    server.idle_kb = sum(rss_kb(pid) for pid in server.pids)
    return measure(command(count, seconds, kind), server, count, seconds)


def as_sent(method, path, body=None):
    """A request as its bytes."""
    text = b"" if body is None else json.dumps(body).encode()
    head = (f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {KEY}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n")
    return head.encode() + text


def load_rounds(programs, server, clients, seconds, folder, cores=CLIENT_CORE):
    """Each client, a list of requests, goes through them again and again."""
    path = os.path.join(folder, "rounds")
    with open(path, "wb") as file:
        file.write(f"{len(clients)} {len(clients[0])}\n".encode())
        for request in (request for client in clients for request in client):
            file.write(f"{len(request)}\n".encode() + request)
    command = pinned(cores, f"{programs}/load", "rounds", str(server.port), path, str(seconds))
    return measure(command, server, len(clients), seconds)
