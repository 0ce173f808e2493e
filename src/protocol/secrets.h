/* SPDX-License-Identifier: Apache-2.0
 * secrets.h - all that redact.c knows of secrets: words of names, beginnings of tokens, options of programs.
 *
 * docs/run.md ("Secrets") says the same in words: what changes here changes there.
 */
#ifndef HU_PROTOCOL_SECRETS_H
#define HU_PROTOCOL_SECRETS_H

#include <stddef.h>
#include <stdint.h>

/* HU_WORD_COUNT is HU_WORD_END of what may also be counted: a number behind it is none ("tokens=512"). */
typedef enum { HU_WORD_WHOLE, HU_WORD_END, HU_WORD_COUNT, HU_WORD_PART } hu_word_match;

/*
 * Words of a name, in capitals.  A name is cut into words at what is no letter and before a capital behind a small
 * letter.  A row with neighbours is a weak one: next to one of `before` or `after` it speaks of something else
 * ("pad_token", "num-key-value-heads"), and so it does when its value is true, false, none ...
 */
typedef struct {
    const char   *word;
    hu_word_match match;
    uint32_t      least;          /* letters that the word of the name has */
    const char   *before, *after; /* " A B " : innocent neighbours; NULL: a strong word */
} hu_secret_word;

/* clang-format off */
#define HU_OF_TOKENIZERS                                                                                              \
    " PAD PADDING EOS BOS SEP CLS UNK MASK STOP IMAGE VIDEO AUDIO SPEECH SPECIAL NEXT PREV LAST FIRST MAX MIN NUM N"  \
    " PER TOP VOCAB START END BEGIN THINK BOUNDARY PLACEHOLDER DRAFT "
#define HU_OF_TABLES                                                                                                  \
    " SORT PRIMARY FOREIGN PUBLIC PUB CACHE PARTITION COLUMN INPUT OUTPUT LABEL LABELS TEXT PROMPT RESPONSE IMAGE"    \
    " VIDEO AUDIO FEATURE TARGET REWARD CHOSEN REJECTED MESSAGES METRIC QUERY NUM N MAX MIN D DICT JSON LOOKUP "
#define HU_OF_SIZES                                                                                                   \
    " SIZE LEN LENGTH COUNT NUM INDEX IDX DIM DIMS HEADS TYPE TYPES LIMIT RATE BUDGET MASK EMBED EMBEDS EMBEDDING"    \
    " EMBEDDINGS DROPOUT PADDING NAMES COLUMN FIELD FRACTION PARALLEL CHUNK LOSS PROB WEIGHT POSITION BITS IDS "
#define HU_OF_COUNTS                                                                                                  \
    " NEW TOTAL BATCH BATCHED INPUT OUTPUT PROMPT CONTEXT COMPLETION RESPONSE GENERATED ADDED EXTRA OF TEXT TRAIN "

static const hu_secret_word hu_secret_words[] = {
    {"PASSWORD", HU_WORD_PART, 0, NULL, NULL},   {"PASSWD", HU_WORD_PART, 0, NULL, NULL},
    {"PASSPHRASE", HU_WORD_PART, 0, NULL, NULL}, {"PASSCODE", HU_WORD_PART, 0, NULL, NULL},
    {"SECRET", HU_WORD_PART, 0, NULL, NULL},     {"CREDENTIAL", HU_WORD_PART, 0, NULL, NULL},
    {"APIKEY", HU_WORD_PART, 0, NULL, NULL},     {"AUTHORIZATION", HU_WORD_END, 0, NULL, NULL},
    {"COOKIE", HU_WORD_PART, 0, NULL, NULL},     {"BEARER", HU_WORD_WHOLE, 0, NULL, NULL},
    {"DSN", HU_WORD_WHOLE, 0, NULL, NULL},       {"WEBHOOK", HU_WORD_PART, 0, NULL, NULL},
    {"PWD", HU_WORD_WHOLE, 0, NULL, NULL},       {"SESSIONID", HU_WORD_PART, 0, NULL, NULL},
    {"SESSID", HU_WORD_END, 0, NULL, NULL},      {"USERPWD", HU_WORD_WHOLE, 0, NULL, NULL},
    {"TOKEN", HU_WORD_END, 0, HU_OF_TOKENIZERS, HU_OF_SIZES},
    {"TOKENS", HU_WORD_COUNT, 0, HU_OF_TOKENIZERS HU_OF_COUNTS, HU_OF_SIZES},
    {"KEY", HU_WORD_WHOLE, 0, HU_OF_TABLES, HU_OF_SIZES " VALUE VALUES NAME "},
    {"KEYS", HU_WORD_WHOLE, 0, HU_OF_TABLES, HU_OF_SIZES " VALUES "},
    {"KEY", HU_WORD_END, 7, HU_OF_TABLES, HU_OF_SIZES}, /* accesskey */
    {"PASS", HU_WORD_WHOLE, 0,
     " NUM N MAX MIN FIRST SECOND LAST ONE TWO MULTI SINGLE FORWARD BACKWARD RENDER BAND LOW HIGH ALL ",
     " RATE THROUGH COUNT NUM NUMBER INDEX "},
    {"PASS", HU_WORD_END, 6, " NO ", " RATE FILTER COUNT NUM NUMBER INDEX "}, /* sshpass */
    {"PW", HU_WORD_WHOLE, 0, " NO NUM N ", HU_OF_SIZES},
    {"CRED", HU_WORD_WHOLE, 0, " NO ", " TYPE "},
    {"CREDS", HU_WORD_WHOLE, 0, " NO ", " TYPE "},
    {"AUTH", HU_WORD_WHOLE, 0, " NO ", " TYPE MODE METHOD "},
    {"PRIVATE", HU_WORD_WHOLE, 0, " MAP ", " REPO NETWORK POOL "},
    {"SIGNATURE", HU_WORD_WHOLE, 0, " MODEL INPUT OUTPUT FUNCTION ", " DEF NAME "},
    {"SIG", HU_WORD_WHOLE, 0, " STOP KILL ", " NUM "},
};

/* Whole words that the rows above would take for a secret's. */
#define HU_INNOCENT_WORDS \
    " MONKEY DONKEY TURKEY WHISKEY HOCKEY JOCKEY HOTKEY SECRETARY SECRETARIAT SECRETARIES COOKIECUTTER COMPASS"        \
    " ENCOMPASS BYPASS NOBYPASS TRESPASS SURPASS OVERPASS UNDERPASS IMPASS LOWPASS HIGHPASS BANDPASS ALLPASS ONEPASS" \
    " TWOPASS MULTIPASS SINGLEPASS SUBPASS PREPASS POSTPASS FIRSTPASS SECONDPASS FORWARDPASS BACKWARDPASS RENDERPASS" \
    " DEPTHPASS NUMPASS MAXPASS MINPASS FULLPASS FASTPASS "

/* In front of a weak word they leave no doubt, whatever follows: AWS_ACCESS_KEY_ID. */
#define HU_GUILTY_WORDS " ACCESS API AUTH ACCOUNT SIGNING ENCRYPTION MASTER DEPLOY SERVICE REFRESH BEARER "

/* Values that say nothing, behind a weak name. */
#define HU_INNOCENT_VALUES " TRUE FALSE YES NO ON OFF NONE NULL "

/*
 * Beginnings of tokens that are known by themselves, wherever they stand.  Behind one there must be `least` letters,
 * digits and `also`, among which a digit or letters of both cases, or 24 in all: hf_transfer is no token.  A beginning
 * with a '/' is of an address: it stays, the token behind it goes.
 */
typedef struct {
    const char *start, *also;
    uint32_t    least;
} hu_secret_start;

static const hu_secret_start hu_secret_starts[] = {
    {"hf_", "", 10},       {"api_org_", "", 16},  {"sk-", "-_", 16},      {"sk_live_", "", 10},     {"sk_test_", "", 10},
    {"rk_live_", "", 10},  {"ghp_", "", 16},      {"gho_", "", 16},       {"ghu_", "", 16},         {"ghs_", "", 16},
    {"ghr_", "", 16},      {"github_pat_", "_", 16}, {"glpat-", "-_", 12}, {"gldt-", "-_", 12},     {"glrt-", "-_", 12},
    {"xoxa-", "-", 10},    {"xoxb-", "-", 10},    {"xoxe-", "-", 10},     {"xoxo-", "-", 10},       {"xoxp-", "-", 10},
    {"xoxr-", "-", 10},    {"xoxs-", "-", 10},    {"xapp-", "-", 10},     {"AKIA", "", 12},         {"ASIA", "", 12},
    {"LTAI", "", 12},      {"AIza", "-_", 20},    {"ya29.", "-_.", 16},   {"eyJ", "-_.=", 16},      {"npm_", "", 24},
    {"pypi-", "-_", 24},   {"nvapi-", "-_", 16},  {"r8_", "", 24},        {"gsk_", "", 24},         {"xai-", "-_", 24},
    {"pplx-", "", 24},     {"hvs.", "-_", 16},    {"tskey-", "-", 16},    {"dckr_pat_", "-_", 12},  {"glsa_", "_", 16},
    {"SG.", "-_.", 30},    {"dop_v1_", "", 24},   {"shpat_", "", 24},     {"lin_api_", "", 24},     {"wandb_v1_", "_", 16},
    {"AGE-SECRET-KEY-", "", 16}, {"dapi", "-", 32},
    {"hooks.slack.com/services/", "/", 16},        {"hooks.slack.com/workflows/", "/", 16},
    {"hooks.slack.com/triggers/", "/", 16},        {"discord.com/api/webhooks/", "/-_", 16},
    {"discordapp.com/api/webhooks/", "/-_", 16},   {"api.telegram.org/bot", ":-_", 16},
    {"api.telegram.org/file/bot", ":-_", 16},      {"webhook.office.com/webhookb2/", "/-@", 16},
};

/*
 * Options of one letter that carry a password, by program.  A glued one is "-pVALUE", else "-p VALUE".  One with a
 * separator carries the user too: NAME, separator (or ':'), password.
 */
typedef struct {
    const char *program;
    char        letter;
    uint8_t     is_glued, is_next;
    char        separator; /* 0: the value is the password */
} hu_secret_option;

static const hu_secret_option hu_secret_options[] = { /* login: of docker */
    {"mysql", 'p', 1, 0, 0},            {"mysqldump", 'p', 1, 0, 0},        {"mysqladmin", 'p', 1, 0, 0},
    {"mysqlimport", 'p', 1, 0, 0},      {"mysqlshow", 'p', 1, 0, 0},        {"mysqlpump", 'p', 1, 0, 0},
    {"mariadb", 'p', 1, 0, 0},          {"mariadb-dump", 'p', 1, 0, 0},     {"7z", 'p', 1, 0, 0},
    {"7za", 'p', 1, 0, 0},              {"sshpass", 'p', 1, 1, 0},          {"mongo", 'p', 1, 1, 0},
    {"mongosh", 'p', 1, 1, 0},          {"mongodump", 'p', 1, 1, 0},        {"redis-cli", 'a', 1, 1, 0},
    {"ldapsearch", 'w', 1, 1, 0},       {"ldapmodify", 'w', 1, 1, 0},       {"zip", 'P', 1, 1, 0},
    {"unzip", 'P', 1, 1, 0},            {"login", 'p', 1, 1, 0},            {"http", 'a', 0, 0, ':'},
    {"https", 'a', 0, 0, ':'},          {"lftp", 'u', 0, 0, ','},           {"smbclient", 'U', 0, 0, '%'},
    {"smbget", 'U', 0, 0, '%'},         {"rpcclient", 'U', 0, 0, '%'},
};

/* Options in front of NAME:PASSWORD. */
#define HU_USER_OPTIONS " -u -U --user --proxy-user --http-user "

/* Letters that may stand before the u of such an option, since they take no value: curl -sSu. */
#define HU_FLAGS_BEFORE_USER "sSfLkvgiIjnNGOJRlqaB#"

/* Words in front of a token: "Authorization: Bearer x", `wandb login x` (there only what is long). */
#define HU_TOKEN_SCHEMES " BEARER BASIC DIGEST TOKEN NEGOTIATE APIKEY "

/* Words in front of a secret: `ngrok authtoken x`. */
#define HU_VALUE_WORDS " BEARER AUTHTOKEN ADD-AUTHTOKEN "

/* Words and options in front of a name and then its value: `setenv NAME x`, `mpiexec -genv NAME x`,
 * setdefault('NAME', 'x'). */
#define HU_NAMING_WORDS   " SETENV SET CONFIG PUTENV SETDEFAULT "
#define HU_NAMING_OPTIONS " -env -genv --env --genv --setenv --set "
/* clang-format on */

#endif
