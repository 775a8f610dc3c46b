/*
 * config.c -- one table of settings, and the four sources of their values.
 *
 * A row of the table is everything that the program knows about a setting: its name, type, bounds,
 * default and help. The flag, the environment variable, the key of the file, `runnel settings` and
 * the table in the manual all follow from the row, so they cannot disagree. Another way is a parser
 * for each source, and then a setting is forgotten in one of them.
 *
 * A value is text in every source and one function parses it (set_value()). So a setting accepts the
 * same texts as a flag, in the environment and in the file, and a default is checked like any other
 * value.
 *
 * Sources are applied from the weakest to the strongest, each over the one before: defaults, file,
 * environment, flags. Environment and flags are read twice, because they say which file it is.
 *
 * What does not fit on one line is a section of the file: a list of upstreams, of servers, of masks.
 * The form of a section is checked in yaml.c, its meaning in the file that reads it. The members of
 * struct config that come from sections point into the tree of the file, which therefore lives as long
 * as the struct (struct config_whole).
 *
 * After that come the checks of several values together: checks.c.
 *
 * All of it runs once, at start, on one thread. Nothing is reloaded: a server takes new settings with
 * a restart, which other nodes cover (serve.c). A reload would make every reader ask which version of
 * a setting it has.
 */

#include "server/config/config.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/memory/variable_memory.h"
#include "core/model/mask.h"
#include "core/net/proxy/domain.h"
#include "core/sandbox/workspace/operator_roots.h"
#include "core/sandbox/workspace/workspace_path.h"
#include "server/config/checks.h"
#include "server/config/upstreams.h"
#include "server/config/whole.h"
#include "server/config/yaml.h"

enum kind {
    KIND_TEXT,
    KIND_SECONDS, /* decimals allowed */
    KIND_COUNT,   /* also "cores" */
    KIND_BYTES,
    KIND_SWITCH, /* true or false, on or off ...; the flag alone means true */
    KIND_WORD,   /* one of `words`; the value is its index */
};

struct setting {
    const char *name;
    enum kind kind;
    size_t offset;
    const char *fallback; /* NULL: none */
    double min, max;
    const char *const *words;
    const char *shown; /* in the manual, instead of the fallback */
    const char *help;
};

static const char *const unknown_words[] = {"ignore", "reject", NULL};
static const char *const unavailable_words[] = {"skip", "reject", NULL};
static const char *const storage_words[] = {"auto", "dir", "database", "s3", NULL};
static const char *const ocr_words[] = {"off", "tesseract", "upstream", NULL};
static const char *const engine_words[] = {"builtin", "pgvector", NULL};
static const char *const sandbox_words[] = {"auto", "off", "bwrap", NULL};
static const char *const copies_words[] = {"cited", "all", NULL};
static const char *const history_words[] = {"native", "compact", NULL};
static const char *const log_words[] = {"debug", "info", "warn", "error", "off", NULL};

#define AT(field) offsetof(struct config, field)
#define DAY       86400.0
#define MIB       1048576.0

/* clang-format off */
static const struct setting settings[] = {
    {"config",           KIND_TEXT, AT(config),       NULL, 0, 0, NULL, "none", "the YAML file"},
    {"listen",           KIND_TEXT, AT(listen),       "127.0.0.1:8080", 0, 0, NULL, NULL, "address and port of the API; port 0 takes a free one"},
    {"database_url",     KIND_TEXT, AT(database_url), "embedded", 0, 0, NULL, NULL, "libpq URL, or `embedded` for a private cluster in `data_dir`"},
    {"database_direct_url", KIND_TEXT, AT(database_direct_url), NULL, 0, 0, NULL, "`database_url`", "for LISTEN and migrations when the main URL goes through a pooler"},
    {"data_dir",         KIND_TEXT, AT(data_dir),     "./runnel-data", 0, 0, NULL, NULL, "embedded cluster, file bytes, workspaces, `node_id`, `api_key`"},
    {"upstream_url",     KIND_TEXT, AT(upstream_url), NULL, 0, 0, NULL, "none: the demo model", "base URL of a Chat Completions server, ending in `/v1`"},
    {"upstream_api_key", KIND_TEXT, AT(upstream_api_key), NULL, 0, 0, NULL, "none", "its key"},
    {"api_key",          KIND_TEXT, AT(api_key),      NULL, 0, 0, NULL, "made once, kept in `data_dir/api_key`", "key of the default project, any text without blanks; stored hashed"},
    {"no_auth",          KIND_SWITCH, AT(no_auth),    "false", 0, 0, NULL, NULL, "no keys at all; only on a loopback address"},

    {"file_storage",     KIND_WORD, AT(file_storage), "auto", 0, 0, storage_words, NULL, "where the bytes of new files lie: `dir`, `database`, `s3` (the section `files`), or `auto`: `dir` with a private cluster, else `database`"},
    {"files_dir",        KIND_TEXT, AT(files_dir), NULL, 0, 0, NULL, "`data_dir/files`", "the directory for `dir`; several servers may share one"},
    {"max_file",         KIND_BYTES, AT(max_file), "536870912", 1024, 1048576 * MIB, NULL, NULL, "bytes of an uploaded file; beyond, 413"},
    {"max_upload",       KIND_BYTES, AT(max_upload), "8589934592", 1024, 1048576 * MIB, NULL, NULL, "bytes of a file that is uploaded in parts"},
    {"max_upload_part",  KIND_BYTES, AT(max_upload_part), "67108864", 1024, 1048576 * MIB, NULL, NULL, "bytes of a part; beyond, 413"},
    {"max_project_bytes", KIND_BYTES, AT(max_project_bytes), "0", 0, 1073741824 * MIB, NULL, NULL, "bytes of all files of a project, and of what vector stores index of them; beyond, 400; 0 for no limit"},

    {"file_workers",     KIND_COUNT, AT(file_workers), "2", 1, 64, NULL, NULL, "threads that read files of requests; as many write uploaded bytes to their place, read them for downloads, and join the parts of uploads"},
    {"ingest_workers",   KIND_COUNT, AT(ingest_workers), "2", 1, 64, NULL, NULL, "threads that make files of vector stores searchable"},
    {"ingest_deadline",  KIND_SECONDS, AT(ingest_deadline), "86400", 1, 30 * DAY, NULL, NULL, "until a file of a vector store ends `failed` that could not be worked on"},
    {"search_workers",   KIND_COUNT, AT(search_workers), "cores", 1, 256, NULL, NULL, "threads that search vector stores for requests"},
    {"file_search_tokens", KIND_COUNT, AT(file_search_tokens), "16000", 100, 1000000, NULL, NULL, "tokens of passages that one search shows the model"},
    {"search_timeout",   KIND_SECONDS, AT(search_timeout), "10", 0.05, 600, NULL, NULL, "until a search of vector stores ends with 503; without its wait for a worker and without the rewriting of queries"},
    {"segment_cache",    KIND_BYTES, AT(segment_cache), "8589934592", 0, 1048576 * MIB, NULL, NULL, "bytes in `data_dir/cache` of what searches have read before"},
    {"ocr",              KIND_WORD, AT(ocr), "off", 0, 0, ocr_words, NULL, "what reads scanned pages and pictures: `tesseract` of the package `tesseract-ocr`, `upstream` for the model of the [section](documents.md#scans) `ocr`, or nothing"},
    {"ocr_languages",    KIND_TEXT, AT(ocr_languages), "eng", 0, 0, NULL, NULL, "languages of scans, as Tesseract names them: `eng+chi_sim+deu`, each of a package `tesseract-ocr-...`"},
    {"retrieval_engine", KIND_WORD, AT(retrieval_engine), "builtin", 0, 0, engine_words, NULL, "where the vectors of documents are: `builtin`, in indexes that each node keeps; `pgvector`, in a table of the database, which needs that extension; a change embeds all documents anew"},

    {"run_expiry",       KIND_SECONDS, AT(run_expiry),       "600",  1, 30 * DAY, NULL, NULL, "until an unfinished Assistants run expires"},
    {"response_timeout", KIND_SECONDS, AT(response_timeout), "3600", 1, 30 * DAY, NULL, NULL, "until a running response ends `failed`"},
    {"upstream_connect_timeout",    KIND_SECONDS, AT(upstream_connect_timeout),    "10",   0.01, DAY, NULL, NULL, "until an upstream must have accepted"},
    {"upstream_first_byte_timeout", KIND_SECONDS, AT(upstream_first_byte_timeout), "300",  0.01, DAY, NULL, NULL, "until it must have begun to answer"},
    {"upstream_idle_timeout",       KIND_SECONDS, AT(upstream_idle_timeout),       "60",   0.01, DAY, NULL, NULL, "longest silence within an answer"},
    {"upstream_total_timeout",      KIND_SECONDS, AT(upstream_total_timeout),      "1800", 0.01, DAY, NULL, NULL, "until the answer must be complete"},
    {"tool_timeout",     KIND_SECONDS, AT(tool_timeout),     "300", 0.01, DAY, NULL, NULL, "wall clock of one server-side tool call"},
    {"run_regex_time",   KIND_SECONDS, AT(run_regex_time),   "10", 0.01, DAY, NULL, NULL, "processor time of all regular expressions that the tools of one run search with; one call has 2 s of it at most"},

    {"http_workers",     KIND_COUNT, AT(http_workers),  "8",     1, 256, NULL, NULL, "threads that read requests"},
    {"run_loops",        KIND_COUNT, AT(run_loops),     "cores", 1, 256, NULL, NULL, "event loops that carry runs and streams"},
    {"tool_workers",     KIND_COUNT, AT(tool_workers),  "16",    1, 1024, NULL, NULL, "threads that run tools"},
    {"web_calls",        KIND_COUNT, AT(web_calls),     "64",    1, 1024, NULL, NULL, "calls that wait for pages of the web or for searches in it, beside those of `tool_workers`; of 64, one project has 48 at most; beyond, they wait"},
    {"store_writers",    KIND_COUNT, AT(store_writers), "2",     1, 64, NULL, NULL, "threads that write what runs produce"},
    {"store_timeout",    KIND_SECONDS, AT(store_timeout), "10", 0.05, 600, NULL, NULL, "until a silent database counts as away"},

    {"sse_ping_interval", KIND_SECONDS, AT(sse_ping_interval), "15", 0.05, DAY, NULL, NULL, "between keep-alive comments of a silent stream, and words of one that waits for approvals"},
    {"stream_buffer",    KIND_BYTES, AT(stream_buffer), "4194304", 4096, 1024 * MIB, NULL, NULL, "bytes kept for a client that reads slower than its run writes; beyond, it is cut off"},
    {"stream_buffers",   KIND_BYTES, AT(stream_buffers), "536870912", 4096, 1048576 * MIB, NULL, NULL, "bytes kept for all such clients; beyond, the one with the most is cut off"},
    {"stream_stall_timeout", KIND_SECONDS, AT(stream_stall_timeout), "60", 0.05, DAY, NULL, NULL, "until a client that takes nothing of what is waiting for it is cut off"},
    {"websocket_age",    KIND_SECONDS, AT(websocket_age), "3600", 0.05, DAY, NULL, NULL, "until a WebSocket must be opened anew"},
    {"websocket_lanes",  KIND_COUNT, AT(websocket_lanes), "16", 1, 1024, NULL, NULL, "responses at once on one WebSocket"},
    {"websocket_memory", KIND_BYTES, AT(websocket_memory), "268435456", 0, 1048576 * MIB, NULL, NULL, "bytes of past responses that all WebSockets of this node remember"},
    {"websocket_workers", KIND_COUNT, AT(websocket_workers), "4", 1, 256, NULL, NULL, "threads that read what comes over WebSockets"},
    {"event_retention",  KIND_SECONDS, AT(event_retention), "86400", 1, 3650 * DAY, NULL, NULL, "log of a resumable run after its end"},
    {"log_flush_max",    KIND_SECONDS, AT(log_flush_max), "0.2", 0.025, 10, NULL, NULL, "between two flushes of the event log of a resumable run, when more than 250 such runs stream at once; fewer are flushed each 25 ms"},
    {"idempotency_grace", KIND_SECONDS, AT(idempotency_grace), "60", 0, DAY, NULL, NULL, "until a foreground response with an Idempotency-Key is cancelled that no client waits for"},
    {"lease_ttl",        KIND_SECONDS, AT(lease_ttl),       "15", 0.5, 3600, NULL, NULL, "until the runs of a node that fell silent are taken over"},
    {"drain_timeout",    KIND_SECONDS, AT(drain_timeout),   "25", 0, 3600, NULL, NULL, "on SIGTERM: how long streams and turns of the model may go on"},

    {"max_body",         KIND_BYTES, AT(max_body),   "10485760", 1024, 1024 * MIB, NULL, NULL, "bytes of a request body"},
    {"max_form",         KIND_BYTES, AT(max_form),   "67108864", 1024, 1048576 * MIB, NULL, NULL, "bytes of a form that is passed through to a model; kept on disk meanwhile"},
    {"max_header",       KIND_BYTES, AT(max_header), "12288", 512, 12288, NULL, NULL, "bytes of request line and headers"},
    {"loaded_files",     KIND_BYTES, AT(loaded_files), "268435456", 1024, 1048576 * MIB, NULL, NULL, "bytes of files that requests to models hold until their answers begin, all requests together; more wait in turn, and a project that has some gets more only while half as much as it then has stays free"},
    {"max_waiting_files", KIND_COUNT, AT(max_waiting_files), "1000", 1, 1000000, NULL, NULL, "requests of one project that wait for that room; beyond, 429"},
    {"max_bodies",       KIND_BYTES, AT(max_bodies), "1073741824", 1024, 1048576 * MIB, NULL, NULL, "bytes of all bodies being read or worked on; beyond, 503"},
    {"header_timeout",   KIND_SECONDS, AT(header_timeout), "10", 0.05, 3600, NULL, NULL, "until the headers of a request must have come"},
    {"body_timeout",     KIND_SECONDS, AT(body_timeout),   "60", 0.05, 3600, NULL, NULL, "until its body must have come"},
    {"keep_alive",       KIND_SECONDS, AT(keep_alive),     "75", 0.05, 3600, NULL, NULL, "how long an idle connection stays open"},
    {"max_connections",  KIND_COUNT, AT(max_connections), "16384", 1, 1000000, NULL, NULL, "connections at once; beyond, 503"},
    {"max_connections_per_ip", KIND_COUNT, AT(max_connections_per_ip), "1024", 0, 1000000, NULL, NULL, "of one address, loopback excepted; beyond, 429; 0 for no limit"},
    {"max_connection_requests", KIND_COUNT, AT(max_connection_requests), "10000", 0, 1000000000, NULL, NULL, "requests of one connection, which then ends; 0 for no limit"},
    {"max_runs",         KIND_COUNT, AT(max_runs), "10000", 1, 1000000, NULL, NULL, "runs at work at once on this node; beyond, they wait in a queue"},
    {"max_runs_per_project", KIND_COUNT, AT(max_runs_per_project), "10000", 1, 1000000, NULL, NULL, "runs at work at once of one project on this node"},
    {"max_held_per_project", KIND_COUNT, AT(max_held_per_project), "100", 1, 1000000, NULL, NULL, "of these, responses that wait for approvals with their requests open (`hold`, `webhook`); beyond, they suspend at once"},
    {"max_waiting_runs", KIND_COUNT, AT(max_waiting_runs), "10000", 1, 1000000, NULL, NULL, "runs in that queue; beyond, 429"},
    {"max_run_bytes",    KIND_BYTES, AT(max_run_bytes), "1073741824", 1024, 1048576 * MIB, NULL, NULL, "bytes of the conversations of all runs on this node; beyond, 429"},
    {"max_rounds",       KIND_COUNT, AT(max_rounds), "10", 1, 1000, NULL, NULL, "rounds of tool calls of a run, in a row without its client; `runnel.rounds.max` of a request says otherwise"},
    {"max_calls",        KIND_COUNT, AT(max_calls),  "0", 0, 1000000, NULL, NULL, "tool calls of a run that the server executes; 0 for no limit"},
    {"chain_cache",      KIND_BYTES, AT(chain_cache), "67108864", 0, 1048576 * MIB, NULL, NULL, "bytes of histories of responses that this node remembers, so that `previous_response_id` does not read them again; 0 for none"},
    {"max_items",        KIND_COUNT, AT(max_items), "20000", 1, 1000000, NULL, NULL, "items of history that one run may read"},

    {"sandbox",          KIND_WORD, AT(sandbox), "auto", 0, 0, sandbox_words, NULL, "`auto`: commands are executed if this machine can [confine](sandbox.md) them; `bwrap`: the server does not start if it cannot; `off`"},
    {"sandbox_containers", KIND_COUNT, AT(sandbox_containers), "64", 1, 240, NULL, NULL, "boxes alive at once on this node; beyond, the one unused longest is stopped, and its files stay"},
    {"sandbox_calls",    KIND_COUNT, AT(sandbox_calls), "64", 1, 1024, NULL, NULL, "calls that execute code at once on this node, beside those of `tool_workers`; beyond, they wait"},
    {"sandbox_calls_per_container", KIND_COUNT, AT(sandbox_calls_per_container), "8", 1, 64, NULL, NULL, "of these, calls in one box"},
    {"sandbox_memory",   KIND_BYTES, AT(sandbox_memory), "0", 0, 1048576 * MIB, NULL, NULL, "bytes that all boxes together may have, each counted with its limit; 0 for half of the machine's memory"},
    {"sandbox_cpus",     KIND_COUNT, AT(sandbox_cpus), "1", 1, 256, NULL, NULL, "processors that programs in a box see"},
    {"sandbox_processes", KIND_COUNT, AT(sandbox_processes), "256", 16, 65536, NULL, NULL, "processes and threads of a box"},
    {"sandbox_tmp",      KIND_BYTES, AT(sandbox_tmp), "268435456", MIB, 65536 * MIB, NULL, NULL, "bytes of `/tmp`, and of `/dev/shm`, of a box"},
    {"sandbox_exec_timeout", KIND_SECONDS, AT(sandbox_exec_timeout), "120", 0.05, DAY, NULL, NULL, "wall clock of one command or cell that names no time of its own"},
    {"sandbox_exec_max", KIND_SECONDS, AT(sandbox_exec_max), "600", 0.05, DAY, NULL, NULL, "the most that it may name"},
    {"sandbox_output",   KIND_BYTES, AT(sandbox_output), "1048576", 1024, 1024 * MIB, NULL, NULL, "bytes kept of the output of a command or cell; beyond, the middle is left out, and it goes on"},
    {"sandbox_uids",     KIND_COUNT, AT(sandbox_uids), "1900000000", 1000, 4294000000, NULL, NULL, "user id of boxes when root runs the server; the 65535 after it are kept for more of them"},
    {"sandbox_containers_per_project", KIND_COUNT, AT(sandbox_containers_per_project), "256", 0, 1000000, NULL, NULL, "[containers](containers.md) of a project that have not expired; beyond, 429; 0 for no limit"},
    {"sandbox_memory_max", KIND_BYTES, AT(sandbox_memory_max), "4294967296", 1024 * MIB, 65536 * MIB, NULL, NULL, "bytes of the largest `memory_limit` that a request may name for a container"},
    {"sandbox_idle",     KIND_SECONDS, AT(sandbox_idle), "1200", 1, 30 * DAY, NULL, NULL, "until a container expires that is not used; no request may ask for longer"},
    {"sandbox_disk",     KIND_BYTES, AT(sandbox_disk), "1073741824", MIB, 1048576 * MIB, NULL, NULL, "bytes of the files of a container"},
    {"sandbox_files",    KIND_COUNT, AT(sandbox_files), "20000", 10, 10000000, NULL, NULL, "files, folders and links of a container"},
    {"sandbox_disk_reserve", KIND_BYTES, AT(sandbox_disk_reserve), "1073741824", 0, 1048576 * MIB, NULL, NULL, "bytes of the disk of `data_dir` that files of containers leave free"},
    {"sandbox_copies",   KIND_WORD, AT(sandbox_copies), "cited", 0, 0, copies_words, NULL, "files of containers that are also kept in `file_storage`, where other servers find them: `cited`, the pictures that code draws and the files that a stored response names; `all`, also files of at most 32 MiB that a call makes or changes, 256 MiB of a container"},
    {"history",          KIND_WORD, AT(history), "native", 0, 0, history_words, NULL, "how the model sees tool calls of earlier turns: `native`, or `compact` as a text; `runnel.history` of a request overrides it"},

    {"unknown_parameters", KIND_WORD, AT(unknown_parameters), "ignore", 0, 0, unknown_words, NULL, "or `reject`; inside a `runnel` object, in tools of type `mcp`, in forms, and where variables, settings of tools or answers to approvals are sent, they are always rejected"},
    {"unavailable_tools", KIND_WORD, AT(unavailable_tools), "skip", 0, 0, unavailable_words, NULL, "tools of a request that this server cannot execute: `skip` leaves them out, unless `tool_choice` needs one; `reject` refuses the request"},
    {"cors_origins",     KIND_TEXT, AT(cors_origins), NULL, 0, 0, NULL, "none", "origins of browser clients, separated by commas, or `*`"},
    {"log",              KIND_WORD, AT(log), "info", 0, 0, log_words, NULL, "`debug`, `info`, `warn`, `error` or `off`; JSON lines on stderr, text on a terminal"},
};
/* clang-format on */

static void *field_of(struct config *config, const struct setting *setting)
{
    return (char *)config + setting->offset;
}

/* ---- One value ---- */

/* Every number is read as a double, which holds all bounds of the table exactly. */
static enum err_code parse_number(const struct setting *setting, const char *origin,
                                  const char *text, double *ret_number, struct err *err)
{
    char *end;
    double number = strtod(text, &end);

    if (end == text || *end || !isfinite(number))
        return err_set(err, ERR_INVALID, "%s: not a number: '%.64s'", origin, text);
    if (number < setting->min || number > setting->max)
        return err_set(err, ERR_INVALID, "%s: %s is out of range (%.15g to %.15g)", origin,
                       text, setting->min, setting->max);
    if (setting->kind != KIND_SECONDS && number != floor(number))
        return err_set(err, ERR_INVALID, "%s: not a whole number: '%.64s'", origin, text);
    *ret_number = number;
    return ERR_OK;
}

/* The cores that this process may use. A container may have fewer than the machine. */
static unsigned count_cores(void)
{
    cpu_set_t cores;

    if (sched_getaffinity(0, sizeof(cores), &cores))
        return 1;
    return (unsigned)CPU_COUNT(&cores);
}

static enum err_code set_number(struct config *config, const struct setting *setting,
                                const char *origin, const char *text, struct err *err)
{
    double number = 0;
    enum err_code rc;

    if (setting->kind == KIND_COUNT && strcmp(text, "cores") == 0) {
        *(unsigned *)field_of(config, setting) = count_cores();
        return ERR_OK;
    }
    rc = parse_number(setting, origin, text, &number, err);
    if (rc)
        return rc;
    if (setting->kind == KIND_SECONDS)
        *(double *)field_of(config, setting) = number;
    else if (setting->kind == KIND_COUNT)
        *(unsigned *)field_of(config, setting) = (unsigned)number;
    else
        *(size_t *)field_of(config, setting) = (size_t)number;
    return ERR_OK;
}

static enum err_code set_switch(struct config *config, const struct setting *setting,
                                const char *origin, const char *text, struct err *err)
{
    if (!config_switch_parse(text, field_of(config, setting)))
        return err_set(err, ERR_INVALID, "%s: expected true or false, not '%.64s'", origin,
                       text);
    return ERR_OK;
}

static enum err_code set_word(struct config *config, const struct setting *setting,
                              const char *origin, const char *text, struct err *err)
{
    for (int i = 0; setting->words[i]; i++) {
        if (strcmp(setting->words[i], text) == 0) {
            *(int *)field_of(config, setting) = i;
            return ERR_OK;
        }
    }
    return err_set(err, ERR_INVALID, "%s: unknown value '%.64s'", origin, text);
}

/* `origin` names the source of the text in messages. An empty text unsets a KIND_TEXT. */
static enum err_code set_value(struct config *config, const struct setting *setting,
                               const char *origin, const char *text, struct err *err)
{
    char **field = field_of(config, setting);

    switch (setting->kind) {
    case KIND_TEXT:
        free(*field);
        *field = *text ? mem_strdup(text) : NULL;
        return ERR_OK;
    case KIND_SECONDS:
    case KIND_COUNT:
    case KIND_BYTES: return set_number(config, setting, origin, text, err);
    case KIND_SWITCH: return set_switch(config, setting, origin, text, err);
    case KIND_WORD: return set_word(config, setting, origin, text, err);
    }
    return ERR_OK;
}

/* ---- The four sources ---- */

static enum err_code set_fallbacks(struct config *config, struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        const struct setting *setting = &settings[i];
        enum err_code rc;

        if (!setting->fallback)
            continue;
        rc = set_value(config, setting, setting->name, setting->fallback, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* Dashes and underscores are the same in flags: --run-expiry, --run_expiry. */
static bool same_name(const char *name, const char *word, size_t length)
{
    if (strlen(name) != length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (name[i] != (word[i] == '-' ? '_' : word[i]))
            return false;
    return true;
}

static const struct setting *find_setting(const char *word, size_t length)
{
    for (size_t i = 0; i < COUNT_OF(settings); i++)
        if (same_name(settings[i].name, word, length))
            return &settings[i];
    return NULL;
}

/* One flag with its value, which may be the next argument. *i is then moved to it. */
static enum err_code read_flag(struct config *config, int argc, char **argv, int *i,
                               struct err *err)
{
    const char *flag = argv[*i];
    const char *word = flag + 2;
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    const struct setting *setting = find_setting(word, length);
    AUTO_FREE char *origin = mem_printf("--%.*s", (int)length, word);

    if (!setting)
        return err_set(err, ERR_INVALID, "unknown option: %.*s", (int)length + 2, flag);
    if (equals)
        return set_value(config, setting, origin, equals + 1, err);
    if (setting->kind == KIND_SWITCH)
        return set_value(config, setting, origin, "true", err);
    if (*i + 1 >= argc)
        return err_set(err, ERR_INVALID, "%s needs a value", origin);
    return set_value(config, setting, origin, argv[++*i], err);
}

/* Arguments that are not flags are moved to the front of argv, in their order. */
static enum err_code read_flags(struct config *config, int argc, char **argv, int *ret_words,
                                struct err *err)
{
    *ret_words = 0;
    for (int i = 0; i < argc; i++) {
        enum err_code rc;

        if (strncmp(argv[i], "--", 2) != 0) {
            argv[(*ret_words)++] = argv[i];
            continue;
        }
        rc = read_flag(config, argc, argv, &i, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* An empty variable counts as unset: compose files and shells make them by accident. */
static enum err_code read_variable(struct config *config, const struct setting *setting,
                                   struct err *err)
{
    AUTO_FREE char *name = mem_printf("RUNNEL_%s", setting->name);
    const char *value;

    for (char *c = name; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    value = getenv(name);
    if (!value || !*value)
        return ERR_OK;
    return set_value(config, setting, name, value, err);
}

static enum err_code read_environment(struct config *config, struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        enum err_code rc = read_variable(config, &settings[i], err);

        if (rc)
            return rc;
    }
    return ERR_OK;
}

static enum err_code read_file_value(struct config *config, const char *name, json_t *value,
                                     struct err *err)
{
    const struct setting *setting = find_setting(name, strlen(name));
    AUTO_FREE char *origin = mem_printf("%s: %s", config->config, name);

    if (!setting || strcmp(name, "config") == 0 || strchr(name, '-'))
        return err_set(err, ERR_INVALID, "%s: unknown key: %.64s", config->config, name);
    if (json_is_null(value))
        return ERR_OK;
    if (!json_is_string(value))
        return err_set(err, ERR_INVALID, "%s: expected one value", origin);
    return set_value(config, setting, origin, json_string_value(value), err);
}

/* A key of the file is a section or a setting. `sandbox` and `ocr` are both: a text is the setting. The section `ocr`
 * also sets it, and flags and the environment still win. */
static enum err_code read_file_key(struct config *config, const char *name, json_t *value,
                                   struct err *err)
{
    struct err why = {0};
    enum err_code rc = config_section_check(name, value, &why);

    if (rc == ERR_NOT_FOUND || (json_is_string(value) && find_setting(name, strlen(name))))
        return read_file_value(config, name, value, err);
    if (rc)
        return err_set(err, rc, "%s: %s", config->config, why.text);
    if (strcmp(name, "ocr") == 0)
        config->ocr = OCR_UPSTREAM;
    return ERR_OK;
}

static enum err_code read_file(struct config *config, struct err *err)
{
    const char *name;
    json_t *value;
    enum err_code rc;

    if (!config->config)
        return ERR_OK;
    rc = config_yaml_read(config->config, &config_whole_of(config)->file, err);
    if (rc)
        return rc;
    json_object_foreach (config_whole_of(config)->file, name, value) {
        rc = read_file_key(config, name, value, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* A flag or the environment names the file, and both win over it. So both are read twice: once to find the
 * file, and once to win. The first reading works on a copy of argv, because read_flags() reorders it. */
static enum err_code read_all_places(struct config *config, int argc, char **argv,
                                     int *ret_words, struct err *err)
{
    enum err_code rc = set_fallbacks(config, err);

    if (!rc)
        rc = read_environment(config, err);
    if (rc)
        return rc;

    AUTO_FREE char **words = mem_new_array(char *, (size_t)argc + 1);

    memcpy(words, argv, (size_t)argc * sizeof(*argv));
    rc = read_flags(config, argc, words, ret_words, err);
    if (!rc)
        rc = read_file(config, err);
    if (!rc)
        rc = read_environment(config, err);
    if (!rc)
        rc = read_flags(config, argc, argv, ret_words, err);
    return rc;
}

struct tenant_limits config_tenant_limits(const struct config *config)
{
    return (struct tenant_limits){.runs = config->max_runs_per_project,
                                  .held = config->max_held_per_project,
                                  .variable_bytes = VARIABLE_PROJECT_LIMIT};
}

/* The rules point into the tree of the file. */
static enum err_code build_egress(struct config *config, struct err *err)
{
    struct config_whole *whole = config_whole_of(config);
    const json_t *network = json_object_get(whole->file, "network");
    const json_t *list = json_object_get(network, "allow_internal_hosts");
    size_t i;
    json_t *pair;

    whole->open = mem_new_array(const char *, json_array_size(list) + 1);
    json_array_foreach (list, i, pair) {
        struct err why;

        whole->open[i] = json_string_value(pair);
        if (egress_pair_check(whole->open[i], &why))
            return err_set(err, ERR_INVALID, "network.allow_internal_hosts[%zu]: %s", i,
                           why.text);
    }
    config->egress =
        (struct egress_rules){.open = whole->open, .open_count = json_array_size(list)};
    return ERR_OK;
}

static enum err_code read_domains(struct config *config, struct err *err)
{
    const json_t *section = json_object_get(config_whole_of(config)->file, "sandbox");
    size_t i;
    json_t *domain;

    config->sandbox_domains =
        json_object_get(json_object_get(section, "network"), "allowed_domains");
    json_array_foreach (config->sandbox_domains, i, domain) {
        if (!domain_is_pattern(json_string_value(domain)))
            return err_set(err, ERR_INVALID,
                           "sandbox.network.allowed_domains[%zu]: expected a host name, or "
                           "'*.' before one, not '%.128s'",
                           i, json_string_value(domain));
    }
    return ERR_OK;
}

static bool is_root_name(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");

    return length && length <= WORKSPACE_ROOT_NAME_LIMIT && !name[length];
}

/* Whether they are there, is seen when they are opened. */
static enum err_code read_roots(struct config *config, struct err *err)
{
    const json_t *section = json_object_get(config_whole_of(config)->file, "sandbox");
    size_t i;
    json_t *root;

    config->sandbox_roots = json_object_get(section, "roots");
    if (json_array_size(config->sandbox_roots) > OPERATOR_ROOTS_LIMIT)
        return err_set(err, ERR_INVALID, "sandbox.roots: there are more than %zu",
                       OPERATOR_ROOTS_LIMIT);
    json_array_foreach (config->sandbox_roots, i, root) {
        const char *name = json_get_string(root, "name", "");

        if (!is_root_name(name))
            return err_set(
                err, ERR_INVALID,
                "sandbox.roots[%zu].name: expected at most %zu small letters, digits "
                "and hyphens, not '%.64s'",
                i, WORKSPACE_ROOT_NAME_LIMIT, name);
        if (*json_get_string(root, "path", "") != '/')
            return err_set(err, ERR_INVALID, "sandbox.roots[%zu].path: expected a path from /",
                           i);
        for (size_t n = 0; n < i; n++) {
            if (strcmp(json_get_string(json_array_get(config->sandbox_roots, n), "name", ""),
                       name) == 0)
                return err_set(err, ERR_INVALID, "sandbox.roots: '%s' is there twice", name);
        }
    }
    return ERR_OK;
}

static enum err_code find_rewrite_model(struct config *config, struct err *err)
{
    const json_t *section = json_object_get(config_whole_of(config)->file, "rewrite");

    config->rewrite_model = json_get_string(section, "model", NULL);
    if (!config->rewrite_model)
        return ERR_OK;
    config->rewrite_upstream =
        model_upstream_find(config->upstreams, config->upstream_count, config->rewrite_model);
    if (config->rewrite_upstream)
        return ERR_OK;
    return err_set(err, ERR_INVALID, "rewrite.model: no upstream serves '%.64s'",
                   config->rewrite_model);
}

/* ---- Entry points ---- */

enum err_code config_read_some(int argc, char **argv, int *ret_argc, struct config **ret_config,
                               struct err *err)
{
    struct config *config = &mem_new(struct config_whole)->config;
    enum err_code rc = read_all_places(config, argc, argv, ret_argc, err);

    if (!rc) {
        config_upstreams_add_setting(config);
        config_upstreams_build(config);
        rc = build_egress(config, err);
    }
    if (!rc)
        rc = read_domains(config, err);
    if (!rc)
        rc = read_roots(config, err);
    if (!rc)
        rc = config_mcp_read(json_object_get(config_whole_of(config)->file, "mcp_servers"),
                             &config->egress, &config->mcp, err);
    if (!rc)
        rc = config_webhooks_read(
            json_object_get(config_whole_of(config)->file, "approval_webhooks"),
            &config->egress, &config->webhooks, err);
    if (!rc)
        rc = config_files_read(json_object_get(config_whole_of(config)->file, "files"),
                               &config->files, err);
    if (!rc)
        rc = config_rerank_read(json_object_get(config_whole_of(config)->file, "rerank"),
                                &config->rerank, err);
    if (!rc)
        rc =
            config_web_search_read(json_object_get(config_whole_of(config)->file, "web_search"),
                                   &config->web_search, err);
    if (!rc)
        rc = config_embeddings_read(
            json_object_get(config_whole_of(config)->file, "embeddings"), config->upstreams,
            config->upstream_count, &config->embeddings, err);
    if (!rc)
        rc =
            config_images_read(json_object_get(config_whole_of(config)->file, "images"),
                               config->upstreams, config->upstream_count, &config->images, err);
    if (!rc)
        config_retrieval_read(json_object_get(config_whole_of(config)->file, "retrieval"),
                              &config->retrieval);
    if (!rc)
        rc =
            config_ocr_read(json_object_get(config_whole_of(config)->file, "ocr"),
                            config->upstreams, config->upstream_count, &config->ocr_model, err);
    if (!rc)
        rc = find_rewrite_model(config, err);
    if (!rc)
        rc = config_check(config, err);
    if (rc) {
        config_free(config);
        return rc;
    }
    *ret_config = config;
    return ERR_OK;
}

enum err_code config_read(int argc, char **argv, struct config **ret_config, struct err *err)
{
    struct config *config = NULL;
    int words;
    enum err_code rc = config_read_some(argc, argv, &words, &config, err);

    if (rc)
        return rc;
    if (words) {
        config_free(config);
        return err_set(err, ERR_INVALID, "unexpected argument: %.64s", argv[0]);
    }
    *ret_config = config;
    return ERR_OK;
}

void config_free(struct config *config)
{
    if (!config)
        return;
    for (size_t i = 0; i < COUNT_OF(settings); i++)
        if (settings[i].kind == KIND_TEXT)
            free(*(char **)field_of(config, &settings[i]));
    free(config->upstreams);
    free(config_whole_of(config)->patterns);
    free(config_whole_of(config)->open);
    masks_free(config->masks);
    config_mcp_clear(&config->mcp);
    config_webhooks_clear(&config->webhooks);
    config_rerank_clear(&config->rerank);
    config_retrieval_clear(&config->retrieval);
    config_web_search_clear(&config->web_search);
    permission_set_clear(&config->permissions);
    json_decref(config_whole_of(config)->file);
    free(config_whole_of(config));
}

void config_print_settings(FILE *file)
{
    (void)fputs("| setting | default | |\n|---|---|---|\n", file);
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        const struct setting *setting = &settings[i];

        (void)fprintf(file, "| `%s` | ", setting->name);
        if (setting->shown)
            (void)fprintf(file, "%s", setting->shown);
        else
            (void)fprintf(file, "`%s`", setting->fallback);
        (void)fprintf(file, " | %s |\n", setting->help);
    }
}
