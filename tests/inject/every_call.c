/* SPDX-License-Identifier: Apache-2.0
 * every_call.c - calls each row of protocol/os_calls.h once for real, and says what a record of it must hold.
 *
 *     every_call FOLDER          writes its files there; prints one line for each call:
 *                                row, least microseconds, bytes, class ("-": the row's own), path ("-": none), error
 *
 * Results are checked here, and errno that no successful call may change.  The lines are the same with and without
 * the recorder.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE_US = 20000, LATE_US = 15000, MARK = 4242 };

static char   lines[65536], folder[4096];
static size_t used;
static char   data[8192];
extern char **environ;

static void expect_error(const char *row, long us, long bytes, const char *class, const char *path, int error)
{
    used += (size_t)snprintf(lines + used, sizeof lines - used, "%s %ld %ld %s %s %d\n", row, us, bytes, class, path, error);
}

static void expect(const char *row, long us, long bytes, const char *class, const char *path)
{
    expect_error(row, us, bytes, class, path, 0);
}

/* The call must succeed, and leave errno alone. */
#define OK(call)                                                                                      \
    do {                                                                                              \
        errno = MARK;                                                                                 \
        if (!(call) || errno != MARK) {                                                               \
            fprintf(stderr, "line %d: %s: errno %d (%s)\n", __LINE__, #call, errno, strerror(errno)); \
            exit(1);                                                                                  \
        }                                                                                             \
    } while (0)

#define FAILS(call, why)                                                                     \
    do {                                                                                     \
        errno = MARK;                                                                        \
        if ((call) != -1 || errno != (why)) {                                                \
            fprintf(stderr, "line %d: %s: errno %d, not %d\n", __LINE__, #call, errno, why); \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

static const char *in(const char *name)
{
    static char paths[8][4200];
    static int  next;

    next = (next + 1) % 8;
    snprintf(paths[next], sizeof paths[next], "%s/%s", folder, name);
    return paths[next];
}

static struct timespec after_us(clockid_t clock, long us)
{
    struct timespec t;

    clock_gettime(clock, &t);
    t.tv_nsec += us * 1000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

/* Something that another thread does a little later. */
static void *later(void *what)
{
    usleep(PAUSE_US);
    ((void (*)(void))what)();
    return NULL;
}

static pthread_t in_a_while(void (*what)(void))
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, later, (void *)what) != 0)
        exit(1);
    return thread;
}

static void do_nothing(void) {}
static void handler(int signal)
{
    (void)signal;
}

static int pair[2], file;

static void late_byte(void)
{
    if (write(pair[1], "x", 1) != 1)
        abort();
}

static void files(void)
{
    struct iovec  parts[2] = {{data, 1000}, {data + 1000, 500}};
    struct stat   about;
    struct statx  more;
    struct statfs system;
    off_t         from = 0, to = 6000;
    char          link_text[100], *map;
    int           fd, other, fds[2];
    DIR          *dir;

    OK((fd = creat(in("file"), 0644)) >= 0);
    expect("creat", 0, 0, "-", in("file"));
    OK(close(fd) == 0);
    expect("close", 0, 0, "-", in("file"));
    OK((fd = open(in("file"), O_RDWR | O_CREAT, 0600)) >= 0);
    expect("open", 0, 0, "-", in("file"));
    file = fd;
    OK(write(fd, data, 4096) == 4096);
    expect("write", 0, 4096, "-", in("file"));
    OK(writev(fd, parts, 2) == 1500);
    expect("writev", 0, 1500, "-", in("file"));
    OK(pwrite(fd, data, 4000, 8000) == 4000);
    expect("pwrite", 0, 4000, "-", in("file"));
    OK(pwritev(fd, parts, 2, 100) == 1500);
    expect("pwritev", 0, 1500, "-", in("file"));
    OK(lseek(fd, 0, SEEK_SET) == 0);
    OK(read(fd, data, sizeof data - 1) == sizeof data - 1);
    expect("read", 0, sizeof data - 1, "-", in("file"));
    OK(readv(fd, parts, 2) == 1500);
    expect("readv", 0, 1500, "-", in("file"));
    OK(pread(fd, data, 77, 100) == 77);
    expect("pread", 0, 77, "-", in("file"));
    OK(preadv(fd, parts, 2, 0) == 1500);
    expect("preadv", 0, 1500, "-", in("file"));
    OK(readahead(fd, 0, 4096) == 0);
    expect("readahead", 0, 0, "-", in("file"));
    OK(posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED) == 0);
    expect("posix_fadvise", 0, 0, "-", in("file"));
    OK((other = openat(AT_FDCWD, in("other"), O_RDWR | O_CREAT, 0600)) >= 0);
    expect("openat", 0, 0, "-", in("other"));
    OK(sendfile(other, fd, &from, 3000) == 3000);
    expect("sendfile", 0, 3000, "-", in("other"));
    from = 0;
    OK(copy_file_range(fd, &from, other, &to, 2000, 0) == 2000);
    expect("copy_file_range", 0, 2000, "-", in("other"));
    OK(fallocate(other, 0, 0, 20000) == 0);
    expect("fallocate", 0, 0, "-", in("other"));
    OK(ftruncate(other, 100) == 0);
    expect("ftruncate", 0, 0, "-", in("other"));
    OK(truncate(in("other"), 50) == 0);
    expect("truncate", 0, 0, "-", in("other"));
    OK(pipe(fds) == 0);
    from = 0;
    OK(splice(fd, &from, fds[1], NULL, 300, 0) == 300);
    expect("splice", 0, 300, "file_write", in("file"));
    OK(read(fds[0], data, 300) == 300);
    expect("read", 0, 300, "pipe", "-");
    OK(close(fds[0]) == 0 && close(fds[1]) == 0);

    OK(fsync(fd) == 0);
    expect("fsync", 0, 0, "-", in("file"));
    OK(fdatasync(fd) == 0);
    expect("fdatasync", 0, 0, "-", in("file"));
    OK(syncfs(fd) == 0);
    expect("syncfs", 0, 0, "-", in("file"));
    OK(sync_file_range(fd, 0, 100, SYNC_FILE_RANGE_WRITE) == 0);
    expect("sync_file_range", 0, 0, "-", in("file"));
    OK((map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) != MAP_FAILED);
    expect("mmap", 0, 0, "-", in("file"));
    map[0] = 'y';
    OK(msync(map, 4096, MS_SYNC) == 0);
    expect("msync", 0, 0, "-", "-");
    OK(madvise(map, 4096, MADV_WILLNEED) == 0);
    expect("madvise", 0, 0, "-", "-");
    OK(munmap(map, 4096) == 0);
    expect("munmap", 0, 0, "-", "-");
    sync();
    expect("sync", 0, 0, "-", "-");
    OK(flock(fd, LOCK_EX) == 0);
    expect("flock", 0, 0, "-", in("file"));
    OK(lockf(fd, F_LOCK, 0) == 0);
    expect("lockf", 0, 0, "-", in("file"));

    OK(stat(in("file"), &about) == 0 && about.st_size == 12000);
    expect("stat", 0, 0, "-", in("file"));
    OK(fstat(fd, &about) == 0 && about.st_size == 12000);
    expect("fstat", 0, 0, "-", in("file"));
    OK(fstatat(AT_FDCWD, in("file"), &about, 0) == 0);
    expect("fstatat", 0, 0, "-", in("file"));
    OK(statx(AT_FDCWD, in("file"), 0, STATX_SIZE, &more) == 0);
    expect("statx", 0, 0, "-", in("file"));
    OK(statfs(in("file"), &system) == 0);
    expect("statfs", 0, 0, "-", in("file"));
    OK(access(in("file"), R_OK) == 0);
    expect("access", 0, 0, "-", in("file"));
    OK(symlink("file", in("symlink")) == 0);
    expect("symlink", 0, 0, "-", in("symlink"));
    OK(lstat(in("symlink"), &about) == 0);
    expect("lstat", 0, 0, "-", in("symlink"));
    OK(readlink(in("symlink"), link_text, sizeof link_text) == 4);
    expect("readlink", 0, 0, "-", in("symlink"));
    OK(link(in("file"), in("second")) == 0);
    expect("link", 0, 0, "-", in("file"));
    OK(rename(in("second"), in("third")) == 0);
    expect("rename", 0, 0, "-", in("second"));
    OK(unlink(in("third")) == 0);
    expect("unlink", 0, 0, "-", in("third"));
    OK(mkdir(in("dir"), 0755) == 0);
    expect("mkdir", 0, 0, "-", in("dir"));
    OK((dir = opendir(in("dir"))) != NULL);
    expect("opendir", 0, 0, "-", in("dir"));
    OK(readdir(dir) != NULL);
    expect("readdir", 0, 0, "-", in("dir"));
    OK(closedir(dir) == 0);
    OK(rmdir(in("dir")) == 0);
    expect("rmdir", 0, 0, "-", in("dir"));
    FAILS(open(in("absent"), O_RDONLY), ENOENT);
    expect_error("open", 0, 0, "-", in("absent"), ENOENT);
    FAILS(open((const char *)8, O_RDONLY), EFAULT);
    expect_error("open", 0, 0, "-", "-", EFAULT);
    FAILS(read(-1, data, 1), EBADF);
    expect_error("read", 0, 0, "-", "-", EBADF);
    /* the number is another thing now */
    OK(dup2(pair[0], other) == other);
    OK(write(other, "z", 1) == 1);
    expect("write", 0, 1, "pipe", "-");
    OK(read(pair[1], data, 1) == 1);
    expect("read", 0, 1, "pipe", "-");
    OK(close(other) == 0);
}

static void streams(void)
{
    FILE  *s;
    char  *text = NULL, word[100];
    size_t n = 0;
    int    number;

    OK((s = fopen(in("stream"), "w+")) != NULL);
    expect("fopen", 0, 0, "-", in("stream"));
    OK(fwrite(data, 10, 500, s) == 500);
    expect("fwrite", 0, 5000, "-", in("stream"));
    OK(fputs("word\n", s) >= 0);
    expect("fputs", 0, 5, "-", in("stream"));
    OK(fprintf(s, "number %d\nmore;", 12) == 15);
    expect("fprintf", 0, 15, "-", in("stream"));
    OK(fflush(s) == 0);
    expect("fflush", 0, 0, "-", in("stream"));
    OK(fputc('\n', s) == '\n'); /* into a buffer with room: not even timed */
    rewind(s);
    OK(fgetc(s) == data[0]);
    expect("fgetc", 0, 1, "-", in("stream"));
    OK(fread(data + 1, 1, 4999, s) == 4999);
    expect("fread", 0, 4999, "-", in("stream"));
    OK(fgets(word, sizeof word, s) && strcmp(word, "word\n") == 0);
    expect("fgets", 0, 5, "-", in("stream"));
    OK(fscanf(s, "number %d\n", &number) == 1 && number == 12);
    expect("fscanf", 0, 0, "-", in("stream"));
    OK(getdelim(&text, &n, ';', s) == 5);
    expect("getdelim", 0, 5, "-", in("stream"));
    OK(getline(&text, &n, s) == 1);
    expect("getline", 0, 1, "-", in("stream"));
    free(text);
    rewind(s);
    OK(fputs("left", s) >= 0);
    OK(fclose(s) == 0);
    expect("fclose", 0, 0, "-", in("stream"));
    OK((s = fopen(in("bare"), "w")) != NULL && setvbuf(s, NULL, _IONBF, 0) == 0);
    OK(fputc('x', s) == 'x');
    expect("fputc", 0, 1, "-", in("bare"));
    OK(fclose(s) == 0);
}

static struct sockaddr_in address;
static int                listening, client;

static void late_connect(void)
{
    if (connect(client, (struct sockaddr *)&address, sizeof address) != 0)
        abort();
}

static void late_message(void)
{
    if (send(client, "hello", 5, 0) != 5)
        abort();
}

static void network(void)
{
    socklen_t          bytes = sizeof address;
    struct iovec       part = {data, 200};
    struct msghdr      message = {.msg_iov = &part, .msg_iovlen = 1};
    struct mmsghdr     several[2] = {{.msg_hdr = message}, {.msg_hdr = message}};
    struct sockaddr_in from;
    struct addrinfo   *found, hints = {.ai_flags = AI_NUMERICHOST};
    char               peer[40], here[40];
    int                server, udp, other;
    pthread_t          thread;

    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    OK((listening = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    OK(bind(listening, (struct sockaddr *)&address, sizeof address) == 0 && listen(listening, 5) == 0);
    OK(getsockname(listening, (struct sockaddr *)&address, &bytes) == 0);
    OK((client = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    snprintf(here, sizeof here, "127.0.0.1:*"); /* whatever port: the test knows */
    thread = in_a_while(late_connect);
    OK((server = accept(listening, NULL, NULL)) >= 0);
    expect("accept", LATE_US, 0, "-", here);
    pthread_join(thread, NULL);
    expect("connect", 0, 0, "-", here);
    OK((other = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    OK(connect(other, (struct sockaddr *)&address, sizeof address) == 0);
    OK(close(accept4(listening, NULL, NULL, SOCK_CLOEXEC)) == 0);
    expect("accept4", 0, 0, "-", here);
    OK(close(other) == 0);
    thread = in_a_while(late_message);
    OK(recv(server, data, 100, 0) == 5);
    expect("recv", LATE_US, 5, "-", here);
    pthread_join(thread, NULL);
    expect("send", 0, 5, "-", here);
    OK(write(server, data, 50) == 50);
    expect("write", 0, 50, "network", here);
    OK(read(client, data, 100) == 50);
    expect("read", 0, 50, "network", here);
    OK(sendmsg(server, &message, 0) == 200);
    expect("sendmsg", 0, 200, "-", here);
    OK(recvmsg(client, &message, 0) == 200);
    expect("recvmsg", 0, 200, "-", here);
    OK(sendmmsg(server, several, 2, 0) == 2);
    expect("sendmmsg", 0, 400, "-", here);
    OK(recvmmsg(client, several, 1, 0, NULL) == 1);
    expect("recvmmsg", 0, 200, "-", here);
    OK(close(server) == 0);
    expect("close", 0, 0, "network", here);
    OK((udp = socket(AF_INET, SOCK_DGRAM, 0)) >= 0);
    memset(&from, 0, sizeof from);
    from.sin_family = AF_INET;
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    OK(bind(udp, (struct sockaddr *)&from, sizeof from) == 0);
    bytes = sizeof from;
    OK(getsockname(udp, (struct sockaddr *)&from, &bytes) == 0);
    OK(sendto(udp, data, 64, 0, (struct sockaddr *)&from, sizeof from) == 64);
    expect("sendto", 0, 64, "-", here);
    OK(recvfrom(udp, data, 100, 0, (struct sockaddr *)&from, &bytes) == 64);
    expect("recvfrom", 0, 64, "-", here);
    snprintf(peer, sizeof peer, "127.0.0.1");
    if (getaddrinfo(peer, NULL, &hints, &found) != 0)
        exit(1);
    freeaddrinfo(found);
    expect("getaddrinfo", 0, 0, "-", peer);
}

static void descriptors(void)
{
    struct pollfd      p = {.fd = pair[0], .events = POLLIN};
    struct timespec    none = {0, 0};
    struct epoll_event event = {.events = EPOLLIN};
    fd_set             set;
    uint64_t           value = 1;
    pthread_t          thread = in_a_while(late_byte);
    int                epoll, events;

    OK(poll(&p, 1, 5000) == 1);
    expect("poll", LATE_US, 0, "-", "-");
    pthread_join(thread, NULL);
    OK(ppoll(&p, 1, &none, NULL) == 1);
    expect("ppoll", 0, 0, "-", "-");
    FD_ZERO(&set);
    FD_SET(pair[0], &set);
    OK(select(pair[0] + 1, &set, NULL, NULL, NULL) == 1);
    expect("select", 0, 0, "-", "-");
    OK(pselect(pair[0] + 1, &set, NULL, NULL, NULL, NULL) == 1);
    expect("pselect", 0, 0, "-", "-");
    OK((epoll = epoll_create1(0)) >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &event) == 0);
    OK(epoll_wait(epoll, &event, 1, 1000) == 1);
    expect("epoll_wait", 0, 0, "-", "-");
    OK(epoll_pwait(epoll, &event, 1, 1000, NULL) == 1);
    expect("epoll_pwait", 0, 0, "-", "-");
    OK(read(pair[0], data, 1) == 1);
    OK((events = eventfd(1, 0)) >= 0);
    OK(read(events, &value, 8) == 8);
    expect("read", 0, 8, "wait", "-");
}

static void times(void)
{
    const struct timespec t = {0, PAUSE_US * 1000};

    errno = MARK;
    OK(sleep(1) == 0);
    expect("sleep", 990000, 0, "-", "-");
    OK(usleep(PAUSE_US) == 0);
    expect("usleep", PAUSE_US, 0, "-", "-");
    OK(nanosleep(&t, NULL) == 0);
    expect("nanosleep", PAUSE_US, 0, "-", "-");
    OK(clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL) == 0);
    expect("clock_nanosleep", PAUSE_US, 0, "-", "-");
}

static pthread_mutex_t    mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t   rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_cond_t     condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t  barrier;
static sem_t              semaphore;
static sem_t              taken;

static void hold_mutex(void)
{
    pthread_mutex_lock(&mutex);
    sem_post(&taken);
    usleep(PAUSE_US);
    pthread_mutex_unlock(&mutex);
}

static void hold_rwlock(void)
{
    pthread_rwlock_wrlock(&rwlock);
    sem_post(&taken);
    usleep(PAUSE_US);
    pthread_rwlock_unlock(&rwlock);
}

static void hold_spin(void)
{
    pthread_spin_lock(&spin);
    sem_post(&taken);
    usleep(PAUSE_US);
    pthread_spin_unlock(&spin);
}

/* clang-format off */
#define CONTENDED(row, holder, call)                                          \
    do {                                                                      \
        const pthread_t thread_ = in_a_while(holder);                         \
        while (sem_wait(&taken) != 0) { }                                     \
        OK((call) == 0);                                                      \
        expect(#row, LATE_US, 0, "-", "-");                                   \
        pthread_join(thread_, NULL);                                          \
    } while (0)
/* clang-format on */

static void wake(void)
{
    pthread_mutex_lock(&mutex);
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
}
static void meet(void)
{
    pthread_barrier_wait(&barrier);
}
static void post(void)
{
    sem_post(&semaphore);
}

static void locks(void)
{
    struct timespec t;
    pthread_t       thread;
    int             rc, word = 7;

    t.tv_sec = 0;
    t.tv_nsec = PAUSE_US * 1000;
    FAILS(syscall(SYS_futex, &word, FUTEX_WAIT, 7, &t, NULL, 0), ETIMEDOUT);
    expect_error("futex", LATE_US, 0, "-", "-", ETIMEDOUT);
    sem_init(&taken, 0, 0);
    sem_init(&semaphore, 0, 0);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    pthread_barrier_init(&barrier, NULL, 2);
    CONTENDED(pthread_mutex_lock, hold_mutex, pthread_mutex_lock(&mutex));
    pthread_mutex_unlock(&mutex);
    t = after_us(CLOCK_REALTIME, 5000000);
    CONTENDED(pthread_mutex_timedlock, hold_mutex, pthread_mutex_timedlock(&mutex, &t));
    pthread_mutex_unlock(&mutex);
    CONTENDED(pthread_rwlock_rdlock, hold_rwlock, pthread_rwlock_rdlock(&rwlock));
    pthread_rwlock_unlock(&rwlock);
    CONTENDED(pthread_rwlock_wrlock, hold_rwlock, pthread_rwlock_wrlock(&rwlock));
    pthread_rwlock_unlock(&rwlock);
    CONTENDED(pthread_spin_lock, hold_spin, pthread_spin_lock(&spin));
    pthread_spin_unlock(&spin);

    pthread_mutex_lock(&mutex);
    thread = in_a_while(wake);
    OK(pthread_cond_wait(&condition, &mutex) == 0);
    expect("pthread_cond_wait", LATE_US, 0, "-", "-");
    OK(pthread_join(thread, NULL) == 0 || 1);
    t = after_us(CLOCK_REALTIME, PAUSE_US);
    OK(pthread_cond_timedwait(&condition, &mutex, &t) == ETIMEDOUT);
    expect_error("pthread_cond_timedwait", LATE_US, 0, "-", "-", ETIMEDOUT);
    t = after_us(CLOCK_MONOTONIC, PAUSE_US);
    OK(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &t) == ETIMEDOUT);
    expect_error("pthread_cond_clockwait", LATE_US, 0, "-", "-", ETIMEDOUT);
    pthread_mutex_unlock(&mutex);
    thread = in_a_while(meet);
    rc = pthread_barrier_wait(&barrier);
    OK(rc == 0 || rc == PTHREAD_BARRIER_SERIAL_THREAD);
    expect("pthread_barrier_wait", LATE_US, 0, "-", "-");
    pthread_join(thread, NULL);
    thread = in_a_while(do_nothing);
    OK(pthread_join(thread, NULL) == 0);
    expect("pthread_join", LATE_US, 0, "-", "-");
    thread = in_a_while(post);
    OK(sem_wait(&semaphore) == 0);
    expect("sem_wait", LATE_US, 0, "-", "-");
    pthread_join(thread, NULL);
    t = after_us(CLOCK_REALTIME, PAUSE_US);
    FAILS(sem_timedwait(&semaphore, &t), ETIMEDOUT);
    expect_error("sem_timedwait", LATE_US, 0, "-", "-", ETIMEDOUT);
    t = after_us(CLOCK_MONOTONIC, PAUSE_US);
    FAILS(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &t), ETIMEDOUT);
    expect_error("sem_clockwait", LATE_US, 0, "-", "-", ETIMEDOUT);
}

static pid_t child(void)
{
    const pid_t pid = fork();

    if (pid == 0) {
        usleep(PAUSE_US);
        _exit(7);
    }
    return pid;
}

static void processes(void)
{
    char     *words[] = {"true", NULL};
    int       status = 0;
    pid_t     pid;
    siginfo_t info;
    FILE     *s;

    OK((pid = child()) > 0);
    expect("fork", 0, 0, "-", "-");
    OK(wait(&status) == pid && WEXITSTATUS(status) == 7);
    expect("wait", LATE_US, 0, "-", "-");
    pid = child();
    OK(waitpid(pid, &status, 0) == pid);
    expect("waitpid", LATE_US, 0, "-", "-");
    pid = child();
    OK(wait3(&status, 0, NULL) == pid);
    expect("wait3", LATE_US, 0, "-", "-");
    pid = child();
    OK(wait4(pid, &status, 0, NULL) == pid);
    expect("wait4", LATE_US, 0, "-", "-");
    pid = child();
    OK(waitid(P_PID, (id_t)pid, &info, WEXITED) == 0);
    expect("waitid", LATE_US, 0, "-", "-");
    OK(posix_spawn(&pid, "/bin/true", NULL, NULL, words, environ) == 0);
    expect("posix_spawn", 0, 0, "-", "/bin/true");
    OK(waitpid(pid, &status, 0) == pid && status == 0);
    OK(system("exit 3") == 3 << 8);
    expect("system", 0, 0, "-", "exit%3");
    OK((s = popen("exit 4", "r")) != NULL);
    expect("popen", 0, 0, "-", "exit%4");
    pclose(s);
    s = popen("sleep 0.02", "r");
    OK(pclose(s) == 0);
    expect("pclose", 0, 0, "-", "-");
}

static pthread_t main_thread;
static int       queue, set_id;
static mqd_t     posix_queue;
struct message {
    long type;
    char text[16];
};

static void interrupt(void)
{
    pthread_kill(main_thread, SIGUSR1);
}

static void late_sem(void)
{
    struct sembuf up = {0, 1, 0};

    if (semop(set_id, &up, 1) != 0)
        abort();
}

static void signals(void)
{
    struct sigaction      action = {.sa_handler = handler};
    const struct timespec t = {0, PAUSE_US * 1000};
    struct sembuf         down = {0, -1, 0};
    struct message        message = {1, "sixteen bytes ok"}, got;
    struct mq_attr        attr = {.mq_maxmsg = 2, .mq_msgsize = 32};
    sigset_t              set, old;
    siginfo_t             info;
    pthread_t             thread;
    char                  name[64], text[32];
    int                   signal;

    main_thread = pthread_self();
    sigaction(SIGUSR1, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    thread = in_a_while(interrupt);
    FAILS(pause(), EINTR);
    expect("pause", LATE_US, 0, "-", "-");
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    thread = in_a_while(interrupt);
    FAILS(sigsuspend(&old), EINTR);
    expect("sigsuspend", LATE_US, 0, "-", "-");
    pthread_join(thread, NULL);
    thread = in_a_while(interrupt);
    OK(sigwait(&set, &signal) == 0 && signal == SIGUSR1);
    expect("sigwait", LATE_US, 0, "-", "-");
    pthread_join(thread, NULL);
    thread = in_a_while(interrupt);
    OK(sigwaitinfo(&set, &info) == SIGUSR1);
    expect("sigwaitinfo", LATE_US, 0, "-", "-");
    pthread_join(thread, NULL);
    FAILS(sigtimedwait(&set, &info, &t), EAGAIN);
    expect_error("sigtimedwait", LATE_US, 0, "-", "-", EAGAIN);
    OK((set_id = semget(IPC_PRIVATE, 1, 0600)) >= 0);
    thread = in_a_while(late_sem);
    OK(semop(set_id, &down, 1) == 0);
    expect("semop", LATE_US, 0, "-", "-");
    pthread_join(thread, NULL);
    semctl(set_id, 0, IPC_RMID);
    OK((queue = msgget(IPC_PRIVATE, 0600)) >= 0);
    OK(msgsnd(queue, &message, 16, 0) == 0);
    expect("msgsnd", 0, 16, "-", "-");
    OK(msgrcv(queue, &got, 16, 0, 0) == 16);
    expect("msgrcv", 0, 16, "-", "-");
    msgctl(queue, IPC_RMID, NULL);
    snprintf(name, sizeof name, "/holdup-test-%d", (int)getpid());
    if ((posix_queue = mq_open(name, O_RDWR | O_CREAT, 0600, &attr)) != (mqd_t)-1) {
        mq_unlink(name);
        OK(mq_send(posix_queue, "four", 4, 0) == 0);
        expect("mq_send", 0, 4, "-", "-");
        OK(mq_receive(posix_queue, text, sizeof text, NULL) == 4);
        expect("mq_receive", 0, 4, "-", "-");
    }
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    snprintf(folder, sizeof folder, "%s", argv[1]);
    memset(data, 'd', sizeof data);
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    files();
    streams();
    network();
    descriptors();
    times();
    locks();
    processes();
    signals();
    return write(STDOUT_FILENO, lines, used) == (ssize_t)used ? 0 : 1;
}
