/* SPDX-License-Identifier: Apache-2.0
 * program.c - a program of OpenCL that knows what it did: it keeps its own times of each event and prints them.
 *
 *     program MODE [N]
 *
 * A line for each command, `event NAME QUEUED SUBMIT START END`, and `fact ...` lines for all else that a layer could change.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NEED(call)                                                                \
    do {                                                                          \
        const cl_int code_ = (call);                                              \
        if (code_ != CL_SUCCESS) {                                                \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, code_); \
            exit(1);                                                              \
        }                                                                         \
    } while (0)

enum { MOST = 4096, N = 1 << 16 };

static const char *text = "kernel void spin(global float *a, int n) { int i = get_global_id(0); float x = a[i];"
                          " for (int k = 0; k < n; k++) x = x * 1.0001f + 0.5f; a[i] = x; }"
                          " kernel void tiny(global float *a) { a[get_global_id(0)] += 1; }";

static cl_platform_id platform;
static cl_device_id   device;
static cl_context     context;
static cl_program     program;
static cl_kernel      spin, tiny;
static cl_mem         buffer, other;
static float          host[N];

static struct {
    cl_event    event;
    const char *name;
} kept[MOST];
static int n_kept;

static cl_event *keep(const char *name)
{
    kept[n_kept].name = name;
    return &kept[n_kept++].event;
}

static void print_events(void)
{
    for (int i = 0; i < n_kept; i++) {
        cl_ulong t[4];

        NEED(clWaitForEvents(1, &kept[i].event));
        for (cl_uint k = 0; k < 4; k++)
            NEED(clGetEventProfilingInfo(kept[i].event, CL_PROFILING_COMMAND_QUEUED + k, sizeof *t, &t[k], NULL));
        printf("event %s %llu %llu %llu %llu\n", kept[i].name, (unsigned long long)t[0], (unsigned long long)t[1],
               (unsigned long long)t[2], (unsigned long long)t[3]);
        NEED(clReleaseEvent(kept[i].event));
    }
    n_kept = 0;
}

static cl_command_queue make_queue(cl_command_queue_properties bits)
{
    const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, bits, 0};
    cl_int                    code;
    cl_command_queue          queue = clCreateCommandQueueWithProperties(context, device, bits ? list : NULL, &code);

    NEED(code);
    return queue;
}

static void begin(void)
{
    cl_int code;

    NEED(clGetPlatformIDs(1, &platform, NULL));
    NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    NEED(code);
    program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    NEED(code);
    NEED(clBuildProgram(program, 1, &device, "", NULL, NULL));
    spin = clCreateKernel(program, "spin", &code);
    NEED(code);
    tiny = clCreateKernel(program, "tiny", &code);
    NEED(code);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof host, NULL, &code);
    NEED(code);
    other = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof host, NULL, &code);
    NEED(code);
}

static void run_spin(cl_command_queue q, cl_mem memory, cl_int n, cl_uint n_waits, const cl_event *waits, cl_event *event)
{
    const size_t size = N / 16, local = 64;

    NEED(clSetKernelArg(spin, 0, sizeof memory, &memory));
    NEED(clSetKernelArg(spin, 1, sizeof n, &n));
    NEED(clEnqueueNDRangeKernel(q, spin, 1, NULL, &size, &local, n_waits, waits, event));
}

/* Two queues that wait for each other, copies of all kinds, markers and barriers. */
static void queues(int rounds)
{
    cl_command_queue a = make_queue(CL_QUEUE_PROFILING_ENABLE), b = make_queue(CL_QUEUE_PROFILING_ENABLE);
    const cl_float   zero = 0;
    cl_event         made, *e;
    void            *mapped;
    cl_int           code;

    for (int i = 0; i < rounds; i++) {
        NEED(clEnqueueFillBuffer(a, buffer, &zero, sizeof zero, 0, sizeof host, 0, NULL, keep("fill")));
        NEED(clEnqueueWriteBuffer(a, buffer, CL_FALSE, 0, sizeof host, host, 0, NULL, keep("write")));
        run_spin(a, buffer, 2000, 0, NULL, e = keep("spin"));
        NEED(clFlush(a));
        NEED(clEnqueueCopyBuffer(b, buffer, other, 0, 0, sizeof host, 1, e, keep("copy")));
        run_spin(b, other, 1000, 0, NULL, keep("spin"));
        NEED(clEnqueueMarkerWithWaitList(b, 0, NULL, &made));
        NEED(clEnqueueBarrierWithWaitList(a, 1, &made, NULL));
        NEED(clReleaseEvent(made));
        NEED(clFlush(b));
        NEED(clEnqueueReadBuffer(a, buffer, CL_TRUE, 0, sizeof host, host, 0, NULL, keep("read")));
        mapped = clEnqueueMapBuffer(b, other, CL_TRUE, CL_MAP_READ, 0, 4096, 0, NULL, keep("map"), &code);
        NEED(code);
        NEED(clEnqueueUnmapMemObject(b, other, mapped, 0, NULL, keep("unmap")));
        run_spin(a, buffer, 500, 0, NULL, NULL);
        NEED(clFinish(a));
        NEED(clFinish(b));
    }
    print_events();
    printf("fact sum %.9g\n", (double)host[7]);
    NEED(clReleaseCommandQueue(a));
    NEED(clReleaseCommandQueue(b));
}

/* A queue out of order: a fork, a join, and four that have nothing to do with each other. */
static void unordered(int rounds)
{
    cl_command_queue q = make_queue(CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_event         both[2];

    for (int i = 0; i < rounds; i++) {
        run_spin(q, buffer, 1500, 0, NULL, keep("spin"));
        both[0] = kept[n_kept - 1].event;
        run_spin(q, other, 1500, 0, NULL, keep("spin"));
        both[1] = kept[n_kept - 1].event;
        NEED(clEnqueueCopyBuffer(q, buffer, other, 0, 0, sizeof host, 2, both, keep("copy")));
        NEED(clEnqueueBarrierWithWaitList(q, 0, NULL, NULL));
        run_spin(q, buffer, 700, 0, NULL, keep("spin"));
        NEED(clFinish(q));
    }
    print_events();
    NEED(clReleaseCommandQueue(q));
}

static volatile int called;

static void CL_CALLBACK on_event(cl_event event, cl_int status, void *user)
{
    (void)event;
    (void)user;
    __atomic_add_fetch(&called, status == CL_COMPLETE, __ATOMIC_SEQ_CST);
}

/* User events and callbacks. */
static void user(void)
{
    cl_command_queue q = make_queue(CL_QUEUE_PROFILING_ENABLE);
    cl_int           code;
    cl_event         gate = clCreateUserEvent(context, &code), one;

    NEED(code);
    run_spin(q, buffer, 100, 1, &gate, keep("spin"));
    NEED(clFlush(q));
    NEED(clSetEventCallback(kept[0].event, CL_COMPLETE, on_event, NULL));
    NEED(clSetEventCallback(kept[0].event, CL_COMPLETE, on_event, NULL));
    usleep(20000);
    NEED(clSetUserEventStatus(gate, CL_COMPLETE));
    NEED(clFinish(q));
    while (__atomic_load_n(&called, __ATOMIC_SEQ_CST) < 2)
        usleep(1000);
    printf("fact callbacks %d\n", called);
    gate = clCreateUserEvent(context, &code);
    NEED(code);
    run_spin(q, buffer, 100, 1, &gate, &one);
    NEED(clSetUserEventStatus(gate, -5)); /* the command ends with an error */
    code = clWaitForEvents(1, &one);
    printf("fact failed %d\n", code);
    print_events();
}

/* What the program asks about its objects, and what invalid calls return. */
static void questions(void)
{
    const cl_queue_properties   none[] = {0}, plain[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    const cl_queue_properties  *lists[] = {NULL, none, plain};
    cl_queue_properties         list[8];
    cl_command_queue_properties bits;
    cl_command_queue            q = NULL;
    cl_event                    event, chain, gate;
    cl_uint                     references;
    cl_ulong                    time = 77;
    size_t                      n, size = 64;
    cl_int                      code;

    for (int i = 0; i < 4; i++) {
        q = i < 3 ? clCreateCommandQueueWithProperties(context, device, lists[i], &code)
                  : clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &code);
        NEED(code);
        NEED(clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES, sizeof bits, &bits, &n));
        printf("fact properties %d %llu %zu\n", i, (unsigned long long)bits, n);
        memset(list, 0x55, sizeof list);
        code = clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES_ARRAY, sizeof list, list, &n);
        printf("fact array %d %d %zu", i, code, n);
        for (size_t k = 0; code == CL_SUCCESS && k < n / sizeof *list; k++)
            printf(" %llx", (unsigned long long)list[k]);
        printf("\nfact array-room %d %d\n", i, clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES_ARRAY, 8, list, &n));
        NEED(clGetCommandQueueInfo(q, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references, NULL));
        printf("fact queue-references %d %u\n", i, references);
    }
    q = clCreateCommandQueue(context, device, 0, &code);
    NEED(code);
    NEED(clSetKernelArg(tiny, 0, sizeof buffer, &buffer));
    NEED(clEnqueueNDRangeKernel(q, tiny, 1, NULL, &size, NULL, 0, NULL, &event));
    NEED(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof references, &references, NULL));
    NEED(clFinish(q));
    usleep(200000);
    NEED(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof references, &references, NULL));
    printf("fact event-references %u\n", references);
    NEED(clRetainEvent(event));
    NEED(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof references, &references, NULL));
    printf("fact event-references %u\n", references);
    printf("fact no-profiling %d %llu\n",
           clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof time, &time, NULL), (unsigned long long)time);
    NEED(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof references, &references, NULL));
    printf("fact type %x\n", references);
    NEED(clEnqueueNDRangeKernel(q, tiny, 1, NULL, &size, NULL, 1, &event, &chain));
    NEED(clWaitForEvents(1, &chain));
    printf("fact chain %d\n", chain != event);
    gate = clCreateUserEvent(context, &code);
    NEED(code);
    NEED(clEnqueueNDRangeKernel(q, tiny, 1, NULL, &size, NULL, 1, &gate, &event));
    NEED(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof references, &references, NULL));
    printf("fact waiting-references %u\n", references);
    NEED(clSetUserEventStatus(gate, CL_COMPLETE));
    NEED(clFinish(q));
    size = 0;
    printf("fact invalid %d\n", clEnqueueNDRangeKernel(NULL, tiny, 1, NULL, &size, NULL, 0, NULL, NULL));
    printf("fact invalid %d\n", clEnqueueNDRangeKernel(q, tiny, 4, NULL, &size, NULL, 0, NULL, NULL));
    printf("fact invalid %d\n", clEnqueueReadBuffer(q, buffer, CL_TRUE, 0, sizeof host + 1, host, 0, NULL, NULL));
    printf("fact invalid %d\n", clEnqueueReadBuffer(q, buffer, CL_TRUE, 0, 4, host, 1, NULL, NULL));
    printf("fact invalid %d\n", clEnqueueReadBuffer(q, NULL, CL_TRUE, 0, 4, host, 0, NULL, NULL));
    printf("fact invalid %d\n", clEnqueueMapBuffer(q, NULL, CL_TRUE, CL_MAP_READ, 0, 4, 0, NULL, NULL, &code) == NULL);
    printf("fact invalid %d\n", code);
    printf("fact invalid %d\n", clFinish(NULL));
    printf("fact invalid %d\n", clWaitForEvents(0, NULL));
    printf("fact invalid %d\n", clCreateCommandQueue(context, device, 1u << 20, &code) == NULL);
    printf("fact invalid %d\n", code);
    printf("fact invalid %d\n", clGetEventInfo(NULL, CL_EVENT_REFERENCE_COUNT, sizeof references, &references, NULL));
    printf("fact invalid %d\n", clGetEventProfilingInfo(NULL, CL_PROFILING_COMMAND_END, sizeof time, &time, NULL));
}

/* Tiny kernels without events. */
static void storm(int n)
{
    cl_command_queue q = make_queue(0);
    const size_t     size = 16;
    const cl_float   zero = 0;

    NEED(clEnqueueFillBuffer(q, buffer, &zero, sizeof zero, 0, sizeof host, 0, NULL, NULL));
    NEED(clSetKernelArg(tiny, 0, sizeof buffer, &buffer));
    for (int i = 0; i < n; i++) {
        NEED(clEnqueueNDRangeKernel(q, tiny, 1, NULL, &size, &size, 0, NULL, NULL));
        if (i % 500 == 499)
            NEED(clFinish(q));
    }
    NEED(clFinish(q));
    NEED(clEnqueueReadBuffer(q, buffer, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL));
    printf("fact sum %.9g\n", (double)host[3]);
}

enum { THREADS = 4, EACH = 500 };

/* Its own queue and kernel; each command waits for the one before by its event, which is released at once. */
static void *enqueues(void *out)
{
    cl_ulong(*times)[4] = out;
    cl_command_queue q = make_queue(CL_QUEUE_PROFILING_ENABLE);
    const size_t     size = 16;
    cl_event         before = NULL;
    cl_int           code;
    cl_kernel        kernel = clCreateKernel(program, "tiny", &code);

    NEED(code);
    NEED(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    for (int i = 0; i < EACH; i++) {
        cl_event event;

        NEED(clEnqueueNDRangeKernel(q, kernel, 1, NULL, &size, &size, before != NULL, before ? &before : NULL, &event));
        NEED(clWaitForEvents(1, &event));
        for (cl_uint k = 0; k < 4; k++)
            NEED(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED + k, sizeof(cl_ulong), &times[i][k], NULL));
        if (before)
            NEED(clReleaseEvent(before));
        before = event;
    }
    NEED(clReleaseEvent(before));
    NEED(clReleaseCommandQueue(q));
    return NULL;
}

static void threads(void)
{
    static cl_ulong times[THREADS][EACH][4];
    pthread_t       thread[THREADS];

    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, enqueues, times[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS * EACH; i++) {
        const cl_ulong *t = times[i / EACH][i % EACH];

        printf("event tiny %llu %llu %llu %llu\n", (unsigned long long)t[0], (unsigned long long)t[1],
               (unsigned long long)t[2], (unsigned long long)t[3]);
    }
}

static void CL_CALLBACK native(void *argument)
{
    (void)argument;
}

/* Each call that enqueues, at least once; what a device does not have is a fact, and the same with and without a layer. */
static void all(void)
{
    const size_t          origin[3] = {0, 0, 0}, image_part[3] = {16, 8, 1}, rect[3] = {64, 4, 2};
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    const cl_image_desc   desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 32, .image_height = 16};
    const cl_uint         color[4] = {0, 0, 0, 0};
    const cl_float        one = 1;
    cl_command_queue      q = make_queue(CL_QUEUE_PROFILING_ENABLE);
    cl_int                code;
    cl_mem                image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &code);
    cl_mem                second = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &code);
    cl_event              event = NULL;
    size_t                row, slice;
    void                 *mapped, *svm = clSVMAlloc(context, CL_MEM_READ_WRITE, 4096, 0), *other_svm = svm;

    printf("fact image %d svm %d\n", code, svm != NULL);
    NEED(clEnqueueReadBufferRect(q, buffer, CL_TRUE, origin, origin, rect, 0, 0, 0, 0, host, 0, NULL, NULL));
    NEED(clEnqueueWriteBufferRect(q, buffer, CL_FALSE, origin, origin, rect, 0, 0, 0, 0, host, 0, NULL, NULL));
    NEED(clEnqueueCopyBufferRect(q, buffer, other, origin, origin, rect, 0, 0, 0, 0, 0, NULL, NULL));
    NEED(clEnqueueMigrateMemObjects(q, 1, &buffer, 0, 0, NULL, NULL));
    NEED(clSetKernelArg(tiny, 0, sizeof buffer, &buffer));
    NEED(clEnqueueTask(q, tiny, 0, NULL, &event));
    NEED(clReleaseEvent(event));
    NEED(clEnqueueMarker(q, &event));
    NEED(clEnqueueBarrier(q));
    NEED(clReleaseEvent(event));
    printf("fact native %d\n", clEnqueueNativeKernel(q, native, NULL, 0, 0, NULL, NULL, 0, NULL, NULL));
    if (image && second) {
        NEED(clEnqueueFillImage(q, image, color, origin, image_part, 0, NULL, NULL));
        NEED(clEnqueueWriteImage(q, image, CL_TRUE, origin, image_part, 0, 0, host, 0, NULL, NULL));
        NEED(clEnqueueCopyImage(q, image, second, origin, origin, image_part, 0, NULL, NULL));
        NEED(clEnqueueCopyImageToBuffer(q, image, buffer, origin, image_part, 0, 0, NULL, NULL));
        NEED(clEnqueueCopyBufferToImage(q, buffer, image, 0, origin, image_part, 0, NULL, NULL));
        NEED(clEnqueueReadImage(q, second, CL_TRUE, origin, image_part, 0, 0, host, 0, NULL, NULL));
        mapped = clEnqueueMapImage(q, image, CL_TRUE, CL_MAP_READ, origin, image_part, &row, &slice, 0, NULL, NULL, &code);
        NEED(code);
        NEED(clEnqueueUnmapMemObject(q, image, mapped, 0, NULL, NULL));
    }
    if (svm) {
        other_svm = clSVMAlloc(context, CL_MEM_READ_WRITE, 4096, 0);
        NEED(clEnqueueSVMMap(q, CL_TRUE, CL_MAP_WRITE, svm, 4096, 0, NULL, NULL));
        NEED(clEnqueueSVMUnmap(q, svm, 0, NULL, NULL));
        NEED(clEnqueueSVMMemFill(q, svm, &one, sizeof one, 4096, 0, NULL, NULL));
        NEED(clEnqueueSVMMemcpy(q, CL_TRUE, other_svm, svm, 4096, 0, NULL, NULL));
        printf("fact migrate %d\n", clEnqueueSVMMigrateMem(q, 1, (const void **)&svm, NULL, 0, 0, NULL, NULL));
        printf("fact filled %g\n", (double)((float *)other_svm)[9]);
        NEED(clEnqueueSVMFree(q, 1, &other_svm, NULL, NULL, 0, NULL, NULL));
        NEED(clFinish(q));
        clSVMFree(context, svm);
    }
    NEED(clFinish(q));
    NEED(clReleaseCommandQueue(q));
    NEED(clReleaseContext(context));
}

/* CPU time of the calling thread for an enqueue, in ns: the least of many batches. */
static void cost(int n)
{
    enum { BATCH = 200 };
    cl_command_queue q = make_queue(0);
    const size_t     size = 16;
    double           least = 1e9;

    NEED(clSetKernelArg(tiny, 0, sizeof buffer, &buffer));
    for (int i = 0; i < n; i += BATCH) {
        struct timespec a, b;
        double          ns;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
        for (int k = 0; k < BATCH; k++)
            NEED(clEnqueueNDRangeKernel(q, tiny, 1, NULL, &size, &size, 0, NULL, NULL));
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
        ns = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / BATCH;
        least = ns < least ? ns : least;
        NEED(clFinish(q));
    }
    printf("fact ns %.1f\n", least);
}

/* The child does nothing with OpenCL, the parent goes on. */
static void forks(void)
{
    cl_command_queue q = make_queue(CL_QUEUE_PROFILING_ENABLE);
    int              status = -1;
    pid_t            child;

    run_spin(q, buffer, 100, 0, NULL, keep("spin"));
    fflush(stdout);
    child = fork();
    if (child == 0)
        exit(7);
    waitpid(child, &status, 0);
    printf("fact child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    run_spin(q, buffer, 100, 0, NULL, keep("spin"));
    NEED(clFinish(q));
    print_events();
}

/* Parts of a device, and another context. */
static void parts(void)
{
    const cl_device_partition_property by[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_device_id                       part[16], whole = device;
    cl_uint                            n = 0;
    cl_int                             code = clCreateSubDevices(device, by, 16, part, &n);

    printf("fact parts %d\n", code);
    for (cl_uint i = 0; code == CL_SUCCESS && i < n && i < 2; i++) {
        cl_command_queue q;

        device = part[i];
        context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
        NEED(code);
        program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
        NEED(clBuildProgram(program, 1, &device, "", NULL, NULL));
        spin = clCreateKernel(program, "spin", &code);
        NEED(code);
        buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof host, NULL, &code);
        NEED(code);
        q = make_queue(CL_QUEUE_PROFILING_ENABLE);
        run_spin(q, buffer, 100, 0, NULL, keep("spin"));
        NEED(clFinish(q));
        print_events();
    }
    device = whole;
}

static long long boottime_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

/* Each command is queued between two looks at the host's clock. */
static void clocks(int n)
{
    cl_command_queue q = make_queue(CL_QUEUE_PROFILING_ENABLE);

    for (int i = 0; i < n; i++) {
        const long long before = boottime_ns();

        run_spin(q, buffer, 10, 0, NULL, keep("spin"));
        printf("fact between %lld %lld\n", before, boottime_ns());
        NEED(clFinish(q));
        usleep(3000);
    }
    print_events();
}

/* It ends without a release, in the middle of things; or is killed. */
static void leaves(int how)
{
    cl_command_queue q = make_queue(CL_QUEUE_PROFILING_ENABLE);

    for (int i = 0; i < 20; i++)
        run_spin(q, buffer, 100, 0, NULL, keep("spin"));
    NEED(clFinish(q));
    print_events();
    fflush(stdout);
    if (how == 0)
        return;
    usleep(300000); /* so long are times asked for, at most */
    if (how == 1)
        _exit(3);
    kill(getpid(), SIGKILL);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    const int   n = argc > 2 ? atoi(argv[2]) : 3;

    begin();
    if (strcmp(mode, "threads") == 0)
        threads();
    else if (strcmp(mode, "queues") == 0)
        queues(n);
    else if (strcmp(mode, "unordered") == 0)
        unordered(n);
    else if (strcmp(mode, "user") == 0)
        user();
    else if (strcmp(mode, "questions") == 0)
        questions();
    else if (strcmp(mode, "storm") == 0)
        storm(n);
    else if (strcmp(mode, "all") == 0)
        all();
    else if (strcmp(mode, "cost") == 0)
        cost(n);
    else if (strcmp(mode, "forks") == 0)
        forks();
    else if (strcmp(mode, "parts") == 0)
        parts();
    else if (strcmp(mode, "clocks") == 0)
        clocks(n);
    else if (strcmp(mode, "leaves") == 0)
        leaves(n);
    else
        return 2;
    return 0;
}
