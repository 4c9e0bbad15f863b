/* SPDX-License-Identifier: Apache-2.0
 * What compressed leaves save and cost, through the C interface, on the lines of a file:
 *     Scripts/install.sh /tmp/hornbeam && Scripts/make-demo-data.sh data/debian
 *     cc -O2 -I /tmp/hornbeam/include Benchmarks/Compression/compression.c -L /tmp/hornbeam/lib -lhornbeam \
 *         -Wl,-rpath,/tmp/hornbeam/lib -o /tmp/compression && /tmp/compression data/debian/packages.jsonl /tmp/bench.hb
 * Times are this thread's processor time; everything read is in memory. */
#define _GNU_SOURCE
#include <hornbeam.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char *lines[1 << 20];
static size_t sizes[1 << 20];
static int count;

static void check(int result) {
    if (result != HB_OK) {
        fprintf(stderr, "%s\n", hb_error());
        exit(1);
    }
}

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static unsigned pick(void) {
    static unsigned long state = 88172645463325252ul;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % count;
}

static hb_slice key(unsigned char *bytes, unsigned number) {
    for (int index = 0; index < 4; index++) bytes[index] = number >> (24 - 8 * index);
    return (hb_slice){bytes, 4};
}

static hb_store *store_at(const char *path) {
    hb_options options = {.struct_size = sizeof options, .cache_bytes = 256 << 20};
    hb_store *store;
    check(hb_open(path, &options, &store));
    return store;
}

static void load(hb_store *store, uint32_t flags, int is_random) {
    int *order = malloc(count * sizeof *order);
    for (int index = 0; index < count; index++) order[index] = index;
    for (int index = count - 1; is_random && index > 0; index--) {
        int other = pick() % (index + 1), kept = order[index];
        order[index] = order[other];
        order[other] = kept;
    }
    for (int index = 0; index < count;) {
        hb_txn *txn;
        hb_tree tree;
        check(hb_begin(store, HB_WRITE, &txn));
        check(hb_tree_open(txn, "lines", HB_TREE_CREATE | flags, &tree));
        for (int batch = 0; batch < 1000 && index < count; batch++, index++) {
            unsigned char bytes[4];
            check(hb_put(txn, tree, key(bytes, order[index]), (hb_slice){lines[order[index]], sizes[order[index]]}));
        }
        check(hb_commit(txn));
    }
    free(order);
}

/* One thing done many times in a read: nanoseconds of each. */
static double get_all(hb_store *store) {
    double best = 1e9;
    volatile char sum = 0;
    for (int round = 0; round < 4; round++) {
        double start = seconds();
        for (int batch = 0; batch < 2000; batch++) {
            hb_txn *txn;
            hb_tree tree;
            check(hb_begin(store, HB_READ, &txn));
            check(hb_tree_open(txn, "lines", 0, &tree));
            for (int index = 0; index < 100; index++) {
                unsigned char bytes[4];
                hb_slice value;
                check(hb_get(txn, tree, key(bytes, pick()), &value));
                sum += *(const char *)value.data;
            }
            hb_abort(txn);
        }
        double time = (seconds() - start) / 200000;
        if (time < best) best = time;
    }
    return best * 1e9;
}

static double put_all(hb_store *store) {
    double start = seconds();
    for (int index = 0; index < 2000; index++) {
        hb_txn *txn;
        hb_tree tree;
        unsigned char bytes[4];
        unsigned number = pick();
        check(hb_begin(store, HB_WRITE, &txn));
        check(hb_durability(txn, HB_DURABLE_NONE));
        check(hb_tree_open(txn, "lines", 0, &tree));
        check(hb_put(txn, tree, key(bytes, number), (hb_slice){lines[number], sizes[number]}));
        check(hb_commit(txn));
    }
    return (seconds() - start) / 2000 * 1e6;
}

static void measure(const char *path, const char *name, uint32_t flags, int is_random) {
    unlink(path);
    hb_store *store = store_at(path);
    double start = seconds();
    load(store, flags, is_random);
    double loading = seconds() - start;
    check(hb_compact(store));
    struct stat file;
    stat(path, &file);
    double get = get_all(store);
    printf("%-20s %5.1f MB   load %5.2f s   get %4.0f ns   put and commit %5.1f us\n", name, file.st_size / 1e6, loading,
           get, put_all(store));
    check(hb_close(store));
    unlink(path);
}

int main(int argc, char **argv) {
    FILE *file = argc == 3 ? fopen(argv[1], "r") : NULL;
    if (file == NULL) return fprintf(stderr, "usage: compression LINES STORE\n"), 2;
    size_t room = 0;
    ssize_t size;
    for (; count < 1 << 20 && (size = getline(&lines[count], &room, file)) > 0; count++, room = 0) sizes[count] = size;
    measure(argv[2], "plain, ascending", 0, 0);
    measure(argv[2], "LZ4, ascending", HB_TREE_LZ4, 0);
    measure(argv[2], "plain, random", 0, 1);
    measure(argv[2], "LZ4, random", HB_TREE_LZ4, 1);
    return 0;
}
