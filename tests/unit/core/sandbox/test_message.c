/* Messages with descriptors: what comes is counted, and what is too much is refused and closed. */

#include "core/sandbox/message.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/compiler.h"
#include "tests/support/test.h"

static int ends[2];
static int lowest; /* the lowest descriptor that is free when a test begins */

static int lowest_free(void)
{
    int fd = memfd_create("lowest", MFD_CLOEXEC);

    close(fd);
    return fd;
}

static int set_up(void **state)
{
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    lowest = lowest_free();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(lowest_free(), lowest);
    close(ends[0]);
    close(ends[1]);
    return 0;
}

static void send_copies(size_t count)
{
    int fds[MESSAGE_FDS];

    for (size_t i = 0; i < count; i++)
        fds[i] = ends[0];
    assert_int_equal(send_fds(ends[0], "abc", 3, fds, count), 3);
}

TEST(descriptors_arrive_and_are_counted)
{
    char bytes[8];
    int fds[MESSAGE_FDS];
    size_t count;

    for (size_t sent = 0; sent <= MESSAGE_FDS; sent++) {
        send_copies(sent);
        assert_int_equal(receive_fds(ends[1], bytes, sizeof(bytes), fds, MESSAGE_FDS, &count),
                         3);
        assert_int_equal(count, sent);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
        close_fds(fds, count);
    }
}

/* Also by one, which the padding of a control message would have room for. */
TEST(too_many_descriptors_are_refused_and_closed)
{
    char bytes[8];
    int fds[4] = {-1, -1, -1, -1};
    size_t count;

    for (size_t room = 1; room < 4; room++) {
        send_copies(room + 1);
        assert_int_equal(receive_fds(ends[1], bytes, sizeof(bytes), fds, room, &count), -1);
        assert_int_equal(fds[room], -1);
    }
}

TEST(without_room_descriptors_never_arrive)
{
    char bytes[8];

    send_copies(2);
    assert_int_equal(receive_fds(ends[1], bytes, sizeof(bytes), NULL, 0, NULL), 3);
}

TEST(a_message_that_is_too_long_is_refused)
{
    char bytes[2];
    int fds[2];
    size_t count;

    send_copies(1);
    assert_int_equal(receive_fds(ends[1], bytes, sizeof(bytes), fds, 2, &count), -1);
}

/* In a process of its own, whose descriptors are its to close. */
TEST(descriptors_are_put_into_any_order_and_all_others_are_closed)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        int in_order = open("/dev/zero", O_RDONLY), other = open("/dev/null", O_RDWR);
        /* A circle: each takes the other's number. */
        int fds[] = {other, in_order, other, in_order, other};
        char byte = 1;

        dup2(other, 0);
        dup2(in_order, 1);
        fds[0] = 1;
        fds[1] = 0;
        _exit(keep_fds(fds, COUNT_OF(fds)) && read(0, &byte, 1) == 1 && byte == 0 &&
                      read(1, &byte, 1) == 0 && read(2, &byte, 1) == 0 &&
                      read(3, &byte, 1) == 1 && fcntl(5, F_GETFD) < 0
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- Programs ---- */

static char list[] = "ls", long_form[] = "-l", empty[] = "", home[] = "HOME=/mnt/data",
            folder[] = "/tmp";

static struct program a_program(void)
{
    return (struct program){
        .folder = folder, .arguments = {list, long_form, empty}, .environment = {home}};
}

TEST(a_program_is_read_as_it_was_written)
{
    struct program program = a_program(), read;
    char bytes[256];
    size_t size = program_write(&program, bytes, sizeof(bytes));

    assert_true(size > 0);
    assert_true(program_read(bytes, size, &read));
    assert_string_equal(read.folder, "/tmp");
    assert_string_equal(read.arguments[0], "ls");
    assert_string_equal(read.arguments[1], "-l");
    assert_string_equal(read.arguments[2], "");
    assert_null(read.arguments[3]);
    assert_string_equal(read.environment[0], "HOME=/mnt/data");
    assert_null(read.environment[1]);
}

TEST(a_program_that_does_not_fit_is_not_written)
{
    struct program program = a_program();
    char bytes[256];
    size_t size = program_write(&program, bytes, sizeof(bytes));

    for (size_t room = 0; room < size; room++)
        assert_int_equal(program_write(&program, bytes, room), 0);
    assert_int_equal(program_write(&program, bytes, size), size);
}

TEST(what_is_not_exactly_a_program_is_refused)
{
    struct program program = a_program(), read;
    char bytes[256] = {0};
    size_t size = program_write(&program, bytes, sizeof(bytes));
    uint32_t counts[2];

    for (size_t part = 0; part < size; part++)
        assert_false(program_read(bytes, part, &read));
    assert_false(program_read(bytes, size + 1, &read));
    for (uint32_t i = 0; i < 3; i++) {
        counts[0] = (uint32_t[]){0, 4, UINT32_MAX}[i];
        counts[1] = 1;
        memcpy(bytes, counts, sizeof(counts));
        assert_false(program_read(bytes, size, &read));
        counts[0] = 3;
        counts[1] = (uint32_t[]){0, 2, UINT32_MAX}[i];
        memcpy(bytes, counts, sizeof(counts));
        assert_false(program_read(bytes, size, &read));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(descriptors_arrive_and_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(too_many_descriptors_are_refused_and_closed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(without_room_descriptors_never_arrive, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_message_that_is_too_long_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test(descriptors_are_put_into_any_order_and_all_others_are_closed),
        cmocka_unit_test(a_program_is_read_as_it_was_written),
        cmocka_unit_test(a_program_that_does_not_fit_is_not_written),
        cmocka_unit_test(what_is_not_exactly_a_program_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
