#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/net/own_address.h"
#include "handlers/handlers.h"
#include "server/config/config.h"
#include "server/config/yaml.h"
#include "tests/support/test.h"

static struct err err;

/* Reads flags, a list that ends with NULL. Returns NULL if they are refused; `err` says why. */
static struct config *read_flags(const char *first, ...)
{
    char *argv[16];
    int argc = 0;
    struct config *config = NULL;
    va_list words;

    memset(&err, 0, sizeof(err));
    va_start(words, first);
    for (const char *word = first; word; word = va_arg(words, const char *))
        argv[argc++] = mem_strdup(word);
    va_end(words);

    char *kept[16];

    memcpy(kept, argv, sizeof(argv));
    if (config_read(argc, argv, &config, &err))
        assert_int_equal(err.code, ERR_INVALID);
    for (int i = 0; i < argc; i++)
        free(kept[i]);
    return config;
}

static void refused(struct config *config, const char *part)
{
    assert_null(config);
    if (!strstr(err.text, part))
        fail_msg("'%s' does not say '%s'", err.text, part);
}

static char *write_file(const char *text)
{
    char *path = mem_strdup("/tmp/runnel-config-XXXXXX");
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    return path;
}

static struct config *read_file(const char *text)
{
    AUTO_FREE char *path = write_file(text);
    struct config *config = read_flags("--config", path, NULL);

    unlink(path);
    return config;
}

TEST(nothing_set_gives_the_documented_defaults)
{
    struct config *config = read_flags(NULL);

    assert_string_equal(config->listen, "127.0.0.1:8080");
    assert_string_equal(config->database_url, "embedded");
    assert_null(config->database_direct_url);
    assert_string_equal(config->data_dir, "./runnel-data");
    assert_null(config->api_key);
    assert_false(config->no_auth);
    assert_true(config->run_expiry == 600 && config->response_timeout == 3600);
    assert_int_equal(config->http_workers, 8);
    assert_true(config->run_loops >= 1);
    assert_int_equal(config->max_body, 10485760);
    assert_int_equal(config->unknown_parameters, UNKNOWN_IGNORE);
    assert_int_equal(config->log, LOG_INFO);
    assert_int_equal(config->upstream_count, 0);
    config_free(config);
}

TEST(a_flag_wins_over_the_environment_and_that_over_the_file)
{
    AUTO_FREE char *path = write_file("run_expiry: 1\nresponse_timeout: 2\ndrain_timeout: 3\n");
    struct config *config;

    setenv("RUNNEL_CONFIG", path, 1);
    setenv("RUNNEL_RESPONSE_TIMEOUT", "20", 1);
    setenv("RUNNEL_RUN_EXPIRY", "10", 1);
    config = read_flags("--run-expiry=100.5", NULL);
    unsetenv("RUNNEL_CONFIG");
    unsetenv("RUNNEL_RESPONSE_TIMEOUT");
    unsetenv("RUNNEL_RUN_EXPIRY");
    unlink(path);
    assert_true(config->run_expiry == 100.5);
    assert_true(config->response_timeout == 20);
    assert_true(config->drain_timeout == 3);
    config_free(config);
}

TEST(variables_of_openai_are_not_read)
{
    struct config *config;

    setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1", 1);
    setenv("OPENAI_API_KEY", "sk-theirs", 1);
    config = read_flags(NULL);
    unsetenv("OPENAI_BASE_URL");
    unsetenv("OPENAI_API_KEY");
    assert_null(config->api_key);
    assert_int_equal(config->upstream_count, 0);
    config_free(config);
}

TEST(dashes_and_underscores_are_the_same_in_flags)
{
    struct config *config = read_flags("--max_body", "2048", "--keep-alive", "3", NULL);

    assert_int_equal(config->max_body, 2048);
    assert_true(config->keep_alive == 3);
    config_free(config);
}

TEST(an_invalid_value_is_refused_with_the_name_of_its_setting)
{
    refused(read_flags("--run-expiry", "soon", NULL), "--run-expiry: not a number: 'soon'");
    refused(read_flags("--run-expiry", "nan", NULL), "--run-expiry");
    refused(read_flags("--http-workers", "0", NULL), "--http-workers: 0 is out of range");
    refused(read_flags("--http-workers", "1.5", NULL), "not a whole number");
    refused(read_flags("--unknown-parameters", "maybe", NULL), "unknown value 'maybe'");
    refused(read_flags("--no-auth=perhaps", NULL), "expected true or false");
    refused(read_flags("--api-key", "with blank", NULL), "api_key must be printable ASCII");
    refused(read_flags("--no-such-thing", "1", NULL), "unknown option: --no-such-thing");
    refused(read_flags("--listen", NULL), "--listen needs a value");
    refused(read_flags("word", NULL), "unexpected argument: word");
    refused(read_flags("--listen", "8080", NULL), "expected address:port");
    refused(read_flags("--listen", "127.0.0.1:99999", NULL), "expected address:port");
    refused(read_flags("--listen", "::1:80", NULL), "[address]:port");
    refused(read_flags("--config", "/nowhere/at.all", NULL), "cannot open /nowhere/at.all");
}

TEST(switches_accept_the_usual_values)
{
    static const char *const words[] = {
        "--no-auth=true",  "--no-auth=on",  "--no-auth=yes", "--no-auth=1", "--no-auth=ON",
        "--no-auth=false", "--no-auth=off", "--no-auth=no",  "--no-auth=0", "--no-auth=No"};

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        struct config *config = read_flags(words[i], NULL);

        assert_non_null(config);
        assert_true(config->no_auth == (i < 5));
        config_free(config);
    }
    refused(read_file("no_auth: maybe\n"), "expected true or false");
    config_free(read_file("sandbox: {roots: [{name: a, path: /a, writable: off}]}\n"));
    config_free(read_file("sandbox: off\n"));
    assert_int_equal(err.code, ERR_OK);
}

TEST(an_invalid_database_url_is_refused)
{
    struct config *config = read_flags("--database-url", "host=/tmp dbname=x", NULL);

    assert_non_null(config);
    config_free(config);
    config = read_flags("--database-url", "postgres://a/b", "--database-direct-url",
                        "postgresql://a:5433/b", NULL);
    assert_non_null(config);
    config_free(config);
    refused(read_flags("--database-url", "nonsense", NULL), "database_url: expected");
    refused(read_flags("--database-url", "http://a/b", NULL), "database_url: expected");
    refused(read_flags("--database-direct-url", "embedded", NULL), "database_direct_url");
}

TEST(the_upstream_url_ends_in_v1)
{
    struct config *config = read_flags("--upstream-url", "http://127.0.0.1:9/v1/", NULL);

    assert_non_null(config);
    config_free(config);
    refused(read_flags("--upstream-url", "http://127.0.0.1:9", NULL), "ends in /v1");
    refused(read_flags("--upstream-url", "http://127.0.0.1:9/v1/chat", NULL), "ends in /v1");
    refused(read_flags("--upstream-url", "http://127.0.0.1:9/xv1", NULL), "ends in /v1");
    config = read_file("upstreams: [{name: a, url: 'http://127.0.0.1:9/v1beta/openai'}]\n");
    assert_non_null(config);
    config_free(config);
}

TEST(no_auth_is_for_loopback_only)
{
    struct config *config = read_flags("--no-auth", "--listen", "[::1]:8080", NULL);

    assert_true(config->no_auth);
    config_free(config);
    refused(read_flags("--no-auth", "--listen", "0.0.0.0:8080", NULL), "loopback");
    refused(read_flags("--no-auth", "--listen", "192.0.2.1:8080", NULL), "loopback");
}

TEST(upstreams_come_from_the_file_and_the_url_serves_the_rest)
{
    struct config *config = read_file("upstream_url: http://127.0.0.1:9001/v1\n"
                                      "upstream_total_timeout: 5\n"
                                      "upstreams:\n"
                                      "  - {name: a, url: 'http://127.0.0.1:9000/v1/', "
                                      "api_key: k, models: [\"gpt-*\", other]}\n"
                                      "  - name: b\n"
                                      "    url: https://b.example/v1\n"
                                      "    models: [b]\n");
    const struct model_upstream *list;

    assert_non_null(config);
    assert_int_equal(config->upstream_count, 3);
    list = config->upstreams;
    assert_string_equal(list[0].url, "http://127.0.0.1:9000/v1");
    assert_string_equal(list[0].api_key, "k");
    assert_string_equal(list[0].models[1], "other");
    assert_null(list[0].models[2]);
    assert_null(list[1].api_key);
    assert_true(list[1].timeouts.total == 5 * NS_PER_SECOND);
    assert_string_equal(list[2].url, "http://127.0.0.1:9001/v1");
    assert_string_equal(list[2].models[0], "*");
    config_add_upstream(config, "more", "http://127.0.0.1:9002/v1");
    assert_int_equal(config->upstream_count, 4);
    assert_string_equal(config->upstreams[0].name, "a");
    assert_string_equal(config->upstreams[3].name, "more");
    config_free(config);
}

TEST(an_unknown_key_of_the_file_is_named_with_its_path)
{
    refused(read_file("run_expire: 3\n"), "unknown key: run_expire");
    refused(read_file("run-expiry: 3\n"), "unknown key: run-expiry");
    refused(read_file("upstreams:\n  - {name: a, url: 'http://a/v1', modells: []}\n"),
            "unknown key: upstreams[0].modells");
    refused(read_file("sandbox: {roots: [{name: a, path: /a, writeable: true}]}\n"),
            "unknown key: sandbox.roots[0].writeable");
    refused(read_file("upstreams:\n  - {name: a}\n"), "upstreams[0]: 'url' is missing");
    refused(read_file("upstreams: {name: a}\n"), "upstreams: expected a list");
    refused(read_file("network: {allow_internal_hosts: [[a]]}\n"),
            "network.allow_internal_hosts[0]: expected a text");
    refused(read_file("listen: [a]\n"), "listen: expected one value");
}

#define DRAWS "upstreams: [{name: art, url: 'http://127.0.0.1:1/v1'}]\n"

TEST(the_image_model_has_an_upstream_and_limits)
{
    struct config *config = read_file(DRAWS "images: {upstream: art, model: draw-1}\n");

    assert_string_equal(config->images.upstream->name, "art");
    assert_string_equal(config->images.model, "draw-1");
    assert_false(config->images.legacy);
    assert_int_equal(config->images.max_bytes, 8 << 20);
    assert_int_equal(config->images.max_pictures, 10);
    assert_int_equal(config->images.calls, 16);
    assert_true(config->images.timeout_seconds == 180);
    config_free(config);
    config = read_file(DRAWS "images: {upstream: art, model: draw-1, dialect: legacy,"
                             " max_bytes: 2048, max_pictures: 1, calls: 2, timeout: 3}\n");
    assert_true(config->images.legacy);
    assert_int_equal(config->images.max_bytes, 2048);
    assert_int_equal(config->images.max_pictures, 1);
    assert_int_equal(config->images.calls, 2);
    assert_true(config->images.timeout_seconds == 3);
    config_free(config);
    refused(read_file(DRAWS "images: {upstream: other, model: a}\n"),
            "images.upstream: there is no upstream 'other'");
    refused(read_file(DRAWS "images: {upstream: art, model: a, dialect: x}\n"),
            "images.dialect");
    refused(read_file(DRAWS "images: {upstream: art, model: a, max_bytes: 1}\n"),
            "images.max_bytes: expected a number from 1024 to 67108864");
    refused(read_file(DRAWS "images: {upstream: art}\n"), "images: 'model' is missing");
}

TEST(a_reranker_has_a_url_and_may_have_a_key_a_model_and_a_dialect)
{
    struct config *config = read_file("rerank: {url: 'http://127.0.0.1:8082/v1//'}\n");

    assert_non_null(config);
    assert_string_equal(config->rerank.url, "http://127.0.0.1:8082/v1");
    assert_null(config->rerank.api_key);
    assert_null(config->rerank.model);
    assert_int_equal(config->rerank.dialect, RERANK_COHERE);
    config_free(config);
    setenv("TEST_RERANK_KEY", "secret", 1);
    config = read_file("rerank: {url: 'https://a.example', api_key_env: TEST_RERANK_KEY,"
                       " model: judge, dialect: tei}\n");
    assert_non_null(config);
    assert_string_equal(config->rerank.api_key, "secret");
    assert_string_equal(config->rerank.model, "judge");
    assert_int_equal(config->rerank.dialect, RERANK_TEI);
    config_free(config);
    setenv("TEST_RERANK_KEY", "in two", 1);
    refused(read_file("rerank: {url: 'https://a.example', api_key_env: TEST_RERANK_KEY}\n"),
            "printable");
    unsetenv("TEST_RERANK_KEY");
    refused(read_file("rerank: {url: 'https://a.example', api_key_env: TEST_RERANK_KEY}\n"),
            "'TEST_RERANK_KEY' is not set");
    refused(read_file("rerank: {url: a.example}\n"), "rerank.url");
    refused(read_file("rerank: {url: 'http://a', dialect: x}\n"), "rerank.dialect");
    refused(read_file("rerank: {model: a}\n"), "rerank: 'url' is missing");
}

TEST(providers_of_web_search_keep_their_order)
{
    struct config *config;

    setenv("TEST_BRAVE_KEY", "secret", 1);
    config = read_file("web_search:\n"
                       "  - {provider: searxng, url: 'http://127.0.0.1:8888', name: ours}\n"
                       "  - {provider: brave, api_key_env: TEST_BRAVE_KEY, timeout: 2}\n");
    assert_non_null(config);
    assert_int_equal(config->web_search.count, 2);
    assert_string_equal(web_provider_name(config->web_search.providers[0]), "ours");
    assert_string_equal(web_provider_name(config->web_search.providers[1]), "brave");
    config_free(config);
    unsetenv("TEST_BRAVE_KEY");
    refused(read_file("web_search: [{provider: brave, api_key_env: TEST_BRAVE_KEY}]\n"),
            "web_search[0]: api_key_env: the environment variable TEST_BRAVE_KEY is not set");
    refused(read_file("web_search: [{provider: bing}]\n"), "web_search[0]: provider: expected");
    refused(read_file("web_search: [{url: 'http://a'}]\n"), "'provider' is missing");
    refused(read_file("web_search: [{provider: searxng, api_key: k}]\n"), "unknown key");
}

TEST(internal_hosts_are_exact_pairs)
{
    struct config *config =
        read_file("network: {allow_internal_hosts: [\"127.0.0.1:9000\", \"tools:80\"]}\n");

    assert_non_null(config);
    assert_int_equal(config->egress.open_count, 2);
    assert_true(egress_is_open(&config->egress, "http://tools/mcp"));
    assert_false(egress_is_open(&config->egress, "http://tools:81/mcp"));
    config_free(config);
    refused(read_file("network: {allow_internal_hosts: [\"a:1\", localhost]}\n"),
            "network.allow_internal_hosts[1]: expected host:port, not 'localhost'");
}

TEST(masks_are_read_with_their_paths)
{
    struct config *config = read_file(
        "hooks: {before_send: [{pattern: \"a+\", replacement: b, flags: i}, {pattern: c}]}\n");

    assert_non_null(config);
    assert_non_null(config->masks);
    config_free(config);
    refused(read_file("hooks: {before_send: [{pattern: a}, {pattern: \"(\"}]}\n"),
            "hooks.before_send[1].pattern: invalid regular expression");
    refused(read_file("hooks: {before_send: [{replacement: a}]}\n"),
            "hooks.before_send[0]: 'pattern' is missing");
    refused(read_file("hooks: {before_send: [{pattern: a, replace: b}]}\n"),
            "unknown key: hooks.before_send[0].replace");
    refused(read_file("hooks: {after_send: []}\n"), "unknown key: hooks.after_send");
}

TEST(mcp_servers_of_the_operator_are_checked)
{
    struct config *config = read_file(
        "mcp_servers:\n"
        "  - {name: a, url: \"http://tools/mcp\", internal: true, description: A.,\n"
        "     authorization: t, headers: {X-A: b}, allowed_tools: {read_only: true},\n"
        "     require_approval: {never: {read_only: true}}}\n"
        "  - {name: b, url: \"https://b.example:81/mcp\", internal: false}\n"
        "  - {name: c, command: [x], environment: {A: b}}\n");
    const struct mcp_named *servers;

    assert_non_null(config);
    servers = config->mcp.servers;
    assert_int_equal(config->mcp.count, 3);
    assert_string_equal(servers[0].authorization, "t");
    assert_true(egress_is_open(&servers[0].egress, "http://tools/other"));
    assert_false(egress_is_open(&config->egress, "http://tools/mcp"));
    assert_true(json_is_true(json_object_get(servers[0].allowed_tools, "read_only")));
    assert_false(egress_is_open(&servers[1].egress, servers[1].url));
    assert_string_equal(servers[2].url, "stdio:c");
    assert_int_equal(servers[2].memory, 512 << 20);
    config_free(config);

    refused(read_file("mcp_servers: [{url: \"http://a/\"}]\n"),
            "mcp_servers[0]: 'name' is missing");
    refused(read_file("mcp_servers: [{name: a, urls: x}]\n"),
            "unknown key: mcp_servers[0].urls");
    refused(read_file("mcp_servers: [{name: a, url: \"ftp://a/\"}]\n"), "mcp_servers[0].url: ");
    refused(read_file("mcp_servers: [{name: a}, {name: a}]\n"),
            "mcp_servers[1]: there are two servers named 'a'");
    refused(
        read_file("mcp_servers: [{name: a, authorization_env: RUNNEL_NOT_THERE}]\n"),
        "mcp_servers[0].authorization_env: the environment variable RUNNEL_NOT_THERE is not "
        "set");
    refused(read_file("mcp_servers: [{name: a, require_approval: nevr}]\n"),
            "mcp_servers[0].require_approval");
    refused(read_file("mcp_servers: [{name: a, allowed_tools: {tool_name: [x]}}]\n"),
            "mcp_servers[0].allowed_tools.tool_name");
    refused(read_file("mcp_servers: [{name: a, headers: {Host: x}}]\n"),
            "'Host' is not a header");
    refused(read_file("mcp_servers: [{name: a, internal: maybe}]\n"),
            "mcp_servers[0].internal: expected true or false");
}

TEST(sections_of_later_features_are_accepted)
{
    struct config *config =
        read_file("mcp_servers: []\n"
                  "tools: {groups: {}, permissions: {}}\n"
                  "network: {allow_internal_hosts: [\"127.0.0.1:9000\"]}\n"
                  "sandbox: {roots: [{name: shared, path: /srv/shared, writable: false}]}\n");

    assert_non_null(config);
    config_free(config);
}

/* F80: the section `tools`, with an exact message for each typing error. */
TEST(every_value_of_the_tools_section_is_checked)
{
    struct config *config = read_file(
        "tools:\n"
        "  groups: {vars: on, basic: {enabled: true, tools: {text: no}}}\n"
        "  permissions: {basic/text: {execution: auto}, basic: {autoExecute: off}}\n");
    const json_t *groups;

    assert_non_null(config);
    groups = json_object_get(config->tools, "groups");
    assert_true(json_is_true(json_object_get(groups, "vars")));
    assert_true(json_is_false(
        json_object_get(json_object_get(json_object_get(groups, "basic"), "tools"), "text")));
    config_free(config);
    refused(read_file("tools: {groups: {basics: true}}\n"),
            "tools.groups: there is no tool group 'basics'");
    refused(read_file("tools: {groups: {basic: yep}}\n"),
            "tools.groups.basic: expected true or false");
    refused(read_file("tools: {groups: {basic: [text]}}\n"),
            "tools.groups.basic: expected true or false");
    refused(read_file("tools: {groups: [basic]}\n"), "tools.groups: expected keys and values");
    refused(read_file("tools: {groups: {basic: {enable: true}}}\n"),
            "unknown key: tools.groups.basic.enable");
    refused(read_file("tools: {groups: {basic: {enabled: maybe}}}\n"),
            "tools.groups.basic.enabled: expected true or false");
    refused(read_file("tools: {groups: {basic: {tools: {texts: false}}}}\n"),
            "tools.groups.basic.tools: the tool group 'basic' has no tool 'texts'");
    refused(read_file("tools: {groups: {basic: {tools: {text: 2}}}}\n"),
            "tools.groups.basic.tools.text: expected true or false");
    refused(read_file("tools: {groups: {basic: {tools: [text]}}}\n"),
            "tools.groups.basic.tools: expected keys and values");
    refused(read_file("tools: {permissions: {basic/texts: {}}}\n"),
            "tools.permissions: there is no tool 'basic/texts'");
    refused(read_file("tools: {permissions: {basic/text: {autoExecute: maybe}}}\n"),
            "tools.permissions.basic/text.autoExecute");
    refused(read_file("tools: {permissions: {basic/text: {execution: ask}}}\n"),
            "tools.permissions.basic/text.execution");
}

TEST(an_invalid_file_is_refused_with_the_line)
{
    refused(read_file("a: [\n"), ":");
    refused(read_file("- a\n"), "expected 'key: value' lines");
    refused(read_file("listen: \"127.0.0.1:1\"\nlisten: \"127.0.0.1:2\"\n"),
            ":2: 'listen' is given twice");
}

TEST(yaml_aliases_cannot_make_an_endless_tree)
{
    /* Each list has the one before it ten times: a few bytes of YAML describe a billion nodes. */
    refused(
        read_file("tools: {groups: [&a [1,2,3,4,5,6,7,8,9,0],\n"
                  "&b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a], &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b],\n"
                  "&d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c], &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]]}\n"),
        "too deep, or too long");
    refused(read_file("tools: &self {groups: *self}\n"), "too deep, or too long");
}

TEST(an_empty_file_sets_nothing)
{
    struct config *config = read_file("# nothing\n");

    assert_non_null(config);
    config_free(config);
}

TEST(the_servers_own_address_is_refused_as_upstream)
{
    assert_true(own_address("127.0.0.1", "8080", "http://127.0.0.1:8080/v1"));
    assert_true(own_address("127.0.0.1", "8080", "http://localhost:8080/v1"));
    assert_true(own_address("0.0.0.0", "8080", "http://127.0.0.1:8080/v1"));
    assert_true(own_address("0.0.0.0", "8080", "http://127.0.0.2:8080/v1"));
    assert_true(own_address("0.0.0.0", "8080", "http://127.255.3.4:08080/v1"));
    assert_true(own_address("::", "8080", "http://127.0.0.2:8080/v1"));
    assert_true(own_address("::", "8080", "http://[::ffff:127.0.0.2]:8080/v1"));
    assert_true(own_address("0.0.0.0", "8080", "http://user:pw@127.0.0.1:8080"));
    assert_true(own_address("127.0.0.1", "8080", "http://0.0.0.0:8080/v1"));
    assert_true(own_address("::1", "8080", "http://[::1]:8080/v1"));
    assert_true(own_address("127.0.0.1", "80", "http://127.0.0.1/v1"));
    assert_false(own_address("127.0.0.1", "8080", "http://127.0.0.1:8081/v1"));
    assert_false(own_address("127.0.0.1", "8080", "http://127.0.0.2:8080/v1"));
    assert_false(own_address("127.0.0.1", "80", "https://127.0.0.1/v1"));
    refused(read_flags("--upstream-url", "http://localhost:8080/v1", NULL), "own address");
    refused(read_flags("--upstream-url", "ftp://localhost/v1", NULL), "http://");
}

TEST(a_host_header_is_checked_for_this_machine)
{
    static const char *const local[] = {"localhost",      "LocalHost:8080", "127.0.0.1",
                                        "127.9.8.7:8080", "[::1]",          "[::1]:8080"};
    static const char *const strange[] = {"rebound.example",
                                          "rebound.example:8080",
                                          "localhost.rebound.example",
                                          "127.0.0.1.rebound.example",
                                          "192.0.2.1",
                                          "[2001:db8::1]:8080",
                                          "[::1",
                                          "[::1].rebound.example",
                                          "0.0.0.0",
                                          "",
                                          ":8080"};

    for (size_t i = 0; i < COUNT_OF(local); i++)
        assert_true(own_address_is_local_name(local[i]));
    for (size_t i = 0; i < COUNT_OF(strange); i++)
        assert_false(own_address_is_local_name(strange[i]));
}

TEST(the_printed_table_names_every_default)
{
    char text[32768] = "";
    FILE *file = fmemopen(text, sizeof(text), "w");

    config_print_settings(file);
    (void)fclose(file);
    assert_non_null(strstr(text, "| `run_expiry` | `600` |"));
    assert_non_null(strstr(text, "| `upstream_url` | none: the demo model |"));
    assert_null(strstr(text, "(null)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_set_gives_the_documented_defaults),
        cmocka_unit_test(a_flag_wins_over_the_environment_and_that_over_the_file),
        cmocka_unit_test(variables_of_openai_are_not_read),
        cmocka_unit_test(dashes_and_underscores_are_the_same_in_flags),
        cmocka_unit_test(an_invalid_value_is_refused_with_the_name_of_its_setting),
        cmocka_unit_test(switches_accept_the_usual_values),
        cmocka_unit_test(an_invalid_database_url_is_refused),
        cmocka_unit_test(the_upstream_url_ends_in_v1),
        cmocka_unit_test(no_auth_is_for_loopback_only),
        cmocka_unit_test(upstreams_come_from_the_file_and_the_url_serves_the_rest),
        cmocka_unit_test(an_unknown_key_of_the_file_is_named_with_its_path),
        cmocka_unit_test(the_image_model_has_an_upstream_and_limits),
        cmocka_unit_test(a_reranker_has_a_url_and_may_have_a_key_a_model_and_a_dialect),
        cmocka_unit_test(providers_of_web_search_keep_their_order),
        cmocka_unit_test(internal_hosts_are_exact_pairs),
        cmocka_unit_test(masks_are_read_with_their_paths),
        cmocka_unit_test(mcp_servers_of_the_operator_are_checked),
        cmocka_unit_test(sections_of_later_features_are_accepted),
        cmocka_unit_test(every_value_of_the_tools_section_is_checked),
        cmocka_unit_test(an_invalid_file_is_refused_with_the_line),
        cmocka_unit_test(yaml_aliases_cannot_make_an_endless_tree),
        cmocka_unit_test(an_empty_file_sets_nothing),
        cmocka_unit_test(the_servers_own_address_is_refused_as_upstream),
        cmocka_unit_test(a_host_header_is_checked_for_this_machine),
        cmocka_unit_test(the_printed_table_names_every_default),
    };

    handlers_register();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
