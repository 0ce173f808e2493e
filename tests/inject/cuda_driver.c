/* SPDX-License-Identifier: Apache-2.0
 * cuda_driver.c - what a libcuda.so.1 does that matters to a tool: it loads the one that is named, once, and calls it.
 *
 * With -DTOOL a tool that says that it was called; with -DPROGRAM a program that initialises CUDA.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(TOOL)
int InitializeInjection(void);

int InitializeInjection(void)
{
    puts("the tool was called");
    return 1;
}
#elif defined(PROGRAM)
int cuInit(unsigned flags);

int main(int argc, char **argv)
{
    if (argc > 1 && !dlopen(argv[1], RTLD_NOW))
        return 3;
    return cuInit(0);
}
#else
int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);

int cuInit(unsigned flags)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void       *tool = path ? dlopen(path, RTLD_NOW) : NULL;
    int (*begin)(void) = NULL;

    (void)flags;
    if (tool)
        *(void **)&begin = dlsym(tool, "InitializeInjection");
    return begin && begin() != 1;
}

int cuDriverGetVersion(int *version)
{
    *version = 12040;
    return 0;
}
#endif
