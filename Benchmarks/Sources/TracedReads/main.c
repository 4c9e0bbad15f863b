// SPDX-License-Identifier: Apache-2.0
// Two threads that read alternately, each get in a transaction of its own: for `hornbeam-bench shared-lines`, which
// examines the trace of their memory accesses. It is in C, because the start of a program is traced too, and a Swift
// program with Foundation does a hundred times as much before it begins.
#include <hornbeam.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { entries = 2000, reads = 100, warming = 4, rounds = 6 };

/// A store to element n marks the beginning of phase n in the trace: 0 belongs to no thread, 1 and 2 to the threads.
static volatile char marks[128] __attribute__((aligned(128)));

static hb_store *store;
static hb_tree tree;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void check(int result, const char *what) {
    if (result == HB_OK) return;
    fprintf(stderr, "%s: %s\n", what, hb_error());
    exit(1);
}

static hb_slice key_of(int number, char *buffer) {
    snprintf(buffer, 16, "key%08d", number);
    return (hb_slice){buffer, strlen(buffer)};
}

static void read_once(hb_slice key) {
    hb_txn *txn;
    hb_slice value;
    check(hb_begin(store, HB_READ, &txn), "hb_begin");
    check(hb_get(txn, tree, key, &value), "hb_get");
    hb_abort(txn);
}

/// `argument`: the thread's number, 1 or 2.
static void *read_in_turn(void *argument) {
    int number = (int)(size_t)argument;
    char buffers[reads][16];
    hb_slice keys[reads];
    for (int i = 0; i < reads; i++) keys[i] = key_of(i * 17 % entries, buffers[i]);
    for (int round = 0; round < rounds; round++) {
        pthread_mutex_lock(&lock);
        while (turn != 2 * round + number - 1) pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        if (round >= warming) marks[number] = 1;
        for (int i = 0; i < reads; i++) read_once(keys[i]);
        marks[0] = 1;
        pthread_mutex_lock(&lock);
        turn++;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void fill(const char *path) {
    hb_txn *txn;
    char buffer[16];
    check(hb_open(path, NULL, &store), "hb_open");
    check(hb_begin(store, HB_WRITE, &txn), "hb_begin");
    check(hb_tree_open(txn, "t", HB_TREE_CREATE, &tree), "hb_tree_open");
    for (int i = 0; i < entries; i++) {
        hb_slice key = key_of(i, buffer);
        check(hb_put(txn, tree, key, key), "hb_put");
    }
    check(hb_commit(txn), "hb_commit");
    check(hb_close(store), "hb_close");
}

static void print_maps(void) {
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    if (maps == NULL) return;
    while (fgets(line, sizeof line, maps) != NULL) fputs(line, stdout);
    fclose(maps);
}

/// The argument is the path of a file that doesn't exist yet. Prints the address of the marks, and the process's
/// mappings.
int main(int count, char **words) {
    pthread_t threads[2];
    hb_txn *txn;
    if (count != 2) return 2;
    fill(words[1]);
    // Opened again: a store that has committed has a thread of its own, which would be traced too.
    check(hb_open(words[1], NULL, &store), "hb_open");
    check(hb_begin(store, HB_READ, &txn), "hb_begin");
    check(hb_tree_open(txn, "t", 0, &tree), "hb_tree_open");
    hb_abort(txn);
    for (size_t i = 0; i < 2; i++) pthread_create(&threads[i], NULL, read_in_turn, (void *)(i + 1));
    for (size_t i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("%p\n", (const void *)marks);
    print_maps();
    check(hb_close(store), "hb_close");
    return 0;
}
