/* SPDX-License-Identifier: Apache-2.0
 * forked.c - what becomes of a capture range, "epoch", where processes and threads begin and end inside of it:
 *     forked child|stays|outside|thread|vfork|exec|ends|steps
 *
 * Each writes ranges whose names say what is to be seen: "in ..." and "out ...". */
#include <holdup_annotate.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void range(const char *name)
{
    const struct timespec ms = {0, 1000000};

    holdup_range_push(name);
    nanosleep(&ms, NULL);
    holdup_range_pop();
}

static void epochs(const char *name)
{
    for (int i = 0; i < 3; i++) {
        holdup_range_push("epoch");
        range(name);
        holdup_range_pop();
        range("out between");
    }
}

static void *in_thread(void *is_outside)
{
    pid_t child = 0;

    if (is_outside) { /* another thread is inside, this one is not: nor is its child */
        child = fork();
        if (child == 0) {
            range("out child of a thread");
            epochs("in child of a thread");
            _exit(0);
        }
        waitpid(child, NULL, 0);
    } else {
        holdup_range_push("epoch");
        range("in thread");
    }
    return NULL; /* inside of its range */
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    pthread_t   thread;
    pid_t       child = 0;

    if (strcmp(how, "image") == 0) { /* started by another one, inside of its range */
        range("out image");
        epochs("in image");
        return 0;
    }
    if (strcmp(how, "ends") == 0) {
        pthread_create(&thread, NULL, in_thread, NULL);
        pthread_join(thread, NULL);
        range("out after the thread");
        epochs("in parent");
        return 0;
    }
    if (strcmp(how, "steps") == 0)
        for (int i = 0; i < 2; i++)
            holdup_step();
    else if (strcmp(how, "outside") != 0)
        holdup_range_push("epoch");
    if (strcmp(how, "thread") == 0) {
        pthread_create(&thread, NULL, in_thread, (void *)(uintptr_t)1);
        pthread_join(thread, NULL);
    } else if (strcmp(how, "vfork") == 0 || strcmp(how, "exec") == 0) {
        char *const words[] = {argv[0], (char *)"image", NULL};

        if (how[0] == 'e')
            posix_spawn(&child, argv[0], NULL, NULL, words, environ);
        else if ((child = vfork()) == 0) {
            execv(argv[0], words);
            _exit(1);
        }
    } else if ((child = fork()) == 0) {
        if (strcmp(how, "steps") == 0) {
            range("in child");
            holdup_step();
            range("out child");
            return 0;
        }
        if (strcmp(how, "child") == 0) {
            range("in child before");
            holdup_range_pop();
            range("out child after");
        }
        epochs("in child");
        if (strcmp(how, "stays") != 0)
            range("out child");
        return 0;
    }
    if (child > 0)
        waitpid(child, NULL, 0);
    if (strcmp(how, "steps") == 0) {
        holdup_step();
        range("out parent");
        return 0;
    }
    if (strcmp(how, "outside") != 0)
        holdup_range_pop();
    range("out parent");
    epochs("in parent");
    return 0;
}
