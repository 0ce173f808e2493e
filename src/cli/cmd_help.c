/* SPDX-License-Identifier: Apache-2.0
 * cmd_help.c - `holdup help`: for people, for man, and for shells. */

#include "cli/help.h"
#include "cli/outputs.h"

typedef struct {
    hu_shared shared;
    bool      man;
    int       shell; /* hu_shell; -1: none */
} options;

static const char *const shells[] = {"bash", "zsh", "fish", NULL}; /* as hu_shell */

static const hu_option rows[] = {
    {"man", 0, HU_OPTION_FLAG, NULL, "print the manual page of COMMAND, or of holdup, for groff -man",
     offsetof(options, man)},
    {"completion", 0, HU_OPTION_CHOICE, "SHELL", "print the completion script for bash, zsh or fish",
     offsetof(options, shell), shells},
};

static int print(const options *o, const hu_command *c)
{
    hu_error err = {0};
    hu_out  *out = hu_output_open(NULL, &err);

    if (!out)
        return hu_command_fail(&err);
    if (o->man)
        hu_man_write(c, out);
    else
        hu_completions_write((hu_shell)o->shell, out);
    return hu_out_close(out, &err) < 0 ? hu_command_fail(&err) : 0;
}

static int run(hu_cli_call *call)
{
    const options    *o = call->options;
    const hu_command *c = call->n ? hu_command_find(call->argv[0]) : NULL;

    if (call->n && !c)
        return hu_command_fail_unknown(call->argv[0]);
    if (o->man || o->shell >= 0)
        return print(o, c);
    return hu_help_print(c);
}

const hu_command hu_command_help = {
    .name = "help",
    .group = HU_GROUP_HELP,
    .summary = "show help on a COMMAND; print manual pages and completions",
    .usage = "[COMMAND] [--man | --completion SHELL]",
    .about = "Lists the commands, or describes one of them.  Also prints manual pages and\n"
             "completions; `make install` installs both where man and shells look for them.",
    .examples = "  holdup help report\n"
                "  holdup help --man report | man -l -\n"
                "  eval \"$(holdup help --completion bash)\"\n"
                "  holdup help --completion fish >~/.config/fish/completions/holdup.fish",
    .most = 1,
    .words = HU_WORDS_HELP,
    .options = rows,
    .n_options = HU_COUNT(rows),
    .options_size = sizeof(options),
    .defaults = &(const options){.shell = -1},
    .excludes = (const hu_option_pair[]){{"man", "completion"}, {NULL, NULL}},
    .run = run,
};
