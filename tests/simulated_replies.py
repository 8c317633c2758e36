"""The replies of the simulated server: plausible, valid in the requested format, and made from the messages alone.

The last line `# Task: Name` of the messages gives the task; a last user message without one, after a reply,
asks to correct that reply, and gets the same reply. Names are found by capitalisation (in Chinese: runs of
two to four characters between common characters that occur twice), neighbouring names in a sentence are
related, and descriptions are the sentences themselves. A first extraction omits one name in twelve, which
gleaning finds.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Any

Conversation = Sequence[Mapping[str, Any]]

MISSED_OF = 12
LONGEST = 240
_TASK = re.compile(r"^# Task: (\w+)", re.MULTILINE)
_DATA = re.compile(r"<(data(?:-\d+)?)>\n(.*?)\n</\1>", re.DOTALL)
_TYPES = re.compile(r"(?:these types|以下类型的一切)[:：]\s*([^\n.。]+)")
_SENTENCE = re.compile(r"[^.!?\n。！？]+[.!?。！？]*")
_NAME = re.compile(r"\b[A-Z][\w'’-]+(?: (?:(?:of|de|van) )?[A-Z][\w'’-]+){0,3}")
_RUN = re.compile(r"[\u4e00-\u9fff]{2,4}")
_COMMON_HAN = re.compile(
    "[的了是在和与对把被这那个我你他她它们也都就不有说要会去上中下来到着过一之以为于而其]"
)
_COMMON = frozenset(
    [
        "The",
        "A",
        "An",
        "And",
        "But",
        "Or",
        "So",
        "It",
        "Its",
        "He",
        "She",
        "They",
        "We",
        "You",
        "I",
        "His",
        "Her",
        "Their",
        "Our",
        "My",
        "This",
        "That",
        "These",
        "Those",
        "There",
        "Then",
        "When",
        "If",
        "In",
        "On",
        "At",
        "For",
        "With",
        "From",
        "To",
        "As",
        "By",
        "Is",
        "Was",
        "Are",
        "Were",
        "Be",
        "Yes",
        "No",
        "Not",
        "What",
        "Which",
        "Who",
        "How",
        "Why",
        "Well",
        "Now",
        "Just",
        "Because",
    ]
)


def number(*parts: object) -> int:
    """Return a number that is a hash of the parts."""
    return int.from_bytes(sha256("\x00".join(map(str, parts)).encode("utf-8", "replace")).digest()[:6], "big")


def reply_to(messages: Conversation, schema: Mapping[str, Any] | None = None, schema_name: str = "") -> str:
    """Return the reply to a conversation, as JSON or text, depending on its task."""
    messages = without_repairs(messages)
    task = task_of(messages) or schema_name
    if task in REPLIES:
        return REPLIES[task](messages)
    if schema:
        return json.dumps(filled(schema, words(said(messages, "user")), 0), ensure_ascii=False)
    return "Of " + " ".join(words(said(messages, "user"))[:20])


def without_repairs(messages: Conversation) -> Conversation:
    """Return the conversation without trailing requests to correct a reply."""
    while (
        len(messages) > 2
        and messages[-2]["role"] == "assistant"
        and not _TASK.search(_DATA.sub("", messages[-1]["content"]))
    ):
        messages = messages[:-2]
    return messages


def task_of(messages: Conversation) -> str:
    """Return the name of the requested task, or an empty text."""
    asked = (_DATA.sub("", m["content"]) for m in messages if m["role"] != "assistant")
    found = [name for content in asked for name in _TASK.findall(content)]
    return found[-1] if found else ""


def said(messages: Conversation, role: str) -> str:
    return "\n".join(m["content"] for m in messages if m["role"] == role)


def data_of(messages: Conversation) -> str:
    """Return the fenced data of the first user message, or the whole message if it has no fence."""
    first = next((m["content"] for m in messages if m["role"] == "user"), "")
    found = _DATA.search(first)
    return found[2] if found else first


def both_of(messages: Conversation) -> tuple[str, str]:
    """Return the two fenced texts of the user message."""
    (_, first), (_, second) = _DATA.findall(said(messages, "user"))
    return first, second


def sentences(text: str) -> list[str]:
    return [" ".join(s.split())[:LONGEST] for s in _SENTENCE.findall(text) if s.strip(" .!?。！？\n\"'")]


def words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]{2,}|[\u4e00-\u9fff]", text)


def names_in(sentence: str, text: str) -> list[str]:
    """Return the distinct names in a sentence of a text, in order."""
    found = [n for n in _NAME.findall(sentence) if n not in _COMMON and len(n) > 2]
    parts = (run for piece in _COMMON_HAN.split(sentence) for run in _RUN.findall(piece))
    return list(dict.fromkeys([*found, *(run for run in parts if text.count(run) > 1)]))


# Indexing


def graph(messages: Conversation) -> str:
    """Answer ExtractGraph and GleanMore: names and pairs that the conversation has not listed yet."""
    text = data_of(messages)
    types = _TYPES.search(said(messages, "system"))
    kinds = (
        [kind.strip() for kind in re.split("[,，、]", types[1])]
        if types
        else ["person", "organization", "location"]
    )
    listed = said(messages, "assistant")
    entities: dict[str, dict[str, Any]] = {}
    pairs: dict[tuple[str, str], dict[str, Any]] = {}
    for sentence in sentences(text):
        names = [n for n in names_in(sentence, text) if listed or not is_missed(n)]
        for name in names:
            kind = kinds[number("type", name) % len(kinds)]
            entities.setdefault(name, {"name": name, "type": kind, "description": sentence})
        for source, target in pairwise(names):
            strength = number(source, target) % 10 + 1
            related = {"source": source, "target": target, "description": sentence, "strength": strength}
            pairs.setdefault((source, target), related)
    if listed:  # only new names, and pairs with a new name
        new = {name for name in entities if is_missed(name)}
        entities = {name: entity for name, entity in entities.items() if name in new}
        pairs = {pair: related for pair, related in pairs.items() if new & set(pair)}
    rows = {"entities": list(entities.values()), "relationships": list(pairs.values())}
    return json.dumps(rows, ensure_ascii=False)


def is_missed(name: str) -> bool:
    """Return whether the first extraction omits a name."""
    return number("missed", name) % MISSED_OF == 0


def any_missed(messages: Conversation) -> str:
    text = data_of(messages)
    gleaned = sum(m["role"] == "assistant" for m in messages) > 1
    return (
        "yes"
        if not gleaned and any(is_missed(n) for s in sentences(text) for n in names_in(s, text))
        else "no"
    )


def named(messages: Conversation) -> str:
    text = data_of(messages)
    found = dict.fromkeys(name for sentence in sentences(text) for name in names_in(sentence, text))
    return json.dumps({"entities": list(found)}, ensure_ascii=False)


def triples(messages: Conversation) -> str:
    """Answer ExtractTriples: two given names that follow each other in a sentence, and the words between them."""
    listed, _, text = data_of(messages).partition("\n")
    names = [name.strip() for name in listed.partition(":")[2].split(";") if name.strip()]
    rows: list[dict[str, str]] = []
    for sentence in sentences(text):
        places = sorted((sentence.find(name), name) for name in names if name in sentence)
        for (start, head), (end, tail) in pairwise(places):
            if between := " ".join(words(sentence[start + len(head) : end])[:4]):
                rows.append({"head": head, "relation": between, "tail": tail})
    return json.dumps({"triples": rows}, ensure_ascii=False)


def profile(messages: Conversation) -> str:
    text = data_of(messages)
    found = Counter(name for sentence in sentences(text) for name in names_in(sentence, text))
    about = [name for name, _ in found.most_common(2)] or ["nothing"]
    kinds = ["person", "organization", "place", "work", "idea"]
    told = {"domain": " and ".join(about), "persona": f"a historian of {about[0]}", "entity_types": kinds}
    return json.dumps(told, ensure_ascii=False)


def claims(messages: Conversation) -> str:
    data = data_of(messages)
    listed, _, text = data.partition("\n")
    names = [name.strip() for name in listed.partition(":")[2].split(";") if name.strip()]
    rows: list[dict[str, Any]] = []
    for sentence in sentences(text):
        found = [name for name in names if name.lower() in sentence.lower()]
        if found and number("claim", sentence) % 4 == 0:
            date = re.search(r"\b(1[5-9]|20)\d\d\b", sentence)
            rows.append(
                {
                    "subject": found[0],
                    "object": found[1] if len(found) > 1 else "NONE",
                    "type": "STATEMENT",
                    "status": ("TRUE", "FALSE", "SUSPECTED")[number("status", sentence) % 3],
                    "start_date": f"{date[0]}-01-01" if date else None,
                    "end_date": None,
                    "description": sentence,
                    "source_text": sentence,
                }
            )
    return json.dumps({"claims": rows}, ensure_ascii=False)


def same_names(messages: Conversation) -> str:
    """Answer ConfirmJoins: pairs of names that end in the same word."""
    ends = re.compile(r"(\S+) \([^()]*\):")
    lines = numbered(data_of(messages)).items()
    same = [n for n, line in lines if len({word.lower() for word in ends.findall(line)}) == 1]
    return json.dumps({"same": same})


def description(messages: Conversation) -> str:
    return described(data_of(messages))


def descriptions(messages: Conversation) -> str:
    """Answer DescribeElements: each element as in a separate call."""
    numbered = [
        re.match(r"(\d+)\. (.*) \(.*\)\n(.*)", block, re.S) for block in data_of(messages).split("\n\n")
    ]
    rows = [{"number": int(m[1]), "text": described(f"{m[2]}\n{m[3]}")} for m in numbered if m]
    return json.dumps({"descriptions": rows}, ensure_ascii=False)


def described(element: str) -> str:
    """Return the name of an element and its first five lines."""
    texts = [line.removeprefix("- ")[:LONGEST] for line in element.splitlines() if line.startswith("- ")]
    return f"{element.partition(chr(10))[0]}: " + " ".join(dict.fromkeys(texts[:5]))


def report(messages: Conversation) -> str:
    tables = rows_of(data_of(messages))
    entities, reports = tables.get("Entities", []), tables.get("Reports", [])
    names = [row[1] for row in entities[:2]] or [
        row[1].partition("\n")[0].lstrip("# ") for row in reports[:2]
    ]
    findings: list[dict[str, str]] = []
    for row in entities[:5]:
        edges = [r[0] for r in tables.get("Relationships", []) if row[1] in r[1:3]][:5]
        parts = [f"Entities ({row[0]})"] + ([f"Relationships ({', '.join(edges)})"] if edges else [])
        findings.append({"summary": row[1], "explanation": f"{row[-1]} [Data: {'; '.join(parts)}]"})
    for row in reports[:5]:
        title, _, rest = row[1].partition("\n")
        told = (sentences(rest.replace("#", " ")) or [title])[0]
        findings.append({"summary": title.lstrip("# "), "explanation": f"{told} [Data: Reports ({row[0]})]"})
    title = " and ".join(names) or "Nothing"
    edges = len(tables.get("Relationships", []))
    summary = f"{title} and {max(0, len(entities) - 2)} others, with {edges} relationships."
    rating = number("rating", title) % 91 / 10
    told = {
        "title": title,
        "summary": summary,
        "rating": rating,
        "rating_explanation": f"It is about {title}.",
    }
    return json.dumps({**told, "findings": findings}, ensure_ascii=False)


def rows_of(data: str) -> dict[str, list[list[str]]]:
    """Return the tables of evidence: rows of cells, the id first; a report or a source is one cell."""
    tables: dict[str, list[list[str]]] = {}
    for name, body in re.findall(
        r"^-----(\w+)-----\n[^\n]*\n(.*?)(?=^-----\w+-----\n|\Z)", data, re.M | re.S
    ):
        if name in ("Reports", "Sources"):
            blocks = re.findall(r"^(\d+),\n(.*?)(?=^\d+,\n|\Z)", body, re.M | re.S)
            tables[name] = [[n, text.strip()] for n, text in blocks]
        else:
            tables[name] = [row for row in csv.reader(body.splitlines()) if row]
    return tables


# Answering


def found_in(messages: Conversation) -> tuple[list[str], int]:
    """Return up to five sentences that share words with the question, with references, and the score."""
    user = next(m["content"] for m in messages if m["role"] == "user")
    question = re.split(r"[:：]", user.partition("\n")[0], maxsplit=1)[-1]
    asked = {word.lower() for word in words(question)}
    found: list[tuple[int, str]] = []
    for table, rows in rows_of(data_of(messages)).items():
        for row in rows:
            for sentence in sentences(re.sub(r"\[Data:[^\]]*\]|^#+ ", "", "\n".join(row[1:]), flags=re.M)):
                shared = len(asked & {word.lower() for word in words(sentence)})
                found.append((-shared, f"{sentence} [Data: {table} ({row[0]})]"))
    best = sorted(found, key=lambda pair: pair[0])[:5]
    score = min(100, 100 * -best[0][0] // max(1, len(asked))) if best else 0
    return [text for shared, text in best if shared], score


def map_answer(messages: Conversation) -> str:
    told, score = found_in(messages)
    text = "\n\n".join(told) or "The data does not tell."
    return f"<ANSWER_HELPFULNESS> {score} </ANSWER_HELPFULNESS>\n{text}"


def answer(messages: Conversation) -> str:
    told = "\n\n".join(found_in(messages)[0])
    return f"<DATA_SUFFICES> {'yes' if told else 'no'} </DATA_SUFFICES>\n{told or 'The data does not tell.'}"


def reduce_answer(messages: Conversation) -> str:
    blocks = re.split(r"^-----[^\n]*-----\n", data_of(messages), flags=re.M)[1:]
    parts = [block.strip().partition("\n\n")[0] for block in blocks]
    return "## Answer\n\n" + "\n\n".join(dict.fromkeys(parts))


def rating(messages: Conversation) -> str:
    user = next(m["content"] for m in messages if m["role"] == "user")
    question = {w.lower() for w in words(re.split(r"[:：]", user.partition("\n")[0], maxsplit=1)[-1])}
    shared = len(question & {w.lower() for w in words(data_of(messages))})
    return str(min(5, 5 * shared // max(1, len(question))))


def ratings(messages: Conversation) -> str:
    """Rate each passage by the share of the question's words that it contains."""
    user = next(m["content"] for m in messages if m["role"] == "user")
    question = {w.lower() for w in words(re.split(r"[:：]", user.partition("\n")[0], maxsplit=1)[-1])}
    passages = re.split(r"^-----Passage \d+-----\n", data_of(messages), flags=re.M)[1:]
    held = [len(question & {w.lower() for w in words(text)}) for text in passages]
    rated = [{"passage": n, "rating": 10 * h // max(1, len(question))} for n, h in enumerate(held, 1)]
    return json.dumps({"ratings": rated})


def recognized(messages: Conversation) -> str:
    """Choose the triples that share a word with the question."""
    question = {w.lower() for w in words(messages[-1]["content"].partition("\n")[0])}
    lines = enumerate(data_of(messages).splitlines(), 1)
    return json.dumps({"triples": [n for n, line in lines if question & {w.lower() for w in words(line)}]})


# Evaluating


def verdict(messages: Conversation) -> str:
    """Answer Judge: the answer with more distinct words wins; by directness, the one with fewer."""
    first, second = (len({word.lower() for word in words(text)}) for text in both_of(messages))
    better = 0 if first == second else 1 if first > second else 2
    if better and re.search(r"^directness[:：]", said(messages, "system"), re.M):
        better = 3 - better
    told = f"Answer 1 has {first} different words, Answer 2 has {second}."
    return json.dumps({"reasoning": told, "winner": better})


COMMON_QUESTION = "What are the main themes?"
COMMON_OF = 9


def personas(messages: Conversation) -> str:
    made = [f"{kind} {word}" for kind, word in drawn(messages, ("Reader of", "Teacher of", "Critic of"))]
    return json.dumps(
        {"personas": [{"name": name, "description": f"Wants to know of {name}."} for name in made]}
    )


def user_tasks(messages: Conversation) -> str:
    made = [f"{verb} {word}." for verb, word in drawn(messages, ("Compare", "Follow", "Weigh"))]
    return json.dumps({"tasks": made}, ensure_ascii=False)


def global_questions(messages: Conversation) -> str:
    """Answer GlobalQuestions; one question in nine is the same for all users, so that duplicates occur."""
    made = [
        f"{how} {word}?" for how, word in drawn(messages, ("How do all speak of", "Who cares for", "What of"))
    ]
    said_before = COMMON_QUESTION in said(messages, "user")
    common = [COMMON_QUESTION if not said_before and number(q) % COMMON_OF == 0 else q for q in made]
    return json.dumps({"questions": common}, ensure_ascii=False)


def drawn(messages: Conversation, heads: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of a head and two words of the description, as many as the system message asks for."""
    found = re.search(r"\d+", said(messages, "system"))
    user = said(messages, "user")
    material = words(data_of(messages)) or ["nothing"]
    draws = [number(user, n) for n in range(int(found[0]) if found else 1)]
    return [
        (
            heads[d % len(heads)],
            f"{material[d // 7 % len(material)]} and {material[d // 11 % len(material)]} {d % 1000}",
        )
        for d in draws
    ]


def numbered(data: str) -> dict[int, str]:
    """Return the lines of a numbered list by their numbers."""
    return {int(n): text for n, text in re.findall(r"^(\d+)\. (.*)$", data, re.M)}


def factual(messages: Conversation) -> str:
    """Answer SelectFactual: the sentences with a name or a digit in them."""
    data = data_of(messages)
    lines = {n: text for n, text in numbered(data).items() if not text.startswith("#")}
    chosen = [n for n, text in lines.items() if re.search(r"\d", text) or names_in(text, data)]
    return json.dumps({"sentences": chosen})


def cleared(messages: Conversation) -> str:
    """Answer ClearSentences: the sentences as they are, without those that open with a pronoun."""
    found = re.search(r"[:：](\d+(?:, \d+)*)[.。]|: (\d+(?:, \d+)*)\.", said(messages, "system"))
    chosen = [int(n) for n in re.findall(r"\d+", found[0])] if found else []
    lines = numbered(data_of(messages))
    kept = [(n, lines[n]) for n in chosen if not re.match(r"(?:It|He|She|They)\b|他|她|它", lines[n])]
    return json.dumps({"sentences": [{"number": n, "text": text} for n, text in kept]}, ensure_ascii=False)


def taken_apart(messages: Conversation) -> str:
    """Answer FactualClaims: the parts of a sentence on either side of `; ` are separate claims."""
    parts = [(n, part) for n, text in numbered(data_of(messages)).items() for part in re.split("; |；", text)]
    return json.dumps(
        {"claims": [{"number": n, "text": part.strip()} for n, part in parts]}, ensure_ascii=False
    )


def entailed(messages: Conversation) -> str:
    """Answer Entails: yes where the text has two thirds of the words of the statement."""
    text, statement = both_of(messages)
    there = {word.lower() for word in words(text)}
    wanted = [word.lower() for word in words(statement)]
    return "yes" if 3 * sum(word in there for word in wanted) >= 2 * len(wanted) else "no"


def probe(messages: Conversation) -> str:
    """Answer PrimeAnswer and PursueFollowUp: the relevant sentences, and follow-up questions on two of their names."""
    told, score = found_in(messages)
    text = "\n\n".join(told)
    asked_of = said(messages, "user").partition("\n")[0]
    names = [n for s in sentences(text) for n in names_in(s, text) if n not in asked_of]
    asked = [
        {"question": f"What is told of {n}?", "score": 80 - 10 * i}
        for i, n in enumerate(dict.fromkeys(names))
    ]
    return json.dumps({"answer": text, "score": score, "follow_ups": asked[:2]}, ensure_ascii=False)


def standalone(messages: Conversation) -> str:
    """Answer StandaloneQuestion: replace a pronoun by the last name of the conversation."""
    user = said(messages, "user")
    question = re.split(r"[:：]", user.strip().splitlines()[-1], maxsplit=1)[-1].strip()
    earlier = data_of(messages)
    names = [n for line in re.findall(r"^Question: (.*)", earlier, re.M) for n in names_in(line, earlier)]
    return re.sub(r"\b(?:it|he|she|they)\b", names[-1], question) if names else question


REPLIES: Mapping[str, Callable[[Conversation], str]] = {
    "ExtractGraph": graph,
    "GleanMore": graph,
    "AnyMissed": any_missed,
    "ExtractClaims": claims,
    "ConfirmJoins": same_names,
    "DescribeElement": description,
    "DescribeElements": descriptions,
    "WriteReport": report,
    "MapAnswer": map_answer,
    "ReduceAnswer": reduce_answer,
    "AnswerFromContext": answer,
    "RateReport": rating,
    "NameEntities": named,
    "ExtractTriples": triples,
    "ProfileCorpus": profile,
    "PrimeAnswer": probe,
    "PursueFollowUp": probe,
    "StandaloneQuestion": standalone,
    "RatePassages": ratings,
    "RecognizeTriples": recognized,
    "Personas": personas,
    "UserTasks": user_tasks,
    "GlobalQuestions": global_questions,
    "Judge": verdict,
    "SelectFactual": factual,
    "ClearSentences": cleared,
    "FactualClaims": taken_apart,
    "Entails": entailed,
}


def filled(schema: Mapping[str, Any], material: Sequence[str], depth: int) -> Any:
    """Return a value that fits a JSON schema, made of words of the messages, so that unknown tasks get a reply."""
    if "enum" in schema:
        return schema["enum"][number(depth, *material[:20]) % len(schema["enum"])]
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        properties: Mapping[str, Any] = schema.get("properties", {})
        return {
            name: filled(part, material[n:], depth + 1) for n, (name, part) in enumerate(properties.items())
        }
    if kind == "array":
        return [filled(schema.get("items", {}), material[n * 3 :], depth + 1) for n in range(2)]
    if kind in ("number", "integer"):
        return number(depth, *material[:20]) % 11
    return True if kind == "boolean" else " ".join(material[:6]) or "nothing"
