"""Checks whether a reply is plausible: it is about the subject of its task, in the right language, and no small talk.

A task defines the texts of its reply and what they must be about (`Task.texts`, `Task.subjects`). For all tasks, a text
must not be a greeting, a refusal, the format of another task or a piece of the prompt. The checks only compare words,
so that a reply that is merely poor passes. They reject none of 576 replies of a strong model and 3,881 of GPT-4o and
GPT-3.5, and two of 1,481 descriptions and reports of GPT-4.1.
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
"""Characters at the beginning of a text that are not a flaw if the data contains them too: `Hello, I'm Your Aunt!`."""
REFUSED = 200
"""Characters within which a refusal mentions requests or assistants: two sentences of a typical refusal."""


_JSON = re.compile(r"\s*(?:```\w*\s*)?(?:\{|\[\s*[\]\[{\"']|(?:null|NaN)\s*$|<(?:html|!doc|!DOC))")
_MARK = re.compile(r"</?\s*(?:ANSWER_HELPFULNESS|DATA_SUFFICES)\b|^# Task: |</?data(?:-\d+)?>", re.MULTILINE)
"""Marks of the formats of other tasks and of prompts."""
ECHOED = 5
"""Minimum length, in words or Chinese characters, of a line that counts as copied from the prompt: names of examples
have two or three, the shortest descriptions of fields in the prompts of reports five. Four replies of a strong model
contained a copied line of two."""
ANSWERED = 5
"""Number of distinct content words from which an answer must share one with its subjects: `In June 2023.` need not."""
SPOKEN = 12
"""Minimum length, in words or characters of a script without spaces, of a text whose language is checked: in a shorter
one foreign titles may outweigh the rest. Of 2,600 texts of real models, all in English, none was taken for another
language from a length of 3."""


def flaw(task: Task[Any], reply: Any, messages: Sequence[Message]) -> str:
    """Return why a reply cannot answer a task that `messages` ask for; "" if it is plausible."""
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
    """Return why the beginning of a text cannot be that of a reply; "" if it can.

    An answer may apologise for what its data lacks, and any text may quote marks that are in the data.
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
    lines = (line for line in map(_line, text.splitlines()) if _length(line) >= ECHOED and line in prompt)
    # inside a sentence, a prompt has words that a model may use: "what the data does not tell"
    opening = r"(?:^|[^\w\s,，、(（-]\s*)"
    opens = (line for line in lines if re.search(opening + re.escape(line), prompt))
    echo = next((line for line in opens if line not in _line(data)), "")
    return f"it repeats the instructions: {echo[:60]!r}" if echo else ""


def _wrong_language(text: str, data: str, language: str) -> str:
    """Return an error message if a text is neither in the language of its task nor in that of the data, else ""."""
    if _length(text) < SPOKEN or (written_in := guess(text, [language])) in ("", language):
        return ""
    return "" if guess(data, [language]) == written_in else f"it is in another language ({written_in})"


def _is_about(text: str, subjects: Sequence[str], language: str) -> bool:
    """Return whether a text shares a word with its subjects; subjects in another script are ignored."""
    alike = (subject for subject in subjects if bool(CJK.search(subject)) == bool(CJK.search(text)))
    wanted = {term for subject in alike for term in terms(subject, language)}
    return not wanted or not wanted.isdisjoint(terms(text, language))


def _length(text: str) -> int:
    """Return the number of words of a text plus the number of characters of scripts without spaces."""
    return len(WORD.findall(UNSPACED.sub("", text))) + len(UNSPACED.findall(text))


def _line(text: str) -> str:
    return " ".join(fold(text).split()).strip("\"'“”.。*# ")
