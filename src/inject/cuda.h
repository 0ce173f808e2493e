/* SPDX-License-Identifier: Apache-2.0
 * cuda.h - what the files of the CUDA door share: the library as it was found, its buffers, and a back end behind a table.
 *
 * libcuda loads the library that CUDA_INJECTION64_PATH names while CUDA is initialised, and calls InitializeInjection
 * (cuda.c).  That looks for a libcupti (cuda_find.c), attaches a back end to it (cupti_v1.c), and starts a thread that
 * decodes what comes (cuda_thread.c, cupti_records.c).  Nothing of NVIDIA's is needed to build it: these are our own
 * declarations, and all of its functions are found by name.
 */
#ifndef HU_INJECT_CUDA_H
#define HU_INJECT_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/process.h"
#include "protocol/gpu.h"

/* What CUPTI's functions return; of all codes, those that mean something to us. */
enum {
    HU_CUPTI_OK = 0,
    HU_CUPTI_MAX_LIMIT = 12, /* the end of a buffer */
    HU_CUPTI_NOT_INITIALIZED = 15,
    HU_CUPTI_INVALID_KIND = 21, /* in a buffer: a record that is not complete, and no way behind it */
    HU_CUPTI_NO_PRIVILEGES = 35,
    HU_CUPTI_OTHER_SUBSCRIBER = 39,
    HU_CUPTI_NO_PRIVILEGES_VIRTUAL = 40,
    HU_CUPTI_UNKNOWN = 999,
};

enum { HU_CUPTI_OF_DRIVER = 1, HU_CUPTI_OF_RUNTIME = 2 }; /* domains of callbacks */
enum { HU_CUPTI_ENTERS = 0, HU_CUPTI_EXITS = 1 };         /* sites */
enum { HU_CUPTI_THREAD_ID_SYSTEM = 1, HU_CUPTI_ATTRIBUTE_ZEROED = 5 };

/* Of what a callback is given, the beginning. */
typedef struct {
    uint32_t    site;
    const char *function;
} hu_cupti_call;

typedef void     hu_cupti_on_call(void *user, uint32_t domain, uint32_t cbid, const hu_cupti_call *call);
typedef void     hu_cupti_on_request(uint8_t **buffer, size_t *bytes, size_t *most_records);
typedef void     hu_cupti_on_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes);
typedef uint64_t hu_cupti_on_time(void);

/* Of the second interface; each begins with its size, by which CUPTI knows which members there are. */
typedef struct {
    size_t bytes;
} hu_cupti_request;

typedef struct {
    size_t                   bytes;
    uint64_t                 thread;
    struct hu_cupti_layout **layouts; /* by kind; NULL where there are none of it */
    size_t                   n_layouts;
} hu_cupti_completion;

typedef void hu_cupti_on_request_2(uint8_t **buffer, size_t *bytes, size_t *most_records, hu_cupti_request *);
typedef void hu_cupti_on_complete_2(uint8_t *buffer, size_t bytes, size_t valid_bytes, hu_cupti_completion *);

typedef struct {
    size_t      bytes;
    const char *name;
    char       *other; /* filled with the name of who was first */
    size_t      other_bytes;
    uint8_t     is_shared, padding[7];
} hu_cupti_subscription;

typedef struct {
    size_t    bytes;
    uint32_t *cbids;
    size_t    n;
    uint8_t   is_of_wanted; /* 0: these are left out */
} hu_cupti_calls;

typedef struct hu_cupti_call_options {
    size_t          bytes;
    hu_cupti_calls *calls;
} hu_cupti_call_options;

typedef struct {
    size_t bytes;
    struct {
        size_t bytes, n;
        int   *numbers;
    } fields;
    struct hu_cupti_call_options *options; /* since 13.4; NULL: all calls */
} hu_cupti_selection;

/* F(member, name behind "cupti", is it needed, parameters) */
/* clang-format off */
#define HU_CUPTI_FUNCTIONS(F)                                                                                            \
    F(get_version, "GetVersion", true, (uint32_t *version))                                                              \
    F(register_callbacks, "ActivityRegisterCallbacks", true, (hu_cupti_on_request *, hu_cupti_on_complete *))            \
    F(enable, "ActivityEnable", true, (int kind))                                                                        \
    F(disable, "ActivityDisable", true, (int kind))                                                                      \
    F(next_record, "ActivityGetNextRecord", true, (uint8_t *buffer, size_t valid_bytes, uint8_t **record))               \
    F(dropped, "ActivityGetNumDroppedRecords", true, (void *context, uint32_t stream, size_t *dropped))                  \
    F(flush_all, "ActivityFlushAll", true, (uint32_t flags))                                                             \
    F(register_time, "ActivityRegisterTimestampCallback", true, (hu_cupti_on_time *))                                    \
    F(subscribe, "Subscribe", true, (void **subscriber, hu_cupti_on_call *, void *user))                                 \
    F(unsubscribe, "Unsubscribe", false, (void *subscriber))                                                             \
    F(enable_callback, "EnableCallback", false, (uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid))     \
    F(callback_name, "GetCallbackName", false, (uint32_t domain, uint32_t cbid, const char **name))                      \
    F(enable_and_dump, "ActivityEnableAndDump", false, (int kind))                                                       \
    F(enable_driver, "ActivityEnableDriverApi", false, (uint32_t cbid, uint8_t enable))                                  \
    F(enable_runtime, "ActivityEnableRuntimeApi", false, (uint32_t cbid, uint8_t enable))                                \
    F(set_attribute, "ActivitySetAttribute", false, (int attribute, size_t *bytes, void *value))                         \
    F(set_thread_id_type, "SetThreadIdType", false, (int type))                                                          \
    F(subscribe_2, "Subscribe_v2", false, (void **subscriber, hu_cupti_on_call *, void *user, hu_cupti_subscription *))   \
    F(set_attribute_2, "ActivitySetAttribute_v2", false, (void *subscriber, int attribute, size_t *bytes, void *value))   \
    F(get_attribute_2, "ActivityGetAttribute_v2", false, (void *subscriber, int attribute, size_t *bytes, void *value))   \
    F(register_callbacks_2, "ActivityRegisterCallbacks_v2", false,                                                       \
      (void *subscriber, hu_cupti_on_request_2 *, hu_cupti_on_complete_2 *))                                             \
    F(enable_2, "ActivityEnable_v2", false, (void *subscriber, int kind, hu_cupti_selection *))                          \
    F(enable_and_dump_2, "ActivityEnableAndDump_v2", false, (void *subscriber, int kind, hu_cupti_selection *))          \
    F(disable_2, "ActivityDisable_v2", false, (void *subscriber, int kind, hu_cupti_selection *))                        \
    F(next_record_2, "ActivityGetNextRecord_v2", false,                                                                  \
      (void *subscriber, uint8_t *buffer, size_t valid_bytes, uint8_t **record))                                         \
    F(dropped_2, "ActivityGetNumDroppedRecords_v2", false,                                                               \
      (void *subscriber, void *context, uint32_t stream, size_t *dropped))
/* clang-format on */

/* The library; all zero until it was found. */
typedef struct {
    void    *library;
    uint32_t version;    /* of its interface: 18 is 11.8 to 12.1, 130101 is 13.1 */
    void    *subscriber; /* of the second interface; NULL: the first one is used */
#define F(member, name, is_needed, parameters) int(*member) parameters;
    HU_CUPTI_FUNCTIONS(F)
#undef F
} hu_cupti;

extern hu_cupti hu_the_cupti;

/* A way to attach to CUPTI.  What returns a code leaves the name of the function that gave it in hu_cuda_facts.what. */
typedef struct {
    int (*attach)(void);                    /* everything but recording */
    int (*record)(bool is_on);              /* enables kinds, or disables them: what is off costs nothing */
    void (*flush)(bool is_whole);           /* buffers whose records are complete; is_whole: all of them */
    uint64_t (*dropped)(void);              /* records since the last time.  From the decoding thread alone */
    void (*describe)(void);                 /* gives records of the devices, contexts and streams that are there */
    bool (*release)(void);                  /* another one in this process may subscribe; false: we need that ourselves */
    void (*make_way)(const char *function); /* another one calls this function of the first interface; NULL: we share it */
} hu_cupti_back_end;

extern const hu_cupti_back_end hu_cupti_v1, hu_cupti_v2;

bool hu_cupti_v2_fits(void); /* this CUPTI has it, and it serves nobody worse in this process */

/* cupti_calls.c: for both of them. */
extern const uint8_t hu_cupti_kinds[]; /* those that we record, the kernels' first; ended by 0 */

bool hu_cupti_wants_kind(int kind);                 /* by the options of the run, and the library's version */
int  hu_cupti_said(const char *function, int code); /* the code; one of failure is noted with its function */
void hu_cupti_on_call_made(void *user, uint32_t domain, uint32_t cbid, const hu_cupti_call *call);
void hu_cupti_watch_calls(void *subscriber, bool is_on); /* always where they say what to record, else while it is */

/* cuda.c.  NULL: this process has no ring. */
hu_cuda_facts *hu_cuda_get_facts(void);
void           hu_cuda_fail(hu_cuda_state state, int code, const char *what);
void           hu_cuda_attach(void); /* once the library is there: attaches, starts the thread, records if it is to be */
void           hu_cuda_switch(void); /* records exactly while the gate is open and nobody else does */
void           hu_cuda_flush(bool is_whole);
void           hu_cuda_profiler(bool starts);  /* the program called cudaProfilerStart or Stop */
void           hu_cuda_yield(void);            /* another one begins to record */
void           hu_cuda_leave(const char *why); /* ... or takes CUPTI from us, by that call: for good */

/* Of this process.  NULL: not attached, or no more.  Another thread may leave at any time: ask once and keep the answer. */
const hu_cupti_back_end *hu_cuda_back_end(void);

/* cuda_find.c: opens CUPTI and fills hu_the_cupti.  False: hu_cuda_fail was called. */
bool  hu_cuda_find(void);
void *hu_cuda_mapped(const char *soname, char *path, size_t room); /* a library that is there; its file.  NULL: none */
void  hu_cuda_read_versions(hu_cuda_facts *facts);                 /* of driver and runtime, by asking them */
void  hu_cuda_judge_absence(void); /* at the end of a process whose driver never called: why, as far as can be told */

/* cuda_devices.c.  The device of that number, a new one where there is none yet; NULL: there are too many. */
hu_gpu_device *hu_cuda_device(hu_cuda_facts *facts, uint32_t id);
void hu_cuda_ask_uuids(hu_cuda_facts *facts); /* of those that had work, once: the driver, where CUPTI did not say */

/* cupti_buffers.c: pieces of memory that CUPTI fills.  A request always gets one. */
void hu_buffers_request(uint8_t **buffer, size_t *bytes, size_t *most_records);
bool hu_buffers_complete(uint8_t *buffer, size_t valid_bytes); /* false: it is none of ours */

typedef struct hu_buffer hu_buffer;

struct hu_buffer {
    hu_buffer *next;
    uint8_t   *at;
    size_t     bytes, valid;
    uint32_t   is_out, is_spare; /* is_spare: more than the limit; its records are thrown away */
};

hu_buffer *hu_buffers_take(void);             /* one that was filled, the oldest first; NULL: none */
void       hu_buffers_give_back(hu_buffer *); /* may be filled again */
uint64_t   hu_buffers_lost(void);             /* records, since the last time, that nobody can decode any more */

/* cuda_thread.c */
bool hu_cuda_thread_start(void);
void hu_cuda_thread_flush(bool is_whole); /* soon */
void hu_cuda_thread_look(void);           /* at the gate, now */
void hu_cuda_thread_end(void);            /* decodes what is there, then ends; waits for that, but not for ever */
void hu_cuda_thread_forked(void);

/* cupti_records.c: all records of a buffer, into the ring; only how many there are, on any thread. */
void     hu_cupti_decode(hu_buffer *buffer);
uint64_t hu_cupti_count(uint8_t *at, size_t valid_bytes);
bool     hu_cupti_is_past(uint64_t ticks); /* has GPU work come whose call began later?  Asked of one time after the other */

/* cupti_names.c: functions by their number; 0: its calls are not recorded. */
uint32_t hu_cupti_call_name(uint32_t domain, uint32_t cbid);
bool     hu_cupti_wants_driver_call(uint32_t cbid);
bool     hu_cupti_is_noise(uint32_t cbid); /* of the runtime */
uint32_t hu_cupti_copy_name(unsigned copy, unsigned from, unsigned to);
uint32_t hu_cupti_fill_name(unsigned memory);
uint32_t hu_cupti_cost_name(uint32_t cost);
uint32_t hu_cupti_wait_name(uint32_t wait); /* 0: no wait that we know */

enum { HU_CUPTI_MOST_CBIDS = 2048 };

/* cuda_others.c: who else in this process uses CUPTI. */
bool hu_cuda_is_other_recording(void);
bool hu_cuda_others_subscribed(void);
bool hu_cuda_others_were_seen(void); /* using the first interface in any way */
bool hu_cuda_others_request(uint8_t **buffer, size_t *bytes, size_t *most_records); /* false: theirs is not asked now */
void hu_cuda_others_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes);

#endif
