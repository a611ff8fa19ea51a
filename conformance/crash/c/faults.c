/* What a disk can do to a server: to be preloaded (LD_PRELOAD) into one that is linked to the C library.

   The file that MESETA_FAULTS names holds one rule; while there is no such file, nothing happens:

       CALL PATTERN FIRST LAST ACTION

   CALL     sync (fsync, fdatasync), write (write, writev, pwrite), create (open of a file that is not there),
            rename (of the C library alone), unlink, any (each of these)
   PATTERN  part of the file's path; its end, when the last character is $
   FIRST    the first such call that is hit, from 1, and LAST the last one
   ACTION   kill-before, kill-after (SIGKILL to the server itself), stop-before, stop-after (SIGSTOP),
            EIO, ENOSPC, EMFILE, lose (the file has no name any more, so that its rename fails)

   Whenever a call is hit, a byte is added to the file NAME.hits. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum action { NOTHING, END_AFTER, FAIL };

struct rule {
    char call[16], pattern[128], action[16];
    long first, last;
};

static struct rule rule;
static atomic_int state; /* 0: not read, 1: being read, 2: read */
static atomic_long seen;
static __thread int inside;

#define REAL(name, type) ((type)dlsym(RTLD_NEXT, name))

static int (*real_open)(const char *, int, ...);
static ssize_t (*real_write)(int, const void *, size_t);

static const char *rule_path(void) {
    static const char *path;
    if (!path) path = getenv("MESETA_FAULTS");
    return path;
}

static int is_read(void) {
    if (atomic_load(&state) == 2) return 1;
    const char *path = rule_path();
    struct stat found;
    if (!path || stat(path, &found) != 0) return 0;
    int none = 0;
    if (!atomic_compare_exchange_strong(&state, &none, 1)) return atomic_load(&state) == 2;
    FILE *file = fopen(path, "r");
    int fields = file ? fscanf(file, "%15s %127s %ld %ld %15s", rule.call, rule.pattern, &rule.first,
                               &rule.last, rule.action)
                      : 0;
    if (file) fclose(file);
    if (fields != 5) abort();
    atomic_store(&state, 2);
    return 1;
}

static void note_hit(void) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s.hits", rule_path());
    int file = real_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file >= 0) {
        real_write(file, ".", 1);
        close(file);
    }
}

static void end_now(void) {
    kill(getpid(), strncmp(rule.action, "stop", 4) == 0 ? SIGSTOP : SIGKILL);
}

static int is_meant(const char *call, const char *path) {
    if (strcmp(rule.call, "any") != 0 && strcmp(rule.call, call) != 0) return 0;
    size_t length = strlen(rule.pattern), whole = strlen(path);
    if (length == 0 || rule.pattern[length - 1] != '$') return strstr(path, rule.pattern) != NULL;
    length--;
    return length <= whole && strncmp(path + whole - length, rule.pattern, length) == 0;
}

/* What happens to this call; sets errno when it fails. */
static enum action hit(const char *call, const char *path) {
    if (!is_meant(call, path)) return NOTHING;
    long number = atomic_fetch_add(&seen, 1) + 1;
    if (number < rule.first || rule.last < number) return NOTHING;
    note_hit();
    if (strstr(rule.action, "-before")) end_now();
    if (strstr(rule.action, "-after")) return END_AFTER;
    if (strcmp(rule.action, "lose") == 0) {
        unlink(path);
        return NOTHING;
    }
    if (strcmp(rule.action, "ENOSPC") == 0) errno = ENOSPC;
    else if (strcmp(rule.action, "EMFILE") == 0) errno = EMFILE;
    else errno = EIO;
    return FAIL;
}

static enum action look(const char *call, const char *path) {
    if (inside || !path) return NOTHING;
    inside = 1;
    int before = errno;
    if (!real_write) real_write = REAL("write", ssize_t(*)(int, const void *, size_t));
    if (!real_open) real_open = REAL("open", int (*)(const char *, int, ...));
    enum action action = is_read() ? hit(call, path) : NOTHING;
    if (action != FAIL) errno = before;
    inside = 0;
    return action;
}

static enum action look_at(const char *call, int file) {
    if (inside || !rule_path()) return NOTHING;
    int before = errno;
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = before;
    if (length < 0) return NOTHING;
    path[length] = 0;
    return look(call, path);
}

static void end(enum action action) {
    if (action == END_AFTER) end_now();
}

#define WITH_FILE(result, name, call, parameters, arguments)        \
    result name parameters {                                         \
        static result(*real) parameters;                             \
        if (!real) real = REAL(#name, result(*) parameters);         \
        enum action action = look_at(call, file);                    \
        if (action == FAIL) return -1;                               \
        result done = real arguments;                                \
        end(action);                                                 \
        return done;                                                 \
    }

WITH_FILE(int, fsync, "sync", (int file), (file))
WITH_FILE(int, fdatasync, "sync", (int file), (file))
WITH_FILE(ssize_t, write, "write", (int file, const void *bytes, size_t count), (file, bytes, count))
WITH_FILE(ssize_t, writev, "write", (int file, const struct iovec *parts, int count), (file, parts, count))
WITH_FILE(ssize_t, pwrite, "write", (int file, const void *bytes, size_t count, off_t at), (file, bytes, count, at))
WITH_FILE(ssize_t, pwrite64, "write", (int file, const void *bytes, size_t count, off64_t at), (file, bytes, count, at))

#define WITH_PATH(name, call, path, parameters, arguments)          \
    int name parameters {                                            \
        static int(*real) parameters;                                \
        if (!real) real = REAL(#name, int (*) parameters);           \
        enum action action = look(call, path);                       \
        if (action == FAIL) return -1;                               \
        int done = real arguments;                                   \
        end(action);                                                 \
        return done;                                                 \
    }

WITH_PATH(rename, "rename", new, (const char *old, const char *new), (old, new))
WITH_PATH(renameat, "rename", new, (int from, const char *old, int to, const char *new), (from, old, to, new))
WITH_PATH(renameat2, "rename", new, (int from, const char *old, int to, const char *new, unsigned flags), (from, old, to, new, flags))
WITH_PATH(unlink, "unlink", path, (const char *path), (path))

#define OPEN(name)                                                   \
    int name(const char *path, int flags, ...) {                     \
        static int (*real)(const char *, int, ...);                  \
        if (!real) real = REAL(#name, int (*)(const char *, int, ...)); \
        va_list rest;                                                \
        va_start(rest, flags);                                       \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                                \
        struct stat found;                                           \
        int makes = !inside && (flags & O_CREAT) && rule_path() && stat(path, &found) != 0; \
        enum action action = makes ? look("create", path) : NOTHING; \
        if (action == FAIL) return -1;                               \
        int file = real(path, flags, mode);                          \
        end(action);                                                 \
        return file;                                                 \
    }

OPEN(open)
OPEN(open64)
