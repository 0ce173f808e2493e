/* SPDX-License-Identifier: Apache-2.0
 * fuzz_kineto.c - any datagram at the socket of `holdup trace`: what is taken of it lies inside of it, and what is written for
 * a process is what was asked for.
 *
 * The input is one datagram.  Its bytes are also the name of a file in a request, which must come back in one line or not at
 * all: a line more would be an instruction to the profiler.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"
#include "record/kineto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static size_t count(const char *text, size_t n, char what)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += text[i] == what;
    return found;
}

static void parse(const uint8_t *data, size_t n)
{
    hu_kineto_ask ask;
    const bool    is_known = hu_kineto_parse(data, n, &ask);

    if (is_known != (ask.kind != HU_KINETO_NOTHING) || ask.n_pids > HU_KINETO_PIDS || (is_known && ask.n_pids == 0))
        abort();
    if (ask.kind == HU_KINETO_ASKS && n != HU_KINETO_HEADER_BYTES + 16 + ask.n_pids * sizeof ask.pids[0])
        abort();
}

/* Through the kernel: sent from a socket without a name, which can be taken and not answered. */
static void receive(const uint8_t *data, size_t n)
{
    hu_kineto_door    door = {.fd = -1};
    hu_kineto_message m;
    int               pair[2];

    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair) < 0)
        abort();
    door.fd = pair[0];
    if (send(pair[1], data, n, 0) == (ssize_t)n &&
        (hu_kineto_receive(&door, &m) != 1 || hu_kineto_can_answer(&door, &m) || hu_kineto_answer(&door, &m, "")))
        abort();
    if (hu_kineto_receive(&door, &m) != 0)
        abort();
    close(pair[0]);
    close(pair[1]);
}

static void write_request(const uint8_t *data, size_t n)
{
    static const char first[] = "ACTIVITIES_LOG_FILE=";
    hu_kineto_request r = {.start_ms = (int64_t)n, .duration_ms = 2000, .steps = n & 1 ? 3 : 0, .stack = true};
    char              text[HU_KINETO_TEXT_BYTES], again[HU_KINETO_TEXT_BYTES], file[HU_KINETO_PATH_BYTES];
    size_t            written, without;

    without = hu_kineto_write(&r, again, sizeof again);
    memcpy(r.file, data, n < sizeof r.file ? n : sizeof r.file - 1);
    written = hu_kineto_write(&r, text, sizeof text);
    if (written && (written != strlen(text) || count(text, written, '\n') != count(again, without, '\n') ||
                    strncmp(text, first, sizeof first - 1) != 0 || written - without != strlen(r.file)))
        abort();
    hu_kineto_file_of(r.file, -7, file, sizeof file);
    if (memchr(file, '\0', sizeof file) == NULL)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    parse(data, n);
    receive(data, n);
    write_request(data, n);
    return 0;
}
