/* SPDX-License-Identifier: Apache-2.0
 * call_lines.c - by words that NCCL and RCCL print (ncclEnqueueCheck, ncclCommInitRankFunc):
 *
 *   node1:4711:4711 [3] NCCL INFO AllReduce: opCount 2a sendbuff 0x7f… recvbuff 0x7f… count 1024 datatype 7 op 0 root 0
 *     comm 0x55… [nranks=8] stream 0x55…                       (RCCL goes on: "task 0 globalrank 3")
 *   node1:4711:4799 [3] NCCL INFO comm 0x55… rank 3 nranks 8 cudaDev 3 … commId 0x94… - Init COMPLETE
 *   node1:4711:4711 [3] NCCL INFO comm 0x55… rank 3 nranks 8 cudaDev 3 … - Destroy COMPLETE
 *
 * Traps: opCount rises only with calls that need a proxy on that rank, so ranks' are not comparable, and calls are counted
 * by lines; processes that share a pipe glue their lines, and older versions write head and text one by one, so that those
 * of another process stand between; an address is used again for another communicator; without SUBSYS=INIT nothing says
 * which rank a process is.
 */
#include "ingest/call_lines.h"

#include <ctype.h>

#include "base/hash.h"
#include "ingest/line_numbers.h"

enum { SLOTS = 1 << 14, MOST_MEMBERS = SLOTS / 2, MOST_OPERATIONS = 64, MOST_NAME = 32, MOST_PROCESS = 96 };

/* False: no digits there, or too many. */
static bool number_of(hu_str text, unsigned base, uint64_t *out)
{
    const size_t most = base == 16 ? 16 : 18;
    size_t       n = 0;

    *out = 0;
    if (base == 16 && text.n > 2 && text.p[0] == '0' && text.p[1] == 'x')
        text = (hu_str){text.p + 2, text.n - 2};
    for (; n < text.n && n <= most && (base == 16 ? isxdigit((unsigned char)text.p[n]) : isdigit((unsigned char)text.p[n]));
         n++) {
        const unsigned char c = (unsigned char)tolower((unsigned char)text.p[n]);

        *out = base * *out + (unsigned)(isdigit(c) ? c - '0' : c - 'a' + 10);
    }
    return n > 0 && n <= most;
}

static bool number_behind(hu_str line, const char *text, unsigned base, uint64_t *out)
{
    return number_of(hu_line_behind(line, text), base, out);
}

/* "node1:4711" of what stands before "NCCL INFO": "node1:4711:4799 [3] ".  n is 0: it is none. */
static hu_str process_of(hu_str before)
{
    size_t from, end = before.n, colon;

    while (end && before.p[end - 1] != '[')
        end--;
    for (end -= end > 0; end && before.p[end - 1] == ' '; end--)
        continue;
    for (from = end; from && isdigit((unsigned char)before.p[from - 1]); from--)
        continue;
    if (from == 0 || from == end || before.p[from - 1] != ':')
        return (hu_str){0};
    colon = from - 1; /* the thread's number is behind it */
    for (from = colon; from && isdigit((unsigned char)before.p[from - 1]); from--)
        continue;
    if (from < 2 || from == colon || before.p[from - 1] != ':')
        return (hu_str){0};
    for (from--; from && !isspace((unsigned char)before.p[from - 1]) && colon - from < MOST_PROCESS; from--)
        continue;
    return (hu_str){before.p + from, colon - from};
}

/* "0x55…node1:4711" where another message ends without a newline: who of those that are known it is.  n is 0: nobody. */
static hu_str unglued(const hu_log_calls *out, hu_str process)
{
    for (size_t i = 0; i < out->members.n; i++)
        if (hu_str_ends(process, out->members.at[i].process))
            return out->members.at[i].process;
    return (hu_str){0};
}

static uint32_t *slot_of(hu_log_calls *out, hu_str process, uint64_t comm)
{
    size_t at = (size_t)hu_hash_u64(hu_hash_bytes(process.p, process.n) ^ comm) % SLOTS;

    while (out->slots[at] && (out->members.at[out->slots[at] - 1].comm != comm ||
                              !hu_str_equal(out->members.at[out->slots[at] - 1].process, process)))
        at = (at + 1) % SLOTS;
    return &out->slots[at];
}

/* The latest of that address, a new one where there is none or `is_new`.  NULL: too many, or *has_memory is false. */
static hu_log_member *member_of(hu_log_calls *out, hu_str process, uint64_t comm, bool is_new, hu_arena *arena,
                                bool *has_memory)
{
    uint32_t *slot;

    *has_memory = true;
    if (!out->slots && !(out->slots = hu_arena_calloc(arena, SLOTS, sizeof *out->slots))) {
        *has_memory = false;
        return NULL;
    }
    slot = slot_of(out, process, comm);
    if (*slot && !is_new)
        return &out->members.at[*slot - 1];
    if (out->members.n == MOST_MEMBERS)
        return NULL;
    process = *slot ? out->members.at[*slot - 1].process : hu_arena_copy(arena, process);
    *has_memory = process.p &&
                  hu_vec_push(arena, &out->members, ((hu_log_member){.process = process, .comm = comm, .rank = -1}));
    if (!*has_memory)
        return NULL;
    *slot = (uint32_t)out->members.n;
    return &out->members.at[out->members.n - 1];
}

/* Its number among the names; below 0: one too many, or *has_memory is false. */
static int operation_of(hu_log_calls *out, hu_str name, hu_arena *arena, bool *has_memory)
{
    *has_memory = true;
    for (size_t i = 0; i < out->operations.n; i++)
        if (hu_str_equal(out->operations.at[i], name))
            return (int)i;
    if (out->operations.n == MOST_OPERATIONS)
        return -1;
    name = hu_arena_copy(arena, name);
    *has_memory = name.p && hu_vec_push(arena, &out->operations, name);
    return *has_memory ? (int)out->operations.n - 1 : -1;
}

static bool keep(hu_log_member *m, hu_log_call call, hu_arena *arena)
{
    if (m->kept.n < HU_LOG_CALLS_KEPT && !hu_vec_push(arena, &m->kept, call))
        return false;
    m->kept.at[m->n++ % HU_LOG_CALLS_KEPT] = call;
    return true;
}

/* "AllReduce: opCount 2a sendbuff …" of that process; `rest` is behind "opCount ". */
static bool take_call(hu_str name, hu_str rest, hu_str process, uint64_t number, hu_arena *arena, hu_log_calls *out)
{
    hu_log_call    call = {.line = number};
    uint64_t       comm, count, datatype, reduction, root, ranks, rank;
    bool           has_memory;
    int            operation;
    hu_log_member *m;

    if (!number_behind(rest, " count ", 10, &count) || !number_behind(rest, " datatype ", 10, &datatype) ||
        !number_behind(rest, " op ", 10, &reduction) || !number_behind(rest, " root ", 10, &root) ||
        !number_behind(rest, " comm 0x", 16, &comm) || count > INT64_MAX)
        return true;
    operation = operation_of(out, name, arena, &has_memory);
    m = operation < 0 ? NULL : member_of(out, process, comm, false, arena, &has_memory);
    if (!m)
        return has_memory;
    if (number_behind(rest, " [nranks=", 10, &ranks) && ranks <= INT32_MAX)
        m->ranks = (int64_t)ranks;
    if (m->rank < 0 && number_behind(rest, " globalrank ", 10, &rank) && rank <= INT32_MAX)
        m->rank = (int64_t)rank;
    if (hu_str_equal(name, HU_STR("Send")) || hu_str_equal(name, HU_STR("Recv"))) {
        m->has_p2p = true;
        return true;
    }
    call.count = (int64_t)count;
    call.operation = (uint8_t)operation;
    call.datatype = datatype > UINT8_MAX ? UINT8_MAX : (uint8_t)datatype;
    call.reduction = reduction > UINT8_MAX ? UINT8_MAX : (uint8_t)reduction;
    call.root = root > INT32_MAX ? INT32_MAX : (int32_t)root;
    out->n++;
    return keep(m, call, arena);
}

/* "comm 0x55… rank 3 nranks 8 … commId 0x94… - Init COMPLETE" */
static bool take_init(hu_str rest, hu_str process, hu_arena *arena, hu_log_calls *out)
{
    uint64_t       comm, rank, ranks, id;
    bool           has_memory;
    hu_log_member *m;

    if (!number_behind(rest, "comm 0x", 16, &comm) || !number_behind(rest, " rank ", 10, &rank) ||
        !number_behind(rest, " nranks ", 10, &ranks) || rank > INT32_MAX || ranks > INT32_MAX)
        return true;
    m = member_of(out, process, comm, false, arena, &has_memory);
    if (m && (m->n || m->is_over || m->has_init))
        m = member_of(out, process, comm, true, arena, &has_memory);
    if (!m)
        return has_memory;
    m->rank = (int64_t)rank;
    m->ranks = (int64_t)ranks;
    m->has_init = true;
    m->comm_id = number_behind(rest, " commId 0x", 16, &id) ? id : 0;
    return true;
}

static void take_end(hu_str rest, hu_str process, hu_log_calls *out)
{
    uint64_t comm;
    uint32_t slot;

    if (!out->slots || !number_behind(rest, "comm 0x", 16, &comm))
        return;
    slot = *slot_of(out, process, comm);
    if (slot)
        out->members.at[slot - 1].is_over = true;
}

/* One message of NCCL's, behind "NCCL INFO " up to the next. */
static bool take_message(hu_str text, hu_str process, uint64_t number, hu_arena *arena, hu_log_calls *out)
{
    const hu_str call = hu_line_behind(text, ": opCount ");
    const hu_str name = {text.p, call.n ? (size_t)(call.p - text.p) - 10 : 0};

    if (call.n && name.n && name.n <= MOST_NAME && !memchr(name.p, ' ', name.n))
        return take_call(name, call, process, number, arena, out);
    if (hu_str_has(text, HU_STR(" - Init COMPLETE")))
        return take_init(text, process, arena, out);
    if (hu_str_has(text, HU_STR(" - Destroy COMPLETE")))
        take_end(text, process, out);
    return true;
}

/* A call without its head, or one that stands for several: "Broadcast: opCount 1 …", "… [repeated 7x …]". */
static bool is_torn(hu_str line)
{
    const hu_str call = hu_line_behind(line, ": opCount ");
    const hu_str head = {line.p, call.n ? (size_t)(call.p - line.p) : 0};

    return call.n && (!hu_str_has(head, HU_STR("NCCL INFO ")) || hu_str_has(call, HU_STR("[repeated ")));
}

bool hu_call_line(hu_str line, uint64_t number, hu_arena *arena, hu_log_calls *out)
{
    hu_str before = line, rest;

    if (!hu_str_has(line, HU_STR("opCount ")) && !hu_str_has(line, HU_STR("COMPLETE")))
        return true;
    out->n_torn += is_torn(line);
    for (rest = hu_line_behind(line, "NCCL INFO "); rest.n;) {
        const char  *next = memmem(rest.p, rest.n, "NCCL INFO ", 10);
        const hu_str text = {rest.p, next ? (size_t)(next - rest.p) : rest.n};
        hu_str       process = process_of((hu_str){before.p, (size_t)(rest.p - before.p) - 10});

        if (before.p != line.p && hu_str_starts(process, HU_STR("0x")))
            process = unglued(out, process);
        if (process.n && !take_message(text, process, number, arena, out))
            return false;
        before = text;
        rest = next ? (hu_str){next + 10, (size_t)(rest.p + rest.n - next) - 10} : (hu_str){0};
    }
    return true;
}
