/* SPDX-License-Identifier: Apache-2.0
 * wakes_opener.c - sleeps, then opens wakes_library.c: wakes_opener LIBRARY */
#include <dlfcn.h>
#include <time.h>

int main(int argc, char **argv)
{
    void *library;
    int (*go)(void);

    nanosleep(&(struct timespec){0, 10000000}, NULL);
    library = dlopen(argv[argc - 1], RTLD_NOW);
    *(void **)&go = library ? dlsym(library, "waits_in_library") : NULL;
    return go ? go() : 1;
}
