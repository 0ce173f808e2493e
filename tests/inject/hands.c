/* SPDX-License-Identifier: Apache-2.0
 * hands.c - threads that wait for each other: hands KIND MICROSECONDS, of which the slow side sleeps (or computes) each time.
 *
 * lock, busy: four threads under one lock sleep, compute; cond, maker: two consumers wait for a producer that sleeps,
 * computes; sem: main waits for a thread that sleeps; apart: threads sleep beside each other and hardly ever wait for a lock;
 * beside: main computes while a thread sleeps for twice as long, and joins it; burn: main computes, alone;
 * accept: main joins a server that waits for its only client, which sleeps first.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, TURNS = 40, ITEMS = 150, LAST = 1000000 };

static pthread_mutex_t    table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t     more = PTHREAD_COND_INITIALIZER;
static sem_t              ready;
static int                items, is_apart, is_busy, server;
static struct sockaddr_in address = {.sin_family = AF_INET};
static long               slow_us;
static volatile long      counted;

__attribute__((noinline)) static void pause_us(long us)
{
    const struct timespec t = {us / 1000000, us % 1000000 * 1000};

    if (us)
        nanosleep(&t, NULL);
    counted++;
}

__attribute__((noinline)) static void crunch(long us)
{
    struct timespec t;
    long            until;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    until = t.tv_nsec + t.tv_sec * 1000000000 + us * 1000;
    do {
        for (volatile int i = 0; i < 50000; i++)
            ;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while (t.tv_nsec + t.tv_sec * 1000000000 < until);
}

__attribute__((noinline)) static void polish(void)
{
    for (volatile int i = 0; i < 50000; i++)
        ;
}

__attribute__((noinline)) static void count_event(void)
{
    if (is_apart)
        pause_us(slow_us);
    pthread_mutex_lock(&table_lock);
    if (is_busy)
        crunch(slow_us);
    else if (!is_apart)
        pause_us(slow_us);
    pthread_mutex_unlock(&table_lock);
}

static void *count(void *unused)
{
    for (int i = 0; i < TURNS; i++)
        count_event();
    return unused;
}

static void *produce(void *unused)
{
    for (int i = 0; i <= ITEMS; i++) {
        (is_busy ? crunch : pause_us)(slow_us);
        pthread_mutex_lock(&table_lock);
        items = i < ITEMS ? items + 1 : LAST;
        pthread_cond_broadcast(&more);
        pthread_mutex_unlock(&table_lock);
    }
    return unused;
}

static void *consume(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&table_lock);
        while (!items)
            pthread_cond_wait(&more, &table_lock);
        if (items >= LAST) {
            pthread_mutex_unlock(&table_lock);
            return unused;
        }
        items--;
        pthread_mutex_unlock(&table_lock);
        polish();
    }
}

static void *sleep_twice(void *unused)
{
    pause_us(2 * slow_us);
    return unused;
}

static void *serve(void *unused)
{
    close(accept(server, NULL, NULL));
    return unused;
}

static void *call(void *unused)
{
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    pause_us(slow_us);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
        exit(1);
    close(fd);
    return unused;
}

static void listen_here(void)
{
    socklen_t n = sizeof address;

    server = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(server, (const struct sockaddr *)&address, n) < 0 || listen(server, 1) < 0 ||
        getsockname(server, (struct sockaddr *)&address, &n) < 0)
        exit(1);
}

static void *post(void *unused)
{
    for (int i = 0; i < ITEMS; i++) {
        pause_us(slow_us);
        sem_post(&ready);
    }
    return unused;
}

int main(int argc, char **argv)
{
    const char *kind = argc > 2 ? argv[1] : "";
    void *(*const run[])(void *) = {count, consume, consume, produce, post, sleep_twice, serve, call};
    int       first = 0, n = THREADS, each = 0;
    pthread_t threads[THREADS];

    slow_us = argc > 2 ? atol(argv[2]) : 0;
    is_apart = strcmp(kind, "apart") == 0;
    is_busy = strcmp(kind, "busy") == 0;
    sem_init(&ready, 0, 0);
    if (strcmp(kind, "cond") == 0 || strcmp(kind, "maker") == 0) {
        is_busy = strcmp(kind, "maker") == 0;
        first = 1;
        n = 3;
        each = 1;
    } else if (strcmp(kind, "sem") == 0) {
        first = 4;
        n = 1;
    } else if (strcmp(kind, "beside") == 0) {
        first = 5;
        n = 1;
    } else if (strcmp(kind, "accept") == 0) {
        listen_here();
        first = 6;
        n = 2;
        each = 1;
    } else if (strcmp(kind, "burn") == 0) {
        n = 0;
    }
    for (int i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, run[first + i * each], NULL);
    for (int i = 0; first == 4 && i < ITEMS; i++)
        sem_wait(&ready);
    if (first == 5 || n == 0)
        crunch(slow_us);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
