/* SPDX-License-Identifier: Apache-2.0
 * pf_energy.c - the file may end anywhere, and every number in it may be wrong.
 *
 * A sample just before and one behind what is recorded belong to it: what a step took lies between two of them.
 */
#include "record/pf_energy.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "protocol/format.h"
#include "record/energy_file.h"

enum { BESIDE_NS = 1000000000, PATH_ROOM = 4352 };

typedef struct {
    char     name[HU_RAPL_NAME];
    uint64_t track; /* 0: not declared */
    uint64_t first, last;
} zone;

static FILE *open_file(const char *session, hu_energy_head *head, zone *zones)
{
    char      path[PATH_ROOM];
    FILE     *f;
    const int fd = (snprintf(path, sizeof path, "%s/energy", session), open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    bool      ok;

    f = fd < 0 ? NULL : fdopen(fd, "r");
    if (!f) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    ok = fread(head, sizeof *head, 1, f) == 1 && head->magic == HU_ENERGY_FILE_MAGIC && head->version == 1 &&
         head->state <= HU_RAPL_READ && head->n <= HU_RAPL_ZONES && head->period_ns > 0 && head->period_ns < HU_TIME_MAX_NS;
    for (uint32_t i = 0; ok && i < head->n; i++) {
        ok = fread(zones[i].name, sizeof zones[i].name, 1, f) == 1;
        zones[i].name[HU_RAPL_NAME - 1] = '\0';
        for (char *c = zones[i].name; *c; c++)
            *c = (unsigned char)*c <= ' ' ? '_' : *c;
    }
    if (ok)
        return f;
    fclose(f);
    return NULL;
}

static void declare(hu_pf *p, hu_pf_sequence *s, zone *z)
{
    char   name[HU_RAPL_TRACK_BYTES];
    size_t packet, open, inner;

    hu_rapl_track(hu_str_of(z->name), name);
    z->track = ++p->last_uuid;
    packet = hu_pf_open(p, s);
    open = hu_pb_write_open(&p->w, HU_PT_PACKET_TRACK);
    hu_pb_write_uint(&p->w, HU_PT_TRACK_UUID, z->track);
    hu_pb_write_str(&p->w, HU_PT_TRACK_NAME, hu_str_of(name));
    inner = hu_pb_write_open(&p->w, HU_PT_TRACK_COUNTER);
    hu_pb_write_str(&p->w, HU_PT_COUNTER_UNIT_NAME, HU_STR("J"));
    hu_pb_write_close(&p->w, inner);
    hu_pb_write_close(&p->w, open);
    hu_pf_close(p, s, packet);
}

static void put_value(hu_pf *p, hu_pf_sequence *s, zone *z, const hu_energy_row *row)
{
    hu_pf_event e = {.type = HU_PT_TYPE_COUNTER, .category = HU_PF_OF_NONE, .ns = row->ns, .text = HU_STR("")};

    if (!z->track) {
        declare(p, s, z);
        z->first = row->uj;
    } else if (row->uj < z->last) {
        return; /* no sampler writes that */
    }
    z->last = row->uj;
    e.track = z->track;
    e.counter = (double)(row->uj - z->first) / 1e6;
    hu_pf_write(p, s, &e);
}

static hu_str lines_of(hu_pf *p, const hu_energy_head *head, const zone *zones)
{
    const size_t room = (size_t)(head->n + 1) * HU_RAPL_TRACK_BYTES;
    char        *text = hu_arena_alloc(p->arena, room);
    size_t       n;

    if (!text)
        return (hu_str){0};
    n = (size_t)snprintf(text, room, "%s\t%lld\n", hu_rapl_state_word((hu_rapl_state)head->state),
                         (long long)head->period_ns);
    for (uint32_t i = 0; i < head->n; i++)
        n += (size_t)snprintf(text + n, room - n, "%s\n", zones[i].name);
    return (hu_str){text, n};
}

bool hu_pf_energy_write(hu_pf *p, hu_pf_sequence *s, const char *session, int64_t first_ns, int64_t end_ns, hu_str *lines)
{
    zone           zones[HU_RAPL_ZONES] = {0};
    hu_energy_head head;
    hu_energy_row  row;
    FILE          *f = open_file(session, &head, zones);

    *lines = HU_STR("");
    if (!f)
        return true;
    while (fread(&row, sizeof row, 1, f) == 1 && !p->w.no_memory) {
        const bool    is_sane = row.zone < head.n && row.ns >= p->base_ns && row.ns <= HU_TIME_MAX_NS;
        const int64_t ns = is_sane ? hu_pf_monotonic_ns(p, row.ns) : 0;

        if (is_sane && ns >= first_ns - BESIDE_NS && (!end_ns || ns < end_ns + BESIDE_NS))
            put_value(p, s, &zones[row.zone], &row);
    }
    fclose(f);
    *lines = lines_of(p, &head, zones);
    return lines->p && !p->w.no_memory;
}
