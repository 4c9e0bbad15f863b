// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CHornbeamShims.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

int hbs_allocate(int descriptor, int64_t offset, int64_t length) {
    return fallocate(descriptor, 0, offset, length) == 0 ? 0 : errno;
}

ssize_t hbs_write_through(int descriptor, const void *bytes, size_t count, int64_t offset) {
    struct iovec vector = {.iov_base = (void *)bytes, .iov_len = count};
    return pwritev2(descriptor, &vector, 1, offset, RWF_DSYNC);
}

int hbs_start_write_back(int descriptor, int64_t offset, int64_t length) {
    return sync_file_range(descriptor, offset, length, SYNC_FILE_RANGE_WRITE) == 0 ? 0 : errno;
}

void hbs_start_read(int descriptor, int64_t offset, int64_t length) {
    char byte;
    struct iovec vector = {&byte, 1};
    if (preadv2(descriptor, &vector, 1, offset, RWF_NOWAIT) == 1) return;
    posix_fadvise(descriptor, offset, length, POSIX_FADV_WILLNEED);
}

static struct flock range(short type, int64_t start, int64_t count) {
    struct flock lock;
    memset(&lock, 0, sizeof lock);
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = start;
    lock.l_len = count;
    return lock;
}

int hbs_lock(int descriptor, int mode, int64_t start, int64_t count) {
    struct flock lock = range(mode == 0 ? F_UNLCK : mode == 1 ? F_RDLCK : F_WRLCK, start, count);
    return fcntl(descriptor, F_OFD_SETLK, &lock) == 0 ? 0 : errno;
}

int hbs_find_lock(int descriptor, int64_t start, int64_t count, int64_t *found_start, int64_t *found_count) {
    struct flock lock = range(F_WRLCK, start, count);
    *found_count = 0;
    if (fcntl(descriptor, F_OFD_GETLK, &lock) != 0) return errno;
    if (lock.l_type == F_UNLCK) return 0;
    *found_start = lock.l_start;
    // Length 0 means: to the greatest offset.
    int64_t after = INT64_MAX - lock.l_start;
    *found_count = lock.l_len > 0 ? lock.l_len : after < INT64_MAX ? after + 1 : after;
    return 0;
}

static const char *name_of(int descriptor, char *buffer, size_t size) {
    snprintf(buffer, size, "/proc/self/fd/%d", descriptor);
    return buffer;
}

int hbs_reopen(int descriptor, int flags) {
    char source[64];
    return open(name_of(descriptor, source, sizeof source), flags | O_CLOEXEC | O_NOCTTY);
}

int hbs_open_unnamed(const char *directory, int mode) {
    int descriptor = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
    char source[64];
    // Without /proc it could never be linked to a name.
    if (descriptor >= 0 && access(name_of(descriptor, source, sizeof source), F_OK) != 0) {
        close(descriptor);
        errno = EOPNOTSUPP;
        return -1;
    }
    return descriptor;
}

int hbs_link_unnamed(int descriptor, const char *path) {
    char source[64];
    const char *name = name_of(descriptor, source, sizeof source);
    return linkat(AT_FDCWD, name, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

void hbs_map_again(int descriptor, void *base, size_t offset, size_t count) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t start = offset / page * page;
    size_t length = (offset + count - start + page - 1) / page * page;
    mmap((char *)base + start, length, PROT_READ, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, descriptor, (off_t)start);
}

void *hbs_map(int descriptor, size_t length) {
    int protection = descriptor < 0 ? PROT_READ | PROT_WRITE : PROT_READ;
    int flags = descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED | MAP_NORESERVE;
    void *base = mmap(NULL, length, protection, flags, descriptor, 0);
    return base == MAP_FAILED ? NULL : base;
}

void hbs_provide(void *base, size_t length) {
#ifdef MADV_POPULATE_WRITE
    madvise(base, length, MADV_POPULATE_WRITE);
#endif
}

void hbs_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

size_t hbs_stack_room(void) {
    static _Thread_local uintptr_t lowest;
    if (lowest == 0) {
        pthread_attr_t attributes;
        void *address;
        size_t size;
        lowest = 1;
        if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
            if (pthread_attr_getstack(&attributes, &address, &size) == 0) lowest = (uintptr_t)address;
            pthread_attr_destroy(&attributes);
        }
    }
    // An address below the thread's stack is on a stack that the program has made itself.
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return here > lowest ? here - lowest : SIZE_MAX / 2;
}
