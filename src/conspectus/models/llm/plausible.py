"""Whether a reply can be one to its task: it is about what was asked, in the language asked for, and no small talk.

A task says which texts its reply is made of and what these must be about (`Task.texts`, `Task.subjects`); what no text
of a reply may be is the same for all: a greeting, a refusal, the format of another task, a piece of the prompt. All is
decided by words, so that a reply that is merely poor passes. Of 576 replies of a strong model and 3,881 of GPT-4o and
GPT-3.5 none is taken for a wrong one; of 1,481 descriptions and reports of GPT-4.1 two are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from conspectus.models.llm.wire import Message
from conspectus.tasks import ExamineEvidence, StandaloneQuestion, Task
from conspectus.tasks.base import first_task
from conspectus.text.language import guess, text_pattern
from conspectus.text.words import CJK, UNSPACED, WORD, fold, terms

NAMED = 20
"""Characters at the beginning of a text that are no greeting where the data has them: `Hello, I'm Your Aunt!`."""
REFUSED = 200
"""Characters in which a refusal speaks of requests and assistants: two sentences of those that models refuse with."""


_JSON = re.compile(r"\s*(?:```\w*\s*)?(?:\{|\[\s*[\]\[{\"']|(?:null|NaN)\s*$|<(?:html|!doc|!DOC))")
_MARK = re.compile(r"</?\s*(?:ANSWER_HELPFULNESS|DATA_SUFFICES)\b|^# Task: |</?data(?:-\d+)?>", re.MULTILINE)
"""Marks that other tasks, and prompts, have."""
ECHOED = 5
"""Words, or Chinese characters, of a line that stands in the prompt as it is, from which on it is no chance: names of
examples have two or three, the shortest descriptions of fields in the prompts of reports five. Four replies of a strong
model had a line of two."""
ANSWERED = 5
"""Words that carry content from which on a text must share one with what it is about: `In June 2023.` need not."""
SPOKEN = 12
"""Words of a text, or characters of a script without spaces, whose language is looked at: in shorter ones foreign
titles may outweigh what is said of them. Of 2,600 texts of real models none was taken for another language from 3 on,
but all were in English."""


def flaw(task: Task[Any], reply: Any, messages: Sequence[Message]) -> str:
    """Return what shows that a reply is none to a task that these messages ask for; "" where nothing does."""
    texts = [text for text in task.texts(reply) if text.strip()]
    if not texts:
        return ""
    whole = "\n".join(texts)
    if not WORD.search(whole):
        return "it has no words"
    prompt = _line("\n".join(m.content for m in messages if m.role == "system"))
    data = "\n".join(m.content for m in messages if m.role == "user")
    question: str = getattr(task, "question", "")
    if _line(texts[0]) == _line(question) and not isinstance(task, StandaloneQuestion | ExamineEvidence):
        return "it repeats the question"
    language = task.language.partition("-")[0]
    subjects = list(first_task(task).subjects())
    flaws = (_flaw_of_text(text, [*subjects, *texts], prompt, data, bool(question)) for text in texts)
    if why := next(filter(None, flaws), ""):
        return why
    if not question and (why := _wrong_language(whole, data, language)):
        return why
    short = bool(question) and len(set(terms(whole, language))) < ANSWERED
    return "" if short or _is_about(whole, subjects, language) else f"it says nothing of {subjects[0][:60]!r}"


def opening_flaw(text: str, data: str = "", *, answers: bool = True) -> str:
    """Return what shows by the beginning of a text that it is no reply; "" where nothing does.

    An answer may be sorry for what its data lacks, and any text may quote marks that are in the data.
    """
    if _JSON.match(text) or ((mark := _MARK.search(text)) and mark[0] not in data):
        return "it is in the format of another task"
    if text_pattern("small_talk", "greeting").match(text):
        return "it opens with a greeting"
    refuses = text_pattern("small_talk", "refusal").match(text)
    if refuses and (not answers or text_pattern("small_talk", "assistant").search(text[:REFUSED])):
        return "it is a refusal"
    return ""


def _flaw_of_text(text: str, names: Sequence[str], prompt: str, data: str, answers: bool) -> str:
    why = opening_flaw(text, data, answers=answers)
    named = (text != name and text.startswith(name) for name in names)  # "Hello! Project"
    if why and not any(named) and _line(text[:NAMED]) not in _line(data):
        return why
    lines = (line for line in map(_line, text.splitlines()) if _length(line) >= ECHOED)
    echo = next((line for line in lines if _opens_sentence(line, prompt) and line not in _line(data)), "")
    return f"it repeats the instructions: {echo[:60]!r}" if echo else ""


def _opens_sentence(line: str, prompt: str) -> bool:
    """Tell whether a line is the beginning of a sentence or a value of a prompt.

    Inside of a sentence stand words that a model may well reply with: "what the data does not tell".
    """
    return line in prompt and bool(re.search(rf"(?:^|[^\w\s,，、(（-]\s*){re.escape(line)}", prompt))


def _wrong_language(text: str, data: str, language: str) -> str:
    """Return which language a text is in, where that is neither the one that was asked for nor one of the data."""
    if _length(text) < SPOKEN or (written_in := guess(text, [language])) in ("", language):
        return ""
    return "" if guess(data, [language]) == written_in else f"it is in another language ({written_in})"


def _is_about(text: str, subjects: Sequence[str], language: str) -> bool:
    """Tell whether a text has a word of what it is about, where both are in one script."""
    alike = (subject for subject in subjects if bool(CJK.search(subject)) == bool(CJK.search(text)))
    wanted = {term for subject in alike for term in terms(subject, language)}
    return not wanted or not wanted.isdisjoint(terms(text, language))


def _length(text: str) -> int:
    """Return the words of a text and the characters of scripts without spaces."""
    return len(WORD.findall(UNSPACED.sub("", text))) + len(UNSPACED.findall(text))


def _line(text: str) -> str:
    return " ".join(fold(text).split()).strip("\"'“”.。*# ")
