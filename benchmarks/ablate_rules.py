"""Ablate the rules that read texts and answer without a model: switch off, halve or double each, and measure effects.

    python benchmarks/ablate_rules.py [--only PATTERN] [--work DIR] [--jobs 2] [--json FILE] [--list]

Every numeric constant of the files in `MEASURED_BY` is set to zero, halved and doubled; every switch in
`ablate_rules.toml` replaces the rule that it names. Each variant is measured in its own process, which compiles the
modules from the changed source, so that copies, defaults and patterns change too. Measures that a rule cannot affect
are skipped. Earlier results are read from the work folder as long as neither the sources nor this script change.

For each measure that changes, the script prints the difference to the unchanged rules, in points, with a 95 % interval
(paired bootstrap over questions or names). A rule pays if a variant is surely worse, and hurts if one is surely better.
"""

from __future__ import annotations

import argparse
import ast
import fnmatch
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "conspectus"
DATA = ROOT.parent / "shared" / "data"
SETS = ("musique", "hotpotqa", "2wiki", "medquad", "cmrc-zh")
WILD = ("mathematics", "society")
ASKED = 100
"""Questions per data set for rankings; a fifth of them is answered. With more, a run takes over 40 minutes."""
PASSAGES = 300
"""Passages per data set in addition to those that answer its questions."""
PAGES = 60
"""Web pages per data set."""
PAGE_CHARS = 30_000
"""Characters that are read of a web page: a few pages have a megabyte."""
PART_CHARS = 2_000
"""Characters per part of a web page; the parts are ranked and are as long as chunks."""
HUBS = 50
"""Number of entities with the most relationships (hubs) that are judged, per corpus."""
STRONGEST = 150
"""Number of the sample's strongest relationships that are compared with those that a language model extracted."""
DRAWS = 1000
"""Number of bootstrap samples."""

MEASURED_BY: Mapping[str, tuple[str, ...]] = {
    "text/language.py": ("languages",),
    "text/language_rules.py": ("languages", "chinese"),
    "text/words.py": ("languages", "names", "rankings"),
    "text/mentions.py": ("languages", "sample", "rankings"),
    "text/question.py": ("rankings", "answers"),
    "text/sentences.py": ("terms", "rankings", "answers", "graph"),
    "text/sentence_table.py": ("terms", "sample", "rankings", "answers", "graph"),
    "text/blocks.py": ("terms", "rankings"),
    "text/lexicon.py": ("terms", "graph"),
    "algorithms/statistics.py": ("terms", "graph"),
    "text/phrases.py": ("languages", "terms", "sample", "answers"),
    "text/types.py": ("languages", "sample", "names"),
    "text/uncased.py": ("languages", "chinese"),
    "text/*": ("languages", "terms", "names", "sample"),
    "relation_paths.py": (),  # paths through given triples: `conspectus eval qa` on MetaQA
    "models/extractive/graph.py": ("graph",),
    "models/extractive/*": ("answers", "graph"),
    "readers/cleaning.py": ("terms", "rankings"),
    "content.py": ("terms", "rankings"),
    "name_lookup.py": ("languages", "names", "rankings"),
    "sentence_graph.py": ("rankings",),
    "algorithms/sentence_walk.py": ("rankings",),
    "algorithms/ranking.py": ("rankings",),
    "retrieval/mixed.py": ("rankings",),
    "retrieval/walk.py": ("rankings",),
}
"""The groups of measures that a file can affect, by file pattern; the first pattern that matches counts."""

FLAGS = ("KNOWN", "OPENING")
"""Names of constants that are bit flags, not quantities: they are not varied."""

ASKS_FOR = {
    **dict.fromkeys(("who is", "who was", "who did"), "person"),
    **dict.fromkeys(("where", "what is the place", "what country", "which country", "what city"), "location"),
}
"""The entity type of the answer, by the first words of a question."""

Item = tuple[float, float]
"""Score of one question or name, and the maximum score."""
Measured = dict[str, dict[str, Item]]
"""Items by measure. A measure's value is the sum of the scores over the sum of the maxima, in percent."""
Numbers = int | float


# Variants


@dataclass(frozen=True)
class Variant:
    """One change of the source: another value of a constant, or a replaced piece of code."""

    rule: str
    """`text/phrases.py:LONGEST`, or the name of a switch."""
    file: str
    change: str
    """The kind of change: zero, half, double or off."""
    value: Numbers | None = None
    index: int = 0
    """The index of the value, if several constants are assigned by one tuple."""
    old: str = ""
    new: str = ""
    function: str = ""
    groups: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.rule}={self.change}"


def constants(file: str) -> Iterator[tuple[str, int, Numbers]]:
    """Yield the numeric constants (names in capitals) at the top level of a file: name, index in a tuple, value."""
    for node in ast.parse((SOURCE / file).read_text("utf-8")).body:
        for name, place, value in _assigned(node):
            yield name, place, ast.literal_eval(value)


def _assigned(node: ast.stmt) -> Iterator[tuple[str, int, ast.expr]]:
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign)
        else []
    )
    value = getattr(node, "value", None)
    for target in targets:
        pairs = (
            zip(target.elts, value.elts, strict=True)
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            else [(target, value)]
        )
        for place, (one, given) in enumerate(pairs):
            if (
                isinstance(one, ast.Name)
                and one.id.lstrip("_").isupper()
                and given is not None
                and _is_number(given)
            ):
                yield one.id, place, given


def _is_number(node: ast.expr) -> bool:
    """Return whether an expression is a number, possibly with a minus sign."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float())):
            return True
        case ast.Constant(value=int() | float() as value):
            return not isinstance(value, bool)
        case _:
            return False


def variants(pattern: str) -> list[Variant]:
    """Return the variants of all rules whose name or file matches a pattern."""
    found: list[Variant] = []
    for row in tomllib.loads((ROOT / "benchmarks/ablate_rules.toml").read_text("utf-8"))["switches"]:
        groups = next(of for like, of in MEASURED_BY.items() if fnmatch.fnmatch(row["file"], like))
        found.append(Variant(**{"change": "off", "groups": groups, **row}))
    for path in sorted(SOURCE.rglob("*.py")):
        file = path.relative_to(SOURCE).as_posix()
        groups = next((of for like, of in MEASURED_BY.items() if fnmatch.fnmatch(file, like)), ())
        for name, place, value in constants(file) if groups else ():
            if name in FLAGS:
                continue
            rule = f"{file}:{name}"
            for change, other in _others(value):
                found.append(Variant(rule, file, change, other, place, groups=groups))
    return [v for v in found if fnmatch.fnmatch(v.rule, pattern) or fnmatch.fnmatch(v.file, pattern)]


def _others(value: Numbers) -> Iterator[tuple[str, Numbers]]:
    yield "zero", 0
    if isinstance(value, float):
        yield "half", value / 2
    elif value > 1:
        yield "half", value // 2
    if value:
        yield "double", value * 2


def changed(source: str, variant: Variant) -> ast.Module:
    """Return the syntax tree of a source with a variant's change; SystemExit unless the change fits exactly once."""
    if variant.old:
        if source.count(variant.old) != 1:
            sys.exit(f"{variant.rule}: {variant.file} has {variant.old!r} {source.count(variant.old)} times")
        source = source.replace(variant.old, variant.new)
    tree = ast.parse(source)
    if variant.function:
        bodies = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == variant.function]
        if len(bodies) != 1:
            sys.exit(f"{variant.rule}: {variant.file} has {len(bodies)} functions {variant.function}")
        bodies[0].body = ast.parse(variant.new).body
    if variant.value is not None:
        name = variant.rule.rpartition(":")[2]
        for node in tree.body:
            for given, place, value in list(_assigned(node)):
                if given == name:
                    new = ast.copy_location(ast.Constant(variant.value), value)
                    holder = node.value  # type: ignore[attr-defined]
                    if isinstance(holder, ast.Tuple):
                        holder.elts[place] = new
                    else:
                        node.value = new  # type: ignore[attr-defined]
    return ast.fix_missing_locations(tree)


class _Changed(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Import one file of the package with a change."""

    def __init__(self, variant: Variant) -> None:
        self._variant = variant
        parts = ["conspectus", *Path(variant.file).with_suffix("").parts]
        self._module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        super().__init__(self._module, str(SOURCE / variant.file))

    def find_spec(self, fullname: str, path: object, target: object = None) -> Any:
        if fullname != self._module:
            return None
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self)

    def get_code(self, fullname: str) -> Any:
        return compile(changed(Path(self.path).read_text("utf-8"), self._variant), self.path, "exec")


# Measures

_cache: Path | None = None
"""Folder that caches documents and indexes which the current variant cannot affect."""
READING = ("content.py", "readers/cleaning.py", "text/blocks.py", "text/language.py", "text/words.py")
"""Files that affect how documents are read, so that variants of them use no cache."""
INDEXING = ("text/", "readers/", "content.py", "name_lookup.py")
"""Files, or openings of their paths, that affect indexes, so that variants of them build their own."""


def _cached(name: str, make: Callable[[], Any]) -> Any:
    path = _cache and _cache / f"{name}.pickle"
    if path and path.is_file():
        return pickle.loads(path.read_bytes())  # noqa: S301
    made = make()
    if path:
        part = path.with_suffix(f".{os.getpid()}")
        part.write_bytes(pickle.dumps(made))
        part.rename(path)
    return made


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def _documents(texts: Iterable[Mapping[str, str]]) -> Any:
    from conspectus.indexing.read import read_texts
    from conspectus.settings import Settings
    from conspectus.text.language import in_languages

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return in_languages(read_texts([dict(t) for t in texts], Settings().read).documents, "auto")


def _files(folder: Path, every: int = 1, most: int = PAGES) -> list[dict[str, str]]:
    paths = [p for p in sorted(folder.rglob("*")) if p.is_file() and p.suffix in (".txt", ".md")][::every]
    return [
        {"path": p.name, "text": p.read_text("utf-8", errors="replace")[:PAGE_CHARS]} for p in paths[:most]
    ]


def _passages(name: str) -> tuple[list[dict[str, str]], list[dict[str, Any]], dict[str, set[str]]]:
    """Return passages of a data set, its first questions, and the ids of the relevant passages by question."""
    folder = DATA / "docqa" / name
    gold: dict[str, set[str]] = {}
    for line in (folder / "qrels" / "test.tsv").read_text("utf-8").splitlines()[1:]:
        query, passage, score = line.split("\t")[:3]
        if float(score) > 0:
            gold.setdefault(query, set()).add(passage)
    queries = [row for row in _rows(folder / "queries.jsonl") if row["_id"] in gold and row["text"].strip()]
    queries = queries[:ASKED]
    wanted = {passage for query in queries for passage in gold[query["_id"]]}
    rows = _rows(folder / "corpus.jsonl")
    others = iter([row for row in rows if row["_id"] not in wanted][:PASSAGES])
    chosen = [row for row in rows if row["_id"] in wanted] + list(others)
    passages = [{"id": r["_id"], "title": r.get("title") or "", "text": r["text"]} for r in chosen]
    return passages, queries, gold


def _web(name: str) -> tuple[list[dict[str, str]], list[dict[str, Any]], dict[str, set[str]]]:
    """Return the same as `_passages` for web pages: parts of PART_CHARS characters, questions, relevant pages."""
    folder = DATA / "wild" / name
    questions = _rows(folder / "questions.jsonl")[:ASKED]
    pages = {page for q in questions for page in q["pages"]}
    paths = sorted((folder / "pages").iterdir(), key=lambda p: (p.name not in pages, p.name))[: 2 * PAGES]
    parts = [
        {"id": f"{path.name}#{at}", "title": path.stem, "text": text[at : at + PART_CHARS]}
        for path in paths
        for text in [path.read_text("utf-8", errors="replace")[:PAGE_CHARS]]
        for at in range(0, len(text), PART_CHARS)
    ]
    held = {path.name for path in paths}
    gold = {q["_id"]: set(q["pages"]) & held for q in questions}
    return parts, [q for q in questions if gold[q["_id"]]], gold


def _sources() -> dict[str, list[dict[str, str]]]:
    """Return the texts of each corpus whose hubs are judged."""
    medquad = _rows(DATA / "docqa/medquad/corpus.jsonl")[:500]
    carol = (DATA / "recorded-replies/christmas-carol.txt").read_text("utf-8")
    return {
        "medquad": [{"id": row["_id"], "text": row["text"]} for row in medquad],
        "podcast": _files(DATA / "podcast/input", most=220),
        "mathematics": _files(DATA / "wild/mathematics/pages"),
        "society": _files(DATA / "wild/society/pages", every=5),
        "carol": [{"path": "carol.txt", "text": carol}],
        "sample": _files(SOURCE / "sample"),
    }


def _lexicon(name: str, texts: Sequence[Mapping[str, str]]) -> Any:
    from conspectus.text.lexicon import read_lexicon

    return read_lexicon(_cached(f"{name}-documents", lambda: _documents(texts)))


def hubs(lexicon: Any, most: int = HUBS) -> list[str]:
    """Return the names of a lexicon that are related to the most others, best first."""
    import numpy as np

    size = len(lexicon.names)
    degree = np.bincount(np.concatenate([lexicon.related // size, lexicon.related % size]), minlength=size)
    return [lexicon.names[i] for i in np.argsort(-degree, kind="stable")[:most].tolist()]


def _key(name: str) -> str:
    from conspectus.text.words import name_key, stem

    *head, last = name_key(name).split() or [""]
    return " ".join((*head, stem(last)))


def measure_terms() -> Measured:
    """Measure which of the best connected entities are things, and which subjects of medquad become entities."""
    measured: Measured = {}
    judged = tomllib.loads((ROOT / "benchmarks/ablate_rules.toml").read_text("utf-8"))["hubs"]
    for name, texts in _sources().items():
        lexicon = _lexicon(f"{name}-hubs", texts)
        good, bad = ({x.casefold() for x in judged[name][k].split("; ")} for k in ("good", "bad"))
        items = measured.setdefault("hubs that are things", {})
        for hub in hubs(lexicon):
            if hub.casefold() in good | bad:
                items[f"{name}: {hub}"] = (float(hub.casefold() in good), 1.0)
        if name == "medquad":
            text = " ".join(lexicon.sentences.texts).lower()
            names = {_key(name) for name in lexicon.names}
            terms = filter(None, json.loads((DATA / "docqa/medquad/focus-terms.json").read_text("utf-8")))
            measured["medquad's subjects"] = {
                term: (float(_key(term) in names), 1.0) for term in terms if text.count(term.lower()) > 1
            }
    return measured


def measure_names() -> Measured:
    """Measure which answers that are names become entities, and whether their type is the one that is asked for."""
    measured: Measured = {"answers that are names": {}, "types of answers": {}}
    for name in ("musique", "hotpotqa", "2wiki"):
        for answer, kind, type_ in _answers(name, lambda a: a[:1].isupper() and len(a) < 40, 1):
            measured["answers that are names"][answer] = (float(bool(type_)), 1.0)
            if kind and type_:
                measured["types of answers"][answer] = (float(type_ == kind), 1.0)
    return measured


def measure_chinese() -> Measured:
    """Measure which short Chinese answers that occur at least twice in the corpus become entities."""
    answers = _answers("cmrc-zh", _like_chinese_name, 2)
    return {"Chinese answers that are names": {a: (float(bool(type_)), 1.0) for a, _, type_ in answers}}


def _like_chinese_name(answer: str) -> bool:
    return 1 < len(answer) < 9 and not any(c.isdigit() or c.isspace() for c in answer)


def _answers(name: str, like_name: Callable[[str], bool], least: int) -> Iterator[tuple[str, str, str]]:
    """Yield each answer of a data set that looks like a name and occurs at least `least` times in its passages, with
    the type that its question asks for ("" if unknown) and the type of the entity of that name ("" if none)."""
    lexicon = _lexicon(name, _passages(name)[0])
    types = dict(zip(map(_key, lexicon.names), lexicon.types, strict=True))
    text = " ".join(lexicon.sentences.texts)
    asked = {a: row["text"] for row in _rows(DATA / "docqa" / name / "queries.jsonl") for a in row["answers"]}
    for answer, question in sorted(asked.items()):
        if like_name(answer) and text.count(answer) >= least:
            kinds = (kind for start, kind in ASKS_FOR.items() if question.lower().startswith(start))
            yield answer, next(kinds, ""), types.get(_key(answer), "")


def measure_sample() -> Measured:
    """Measure names and types in the sample against those that a language model extracted."""
    import conspectus

    lexicon = _lexicon("sample-hubs", _sources()["sample"])
    index = conspectus.open_index(DATA / "strong-model/index")
    wanted = {_key(a): e.type for e in index.entities for a in (*e.aliases, e.name)}
    first = {_key(e.name) for e in index.entities}
    type_of = {_key(n): t for n, t in zip(lexicon.names, lexicon.types, strict=True)}
    return {
        "sample's names: recall": {n: (float(n in type_of), 1.0) for n in first},
        "sample's names: precision": {n: (float(n in wanted), 1.0) for n in type_of},
        "sample's types": {n: (float(type_of[n] == wanted[n]), 1.0) for n in type_of if n in wanted},
    }


def measure_languages() -> Measured:
    """Measure language detection of short texts, and names with their types in languages other than English."""
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/text")]
    import test_language
    import test_languages
    import test_names_of_languages
    import test_short_corpora_of_languages as short

    from conspectus.text.language import guess
    from conspectus.text.lexicon import read_lexicon
    from conspectus.text.sentences import sentences

    texts = {code: [row["text"] for row in rows] for code, rows in test_languages.TONGUES.items()}
    texts |= short.TEXTS
    texts |= {code: [text] for code, text in test_language.TEXTS.items() if code not in texts}
    correct: dict[str, Item] = {}
    for code, parts in texts.items():
        for part in parts:
            for start, end in sentences(part, language=code):
                correct[f"{code}: {part[start:end]}"] = (float(guess(part[start:end]) == code), 1.0)
    for asked in (test_languages.ASKED, short.ASKED):
        for code, (*questions, _) in ((c, (*q, "")) for c, q in asked.items()):
            for question in questions[:2]:
                correct[f"{code}: {question}"] = (float(guess(question, [code]) == code), 1.0)
                correct[f"{code} alone: {question}"] = (float(guess(question) == code), 1.0)
    english = [row["text"] for row in _rows(DATA / "docqa/musique/queries.jsonl")[:ASKED]]
    english += [
        row["text"].partition(". ")[0] for row in _rows(DATA / "docqa/2wiki/corpus.jsonl")[: 4 * ASKED]
    ]
    for text in english:  # with many names in other languages
        correct[text] = (float(guess(text) in ("en", "")), 1.0)
    typed: dict[str, Item] = {}
    wanted = {
        code: test_names_of_languages.told(names) for code, names in test_names_of_languages.NAMES.items()
    }
    for code, names in (wanted | short.NAMES).items():
        lexicon = read_lexicon(_documents({"text": text, "language": code} for text in texts[code]))
        type_of = dict(zip(lexicon.names, lexicon.types, strict=True))
        for name, kind in names.items():
            typed[f"{code}: {name}"] = (float(name in type_of and kind in ("", type_of[name])), 1.0)
    return {"language of a text": correct, "names in other languages": typed}


def _index(name: str, passages: Sequence[Mapping[str, str]], *, fixed: bool) -> Any:
    from conspectus.indexing.pipeline import index_passages
    from conspectus.settings import Settings

    def make() -> Any:
        return index_passages(_cached(f"{name}-documents", lambda: _documents(passages)), Settings())

    return _cached(f"{name}-index", make) if fixed else make()


def measure_rankings(*, fixed: bool = False) -> Measured:
    """Measure R@5 of bm25, walk and the default ranking; `fixed`: the variant does not affect indexes; cache them."""
    from conspectus.evaluation.retrieval import recall
    from conspectus.retrieval import RANKINGS
    from conspectus.settings import Settings

    settings = Settings()
    measured: Measured = {}
    for name in (*SETS, *WILD):
        passages, queries, gold = _web(name) if name in WILD else _passages(name)
        index = _index(name, passages, fixed=fixed)
        for method in ("bm25", "walk", "mixed"):
            for query in queries:
                ranking = [hit.document for hit in RANKINGS[method](query["text"], index, settings)]
                if name in WILD:
                    ranking = list(dict.fromkeys(path.partition("#")[0] for path in ranking))
                value = recall(ranking, dict.fromkeys(gold[query["_id"]], 1.0), 5)
                measured.setdefault(f"R@5 {method}", {})[f"{name}: {query['text']}"] = (value, 1.0)
    return measured


def measure_answers(*, fixed: bool = False) -> Measured:
    """Measure how often quotations contain the answer, and the F1 of short answers."""
    import conspectus
    from conspectus.evaluation.qa import f1, normalised, short_of
    from conspectus.settings import Settings
    from conspectus.tasks import SHORT

    measured: Measured = {"quotes hold the answer": {}, "F1 of short answers": {}, "gold page is quoted": {}}
    short = Settings().model_copy(update={"answer": Settings().answer.model_copy(update={"response": SHORT})})
    for name in (*SETS, *WILD):
        passages, queries, gold = _web(name) if name in WILD else _passages(name)
        index = _index(name, passages, fixed=fixed)
        for query in queries[: ASKED // 5]:
            item, answers = f"{name}: {query['text']}", query.get("answers")
            answer = conspectus.ask(query["text"], index)
            if not answers or name == "medquad":
                cited = {
                    s.document.partition("#")[0] if name in WILD else s.document
                    for c in answer.citations
                    for s in c.sources
                }
                measured["gold page is quoted"][item] = (float(bool(cited & gold[query["_id"]])), 1.0)
                continue
            text = f" {normalised(answer.text)} "
            answered = any(normalised(a) in text for a in answers)
            measured["quotes hold the answer"][item] = (float(answered), 1.0)
            if name != "cmrc-zh":
                given = short_of(conspectus.ask(query["text"], index, settings=short))
                measured["F1 of short answers"][item] = (f1(given[0] if given else "", answers), 1.0)
    return measured


def measure_graph() -> Measured:
    """Measure the graph of the sample: its strongest relationships, and which documents its answers quote."""
    import conspectus
    from conspectus.text.words import name_key

    def pairs(index: Any) -> dict[str, float]:
        ends = ((sorted(map(name_key, (r.source, r.target))), r.weight) for r in index.relationships)
        return {" - ".join(two): weight for two, weight in ends}

    strong = pairs(conspectus.open_index(DATA / "strong-model/index"))
    known = {name for pair in strong for name in pair.split(" - ")}
    with tempfile.TemporaryDirectory() as folder:
        index = conspectus.build(SOURCE / "sample", folder=Path(folder) / "index").index
        own = pairs(index)
        strongest = [p for p in sorted(own, key=lambda p: (-own[p], p)) if known.issuperset(p.split(" - "))]
        measured: Measured = {
            "sample's relationships": {p: (float(p in strong), 1.0) for p in strongest[:STRONGEST]},
            "sample's answers": {},
        }
        for row in _rows(DATA / "strong-model/answers/facts-auto.jsonl"):
            answer = conspectus.ask(row["question"], index)
            cited = {Path(s.document).name for c in answer.citations for s in c.sources}
            read = {Path(s["document"]).name for c in row["citations"] for s in c["sources"]}
            if read:
                measured["sample's answers"][row["question"]] = (len(cited & read) / len(read), 1.0)
    return measured


GROUPS: Mapping[str, Callable[..., Measured]] = {
    "terms": measure_terms,
    "names": measure_names,
    "chinese": measure_chinese,
    "sample": measure_sample,
    "languages": measure_languages,
    "rankings": measure_rankings,
    "answers": measure_answers,
    "graph": measure_graph,
}


# Processes


def child(given: str, work: Path) -> None:
    """Measure the variant `given` as JSON, and print its measures as JSON."""
    global _cache
    row = json.loads(given)
    if row["file"]:
        sys.meta_path.insert(0, _Changed(Variant(**{**row, "groups": tuple(row["groups"])})))
    _cache = None if row["file"] in READING else work
    measured: Measured = {}
    for group in row["groups"]:
        options = {"fixed": not row["file"].startswith(INDEXING)} if group in ("rankings", "answers") else {}
        measured.update(GROUPS[group](**options))
    print(json.dumps(measured))


def _digest() -> str:
    paths = [*sorted(SOURCE.rglob("*.py")), *sorted((SOURCE / "text/data").iterdir()), Path(__file__)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:12]


def measured_of(variant: Variant, work: Path) -> Measured | str:
    """Return the measures of a variant, or the error message if it failed."""
    saved = work / f"{hashlib.sha256(json.dumps(asdict(variant)).encode()).hexdigest()[:16]}.json"
    if saved.is_file():
        return json.loads(saved.read_text("utf-8"))
    command = [sys.executable, __file__, "--child", json.dumps(asdict(variant)), "--work", str(work)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        return (run.stderr.strip().splitlines() or ["it ended without a word"])[-1]
    result = run.stdout.strip().splitlines()[-1]
    saved.write_text(result, "utf-8")
    return json.loads(result)


# Comparison


def value_of(items: Mapping[str, Item]) -> float:
    """Return the value of a measure, in percent."""
    return 100 * sum(a for a, _ in items.values()) / max(sum(b for _, b in items.values()), 1e-9)


def difference(before: Mapping[str, Item], after: Mapping[str, Item]) -> tuple[float, float, float]:
    """Return the change of a measure, in percentage points, and the bounds of its 95 % interval."""
    import numpy as np

    keys = sorted(before.keys() | after.keys())
    table = np.array([[*before.get(k, (0, 0)), *after.get(k, (0, 0))] for k in keys], float)
    weights = np.random.default_rng(7).multinomial(len(keys), [1 / len(keys)] * len(keys), DRAWS)
    sums = weights @ table
    drawn = 100 * (sums[:, 2] / np.maximum(sums[:, 3], 1) - sums[:, 0] / np.maximum(sums[:, 1], 1))
    low, high = np.quantile(drawn, (0.025, 0.975))
    return value_of(after) - value_of(before), float(low), float(high)


def effects(before: Measured, after: Measured) -> dict[str, tuple[float, float, float]]:
    """Return the difference of each measure that changed."""
    return {
        name: difference(before[name], items) for name, items in after.items() if items != before.get(name)
    }


def verdict(moves: Iterable[tuple[float, float, float]]) -> str:
    """Return the verdict on a rule from the differences that its variants make."""
    surely = [(low, high) for _, low, high in moves if low > 0 or high < 0]
    if any(high < 0 for _, high in surely):
        return "pays" if not any(low > 0 for low, _ in surely) else "trades"
    return "hurts" if surely else "no effect"


# The table


def main() -> None:
    """Measure all variants and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="*", help="pattern of names of rules or files: 'text/*'")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "conspectus-ablation")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--list", action="store_true", help="list the rules and measure nothing")
    parser.add_argument(
        "--hubs", action="store_true", help="print the hubs of each corpus that nobody judged"
    )
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.work)
    elif options.hubs:
        _print_unjudged()
    elif options.list:
        print(*dict.fromkeys(v.rule for v in variants(options.only)), sep="\n")
    else:
        _measure_all(options)


def _measure_all(options: argparse.Namespace) -> None:
    work = options.work / _digest()
    work.mkdir(parents=True, exist_ok=True)
    todo = variants(options.only)
    groups = sorted({group for variant in todo for group in variant.groups})
    began = time.monotonic()
    results: dict[str, Measured | str] = {}

    def run(variant: Variant) -> None:
        results[variant.key] = measured_of(variant, work)
        print(
            f"{len(results)}/{len(todo) + len(groups)} {time.monotonic() - began:5.0f} s {variant.key}",
            file=sys.stderr,
        )

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(run, [Variant(group, "", "as it is", groups=(group,)) for group in groups]))
        list(pool.map(run, todo))
    baseline: Measured = {}
    for group in groups:
        result = results[f"{group}=as it is"]
        if isinstance(result, str):
            sys.exit(f"{group}: {result}")
        baseline |= result
    _print_table(todo, results, baseline)
    if options.json:
        rows = {v.key: effects(baseline, m) if not isinstance(m := results[v.key], str) else m for v in todo}
        values = {name: value_of(items) for name, items in baseline.items()}
        options.json.write_text(json.dumps({"baseline": values, "variants": rows}, indent=1), "utf-8")


def _print_table(todo: Sequence[Variant], results: Mapping[str, Measured | str], baseline: Measured) -> None:
    print("| measure | as it is | of |\n|---|---|---|")
    for name, items in baseline.items():
        print(f"| {name} | {value_of(items):.1f} | {sum(b for _, b in items.values()):.0f} |")
    print("\n| rule | variant: points (95 % interval) | verdict |\n|---|---|---|")
    for rule in dict.fromkeys(v.rule for v in todo):
        cells: list[str] = []
        moves: list[tuple[float, float, float]] = []
        for variant in (v for v in todo if v.rule == rule):
            result = results[variant.key]
            if isinstance(result, str):
                cells.append(f"{variant.change}: fails ({result[:60]})")
                continue
            moved = effects(baseline, result)
            moves += moved.values()
            effect = ", ".join(f"{n} {d:+.1f} ({a:+.1f} to {b:+.1f})" for n, (d, a, b) in moved.items())
            value = "" if variant.value is None else f" ({variant.value:g})"
            cells.append(f"{variant.change}{value}: {effect or 'nothing moves'}")
        measured = any(not isinstance(results[v.key], str) for v in todo if v.rule == rule)
        print(f"| `{rule}` | {'<br>'.join(cells)} | {verdict(moves) if measured else 'not measured'} |")


def _print_unjudged() -> None:
    judged = tomllib.loads((ROOT / "benchmarks/ablate_rules.toml").read_text("utf-8"))["hubs"]
    for name, texts in _sources().items():
        lexicon = _lexicon(f"{name}-hubs", texts)
        known = {x.casefold() for k in ("good", "bad") for x in judged.get(name, {}).get(k, "").split("; ")}
        print(f"{name}:", "; ".join(n for n in hubs(lexicon, 2 * HUBS) if n.casefold() not in known))


if __name__ == "__main__":
    main()
