/* SPDX-License-Identifier: Apache-2.0
 * completions.c - what bash, zsh and fish are told: commands, options, the words that options take, and where files go.
 *
 * bash splits words at "=" and ":" before it asks; the file for it goes back to the line as it was typed.
 */
#include <stdio.h>

#include "cli/help.h"

enum { MOST_WORDS = 640 };

/* The words that an option takes, and whether more text follows them, as in "events=N". */
typedef struct {
    const char *at[MOST_WORDS];
    size_t      n;
    bool        are_names;
} word_list;

static bool takes_value(const hu_option *o)
{
    return o->type != HU_OPTION_FLAG && o->type != HU_OPTION_SWITCH && o->type != HU_OPTION_MAYBE;
}

static bool has_word(const word_list *list, const char *word, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list->at[i], word) == 0)
            return true;
    return false;
}

/* Each once.  NAME=N is completed to the sign, behind which only the user knows more. */
static void list_words(const hu_option *o, word_list *out)
{
    const size_t room = MOST_WORDS;
    size_t       n = o->words ? o->words(out->at, room) : 0;

    for (size_t i = 0; o->type == HU_OPTION_CHOICE && o->choices[i] && n < room; i++)
        out->at[n++] = o->choices[i];
    out->n = 0;
    for (size_t i = 0; i < n; i++)
        if (!has_word(out, out->at[i], out->n))
            out->at[out->n++] = out->at[i];
    out->are_names = o->argument && strncmp(o->argument, "NAME=", 5) == 0;
}

/* Behind such a word more follows, so no blank does. */
static bool goes_on(const word_list *words, size_t i)
{
    return words->are_names || hu_str_ends(hu_str_of(words->at[i]), HU_STR(":"));
}

static void put_word(hu_out *out, const word_list *words, size_t i, const char *colon)
{
    hu_out_text(out, " ");
    for (const char *c = words->at[i]; *c; c++) {
        if (*c == ':')
            hu_out_text(out, colon);
        else
            hu_out_write(out, c, 1);
    }
    hu_out_text(out, words->are_names ? "=" : "");
}

static void put_words(hu_out *out, const word_list *words)
{
    for (size_t i = 0; i < words->n; i++)
        put_word(out, words, i, ":");
}

/* Every shown row of a command. */
static void each_option(const hu_command *c, hu_out *out, void (*put)(hu_out *out, const hu_command *c, const hu_option *o))
{
    hu_option    rows[HU_OPTIONS_MOST];
    const size_t n = hu_command_rows(c, rows);

    for (size_t i = 0; i < n; i++)
        if (rows[i].help)
            put(out, c, &rows[i]);
}

/* Text between single quotes of a shell; `special` is what needs a backslash inside. */
static void quoted(hu_out *out, const char *text, const char *special, const char *quote)
{
    for (; *text; text++) {
        if (*text == '\'') {
            hu_out_text(out, quote);
            continue;
        }
        if (strchr(special, *text))
            hu_out_text(out, "\\");
        hu_out_write(out, text, 1);
    }
}

/* bash */

static void bash_name(hu_out *out, const hu_command *c, const hu_option *o)
{
    (void)c;
    hu_out_printf(out, " --%s", o->name);
    if (o->letter)
        hu_out_printf(out, " -%c", o->letter);
}

static void bash_valued(hu_out *out, const hu_command *c, const hu_option *o)
{
    if (takes_value(o))
        bash_name(out, c, o);
}

static void bash_value(hu_out *out, const hu_command *c, const hu_option *o)
{
    word_list words;

    list_words(o, &words);
    if (!takes_value(o) || (o->value == HU_VALUE_PLAIN && words.n == 0))
        return;
    hu_out_printf(out, "    '%s --%s'", c->name, o->name);
    if (o->letter)
        hu_out_printf(out, " | '%s -%c'", c->name, o->letter);
    hu_out_text(out, ") ");
    if (o->value == HU_VALUE_PLAIN) {
        hu_out_text(out, "list='");
        put_words(out, &words);
        hu_out_text(out, "' ;;\n");
    } else {
        hu_out_text(out, o->value == HU_VALUE_FOLDER ? "kind=d ;;\n" : "kind=f ;;\n");
    }
}

static const char bash_begin[] =
    "# bash completion for holdup, made by `holdup help --completion bash`\n"
    "\n"
    "# the reply, without what bash holds for an earlier word\n"
    "_holdup_reply() {\n"
    "    local typed=$1 held i\n"
    "    held=${typed%\"${typed##*[=:]}\"}\n"
    "    for i in \"${!COMPREPLY[@]}\"; do COMPREPLY[i]=${COMPREPLY[i]#\"$held\"}; done\n"
    "    [[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != *[=:] ]] || compopt -o nospace 2>/dev/null\n"
    "}\n"
    "\n"
    "_holdup() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} token before option='' value glued='' list=''\n"
    "    local kind='' options valued front='' rest\n"
    "    local -a words\n"
    "    local -i i last\n"
    "    COMPREPLY=()\n"
    "    IFS=$' \\t' read -ra words <<<\"$line\"\n"
    "    [[ $line != *[[:space:]] ]] || words+=('')\n"
    "    last=$((${#words[@]} - 1))\n"
    "    token=${words[last]} before=${words[last - 1]}\n";

static const char bash_middle[] =
    "    if ((last == 1)); then\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$commands --help --version\" -- \"$token\")\n"
    "        return\n"
    "    fi\n"
    "    case ${words[1]} in\n";

/* Behind the first word that is no option, a command of another program goes on. */
static const char bash_end[] =
    "    *) return ;;\n"
    "    esac\n"
    "    for ((i = 2; i < last && front; i++)); do\n"
    "        if [[ ${words[i]} == -- ]]; then i+=1; break; fi\n"
    "        if [[ \" $valued \" == *\" ${words[i]} \"* ]]; then i+=1\n"
    "        elif [[ ${words[i]} != -* && ${words[i]} != *=* ]]; then break; fi\n"
    "    done\n"
    "    if ((front && i < last)) || [[ $front && $before == -- ]]; then\n"
    "        for ((rest = 1; rest < COMP_CWORD; rest++)); do [[ ${COMP_WORDS[rest]} != \"${words[i]}\" ]] || break; done\n"
    "        if ((i < last)) && declare -F _command_offset >/dev/null; then _command_offset \"$rest\"; return; fi\n"
    "        kind=f\n"
    "        ((i < last)) || kind=c\n"
    "    elif [[ $token == --*=* ]]; then\n"
    "        option=${token%%=*} value=${token#*=} glued=$option=\n"
    "    elif [[ \" $valued \" == *\" $before \"* ]]; then\n"
    "        option=$before value=$token\n"
    "    elif [[ $token == -* ]]; then\n"
    "        list=$options\n"
    "    fi\n"
    "    case \"${words[1]} $option\" in\n";

static const char bash_last[] = "    esac\n"
                                "    [[ $option ]] || value=$token\n"
                                "    if [[ ! $list && ! $kind && ! $option ]]; then kind=$words_kind; fi\n"
                                "    if [[ $list ]]; then\n"
                                "        mapfile -t COMPREPLY < <(compgen -P \"$glued\" -W \"$list\" -- \"$value\")\n"
                                "    elif [[ $kind ]]; then\n"
                                "        mapfile -t COMPREPLY < <(compgen -P \"$glued\" -\"$kind\" -- \"$value\")\n"
                                "        compopt -o filenames 2>/dev/null\n"
                                "    fi\n"
                                "    _holdup_reply \"$token\"\n"
                                "}\n"
                                "\n"
                                "complete -F _holdup holdup\n";

static void write_bash(hu_out *out)
{
    static const char *const kinds[] = {
        [HU_WORDS_NONE] = "''", [HU_WORDS_PATHS] = "f", [HU_WORDS_COMMAND] = "c", [HU_WORDS_HELP] = "''"};

    hu_out_text(out, bash_begin);
    hu_out_text(out, "    local words_kind='' commands='");
    for (size_t i = 0; hu_commands[i]; i++)
        hu_out_printf(out, "%s%s", i ? " " : "", hu_commands[i]->name);
    hu_out_text(out, "'\n");
    hu_out_text(out, bash_middle);
    for (size_t i = 0; hu_commands[i]; i++) {
        const hu_command *c = hu_commands[i];

        hu_out_printf(out, "    %s) front=%s words_kind=%s list=%s\n        options='", c->name,
                      c->words == HU_WORDS_COMMAND ? "1" : "''", kinds[c->words],
                      c->words == HU_WORDS_HELP ? "$commands" : "''");
        each_option(c, out, bash_name);
        hu_out_text(out, "'\n        valued='");
        each_option(c, out, bash_valued);
        hu_out_text(out, "' ;;\n");
    }
    hu_out_text(out, bash_end);
    for (size_t i = 0; hu_commands[i]; i++)
        each_option(hu_commands[i], out, bash_value);
    hu_out_text(out, bash_last);
}

/* zsh */

/* Options that may be given again: those that add to what was said before. */
static bool repeats(const hu_option *o)
{
    return o->type == HU_OPTION_SPECIAL;
}

static void zsh_words(hu_out *out, const word_list *words)
{
    hu_out_text(out, "{compadd -S \"\" --");
    for (size_t i = 0; i < words->n; i++)
        if (goes_on(words, i))
            put_word(out, words, i, "\\:");
    hu_out_text(out, "; compadd --");
    for (size_t i = 0; i < words->n; i++)
        if (!goes_on(words, i))
            put_word(out, words, i, "\\:");
    hu_out_text(out, "}");
}

static void zsh_value(hu_out *out, const hu_option *o)
{
    word_list words;

    list_words(o, &words);
    hu_out_text(out, ":");
    quoted(out, o->argument, ":\\", "'\\''");
    hu_out_text(out, ":");
    if (o->value != HU_VALUE_PLAIN)
        hu_out_text(out, o->value == HU_VALUE_FOLDER ? "_files -/" : "_files");
    else if (words.n)
        zsh_words(out, &words);
}

static void zsh_option(hu_out *out, const hu_command *c, const hu_option *o)
{
    const char *glue = takes_value(o) ? "=" : "";

    (void)c;
    hu_out_text(out, " \\\n            ");
    if (o->letter && repeats(o))
        hu_out_printf(out, "'*'{-%c+,--%s%s}'[", o->letter, o->name, glue);
    else if (o->letter)
        hu_out_printf(out, "'(-%c --%s)'{-%c%s,--%s%s}'[", o->letter, o->name, o->letter, takes_value(o) ? "+" : "", o->name,
                      glue);
    else
        hu_out_printf(out, "'%s--%s%s[", repeats(o) ? "*" : "", o->name, glue);
    quoted(out, o->help, "[]\\", "'\\''");
    hu_out_text(out, "]");
    if (takes_value(o))
        zsh_value(out, o);
    hu_out_text(out, "'");
}

static const char zsh_begin[] = "#compdef holdup\n"
                                "# zsh completion for holdup, made by `holdup help --completion zsh`\n"
                                "\n"
                                "# names behind which a value follows\n"
                                "_holdup_names() { compadd -S '' \"$@\" }\n"
                                "\n"
                                "_holdup_commands() {\n"
                                "    local -a commands=(\n";

static const char zsh_middle[] =
    "    )\n"
    "    _describe -t commands 'holdup command' commands\n"
    "}\n"
    "\n"
    "_holdup() {\n"
    "    local curcontext=\"$curcontext\" state line\n"
    "    typeset -A opt_args\n"
    "    _arguments -C '(-h --help)'{-h,--help}'[list the commands]' '--version[print the version]' '1: :_holdup_commands'"
    " '*:: :->words'\n"
    "    [[ $state == words ]] || return\n"
    "    case $words[1] in\n";

static void write_zsh(hu_out *out)
{
    static const char *const words[] = {[HU_WORDS_NONE] = "",
                                        [HU_WORDS_PATHS] = " \\\n            '*: :_files'",
                                        [HU_WORDS_COMMAND] = " \\\n            '(-)1: :_command_names -e' '*:: :_normal'",
                                        [HU_WORDS_HELP] = " \\\n            '1: :_holdup_commands'"};

    hu_out_text(out, zsh_begin);
    for (size_t i = 0; hu_commands[i]; i++) {
        hu_out_printf(out, "        '%s:", hu_commands[i]->name);
        quoted(out, hu_commands[i]->summary, "\\", "'\\''");
        hu_out_text(out, "'\n");
    }
    hu_out_text(out, zsh_middle);
    for (size_t i = 0; hu_commands[i]; i++) {
        hu_out_printf(out, "    %s) _arguments -S", hu_commands[i]->name);
        each_option(hu_commands[i], out, zsh_option);
        hu_out_printf(out, "%s ;;\n", words[hu_commands[i]->words]);
    }
    hu_out_text(out, "    esac\n}\n\n_holdup \"$@\"\n");
}

/* fish */

static void fish_option(hu_out *out, const hu_command *c, const hu_option *o)
{
    word_list words;

    list_words(o, &words);
    hu_out_printf(out, "complete -c holdup -n '__holdup_is %s'", c->name);
    if (o->letter)
        hu_out_printf(out, " -s %c", o->letter);
    hu_out_printf(out, " -l %s -d '", o->name);
    quoted(out, o->help, "\\", "\\'");
    hu_out_text(out, "'");
    if (takes_value(o) && o->value == HU_VALUE_FOLDER)
        hu_out_text(out, " -x -a '(__fish_complete_directories)'");
    else if (takes_value(o))
        hu_out_text(out, o->value == HU_VALUE_PLAIN ? " -x" : " -r -F");
    if (words.n) {
        hu_out_text(out, " -a '");
        put_words(out, &words);
        hu_out_text(out, "'");
    }
    hu_out_text(out, "\n");
}

static const char fish_begin[] = "# fish completion for holdup, made by `holdup help --completion fish`\n"
                                 "\n"
                                 "# is the line about one of these commands?\n"
                                 "function __holdup_is\n"
                                 "    set -l words (commandline -opc)\n"
                                 "    test (count $words) -ge 2; and contains -- $words[2] $argv\n"
                                 "end\n"
                                 "\n"
                                 "function __holdup_is_bare\n"
                                 "    test (count (commandline -opc)) -eq 1\n"
                                 "end\n"
                                 "\n"
                                 "complete -c holdup -f\n"
                                 "complete -c holdup -n __holdup_is_bare -s h -l help -d 'list the commands'\n"
                                 "complete -c holdup -n __holdup_is_bare -l version -d 'print the version'\n";

static void write_fish(hu_out *out)
{
    static const char *const words[] = {[HU_WORDS_NONE] = NULL,
                                        [HU_WORDS_PATHS] = " -F",
                                        [HU_WORDS_COMMAND] = " -x -a '(__fish_complete_subcommand --fcs-skip=2)'",
                                        [HU_WORDS_HELP] = NULL};

    hu_out_text(out, fish_begin);
    for (size_t i = 0; hu_commands[i]; i++) {
        const hu_command *c = hu_commands[i];

        for (int k = 0; k < 2; k++) { /* behind `holdup`, and behind `holdup help` */
            hu_out_printf(out, "complete -c holdup -n '%s' -a %s -d '", k ? "__holdup_is help" : "__holdup_is_bare",
                          c->name);
            quoted(out, c->summary, "\\", "\\'");
            hu_out_text(out, "'\n");
        }
        if (words[c->words])
            hu_out_printf(out, "complete -c holdup -n '__holdup_is %s'%s\n", c->name, words[c->words]);
        each_option(c, out, fish_option);
    }
}

void hu_completions_write(hu_shell shell, hu_out *out)
{
    static void (*const writers[])(hu_out *) = {
        [HU_SHELL_BASH] = write_bash, [HU_SHELL_ZSH] = write_zsh, [HU_SHELL_FISH] = write_fish};

    writers[shell](out);
}
