/* Clocks of one process that a test can set while it runs: LD_PRELOAD=clocks.so, CLOCK_OFFSETS=a file of three 64 bit numbers.

The numbers are nanoseconds that are added to CLOCK_REALTIME, CLOCK_MONOTONIC and CLOCK_BOOTTIME. Deadlines of waits are given to the
kernel without them. gRPC has the time of day of the process, because Python gives it deadlines in it, and counts by the clocks of the
machine. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL
static volatile int64_t *offsets;

__attribute__((constructor)) static void open_offsets(void) {
    const char *path = getenv("CLOCK_OFFSETS");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *found = mmap(NULL, 3 * sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    if (found != MAP_FAILED) offsets = found;
    close(file);
}

static int64_t offset_of(clockid_t id, const void *caller) {
    Dl_info from;
    if (!offsets) return 0;
    if (id == CLOCK_REALTIME) return offsets[0];
    if (dladdr(caller, &from) && from.dli_fname && strstr(from.dli_fname, "grpc")) return 0;
    if (id == CLOCK_MONOTONIC) return offsets[1];
    return id == CLOCK_BOOTTIME ? offsets[2] : 0;
}

static void add(struct timespec *time, int64_t nanoseconds) {
    int64_t sum = time->tv_sec * SECOND + time->tv_nsec + nanoseconds;
    if (sum < 0) sum = 0;
    time->tv_sec = sum / SECOND;
    time->tv_nsec = sum % SECOND;
}

static int read_clock(clockid_t id, struct timespec *time, const void *caller) {
    static int (*next)(clockid_t, struct timespec *);
    if (!next) next = dlsym(RTLD_NEXT, "clock_gettime");
    int code = next(id, time);
    if (!code) add(time, offset_of(id, caller));
    return code;
}

int clock_gettime(clockid_t id, struct timespec *time) { return read_clock(id, time, __builtin_return_address(0)); }

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    struct timespec found;
    (void)zone;
    int code = read_clock(CLOCK_REALTIME, &found, __builtin_return_address(0));
    time->tv_sec = found.tv_sec;
    time->tv_usec = found.tv_nsec / 1000;
    return code;
}

time_t time(time_t *result) {
    struct timespec found;
    read_clock(CLOCK_REALTIME, &found, __builtin_return_address(0));
    if (result) *result = found.tv_sec;
    return found.tv_sec;
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *until, struct timespec *left) {
    static int (*next)(clockid_t, int, const struct timespec *, struct timespec *);
    if (!next) next = dlsym(RTLD_NEXT, "clock_nanosleep");
    struct timespec real = *until;
    if (flags & TIMER_ABSTIME) add(&real, -offset_of(id, __builtin_return_address(0)));
    return next(id, flags, &real, left);
}

int sem_clockwait(sem_t *restrict lock, clockid_t id, const struct timespec *restrict until) {
    static int (*next)(sem_t *, clockid_t, const struct timespec *);
    if (!next) next = dlsym(RTLD_NEXT, "sem_clockwait");
    struct timespec real = *until;
    add(&real, -offset_of(id, __builtin_return_address(0)));
    return next(lock, id, &real);
}

/* gRPC's locks wait for a time of day. */
long syscall(long number, ...) {
    static long (*next)(long, ...);
    if (!next) next = dlsym(RTLD_NEXT, "syscall");
    long given[6];
    va_list list;
    va_start(list, number);
    for (int at = 0; at < 6; at++) given[at] = va_arg(list, long);
    va_end(list);
    struct timespec real;
    if (number == SYS_futex && (given[1] & FUTEX_CLOCK_REALTIME) && given[3]) {
        real = *(const struct timespec *)given[3];
        add(&real, -offset_of(CLOCK_REALTIME, NULL));
        given[3] = (long)&real;
    }
    return next(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}
