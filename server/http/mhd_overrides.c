/*
 * The library's functions that this program defines instead.
 *
 * This is symbol interposition, without LD_PRELOAD: of two definitions of a dynamic symbol the
 * executable's comes first, also for calls from inside a shared library (ld.so(8)). The library's own
 * function is found with dlsym(RTLD_NEXT). A patched copy of the library in this repository was the
 * alternative. It would have to follow the security fixes of two Debian releases.
 *
 * Everything here runs on the library's workers, for every connection of the process. A connection
 * of another daemon (the scripted upstream, the self-test) has no struct http_connection, and gets
 * the library's behaviour unchanged.
 */

#include "server/http/mhd_overrides.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "server/http/http_internal.h"
#include "server/http/parse/framing.h"
#include "server/http/parse/hygiene.h"

/* ---- The functions of the library ---- */

static struct {
    __typeof__(&MHD_queue_response) queue_response;
    __typeof__(&MHD_lookup_connection_value_n) lookup;
    __typeof__(&MHD_set_connection_value_n) set_value;
} library;

/* Runs before main(), so that every thread finds it done. */
__attribute__((constructor)) static void find_library(void)
{
    library.queue_response =
        (__typeof__(library.queue_response))dlsym(RTLD_NEXT, "MHD_queue_response");
    library.lookup =
        (__typeof__(library.lookup))dlsym(RTLD_NEXT, "MHD_lookup_connection_value_n");
    library.set_value =
        (__typeof__(library.set_value))dlsym(RTLD_NEXT, "MHD_set_connection_value_n");
    assert(library.queue_response && library.lookup && library.set_value);
}

enum MHD_Result mhd_queue_answer(struct MHD_Connection *connection, unsigned status,
                                 struct MHD_Response *response)
{
    return library.queue_response(connection, status, response);
}

/* ---- What it reads ---- */

/* Linux gives a process no more descriptors, unless its administrator sets fs.nr_open. */
#define DESCRIPTOR_LIMIT (1 << 20)

/* Indexed by descriptor. Pages for descriptors that are never opened cost no memory. */
static _Atomic(struct framing *) readers[DESCRIPTOR_LIMIT];

void mhd_read_along(int fd, struct framing *framing)
{
    if (fd >= 0 && fd < DESCRIPTOR_LIMIT)
        atomic_store(&readers[fd], framing);
}

static struct framing *reader_of(int fd)
{
    return fd >= 0 && fd < DESCRIPTOR_LIMIT ? atomic_load(&readers[fd]) : NULL;
}

/* To the library, a line that begins with a NUL would be empty. If no other line followed, its
 * client would wait for an answer. No other byte there makes a clean line of it. All other
 * bytes stay as they are: behind the head of an upgrade they are frames. */
static void read_along(struct framing *framing, char *bytes, size_t count)
{
    size_t clean = framing_read(framing, bytes, count);

    if (clean < count && framing->fault_begins_line && !bytes[clean])
        bytes[clean] = '\x01';
}

/* Equivalent to recv(). recvfrom() is as well, but ThreadSanitizer does not see it as an order
 * between the sending and the receiving thread. */
static ssize_t receive(int fd, void *bytes, size_t size, int flags)
{
    struct iovec piece = {bytes, size};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};

    return recvmsg(fd, &message, flags);
}

/* The library waits for edges of epoll, and takes a read that was not filled for the last one. If the end of the
 * connection came before that read, no edge follows: a request in its middle would wait for its deadline. The rest
 * of such a request cannot come, so the read fails, and the library closes the connection. */
static bool is_cut_short(int fd, const struct framing *framing)
{
    char byte;

    return framing->place != FRAMING_START && framing->place != FRAMING_LOST &&
           receive(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* The library reads without flags. This server uses flags when it reads from the library's
 * sockets: input that it peeks at, discards or has taken over is not a request. */
ssize_t recv(int fd, void *bytes, size_t size, int flags)
{
    ssize_t got = receive(fd, bytes, size, flags);
    struct framing *framing = got > 0 && !flags ? reader_of(fd) : NULL;

    if (!framing)
        return got;
    read_along(framing, bytes, (size_t)got);
    if ((size_t)got < size && is_cut_short(fd, framing)) {
        errno = ECONNRESET;
        return -1;
    }
    return got;
}

/* ---- In front of it ---- */

enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned status,
                                   struct MHD_Response *response)
{
    struct http_connection *peer = connection_of(connection);

    if (!peer)
        return library.queue_response(connection, status, response);
    return http_answer_unreadable(peer, connection, (int)status);
}

static bool is_header(enum MHD_ValueKind kind, const char *key, size_t length, const char *name)
{
    return kind == MHD_HEADER_KIND && key && length == strlen(name) &&
           strncasecmp(key, name, length) == 0;
}

enum MHD_Result MHD_lookup_connection_value_n(struct MHD_Connection *connection,
                                              enum MHD_ValueKind kind, const char *key,
                                              size_t key_size, const char **value_ptr,
                                              size_t *value_size_ptr)
{
    const char *value = NULL;
    size_t length = 0;

    if (is_header(kind, key, key_size, MHD_HTTP_HEADER_COOKIE) ||
        !library.lookup(connection, kind, key, key_size, &value, &length))
        return MHD_NO;
    if (is_header(kind, key, key_size, MHD_HTTP_HEADER_CONTENT_LENGTH) &&
        !hygiene_is_length(value, length))
        return MHD_NO;
    if (value_ptr)
        *value_ptr = value;
    if (value_size_ptr)
        *value_size_ptr = length;
    return MHD_YES;
}

enum MHD_Result MHD_set_connection_value_n(struct MHD_Connection *connection,
                                           enum MHD_ValueKind kind, const char *key,
                                           size_t key_size, const char *value,
                                           size_t value_size)
{
    if (kind == MHD_GET_ARGUMENT_KIND || kind == MHD_COOKIE_KIND)
        return MHD_YES;
    return library.set_value(connection, kind, key, key_size, value, value_size);
}
