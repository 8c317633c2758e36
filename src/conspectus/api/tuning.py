"""Tune prompts: write a folder of prompts that fit a corpus, from a sample of it (`conspectus tune`).

The folder contains our prompts with the corpus's domain, an expert's persona and few-shot examples made from its
own chunks, and a `conspectus.toml` that names the folder, the types of entity and the language.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus import tokens
from conspectus.api.building import BuildRequest
from conspectus.errors import ModelError, UsageError
from conspectus.indexing.chunks import chunk
from conspectus.models import llm
from conspectus.models.base import Model
from conspectus.models.llm.prompts import OURS, fence
from conspectus.models.llm.replies import dump
from conspectus.readers import list_generated
from conspectus.rows import Chunk, Usage
from conspectus.runtime import Options, public, read_sources, run_sync
from conspectus.tasks import ExtractGraph, Extraction, Profile, ProfileCorpus
from conspectus.text.language import corpus_language

if TYPE_CHECKING:
    from typing_extensions import Unpack

EXAMPLE_TOKENS = 100
"""Maximum tokens of the text of one example: every extraction request contains all examples."""
EXAMPLE_REPLY_TOKENS = 600
"""Maximum tokens of the extraction shown for an example."""
SEED = 42
"""Random seed of the sample; any value will do, as long as it stays the same."""
LONGEST = 160
"""Maximum characters of a domain, a persona or an entity type."""
PERSONA = {
    "en": "You are {persona}. The documents are about {domain}.",
    "zh": "你是{persona}。这批文档的主题是：{domain}。",
}
EXAMPLE = {"en": "For this text, types {types}:", "zh": "对于以下文本，类型为{types}："}
WITH_PERSONA = "ExtractGraph ExtractClaims WriteReport MapAnswer ReduceAnswer AnswerFromContext".split()
"""The tasks whose prompts contain the persona."""
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]|\n")
_MARKS = re.compile(r"\{\{|\}\}|<!--")


@dataclass(frozen=True)
class Tuned:
    """The profile of a corpus, and the files that were written from it."""

    folder: Path
    profile: Profile
    language: str
    examples: int
    files: tuple[Path, ...]
    usage: Usage = field(default=Usage())


@public
def tune(
    sources: str | Path | Sequence[str | Path],
    folder: str | Path,
    *,
    examples: int = 2,
    **options: Unpack[Options],
) -> Tuned:
    """Read a sample of a corpus and write prompts that fit it into a folder, with a `conspectus.toml` that names them.

    examples: the number of examples in the prompt for extraction.

    Replies are cached in the folder too, and files of the same names are replaced. Raises UsageError if the model is
    the extractive one, which has no prompts, or if there is no text; ModelError if the corpus cannot be profiled.
    """
    request = BuildRequest.of(folder, options)
    settings = request.settings
    if settings.model == "extractive":
        raise UsageError("the extractive model has no prompts to tune: name a language model with model=NAME")
    documents = read_sources(sources, None, settings).documents
    language = corpus_language(documents, settings.language)
    chunks = chunk(documents, settings.chunk)
    if not chunks:
        raise UsageError("the sources have no text to adapt prompts to")

    async def work() -> Tuned:
        async with llm.open_session(settings, request.folder) as session:
            room = settings.answer.context_tokens
            tuned = await write_prompts(
                chunks, session.model, request.folder, language, examples=examples, sample_tokens=room
            )
            return replace(tuned, usage=session.total)

    return run_sync(work())


async def write_prompts(
    chunks: Sequence[Chunk],
    model: Model,
    folder: Path,
    language: str,
    *,
    examples: int = 2,
    sample_tokens: int = 8000,
) -> Tuned:
    """Profile a sample of the chunks and write the prompts."""
    sample = _sample(chunks, sample_tokens)
    prompt_language = "zh" if language.startswith("zh") else "en"
    drafted = await model.perform(ProfileCorpus(tuple(sample), language=language))
    types = tuple(map(_one_line, drafted.entity_types))
    profile = Profile(_one_line(drafted.domain), _one_line(drafted.persona), types)
    pairs = await _examples(sample, profile, model, language, examples)
    files = _prompt_files(folder / prompt_language, prompt_language, profile, pairs)
    values = {"extract.entity_types": list(profile.entity_types), "language": language, "llm.prompts": "."}
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items()]
    files[folder / "conspectus.toml"] = "".join(lines)
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        list_generated(path.parent, [path.name])
        path.write_text(text, encoding="utf-8")
    return Tuned(folder, profile, language, len(pairs), tuple(files))


def _prompt_files(
    folder: Path, language: str, profile: Profile, examples: Sequence[tuple[ExtractGraph, Extraction]]
) -> dict[Path, str]:
    """Return our prompts with the persona after the heading; the prompt for extraction also gets the examples."""
    persona = PERSONA[language].format(persona=profile.persona, domain=profile.domain)
    files: dict[Path, str] = {}
    for name in WITH_PERSONA:
        heading, _, rest = (OURS / language / f"{name}.md").read_text("utf-8").partition("\n\n")
        files[folder / f"{name}.md"] = f"{heading}\n\n{persona}\n\n{rest}"
    extraction = folder / "ExtractGraph.md"
    system, marker, rest = files[extraction].partition("<!-- user -->")
    parts = [system.rstrip(), *(_render_example(task, graph, language) for task, graph in examples)]
    files[extraction] = "\n\n".join(parts) + f"\n{marker}{rest}"
    return files


def _sample(chunks: Sequence[Chunk], room: int) -> list[Chunk]:
    """Return chunks from the whole corpus, as many as fit into `room` tokens, and at least one."""
    order = random.Random(SEED).sample(range(len(chunks)), len(chunks))
    taken: list[int] = []
    for number in order:
        room -= chunks[number].n_tokens
        if taken and room < 0:
            break
        taken.append(number)
    return [chunks[number] for number in sorted(taken)]


async def _examples(
    sample: Sequence[Chunk], profile: Profile, model: Model, language: str, count: int
) -> list[tuple[ExtractGraph, Extraction]]:
    """Return `count` excerpts of the corpus, each with its extraction: those with the most relationships."""
    drawn = random.Random(SEED).sample(sample, min(len(sample), 6 * count))
    tasks = [ExtractGraph(_excerpt(chunk), profile.entity_types, language=language) for chunk in drawn]
    pairs: list[tuple[ExtractGraph, Extraction]] = []
    for task, graph in zip(tasks, await model.perform_all(tasks), strict=True):
        if isinstance(graph, ModelError) or not graph.relationships:
            continue
        if tokens.at_most(dump(task, graph), EXAMPLE_REPLY_TOKENS):
            pairs.append((task, graph))
    return sorted(pairs, key=lambda pair: (-len(pair[1].relationships), pair[0].chunk.id))[:count]


def _excerpt(chunk: Chunk) -> Chunk:
    """Return the chunk cut to its first whole sentences, as many as an example may have."""
    ends = [match.end() for match in _SENTENCE_END.finditer(chunk.text)]
    starts = ends[0] if len(ends) > 2 and chunk.start else 0  # a chunk may begin inside a sentence
    fits = [end for end in ends if end > starts and tokens.at_most(chunk.text[starts:end], EXAMPLE_TOKENS)]
    text = chunk.text[starts : fits[-1] if fits else starts + 4 * EXAMPLE_TOKENS].strip()
    return replace(chunk, text=text, n_tokens=tokens.count(text))


def _one_line(text: str) -> str:
    """Return a model's text on one line of at most LONGEST characters, without the markup of prompt files."""
    return _MARKS.sub(" ", " ".join(text.split()))[:LONGEST].rstrip(". ")


def _render_example(task: ExtractGraph, graph: Extraction, language: str) -> str:
    """Return an example as a prompt shows it: the instruction, the text, and the reply."""
    head = EXAMPLE[language].format(types=("、" if language == "zh" else ", ").join(task.entity_types))
    return "\n".join([head, *(_MARKS.sub(" ", text) for text in (fence(task.chunk.text), dump(task, graph)))])
