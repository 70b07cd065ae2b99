"""The files of a store: a manifest, a snapshot of the sums, and one segment for each later change."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayeskit._classifiers.count_classifier import CountClassifier
from bayeskit._classifiers.input_checks import check_same_settings
from bayeskit._classifiers.model_files import (
    is_own,
    own_classes,
    pack_model,
    try_model,
    unpack_model,
    unpack_settings,
)
from bayeskit._io.replacing import NEW, Files, put
from bayeskit._io.saved import SavedContent, naming, read_stream, to_bytes
from bayeskit._messages import Message, listed
from bayeskit._schema import LONGEST_NUMBER
from bayeskit.errors import DataError, DataTypeError, ModelFormatError

MANIFEST, LOCK = "manifest.bayes", "lock"
_NUMBERED = re.compile(r"(segment|snapshot)-(\d{10})\.bayes")
# The name of the array that lists changes. It cannot clash with the arrays of a model, whose names contain a slash.
_CHANGES = "changes"
_VERBS = ("append", "forget", "merge")

BatchId = str | int
Classifier = TypeVar("Classifier", bound=CountClassifier)


@dataclass(frozen=True)
class StoreManifest:
    """The settings of the classifier in a store, and the changes that its snapshot includes."""

    store: str  # a random identifier, the same in all files of the store
    settings: Mapping[str, Any]
    number: int  # of the last change in the snapshot
    snapshot: bool  # whether there is a snapshot: before the first batch there may be none
    changes: Mapping[BatchId, str]


@dataclass(frozen=True)
class Change(Generic[Classifier]):
    """One change of the sums, the contents of a segment: a model of its rows only, and its ids with their verbs."""

    verb: str
    ids: Mapping[BatchId, str]
    rows: Classifier


@dataclass
class Replay(Generic[Classifier]):
    """The sums after all changes up to a number."""

    store: str
    number: int
    model: Classifier | None
    changes: dict[BatchId, str]
    absorbed: int = 0  # the number of the snapshot on disk

    def after(self, change: Change[Classifier]) -> Classifier:
        """Return the model after a change, without modifying this one."""
        if self.model is None:
            if change.verb == "forget":
                raise ModelFormatError("it removes rows before any were added.")
            return change.rows
        copy = self.model._copy()
        return copy._subtract(change.rows) if change.verb == "forget" else copy.merge(change.rows)

    def step(self, change: Change[Classifier], model: Classifier) -> None:
        self.number, self.model = self.number + 1, model
        self.changes.update(change.ids)


_WAY = "A file of the store was lost, damaged or put there by hand. Restore the directory from a copy of the whole."


class StoreFiles(Generic[Classifier]):
    """Reads and writes the files of a store. The caller decides what to write and when.

    ``template`` is an unfitted classifier, which is set as soon as it is known.
    """

    template: Classifier

    def __init__(self, path: Path, files: Files) -> None:
        self.path, self.files = path, files

    # -- reading -------------------------------------------------------------------------------

    def manifest_bytes(self) -> bytes | None:
        try:
            return self.files.read(self.path / MANIFEST)
        except FileNotFoundError:
            return None
        except NotADirectoryError:
            raise DataError(
                "{path!r} is a file, not the directory of a store. For a model on file use bayeskit.load.",
                path=str(self.path),
            ) from None

    def _needed_manifest(self) -> bytes:
        data = self.manifest_bytes()
        if data is None:
            raise ModelFormatError(
                Message("its file {name!r} is missing. {way}", name=MANIFEST, way=Message(_WAY)),
                path=self.path,
            )
        return data

    def parsed_manifest(self, data: bytes) -> StoreManifest:
        path = self.path / MANIFEST
        with naming(path):
            saved = read_stream(io.BytesIO(data), len(data), "store")
            content = saved.content
            number, snapshot, store = content["number"], content["snapshot"], content["store"]
            if type(number) is not int or number < 0 or type(snapshot) is not bool or type(store) is not str:
                raise ModelFormatError(
                    Message("its change {number!r} is not a number. {way}", number=number, way=Message(_WAY))
                )
            changes = _unpack_changes(saved.arrays[_CHANGES])
            return StoreManifest(store, content["settings"], number, snapshot, changes)

    def read(self, before: Replay[Classifier] | None) -> Replay[Classifier]:
        """Read the complete changes on disk that come after ``before``, and return the result.

        ``before`` is not modified. A writer replaces the manifest before it removes the files that a new snapshot
        includes. So if the manifest is still the same after reading, nothing was missed; otherwise, read again.
        """
        data = self._needed_manifest()
        while True:
            manifest, flaw = self.parsed_manifest(data), None
            try:
                replay = self._read_from(manifest, before)
            except (FileNotFoundError, ModelFormatError) as error:
                replay, flaw = None, error
            again = self._needed_manifest()
            if again == data:
                break
            data = again
        if isinstance(flaw, FileNotFoundError):
            raise ModelFormatError(
                Message("its file {name!r} is missing. {way}", name=_name_of(flaw), way=Message(_WAY)),
                path=self.path,
            ) from None
        if flaw is not None:
            raise flaw
        assert replay is not None
        return replay

    def _read_from(self, manifest: StoreManifest, before: Replay[Classifier] | None) -> Replay[Classifier]:
        if before is None or before.store != manifest.store or before.number < manifest.number:
            model = self._snapshot(manifest.number) if manifest.snapshot else None
            before = Replay(manifest.store, manifest.number, model, dict(manifest.changes))
        replay = Replay(before.store, before.number, before.model, dict(before.changes), manifest.number)
        found = (_NUMBERED.fullmatch(name) for name in self.files.names(self.path))
        numbers = sorted(int(each[2]) for each in found if each is not None and each[1] == "segment")
        for number in (number for number in numbers if number > replay.number):
            if number != replay.number + 1:
                raise FileNotFoundError(str(self._numbered("segment", replay.number + 1)))
            change = self._segment(number, replay)
            with naming(self._numbered("segment", number)):
                replay.step(change, replay.after(change))
        if replay.number > before.number and replay.model is not None:
            with naming(self._numbered("segment", replay.number)), np.errstate(all="ignore"):
                try_model(replay.model)
        return replay

    def _snapshot(self, number: int) -> Classifier:
        path = self._numbered("snapshot", number)
        saved = self._read(path, "model")
        with naming(path), np.errstate(all="ignore"):
            model = self._unpacked(saved.content, saved.arrays)
            try_model(model)
        return model

    def _segment(self, number: int, replay: Replay[Classifier]) -> Change[Classifier]:
        path = self._numbered("segment", number)
        saved = self._read(path, "change")
        with naming(path), np.errstate(all="ignore"):
            content, arrays = saved.content, dict(saved.arrays)
            if (content["store"], content["number"]) != (replay.store, number):
                raise ModelFormatError(
                    Message(
                        "it is change {number} of another store. {way}",
                        number=content["number"],
                        way=Message(_WAY),
                    )
                )
            ids, verb = _unpack_changes(arrays.pop(_CHANGES)), content["verb"]
            if verb not in _VERBS or any(each in replay.changes for each in ids):
                raise ModelFormatError(
                    Message(
                        "it makes a change a second time ({verb} of {ids}). {way}",
                        verb=verb,
                        ids=listed(map(repr, ids), 4),
                        way=Message(_WAY),
                    )
                )
            return Change(verb, ids, self._unpacked(content["model"], arrays))

    def read_template(self, manifest: StoreManifest, own: CountClassifier | None) -> CountClassifier:
        """Return the unfitted classifier of a store. Its class may be the user's own class, that of ``own``."""
        with naming(self.path / MANIFEST):
            return unpack_settings(dict(manifest.settings), _own(own))

    def strangers(self) -> list[str]:
        """Return the foreign files in a directory, except for those left by a crash while a store was created."""
        first = self._numbered("snapshot", 0).name
        return sorted({*self.files.names(self.path)} - {LOCK, MANIFEST + NEW, first, first + NEW})

    def _unpacked(self, content: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Classifier:
        model: Classifier = unpack_model(content, arrays, _own(self.template))
        check_same_settings(self.template, model)
        return model

    def _read(self, path: Path, kind: str) -> SavedContent:
        data = self.files.read(path)
        with naming(path):
            return read_stream(io.BytesIO(data), len(data), kind)

    def _numbered(self, what: str, number: int) -> Path:
        return self.path / f"{what}-{number:010d}.bayes"

    # -- writing -------------------------------------------------------------------------------

    def put_snapshot(self, number: int, model: Classifier) -> None:
        """Write the model of all changes up to a number. It takes effect when the manifest refers to it."""
        put(
            self.files,
            self._numbered("snapshot", number),
            to_bytes(SavedContent("model", *pack_model(model))),
        )

    def packed(self, replay: Replay[Classifier], change: Change[Classifier]) -> bytes:
        """Return the next change as the bytes of a segment."""
        content, arrays = pack_model(change.rows)
        content = {"store": replay.store, "number": replay.number + 1, "verb": change.verb, "model": content}
        return to_bytes(SavedContent("change", content, {**arrays, _CHANGES: _pack_changes(change.ids)}))

    def put_segment(self, number: int, data: bytes) -> None:
        put(self.files, self._numbered("segment", number), data)

    def put_manifest(self, manifest: StoreManifest) -> None:
        content = {
            "store": manifest.store,
            "settings": dict(manifest.settings),
            "number": manifest.number,
            "snapshot": manifest.snapshot,
        }
        arrays = {_CHANGES: _pack_changes(manifest.changes)}
        put(self.files, self.path / MANIFEST, to_bytes(SavedContent("store", content, arrays)))

    def sweep(self, absorbed: int) -> None:
        """Remove what a crash left behind: incomplete files, and files that the snapshot has made obsolete."""
        for name in self.files.names(self.path):
            found = _NUMBERED.fullmatch(name.removesuffix(NEW))
            left = name.endswith(NEW) and (found is not None or name == MANIFEST + NEW)
            if found is not None and not left:
                number = int(found[2])
                left = number <= absorbed if found[1] == "segment" else number != absorbed
            if left:
                with suppress(OSError):  # leaving the file does no harm
                    self.files.remove(self.path / name)


def _name_of(error: FileNotFoundError) -> str:
    return Path(str(error.filename or error)).name


def _own(model: CountClassifier | None) -> dict[Any, type[CountClassifier]]:
    return own_classes([type(model)] if model is not None and is_own(model) else ())


def checked_id(batch_id: object) -> BatchId:
    """Check an id and return it as it is stored: a str or an int."""
    if isinstance(batch_id, str) and batch_id:
        return str.__str__(batch_id)
    number = 1 << LONGEST_NUMBER
    if isinstance(batch_id, (int, np.integer)) and not isinstance(batch_id, bool):
        number = int(batch_id)
    if number.bit_length() > LONGEST_NUMBER:
        raise DataTypeError(
            "batch_id is {batch_id!r}; give text that is not empty, or a whole number.", batch_id=batch_id
        )
    return number


def _pack_changes(changes: Mapping[BatchId, str]) -> NDArray[np.uint8]:
    """Return ids and verbs as bytes of JSON. Years of ids may exceed the size limit of a file's text part."""
    text = json.dumps(list(changes.items()), separators=(",", ":"))
    return np.frombuffer(text.encode("ascii"), dtype=np.uint8)


def _unpack_changes(data: NDArray[Any]) -> dict[BatchId, str]:
    pairs: Iterable[tuple[Any, Any]] = json.loads(data.tobytes().decode("ascii"))
    changes = {checked_id(batch_id): verb for batch_id, verb in pairs}
    if not set(changes.values()) <= set(_VERBS):
        raise ModelFormatError(Message("it lists changes that no store makes. {way}", way=Message(_WAY)))
    return changes
