/* SPDX-License-Identifier: Apache-2.0
 * mpi.c - the MPI door: every call of protocol/mpi_calls.h by its C name, and what it moved between whom.
 *
 * We stand in front of the MPI library because we are preloaded: the program's MPI_Send is ours, and ours calls the next
 * one (the library's, or that of another tool that was linked in between).  Only one file can do that, so it is this
 * library and not one of its own.  A program without MPI meets these names in one case only, when it looks for them by
 * dlsym or weak references to learn whether there is MPI: those ask MPI_Initialized, MPI_Comm_rank, MPI_Comm_size or
 * MPI_Get_version, none of which is here; and all that is here is in every MPI since 3.1 (mpi_large.c: or acts as
 * if it were not there).  One that calls MPI_Init all the same gets an error and leaves a note.  What a
 * program has linked statically, or calls as PMPI_, passes by unseen.
 *
 * Arguments pass through untouched, but for a status that the program ignores: then the library fills one of ours, which
 * tells from whom a message came.  Nothing is asked of the library before the call has succeeded, and no argument is
 * looked at that MPI calls insignificant there: an invalid handle would end the job.
 *
 * Calls inside of a call (a library of MPI that is built on MPI, Fortran on C) are not recorded: the outermost is.
 */
#include <string.h>

#include "base/banned.h"
#include "inject/live.h"
#include "inject/mpi.h"
#include "inject/mpi_words.h"
#include "inject/process.h"

#define EXPORT __attribute__((visibility("default")))

enum { NO_MPI = 16, MORES_MAX = 12, TEST_TICKS_MIN = 1 };

static const char *const arguments[HU_MPI_CALL_COUNT] = {
#define M(name, fortran, arity, class, arguments) arguments,
    HU_MPI_CALLS(M)
#undef M
};

static const uint8_t classes[HU_MPI_CALL_COUNT] = {
#define M(name, fortran, arity, class, arguments) HU_MPI_CLASS_##class,
    HU_MPI_CALLS(M)
#undef M
};

static const char *const names[HU_MPI_CALL_COUNT] = {
#define M(name, fortran, arity, class, arguments) "MPI_" #name,
    HU_MPI_CALLS(M)
#undef M
};

static void *functions[HU_MPI_CALL_COUNT];

void *hu_mpi_function(uint16_t call)
{
    void *function = __atomic_load_n(&functions[call], __ATOMIC_RELAXED);

    if (__builtin_expect(function != NULL, 1))
        return function;
    hu_thread.inside++;
    function = hu_mpi_next(names[call]);
    hu_thread.inside--;
    __atomic_store_n(&functions[call], function, __ATOMIC_RELAXED);
    if (!function)
        hu_note("the program called %s, but no MPI library is loaded: the call returned an error", names[call]);
    return function;
}

/* Communicators, windows and files are followed whether or not the gate is open. */
static bool is_structure(uint16_t call)
{
    switch (classes[call]) {
    case HU_MPI_CLASS_COMM:
    case HU_MPI_CLASS_START:
    case HU_MPI_CLASS_END:
        return true;
    case HU_MPI_CLASS_RMA:
    case HU_MPI_CLASS_FILE:
        return strpbrk(arguments[call], "WEHI") != NULL;
    default:
        return false;
    }
}

static bool is_followed(uint16_t call)
{
    return hu_the_control->wanted & HU_DOOR_MPI && is_structure(call);
}

bool hu_mpi_is_quiet(uint16_t call)
{
    if (hu_thread.inside)
        return true;
    if (hu_gate_open(HU_DOOR_MPI | HU_DOOR_LIVE))
        return false;
    return !is_followed(call);
}

/* Files are no peers. */
static bool is_communication(uint16_t call)
{
    return classes[call] != HU_MPI_CLASS_FILE && classes[call] != HU_MPI_CLASS_OTHER;
}

static int32_t int_of(const hu_mpi_frame *f, int i)
{
    return f->is_fortran ? *(const int32_t *)(uintptr_t)f->a[i] : (int32_t)f->a[i];
}

/* MPICH's handles are the same ints in both languages, but for files, which are pointers: their lower half is the key. */
static hu_word from_fortran(hu_word (*convert)(int), int handle)
{
    const bool is_same = hu_the_mpi.abi == HU_MPI_CH && convert != hu_the_mpi.file_f2c;

    return hu_mpi_handle(convert && !is_same ? convert(handle) : (hu_word)(uint32_t)handle);
}

/* A handle that is an argument ... */
static hu_word handle_of(const hu_mpi_frame *f, int i, char letter)
{
    const hu_mpi *m = &hu_the_mpi;

    if (!f->is_fortran)
        return hu_mpi_handle(f->a[i]);
    return from_fortran(letter == 'c'   ? m->comm_f2c
                        : letter == 'w' ? m->win_f2c
                        : letter == 'f' ? m->file_f2c
                                        : m->type_f2c,
                        int_of(f, i));
}

/* ... or that an argument points to. */
static hu_word handle_behind(const hu_mpi_frame *f, int i, hu_word (*convert)(int))
{
    if (f->is_fortran)
        return from_fortran(convert, int_of(f, i));
    return hu_mpi_handle_at(f->a[i]);
}

/* Requests are known by what the program holds: a number in Fortran. */
static hu_word request_at(const hu_mpi_frame *f, hu_word address, uint32_t index)
{
    if (!address)
        return 0;
    if (f->is_fortran || hu_the_mpi.abi == HU_MPI_CH)
        return ((const uint32_t *)(uintptr_t)address)[index];
    return ((const hu_word *)(uintptr_t)address)[index];
}

static int position(const hu_mpi_frame *f, char letter)
{
    const char *at = strchr(f->arguments, letter);

    return at ? (int)(at - f->arguments) : -1;
}

static void copy_requests(hu_mpi_frame *f, hu_mpi_room *room)
{
    const int one = position(f, 'p'), given = position(f, 'z'), many = position(f, 'Q');

    f->requests = room->requests;
    f->message = f->call == HU_MPI_Mrecv || f->call == HU_MPI_Imrecv ? request_at(f, f->a[position(f, 'm')], 0) : 0;
    if (one >= 0 || given >= 0) {
        room->requests[0] = request_at(f, f->a[one >= 0 ? one : given], 0);
        f->n_requests = f->total_requests = 1;
    } else if (many >= 0) {
        const int32_t k = int_of(f, position(f, 'k'));

        f->total_requests = k > 0 ? (uint32_t)k : 0;
        f->n_requests = f->total_requests < HU_MPI_REQUESTS_MAX ? f->total_requests : HU_MPI_REQUESTS_MAX;
        for (uint32_t i = 0; i < f->n_requests; i++)
            room->requests[i] = request_at(f, f->a[many], i);
    }
}

/* What the call will have given back when it returns. */
static void look_at_given_back(hu_mpi_frame *f)
{
    const hu_mpi *m = &hu_the_mpi;
    const int     comm = position(f, 'Z'), window = position(f, 'E'), file = position(f, 'I');

    f->given_back = 0;
    if (comm >= 0)
        f->given_back = handle_behind(f, comm, m->comm_f2c), f->thing = HU_MPI_A_COMM;
    else if (window >= 0)
        f->given_back = handle_behind(f, window, m->win_f2c), f->thing = HU_MPI_A_WINDOW;
    else if (file >= 0)
        f->given_back = handle_behind(f, file, m->file_f2c), f->thing = HU_MPI_A_FILE;
    if (f->given_back)
        f->comm = hu_mpi_comm_get(f->thing, f->given_back);
}

typedef struct {
    uint32_t name;
    hu_more  kind;
    uint64_t value;
} fact;

typedef struct {
    hu_word     comm; /* handle, of a communicator alone */
    hu_mpi_comm of;
    int64_t     bytes, count, received;
    int32_t     peer, tag, root, source; /* HU_MPI_NOBODY: none */
    bool        is_receive, was_any;
    fact        facts[MORES_MAX];
    uint32_t    n_facts;
} knowledge;

/* clang-format off */
typedef enum {
    NAME_PEER, NAME_TAG, NAME_COUNT, NAME_ROOT, NAME_SOURCE, NAME_WORLD_PEER, NAME_ANY, NAME_RECEIVED, NAME_REQUESTS,
    NAME_OF, NAME_PATH, NAME_CODE, NAMES
} fact_name;
/* clang-format on */

static uint32_t id_of_path(const char *path)
{
    return path ? hu_string_given(path, strnlen(path, HU_STRING_BYTES_MAX)) : 0;
}

static void add_fact(knowledge *k, fact_name name, hu_more kind, uint64_t value)
{
    static const char *const TEXTS[NAMES] = {"peer",       "tag",      "count",    "root", "source", "world_peer",
                                             "any_source", "received", "requests", "of",   "path",   "code"};
    static uint32_t          ids[NAMES];

    if (!__atomic_load_n(&ids[name], __ATOMIC_RELAXED))
        __atomic_store_n(&ids[name], hu_string_of(TEXTS[name]), __ATOMIC_RELAXED);
    if (k->n_facts < MORES_MAX)
        k->facts[k->n_facts++] = (fact){__atomic_load_n(&ids[name], __ATOMIC_RELAXED), kind, value};
}

static void add_int(knowledge *k, fact_name name, int64_t value)
{
    add_fact(k, name, HU_MORE_INT, (uint64_t)value);
}

static int64_t times(int64_t count, int64_t size)
{
    int64_t bytes;

    return count <= 0 || size <= 0 || __builtin_mul_overflow(count, size, &bytes) ? 0 : bytes;
}

/* Of a type that the call has just accepted. */
static int64_t size_of(hu_word type)
{
    int bytes = 0;

    if (!type || type == hu_the_mpi.type_null || hu_the_mpi.type_size(type, &bytes) != 0)
        return 0;
    return bytes;
}

/* One side of a call: counts times the size of their type.  -1: it has no such side. */
static int64_t side_bytes(const hu_mpi_frame *f, const knowledge *k, const char letters[5], int64_t *count)
{
    const int buffer = position(f, letters[0]), one = position(f, letters[1]), large = position(f, letters[2]),
              type = position(f, letters[3]), many = position(f, letters[4]);

    /* MPI_IN_PLACE: the count next to it means nothing where the other side has its own */
    if (type < 0 || (position(f, 'T') >= 0 && buffer >= 0 && hu_mpi_is_own_address(f->a[buffer])))
        return -1;
    *count = 0;
    if (one >= 0)
        *count = int_of(f, one);
    else if (large >= 0)
        *count = (int64_t)f->a[large];
    else if (many >= 0 && f->a[many])
        for (int32_t i = 0; i < k->of.size; i++)
            *count += ((const int32_t *)(uintptr_t)f->a[many])[i];
    else
        return -1;
    return *count > 0 ? times(*count, size_of(handle_of(f, type, 't'))) : 0;
}

/* MPI_Alltoallw: a type for each rank. */
static int64_t sum_of_types(const hu_mpi_frame *f, const knowledge *k)
{
    const int counts = position(f, 'v'), types = position(f, 'y'), buffer = position(f, 'b');
    int64_t   sum = 0;

    if (types < 0 || counts < 0 || f->is_fortran || !f->a[types] || !f->a[counts] || hu_mpi_is_own_address(f->a[buffer]))
        return -1;
    for (int32_t i = 0; i < k->of.size; i++) {
        const int32_t n = ((const int32_t *)(uintptr_t)f->a[counts])[i];

        if (n > 0)
            sum += times(n, size_of(request_at(f, f->a[types], (uint32_t)i)));
    }
    return sum;
}

static bool is_scatter(uint16_t call)
{
    return call == HU_MPI_Scatter || call == HU_MPI_Scatterv || call == HU_MPI_Iscatter || call == HU_MPI_Iscatterv;
}

static bool goes_to_all(uint16_t call)
{
    return call == HU_MPI_Alltoall || call == HU_MPI_Ialltoall;
}

/*
 * Bytes that this rank brings to the call or, of a receive and of MPI_Scatter, gets.  At a root some arguments mean
 * nothing elsewhere, and with a root that is no rank (between two groups) none does: only what counts is looked at.
 */
static void learn_bytes(const hu_mpi_frame *f, knowledge *k)
{
    const bool prefers_received = is_scatter(f->call) || position(f, 't') < 0;
    const bool has_root = position(f, 'r') >= 0;
    int64_t    n = 0, m = 0, sent, received;

    if ((has_root && k->root < 0) || (k->peer != HU_MPI_NOBODY && k->peer == hu_the_mpi.proc_null))
        return;
    if (position(f, 'y') >= 0) {
        const int64_t sum = sum_of_types(f, k);

        k->bytes = sum > 0 ? sum : 0;
        return;
    }
    sent = prefers_received ? -1 : side_bytes(f, k, "bnltv", &n);
    if (sent < 0) {
        received = side_bytes(f, k, "BNeTV", &m);
        if (received < 0 && prefers_received) /* MPI_IN_PLACE of the root of MPI_Scatter */
            received = side_bytes(f, k, "bnltv", &m);
        sent = received;
        n = m;
    } else if (f->call == HU_MPI_Sendrecv) {
        k->received = side_bytes(f, k, "BNeTV", &m);
    }
    if (sent >= 0) {
        k->bytes = goes_to_all(f->call) ? times(sent, k->of.size) : sent;
        k->count = n;
    }
}

static void learn_status(const hu_mpi_frame *f, knowledge *k)
{
    const int     at = position(f, 'S'), flag = position(f, 'F');
    hu_mpi_status s;

    if (at < 0 || f->a[at] <= 1 || (f->is_fortran && !f->has_fortran_status) || (flag >= 0 && !hu_mpi_int_at(f->a[flag])))
        return;
    s = hu_mpi_status_read((const void *)(uintptr_t)f->a[at]);
    if (f->arguments[0] == 'f') { /* of a file: how much there was */
        if (s.bytes >= 0 && s.bytes <= k->bytes)
            k->bytes = s.bytes;
        return;
    }
    if (!k->is_receive || s.source < 0)
        return;
    if (position(f, 'd') >= 0) {
        k->source = s.source;
        if (s.bytes >= 0)
            k->received = s.bytes;
        return;
    }
    k->peer = s.source;
    k->tag = s.tag;
    if (s.bytes >= 0)
        k->bytes = s.bytes;
}

static void learn_arguments(const hu_mpi_frame *f, knowledge *k)
{
    for (int i = 0; f->arguments[i]; i++)
        switch (f->arguments[i]) {
        case 'c':
            k->comm = handle_of(f, i, 'c');
            k->of = hu_mpi_comm_get(HU_MPI_A_COMM, k->comm);
            break;
        case 'w':
            k->of = hu_mpi_comm_get(HU_MPI_A_WINDOW, handle_of(f, i, 'w'));
            break;
        case 'f':
            k->of = hu_mpi_comm_get(HU_MPI_A_FILE, handle_of(f, i, 'f'));
            break;
        case 'd':
            k->peer = int_of(f, i);
            break;
        case 's':
            k->is_receive = true;
            k->was_any = int_of(f, i) == hu_the_mpi.any_source;
            if (position(f, 'd') >= 0)
                k->source = k->was_any ? HU_MPI_NOBODY : int_of(f, i);
            else
                k->peer = k->was_any ? HU_MPI_NOBODY : int_of(f, i);
            break;
        case 'm':
            k->is_receive = k->is_receive || f->call == HU_MPI_Mrecv;
            break;
        case 'g':
            k->tag = int_of(f, i) == hu_the_mpi.any_tag ? HU_MPI_NOBODY : int_of(f, i);
            break;
        case 'r':
            k->root = int_of(f, i);
            break;
        case 'P':
            if (!f->is_fortran)
                add_fact(k, NAME_PATH, HU_MORE_TEXT, id_of_path((const char *)(uintptr_t)f->a[i]));
            break;
        default:
            break;
        }
}

/* A request that the call made. */
static void keep_request(const hu_mpi_frame *f, const knowledge *k)
{
    const int      at = position(f, 'q');
    hu_mpi_request r = {.bytes = k->bytes,
                        .comm = k->of.text,
                        .peer = k->peer,
                        .tag = k->tag,
                        .call = f->call,
                        .is_receive = k->is_receive,
                        .is_persistent = classes[f->call] == HU_MPI_CLASS_INIT};

    if (at < 0)
        return;
    r.world_peer = k->of.is_world ? k->peer : hu_mpi_comm_world_rank(k->comm, k->peer);
    hu_mpi_request_made(request_at(f, f->a[at], 0), &r);
}

/* Which of its requests a wait has ended: calls `take` for each. */
static uint32_t ended(const hu_mpi_frame *f, uint32_t out[HU_MPI_REQUESTS_MAX])
{
    const int index = position(f, 'i'), indices = position(f, 'o');
    const int base = f->is_fortran ? 1 : 0;
    uint32_t  n = 0;

    if (indices >= 0) {
        const int32_t count = hu_mpi_int_at(f->a[index]);

        for (int32_t i = 0; i < count && n < HU_MPI_REQUESTS_MAX; i++)
            out[n++] = (uint32_t)(((const int32_t *)(uintptr_t)f->a[indices])[i] - base);
    } else if (index >= 0) {
        out[n++] = (uint32_t)(hu_mpi_int_at(f->a[index]) - base);
    } else {
        while (n < f->n_requests) {
            out[n] = n;
            n++;
        }
    }
    return n;
}

static void learn_requests(const hu_mpi_frame *f, knowledge *k, bool are_over)
{
    uint32_t       which[HU_MPI_REQUESTS_MAX], known = 0;
    const uint32_t n = are_over ? ended(f, which) : f->n_requests;
    hu_mpi_request one = {0}, r;
    bool           same_comm = true;

    for (uint32_t i = 0; i < n; i++) {
        const uint32_t at = are_over ? which[i] : i;

        if (at >= f->n_requests || !hu_mpi_request_get(f->requests[at], &r))
            continue;
        if (are_over)
            hu_mpi_request_over(f->requests[at], false);
        same_comm = same_comm && (known == 0 || r.comm == one.comm);
        one = r;
        known++;
        k->bytes += r.bytes;
    }
    if (known && same_comm)
        k->of.text = one.comm;
    if (known == 1) {
        k->peer = one.peer;
        k->tag = one.tag;
        k->is_receive = one.is_receive;
        k->was_any = one.is_receive && one.peer == HU_MPI_NOBODY;
        k->of.is_world = one.world_peer == one.peer;
        add_fact(k, NAME_OF, HU_MORE_TEXT, hu_string_of(names[one.call]));
        if (one.is_receive && are_over)
            learn_status(f, k);
        if (!k->of.is_world && one.world_peer >= 0 && k->peer == one.peer)
            add_int(k, NAME_WORLD_PEER, one.world_peer);
    }
    if (f->total_requests > 1)
        add_fact(k, NAME_REQUESTS, HU_MORE_UINT, are_over ? n : f->total_requests);
}

static void add_facts(const hu_mpi_frame *f, knowledge *k)
{
    const hu_mpi *m = &hu_the_mpi;
    const bool    has_peer = k->peer >= 0;

    if (has_peer)
        add_int(k, NAME_PEER, k->peer);
    if (has_peer && !k->of.is_world && k->comm) {
        const int32_t world = hu_mpi_comm_world_rank(k->comm, k->peer);

        if (world >= 0)
            add_int(k, NAME_WORLD_PEER, world);
    }
    if (k->tag >= 0)
        add_int(k, NAME_TAG, k->tag);
    if (k->count >= 0)
        add_int(k, NAME_COUNT, k->count);
    if (k->root != HU_MPI_NOBODY && k->root != m->proc_null && k->root != m->root)
        add_int(k, NAME_ROOT, k->root);
    if (k->source >= 0)
        add_int(k, NAME_SOURCE, k->source);
    if (k->was_any)
        add_int(k, NAME_ANY, 1);
    if (k->received >= 0)
        add_int(k, NAME_RECEIVED, k->received);
    if (f->is_last)
        add_int(k, NAME_CODE, int_of(f, 1));
}

static void write_record(const hu_mpi_frame *f, const knowledge *k, uint64_t until)
{
    hu_record *r = hu_ring_take(1 + k->n_facts);

    if (!r)
        return;
    for (uint32_t i = 0; i < k->n_facts; i++)
        hu_ring_more(r + 1 + i, k->facts[i].name, k->facts[i].kind, k->facts[i].value);
    r->time = f->since;
    r->id = k->of.text;
    r->aux = f->call;
    r->a = until - f->since;
    r->b = k->bytes > 0 ? (uint64_t)k->bytes : 0;
    hu_ring_publish(r, HU_RECORD_MPI);
}

/* What a call that succeeded made or gave back. */
static void follow_structure(const hu_mpi_frame *f)
{
    const hu_mpi *m = &hu_the_mpi;
    const int     comm = position(f, 'C'), window = position(f, 'W'), file = position(f, 'H'), of = position(f, 'c');

    if (f->given_back)
        hu_mpi_comm_drop(f->thing, f->given_back);
    if (comm >= 0)
        hu_mpi_comm_made(handle_behind(f, comm, m->comm_f2c));
    if (window >= 0)
        hu_mpi_comm_lend(HU_MPI_A_WINDOW, handle_behind(f, window, m->win_f2c), handle_of(f, of, 'c'));
    if (file >= 0)
        hu_mpi_comm_lend(HU_MPI_A_FILE, handle_behind(f, file, m->file_f2c), handle_of(f, of, 'c'));
}

/* A message that was matched by one call is received by another, which does not say on which communicator. */
static void learn_message(const hu_mpi_frame *f, knowledge *k)
{
    const int      at = position(f, 'm'), flag = position(f, 'F');
    hu_mpi_request r;

    if (f->message && hu_mpi_request_get(f->message, &r)) {
        hu_mpi_request_over(f->message, true);
        k->of = (hu_mpi_comm){.text = r.comm, .is_world = r.world_peer == -1};
    } else if (at >= 0 && k->comm && (flag < 0 || hu_mpi_int_at(f->a[flag]))) {
        hu_mpi_request_made(request_at(f, f->a[at], 0),
                            &(hu_mpi_request){.comm = k->of.text, .world_peer = k->of.is_world ? -1 : 0, .call = f->call});
    }
}

static void learn_all(const hu_mpi_frame *f, knowledge *k, bool is_over)
{
    const hu_mpi_class class = (hu_mpi_class)classes[f->call];

    if (f->given_back) {
        k->of = f->comm;
    } else if (f->n_requests) {
        const int flag = position(f, 'F');

        learn_requests(f, k,
                       is_over && (class == HU_MPI_CLASS_WAIT || class == HU_MPI_CLASS_TEST) &&
                           (flag < 0 || hu_mpi_int_at(f->a[flag])));
    } else {
        learn_arguments(f, k);
        learn_message(f, k);
        if (is_over) {
            learn_bytes(f, k);
            learn_status(f, k);
            keep_request(f, k);
        }
    }
    if (position(f, 'z') >= 0)
        hu_mpi_request_over(f->requests[0], true);
    add_facts(f, k);
}

static knowledge nothing_known(void)
{
    return (knowledge){.count = -1,
                       .received = -1,
                       .peer = HU_MPI_NOBODY,
                       .tag = HU_MPI_NOBODY,
                       .root = HU_MPI_NOBODY,
                       .source = HU_MPI_NOBODY};
}

static bool may_ask(void)
{
    return __atomic_load_n(&hu_the_mpi.is_ready, __ATOMIC_ACQUIRE);
}

void hu_mpi_before(hu_mpi_frame *f, hu_mpi_room *room)
{
    const hu_mpi_class class = (hu_mpi_class)classes[f->call];
    const int status = position(f, 'S');

    hu_thread.inside++;
    f->is_timed_only = !hu_gate_open(HU_DOOR_MPI) && !is_followed(f->call);
    f->is_entered = hu_live_on() && is_communication(f->call);
    if (f->is_entered)
        hu_live_enter(HU_LIVE_COMMUNICATION);
    if (f->is_timed_only)
        return;
    if (!may_ask() && class != HU_MPI_CLASS_START && class != HU_MPI_CLASS_END)
        hu_mpi_starts();
    if (may_ask()) {
        copy_requests(f, room);
        look_at_given_back(f);
        if (status >= 0 && (f->is_fortran ? !f->has_fortran_status : f->a[status] <= 1)) {
            memset(room->status, 0, sizeof room->status);
            f->a[status] = (hu_word)(uintptr_t)room->status;
            f->has_fortran_status = f->is_fortran;
        }
    }
    f->since = hu_ticks();
    if (hu_gate_open(HU_DOOR_MPI)) /* of a program that is killed while it waits: where */
        hu_ring_inside(HU_INSIDE_MPI + f->call + 1u, f->since, 0, 0);
    if (class == HU_MPI_CLASS_ABORT) {
        knowledge k = nothing_known();

        f->is_last = true;
        if (may_ask())
            learn_all(f, &k, false);
        write_record(f, &k, f->since);
    }
    if (class == HU_MPI_CLASS_END)
        hu_mpi_ends();
}

void hu_mpi_after(hu_mpi_frame *f, int rc)
{
    const hu_mpi_class class = (hu_mpi_class)classes[f->call];
    const uint64_t until = hu_ticks();
    const int      flag = position(f, 'F');
    knowledge      k = nothing_known();
    bool           is_worth = true;

    if (f->is_entered)
        hu_live_leave();
    if (f->is_timed_only) {
        hu_thread.inside--;
        return;
    }
    if (class == HU_MPI_CLASS_START && rc == 0)
        hu_mpi_starts();
    if (may_ask() && rc == 0) {
        follow_structure(f);
        learn_all(f, &k, true);
    }
    if (class == HU_MPI_CLASS_TEST) /* a program may ask a million times */
        is_worth = until - f->since >= hu_the_control->os_threshold + TEST_TICKS_MIN ||
                   (rc == 0 && f->n_requests && flag >= 0 && hu_mpi_int_at(f->a[flag]) && k.of.text);
    if (is_worth && hu_gate_open(HU_DOOR_MPI))
        write_record(f, &k, until);
    hu_ring_inside(0, 0, 0, 0);
    hu_thread.inside--;
}

/* clang-format off */
#define M(name, fortran, arity, class, letters)                                                                       \
    static __attribute__((noinline)) int recorded_##name(int (*next)(P##arity), hu_word *a)                           \
    {                                                                                                                 \
        hu_mpi_frame f = {.call = HU_MPI_##name, .arguments = letters, .a = a};                                       \
        hu_mpi_room  room;                                                                                            \
        int          rc;                                                                                              \
                                                                                                                      \
        hu_mpi_before(&f, &room);                                                                                     \
        rc = next(C##arity);                                                                                          \
        hu_mpi_after(&f, rc);                                                                                         \
        return rc;                                                                                                    \
    }                                                                                                                 \
    EXPORT int MPI_##name(P##arity);                                                                                  \
    int MPI_##name(P##arity)                                                                                          \
    {                                                                                                                 \
        int (*const next)(P##arity) = (int (*)(P##arity))hu_mpi_function(HU_MPI_##name);                              \
                                                                                                                      \
        if (!next)                                                                                                    \
            return NO_MPI;                                                                                            \
        return hu_mpi_is_quiet(HU_MPI_##name) ? next(A##arity)                                                        \
                                              : recorded_##name(next, (hu_word[HU_MPI_ARGUMENTS_MAX]){A##arity});     \
    }
/* clang-format on */

HU_MPI_CALLS(M)
