/* SPDX-License-Identifier: Apache-2.0
 * web_auth.c - a queue of a few places and one thread behind it. */
#include "monitor/serve/web_auth.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/late/crypt.h"
#include "base/late/gnutls.h"

enum { PLACES = 8, REMEMBERED = 32, DIGEST = 32, SALT = 16, WORDS = 256 };

/* "user:password", taken apart. */
typedef struct {
    char user[WORDS], password[WORDS];
} pair;

typedef struct {
    hu_auth_question *question; /* NULL: it was withdrawn */
    hu_web_config    *config;
    pair              said;
} job;

struct hu_web_auth {
    pthread_mutex_t   lock;
    pthread_cond_t    is_new;
    pthread_t         thread;
    bool              has_thread, has_to_end, is_computing;
    job               at[PLACES]; /* [0..n), the first one is being computed */
    size_t            n;
    unsigned char     right[REMEMBERED][DIGEST];
    size_t            n_right; /* of all times */
    unsigned char     salt[SALT];
    struct crypt_data data;
};

hu_web_auth *hu_web_auth_new(hu_error *err)
{
    hu_web_auth *a;

    if (hu_late_open(&hu_gnutls_library, err) < 0 || hu_late_open(&hu_crypt_library, err) < 0)
        return NULL;
    a = calloc(1, sizeof *a);
    if (!a) {
        hu_fail_memory(err);
        return NULL;
    }
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->is_new, NULL);
    if (gnutls_rnd(GNUTLS_RND_KEY, a->salt, sizeof a->salt) == 0)
        return a;
    hu_fail(err, HU_EIO, NULL, HU_NO_OFFSET, "GnuTLS has no random bytes");
    free(a);
    return NULL;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* False: it is no basic authentication, or longer than any that we compute. */
static bool take_apart(const char *header, pair *out)
{
    gnutls_datum_t text, plain;
    const char    *colon;
    bool           is_pair = false;

    if (!header || strncasecmp(header, "Basic ", 6) != 0)
        return false;
    header += 6 + strspn(header + 6, " ");
    text = (gnutls_datum_t){(unsigned char *)(uintptr_t)header, (unsigned)strlen(header)};
    if (gnutls_base64_decode2(&text, &plain) != 0)
        return false;
    colon = plain.size ? memchr(plain.data, ':', plain.size) : NULL;
    if (colon && !memchr(plain.data, '\0', plain.size)) {
        const size_t user = (size_t)(colon - (const char *)plain.data), password = plain.size - user - 1;

        if (user < WORDS && password < WORDS) {
            memset(out, 0, sizeof *out);
            memcpy(out->user, plain.data, user);
            memcpy(out->password, colon + 1, password);
            is_pair = true;
        }
    }
    gnutls_memset(plain.data, 0, plain.size);
    gnutls_free(plain.data);
    return is_pair;
}

static const hu_web_user *find_user(const hu_web_config *c, const char *name)
{
    for (size_t i = 0; i < c->n_users; i++)
        if (strcmp(c->users[i].name, name) == 0)
            return &c->users[i];
    return NULL;
}

/* Of user, hash and password: another hash is another digest, so that a changed file forgets who was right before. */
static bool digest_of(const hu_web_auth *a, const hu_web_user *u, const pair *said, unsigned char out[DIGEST])
{
    gnutls_hash_hd_t h;

    if (gnutls_hash_init(&h, GNUTLS_DIG_SHA256) != 0)
        return false;
    gnutls_hash(h, a->salt, sizeof a->salt);
    gnutls_hash(h, u->name, strlen(u->name) + 1);
    gnutls_hash(h, u->hash, strlen(u->hash) + 1);
    gnutls_hash(h, said->password, sizeof said->password);
    gnutls_hash_deinit(h, out);
    return true;
}

static bool is_remembered(const hu_web_auth *a, const unsigned char digest[DIGEST])
{
    bool is = false;

    for (size_t i = 0; i < REMEMBERED && i < a->n_right; i++)
        is |= gnutls_memcmp(a->right[i], digest, DIGEST) == 0;
    return is;
}

/* ---- the thread that computes ------------------------------------------------------------------------------------ */

/* For a name that is nobody's the same time is spent, so that names cannot be found out. */
static bool is_right(struct crypt_data *data, const hu_web_config *c, const pair *said)
{
    const hu_web_user *u = find_user(c, said->user);
    const char        *expected = u ? u->hash : c->users[0].hash;
    const char        *got = crypt_r(said->password, expected, data);

    return got && strlen(got) == strlen(expected) && gnutls_memcmp(got, expected, strlen(expected)) == 0 && u;
}

static void compute(hu_web_auth *a)
{
    job           j = a->at[0];
    unsigned char digest[DIGEST];
    bool          right;

    a->is_computing = true;
    pthread_mutex_unlock(&a->lock);
    right = is_right(&a->data, j.config, &j.said);
    pthread_mutex_lock(&a->lock);
    a->is_computing = false;
    if (right && digest_of(a, find_user(j.config, j.said.user), &j.said, digest))
        memcpy(a->right[a->n_right++ % REMEMBERED], digest, DIGEST);
    j.question = a->at[0].question; /* it may have been withdrawn */
    a->n--;
    memmove(a->at, a->at + 1, a->n * sizeof *a->at);
    gnutls_memset(&a->at[a->n], 0, sizeof a->at[0]);
    gnutls_memset(&j.said, 0, sizeof j.said);
    hu_web_config_drop(j.config);
    if (j.question) {
        atomic_store(&j.question->verdict, right ? HU_AUTH_YES : HU_AUTH_NO);
        j.question->answered(j.question->context);
    }
}

static void *work(void *context)
{
    hu_web_auth *a = context;

    pthread_mutex_lock(&a->lock);
    while (!a->has_to_end)
        if (a->n)
            compute(a);
        else
            pthread_cond_wait(&a->is_new, &a->lock);
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

static bool start(hu_web_auth *a)
{
    sigset_t all, before;

    if (a->has_thread)
        return true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the main thread's */
    a->has_thread = pthread_create(&a->thread, NULL, work, a) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return a->has_thread;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

hu_auth_verdict hu_web_auth_try(hu_web_auth *a, const hu_web_config *c, const char *header)
{
    const hu_web_user *u;
    unsigned char      digest[DIGEST];
    hu_auth_verdict    verdict = HU_AUTH_UNKNOWN;
    pair               said;

    if (c->n_users == 0)
        return HU_AUTH_YES;
    if (!take_apart(header, &said))
        return HU_AUTH_NO;
    u = find_user(c, said.user);
    pthread_mutex_lock(&a->lock);
    if (u && digest_of(a, u, &said, digest) && is_remembered(a, digest))
        verdict = HU_AUTH_YES;
    pthread_mutex_unlock(&a->lock);
    gnutls_memset(&said, 0, sizeof said);
    return verdict;
}

bool hu_web_auth_ask(hu_web_auth *a, hu_web_config *c, const char *header, hu_auth_question *q)
{
    job  j = {.question = q, .config = c};
    bool is_taken = false;

    if (!take_apart(header, &j.said))
        return false;
    pthread_mutex_lock(&a->lock);
    if (a->n < PLACES && start(a)) {
        hu_web_config_hold(c);
        a->at[a->n++] = j;
        is_taken = true;
        pthread_cond_signal(&a->is_new);
    }
    pthread_mutex_unlock(&a->lock);
    gnutls_memset(&j.said, 0, sizeof j.said);
    return is_taken;
}

void hu_web_auth_forget(hu_web_auth *a)
{
    pthread_mutex_lock(&a->lock);
    for (size_t i = 0; i < a->n; i++)
        if (a->at[i].question) {
            atomic_store(&a->at[i].question->verdict, HU_AUTH_BUSY);
            a->at[i].question->answered(a->at[i].question->context);
            a->at[i].question = NULL;
        }
    pthread_mutex_unlock(&a->lock);
}

void hu_web_auth_free(hu_web_auth *a)
{
    bool is_busy;

    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->has_to_end = true;
    is_busy = a->is_computing;
    pthread_cond_signal(&a->is_new);
    pthread_mutex_unlock(&a->lock);
    if (is_busy) { /* it may take seconds yet, and the program ends now */
        pthread_detach(a->thread);
        return;
    }
    if (a->has_thread)
        pthread_join(a->thread, NULL);
    for (size_t i = 0; i < a->n; i++)
        hu_web_config_drop(a->at[i].config);
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->is_new);
    gnutls_memset(a, 0, sizeof *a);
    free(a);
}
