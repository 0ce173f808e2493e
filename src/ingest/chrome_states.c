/* SPDX-License-Identifier: Apache-2.0
 * chrome_states.c - states of threads as `holdup export` writes them: slices of category thread_state, on a row that is
 * called "1234 states" and lies beside thread 1234.
 */
#include "base/number.h"
#include "ingest/chrome_reader.h"

static const struct {
    const char    *name;
    hu_sched_state state;
} names[] = {{"running", HU_THREAD_RUNNING},
             {"runnable", HU_THREAD_RUNNABLE},
             {"waiting", HU_THREAD_WAITING},
             {"unknown", HU_THREAD_UNKNOWN}};

static hu_str text_of(const chrome_event *e, int place)
{
    return chrome_has(e, place) && e->at[place].type == CHROME_STRING ? (hu_str){e->at[place].p, e->at[place].n}
                                                                      : HU_STR("");
}

bool chrome_states_take(chrome_reader *r, const hu_builder_slice *slice)
{
    static const char   end[] = " states";
    const chrome_event *e = &r->event;
    const chrome_value *dur = &e->at[CHROME_DUR], *pid = &e->at[CHROME_PID];
    const hu_str        row = text_of(e, CHROME_TID), name = text_of(e, CHROME_NAME);
    hu_stretch          stretch = {.start_ns = slice->start_ns, .state = HU_THREAD_STATE_COUNT};
    hu_builder_slice    wait = *slice;
    int64_t             tid;

    if (!hu_str_equal(text_of(e, CHROME_CAT), HU_STR("thread_state")) || row.n <= strlen(end) ||
        memcmp(row.p + row.n - strlen(end), end, strlen(end)) != 0 ||
        !hu_parse_i64((hu_str){row.p, row.n - strlen(end)}, &tid) || !chrome_has(e, CHROME_PID) || pid->type != CHROME_INT ||
        !chrome_has(e, CHROME_DUR) || dur->type != CHROME_INT || dur->number <= 0 ||
        dur->number > INT64_MAX / 2 - stretch.start_ns)
        return false;
    for (size_t i = 0; i < HU_COUNT(names); i++)
        if (hu_str_equal(name, hu_str_of(names[i].name)))
            stretch.state = (uint8_t)names[i].state;
    if (stretch.state == HU_THREAD_STATE_COUNT)
        return false;
    stretch.end_ns = stretch.start_ns + dur->number;
    stretch.track = hu_builder_track(r->b, HU_TRACK_HOST, (hu_builder_id){pid->number, false}, (hu_builder_id){tid, false});
    hu_builder_stretch(r->b, &stretch);
    if (hu_builder_info(r->b)->state_source == HU_STATES_NONE)
        hu_builder_info(r->b)->state_source = HU_STATES_SWITCHES;
    if (stretch.state != HU_THREAD_RUNNABLE)
        return true;
    wait.dur_ns = dur->number;
    wait.kind = HU_KIND_CPU_WAIT;
    wait.detail = HU_NONE;
    wait.track = hu_builder_track(r->b, HU_TRACK_NOTE, (hu_builder_id){pid->number, false}, (hu_builder_id){tid, false});
    hu_builder_add(r->b, &wait);
    return true;
}
