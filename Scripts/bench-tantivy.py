#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tantivy in the measurements of full text: a child of `hornbeam-bench text`.

`hornbeam-bench text --data FOLDER --python VENV/bin/python` runs it, with a
Python that has tantivy (`pip install tantivy`). The engine is Rust; what its
Python binding adds to a query is in its times, some microseconds.
"""
import argparse
import json
import math
import os
import random
import shutil
import sys
import time
import unicodedata

import tantivy

GROUPS = 10
SPARE = 200
MANY = 5000
PASSES = 3
DEPTH = 1000


def group_of(number):
    return ((number * 0x9E3779B97F4A7C15) % 2**64 >> 40) % GROUPS


def words_of(text):
    """By the rule of all engines: runs of letters and digits, in lower case."""
    return "".join(c if unicodedata.category(c)[0] in "LN" else " " for c in text.lower()).split()


class Store:
    def __init__(self, folder, form):
        builder = tantivy.SchemaBuilder()
        builder.add_unsigned_field("number", stored=True, indexed=True, fast=True)
        builder.add_unsigned_field("group", indexed=True)
        # The field is stored without an index. Long words are kept, as in the other engines.
        option = {"none": None, "words": "freq", "positions": "position", "stems": "freq"}[form]
        if option:
            builder.add_text_field("text", stored=True, tokenizer_name="words", index_option=option)
        else:
            builder.add_bytes_field("text", stored=True)
        self.form = form
        self.schema = builder.build()
        os.makedirs(folder, exist_ok=True)
        self.index = tantivy.Index(self.schema, path=folder)
        builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase())
        if form == "stems":
            builder = builder.filter(tantivy.Filter.stemmer("english"))
        self.analyzer = builder.build()
        self.index.register_tokenizer("words", self.analyzer)
        self.writer = None

    def refresh(self):
        self.index.reload()
        self.searcher = self.index.searcher()

    def write(self, threads=1):
        if self.writer is None:
            self.writer = self.index.writer(heap_size=256_000_000, num_threads=threads)
        return self.writer

    def add(self, number, text):
        document = tantivy.Document()
        document.add_unsigned("number", number)
        document.add_unsigned("group", group_of(number))
        if self.form == "none":
            document.add_bytes("text", text.encode())
        else:
            document.add_text("text", text)
        self.write().add_document(document)

    def remove(self, number):
        # By a query: the binding's deletion by a term treats the number as signed, and deletes nothing.
        self.write().delete_documents_by_query(tantivy.Query.term_query(self.schema, "number", number))

    def commit(self):
        self.writer.commit()

    def query(self, kind, question):
        words = question["words"]
        if self.form == "stems":
            words = [token for word in words for token in self.analyzer.analyze(word)]
        terms = [tantivy.Query.term_query(self.schema, "text", word) for word in words]
        if kind == "all":
            query = tantivy.Query.boolean_query([(tantivy.Occur.Must, term) for term in terms])
        elif kind == "phrase":
            query = tantivy.Query.phrase_query(self.schema, "text", question["words"])
        elif kind in ("prefix", "near", "fuzzy", "wildcard"):
            # Not ranked, because expansions all count one, or the binding lacks the query.
            return None
        elif len(terms) == 1:
            query = terms[0]
        else:
            query = tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])
        if question.get("group") is not None:
            term = tantivy.Query.term_query(self.schema, "group", question["group"])
            query = tantivy.Query.boolean_query(
                [(tantivy.Occur.Must, query), (tantivy.Occur.Must, tantivy.Query.const_score_query(term, 0.0))])
        return query

    def best(self, query, limit=10):
        return self.searcher.search(query, limit, count=False).hits

    def numbers(self, hits):
        return [self.searcher.doc(address)["number"][0] for _, address in hits]

    def texts(self, query):
        return sum(len(self.searcher.doc(address)["text"][0]) for _, address in self.best(query))

    def count(self, query):
        return self.searcher.search(query, 1, count=True).count


def size_of(folder):
    return sum(os.stat(os.path.join(base, name)).st_blocks * 512
               for base, _, names in os.walk(folder) for name in names)


class Child:
    def __init__(self, arguments):
        self.arguments = arguments
        self.wanted = set(arguments.workload.split(","))
        with open(arguments.corpus, "rb") as file:
            self.texts = file.read().split(b"\0")[:-1]
        with open(arguments.questions, encoding="utf-8") as file:
            self.questions = json.load(file)
        self.documents = self.questions["documents"]

    def text(self, number):
        return self.texts[number].decode("utf-8", "replace")

    def tell(self, workload, operations, seconds, latencies=None, value=None, values=None):
        if workload not in self.wanted:
            return
        figure = {
            "workload": workload, "engine": self.arguments.engine, "round": self.arguments.round,
            "operations": operations, "seconds": seconds, "writtenBytes": 0, "writeCalls": 0,
            "diskBytes": size_of(self.arguments.folder), "anonymousBytes": 0, "mappedBytes": 0, "allocations": 0}
        if latencies:
            ordered = sorted(latencies)
            part = lambda share: ordered[min(len(ordered) - 1, int(len(ordered) * share))]
            figure["latency"] = {"p50": part(0.5), "p99": part(0.99), "p999": part(0.999), "most": part(1)}
        if value is not None:
            figure["value"] = value
        if values:
            figure["values"] = values
        print(json.dumps(figure), flush=True)

    def timed(self, workload, things, body):
        latencies = []
        for thing in things:
            start = time.perf_counter_ns()
            body(thing)
            latencies.append(time.perf_counter_ns() - start)
        self.tell(workload, len(latencies), sum(latencies) * 1e-9, latencies)

    def store(self, form="positions"):
        return Store(f"{self.arguments.folder}/store-{form}", form)

    def build(self):
        seconds = {}
        for form in ["none", "words", "positions"]:
            if form != "positions" and f"build-{form}" not in self.wanted:
                continue
            store = self.store(form)
            start = time.perf_counter()
            for number in range(self.documents):
                store.add(number, self.text(number))
            store.commit()
            store.writer.wait_merging_threads()
            seconds[form] = time.perf_counter() - start
            self.tell(f"build-{form}", self.documents, seconds[form])
            self.tell(f"size-{form}", self.documents, 1)
            if form != "positions":
                shutil.rmtree(f"{self.arguments.folder}/store-{form}")
        size = self.questions["textBytes"]
        self.tell("speed-build", 1, 1, value=size / seconds["positions"])
        if "none" in seconds:
            self.tell("speed-index", 1, 1, value=size / (seconds["positions"] - seconds["none"]))

    def ask(self, store, questions, name):
        kind = questions["kind"]
        queries = [store.query(kind, question) for question in questions["questions"]]
        if None in queries:
            return
        for query, question in zip(queries, questions["questions"]):
            # The binding's tables of letters may have another version of Unicode.
            found = store.count(query)
            if question.get("group") is None and abs(found - question["count"]) > question["count"] // 1000 + 1:
                sys.exit(f"tantivy, {name}, {question['words']}: {found} documents instead of {question['count']}")
        body = {"count": store.count, "texts": store.texts}.get(kind, store.best)
        self.timed(name, queries * PASSES, body)

    def search(self):
        store = self.store()
        store.refresh()
        for questions in self.questions["sets"]:
            if questions["name"] in self.wanted:
                self.ask(store, questions, questions["name"])

    def change(self):
        store = self.store()
        spare = range(self.documents, min(len(self.texts), self.documents + SPARE))
        changed = random.Random(self.arguments.seed).sample(range(self.documents), len(spare))

        def put(pair):
            number, text = pair
            store.remove(number)
            store.add(number, text)
            store.commit()

        def remove(number):
            store.remove(number)
            store.commit()

        store.write()
        self.timed("insert-1", [(n, self.text(n)) for n in spare], put)
        self.timed("update-1", [(n, self.text(m)) for n, m in zip(changed, spare)]
                   + [(n, self.text(n)) for n in changed], put)
        self.timed("delete-1", spare, remove)
        if "after-many" in self.wanted:
            many = random.Random(self.arguments.seed + 1).sample(range(self.documents), min(MANY, self.documents))
            for number, other in [*zip(many, reversed(many)), *zip(many, many)]:
                put((number, self.text(other)))
        store.refresh()
        for questions in self.questions["sets"]:
            if questions["name"] == "any-2-common":
                self.ask(store, questions, "after-many")
            if questions["name"] == "any-2-document":
                self.ask(store, questions, "after-changes")

    def judge(self):
        store = self.store()
        store.refresh()
        self.judge_store(store, "")
        if "ndcg-10-stems" in self.wanted:
            stems = self.store("stems")
            for number in range(self.documents):
                stems.add(number, self.text(number))
            stems.commit()
            stems.writer.wait_merging_threads()
            stems.refresh()
            self.judge_store(stems, "-stems")
            shutil.rmtree(f"{self.arguments.folder}/store-stems")

    def judge_store(self, store, kind):
        gain, precision, reciprocal = [], [], []
        with open(self.arguments.judged, encoding="utf-8") as file:
            for line in file:
                query, numbers = line.rstrip("\n").split("\t")
                words, relevant = words_of(query), {int(n) for n in numbers.split(",") if int(n) < self.documents}
                if not words or not relevant:
                    continue
                found = store.numbers(store.best(store.query("any", {"words": words}), DEPTH))
                places = [place for place, number in enumerate(found) if number in relevant]
                best = sum(1 / math.log2(place + 2) for place in range(min(10, len(relevant))))
                gain.append(sum(1 / math.log2(place + 2) for place in places if place < 10) / best)
                precision.append(sum((i + 1) / (place + 1) for i, place in enumerate(places)) / len(relevant))
                reciprocal.append(1 / (places[0] + 1) if places else 0)
        for name, values in [("ndcg-10", gain), ("map", precision), ("mrr", reciprocal)]:
            self.tell(name + kind, 1, 1, value=sum(values) / len(values), values=values)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("child")
    parser.add_argument("scenario")
    for name in "engine corpus questions folder workload judged".split():
        parser.add_argument("--" + name)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--round", type=int, default=0)
    arguments = parser.parse_args()
    child = Child(arguments)
    {"text-build": child.build, "text-search": child.search, "text-change": child.change,
     "text-judge": child.judge}[arguments.scenario]()


if __name__ == "__main__":
    main()
