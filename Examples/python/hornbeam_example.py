#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hornbeam from Python, by ctypes alone: counts the words of this file in one tree, then asks for them.

    python3 hornbeam_example.py [FILE.hornbeam]

HORNBEAM_LIBRARY names the library if it isn't where the loader looks. Checks its own answers; exit status 0 if right.
"""

import collections
import contextlib
import ctypes
import os
import re
import sys
import tempfile
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p

OK, NOT_FOUND, INVALID = 0, 1, 2
READ, WRITE, CREATE = 0, 1, 1


class Slice(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]

    @staticmethod
    def of(text: bytes) -> "Slice":
        return Slice(ctypes.cast(c_char_p(text), c_void_p), len(text))

    def __bytes__(self) -> bytes:
        return ctypes.string_at(self.data, self.size) if self.size else b""


def load():
    """The library with the signatures of the functions used here."""
    library = ctypes.CDLL(os.environ.get("HORNBEAM_LIBRARY", "libhornbeam.so.0"))
    signatures = {
        "hb_open": [c_char_p, c_void_p, POINTER(c_void_p)],
        "hb_close": [c_void_p],
        "hb_begin": [c_void_p, c_uint32, POINTER(c_void_p)],
        "hb_commit": [c_void_p],
        "hb_tree_open": [c_void_p, c_char_p, c_uint32, POINTER(c_uint32)],
        "hb_get": [c_void_p, c_uint32, Slice, POINTER(Slice)],
        "hb_put": [c_void_p, c_uint32, Slice, Slice],
        "hb_count": [c_void_p, c_uint32, Slice, Slice, POINTER(c_uint64)],
        "hb_cursor_open": [c_void_p, c_uint32, POINTER(c_void_p)],
        "hb_cursor_seek": [c_void_p, Slice],
        "hb_cursor_next": [c_void_p],
        "hb_cursor_entry": [c_void_p, POINTER(Slice), POINTER(Slice)],
    }
    for name, arguments in signatures.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, c_int
    for name in ("hb_abort", "hb_cursor_close"):
        function = getattr(library, name)
        function.argtypes, function.restype = [c_void_p], None
    library.hb_error.restype = library.hb_version.restype = c_char_p
    return library


hb = load()


class HornbeamError(Exception):
    pass


def check(result: int) -> bool:
    """True for HB_OK, False for HB_NOT_FOUND; everything else is an error."""
    if result > NOT_FOUND:
        raise HornbeamError(f"{result}: {hb.hb_error().decode()}")
    return result == OK


class Transaction:
    def __init__(self, handle: c_void_p, tree: str, create: bool):
        self.handle, self.tree = handle, c_uint32()
        if not check(hb.hb_tree_open(handle, tree.encode(), CREATE if create else 0, byref(self.tree))):
            raise HornbeamError(f"no tree called {tree}")

    def __setitem__(self, key: bytes, value: bytes):
        check(hb.hb_put(self.handle, self.tree, Slice.of(key), Slice.of(value)))

    def __getitem__(self, key: bytes) -> bytes:
        value = Slice()
        if not check(hb.hb_get(self.handle, self.tree, Slice.of(key), byref(value))):
            raise KeyError(key)
        return bytes(value)

    def count(self, start: bytes = b"", end: bytes = b"") -> int:
        count = c_uint64()
        check(hb.hb_count(self.handle, self.tree, Slice.of(start), Slice.of(end), byref(count)))
        return count.value

    def entries(self, start: bytes):
        """All entries from `start` on, in order."""
        cursor, key, value = c_void_p(), Slice(), Slice()
        check(hb.hb_cursor_open(self.handle, self.tree, byref(cursor)))
        try:
            there = check(hb.hb_cursor_seek(cursor, Slice.of(start)))
            while there:
                check(hb.hb_cursor_entry(cursor, byref(key), byref(value)))
                yield bytes(key), bytes(value)
                there = check(hb.hb_cursor_next(cursor))
        finally:
            hb.hb_cursor_close(cursor)


class Store:
    def __init__(self, path: str):
        self.handle = c_void_p()
        check(hb.hb_open(path.encode(), None, byref(self.handle)))

    def close(self):
        check(hb.hb_close(self.handle))

    @contextlib.contextmanager
    def begin(self, mode: int, tree: str):
        """A transaction for the length of a `with`: committed at its end, aborted by an exception."""
        handle = c_void_p()
        check(hb.hb_begin(self.handle, mode, byref(handle)))
        try:
            yield Transaction(handle, tree, create=mode == WRITE)
        except BaseException:
            hb.hb_abort(handle)
            raise
        check(hb.hb_commit(handle))


def main(path: str):
    with open(__file__, encoding="utf-8") as text:
        words = collections.Counter(re.findall(r"[a-z]+", text.read().lower()))

    store = Store(path)
    with store.begin(WRITE, "words") as words_tree:
        for word, number in words.items():
            words_tree[word.encode()] = number.to_bytes(4, "big")
    store.close()

    store = Store(path)
    with store.begin(READ, "words") as words_tree:
        expected = sorted(word.encode() for word in words)
        assert words_tree.count() == len(expected)
        assert int.from_bytes(words_tree[b"hornbeam"], "big") == words["hornbeam"]
        among = [word for word in expected if b"c" <= word < b"d"]
        assert words_tree.count(b"c", b"d") == len(among)
        assert [key for key, _ in words_tree.entries(b"c")][: len(among)] == among
        assert [key for key, _ in words_tree.entries(b"a")] == expected
        print(f"{words_tree.count()} words, {len(among)} of them with c: {b', '.join(among[:5]).decode()} ...")
        try:
            words_tree[b"more"] = b""
            raise AssertionError("a read transaction let something be written")
        except HornbeamError as error:
            print(f"as it should be: {error}")
    try:
        with store.begin(WRITE, "words") as words_tree:
            words_tree[b"not a word"] = b""
            raise ValueError("a change of mind")
    except ValueError:
        pass
    with store.begin(READ, "words") as words_tree:
        try:
            words_tree[b"not a word"]
            raise AssertionError("an aborted change is there")
        except KeyError:
            pass
    store.close()
    print(f"Hornbeam {hb.hb_version().decode()} works from Python")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(os.path.join(folder, "words.hornbeam"))
