"""Models as ONNX, run here on the processor: embedding models and cross-encoders, as sentence-transformers has them.

A model of the hub is fetched once, and from then on found in a folder of this user:

    FOLDER/OWNER/MODEL/tokenizer.json, onnx/model.onnx, …     FOLDER: `models_folder()`

The hub is that of Hugging Face, or the one that HF_ENDPOINT names; HF_TOKEN opens what is not public.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from hashlib import file_digest
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from conspectus.errors import UsageError
from conspectus.models.base import Tick, no_tick
from conspectus.rows import Usage
from conspectus.text.words import CJK

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")
MOST_TOKENS = 256
"""Tokens that an embedding model reads at once where its folder does not say: what all-MiniLM-L6-v2, the default, was
made for."""
MOST_PAIR_TOKENS = 512
"""Tokens of question and passage that a cross-encoder reads at once, where it reads no fewer: the limit of BERT."""
OVERLAP = 1 / 16
"""Part of these tokens that the parts of a longer passage share: a sentence of 32 tokens is whole in one of them."""
MOST_THREADS = 8
"""Threads at the most: each holds the tensors of a text."""
UNKNOWN = ("[UNK]", "<unk>")
POOLINGS = ("mean_tokens", "cls_token", "lasttoken")
ENDPOINT = "https://huggingface.co"
SECONDS = 20.0
"""How long the hub may be silent when it is asked which files a model has; its library retries the files themselves."""
MODEL, TOKENIZER, POOLING = "onnx/model.onnx", "tokenizer.json", "1_Pooling/config.json"
OPTIONAL = ("modules.json", POOLING, "sentence_bert_config.json", "config.json")
_FILES = ("model.onnx", MODEL, "model_quantized.onnx", "onnx/model_quantized.onnx")

_OF_HUB = r"\w[\w.-]*/\w[\w.-]*"
_named: set[str] = set()


@dataclass(frozen=True)
class Use:
    """How messages call who runs a model, what it is, and the argument that names a folder with one."""

    user: str
    kind: str
    argument: str


EMBEDDER = Use("embedder", "embedding model", "embedder='local:FOLDER'")
RERANKER = Use("reranker", "cross-encoder", "settings={'rerank.by': 'local:FOLDER'}")


def import_extra(use: Use, *packages: str) -> list[Any]:
    """Import packages that the extra `embed` brings; raise UsageError with those that are missing."""
    modules: list[Any] = []
    missing: list[str] = []
    for package in packages:
        try:
            modules.append(import_module(package))
        except ImportError:
            missing.append(package.partition(".")[0])
    if missing:
        names = " and ".join(dict.fromkeys(missing))
        raise UsageError(f"the local {use.user} needs {names}: pip install 'conspectus[embed]'")
    return modules


class OnnxModel:
    """A model from a folder with an `.onnx` file and `tokenizer.json`.

    Raises UsageError where the extra is not installed or the folder holds no such model.
    """

    def __init__(self, folder: Path, use: Use) -> None:
        runtime, tokenizers = import_extra(use, "onnxruntime", "tokenizers")
        files = [folder / name for name in _FILES if (folder / name).is_file()]
        files += sorted(folder.glob("**/*.onnx"))
        if not files or not (folder / TOKENIZER).is_file():
            raise UsageError(
                f"{folder} holds no {use.kind}: it needs an .onnx file and {TOKENIZER}, as sentence-transformers"
                " publishes them"
            )
        self.path = files[0]
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = runtime.InferenceSession(
                str(self.path), options, providers=["CPUExecutionProvider"]
            )
            self.tokenizer: Any = tokenizers.Tokenizer.from_file(str(folder / TOKENIZER))
        except Exception as error:  # both raise kinds of their own, or none
            message = " ".join(str(error).split())[:200]
            raise UsageError(f"the {use.kind} in {folder} cannot be opened ({message})") from error
        self._inputs: list[str] = [value.name for value in self._session.get_inputs()]
        self.outputs: list[Any] = self._session.get_outputs()

    def run(self, output: str, ids: list[int], type_ids: list[int] | None = None) -> NDArray[np.float32]:
        """Return an output for the tokens of one text, or of a pair of texts whose `type_ids` tell them apart."""
        tokens = np.array([ids], np.int64)
        values = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.array([type_ids], np.int64) if type_ids else np.zeros_like(tokens),
            "position_ids": np.arange(len(ids))[None],
        }
        return self._session.run([output], {name: values[name] for name in self._inputs})[0][0]


def _read_json(folder: Path, name: str) -> Any:
    """Return what a file of a folder holds, an empty object where there is none."""
    path = folder / name
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except ValueError:
        raise UsageError(f"{path} is not JSON; fetch it anew") from None


def _in_threads(function: Callable[[str], T], texts: Sequence[str]) -> Iterator[T]:
    """Yield what a function makes of each text, in their order, on several threads.

    Texts go through a model one by one: a quantised model scales its numbers by all texts that it is given at once, so
    that in batches a result would depend on its neighbours, and on one core batches are not faster.
    """
    pool = ThreadPoolExecutor(min(MOST_THREADS, os.cpu_count() or 1))
    try:
        yield from pool.map(function, texts)
    finally:
        pool.shutdown(cancel_futures=True)  # an interrupt need not wait for the rest


class LocalEmbedder:
    """A model from a folder with an `.onnx` file and `tokenizer.json`.

    Beside them it may hold `modules.json`, `sentence_bert_config.json` and `1_Pooling/config.json`, as
    sentence-transformers writes them: what comes after the transformer, how many tokens are read at once, and how a
    text's vector is made of those of its tokens.

    Raises UsageError where the extra is not installed or the folder holds no such model.
    """

    def __init__(self, folder: Path) -> None:
        self._pooling = _pooling(folder)
        self._model = OnnxModel(folder, EMBEDDER)
        self._tokenizer = self._model.tokenizer
        self._tokenizer.enable_truncation(
            _read_json(folder, "sentence_bert_config.json").get("max_seq_length", MOST_TOKENS)
        )
        self._tokenizer.no_padding()
        outputs: list[str] = [value.name for value in self._model.outputs]
        self._output = next((name for name in outputs if "sentence" in name), outputs[0])
        with self._model.path.open("rb") as file:
            self.name = f"local:{folder.resolve().name}@{file_digest(file, 'sha256').hexdigest()[:12]}"
        self.dimension = len(self._vector("dimension"))
        self.usage = Usage()

    def embed(self, texts: Sequence[str], tick: Tick = no_tick) -> NDArray[np.float32]:
        """Return one vector of length 1 for each text; see `Embedder.embed`."""
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for position, vector in enumerate(_in_threads(self._vector, texts)):
            vectors[position] = vector
            tick()
        return vectors

    def unread(self, texts: Sequence[str]) -> float:
        """Return the share of letters that have no token, or one of their own though words are written apart."""
        letters = unread = 0
        for text in texts:
            encoded = self._tokenizer.encode(text)
            for token, (start, end) in zip(encoded.tokens, encoded.offsets, strict=True):
                of_token = [letter for letter in text[start:end] if letter.isalpha()]
                letters += len(of_token)
                if token in UNKNOWN or (len(of_token) == 1 and not CJK.match(of_token[0])):
                    unread += len(of_token)
        return unread / max(letters, 1)

    def _vector(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a text: the mean of those of its parts, by their tokens."""
        encoded = self._tokenizer.encode(text)
        parts: list[list[int]] = [encoded.ids, *(more.ids for more in encoded.overflowing)]
        total = np.zeros(0, np.float32)
        for ids in parts:
            output = self._model.run(self._output, ids)
            if output.ndim > 1:  # else the model pools itself
                if self._pooling == "mean_tokens":
                    output = output.mean(axis=0)
                else:
                    output = output[0 if self._pooling == "cls_token" else -1]
            vector = _unit(output) * (len(ids) if len(parts) > 1 else 1)
            total = total + vector if len(total) else vector
        return _unit(total)


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    return vector / max(float(np.linalg.norm(vector)), 1e-12)


def _pooling(folder: Path) -> str:
    """Return how vectors of tokens become one: of `POOLINGS`; UsageError where the model wants another way."""
    layers: list[Any] = _read_json(folder, "modules.json")
    if any(str(layer.get("type")).endswith(".Dense") for layer in layers):
        raise UsageError(f"the model in {folder} has a dense layer after its pooling: not supported")
    modes = _read_json(folder, POOLING)
    wanted = [
        mode.removeprefix("pooling_mode_") for mode, on in modes.items() if mode.startswith("pooling") and on
    ]
    if len(wanted) > 1 or any(mode not in POOLINGS for mode in wanted):
        raise UsageError(
            f"the model in {folder} pools by {', '.join(wanted)}; known are {', '.join(POOLINGS)}"
        )
    return wanted[0] if wanted else POOLINGS[0]


class CrossEncoder:
    """A model from a folder with an `.onnx` file and `tokenizer.json`, as sentence-transformers publishes them.

    It has one output for a pair of texts, or two, of which the second is that the passage helps. Of a passage that is
    longer than the model reads the best part counts. `config.json` beside it may say how many tokens it reads.

    Raises UsageError where the extra is not installed or the folder holds no such model.
    """

    def __init__(self, folder: Path) -> None:
        self._model = OnnxModel(folder, RERANKER)
        self.name = f"local:{folder.resolve().name}"
        self.usage = Usage()
        try:
            most = _read_json(folder, "config.json").get("max_position_embeddings", MOST_PAIR_TOKENS)
            self._most = min(MOST_PAIR_TOKENS, int(most))
        except (ValueError, AttributeError, TypeError):
            raise UsageError(
                f"config.json in {folder} does not say what the model reads; fetch it anew"
            ) from None
        self._of_question: Any = self._model.tokenizer
        self._of_pair: Any = deepcopy(self._of_question)
        self._of_question.no_truncation()
        self._of_pair.enable_truncation(self._most, stride=int(OVERLAP * self._most), strategy="only_second")
        self._of_pair.no_padding()
        output: Any = self._model.outputs[0]
        self._output: str = output.name
        if isinstance(count := output.shape[-1], int) and count > 2:
            raise UsageError(
                f"the model in {folder} has {count} outputs for a pair of texts, and no reranker has"
            )

    async def scores(self, question: str, passages: Sequence[str]) -> list[float | None]:
        """Return a score from 0 to 1 for each passage; see `Reranker.scores`."""
        return await asyncio.to_thread(self._scores, question, passages)

    def _scores(self, question: str, passages: Sequence[str]) -> list[float | None]:
        room = self._most // 2  # at the least is left to the passage
        encoded = self._of_question.encode(question, add_special_tokens=False)
        question = question[: encoded.offsets[room - 1][1]] if len(encoded.ids) > room else question

        def chance(part: Any) -> float:
            """Return how likely the passage helps, of one logit or of those of no and yes."""
            output = self._model.run(self._output, part.ids, part.type_ids).reshape(-1)
            logit = float(output[-1]) - (float(output[0]) if len(output) == 2 else 0.0)
            return float(1 / (1 + np.exp(-np.clip(logit, -60, 60))))

        def score(passage: str) -> float:
            pair: Any = self._of_pair.encode(question, passage)
            parts: list[Any] = [pair, *pair.overflowing]
            return max(map(chance, parts))

        return [*_in_threads(score, passages)]


# Models of the hub


def models_folder() -> Path:
    """Return the folder of fetched models: in CONSPECTUS_CACHE, or where this system has caches."""
    if own := os.environ.get("CONSPECTUS_CACHE"):
        return Path(own).expanduser() / "models"
    if sys.platform == "win32":
        caches = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "conspectus" / "models"


def find_folder(model: str, use: Use) -> Path:
    """Return the folder of a model: one that is named, or that of a model of the hub, `OWNER/MODEL`, fetched once.

    Raises UsageError, with what to download by hand and where to put it, where it cannot be fetched.
    """
    folder = Path(model).expanduser()
    _named.add(model)
    if folder.is_dir():
        return folder
    if not re.fullmatch(_OF_HUB, model):
        raise UsageError(f"there is no folder {model!r} with the {use.kind}")
    import_extra(use, "onnxruntime", "tokenizers")  # before 90 MB are fetched that nothing here could run
    return download(model, use)


def needs_naming(model: str) -> bool:
    """Tell whether a model is a folder that nobody has named in this process, and not one of the hub."""
    return model not in _named and (Path(model).exists() or not re.fullmatch(_OF_HUB, model))


def download(name: str, use: Use) -> Path:
    """Return the folder of a model of the hub, fetched unless it was before; see `find_folder`."""
    folder = models_folder() / name
    if (folder / MODEL).is_file() and (folder / TOKENIZER).is_file():
        return folder
    hub, utils = import_extra(use, "huggingface_hub", "huggingface_hub.utils")
    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or ENDPOINT
    if sys.stderr.isatty():
        print(f"fetching the {use.kind} {name} from {endpoint}", file=sys.stderr)
    else:
        utils.disable_progress_bars()
    try:
        published = {
            file.rfilename for file in hub.HfApi(endpoint).model_info(name, timeout=SECONDS).siblings
        }
        if missing := {MODEL, TOKENIZER} - published:
            raise FileNotFoundError(f"it has no {' and no '.join(sorted(missing))}")
        for file in (*OPTIONAL, TOKENIZER, MODEL):  # the model last: where it is, all is
            if file in published:
                hub.hf_hub_download(name, file, local_dir=folder, endpoint=endpoint)
    except Exception as error:  # which ones come depends on the HTTP client
        status = getattr(getattr(error, "response", None), "status_code", None)
        hint = "; what is not public needs a token in HF_TOKEN" if status in (401, 403) else ""
        reason = " ".join(str(error).split())[:200] + hint
        raise UsageError(
            f"there is no folder {name}, and no model of this name can be fetched from {endpoint} ({reason})."
            f" Where there is no way to it, download {TOKENIZER}, {MODEL} and, if it is there, {POOLING} from"
            f" {ENDPOINT}/{name}/tree/main elsewhere and put them into {folder} under these names, or name their"
            f" folder: {use.argument}"
        ) from error
    return folder
