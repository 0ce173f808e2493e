/* SPDX-License-Identifier: Apache-2.0
 * torch_door.c - one sentence about the process that trained most, and one for each thing that is missing. */
#include "cli/torch_door.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/command.h"

static void say_absent(const hu_tally *t)
{
    if (t->pythons == 0)
        hu_command_say("--pytorch: no Python was started, or none that the recorder was in: no operators, no steps");
    else if (t->isolated)
        hu_command_say("--pytorch: the hook was not loaded: Python was started with -I, -E or -S; leave these out");
    else
        hu_command_say("--pytorch: torch was not imported, or the hook was not loaded because somebody replaced PYTHONPATH");
}

static void say_found(const hu_tally *t)
{
    const hu_torch_facts *f = &t->torch;
    const uint32_t        processes = t->torch_processes[HU_TORCH_ON] + t->torch_processes[HU_TORCH_FAILED];
    char                  operators[HU_UNIT_BYTES], steps[HU_UNIT_BYTES], others[48] = "";

    if (processes > 1)
        snprintf(others, sizeof others, "; %u processes imported torch", processes);
    hu_units_count(steps, (int64_t)f->steps);
    hu_units_count(operators, (int64_t)(f->steps ? f->step_operators / f->steps : f->operators));
    if (f->has_own_steps)
        hu_command_say("PyTorch %s: steps of the program's own, %" PRIu64 " operators%s", f->version, f->operators, others);
    else if (f->steps)
        hu_command_say("PyTorch %s: %s step%s, %s operators a step%s", f->version, steps, f->steps == 1 ? "" : "s",
                       operators, others);
    else
        hu_command_say("PyTorch %s: no step was found, %s operators%s", f->version, operators, others);
    if (strncmp(f->why, "lines ", 6) == 0) /* of code, by the hook: it recorded everything else */
        hu_command_say("--pytorch=stacks: %s", f->why);
    else if (f->why[0])
        hu_command_say("PyTorch's operators were not recorded: %s", f->why);
    if (f->made_way)
        hu_command_say("PyTorch's operators were not recorded while another profiler of the program was active (%" PRIu32
                       " time%s)",
                       f->made_way, f->made_way == 1 ? "" : "s");
}

void hu_torch_door_say(const hu_tally *t)
{
    if (t->torch_processes[HU_TORCH_ON] || t->torch_processes[HU_TORCH_FAILED])
        say_found(t);
    else
        say_absent(t);
}
