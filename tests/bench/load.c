/*
 * load -- the clients of the bench.
 *
 *   load streams PORT PATH BODY COUNT SECONDS [HEADER]
 *   load burst   PORT PATH BODY COUNT SECONDS [HEADER]
 *   load rounds  PORT FILE SECONDS
 *
 * `streams` opens COUNT connections with a stream on each, and reads for SECONDS once all are open and
 * have settled. The time that the upstream wrote into each token ("@<nanoseconds> ") gives the
 * latency, one way, through all servers in between. BODY is a file.
 *
 * `burst` does the same with all connections and requests at once. It measures from each request to its
 * first token, and ends when each has one, SECONDS later at the latest.
 *
 * `rounds` has a number of clients, each with a connection and requests of its own. A client sends its
 * requests one after another, again and again: the next one when the one before is answered, in
 * full or by a stream to its end. FILE begins with the number of clients and the number of requests of
 * each. Then come all requests as they are sent, each after its length. The results are the times of
 * whole rounds, and those from a request to the first token of its answer.
 *
 * Prints "measuring" when it begins and "measured" when it ends, so that run.py reads the CPU time of
 * the servers at the same moments, and then the result as one line of JSON.
 *
 * One thread, one epoll. Answers are searched for a few bytes and not parsed: a client that parsed them
 * would need more CPU than the server under test.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SAMPLE_LIMIT (1u << 22)
#define READ_SIZE    65536
#define TAIL_SIZE    64 /* bytes of a token that two reads may cut */
#define HEAD_SIZE    4096
#define OPEN_AT_ONCE 64
#define SETTLE_NS    1500000000u /* for connections, prepared statements and caches */
/* Rounds that begin together would stay in step. */
#define SPREAD_NS       3000000u /* between two clients */
#define SPREAD_LEAST_NS 500000000u

/* The end of a body that is sent in chunks. */
static const char last_chunk[] = "\r\n0\r\n\r\n";
#define LAST_CHUNK (sizeof(last_chunk) - 1)

struct request {
    char *bytes;
    size_t length;
};

struct client {
    int fd;
    bool open; /* a first byte of the answer has come */
    bool broken;
    size_t tail_length;
    char tail[TAIL_SIZE];

    /* Rounds: */
    struct request *requests; /* of one round */
    int next;                 /* the request after the present one */
    uint64_t begun_ns;        /* of the round */
    uint64_t asked_ns;        /* of the request */
    char *head;
    size_t head_length; /* so far */
    bool head_read;
    bool token_seen;
    bool chunked;
    size_t left; /* of the body, if it has a length */
};

struct samples {
    uint32_t *us;
    size_t count;
};

static struct client *clients;
static int count, opened, broken;
static int steps = 1;          /* requests of a round */
static struct samples samples; /* latencies of tokens, or of rounds */
static struct samples firsts;  /* rounds: until the first token */
static uint64_t tokens, rounds, bad_answers;
static struct request request; /* streams: of all clients */
static int epoll_fd;
static uint64_t measure_from;
static bool streaming, bursting;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void add_sample(struct samples *to, uint64_t ns, uint64_t now)
{
    if (measure_from && now >= measure_from && to->count < SAMPLE_LIMIT)
        to->us[to->count++] = (uint32_t)(ns / 1000);
}

/* ---- Making the requests ---- */

static FILE *open_file(const char *path)
{
    FILE *file = fopen(path, "r");

    if (!file) {
        perror(path);
        exit(1);
    }
    return file;
}

static void make_request(const char *path, const char *body_path, const char *header)
{
    FILE *file = open_file(body_path);
    char *body = malloc(1 << 20);
    size_t length = fread(body, 1, 1 << 20, file);

    fclose(file);
    request.bytes = malloc(length + 4096);
    request.length = (size_t)snprintf(request.bytes, 4096,
                                      "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                                      "Content-Type: application/json\r\n%s%s"
                                      "Content-Length: %zu\r\n\r\n",
                                      path, header ? header : "", header ? "\r\n" : "", length);
    memcpy(request.bytes + request.length, body, length);
    request.length += length;
    free(body);
}

static void read_request(FILE *file, struct request *ret_request)
{
    size_t length;

    if (fscanf(file, "%zu", &length) != 1 || fgetc(file) != '\n') {
        fprintf(stderr, "the file with the requests is broken\n");
        exit(1);
    }
    ret_request->bytes = malloc(length + 1);
    ret_request->length = fread(ret_request->bytes, 1, length, file);
}

static void read_rounds(const char *path)
{
    FILE *file = open_file(path);

    if (fscanf(file, "%d %d", &count, &steps) != 2 || count < 1 || steps < 1)
        exit(1);
    clients = calloc((size_t)count, sizeof(*clients));
    for (int i = 0; i < count; i++) {
        clients[i].head = malloc(HEAD_SIZE + 1);
        clients[i].requests = calloc((size_t)steps, sizeof(struct request));
        for (int step = 0; step < steps; step++)
            read_request(file, &clients[i].requests[step]);
    }
    fclose(file);
}

/* ---- Connections ---- */

static void connect_client(struct client *client, unsigned short port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
    int on = 1;

    client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client->fd < 0 || connect(client->fd, (struct sockaddr *)&address, sizeof(address))) {
        client->broken = true;
        broken++;
        return;
    }
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, client->fd, &event);
}

static void ask(struct client *client)
{
    const struct request *next = streaming ? &request : &client->requests[client->next];

    client->asked_ns = now_ns();
    if (client->next == 0)
        client->begun_ns = client->asked_ns;
    client->next = (client->next + 1) % steps;
    client->head_length = client->tail_length = 0;
    client->head_read = client->token_seen = false;
    if (send(client->fd, next->bytes, next->length, MSG_NOSIGNAL) != (ssize_t)next->length) {
        client->broken = true;
        broken++;
    }
}

static void lose(struct client *client)
{
    client->broken = true;
    broken++;
    close(client->fd);
}

/* ---- Streams ---- */

static void find_tokens(struct client *client, const char *bytes, size_t length, uint64_t now)
{
    static char joined[READ_SIZE + TAIL_SIZE];
    const char *at = joined, *end;
    size_t total = client->tail_length + length;

    memcpy(joined, client->tail, client->tail_length);
    memcpy(joined + client->tail_length, bytes, length);
    end = joined + total;
    while ((at = memchr(at, '@', (size_t)(end - at)))) {
        uint64_t sent = 0;
        const char *digit = at + 1;

        while (digit < end && *digit >= '0' && *digit <= '9')
            sent = sent * 10 + (uint64_t)(*digit++ - '0');
        if (digit == end)
            break; /* cut: wait for the rest */
        at = digit;
        if (sent < 1000000000u)
            continue;
        tokens++;
        add_sample(&samples, now > sent ? now - sent : 0, now);
    }
    client->tail_length = 0;
    if (at && end - at < TAIL_SIZE) {
        client->tail_length = (size_t)(end - at);
        memcpy(client->tail, at, client->tail_length);
    }
}

static void read_stream(struct client *client)
{
    static char bytes[READ_SIZE];
    ssize_t got = recv(client->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    uint64_t now = now_ns();

    if (got == 0 || (got < 0 && errno != EAGAIN)) {
        lose(client);
        return;
    }
    if (got < 0)
        return;
    if (bursting && !client->token_seen && memchr(bytes, '@', (size_t)got)) {
        client->token_seen = true;
        add_sample(&firsts, now - client->asked_ns, now);
    }
    if (!client->open) {
        client->open = true;
        opened++;
        if (strncmp(bytes, "HTTP/1.1 200", 12) != 0)
            bad_answers++;
    }
    find_tokens(client, bytes, (size_t)got, now);
    /* Streams here are longer than the bench: one that has ended has failed. */
    if (memmem(bytes, (size_t)got, "[DONE]", 6))
        lose(client);
}

/* ---- Rounds ---- */

/* Reads from the head how the body ends. False while the head is incomplete; then *ret_used of the bytes
 * belong to it. */
static bool read_head(struct client *client, const char *bytes, size_t length, size_t *ret_used)
{
    size_t room = HEAD_SIZE - client->head_length;
    size_t before = client->head_length;
    const char *end, *length_line;

    if (length > room)
        length = room;
    memcpy(client->head + before, bytes, length);
    client->head_length += length;
    client->head[client->head_length] = '\0';
    end = strstr(client->head, "\r\n\r\n");
    if (!end)
        return false;
    *ret_used = (size_t)(end - client->head) + 4 - before;
    length_line = strcasestr(client->head, "content-length:");
    client->chunked = !length_line || length_line > end;
    client->left = client->chunked ? 0 : strtoul(length_line + 15, NULL, 10);
    client->head_read = true;
    if (strncmp(client->head, "HTTP/1.1 200", 12) != 0)
        bad_answers++;
    return true;
}

static void keep_tail(struct client *client, const char *bytes, size_t length)
{
    size_t kept;

    if (length >= LAST_CHUNK) {
        memcpy(client->tail, bytes + length - LAST_CHUNK, LAST_CHUNK);
        client->tail_length = LAST_CHUNK;
        return;
    }
    kept =
        client->tail_length + length > LAST_CHUNK ? LAST_CHUNK - length : client->tail_length;
    memmove(client->tail, client->tail + client->tail_length - kept, kept);
    memcpy(client->tail + kept, bytes, length);
    client->tail_length = kept + length;
}

static void take_body(struct client *client, const char *bytes, size_t length, uint64_t now)
{
    if (!client->token_seen && memchr(bytes, '@', length)) {
        client->token_seen = true;
        add_sample(&firsts, now - client->asked_ns, now);
    }
    if (client->chunked)
        keep_tail(client, bytes, length);
    else
        client->left -= length < client->left ? length : client->left;
}

static bool is_complete(const struct client *client)
{
    if (!client->chunked)
        return client->left == 0;
    return client->tail_length == LAST_CHUNK &&
           memcmp(client->tail, last_chunk, LAST_CHUNK) == 0;
}

static void read_answer(struct client *client)
{
    static char bytes[READ_SIZE];
    ssize_t got = recv(client->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    uint64_t now = now_ns();
    size_t used = 0;

    if (got == 0 || (got < 0 && errno != EAGAIN)) {
        lose(client);
        return;
    }
    if (got < 0 || (!client->head_read && !read_head(client, bytes, (size_t)got, &used)))
        return;
    take_body(client, bytes + used, (size_t)got - used, now);
    if (!is_complete(client))
        return;
    if (client->next == 0) {
        rounds++;
        add_sample(&samples, now - client->begun_ns, now);
    }
    ask(client);
}

/* ---- Running ---- */

static void wait_events(int timeout_ms)
{
    struct epoll_event events[512];
    int ready = epoll_wait(epoll_fd, events, 512, timeout_ms);

    for (int i = 0; i < ready; i++) {
        struct client *client = events[i].data.ptr;

        if (client->broken)
            continue;
        if (streaming)
            read_stream(client);
        else
            read_answer(client);
    }
}

static void wait_until(uint64_t end)
{
    while (now_ns() < end && broken < count)
        wait_events(now_ns() + 10000000u < end ? 10 : 1);
}

static void open_all(unsigned short port)
{
    uint64_t deadline = now_ns() + 60u * 1000000000u;

    for (int i = 0; i < count; i++) {
        connect_client(&clients[i], port);
        if (!clients[i].broken)
            ask(&clients[i]);
        if (i % OPEN_AT_ONCE == 0)
            wait_events(0);
    }
    while (opened + broken < count && now_ns() < deadline)
        wait_events(100);
    wait_until(now_ns() + SETTLE_NS);
}

/* All at once: answers are read when all have asked. */
static void open_together(unsigned short port)
{
    measure_from = now_ns();
    printf("measuring\n");
    fflush(stdout);
    for (int i = 0; i < count; i++) {
        connect_client(&clients[i], port);
        if (!clients[i].broken)
            ask(&clients[i]);
    }
}

static void open_spread(unsigned short port)
{
    uint64_t start = now_ns();
    uint64_t spread = SPREAD_NS * (uint64_t)count;

    if (spread < SPREAD_LEAST_NS)
        spread = SPREAD_LEAST_NS;
    for (int i = 0; i < count; i++) {
        wait_until(start + spread / (unsigned)count * (unsigned)i);
        connect_client(&clients[i], port);
        if (!clients[i].broken)
            ask(&clients[i]);
    }
    wait_until(start + spread);
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static void sort(struct samples *which)
{
    qsort(which->us, which->count, sizeof(*which->us), by_size);
}

static uint32_t percentile(const struct samples *of, double part)
{
    return of->count ? of->us[(size_t)((double)(of->count - 1) * part)] : 0;
}

static void report(double took, uint64_t done)
{
    printf("measured\n");
    fflush(stdout);
    sort(&samples);
    sort(&firsts);
    printf("{\"open\": %d, \"broken\": %d, \"bad\": %llu, \"seconds\": %.3f, \"per_second\": "
           "%.1f, \"done\": %llu, \"p50_us\": %u, \"p99_us\": %u, \"max_us\": %u, "
           "\"first_p50_us\": %u, \"first_p99_us\": %u}\n",
           streaming ? opened : count, broken, (unsigned long long)bad_answers, took,
           (double)done / took, (unsigned long long)done, percentile(&samples, 0.5),
           percentile(&samples, 0.99), percentile(&samples, 1.0), percentile(&firsts, 0.5),
           percentile(&firsts, 0.99));
}

static void run_for(double seconds)
{
    uint64_t start = now_ns();
    uint64_t before = streaming ? tokens : rounds;

    measure_from = start;
    printf("measuring\n");
    fflush(stdout);
    wait_until(start + (uint64_t)(seconds * 1e9));
    report((double)(now_ns() - start) / 1e9, (streaming ? tokens : rounds) - before);
}

static void run_burst(double seconds)
{
    uint64_t end = measure_from + (uint64_t)(seconds * 1e9);

    while (firsts.count + (size_t)broken < (size_t)count && now_ns() < end)
        wait_events(10);
    report((double)(now_ns() - measure_from) / 1e9, firsts.count);
}

int main(int argc, char **argv)
{
    struct rlimit files;

    bursting = argc >= 7 && strcmp(argv[1], "burst") == 0;
    streaming = bursting || (argc >= 7 && strcmp(argv[1], "streams") == 0);
    if (!streaming && (argc != 5 || strcmp(argv[1], "rounds") != 0)) {
        fprintf(stderr, "usage: load streams|burst PORT PATH BODY COUNT SECONDS [HEADER]\n"
                        "       load rounds PORT FILE SECONDS\n");
        return 2;
    }
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    samples.us = malloc(SAMPLE_LIMIT * sizeof(*samples.us));
    firsts.us = malloc(SAMPLE_LIMIT * sizeof(*firsts.us));
    if (streaming) {
        count = (int)strtol(argv[5], NULL, 10);
        clients = calloc((size_t)count, sizeof(*clients));
        make_request(argv[3], argv[4], argc > 7 ? argv[7] : NULL);
    } else {
        read_rounds(argv[3]);
    }
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    (bursting    ? open_together
     : streaming ? open_all
                 : open_spread)((unsigned short)strtoul(argv[2], NULL, 10));
    (bursting ? run_burst : run_for)(strtod(argv[streaming ? 6 : 4], NULL));
    return 0;
}
