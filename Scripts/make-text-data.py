#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the texts that `hornbeam-bench text` is measured with.

    make-text-data.py FOLDER [--debian FOLDER] [--packages doc-rfc-std,...]

Writes into FOLDER, and leaves alone what is there already:
  debian.docs       short and long description of each package of Debian 12,
                    and debian.judged: a tag's name asks for the packages that
                    people have given it (debtags)
  debian-long.docs  the long ones alone, and debian-long.judged: a package's
                    short description asks for its long one
  rfc-page.docs     the pages of the RFCs in Debian's doc-rfc-* packages, and
                    rfc-page.judged: an RFC's title asks for its pages
  rfc-para.docs     their paragraphs
A .docs file has one document after the other, each closed by a zero byte. A
.judged file has lines of a query, a tab, and the numbers, from 0, of the
documents that answer it, with commas.

--debian: the demo's data set (Scripts/make-demo-data.sh makes it); without it
it is made in FOLDER/debian. The RFCs are in Debian's non-free archive: that is
asked with apt's own programs from a private directory, so that the machine's
apt set-up is neither used nor changed, nothing is installed, and the texts
never come into a repository.
"""
import argparse
import glob
import gzip
import json
import os
import random
import re
import subprocess
import tempfile

RFC_PACKAGES = ("doc-rfc-std doc-rfc-std-proposed doc-rfc-informational doc-rfc-experimental "
                "doc-rfc-fyi-bcp doc-rfc-misc doc-rfc-old-std doc-rfc-others").split()
MIRROR = "http://deb.debian.org/debian"
# Number of known-item queries: enough for stable figures that take seconds.
KNOWN = 2000


def write(path, texts):
    """Documents; the file is there only when it is whole."""
    count = 0
    with open(path + ".partial", "wb") as file:
        for text in texts:
            file.write(text.replace("\0", " ").encode("utf-8", "replace") + b"\0")
            count += 1
    os.rename(path + ".partial", path)
    print(f"{path}: {count} documents, {os.path.getsize(path)} bytes")


def write_judged(path, items):
    with open(path + ".partial", "w", encoding="utf-8") as file:
        for query, documents in items:
            file.write(" ".join(query.split()) + "\t" + ",".join(map(str, documents)) + "\n")
    os.rename(path + ".partial", path)


def debian(out, data):
    here = os.path.dirname(os.path.abspath(__file__))
    if data is None:
        data = f"{out}/debian"
        subprocess.run([f"{here}/make-demo-data.sh", data], check=True)
    with open(f"{data}/packages.jsonl", encoding="utf-8") as file:
        packages = [json.loads(line) for line in file]
    write(f"{out}/debian.docs", (p["short"] + "\n" + p["long"] for p in packages))
    judge_by_tags(out, data, packages)
    # Many binary packages of one source share their long description: each text is used once, and its first package
    # makes the query.
    seen, known = set(), []
    for package in packages:
        if package["long"] and package["short"] and package["long"] not in seen:
            seen.add(package["long"])
            known.append(package)
    write(f"{out}/debian-long.docs", (p["long"] for p in known))
    asked = sorted(random.Random(1).sample(range(len(known)), min(KNOWN, len(known))))
    write_judged(f"{out}/debian-long.judged", ((known[i]["short"], [i]) for i in asked))


# Facets whose tags describe a package's subject; the facet's name is added if the tag's name alone says too little.
TOPICS = {"field": "", "use": "", "works-with": "", "works-with-format": "", "uitoolkit": "", "implemented-in": "",
          "game": "game", "mail": "mail", "sound": "sound", "web": "web", "network": "network", "security": "security",
          "hardware": "hardware", "office": "office", "protocol": "protocol", "culture": "", "biology": "biology"}


def judge_by_tags(out, data, packages):
    having = {}
    for number, package in enumerate(packages):
        for tag in package["tags"]:
            having.setdefault(tag, []).append(number)
    items = []
    with open(f"{data}/tags.jsonl", encoding="utf-8") as file:
        for tag in map(json.loads, file):
            found = having.get(tag["id"], [])
            if tag["facet"] in TOPICS and 10 <= len(found) <= 2000 and tag["name"] != "TODO":
                items.append((f"{tag['name'].replace('-', ' ').replace(':', ' ')} {TOPICS[tag['facet']]}", found))
    write_judged(f"{out}/debian.judged", items)


def fetch_rfcs(work, packages):
    """Unpacks the packages; the folder with the texts."""
    os.makedirs(f"{work}/lists/partial")
    os.makedirs(f"{work}/cache/archives/partial")
    with open(f"{work}/sources.list", "w") as file:
        file.write("deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
                   f"{MIRROR} bookworm non-free\n")
    with open(f"{work}/apt.conf", "w") as file:
        file.write(f'Dir::Etc::sourcelist "{work}/sources.list";\nDir::Etc::sourceparts "/dev/null";\n'
                   f'Dir::State::lists "{work}/lists";\nDir::Cache "{work}/cache";\nAPT::Sandbox::User "root";\n')
    apt = ["apt-get", "-qq", "-c", f"{work}/apt.conf"]
    subprocess.run(apt + ["update"], check=True)
    subprocess.run(apt + ["download"] + packages, cwd=work, check=True)
    for package in sorted(glob.glob(f"{work}/*.deb")):
        subprocess.run(["dpkg-deb", "-x", package, f"{work}/root"], check=True)
        os.remove(package)
    return f"{work}/root/usr/share/doc/RFC"


def rfc_texts(folder):
    """Number, title and text of each RFC, by number."""
    found = {}
    for path in glob.glob(f"{folder}/**/rfc*.txt*", recursive=True):
        match = re.fullmatch(r"rfc(\d+)\.txt(\.gz)?", os.path.basename(path))
        if match and not os.path.islink(path):
            found[int(match[1])] = path
    for number, path in sorted(found.items()):
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
            text = file.read().decode("utf-8", "replace")
        about = re.sub(r"\.txt(\.gz)?$", ".json", path)
        title = ""
        if os.path.exists(about):
            with open(about, encoding="utf-8") as file:
                title = json.load(file).get("title") or ""
        yield number, title, text


def pages(text):
    return [page.strip("\r\n") for page in text.split("\f") if page.strip()]


def paragraphs(text):
    """Without the feet and heads of pages."""
    lines = [line.rstrip() for line in text.replace("\f", "\n").split("\n")]
    kept = [line for line in lines if not re.search(r"\[Page \d+\]$|^RFC \d+ .*\d{4}$", line)]
    for part in re.split(r"\n\s*\n", "\n".join(kept)):
        if part.strip():
            yield part.strip("\n")


def rfcs(out, packages):
    with tempfile.TemporaryDirectory(dir=out) as work:
        folder = fetch_rfcs(work, packages)
        all_pages, known = [], []
        for _, title, text in rfc_texts(folder):
            own = pages(text)
            # A text of a single page would reveal its title, and a text without pages is no RFC.
            if title and len(own) > 1:
                known.append((title.strip(), range(len(all_pages), len(all_pages) + len(own))))
            all_pages += own
        write(f"{out}/rfc-para.docs", (part for _, _, text in rfc_texts(folder) for part in paragraphs(text)))
        chosen = sorted(random.Random(1).sample(range(len(known)), min(KNOWN, len(known))))
        write_judged(f"{out}/rfc-page.judged", (known[i] for i in chosen))
        write(f"{out}/rfc-page.docs", all_pages)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out")
    parser.add_argument("--debian", help="the demo's data set")
    parser.add_argument("--packages", default=",".join(RFC_PACKAGES), help="of the RFCs; '' for none")
    arguments = parser.parse_args()
    out = os.path.abspath(arguments.out)
    os.makedirs(out, exist_ok=True)
    if not os.path.exists(f"{out}/debian-long.judged"):
        debian(out, arguments.debian)
    if arguments.packages and not os.path.exists(f"{out}/rfc-page.docs"):
        rfcs(out, arguments.packages.split(","))


if __name__ == "__main__":
    main()
