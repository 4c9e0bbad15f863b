// SPDX-License-Identifier: Apache-2.0
// Tests of Hornbeam from the outside: only through hornbeam.h, and with a library between Hornbeam and the system.
//     outside_test crashes|faults|damage|calls FOLDER [--seed N] [--size N] [--only NAME] [--verbose]
// needs outside_preload.so beside it. Prints what failed with its seed, then "N passed, M failed".

#define _GNU_SOURCE
#include <ftw.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trial.h"

// ---- Children

static void *shared_memory(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED) return memory;
    perror("mmap");
    exit(2);
}

struct tally *shared_tally(void) { return shared_memory(sizeof(struct tally)); }

struct event_log *shared_log(uint64_t capacity) {
    struct event_log *log = shared_memory(sizeof *log + capacity);
    log->capacity = capacity;
    return log;
}

void free_shared_log(struct event_log *log) { munmap(log, sizeof *log + log->capacity); }

void still_alive(unsigned seconds) { alarm(seconds); }

int in_child(int (*body)(void *), void *context, unsigned seconds) {
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(seconds);
        int status = body(context);
        fflush(NULL);
        _exit(status);
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid) return -SIGKILL;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// ---- Folders

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk) {
    (void)status, (void)kind;
    return walk->level > 0 ? remove(path) : 0;
}

const char *path_in(const char *folder, const char *name) {
    static _Thread_local char paths[4][PATH_MAX];
    static _Thread_local int turn;
    char *path = paths[turn++ & 3];
    snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return path;
}

void clean_folder(const char *path) { nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

const char *fresh_folder(const struct settings *settings, const char *name) {
    const char *path = path_in(settings->folder, name);
    mkdir(path, 0755);
    clean_folder(path);
    return path;
}

// ---- The program

static void preload_myself(char **arguments) {
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) exit(2);
    self[length] = 0;
    char library[PATH_MAX + 32];
    snprintf(library, sizeof library, "%s/outside_preload.so", dirname(self));
    setenv("LD_PRELOAD", library, 1);
    // A crash is a result here, and needs no long report.
    setenv("SWIFT_BACKTRACE", "enable=no", 1);
    execv("/proc/self/exe", arguments);
    perror("exec");
    exit(2);
}

int main(int count, char **arguments) {
    if (!outside_watch && !getenv("LD_PRELOAD")) preload_myself(arguments);
    if (!outside_watch) return fputs("outside_preload.so could not be loaded\n", stderr), 2;
    if (count < 3) {
        fprintf(stderr, "usage: %s crashes|faults|damage|calls FOLDER [--seed N] [--size N] [--only NAME] [--verbose]\n",
                arguments[0]);
        return 2;
    }
    struct settings settings = {.folder = arguments[2], .seed = 1};
    for (int i = 3; i < count; i++) {
        const char *value = i + 1 < count ? arguments[i + 1] : "";
        if (strcmp(arguments[i], "--seed") == 0) settings.seed = strtoull(value, NULL, 10);
        if (strcmp(arguments[i], "--size") == 0) settings.size = (uint32_t)strtoul(value, NULL, 10);
        if (strcmp(arguments[i], "--only") == 0) settings.only = value;
        if (strcmp(arguments[i], "--verbose") == 0) settings.is_verbose = true;
    }
    if (strcmp(arguments[1], "crashes") == 0) return test_crashes(&settings);
    if (strcmp(arguments[1], "faults") == 0) return test_faults(&settings);
    if (strcmp(arguments[1], "damage") == 0) return test_damage(&settings);
    if (strcmp(arguments[1], "calls") == 0) return test_calls(&settings);
    return 2;
}
