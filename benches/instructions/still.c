/* What makes counts of instructions nearly the same in every run: preloaded by scripts/instructions, under
 * valgrind alone.
 *
 *   mkdir        of "…/measure-begin" and "…/measure-end": counting begins and ends there, for all
 *                threads at once, and on the thread that begins the clock stands still but for a
 *                microsecond a look: turns of long statements end after as many rows as on a
 *                processor that is not emulated, and no timer comes due
 *   setname      of the threads that work for no operation (IDLE): callgrind's numbers of them are told, for
 *                scripts/instructions to leave them out
 *   nanosleep    of those threads ends only when counting has ended: what looks after things now and
 *                then does not come between
 *   getrandom    gives each thread the same bytes every time: so do the hashes of its maps
 *
 * Every other call, and every other thread's clock, is the system's.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#define HIDDEN __thread __attribute__((tls_model("initial-exec")))

static const long NANOS_PER_LOOK = 1000;
static const long NANOS_PER_SECOND = 1000000000;

/* The thread that looks for lost clients, and the one that gives disk space back. */
static const char *const IDLE[] = {"meseta-sweep", "meseta-reclaim"};

static volatile int is_counting;
/* Set on a thread of such a name. */
static HIDDEN int is_idle;
/* Set on the thread that counting began on. */
static HIDDEN int is_still;
/* By clock: the two that are asked for. */
static HIDDEN struct timespec shown[2];
/* The state of xorshift64. */
static HIDDEN uint64_t random_state = 0x9E3779B97F4A7C15;

static int system_clock(clockid_t clock, struct timespec *time)
{
    return (int)syscall(SYS_clock_gettime, clock, time);
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    struct timespec *at;
    if (!is_still || (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC))
        return system_clock(clock, time);
    at = &shown[clock == CLOCK_MONOTONIC];
    at->tv_nsec += NANOS_PER_LOOK;
    if (NANOS_PER_SECOND <= at->tv_nsec) {
        at->tv_nsec -= NANOS_PER_SECOND;
        at->tv_sec += 1;
    }
    *time = *at;
    return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
    static const struct timespec again = {0, 20000000};
    long failed = syscall(SYS_clock_nanosleep, clock, flags, time, left);
    /* Who waits for an operation's sake goes on, or the operation would not. */
    while (is_idle && is_counting)
        syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &again, NULL);
    return failed ? errno : 0;
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
    int error = clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
    if (error != 0)
        errno = error;
    return error ? -1 : 0;
}

/* Runs outside of the emulation, where valgrind says who calls. */
static long own_number(long thread)
{
    return thread;
}

int pthread_setname_np(pthread_t thread, const char *name)
{
    if (!pthread_equal(thread, pthread_self()))
        return 0;
    for (size_t at = 0; at < sizeof IDLE / sizeof *IDLE; at++) {
        if (!is_idle && strcmp(name, IDLE[at]) == 0) {
            is_idle = 1;
            dprintf(STDERR_FILENO, "idle thread: %ld\n", (long)VALGRIND_NON_SIMD_CALL0(own_number));
        }
    }
    return prctl(PR_SET_NAME, name) == 0 ? 0 : errno;
}

ssize_t getrandom(void *bytes, size_t count, unsigned int flags)
{
    unsigned char *to = bytes;
    (void)flags;
    for (size_t at = 0; at < count; at++) {
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        to[at] = (unsigned char)(random_state >> 32);
    }
    return (ssize_t)count;
}

static int ends_with(const char *text, const char *end)
{
    size_t text_bytes = strlen(text), end_bytes = strlen(end);
    return end_bytes <= text_bytes && strcmp(text + text_bytes - end_bytes, end) == 0;
}

int mkdir(const char *path, mode_t mode)
{
    if (ends_with(path, "/measure-begin")) {
        system_clock(CLOCK_REALTIME, &shown[0]);
        system_clock(CLOCK_MONOTONIC, &shown[1]);
        is_still = is_counting = 1;
        CALLGRIND_START_INSTRUMENTATION;
        return 0;
    }
    if (ends_with(path, "/measure-end")) {
        CALLGRIND_STOP_INSTRUMENTATION;
        is_still = is_counting = 0;
        return 0;
    }
    return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}
