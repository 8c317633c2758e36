"""ONNX models that run on the CPU in this process: embedding models and cross-encoders of sentence-transformers.

A model of the hub is downloaded once, into a folder of the user:

    FOLDER/OWNER/MODEL/tokenizer.json, onnx/model.onnx, …     FOLDER: `models_folder()`

The hub is that of Hugging Face, or the one at the address in HF_ENDPOINT; models that are not public need HF_TOKEN.
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
"""Tokens that a model reads at once if its folder gives no number: those that all-MiniLM-L6-v2 was made for."""
MOST_PAIR_TOKENS = 512
"""Maximum tokens of question and passage together that a cross-encoder reads at once: the limit of BERT."""
OVERLAP = 1 / 16
"""Share of these tokens by which parts of a long passage overlap, so that a sentence of 32 tokens is whole in one."""
MOST_THREADS = 8
"""Maximum number of threads, since each holds the tensors of a text in memory."""
UNKNOWN = ("[UNK]", "<unk>")
POOLINGS = ("mean_tokens", "cls_token", "lasttoken")
ENDPOINT = "https://huggingface.co"
SECONDS = 20.0
"""Timeout, in seconds, of the request for a model's list of files; the hub's library retries the files themselves."""
MODEL, TOKENIZER, POOLING = "onnx/model.onnx", "tokenizer.json", "1_Pooling/config.json"
OPTIONAL = ("modules.json", POOLING, "sentence_bert_config.json", "config.json")
_FILES = ("model.onnx", MODEL, "model_quantized.onnx", "onnx/model_quantized.onnx")

_OF_HUB = r"\w[\w.-]*/\w[\w.-]*"
_named: set[str] = set()


@dataclass(frozen=True)
class Use:
    """Words for messages: what uses the model, what kind of model it is, and the argument that names its folder."""

    user: str
    kind: str
    argument: str


EMBEDDER = Use("embedder", "embedding model", "embedder='local:FOLDER'")
RERANKER = Use("reranker", "cross-encoder", "settings={'rerank.by': 'local:FOLDER'}")


def import_extra(use: Use, *packages: str) -> list[Any]:
    """Import and return modules of the extra `embed`; raise UsageError with the packages that are missing."""
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

    Raises UsageError if the extra is not installed or the folder contains no such model.
    """

    def __init__(self, folder: Path, use: Use) -> None:
        runtime, tokenizers = import_extra(use, "onnxruntime", "tokenizers")
        files = [folder / name for name in _FILES if (folder / name).is_file()]
        files += sorted(folder.glob("**/*.onnx"))
        if not files or not (folder / TOKENIZER).is_file():
            raise UsageError(
                f"{folder} contains no {use.kind}: it needs an .onnx file and {TOKENIZER}, as sentence-transformers"
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
        except Exception as error:  # both libraries raise exceptions of their own, or bare ones
            message = " ".join(str(error).split())[:200]
            raise UsageError(f"the {use.kind} in {folder} cannot be opened ({message})") from error
        self._inputs: list[str] = [value.name for value in self._session.get_inputs()]
        self.outputs: list[Any] = self._session.get_outputs()

    def run(self, output: str, ids: list[int], type_ids: list[int] | None = None) -> NDArray[np.float32]:
        """Return an output of the model for the tokens of one text, or of a pair of texts, marked by `type_ids`."""
        tokens = np.array([ids], np.int64)
        values = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.array([type_ids], np.int64) if type_ids else np.zeros_like(tokens),
            "position_ids": np.arange(len(ids))[None],
        }
        return self._session.run([output], {name: values[name] for name in self._inputs})[0][0]


def _read_json(folder: Path, name: str) -> Any:
    """Return the content of a JSON file in a folder, an empty object if there is no such file."""
    path = folder / name
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except ValueError:
        raise UsageError(f"{path} is not JSON; download it again") from None


def _in_threads(function: Callable[[str], T], texts: Sequence[str]) -> Iterator[T]:
    """Yield the result of a function for each text, in their order, computed on several threads.

    A model gets one text at a time: a quantised model scales its numbers by all texts in its input, so that in a batch
    a result would depend on the other texts, and on one core batches are not faster.
    """
    pool = ThreadPoolExecutor(min(MOST_THREADS, os.cpu_count() or 1))
    try:
        yield from pool.map(function, texts)
    finally:
        pool.shutdown(cancel_futures=True)  # so that an interrupt does not wait for the remaining texts


class LocalEmbedder:
    """An embedding model from a folder with an `.onnx` file and `tokenizer.json`.

    The folder may also contain `modules.json` (the layers after the transformer), `sentence_bert_config.json` (how many
    tokens are read at once) and `1_Pooling/config.json` (how the vectors of tokens are combined into one), as
    sentence-transformers writes them.

    Raises UsageError if the extra is not installed, or the folder contains no such model or an unsupported one.
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
        """Return the share of letters without a token, or with one of their own in scripts other than CJK."""
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
        """Return the vector of a text: the mean of the vectors of its parts, weighted by their numbers of tokens."""
        encoded = self._tokenizer.encode(text)
        parts: list[list[int]] = [encoded.ids, *(more.ids for more in encoded.overflowing)]
        total = np.zeros(0, np.float32)
        for ids in parts:
            output = self._model.run(self._output, ids)
            if output.ndim > 1:  # otherwise the model does its own pooling
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
    """Return the one of `POOLINGS` by which vectors of tokens become one; raise UsageError if it is not supported."""
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
    """A reranker from a folder with an `.onnx` file and `tokenizer.json`, as sentence-transformers publishes them.

    The model has one output for a pair of texts, or two, of which the second is for a relevant passage. A passage that
    is too long for the model gets the score of its best part. `config.json` may say how many tokens the model reads.

    Raises UsageError if the extra is not installed or the folder contains no such model.
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
                f"config.json in {folder} does not say what the model reads; download it again"
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
        room = self._most // 2  # for the question, so that at least half is left for the passage
        encoded = self._of_question.encode(question, add_special_tokens=False)
        question = question[: encoded.offsets[room - 1][1]] if len(encoded.ids) > room else question

        def chance(part: Any) -> float:
            """Return the probability that a part is relevant, from its one logit or from the logits of no and yes."""
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
    """Return the folder of downloaded models: in CONSPECTUS_CACHE, or in the usual cache folder of the system."""
    if own := os.environ.get("CONSPECTUS_CACHE"):
        return Path(own).expanduser() / "models"
    if sys.platform == "win32":
        caches = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "conspectus" / "models"


def find_folder(model: str, use: Use) -> Path:
    """Return the folder of a model, which is named by its folder or as `OWNER/MODEL` of the hub, downloaded once.

    Raises UsageError if it cannot be downloaded, with instructions for downloading it by hand.
    """
    folder = Path(model).expanduser()
    _named.add(model)
    if folder.is_dir():
        return folder
    if not re.fullmatch(_OF_HUB, model):
        raise UsageError(f"there is no folder {model!r} with the {use.kind}")
    import_extra(use, "onnxruntime", "tokenizers")  # before 90 MB are downloaded that could not be used
    return download(model, use)


def needs_naming(model: str) -> bool:
    """Return whether a model is a folder that was not named in this process, rather than a model of the hub."""
    return model not in _named and (Path(model).exists() or not re.fullmatch(_OF_HUB, model))


def download(name: str, use: Use) -> Path:
    """Return the folder of a model of the hub, which is downloaded if it is not there yet; see `find_folder`."""
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
        for file in (*OPTIONAL, TOKENIZER, MODEL):  # the model last: its presence means that all are there
            if file in published:
                hub.hf_hub_download(name, file, local_dir=folder, endpoint=endpoint)
    except Exception as error:  # its class depends on the HTTP client
        status = getattr(getattr(error, "response", None), "status_code", None)
        hint = "; what is not public needs a token in HF_TOKEN" if status in (401, 403) else ""
        reason = " ".join(str(error).split())[:200] + hint
        raise UsageError(
            f"there is no folder {name}, and no model of this name can be fetched from {endpoint} ({reason})."
            f" Without access to it, download {TOKENIZER}, {MODEL} and, if it is there, {POOLING} from"
            f" {ENDPOINT}/{name}/tree/main elsewhere and put them into {folder} under these names, or name their"
            f" folder: {use.argument}"
        ) from error
    return folder
