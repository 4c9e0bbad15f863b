// SPDX-License-Identifier: Apache-2.0
// A preloaded library between a process and libc: for the files of one folder it records every change in a log, and
// makes chosen calls fail. It knows nothing of Hornbeam. Calls on other files are passed on.

#define _GNU_SOURCE
#include "preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define REAL(type, name, ...)                                              \
    static type (*real_##name)(__VA_ARGS__);                               \
    if (!real_##name) real_##name = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

// ---- Which descriptors are watched

enum { DESCRIPTORS = 4096, FOLDER = 0xFFFF };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char watched[PATH_MAX];
static struct { uint16_t file; bool through; } descriptors[DESCRIPTORS]; // file 0: not watched
static struct { dev_t device; ino_t inode; } files[0x1000];
static uint16_t file_count;

static uint16_t file_of(int descriptor) {
    return descriptor >= 0 && descriptor < DESCRIPTORS ? descriptors[descriptor].file : 0;
}

// Returns the rest of a path after the watched folder, or NULL if the path isn't in it.
static const char *name_below(const char *path) {
    size_t length = strlen(watched);
    if (length == 0 || path == NULL || strncmp(path, watched, length) != 0) return NULL;
    return path[length] == '/' ? path + length + 1 : path[length] == 0 ? "" : NULL;
}

// ---- The log

static struct event_log *event_log;

// Appends an event with `lock` held. Returns its index.
static uint32_t note(struct event event, const void *data) {
    if (event_log == NULL) return 0;
    event.size = (uint32_t)((sizeof event + event.count + 7) & ~7ull);
    uint64_t used = event_log->used;
    if (event_log->capacity - used < event.size) {
        event_log->lost++;
        return 0;
    }
    memcpy(event_log->bytes + used, &event, sizeof event);
    if (event.count) memcpy(event_log->bytes + used + sizeof event, data, event.count);
    event_log->used = used + event.size;
    return event_log->events++;
}

static uint32_t begin(struct event event, const void *data) {
    pthread_mutex_lock(&lock);
    uint32_t index = note(event, data);
    pthread_mutex_unlock(&lock);
    return index;
}

static void end(uint32_t of, int64_t result, bool cached) {
    int error = errno;
    begin((struct event){.kind = EVENT_END, .of = of, .result = result, .cached = cached}, NULL);
    errno = error;
}

EXPORT void outside_mark(uint64_t mark, uint64_t first, uint64_t second, uint64_t third) {
    begin((struct event){.kind = EVENT_MARK, .values = {mark, first, second, third}}, NULL);
}

EXPORT void outside_watch(const char *folder) {
    pthread_mutex_lock(&lock);
    snprintf(watched, sizeof watched, "%s", folder);
    memset(descriptors, 0, sizeof descriptors);
    file_count = 0;
    pthread_mutex_unlock(&lock);
}

EXPORT void outside_record(struct event_log *log) {
    pthread_mutex_lock(&lock);
    event_log = log;
    pthread_mutex_unlock(&lock);
}

// ---- Faults

static struct fault armed;
static _Atomic uint32_t calls[CALL_COUNT], faults;

EXPORT void outside_arm(const struct fault *fault) {
    for (int i = 0; i < CALL_COUNT; i++) calls[i] = 0;
    faults = 0;
    armed = fault ? *fault : (struct fault){0};
}

EXPORT uint32_t outside_calls(uint32_t call) { return calls[call]; }
EXPORT uint32_t outside_faults(void) { return faults; }

// Returns whether this call is to fail.
static const struct fault *fault_of(enum call call) {
    uint32_t number = ++calls[call];
    if (armed.call != call || armed.first == 0 || number < armed.first || number - armed.first >= armed.times) {
        return NULL;
    }
    faults++;
    return &armed;
}

// Fails at once if the call is to fail before it has an effect.
#define FAIL_FIRST(chosen, value)                                    \
    do {                                                             \
        const struct fault *fault_ = (chosen);                       \
        if (fault_ && fault_->mode == FAULT_ERROR) {                 \
            errno = fault_->error;                                   \
            return value;                                            \
        }                                                            \
    } while (0)

static _Atomic uint32_t slow_milliseconds;

EXPORT void outside_slow(uint32_t milliseconds) { slow_milliseconds = milliseconds; }

// ---- Opening and closing

// Records the file of a new descriptor.
static void adopt(int descriptor, int flags, bool made) {
    struct stat status;
    if (descriptor < 0 || descriptor >= DESCRIPTORS) return;
    REAL(int, fstat, int, struct stat *);
    if (real_fstat(descriptor, &status) != 0) return;
    pthread_mutex_lock(&lock);
    uint16_t file = 0;
    if (S_ISDIR(status.st_mode)) {
        file = FOLDER;
    } else if (S_ISREG(status.st_mode)) {
        for (uint16_t i = file_count; i-- > 0 && !made && !file;) {
            if (files[i].device == status.st_dev && files[i].inode == status.st_ino) file = i + 1;
        }
        if (!file && file_count < 0xFFF) {
            files[file_count].device = status.st_dev;
            files[file_count].inode = status.st_ino;
            file = ++file_count;
            struct event event = {.kind = EVENT_FILE, .file = file, .offset = (uint64_t)status.st_size};
            unsigned char *content = NULL;
            if (event_log && status.st_size > 0) {
                content = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, descriptor, 0);
                if (content == MAP_FAILED) content = NULL;
            }
            event.count = content ? (uint64_t)status.st_size : 0;
            note(event, content);
            if (content) munmap(content, (size_t)status.st_size);
        }
    }
    descriptors[descriptor].file = file;
    descriptors[descriptor].through = (flags & O_DSYNC) != 0;
    pthread_mutex_unlock(&lock);
}

static int open_watched(int folder, const char *path, int flags, mode_t mode, const char *name) {
    REAL(int, openat, int, const char *, int, ...);
    const struct fault *fault = fault_of(CALL_OPEN);
    FAIL_FIRST(fault, -1);
    bool unnamed = (flags & O_TMPFILE) == O_TMPFILE;
    bool existed = faccessat(folder, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    int descriptor = real_openat(folder, path, flags, mode);
    if (descriptor < 0) return descriptor;
    bool made = unnamed || (!existed && (flags & O_CREAT));
    adopt(descriptor, flags, made);
    if (made && !unnamed) {
        begin((struct event){.kind = EVENT_NAME, .file = file_of(descriptor), .count = strlen(name) + 1}, name);
    } else if (existed && !unnamed && file_of(descriptor) != FOLDER) {
        // It had its name before the log began; naming it again has no effect.
        begin((struct event){.kind = EVENT_NAME, .file = file_of(descriptor), .through = 1, .count = strlen(name) + 1},
              name);
    }
    if (existed && (flags & O_TRUNC) && file_of(descriptor)) {
        end(begin((struct event){.kind = EVENT_SIZE, .file = file_of(descriptor)}, NULL), 0, true);
    }
    return descriptor;
}

#define MODE_OF(flags, mode)                                                \
    mode_t mode = 0;                                                        \
    if (((flags) & O_CREAT) || ((flags) & O_TMPFILE) == O_TMPFILE) {        \
        va_list arguments;                                                  \
        va_start(arguments, flags);                                         \
        mode = va_arg(arguments, mode_t);                                   \
        va_end(arguments);                                                  \
    }

EXPORT int openat(int folder, const char *path, int flags, ...) {
    MODE_OF(flags, mode)
    const char *name = folder == AT_FDCWD || path[0] == '/' ? name_below(path)
                       : file_of(folder) == FOLDER                      ? path
                                                                        : NULL;
    if (name) return open_watched(folder, path, flags, mode, name);
    REAL(int, openat, int, const char *, int, ...);
    return real_openat(folder, path, flags, mode);
}
EXPORT int open(const char *path, int flags, ...) {
    MODE_OF(flags, mode)
    return openat(AT_FDCWD, path, flags, mode);
}
EXPORT int open64(const char *path, int flags, ...) {
    MODE_OF(flags, mode)
    return openat(AT_FDCWD, path, flags, mode);
}
EXPORT int openat64(int folder, const char *path, int flags, ...) {
    MODE_OF(flags, mode)
    return openat(folder, path, flags, mode);
}
EXPORT int creat(const char *path, mode_t mode) { return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

EXPORT int close(int descriptor) {
    REAL(int, close, int);
    if (file_of(descriptor)) descriptors[descriptor].file = 0;
    return real_close(descriptor);
}

EXPORT int fstat(int descriptor, struct stat *status) {
    REAL(int, fstat, int, struct stat *);
    if (file_of(descriptor)) FAIL_FIRST(fault_of(CALL_FSTAT), -1);
    return real_fstat(descriptor, status);
}
EXPORT int fstat64(int descriptor, struct stat64 *status) { return fstat(descriptor, (struct stat *)status); }

EXPORT int fcntl(int descriptor, int command, ...) {
    REAL(int, fcntl, int, int, ...);
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (file_of(descriptor) && (command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_SETLK)) {
        FAIL_FIRST(fault_of(CALL_LOCK), -1);
    }
    return real_fcntl(descriptor, command, argument);
}
EXPORT int fcntl64(int descriptor, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return fcntl(descriptor, command, argument);
}

EXPORT void *mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset) {
    REAL(void *, mmap, void *, size_t, int, int, int, off_t);
    if (descriptor >= 0 && file_of(descriptor)) {
        FAIL_FIRST(fault_of(CALL_MMAP), MAP_FAILED);
        if ((flags & MAP_SHARED) && (protection & PROT_WRITE) && event_log) event_log->forbidden++;
    }
    return real_mmap(address, length, protection, flags, descriptor, offset);
}
EXPORT void *mmap64(void *address, size_t length, int protection, int flags, int descriptor, off64_t offset) {
    return mmap(address, length, protection, flags, descriptor, offset);
}

// ---- Reading

EXPORT ssize_t pread(int descriptor, void *buffer, size_t count, off_t offset) {
    REAL(ssize_t, pread, int, void *, size_t, off_t);
    if (file_of(descriptor)) {
        const struct fault *fault = fault_of(CALL_PREAD);
        FAIL_FIRST(fault, -1);
        if (fault && fault->mode == FAULT_SHORT && count > 1) count /= 2;
    }
    return real_pread(descriptor, buffer, count, offset);
}
EXPORT ssize_t pread64(int descriptor, void *buffer, size_t count, off64_t offset) {
    return pread(descriptor, buffer, count, offset);
}

// ---- Writing

typedef ssize_t writer(int descriptor, const void *bytes, size_t count, off_t offset, int flags);

static ssize_t plain_write(int descriptor, const void *bytes, size_t count, off_t offset, int flags) {
    REAL(ssize_t, pwritev2, int, const struct iovec *, int, off_t, int);
    struct iovec vector = {(void *)bytes, count};
    return real_pwritev2(descriptor, &vector, 1, offset, flags);
}

static ssize_t watched_write(int descriptor, const void *bytes, size_t count, off_t offset, int flags, enum call call) {
    uint16_t file = file_of(descriptor);
    bool through = descriptors[descriptor].through || (flags & (RWF_DSYNC | RWF_SYNC));
    const struct fault *fault = fault_of(call);
    FAIL_FIRST(fault, -1);
    if (fault && fault->mode == FAULT_ZERO) return 0;
    size_t wanted = count;
    if (fault && (fault->mode == FAULT_HALF || fault->mode == FAULT_SHORT) && count > 1) wanted = count / 2;
    uint32_t index = begin((struct event){.kind = EVENT_WRITE, .file = file, .through = through,
                                          .offset = (uint64_t)offset, .count = wanted}, bytes);
    // The log alone determines the result of a power loss, so the real medium isn't waited for.
    if (event_log) flags &= ~(RWF_DSYNC | RWF_SYNC);
    ssize_t written = plain_write(descriptor, bytes, wanted, offset, flags);
    if (through && slow_milliseconds) usleep(slow_milliseconds * 1000);
    if (fault && fault->mode != FAULT_SHORT) {
        errno = fault->error;
        end(index, -1, true);
        return -1;
    }
    end(index, written, written >= 0);
    return written;
}

static ssize_t any_write(
    int descriptor, const struct iovec *vectors, int count, off_t offset, int flags, enum call call
) {
    size_t size = 0, done = 0;
    for (int i = 0; i < count; i++) size += vectors[i].iov_len;
    if (count == 1) return watched_write(descriptor, vectors[0].iov_base, size, offset, flags, call);
    char *bytes = malloc(size ? size : 1);
    if (!bytes) return errno = ENOMEM, -1;
    for (int i = 0; i < count; done += vectors[i++].iov_len) {
        memcpy(bytes + done, vectors[i].iov_base, vectors[i].iov_len);
    }
    ssize_t written = watched_write(descriptor, bytes, size, offset, flags, call);
    free(bytes);
    return written;
}

EXPORT ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    REAL(ssize_t, pwrite, int, const void *, size_t, off_t);
    if (!file_of(descriptor)) return real_pwrite(descriptor, bytes, count, offset);
    return watched_write(descriptor, bytes, count, offset, 0, CALL_PWRITE);
}
EXPORT ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    return pwrite(descriptor, bytes, count, offset);
}
EXPORT ssize_t pwritev2(int descriptor, const struct iovec *vectors, int count, off_t offset, int flags) {
    REAL(ssize_t, pwritev2, int, const struct iovec *, int, off_t, int);
    if (!file_of(descriptor)) return real_pwritev2(descriptor, vectors, count, offset, flags);
    return any_write(descriptor, vectors, count, offset, flags, CALL_PWRITEV2);
}
EXPORT ssize_t pwritev64v2(int descriptor, const struct iovec *vectors, int count, off64_t offset, int flags) {
    return pwritev2(descriptor, vectors, count, offset, flags);
}
EXPORT ssize_t pwritev(int descriptor, const struct iovec *vectors, int count, off_t offset) {
    REAL(ssize_t, pwritev, int, const struct iovec *, int, off_t);
    if (!file_of(descriptor)) return real_pwritev(descriptor, vectors, count, offset);
    return any_write(descriptor, vectors, count, offset, 0, CALL_PWRITE);
}
EXPORT ssize_t pwritev64(int descriptor, const struct iovec *vectors, int count, off64_t offset) {
    return pwritev(descriptor, vectors, count, offset);
}
EXPORT ssize_t write(int descriptor, const void *bytes, size_t count) {
    REAL(ssize_t, write, int, const void *, size_t);
    // Writing at a descriptor's own offset isn't recorded: no program should do that to a store.
    if (file_of(descriptor) && event_log) event_log->forbidden++;
    return real_write(descriptor, bytes, count);
}

// ---- Sizes

static int change_size(int descriptor, uint64_t size, const struct fault *fault, int (*change)(int, off_t, off_t),
                       off_t first, off_t second) {
    FAIL_FIRST(fault, -1);
    uint32_t index = begin((struct event){.kind = EVENT_SIZE, .file = file_of(descriptor), .offset = size}, NULL);
    int result = change(descriptor, first, second);
    bool changed = result == 0;
    if (fault) {
        errno = fault->error;
        result = -1;
    }
    end(index, result, changed);
    return result;
}

static int allocate(int descriptor, off_t offset, off_t length) {
    REAL(int, fallocate, int, int, off_t, off_t);
    return real_fallocate(descriptor, 0, offset, length);
}
static int cut(int descriptor, off_t size, off_t unused) {
    (void)unused;
    REAL(int, ftruncate, int, off_t);
    return real_ftruncate(descriptor, size);
}

EXPORT int fallocate(int descriptor, int mode, off_t offset, off_t length) {
    REAL(int, fallocate, int, int, off_t, off_t);
    if (!file_of(descriptor)) return real_fallocate(descriptor, mode, offset, length);
    if (mode != 0 && event_log) event_log->forbidden++;
    REAL(int, fstat, int, struct stat *);
    struct stat status = {0};
    real_fstat(descriptor, &status);
    off_t size = offset + length > status.st_size ? offset + length : status.st_size;
    return change_size(descriptor, (uint64_t)size, fault_of(CALL_FALLOCATE), allocate, offset, length);
}
EXPORT int fallocate64(int descriptor, int mode, off64_t offset, off64_t length) {
    return fallocate(descriptor, mode, offset, length);
}
EXPORT int ftruncate(int descriptor, off_t size) {
    REAL(int, ftruncate, int, off_t);
    if (!file_of(descriptor)) return real_ftruncate(descriptor, size);
    return change_size(descriptor, (uint64_t)size, fault_of(CALL_FTRUNCATE), cut, size, 0);
}
EXPORT int ftruncate64(int descriptor, off64_t size) { return ftruncate(descriptor, size); }

// ---- Syncs

static int sync_file(int descriptor, enum call call, int (*real)(int)) {
    uint16_t file = file_of(descriptor);
    const struct fault *fault = fault_of(call);
    // An interrupted call had no effect; a failed one has dropped the dirty data.
    if (fault && fault->error == EINTR) FAIL_FIRST(fault, -1);
    uint16_t kind = file == FOLDER ? EVENT_FOLDER_SYNC : EVENT_SYNC;
    uint32_t index = begin((struct event){.kind = kind, .file = file}, NULL);
    int result = event_log || fault ? 0 : real(descriptor);
    if (fault) {
        errno = fault->error;
        result = -1;
    }
    end(index, result, false);
    return result;
}
EXPORT int fdatasync(int descriptor) {
    REAL(int, fdatasync, int);
    return file_of(descriptor) ? sync_file(descriptor, CALL_FDATASYNC, real_fdatasync) : real_fdatasync(descriptor);
}
EXPORT int fsync(int descriptor) {
    REAL(int, fsync, int);
    return file_of(descriptor) ? sync_file(descriptor, CALL_FSYNC, real_fsync) : real_fsync(descriptor);
}
EXPORT int sync_file_range(int descriptor, off64_t offset, off64_t count, unsigned flags) {
    REAL(int, sync_file_range, int, off64_t, off64_t, unsigned);
    if (file_of(descriptor)) FAIL_FIRST(fault_of(CALL_SYNC_RANGE), -1);
    return real_sync_file_range(descriptor, offset, count, flags);
}

// ---- Names

static int link_watched(int from, const char *source, int to, const char *target, int flags, const char *name) {
    REAL(int, linkat, int, const char *, int, const char *, int);
    FAIL_FIRST(fault_of(CALL_LINK), -1);
    uint16_t file = 0;
    int descriptor;
    struct stat status;
    if (sscanf(source, "/proc/self/fd/%d", &descriptor) == 1) {
        file = file_of(descriptor);
    } else if (fstatat(from, source, &status, 0) == 0) {
        for (uint16_t i = 0; i < file_count; i++) {
            if (files[i].device == status.st_dev && files[i].inode == status.st_ino) file = i + 1;
        }
    }
    int result = real_linkat(from, source, to, target, flags);
    if (result == 0) begin((struct event){.kind = EVENT_NAME, .file = file, .count = strlen(name) + 1}, name);
    return result;
}
EXPORT int linkat(int from, const char *source, int to, const char *target, int flags) {
    REAL(int, linkat, int, const char *, int, const char *, int);
    const char *name = name_below(target);
    return name ? link_watched(from, source, to, target, flags, name)
                : real_linkat(from, source, to, target, flags);
}
EXPORT int link(const char *source, const char *target) { return linkat(AT_FDCWD, source, AT_FDCWD, target, 0); }

EXPORT int unlink(const char *path) {
    REAL(int, unlink, const char *);
    const char *name = name_below(path);
    if (name) FAIL_FIRST(fault_of(CALL_UNLINK), -1);
    int result = real_unlink(path);
    if (name && result == 0) begin((struct event){.kind = EVENT_UNNAME, .count = strlen(name) + 1}, name);
    return result;
}

EXPORT int rename(const char *from, const char *to) {
    REAL(int, rename, const char *, const char *);
    const char *old = name_below(from), *new = name_below(to);
    if (!old || !new) return real_rename(from, to);
    FAIL_FIRST(fault_of(CALL_LINK), -1);
    int result = real_rename(from, to);
    if (result == 0) {
        char names[2 * NAME_MAX + 2];
        int count = snprintf(names, sizeof names, "%s%c%s", old, 0, new) + 1;
        begin((struct event){.kind = EVENT_RENAME, .count = (uint64_t)count}, names);
    }
    return result;
}

// ---- Threads

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
    REAL(int, pthread_create, pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    const struct fault *fault = watched[0] ? fault_of(CALL_THREAD) : NULL;
    return fault ? fault->error : real_pthread_create(thread, attributes, run, argument);
}
