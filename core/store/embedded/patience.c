#include "core/store/embedded/patience.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>

#include "core/base/clock.h"

struct patience patience_of(int stop_fd, unsigned seconds)
{
    return (struct patience){.deadline_ns = clock_mono_ns() + seconds * NS_PER_SECOND,
                             .stop_fd = stop_fd};
}

/* Rounded up: rounded down, the last millisecond would be a loop that does not sleep. */
static int ms_left(const struct patience *patience)
{
    uint64_t now = clock_mono_ns();

    if (now >= patience->deadline_ns)
        return 0;
    return (int)((patience->deadline_ns - now + NS_PER_MS - 1) / NS_PER_MS);
}

/* poll() ignores descriptors that are -1. */
static bool poll_all(const struct patience *patience, struct pollfd *watched, size_t count)
{
    int ready;

    do {
        ready = poll(watched, count, ms_left(patience));
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

bool patience_wait(const struct patience *patience, const int *fds, size_t count)
{
    struct pollfd watched[PATIENCE_FDS + 1] = {{.fd = patience->stop_fd, .events = POLLIN}};

    assert(count <= PATIENCE_FDS);
    for (size_t i = 0; i < count; i++)
        watched[i + 1] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    return poll_all(patience, watched, count + 1) && !watched[0].revents;
}

enum err_code patience_lost(const struct patience *patience, const char *what, struct err *err)
{
    struct pollfd stop = {.fd = patience->stop_fd, .events = POLLIN};

    if (poll(&stop, 1, 0) > 0)
        return err_set(err, ERR_CANCELLED, "the wait for %s was cancelled", what);
    return err_set(err, ERR_TIMEOUT, "the wait for %s took too long", what);
}
