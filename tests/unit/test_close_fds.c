/* SPDX-License-Identifier: Apache-2.0
 * test_close_fds.c - a child keeps what it is told to and nothing else, by the kernel's call and by /proc's list. */
#include "testing.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/close_fds.h"

enum { FROM = 100, MANY = 300 }; /* more than one look at the list returns */

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* In a child, as what is closed would be the test's own: how many of the descriptors are as they must be. */
static void check(void (*close_all)(int, int), int keep)
{
    const pid_t child = fork();
    int         status;

    assert_true(child >= 0);
    if (child == 0) {
        const int null = open("/dev/null", O_RDONLY);
        bool      is_right = true;

        for (int i = 0; i < MANY; i++)
            if (dup2(null, FROM + i) < 0)
                _exit(2);
        close_all(FROM + 1, keep);
        for (int i = 0; i < MANY; i++)
            is_right &= is_open(FROM + i) == (i == 0 || FROM + i == keep);
        _exit(is_right && is_open(null) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_by_the_kernel(void **state)
{
    (void)state;
    check(hu_close_fds, -1);
    check(hu_close_fds, FROM + 1);
    check(hu_close_fds, FROM + 7);
    check(hu_close_fds, FROM + MANY - 1);
    check(hu_close_fds, FROM - 5); /* is not one of those */
}

static void test_by_the_list(void **state)
{
    (void)state;
    check(hu_close_listed_fds, -1);
    check(hu_close_listed_fds, FROM + 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_the_kernel),
        cmocka_unit_test(test_by_the_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
