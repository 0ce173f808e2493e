/* SPDX-License-Identifier: Apache-2.0
 * life.c - a job that uses a device and then ends in one of many ways.
 *
 *     life WAY [KERNELS]      launches KERNELS (20) kernels, says so on stdout, and ends; its own status is 7 where it has one
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../runtime.h"

static char           name[64] = "life_kernel";
static standin_kernel kernel = {name, 30000, false, 18, 0};
static standin_kernel endless = {"endless_kernel", (int64_t)3600 * 1000000000, false, 18, 0};
static int            kernels = 20;
static bool           is_late;

static void launch(standin_kernel *k, int n)
{
    for (int i = 0; i < n; i++)
        cudaLaunchKernel(k, (dim3){4, 1, 1}, (dim3){32, 1, 1}, NULL, 0, NULL);
}

static int finish(const char *way)
{
    printf("%s\n", way);
    fflush(stdout);
    return 7;
}

static int way_return(void)
{
    cudaDeviceSynchronize();
    return finish("return");
}

/* kernels are still running when the program returns */
static int way_running(void)
{
    return finish("running");
}

static int way_exit(void)
{
    cudaDeviceSynchronize();
    exit(finish("exit"));
}

static int way_quick(void)
{
    cudaDeviceSynchronize();
    usleep(700000);
    _exit(finish("quick"));
}

static int way_abort(void)
{
    cudaDeviceSynchronize();
    usleep(700000);
    finish("abort");
    abort();
}

static int way_killed(void)
{
    cudaDeviceSynchronize();
    usleep(700000);
    finish("killed");
    kill(getpid(), SIGKILL);
    return 1;
}

static void *leave(void *none)
{
    (void)none;
    usleep(50000);
    exit(finish("thread"));
}

/* another thread ends the program while main waits for the device */
static int way_thread(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, leave, NULL);
    launch(&endless, 1);
    cudaDeviceSynchronize();
    return 1;
}

static int way_reset(void)
{
    cudaDeviceSynchronize();
    cudaDeviceReset();
    usleep(300000);
    return finish("reset");
}

/* a destructor uses the device, after what was registered with atexit */
static int way_late(void)
{
    cudaDeviceSynchronize();
    is_late = true;
    return finish("late");
}

__attribute__((destructor)) static void at_the_end(void)
{
    if (!is_late)
        return;
    launch(&kernel, 5);
    cudaDeviceSynchronize();
}

static int way_fork(void)
{
    int         status;
    const pid_t child = fork();

    if (child == 0) {
        const int code = cudaSetDevice(0); /* the state is copied: it answers, and the device does not work */

        printf("child %d\n", code);
        fflush(stdout);
        exit(5);
    }
    waitpid(child, &status, 0);
    launch(&kernel, kernels);
    cudaDeviceSynchronize();
    printf("child ended with %d\n", WEXITSTATUS(status));
    return finish("fork");
}

/* a child of a fork that leaves without any ceremony, while the parent's device works */
static int way_fork_quick(void)
{
    int         status;
    const pid_t child = fork();

    if (child == 0)
        _exit(5);
    waitpid(child, &status, 0);
    cudaDeviceSynchronize();
    return finish("fork-quick");
}

static int way_exec(void)
{
    cudaDeviceSynchronize();
    execl("/proc/self/exe", "life", "return", "30", NULL);
    return 1;
}

/* in a child that was started anew */
static int way_spawn(void)
{
    int         status;
    const pid_t child = fork();

    if (child == 0) {
        execl("/proc/self/exe", "life", "return", "30", NULL);
        _exit(99);
    }
    waitpid(child, &status, 0);
    cudaDeviceSynchronize();
    return finish("spawn") + (WEXITSTATUS(status) != 7);
}

static int way_forever(void)
{
    cudaDeviceSynchronize();
    finish("forever");
    launch(&endless, 1);
    cudaDeviceSynchronize();
    return 1;
}

/* works on: kernels all the time, until somebody ends it */
static int way_on(void)
{
    finish("on");
    for (;;) {
        launch(&kernel, 10);
        cudaDeviceSynchronize();
        usleep(2000);
    }
    return 1;
}

/* a module goes, and another text comes to the address of its kernel's name */
static int way_names(void)
{
    int (*unload)(void *) = (int (*)(void *))(uintptr_t)dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuModuleUnload");

    cudaDeviceSynchronize();
    for (int i = 0; i < 3; i++) {
        usleep(900000);
        unload(&kernel);
        usleep(900000);
        snprintf(name, sizeof name, "reused_name_%d_kernel", i);
        launch(&kernel, 10 + i);
        cudaDeviceSynchronize();
    }
    usleep(900000);
    return finish("names");
}

/* the part that the program itself wants to have recorded */
static int way_range(void)
{
    static standin_kernel inside = {"inside_kernel", 30000, false, 18, 0}, after = {"after_kernel", 30000, false, 18, 0};

    cudaDeviceSynchronize();
    cudaProfilerStart();
    launch(&inside, 7);
    cudaDeviceSynchronize();
    cudaProfilerStop();
    launch(&after, 9);
    cudaDeviceSynchronize();
    return finish("range");
}

/* two threads launch, at once */
static void *launch_half(void *stream)
{
    for (int i = 0; i < kernels / 2; i++)
        cudaLaunchKernel(&kernel, (dim3){4, 1, 1}, (dim3){32, 1, 1}, NULL, 0, stream);
    return NULL;
}

static int way_threads(void)
{
    pthread_t    thread[4];
    cudaStream_t s[4];

    for (int i = 0; i < 4; i++) {
        cudaStreamCreateWithFlags(&s[i], 1);
        pthread_create(&thread[i], NULL, launch_half, s[i]);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    cudaDeviceSynchronize();
    return finish("threads");
}

static void *launch_on(void *stream)
{
    for (;;)
        cudaLaunchKernel(&kernel, (dim3){4, 1, 1}, (dim3){32, 1, 1}, NULL, 0, stream);
    return NULL;
}

static void start_launching(int threads)
{
    for (int i = 0; i < threads; i++) {
        cudaStream_t s;
        pthread_t    thread;

        cudaStreamCreateWithFlags(&s, 1);
        pthread_create(&thread, NULL, launch_on, s);
    }
}

/* main returns while others launch */
static int way_busy(void)
{
    start_launching(3);
    usleep(400000);
    return finish("busy");
}

/* children are forked all the time while others launch; each of them allocates, writes and leaves */
static int way_forks(void)
{
    int bad = 0;

    start_launching(2);
    for (int i = 0; i < 60; i++) {
        int         status;
        const pid_t child = fork();

        if (child == 0) {
            char *memory = malloc(100000);

            memset(memory, i, 100000);
            cudaSetDevice(0);
            if (i % 2)
                exit(5);
            _exit(5);
        }
        waitpid(child, &status, 0);
        bad += WEXITSTATUS(status) != 5;
        usleep(3000);
    }
    printf("%d bad\n", bad);
    return finish("forks");
}

/* many threads, each with a buffer of its own where the library has it so */
static int way_many_threads(void)
{
    pthread_t thread[200];

    kernels = 20;
    for (int i = 0; i < 200; i++)
        pthread_create(&thread[i], NULL, launch_half, NULL);
    for (int i = 0; i < 200; i++)
        pthread_join(thread[i], NULL);
    cudaDeviceSynchronize();
    return finish("many-threads");
}

static const struct {
    const char *name;
    int (*end)(void);
} ways[] = {{"return", way_return},   {"running", way_running}, {"exit", way_exit},
            {"quick", way_quick},     {"abort", way_abort},     {"killed", way_killed},
            {"thread", way_thread},   {"reset", way_reset},     {"late", way_late},
            {"fork", way_fork},       {"exec", way_exec},       {"spawn", way_spawn},
            {"forever", way_forever}, {"on", way_on},           {"names", way_names},
            {"range", way_range},     {"threads", way_threads}, {"fork-quick", way_fork_quick},
            {"busy", way_busy},       {"forks", way_forks},     {"many-threads", way_many_threads}};

int main(int argc, char **argv)
{
    int devices = 0;

    kernels = argc > 2 ? atoi(argv[2]) : 20;
    if (cudaGetDeviceCount(&devices) || devices == 0) {
        printf("no device\n");
        return 8;
    }
    launch(&kernel, kernels);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (argc > 1 && strcmp(argv[1], ways[i].name) == 0)
            return ways[i].end();
    return 2;
}
