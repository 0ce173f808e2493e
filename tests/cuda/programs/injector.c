/* SPDX-License-Identifier: Apache-2.0
 * injector.c - what a driver does with the injected library, without one; or a real driver, without a device.
 *
 *     injector alone          opens the library that CUDA_INJECTION64_PATH names and calls it, twice
 *     injector driver         cuInit of libcuda.so.1
 *     injector runtime NAME   cudaGetDeviceCount of this libcudart
 *     injector fork           as driver; then a child does the same, then the parent again
 *     injector exec           as driver; then the same in a new program
 *
 * Prints what was answered; its status is 7.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int call_fn(void);
typedef int number_fn(int *);
typedef int flags_fn(unsigned);

static void *symbol(const char *library, const char *name)
{
    void *l = dlopen(library, RTLD_NOW | RTLD_GLOBAL), *f = l ? dlsym(l, name) : NULL;

    if (!f) {
        printf("no %s\n", name);
        exit(6);
    }
    return f;
}

static void driver(void)
{
    printf("cuInit %d\n", ((flags_fn *)(uintptr_t)symbol("libcuda.so.1", "cuInit"))(0));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "", *path = getenv("CUDA_INJECTION64_PATH");
    int         n = -1, status;

    if (strcmp(way, "alone") == 0) {
        for (int i = 0; i < 2 && path; i++)
            printf("InitializeInjection %d\n", ((call_fn *)(uintptr_t)symbol(path, "InitializeInjection"))());
    } else if (strcmp(way, "runtime") == 0 && argc > 2) {
        const int code = ((number_fn *)(uintptr_t)symbol(argv[2], "cudaGetDeviceCount"))(&n);

        printf("cudaGetDeviceCount %d: %d\n", code, n);
    } else {
        driver();
        if (strcmp(way, "fork") == 0) {
            if (fork() == 0) {
                driver();
                exit(5);
            }
            wait(&status);
            printf("child %d\n", WEXITSTATUS(status));
            driver();
        }
        if (strcmp(way, "exec") == 0) {
            fflush(stdout);
            execl("/proc/self/exe", "injector", "driver", (char *)NULL);
        }
    }
    return 7;
}
