/* SPDX-License-Identifier: Apache-2.0
 * arm.c - from options to a control page. */
#include "cli/arm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "protocol/nccl_events.h"
#include "record/clocks.h"
#include "record/naming.h"
#include "record/registry.h"
#include "record/template.h"

enum { MOST_BLOCKS = 65536, LEAST_BLOCKS = 4 };

extern char **environ;

_Static_assert(sizeof((hu_control *)0)->output >= sizeof((hu_facts *)0)->output, "`status` shows the whole name");

static void fill(const hu_run_options *o, const hu_facts *facts, hu_control *c)
{
    const uint64_t blocks = o->max_memory ? o->max_memory / HU_BLOCK_BYTES : HU_RING_BLOCKS_MAX;

    c->wanted = o->doors;
    c->state = HU_SESSION_ARMED;
    c->mode = (uint32_t)o->mode;
    c->clock = hu_clocks_choose();
    c->ticks_per_second = hu_clocks_calibrate((hu_clock)c->clock);
    c->heartbeat = hu_clocks_ticks((hu_clock)c->clock);
    c->max_blocks = (uint32_t)(blocks < LEAST_BLOCKS ? LEAST_BLOCKS : blocks > MOST_BLOCKS ? MOST_BLOCKS : blocks);
    c->wants_paths = o->paths;
    c->redacts_ranges = o->redact_ranges;
    c->nccl_events = o->nccl_events ? o->nccl_events : HU_NCCL_DEFAULT;
    c->os_threshold = (uint64_t)((double)o->threshold_ns * c->ticks_per_second / 1e9);
    c->wants_steps = o->wants_steps;
    c->cuda = o->cuda;
    c->torch = o->torch;
    c->first_step = o->first_step;
    c->last_step = o->last_step;
    if (o->wants_range) {
        memcpy(c->capture_range, o->range, sizeof c->capture_range);
        memcpy(c->capture_domain, o->domain, sizeof c->capture_domain);
    }
    if (o->session_name)
        snprintf(c->name, sizeof c->name, "%s", o->session_name);
    else
        snprintf(c->name, sizeof c->name, "%.40s-%d", facts->name[0] ? facts->name : "session", (int)getpid());
    snprintf(c->output, sizeof c->output, "%s", facts->output);
}

/* The nearest folder of the output that is there already. */
static void folder_of(const char *template, char *out)
{
    hu_template_folder(template, out);
    while (access(out, F_OK) < 0) {
        char *slash = strrchr(out, '/');

        if (!slash || slash == out) {
            snprintf(out, HU_TEMPLATE_BYTES, "%s", slash ? "/" : ".");
            return;
        }
        *slash = '\0';
    }
}

/* %q is looked up now: at the end nobody could say any more what was meant. */
static int check_output(const hu_run_options *o, const hu_facts *facts, char *template, hu_error *err)
{
    if (o->shared.output && strlen(o->shared.output) >= sizeof facts->output)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "the output name is longer than %zu bytes",
                       sizeof facts->output - 1);
    if (hu_template_complete(o->shared.output, facts->rank.rank >= 0, template, err) < 0)
        return err->code;
    return hu_template_check(template, environ, err);
}

int hu_arm(const hu_run_options *o, char *const *argv, hu_session *out, hu_facts *facts, hu_error *err)
{
    char template[HU_TEMPLATE_BYTES], folder[HU_TEMPLATE_BYTES];
    hu_error ignored = {0};

    hu_facts_gather(environ, argv, facts);
    if (check_output(o, facts, template, err) < 0)
        return err->code;
    snprintf(facts->output, sizeof facts->output, "%s", o->shared.output ? o->shared.output : "");
    facts->forces = o->force;
    if (hu_naming_refuse_taken(&(hu_naming){.facts = facts, .environment = environ, .forces = o->force}, err) < 0)
        return err->code;
    folder_of(template, folder);
    if (access(folder, W_OK) < 0 && !o->shared.quiet)
        hu_command_say("cannot write to %s: %s; the recording is kept elsewhere; choose a path with -o", folder,
                       strerror(errno));
    if (hu_session_make(o->scratch, folder, out, err) < 0)
        return err->code;
    fill(o, facts, out->control);
    if (!o->delay_ns && !o->starts_later)
        hu_session_record(out->control, true);
    if (hu_facts_write(out, facts, err) < 0 || hu_facts_write_environment(out, environ, err) < 0) {
        hu_session_close(out);
        hu_session_remove(out->path, NULL);
        return err->code;
    }
    hu_session_publish(out);
    if (hu_registry_add(out->control->name, out->path, &ignored) == 0)
        return 0;
    if (ignored.code == HU_EUSAGE && o->session_name) {
        *err = ignored;
        hu_session_close(out);
        hu_session_remove(out->path, NULL);
        return HU_EUSAGE;
    }
    if (!o->shared.quiet)
        hu_command_say("start, stop and status will not find this run: %s: %s", ignored.file, ignored.text);
    return 0;
}
