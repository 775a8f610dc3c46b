#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/net/proxy/proxy.h"
#include "tests/support/patience.h"
#include "tests/support/test.h"

/*
 * The test is the program in the box and the server outside; the proxy is between them. Names are the test's: what is
 * in `addresses` is what they resolve to.
 */

static atomic_uint lookups;
