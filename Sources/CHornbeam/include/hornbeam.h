/* SPDX-License-Identifier: Apache-2.0
 *
 * hornbeam.h: the C interface of Hornbeam, an embedded database in one file.
 *
 * A store holds named trees: ordered maps from bytes to bytes. Keys sort as with memcmp, and a prefix comes before the
 * longer keys. All reading and writing happens in transactions. A read transaction sees the newest committed state,
 * frozen, for as long as it lives; any number may be open at once, and none ever blocks or is blocked. A write
 * transaction sees its own changes; there is one at a time, and nobody else sees them until hb_commit.
 *
 *     hb_store *store;  hb_txn *txn;  hb_tree tree;
 *     if (hb_open("words.hornbeam", NULL, &store) != HB_OK) { fputs(hb_error(), stderr); exit(1); }
 *     hb_begin(store, HB_WRITE, &txn);
 *     hb_tree_open(txn, "words", HB_TREE_CREATE, &tree);
 *     hb_put(txn, tree, (hb_slice){"key", 3}, (hb_slice){"value", 5});
 *     if (hb_commit(txn) != HB_OK) fputs(hb_error(), stderr);
 *     hb_close(store);
 *
 * BEFORE YOU SHIP
 *
 *  - A slice that the library returns points into the store's own memory. It is valid until its transaction ends, and
 *    in a write transaction only until that transaction's next change. Copy the bytes that you want to keep. (You may
 *    pass such a slice as the key or value of the next call.) Never write through it. hb_save, hb_rollback and
 *    hb_release count as changes. A call that changes nothing (it returned HB_NOT_FOUND, HB_INVALID, HB_TOO_LARGE or
 *    HB_READ_ONLY, or deleted no entry) is no change.
 *  - As long as a read transaction is open, the space of all that it can see can't be used again, so the file may grow.
 *  - A store may be used from all threads. A transaction, with its cursors, belongs to one thread at a time; it may be
 *    handed to another thread.
 *  - A thread that holds the write transaction and asks for another one would wait for itself. It gets HB_INVALID after
 *    a second, in which it might have handed the first one to another thread.
 *  - Don't use a store on both sides of a fork(): open it in the process that uses it.
 *  - One process at a time has a store open for writing, once. A second opener gets HB_BUSY.
 *  - When a change fails with HB_CORRUPT, HB_IO or HB_FULL, its transaction can only be aborted: hb_commit then aborts
 *    it and returns the same result. After HB_INVALID, HB_TOO_LARGE and HB_READ_ONLY it can go on: nothing was changed.
 *
 * MISUSE. A NULL pointer where one is needed, a handle that was closed, has ended or was never returned, or a tree of
 * another store is HB_INVALID, never a crash. Functions that return nothing ignore such a handle. Two mistakes can't be
 * detected: a slice whose pointer is wrong, and a handle that another thread ends at the very moment it is used.
 *
 * RESULTS. Every function that returns int returns one of the codes below. Each function's comment lists the codes with
 * a particular meaning. In addition, any of them may return HB_INVALID for misuse, HB_CORRUPT or HB_IO, and functions
 * that change something HB_FULL or HB_FAILED. With any result other than HB_OK, returned handles and numbers are NULL
 * or 0, and slices are empty. A function that takes a pointer for such a result needs it, unless the pointer's name
 * ends in or_null.
 */
#ifndef HORNBEAM_H
#define HORNBEAM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. hb_version() returns the library's. */
#define HB_VERSION "0.2.0"

typedef struct hb_store hb_store;
typedef struct hb_txn hb_txn;
typedef struct hb_cursor hb_cursor;

/* Identifies a tree of one store; see hb_tree_open. 0 identifies no tree. */
typedef uint32_t hb_tree;

/* Bytes that are owned elsewhere. `data` may be NULL if `size` is 0. */
typedef struct {
    const void *data;
    size_t size;
} hb_slice;

/* Results. */
enum {
    HB_OK = 0,
    HB_NOT_FOUND = 1,    /* no such key, tree, entry or rank; hb_error() may keep its older text */
    HB_INVALID = 2,      /* a wrong argument or handle; a file that is not a store */
    HB_CORRUPT = 3,      /* the file is not as it was written; hb_error() names the page */
    HB_IO = 4,           /* another error of the operating system; hb_error() names the call, the file and the errno */
    HB_BUSY = 5,         /* in use: by another process, another hb_store, or a transaction */
    HB_FULL = 6,         /* no space is left on the device */
    HB_EXISTS = 7,       /* the target of a backup is there already */
    HB_READ_ONLY = 8,    /* a change in a read transaction or in a store opened read-only */
    HB_TOO_LARGE = 9,    /* a key, value or name beyond its limit; hb_error() names the limit */
    HB_UNSUPPORTED = 10, /* not in this version of the library; a file of a newer format */
    HB_FAILED = 11,      /* writes are refused since a sync failed: close the store and open it again */
    HB_KEY = 12          /* the store is encrypted and this is not its key, or it isn't encrypted and a key was given */
};

/* The failures that a commit survives once hb_commit has returned. With any choice the file is never corrupted, and a
 * crash leaves the state after some commit, including every commit before it. */
enum {
    HB_DURABLE_FULL = 0,    /* power loss (the default) */
    HB_DURABLE_PROCESS = 1, /* a crash of the process; POWER LOSS MAY TAKE THE LAST COMMITS */
    HB_DURABLE_NONE = 2     /* nothing until the next full commit or checkpoint: A CRASH TAKES THE LAST COMMITS */
};

/* Flags of hb_tree_open. */
enum {
    HB_TREE_CREATE = 1, /* make the tree if there is none */
    HB_TREE_LZ4 = 2     /* if the tree is made: compress its leaves */
};

/* Modes of hb_begin. */
enum {
    HB_READ = 0,
    HB_WRITE = 1,
    HB_NOWAIT = 2 /* with HB_WRITE: HB_BUSY instead of waiting */
};

/* Options for opening a store. Zero in any field means its default; set struct_size to sizeof(hb_options). A library
 * that is newer than the caller takes fields beyond struct_size as zero; an older one refuses fields that it doesn't
 * know (HB_UNSUPPORTED) unless they are zero. A struct_size of 0 means this first form of the struct. */
typedef struct {
    size_t struct_size;
    uint32_t durability;       /* HB_DURABLE_…: for transactions that don't choose their own */
    uint32_t page_size;        /* of a new store: a power of two, 4,096 to 65,536; default 8,192 */
    uint64_t cache_bytes;      /* memory for changed and decoded pages, and for all pages of an unmapped store */
    uint64_t checkpoint_bytes; /* checkpoint once the journal has this many bytes; default: three quarters */
    uint32_t read_only;        /* not 0: never write; the file must exist */
    uint32_t in_memory;        /* not 0: no file, closing discards all; `path` is ignored and may be NULL */
    uint32_t lock_wait_ms;     /* time to wait for another process that has the file open */
} hb_options;

/* ---- Stores ---- */

/* Opens the store in the file at `path` (UTF-8), and recovers it after a crash. Makes the file, durably, if there is
 * none, unless read_only is set.
 * HB_INVALID: `path` is no store (a directory, some other file), or an option is out of bounds.
 * HB_UNSUPPORTED: the file's format is newer than this library. HB_BUSY: it is open elsewhere, also in this process.
 * HB_KEY: it is encrypted: see hb_open_with.
 * HB_IO: no permission, for example, or no such file with read_only. */
int hb_open(const char *path, const hb_options *options_or_null, hb_store **store);

/* Checkpoints, then releases the file and frees the handle. After large transactions it first moves the last pages, at
 * most 64 MiB, if that may make the file shorter by twice as much.
 * HB_BUSY: transactions are open, or other threads are inside a call; the store stays open.
 * HB_FAILED: an earlier write failed, perhaps of a checkpoint by itself: commits that weren't durable may be lost.
 * After any failure but HB_BUSY the handle is freed too. No durable commit is lost: the next hb_open recovers the
 * store. */
int hb_close(hb_store *store);

/* Writes the commits of the journal to their places in the file. This also happens by itself, when the journal fills
 * and at hb_close. Waits its turn as a write transaction does. HB_BUSY: this thread has the open write transaction. */
int hb_checkpoint(hb_store *store);

/* Verifies everything in the newest committed state: checksums, order, counts, space. Calls `report`, if not NULL, with
 * a line for each problem; `report` must not use the store. Returns HB_OK, or HB_CORRUPT if there was a problem. Waits
 * its turn as a write transaction does. HB_BUSY: this thread has the open write transaction. */
int hb_check(hb_store *store, void (*report)(void *context, const char *problem), void *context);

/* Writes a consistent copy of the newest committed state to a new file at `path`, while others read and write. The file
 * gets its name only once it is complete and durable.
 * HB_EXISTS: there is a file at `path`. HB_FULL, HB_IO: the target could not be written; nothing is left of it. */
int hb_backup(hb_store *store, const char *path);

/* Gives unused space back to the file system, in place, in short transactions while others read and write. If it is
 * stopped at any point, the store is whole, and the next call continues. Space that open read transactions see can be
 * given back only after they end.
 * HB_BUSY: another compaction is running, or this thread holds a write transaction. */
int hb_compact(hb_store *store);

/* ---- Transactions ---- */

/* Begins a transaction. `mode`: HB_READ, HB_WRITE (waits its turn), or HB_WRITE|HB_NOWAIT.
 * HB_BUSY: with HB_NOWAIT, another write transaction is open. HB_READ_ONLY: HB_WRITE in a store opened read-only. */
int hb_begin(hb_store *store, uint32_t mode, hb_txn **txn);

/* Sets the durability of this write transaction only. HB_READ_ONLY: it is a read transaction. */
int hb_durability(hb_txn *txn, uint32_t durability);

/* Commits a write transaction (and returns once it is durable as configured), or ends a read transaction. Always frees
 * the handle. If the result is not HB_OK, nothing of the transaction is visible, now or after reopening, unless a sync
 * failed: then the outcome is known only after reopening, and the store returns HB_FAILED until then. */
int hb_commit(hb_txn *txn);

/* Ends a read transaction, or discards a write transaction. Frees the handle. */
void hb_abort(hb_txn *txn);

/* ---- Trees ---- */

/* Finds the tree called `name` (UTF-8, not empty), or makes it with HB_TREE_CREATE. Once this transaction has
 * committed, or if it is a read, the tree's number is valid for the life of the store, in any transaction that can see
 * the tree. The number of a tree that was dropped, or whose creation was aborted, is HB_INVALID and is never used
 * again.
 * HB_NOT_FOUND: no such tree, and no HB_TREE_CREATE. HB_READ_ONLY: it would have to be made in a read transaction.
 * HB_TOO_LARGE: the name is too long. */
int hb_tree_open(hb_txn *txn, const char *name, uint32_t flags, hb_tree *tree);

/* Drops the tree called `name` with its entries. HB_NOT_FOUND: there is none. HB_READ_ONLY: in a read transaction. */
int hb_tree_drop(hb_txn *txn, const char *name);

/* Calls `each` with the name of every tree, in byte order. */
int hb_tree_list(hb_txn *txn, void (*each)(void *context, const char *name), void *context);

/* ---- Entries. A key is never empty (HB_INVALID); a value may be. ---- */

/* Finds the value of `key`. HB_NOT_FOUND: there is none. The data of an empty value is not NULL. If `value_or_null` is
 * NULL, it only finds out whether the key is there. */
int hb_get(hb_txn *txn, hb_tree tree, hb_slice key, hb_slice *value_or_null);

/* Finds the values of `count` keys, in any order. The value of an absent key has `data` NULL; the result is HB_OK. */
int hb_get_many(hb_txn *txn, hb_tree tree, const hb_slice *keys, hb_slice *values, size_t count);

/* Inserts the entry, or replaces its value. HB_TOO_LARGE, HB_READ_ONLY. */
int hb_put(hb_txn *txn, hb_tree tree, hb_slice key, hb_slice value);

/* Inserts an entry after all others and fills the tree's pages fully: the fast way to load sorted data.
 * HB_INVALID: `key` is not greater than every key of the tree. HB_TOO_LARGE, HB_READ_ONLY. */
int hb_append(hb_txn *txn, hb_tree tree, hb_slice key, hb_slice value);

/* Removes the entry. HB_NOT_FOUND: there is none. HB_READ_ONLY. */
int hb_delete(hb_txn *txn, hb_tree tree, hb_slice key);

/* Removes the entries from `from` to before `to`; an empty slice is an open end. HB_OK also if there are none. */
int hb_delete_range(hb_txn *txn, hb_tree tree, hb_slice from, hb_slice to, uint64_t *deleted_or_null);

/* Counts the entries from `from` to before `to`, without visiting them; an empty slice is an open end. */
int hb_count(hb_txn *txn, hb_tree tree, hb_slice from, hb_slice to, uint64_t *count);

/* ---- Cursors. A move returns HB_OK if the cursor then stands on an entry, otherwise HB_NOT_FOUND. ---- */

/* Opens a cursor before the first entry. In a write transaction it keeps its place through changes; if its entry is
 * deleted, next and prev move to the entry's neighbours. */
int hb_cursor_open(hb_txn *txn, hb_tree tree, hb_cursor **cursor);

int hb_cursor_seek(hb_cursor *cursor, hb_slice key);      /* to the first entry >= key */
int hb_cursor_seek_last(hb_cursor *cursor, hb_slice key); /* to the last entry <= key */
int hb_cursor_first(hb_cursor *cursor);
int hb_cursor_last(hb_cursor *cursor);

/* To the next or previous entry. A cursor that has passed an end stands beyond it: prev from beyond the last entry
 * moves to the last, next from before the first moves to the first. A move that fails leaves the cursor beyond the
 * last. */
int hb_cursor_next(hb_cursor *cursor);
int hb_cursor_prev(hb_cursor *cursor);

int hb_cursor_at(hb_cursor *cursor, uint64_t index); /* to the entry at this index of the tree, from 0 */

/* Returns the entry at the cursor: its key, its value, or both. NULL leaves one out. The slices are valid until the
 * cursor moves, but no longer than those of hb_get. HB_NOT_FOUND: the cursor stands on no entry. */
int hb_cursor_entry(hb_cursor *cursor, hb_slice *key_or_null, hb_slice *value_or_null);

/* Reads many entries in one call: the one at the cursor and those after it (hb_cursor_read_back: before it, in reverse
 * order), at least one and at most `capacity`. The cursor then stands on the last of them. Fewer than `capacity`
 * doesn't mean that there are no more: hb_cursor_next, or hb_cursor_prev, finds that out. If `keys_or_null` or
 * `values_or_null` is NULL, the keys or the values are left out.
 *
 *     for (int code = hb_cursor_first(cursor); code == HB_OK; code = hb_cursor_next(cursor)) {
 *         size_t count;
 *         if (hb_cursor_read(cursor, keys, values, 64, &count) != HB_OK) break;
 *         for (size_t index = 0; index < count; index++) use(keys[index], values[index]);
 *     }
 *
 * The slices are valid until the cursor moves or reads again, but no longer than those of hb_get. HB_NOT_FOUND, and a
 * count of 0: the cursor stands on no entry. */
int hb_cursor_read(hb_cursor *cursor, hb_slice *keys_or_null, hb_slice *values_or_null, size_t capacity,
                   size_t *count);
int hb_cursor_read_back(hb_cursor *cursor, hb_slice *keys_or_null, hb_slice *values_or_null, size_t capacity,
                        size_t *count);

/* Frees the cursor, before or after its transaction ended. */
void hb_cursor_close(hb_cursor *cursor);

/* ---- Texts ---- */

/* Returns the text of this thread's last error: the fault, its position, and the remedy. Never NULL; empty if there was
 * none. Valid until the thread's next error. */
const char *hb_error(void);

/* Returns the version of the library, such as "1.2.3". */
const char *hb_version(void);

/* ---- Further functions ---- */

/* A value that a tree keeps for the entries below each branch, so that hb_reduce of any range takes O(log n) pages: a
 * sum, an extreme, or another value that can be combined. The file has only the name and the size; the functions are in
 * the program. They must always give equal bytes for equal input (a changed function needs another name), may be called
 * from any thread that uses the store, and must not call the library. */
typedef struct {
    const char *name;     /* 1 to 64 bytes of UTF-8 */
    size_t size;          /* of a reduced value: 1 to 64 bytes */
    const void *identity; /* the value of no entries: neutral in combine */
    void (*map)(void *context, hb_slice key, hb_slice value, void *target); /* writes the value of one entry */
    void (*combine)(void *context, void *target, const void *next); /* adds later entries to earlier; associative */
    void *context;
} hb_reduction;

/* Set struct_size to sizeof(hb_more_options). If all other fields are zero, hb_open_with is hb_open. */
typedef struct {
    size_t struct_size;
    uint32_t unmapped;        /* not 0: pages are read with system calls into the cache of cache_bytes, and the file
                                 isn't mapped: then read errors of the medium are results, and little address space
                                 is needed */
    uint32_t reduction_count;
    const hb_reduction *reductions; /* of all trees that will be changed. Copied, except the memory at context */
    const void *key;          /* not NULL: the key of an encrypted store; a new one is encrypted. Copied.
                                 Needs OpenSSL 3 */
    size_t key_size;          /* 32; for a passphrase its size in bytes */
    uint32_t key_is_passphrase; /* not 0: the key is derived from `key` (scrypt), which takes about 100 ms */
} hb_more_options;

int hb_open_with(const char *path, const hb_options *options_or_null, const hb_more_options *more, hb_store **store);

/* Makes this key the only one of an encrypted store, with a checkpoint. key_is_passphrase: as in hb_more_options.
 * HB_KEY: the store isn't encrypted. HB_BUSY: this thread has the write transaction. */
int hb_rekey(hb_store *store, const void *key, size_t key_size, uint32_t key_is_passphrase);

/* Works like hb_tree_open. A new tree keeps the reduction with that name. HB_INVALID: an existing tree keeps another,
 * or none. If the store was opened without a tree's reduction, it can be read, but not changed (HB_UNSUPPORTED). */
int hb_tree_open_reduced(hb_txn *txn, const char *name, uint32_t flags, const char *reduction, hb_tree *tree);

/* Writes the reduced value of the entries from `from` to before `to` to `target`; an empty slice is an open end.
 * HB_INVALID: the tree keeps no reduction, or one of another size. */
int hb_reduce(hb_txn *txn, hb_tree tree, hb_slice from, hb_slice to, void *target, size_t size);

/* Long values in parts, so that they needn't be in memory as a whole.
 * hb_get_part copies bytes of the key's value from `offset` on: as many as there are, at most `size`. It reads and
 * verifies only these (in blocks of 64 KiB). `*copied` is less than `size` at the value's end. */
int hb_get_part(hb_txn *txn, hb_tree tree, hb_slice key, uint64_t offset, void *target, size_t size, size_t *copied,
                uint64_t *value_size_or_null);

/* Puts a value of `size` bytes in parts. hb_put_more adds the next bytes. hb_put_end puts the entry: inserts it, or
 * replaces its value; HB_INVALID means that bytes are missing. It always ends the handle. hb_put_cancel discards the
 * value. The transaction may change other entries meanwhile. A value that isn't finished when the transaction ends, or
 * goes back to a savepoint from before the value, leaves nothing (its handle still has to be ended). A transaction with
 * a value of more than 64 KiB put this way commits with a checkpoint. */
typedef struct hb_value hb_value;

int hb_put_begin(hb_txn *txn, hb_tree tree, hb_slice key, uint64_t size, hb_value **value);
int hb_put_more(hb_value *value, hb_slice bytes);
int hb_put_end(hb_value *value);
void hb_put_cancel(hb_value *value_or_null);

/* Savepoints: states of a write transaction that it can go back to, one inside the other.
 * hb_rollback undoes every change since the savepoint, including one that failed midway. The savepoint stays; those
 * inside it are removed. Cursors keep their places. hb_release forgets the savepoint and those inside it; the changes
 * stay. HB_INVALID: the savepoint was removed, or belongs to another transaction. */
typedef uint64_t hb_savepoint;

int hb_save(hb_txn *txn, hb_savepoint *savepoint);
int hb_rollback(hb_txn *txn, hb_savepoint savepoint);
int hb_release(hb_txn *txn, hb_savepoint savepoint);

/* Figures of a store; sizes in bytes. Figures of the file are as of its newest commit or checkpoint, the others are
 * current. Set struct_size to sizeof(hb_figures). */
typedef struct {
    size_t struct_size;
    uint64_t file_bytes;             /* the file */
    uint64_t used_bytes;             /* of it: the newest state, and the store's own pages */
    uint64_t retired_bytes;          /* of it: pages that only older snapshots or the last checkpoint hold */
    uint64_t journal_bytes;          /* commits since the last checkpoint */
    uint64_t journal_capacity_bytes; /* the journal's place in the file */
    uint64_t page_size;
    uint64_t transaction;            /* number of the newest committed write transaction */
    uint64_t checkpoint;             /* number of the last checkpoint */
    uint64_t older_snapshots;        /* number of older states that read transactions hold */
    uint64_t cache_budget_bytes;     /* the page cache: its limit, and (next field) its size */
    uint64_t cache_resident_bytes;
    uint64_t cache_hits;
    uint64_t cache_misses;
    uint64_t cache_evictions;
    uint64_t writer_bytes;           /* memory of the open write transaction's pages, part of the budget */
    uint64_t pinned_bytes;           /* pages that open transactions keep in the cache, */
    uint64_t copied_bytes;           /* copies of values that they returned, */
    uint64_t private_bytes;          /* and their memory outside of the budget */
    uint64_t dirty_bytes;            /* pages of the newest state that the last checkpoint lacks */
    uint64_t checkpoint_retired_bytes; /* of retired_bytes: held by the last checkpoint, and by no newer snapshot */
    uint64_t reader_pinned_bytes;    /* of pinned_bytes, copied_bytes and private_bytes: the share of read */
    uint64_t reader_copied_bytes;    /* transactions; the rest is the write transaction's */
    uint64_t reader_private_bytes;
    uint64_t snapshot_bytes;         /* of retired_bytes: held by read transactions */
} hb_figures;

int hb_figures_of(hb_store *store, hb_figures *figures);

#ifdef __cplusplus
}
#endif

#endif
