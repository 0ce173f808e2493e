/* SPDX-License-Identifier: Apache-2.0
 * wait_frames.c - the functions of Python's own library in which a thread waits and does nothing.
 *
 * Everything under such a frame is its waiting.  So an event loop is no such function (callbacks run in _run_once of
 * asyncio), but what it calls to sleep until something happens is.  Nor is a function with a time that is spent on
 * work, such as subprocess.run before the child is started.
 */
#include "analyze/wait_frames.h"

/* Frames of Python: "[…/]FILE(LINE): FUNCTION". */
static const struct {
    const char *file, *function;
} frames[] = {
    {"queue.py", "get"},
    {"threading.py", "wait"},
    {"threading.py", "wait_for"},
    {"threading.py", "join"},
    {"threading.py", "_wait_for_tstate_lock"},
    {"threading.py", "acquire"},
    {"selectors.py", "select"},
    {"concurrent/futures/_base.py", "result"},
    {"concurrent/futures/_base.py", "wait"},
    {"concurrent/futures/_base.py", "exception"},
    {"multiprocessing/connection.py", "poll"},
    {"multiprocessing/connection.py", "_poll"},
    {"multiprocessing/connection.py", "wait"},
    {"multiprocessing/connection.py", "accept"},
    {"multiprocessing/synchronize.py", "acquire"},
    {"multiprocessing/synchronize.py", "wait"},
    {"multiprocessing/popen_fork.py", "wait"},
    {"multiprocessing/popen_fork.py", "poll"},
    {"multiprocessing/process.py", "join"},
    {"multiprocessing/pool.py", "wait"},
    {"subprocess.py", "wait"},
    {"subprocess.py", "_wait"},
    {"socket.py", "accept"},
    {"socketserver.py", "get_request"},
    {"zmq/sugar/poll.py", "poll"},
};

/* Functions written in C: "<built-in method METHOD of TYPE object at 0x…>". */
static const struct {
    const char *method, *type;
} methods[] = {
    {"acquire", "_thread.lock"},
    {"acquire", "_thread.RLock"},
    {"acquire", "lock"},
    {"acquire", "_multiprocessing.SemLock"},
    {"get", "_queue.SimpleQueue"},
    {"poll", "select.poll"},
    {"poll", "select.epoll"},
    {"control", "select.kqueue"},
    {"recv", "_socket.socket"},
    {"recv", "socket"},
    {"recv_into", "_socket.socket"},
    {"recvfrom", "_socket.socket"},
    {"recvmsg", "_socket.socket"},
    {"accept", "_socket.socket"},
    {"_accept", "_socket.socket"},
    {"poll", "zmq.backend.cython._zmq"},
    {"__enter__", "_thread.lock"},
    {"__enter__", "_thread.RLock"},
};

/* "<built-in function FUNCTION>", or the same as a method of a module. */
static const struct {
    const char   *function;
    hu_wait_frame waits;
} functions[] = {
    {"select", HU_WAITS_FOR_OTHERS},   {"waitpid", HU_WAITS_FOR_OTHERS}, {"wait4", HU_WAITS_FOR_OTHERS},
    {"zmq_poll", HU_WAITS_FOR_OTHERS}, {"sleep", HU_WAITS_FOR_TIME},
};

static hu_str behind(hu_str s, size_t n)
{
    return (hu_str){s.p + n, s.n - n};
}

/* "queue" is no end of "myqueue.py": a folder or nothing stands before the file. */
static bool is_file(hu_str path, const char *file)
{
    const hu_str f = hu_str_of(file);

    return hu_str_ends(path, f) && (path.n == f.n || path.p[path.n - f.n - 1] == '/' || path.p[path.n - f.n - 1] == '\\');
}

static hu_wait_frame of_python(hu_str name)
{
    const char *open = memchr(name.p, '(', name.n);
    hu_str      path, function;

    if (!open)
        return HU_WAITS_NOT;
    path = (hu_str){name.p, (size_t)(open - name.p)};
    function = behind(name, path.n);
    while (function.n && function.p[0] != ')')
        function = behind(function, 1);
    if (!hu_str_starts(function, HU_STR("): ")))
        return HU_WAITS_NOT;
    function = behind(function, 3);
    for (size_t i = 0; i < HU_COUNT(frames); i++)
        if (hu_str_equal(function, hu_str_of(frames[i].function)) && is_file(path, frames[i].file))
            return HU_WAITS_FOR_OTHERS;
    return HU_WAITS_NOT;
}

/* The word up to a blank or the closing bracket. */
static hu_str word_of(hu_str s)
{
    size_t n = 0;

    while (n < s.n && s.p[n] != ' ' && s.p[n] != '>')
        n++;
    return (hu_str){s.p, n};
}

static hu_wait_frame of_c(hu_str what)
{
    const hu_str word = word_of(what);
    hu_str       of = behind(what, word.n);

    of = hu_str_starts(of, HU_STR(" of ")) ? word_of(behind(of, 4)) : HU_STR("");
    for (size_t i = 0; i < HU_COUNT(methods); i++)
        if (hu_str_equal(word, hu_str_of(methods[i].method)) && hu_str_equal(of, hu_str_of(methods[i].type)))
            return HU_WAITS_FOR_OTHERS;
    for (size_t i = 0; i < HU_COUNT(functions); i++)
        if (hu_str_equal(word, hu_str_of(functions[i].function)) && (of.n == 0 || hu_str_equal(of, HU_STR("module"))))
            return functions[i].waits;
    return HU_WAITS_NOT;
}

/* What a frame waits for, by its name: "queue.py(171): get", "<built-in method poll of select.poll object at 0x7f>". */
static hu_wait_frame wait_frame_of(hu_str name)
{
    static const char *const starts[] = {"<built-in method ", "<built-in function "};

    for (size_t i = 0; i < HU_COUNT(starts); i++)
        if (hu_str_starts_with(name, starts[i]))
            return of_c(behind(name, strlen(starts[i])));
    return of_python(name);
}

const uint8_t *hu_wait_frames_classify(const hu_trace *trace, hu_arena *arena)
{
    const uint32_t n = hu_trace_string_count(trace);
    uint8_t       *waits = hu_arena_alloc(arena, n + 1);

    for (uint32_t i = 0; waits && i < n; i++)
        waits[i] = (uint8_t)wait_frame_of(hu_trace_text(trace, i));
    return waits;
}
