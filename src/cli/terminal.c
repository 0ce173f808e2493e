/* SPDX-License-Identifier: Apache-2.0
 * terminal.c - asks the environment first: who sets COLUMNS, NO_COLOR or TERM=dumb means it. */
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/shared_options.h"

enum { LEAST_WIDTH = 40, MOST_TERMINAL = 160, MOST_WIDTH = 1000 };

/* Open MPI's mpirun gives its processes terminals, wherever its own output goes. */
static bool is_terminal(int fd, const char *path)
{
    return !path && isatty(fd) && !getenv("OMPI_COMM_WORLD_RANK");
}

size_t hu_terminal_width(int fd, const char *path)
{
    const char    *text = getenv("COLUMNS");
    int64_t        wish;
    struct winsize size;

    if (text && hu_parse_i64(hu_str_of(text), &wish) && wish > 0)
        return (size_t)(wish < LEAST_WIDTH ? LEAST_WIDTH : wish > MOST_WIDTH ? MOST_WIDTH : wish);
    if (!is_terminal(fd, path) || ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return HU_TERMINAL_PLAIN;
    return size.ws_col < LEAST_WIDTH ? LEAST_WIDTH : size.ws_col < MOST_TERMINAL ? size.ws_col : MOST_TERMINAL;
}

size_t hu_terminal_width_of_talk(int fd)
{
    return is_terminal(fd, NULL) ? hu_terminal_width(fd, NULL) : 0;
}

bool hu_terminal_has_color(int fd, const char *path, int when)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

    if (when != HU_COLOR_AUTO)
        return when == HU_COLOR_ALWAYS;
    return is_terminal(fd, path) && !(no && no[0]) && !(term && strcmp(term, "dumb") == 0);
}
