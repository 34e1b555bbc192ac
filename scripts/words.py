#!/usr/bin/env python3
"""Measures the language of the tree, and fails on names and references that must not be there.

    scripts/words.py                 print the table; exit 1 if a former name or a dead reference is found
    scripts/words.py --list FIGURE   also list what a figure counts: single, repeated, doc-starts or relative
    scripts/words.py --root DIR      measure another checkout

The figures are a report to steer by. Only two findings fail: a name that was replaced (see the glossary in
CONTRIBUTING.md), and a reference to a file, pitfall or item that does not exist.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys

# Goals. They are reported, not enforced.
SINGLE_MAX = 35.0
REPEATED_MAX = 12.0
DOC_START_MAX = 4.0
RELATIVE_MAX = 0.35

TEST_FILE = re.compile(r"(^|/)(tests?|benches|testing|testkit)(/|\.rs$)|^bench/|_tests?\.rs$")
TYPE = re.compile(r"^ *(?:pub(?:\([^)]*\))? )?(?:unsafe )?(struct|enum|trait|union|type) ([A-Z]\w*)")
BLOCK_WITH_TYPES_INSIDE = re.compile(r"^ *(?:unsafe )?(?:impl\b|(?:pub(?:\([^)]*\))? )?(?:unsafe )?trait\b)")
DOC_START = re.compile(r"(What|Who|Whose|Where|How|Whether)\b")
RELATIVE = re.compile(r"\b(which|that|who|whom|whose|where|what|whoever|whatever|wherever|whichever)\b", re.I)
SENTENCE_END = re.compile(r"[.!?:;](?=\s|$)")

# Words that no identifier and no document may contain: each was replaced by the field's own term.
FORMER_WORDS = {
    "carrier": "transport",
    "carriers": "transports",
    "patience": "timeout",
    "parking": "pending requests",
    "surroundings": "deps or env",
    "keeper": "store",
    "boarding": "in-flight guard",
    "door": "entry point (field: via)",
    "doors": "entry points",
}
# Type names and module names that say nothing outside their file.
FORMER_TYPES = {
    "Aside", "Asked", "Desk", "Flight", "Hooked", "Listed", "Meant", "Missed", "Said", "Seat", "SecretSource", "Seen",
    "Shelf", "Stay", "Told", "Visitor",
}  # fmt: skip
FORMER_MODULES = {"over", "once", "keep", "ready", "stay", "within", "wants", "seat", "parking", "aside"}
DEFINITION = re.compile(
    r"\b(?:struct|enum|trait|union|type|fn|const|static|mod)\s+([A-Za-z_]\w*)|^\s*(?:pub(?:\([^)]*\))?\s+)?([a-z_]\w*):\s"
)
# Where former names have to stand: history, what old clients send, what old databases hold.
MAY_NAME_THE_PAST = re.compile(
    r"^(CHANGELOG\.md|scripts/words\.py|crates/store/migrations/|crates/store/src/tests/upgrade|tests/data/)"
)


def tracked(root):
    """Paths of all tracked and new files, as strings relative to the root."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    return [name for name in listing.splitlines() if (root / name).is_file()]


def words_of(identifier):
    """The lower-case words of a CamelCase or snake_case name."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", identifier).replace("_", " ")
    return spaced.lower().split()


class Tree:
    """The files of a checkout, read once."""

    def __init__(self, root):
        self.root = root
        self.names = tracked(root)
        self.texts = {}
        for name in self.names:
            if name.endswith((".rs", ".md", ".py", ".sh", ".toml", ".sql", ".java", ".mjs")):
                self.texts[name] = (root / name).read_text(encoding="utf-8", errors="replace")

    def rust(self):
        return {name: text for name, text in self.texts.items() if name.endswith(".rs")}

    def documents(self):
        """README, ARCHITECTURE and the user's documents."""
        return {
            name: text
            for name, text in self.texts.items()
            if name.endswith(".md") and (name.startswith("docs/") or "/" not in name)
        }


def type_definitions(tree):
    """(file, line, name) of every type in code that is not a test, without the associated types of impls."""
    found = []
    for name, text in tree.rust().items():
        if TEST_FILE.search(name):
            continue
        open_blocks = []
        for number, line in enumerate(text.splitlines(), 1):
            indent = len(line) - len(line.lstrip())
            if line.strip():
                while open_blocks and indent <= open_blocks[-1]:
                    open_blocks.pop()
            match = TYPE.match(line)
            if match and not (match[1] == "type" and open_blocks):
                found.append((name, number, match[2]))
            if BLOCK_WITH_TYPES_INSIDE.match(line) and line.rstrip().endswith("{"):
                open_blocks.append(indent)
    return found


def single_and_repeated(types):
    count = collections.Counter(name for _, _, name in types)
    single = [it for it in types if len(re.findall(r"[A-Z][a-z0-9]*", it[2])) == 1]
    repeated = [it for it in types if count[it[2]] >= 3]
    return single, repeated


def doc_lines(tree):
    """(all, those that start with a question word) of the doc lines in code that is not a test."""
    lines, starts = 0, []
    for name, text in tree.rust().items():
        if TEST_FILE.search(name):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            match = re.match(r"\s*//[/!] ?(.*)", line)
            if match and match[1].strip():
                lines += 1
                if DOC_START.match(match[1].strip()):
                    starts.append((name, number, match[1].strip()))
    return lines, starts


def prose(text):
    """The paragraphs, list items and table cells of a Markdown document, without code."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    for block in re.split(r"\n\s*\n|\n(?=\s*[-*|#>]|\s*\d+\. )", text):
        for cell in block.split("|"):
            cell = " ".join(cell.split()).lstrip("#-*> ")
            if len(cell.split()) >= 3:
                yield cell


def relative_clauses(tree):
    """{document: (relative pronouns, sentences)}"""
    figures = {}
    for name, text in tree.documents().items():
        if name == "CHANGELOG.md":
            continue
        pronouns = sentences = 0
        for block in prose(text):
            pronouns += len(RELATIVE.findall(block))
            sentences += max(1, len(SENTENCE_END.findall(block + " ")))
        figures[name] = (pronouns, sentences)
    return figures


def comments_per_100(tree):
    comments = code = 0
    for name, text in tree.rust().items():
        if TEST_FILE.search(name):
            continue
        for line in text.splitlines():
            line = line.strip()
            if line.startswith(("///", "//!")):
                continue
            if line.startswith("//"):
                comments += 1
            elif line:
                code += 1
    return 100 * comments / max(code, 1)


def former_names(tree):
    """Lines that define or document something under a name that was replaced."""
    for name, text in sorted(tree.texts.items()):
        if MAY_NAME_THE_PAST.match(name):
            continue
        rust = name.endswith(".rs")
        if rust and pathlib.PurePath(name).stem in FORMER_MODULES:
            yield f"{name}: a module named {pathlib.PurePath(name).stem}"
        if not rust and not name.endswith(".md"):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if rust:
                for match in DEFINITION.finditer(line.split("//")[0]):
                    identifier = match[1] or match[2]
                    if identifier in FORMER_TYPES:
                        yield f"{name}:{number}: the type {identifier}"
                    for word in words_of(identifier):
                        if word in FORMER_WORDS:
                            yield f"{name}:{number}: {identifier}: say {FORMER_WORDS[word]}"
            comment = re.search(r"//.*", line) if rust else re.match(r".*", line)
            if comment:
                for word in re.findall(r"[A-Za-z]+", comment[0].replace("parking_lot", "")):
                    if word.lower() in FORMER_WORDS and not (word.isupper()):
                        yield f"{name}:{number}: {word}: say {FORMER_WORDS[word.lower()]}"


def dead_references(tree):
    """References to pitfalls, invariants, files and items that lead nowhere."""
    pitfalls_file = tree.texts.get("docs/internals/pitfalls.md", "")
    pitfalls = set(re.findall(r"^\| ?([A-Z]\d+) ?\|", pitfalls_file, flags=re.M))
    names = set(tree.names)
    folders = {str(parent) for name in names for parent in pathlib.PurePath(name).parents}
    everything = "\n".join(tree.texts[name] for name in tree.texts if name.endswith((".rs", ".java", ".py", ".mjs")))
    identifiers = set(re.findall(r"[A-Za-z_]\w+", everything))
    for name, text in sorted(tree.texts.items()):
        if MAY_NAME_THE_PAST.match(name):
            continue
        rust, document = name.endswith(".rs"), name.endswith(".md")
        if not (rust or document):
            continue
        # A handwritten Debug must print the type's present name.
        for written in re.finditer(r"debug_(?:struct|tuple)\(\"(\w+)\"\)", text):
            of = re.findall(r"Debug for (?:\w+::)*(\w+)", text[: written.start()])
            if of and of[-1] != written[1]:
                yield f"{name}: Debug of {of[-1]} prints {written[1]}"
        for number, line in enumerate(text.splitlines(), 1):
            where = f"{name}:{number}"
            if rust:
                test = re.search(r"\bfn ([aemr]\d{1,2})_\w+|\bfn \w+_([aemr]\d{1,2})\(", line)
                if test and (test[1] or test[2]).upper() not in pitfalls:
                    yield f"{where}: no pitfall {(test[1] or test[2]).upper()} in docs/internals/pitfalls.md"
            told = line if document else "".join(re.findall(r"//.*", line))
            for number_of in re.findall(r"\b[Pp]itfalls? ([A-Z]\d+)|\(([AEMR]\d{1,2})\)", told):
                label = number_of[0] or number_of[1]
                if label not in pitfalls:
                    yield f"{where}: no pitfall {label} in docs/internals/pitfalls.md"
            if re.search(r"\binvariants? \d", told, re.I):
                yield f"{where}: cite an invariant by its name, not by its number"
            if re.search(r"\b(the )?(seed|specification), (section|business|rule|chapter)", told):
                yield f"{where}: cite a document that readers have"
            for path in re.findall(r"`((?:crates|docs|scripts|tests|bench|fuzz|android)/[\w./-]*\w/?)`", told):
                if path not in names and path.rstrip("/") not in folders:
                    yield f"{where}: no file {path}"
            if name == "ARCHITECTURE.md":
                for item in re.findall(r"`(?:[A-Z]\w+::)+(\w+)`", told):
                    if item not in identifiers:
                        yield f"{where}: nothing is named {item}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--list", choices=["single", "repeated", "doc-starts", "relative"], help="list what a figure counts")
    chosen = parser.parse_args()
    tree = Tree(chosen.root)

    types = type_definitions(tree)
    single, repeated = single_and_repeated(types)
    docs, starts = doc_lines(tree)
    relative = relative_clauses(tree)
    pronouns = sum(it[0] for it in relative.values())
    sentences = sum(it[1] for it in relative.values())
    rows = [
        ("type names of a single word", 100 * len(single) / max(len(types), 1), SINGLE_MAX, "%"),
        ("types whose name is defined three times or more", 100 * len(repeated) / max(len(types), 1), REPEATED_MAX, "%"),
        ("doc lines that start with What, Who, Where, How, Whether", 100 * len(starts) / max(docs, 1), DOC_START_MAX, "%"),
        ("relative clauses per sentence in documents", pronouns / max(sentences, 1), RELATIVE_MAX, ""),
    ]
    print(f"words: {len(types)} types, {docs} doc lines, {sentences} sentences in documents")
    for title, value, limit, unit in rows:
        print(f"  {title:<58}{value:6.2f}{unit:<2} goal <= {limit:g}{unit}{'' if value <= limit else '   above'}")
    print(f"  {'// comments per 100 lines of code':<58}{comments_per_100(tree):6.2f}")

    if chosen.list == "single":
        listed = [f"{name}:{line}: {what}" for name, line, what in single]
    elif chosen.list == "repeated":
        listed = [f"{what}  {name}:{line}" for name, line, what in sorted(repeated, key=lambda it: it[2])]
    elif chosen.list == "doc-starts":
        listed = [f"{name}:{line}: {what}" for name, line, what in starts]
    elif chosen.list == "relative":
        by_share = sorted(relative.items(), key=lambda it: -it[1][0] / max(it[1][1], 1))
        listed = [f"{name}: {count / max(of, 1):.2f} ({count} in {of})" for name, (count, of) in by_share]
    else:
        listed = []
    print("".join(f"    {it}\n" for it in listed), end="")

    wrong = [*former_names(tree), *dead_references(tree)]
    for it in wrong:
        print(f"words: {it}")
    print(f"words: {len(wrong)} former names and dead references")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
