"""The container, typed labels and saved statistics: what goes in comes out, and nothing else does."""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from safetensors.numpy import save as save_tensors

from bayeskit._cli.output import replaced
from bayeskit._io import replacing as writer
from bayeskit._io import saved as container
from bayeskit._io.plain_values import from_plain, to_plain
from bayeskit._io.replacing import replace_file, replacing
from bayeskit._io.saved import SavedContent, naming, read_saved, to_bytes, write_saved
from bayeskit._io.statistics import pack_statistics
from bayeskit._statistics.grids import Grid, Grids
from bayeskit._statistics.moments import Moments
from bayeskit._statistics.totals import Totals
from bayeskit.errors import DataError, DataTypeError, ModelFormatError, SettingError, UsageError
from bayeskit.priors import MAP, BackOff, BDeu, Dirichlet, Lidstone, MEstimate, NormalInverseGamma, WittenBell
from bayeskit.statistics import Plan, Schema, Statistics, Tables, Variable, load_statistics, save_statistics
from refusals import refuses


def _object_array(items: list[Any]) -> Any:
    array = np.empty(len(items), dtype=object)
    for place, item in enumerate(items):
        array[place] = item
    return array


# -- labels: one law ------------------------------------------------------------------------------

_text = st.text(st.characters(exclude_categories=()), max_size=8)  # lone surrogates and NUL included
_zones = st.sampled_from([None, dt.UTC, dt.timezone(dt.timedelta(seconds=-4321)), ZoneInfo("Asia/Shanghai")])
_codes = ["?", "i1", "u1", "i8", "u8", "f2", "f4", "f8", "c16", ">f8", "M8[ns]", "M8[D]", "m8[s]", "U3", "S3"]
_scalars = st.sampled_from(_codes).flatmap(lambda code: npst.arrays(np.dtype(code), ()))
_keys = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(2**60, 2**80),
    st.floats(),
    _text,
    st.binary(max_size=5),
    st.dates(),
    st.datetimes(timezones=_zones, allow_imaginary=False),
    st.timedeltas(),
    st.decimals().filter(lambda number: not number.is_snan()),
    _scalars.map(lambda array: array[()]),
    _text.map(np.str_),
    st.binary(max_size=5).map(np.bytes_),
)
_positive = st.floats(1e-300, 1e300)
_priors = st.one_of(
    st.builds(Lidstone, _positive),
    st.builds(MEstimate, _positive),
    st.builds(BDeu, _positive),
    st.builds(NormalInverseGamma, st.none() | _positive, _positive, _positive, st.none() | _positive),
    st.builds(Dirichlet, st.dictionaries(_text, st.lists(_positive, max_size=3), max_size=3)),
    st.builds(MAP, st.builds(Dirichlet, _positive)),
    st.builds(BackOff, st.none() | _positive | st.lists(_positive, min_size=1, max_size=3)),
    st.builds(WittenBell),
)
_leaves = st.one_of(
    _keys,
    _priors,
    npst.arrays(
        npst.integer_dtypes() | npst.floating_dtypes(sizes=(16, 32, 64)), npst.array_shapes(min_side=0)
    ),
    npst.arrays(np.dtype("<U2"), npst.array_shapes(max_dims=2, max_side=3)),
    st.builds(range, st.integers(-5, 5), st.integers(-5, 5)),
)
_hashable = st.recursive(
    _keys, lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3)
)
_values = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(_hashable, inner, max_size=3),
        st.sets(_hashable, max_size=3),
        st.lists(inner, max_size=3).map(_object_array),
    ),
    max_leaves=8,
)


def same(a: Any, b: Any) -> bool:
    """Equal with equal types all the way down; NaN equals NaN, 0.0 is not −0.0, 1 is not True."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            return False
        if a.dtype == object:
            return all(same(x, y) for x, y in zip(a.ravel(), b.ravel(), strict=True))
        return a.tobytes() == b.tobytes()
    if isinstance(a, np.generic) and not isinstance(a, (str, bytes)):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same(list(a), list(b)) and same(list(a.values()), list(b.values()))
    if isinstance(a, (set, frozenset)):
        return len(a) == len(b) and all(any(same(x, y) for y in b) for x in a)
    if isinstance(a, dt.datetime):
        return repr(a) == repr(b)
    if isinstance(a, (float, Decimal)):
        return repr(a) == repr(b)
    if hasattr(a, "__dataclass_fields__"):
        return all(same(getattr(a, f), getattr(b, f)) for f in a.__dataclass_fields__)
    return bool(a == b)


@settings(max_examples=400, deadline=None)
@given(_values)
def test_any_value_comes_back_with_its_type(value):
    plain = to_plain(value, "it")
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False)
    text.encode()  # a header is UTF-8
    assert same(from_plain(json.loads(text)), value)


@pytest.mark.parametrize(
    "value",
    [
        "\ud83d\ude00",  # two surrogates are not 😀
        "😀\0中",
        10**5000,  # beyond what Python turns into decimal digits
        -(2**64),
        -0.0,
        Decimal("sNaN"),
        5e-324,
        dt.datetime(2024, 11, 3, 1, 30, fold=1, tzinfo=ZoneInfo("America/New_York")),
        np.str_("a\0"),
        {(1, "a"): {None: [b"\xff"]}, True: frozenset({1.5})},
        np.array([["a", None], [1, 2.5]], dtype=object),
        np.float64(0.1),
        np.array([], dtype="U5"),
        {10**5000: 1},
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_that_are_easily_lost(value):
    assert same(from_plain(json.loads(json.dumps(to_plain(value, "it")))), value)


class _Word(str):
    pass


class _Bad:
    def __repr__(self) -> str:
        return "<Bad>"


_circle: list[Any] = []
_circle.append(_circle)


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (_Bad(), ["smoothing", "<Bad>"]),
        ({"x": (1, _Bad())}, ["smoothing['x']", "<Bad>"]),
        (Dirichlet({"x": _Bad()}), ["smoothing.a['x']", "<Bad>"]),
        (len, ["smoothing", "builtin_function_or_method"]),
        (_Word("a"), ["smoothing", "_Word"]),
        (MappingProxyType({}), ["smoothing", "mappingproxy"]),
        (np.zeros(1, "i4,f8"), ["smoothing", "ndarray"]),
        (np.ma.masked_array([1]), ["smoothing", "MaskedArray"]),
        (np.longdouble(1), ["smoothing", "longdouble"]),
        (_circle, ["smoothing", "deeply"]),
    ],
    ids=str,
)
def test_what_cannot_be_saved_is_named(value, named):
    if isinstance(value, np.longdouble) and np.dtype(np.longdouble).itemsize == 8:
        pytest.skip("a long double is a double here")
    with refuses(SettingError, *named, "bayeskit.priors"):
        to_plain(value, "smoothing")


@pytest.mark.parametrize(
    "plain",
    [
        {},
        {"a": 1, "b": 2},
        {"class": "os.system"},
        {"tuple": 5},
        {"tuple": "ab"},
        {"dict": [[1, 2], [1, 3]]},
        {"dict": [[[], 2]]},
        {"dict": [1]},
        {"int": 5},
        {"int": "zz"},
        {"float": "one"},
        {"bytes": "f"},
        {"str": "ff"},
        {"prior": ["Prior", {}]},
        {"prior": ["Lidstone", {"alpha": -1}]},
        {"prior": ["Lidstone", {"beta": 1}]},
        {"prior": ["MAP", {"prior": {"prior": ["Lidstone", {}]}}]},
        {"array": ["O", [1], "AAAAAAAAAAA="]},
        {"array": ["<f8", [2], "AAAAAAAAAAA="]},
        {"array": ["<f8", [1], "AAAA"]},
        {"array": ["i4,f8", [1], "AAAAAAAAAAA="]},
        {"array": ["<U1", [1], "/////w=="]},
        {"scalar": ["<f8"]},
        {"objects": [[2], [1]]},
        {"datetime": ["yesterday", 0, None]},
        {"datetime": ["2024-01-01T00:00:00", 0, "../../etc/passwd"]},
        {"datetime": ["2024-01-01T00:00:00", 0, "No/Where"]},
        {"Decimal": "x"},
        {"range": [0, 1, 0]},
        {"timedelta": [10**12, 0, 0]},
    ],
    ids=str,
)
def test_senseless_values_are_refused_by_name(plain):
    with pytest.raises(ModelFormatError):
        from_plain(plain)


def test_deep_nesting_is_refused_and_does_not_overflow():
    plain: Any = 1
    for _ in range(2000):
        plain = [plain]
    with refuses(ModelFormatError, "deeply"):
        from_plain(plain)


# -- the container --------------------------------------------------------------------------------

_SAVED = SavedContent(
    "model",
    {"名": "好瓜 😀", "n": 3, "x": [0.1, None, True]},
    {"tables/counts": np.array([[1.0, 0.5], [0.0, 2.0]]), "ids": np.arange(3), "none": np.zeros((0, 2))},
)


def read(path: Path, kind: str = "model") -> SavedContent:
    with naming(path):
        return read_saved(path, kind)


def equal(a: SavedContent, b: SavedContent) -> bool:
    return (
        same(a.content, b.content)
        and same(dict(a.arrays), {k: b.arrays[k] for k in a.arrays})
        and a.kind == b.kind
    )


def test_container_round_trip(tmp_path):
    path = tmp_path / "模型 😀.bayes"
    write_saved(_SAVED, path)
    back = read(path)
    assert back.content == _SAVED.content
    assert back.arrays.keys() == _SAVED.arrays.keys()
    for name, array in _SAVED.arrays.items():
        assert same(back.arrays[name], array)
        assert back.arrays[name].flags.writeable
    assert to_bytes(back) == path.read_bytes()  # the same content, the same bytes
    assert os.listdir(tmp_path) == [path.name]


def test_the_order_in_memory_does_not_matter(tmp_path):
    array = np.arange(6.0).reshape(2, 3)
    for other in (np.asfortranarray(array), array.astype(">f8"), np.repeat(array, 2, axis=1)[:, ::2]):
        assert to_bytes(SavedContent("model", {}, {"a": other})) == to_bytes(
            SavedContent("model", {}, {"a": array})
        )


def test_no_byte_can_change_unnoticed(tmp_path):
    data, path = to_bytes(_SAVED), tmp_path / "m"
    whole, said = 0, set()
    for place in range(len(data)):
        for flip in (0x01, 0x20, 0xFF):
            path.write_bytes(data[:place] + bytes([data[place] ^ flip]) + data[place + 1 :])
            try:
                back = read(path)
            except ModelFormatError as error:
                said.add(str(error).startswith(f"{path}: "))
                continue
            assert equal(back, _SAVED), (place, flip)
            whole += 1
    # Only spaces that fill up the header may differ.
    assert whole <= data.count(b" ")
    assert said == {True}


def test_every_piece_is_refused(tmp_path):
    data, path = to_bytes(_SAVED), tmp_path / "m"
    for stop in range(len(data)):
        path.write_bytes(data[:stop])
        with pytest.raises(ModelFormatError):
            read(path)
    path.write_bytes(data + b"\0")
    with pytest.raises(ModelFormatError):
        read(path)


def _header(metadata: Any) -> bytes:
    text = json.dumps({"__metadata__": metadata}).encode()
    return len(text).to_bytes(8, "little") + text


def _manifest(**changes: Any) -> bytes:
    manifest = {
        "format": "bayeskit",
        "format_version": 1,
        "bayeskit_version": "9.9",
        "checksum": "",
        "kind": "model",
        "content": {},
    }
    manifest |= changes
    return _header({"bayeskit": json.dumps(manifest, separators=(",", ":"))})


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", ["empty"]),
        (b"x", [1, 120]),
        (b"\x80\x04\x95 a pickle, perhaps", [21, int.from_bytes(b"\x80\x04\x95 a pi", "little")]),
        ((2**62).to_bytes(8, "little") + b"{}", [10, 2**62]),
        ((200_000_000).to_bytes(8, "little") + b"{}" * 40, [88, 200_000_000]),
        ((4).to_bytes(8, "little") + b"{}{}", ["header", "read"]),
        ((6000).to_bytes(8, "little") + b"[" * 6000, ["header", "read"]),
        ((2).to_bytes(8, "little") + b"[]", ["bayeskit", "manifest"]),
        (save_tensors({"weight": np.zeros(3)}), ["bayeskit", "manifest"]),
        (save_tensors({"weight": np.zeros(3)}, {"format": "pt"}), ["bayeskit", "manifest"]),
        (_header({"bayeskit": 5}), ["manifest", "text"]),
        (_header({"bayeskit": "not json"}), ["manifest", "read"]),
        (_header({"bayeskit": "[" * 100_000}), ["manifest", "read"]),
        (_header({"bayeskit": "1" * 5000}), ["manifest", "read"]),
        (_header({"bayeskit": '{"format":NaN}'}), ["manifest", "read"]),
        (_header({"bayeskit": '{"format":"bayeskit","format":"bayeskit"}'}), ["bayeskit", "manifest"]),
        (_header({"bayeskit": "[]"}), ["bayeskit", "manifest"]),
        (_manifest(format="other"), ["bayeskit", "manifest"]),
        (_manifest(format_version=2), [2, 9.9, "newer"]),
        (_manifest(format_version=2, content=None, more=1), [2, 9.9, "newer"]),
        (_manifest(format_version=True), ["format", True]),
        (_manifest(format_version="1"), ["format", "'1'"]),
        (_manifest(format_version=0), ["format", 0]),
        (_manifest(content=[]), ["manifest", "incomplete"]),
        (_manifest(more=1), ["manifest", "incomplete"]),
        (_manifest(), ["checksum"]),
        (_manifest(checksum=None), ["checksum"]),
    ],
)
def test_foreign_and_damaged_files(tmp_path, data, says):
    path = tmp_path / "别的.bayes"
    path.write_bytes(data)
    with refuses(ModelFormatError, *says) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_the_wrong_kind_says_what_to_call(tmp_path):
    write_saved(_SAVED, tmp_path / "m")
    with refuses(ModelFormatError, "bayeskit.load"):
        read(tmp_path / "m", "statistics")


def test_directories_and_missing_files(tmp_path):
    with refuses(ModelFormatError, tmp_path, "directory"):
        read(tmp_path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError) as caught:
        write_saved(_SAVED, tmp_path / "没有" / "m")
    assert caught.value.filename == str(tmp_path / "没有" / "m")
    with pytest.raises(IsADirectoryError):
        write_saved(_SAVED, tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("path", [5, None, "", "a\0b", ["a"]])
def test_what_is_no_path(path):
    with refuses(DataTypeError, repr(path), "pathlib.Path"):
        container.as_path(path)


@pytest.mark.parametrize("step", ["fsync", "replace", "write"])
@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["full", "stopped"]
)
def test_a_failure_leaves_the_old_file_alone(tmp_path, monkeypatch, step, error):
    path = tmp_path / "m"
    path.write_bytes(b"old")

    def fail(*_: Any) -> None:
        raise error

    class Failing:
        def __init__(self, *args: Any) -> None:
            self.file = open(*args)  # noqa: SIM115
            self.write = fail

        def __enter__(self) -> Failing:
            return self

        def __exit__(self, *_: Any) -> None:
            self.file.close()

    if step == "write":
        monkeypatch.setattr(writer, "open", Failing, raising=False)
    else:
        monkeypatch.setattr(writer.os, step, fail)
    with pytest.raises(type(error)) as caught:
        replace_file(path, b"new")
    assert not isinstance(error, OSError) or caught.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["m"]


@pytest.mark.skipif(sys.platform == "win32", reason="permissions and links are POSIX")
def test_permissions_and_links_stay(tmp_path):
    path, link = tmp_path / "m", tmp_path / "current"
    replace_file(path, b"1")
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    path.chmod(0o600)
    link.symlink_to(path)
    replace_file(link, b"2")
    assert link.is_symlink()
    assert path.read_bytes() == b"2"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name here")
def test_a_pipe_is_written_to_and_stays(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(path.read_bytes)
        replace_file(path, b"melon")
        assert read.result(timeout=30) == b"melon"
    assert path.is_fifo() and list(tmp_path.iterdir()) == [path]


def test_many_writers_leave_one_whole_file(tmp_path):
    path = tmp_path / "m"
    write_saved(_SAVED, path)
    content = [SavedContent("model", {"writer": i}, {"a": np.full(20_000, float(i))}) for i in range(4)]
    flaws: list[BaseException] = []
    done = threading.Event()

    def write(saved: SavedContent) -> None:
        for _ in range(8):
            write_saved(saved, path)

    def watch() -> None:
        try:
            while not done.is_set():
                found = read(path)
                if found.content != _SAVED.content:
                    assert (found.arrays["a"] == found.content["writer"]).all()
        except BaseException as error:
            flaws.append(error)

    watcher = threading.Thread(target=watch)
    writers = [threading.Thread(target=write, args=(saved,)) for saved in content]
    watcher.start()
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    watcher.join()
    assert not flaws
    assert os.listdir(tmp_path) == ["m"]
    assert read(path).content in [saved.content for saved in content]


def test_processes_saving_to_one_path_leave_one_whole_file(tmp_path):
    path = tmp_path / "m.bayes"
    script = (
        "import sys, numpy as np; from pathlib import Path; from bayeskit._io.saved import SavedContent, write_saved\n"
        "k = int(sys.argv[2])\n"
        "for _ in range(50):\n"
        "    write_saved(SavedContent('model', {'writer': k}, {'a': np.full(50_000, float(k))}), Path(sys.argv[1]))\n"
    )
    source = str(Path(container.__file__).parents[2])
    command = [sys.executable, "-c", script, str(path)]
    writers = [subprocess.Popen([*command, str(k)], env={**os.environ, "PYTHONPATH": source}) for k in (1, 2)]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    found = read(path)
    assert (found.arrays["a"] == found.content["writer"]).all()
    assert os.listdir(tmp_path) == ["m.bayes"]


_KILLED = """
import os, signal, sys
from bayeskit._io.replacing import replacing
with replacing(sys.argv[1]) as temporary:
    temporary.write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is killed there as it is here")
@pytest.mark.parametrize("name", ["m.bayes", "名" * 80 + ".tar.gz", "+(m)[a-z]*.bayes"])
def test_what_a_killed_process_left_goes_with_the_next_save_of_that_path(tmp_path, name):
    path, other = tmp_path / name, tmp_path / f"other {name[-20:]}"
    source = str(Path(container.__file__).parents[2])
    for each in (path, path, other):
        command = [sys.executable, "-c", _KILLED, str(each)]
        killed = subprocess.run(command, env={**os.environ, "PYTHONPATH": source}, timeout=60)
        assert killed.returncode == -signal.SIGKILL
    left = os.listdir(tmp_path)  # the second swept what the first had left
    assert len(left) == 2 and sum(each.endswith(f"-{writer._short(name)}") for each in left) == 1
    replace_file(path, b"whole")
    assert len(os.listdir(tmp_path)) == 2 and path.read_bytes() == b"whole"
    replace_file(other, b"whole")
    assert sorted(os.listdir(tmp_path)) == sorted([path.name, other.name])


def test_what_is_being_written_is_not_swept(tmp_path):
    path = tmp_path / "m"
    with replacing(path) as temporary:
        temporary.write_bytes(b"mine")
        replace_file(path, b"another thread's")
        assert temporary.read_bytes() == b"mine"
    assert path.read_bytes() == b"mine"
    parent = f".bayeskit-{writer._home()}-{os.getppid()}-01234567-m"
    elsewhere = (
        ".bayeskit-00000000-1-01234567-m"  # of another machine, or container: its process cannot be asked
    )
    old = ".bayeskit-00000000-2-01234567-m"
    earlier = f".bayeskit-{writer._home()}-{os.getpid()}-01234567-m"  # of a process that had our number
    unrelated = ".bayeskit-00000000-2-01234567-mm"
    for name in (parent, elsewhere, old, earlier, unrelated):
        (tmp_path / name).write_bytes(b"")
    for name in (old, unrelated, parent):
        os.utime(tmp_path / name, (0, 0))
    replace_file(path, b"whole")
    assert sorted(os.listdir(tmp_path)) == sorted(["m", parent, elsewhere, unrelated])


def test_the_directory_is_synced_after_the_renaming(tmp_path, monkeypatch):
    done = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, name=name, real=real: (done.append(name), real(*a))[1])
    with replaced(str(tmp_path / "m")) as temporary:
        temporary.write_bytes(b"1")
    assert done == ["fsync", "replace", "fsync"]


def test_too_many_labels_are_refused_before_writing(tmp_path, monkeypatch):
    monkeypatch.setattr(container, "LARGEST_HEADER", 400)
    with refuses(UsageError, "0 MB", "columns"):
        write_saved(SavedContent("model", {"states": ["x" * 500]}, {}), tmp_path / "m")
    assert os.listdir(tmp_path) == []


# -- statistics -----------------------------------------------------------------------------------

_SCHEMA = Schema(
    (
        Variable("色泽", "categorical", ("乌黑", "青绿", 3, None), n_declared=2),
        Variable(("x", 1), "numeric"),
        Variable("z", "numeric"),
        Variable("closed", "categorical", (False, True), n_declared=2, closed=True),
        Variable("words", "block", width=3),
        Variable("coded", "categorical", tuple(range(20)), n_declared=20, dense=True),
    ),
    Variable("好瓜", "categorical", ("是", "否")),
)
_PLAN = Plan.naive(_SCHEMA, scatter=(("x", 1), "z"), grids=("z",))


def _counted() -> Statistics:
    rng = np.random.default_rng(3)
    zero = Statistics.zero(_SCHEMA, _PLAN)
    tables = Tables(rng.random(2) + 10, rng.random(zero.tables.counts.shape))
    shape = (2, 2)
    moments = Moments.from_sums(
        rng.random(shape) + 5, rng.normal(size=shape), rng.normal(size=shape), np.full(shape, 9.0)
    )
    grids = Grids.of([Grid(3, -1, np.array([-4, 0, 7]), rng.random((3, 2)))], 2)
    parts = {**zero.parts, "tables": tables, "moments": moments, "grids": grids}
    parts["totals"] = Totals(rng.random((2, 3)), rng.random(2))
    return Statistics(_SCHEMA, _PLAN, parts)


_STATISTICS = _counted()


def arrays_of(statistics: Statistics) -> dict[str, Any]:
    return {
        f"{kind}/{name}": a for kind, part in statistics.parts.items() for name, a in part.arrays().items()
    }


def test_statistics_round_trip(tmp_path):
    path = tmp_path / "计数"
    save_statistics(_STATISTICS, str(path))
    back = load_statistics(path)
    assert back.plan == _PLAN
    assert list(back.parts) == list(_STATISTICS.parts)
    assert same(vars(back.schema)["attributes"], _SCHEMA.attributes)
    assert same(back.schema.target, _SCHEMA.target)
    assert same(arrays_of(back), arrays_of(_STATISTICS))
    assert same(arrays_of(back.merge(_STATISTICS)), arrays_of(_STATISTICS.merge(_STATISTICS)))


def test_codes_are_kept_short_but_booleans_are_no_codes():
    content, _ = pack_statistics(_STATISTICS)
    states = [variable["states"] for variable in content["attributes"]]
    assert states[-1] == 20
    assert states[3] == [False, True]


def test_statistics_without_rows_or_classes(tmp_path):
    schema = Schema(_SCHEMA.attributes, Variable("好瓜", "categorical"))
    save_statistics(Statistics.zero(schema, _PLAN), tmp_path / "m")
    assert load_statistics(tmp_path / "m").class_counts.shape == (0,)


def forge(tmp_path: Path, edit: Any) -> Path:
    """Write a file with a right checksum and a wrong content."""
    content, arrays = pack_statistics(_STATISTICS)
    content = json.loads(json.dumps(content))
    arrays = {name: array.copy() for name, array in arrays.items()}
    edit(content, arrays)
    write_saved(SavedContent("statistics", content, arrays), tmp_path / "forged")
    return tmp_path / "forged"


def put(what: str, key: Any, value: Any) -> Any:
    def edit(content: Any, arrays: Any) -> None:
        place = arrays if what == "arrays" else content[what] if what else content
        place[key] = value(place[key]) if callable(value) else value

    return edit


def put_in(column: int, key: str, value: Any) -> Any:
    return lambda content, _: content["attributes"][column].__setitem__(key, value)


def put_cell(name: str, value: float) -> Any:
    return lambda _, arrays: arrays[name].reshape(-1).__setitem__(0, value)


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda content, _: content.pop("plan"), ["plan"]),
        (lambda content, _: content["target"].pop("states"), ["KeyError", "states"]),
        (lambda content, _: content["target"]["states"].append("x"), ["tables/margin", "shape", "(2,)"]),
        (lambda content, _: content["target"]["states"].pop(), ["tables/margin", "shape", "(2,)"]),
        (
            lambda content, _: content["attributes"].append(content["attributes"][1]),
            ["ColumnError", "('x', 1)"],
        ),
        (lambda content, _: content["attributes"].pop(), ["tables", "色泽"]),
        (put("target", "kind", "numeric"), ["好瓜", "numeric", 2]),
        (put_in(0, "states", ["a", "b", "c", "c"]), ["色泽", "state", "twice"]),
        (put_in(0, "states", ["a", "b", "c"]), ["tables/counts", "shape"]),
        (put_in(0, "states", [[1], [2], [3], [4]]), ["TypeError", "list"]),
        (put_in(0, "states", 10**12), ["色泽", 10**12]),
        (put_in(0, "states", -1), ["色泽", -1]),
        (put_in(0, "n_declared", 9), ["色泽", 9, 4]),
        (put_in(0, "n_declared", True), [True, "n_declared"]),
        (put_in(0, "closed", 1), ["色泽", 1, "closed"]),
        (put_in(0, "kind", "ordinal"), ["色泽", "ordinal"]),
        (put_in(0, "unknown", 1), ["unknown"]),
        (put_in(0, "name", {"os": 1}), ["os"]),
        (put_in(4, "width", 10**15), ["schema", "totals"]),
        (put_in(4, "width", 0), ["words", "width", 0]),
        (put_in(4, "width", "3"), ["words", "3", "width"]),
        (put("plan", 0, ["cubes", []]), ["cubes"]),
        (put("plan", 0, ["tables", ["色泽"]]), ["['色泽']", "['色泽', 'closed', 'coded']"]),
        (put("plan", 1, ["moments", ["色泽"]]), ["['色泽']", "('x', 1)"]),
        (put("plan", 1, ["moments", ["z"]]), ["moments/weight", "shape"]),
        (put("plan", 1, ["moments", ["z", "z"]]), ["['z', 'z']", "('x', 1)"]),
        (put("plan", 1, lambda _: ["tables", ["色泽", "closed", "coded"]]), ["plan", "twice"]),
        (put("plan", 1, 5), ["TypeError"]),
        (lambda _, arrays: arrays.pop("tables/margin"), ["plan", "tables/margin"]),
        (put_in(3, "states", [0, 1, 2]), ["tables/counts", "shape"]),
        (lambda _, arrays: arrays.update(more=np.zeros(1)), ["plan", "'more'"]),
        (put("arrays", "tables/counts", lambda a: a.astype(np.float32)), ["tables/counts", "float32"]),
        (put("arrays", "tables/counts", lambda a: a.T), ["tables/counts", "shape"]),
        (put("arrays", "tables/counts", lambda a: a[:-1]), ["tables/counts", "shape"]),
        (put("arrays", "moments/pivot", lambda a: a[0]), ["moments/pivot", "shape"]),
        (put("arrays", "grids/counts", lambda a: a[:, :1]), ["grids/counts", "shape"]),
        (put("arrays", "grids/counts", lambda a: a[:2]), ["grids/offsets"]),
        (put("arrays", "grids/ids", lambda a: a[::-1]), ["grids/ids", "ascending"]),
        (put("arrays", "grids/ids", np.int64(3)), ["grids/ids", "shape"]),
        (put("arrays", "grids/offsets", np.array([0, 2])), ["grids/offsets"]),
        (put("arrays", "grids/offsets", np.array([1, 3])), ["grids/offsets"]),
        (put_cell("grids/exponents", 5000), ["grids/exponents"]),
        (put_cell("moments/exponent", -5000), ["moments/exponent"]),
        (put_cell("tables/counts", np.nan), ["tables/counts", "NaN"]),
        (put_cell("moments/second", np.inf), ["moments/second", "NaN"]),
        (put_cell("scatter/weight", np.nan), ["scatter/weight", "NaN"]),
        (put_cell("tables/counts", -1.0), ["tables/counts", "negative"]),
        (put_cell("tables/margin", -30.0), ["tables/margin", "negative"]),
        (put_cell("moments/weight", -1.0), ["moments/weight", "negative"]),
        (put_cell("totals/sums", -1.0), ["totals/sums", "negative"]),
        (put_cell("scatter/weight", -1.0), ["scatter/weight", "negative"]),
        (put_cell("grids/counts", -1.0), ["grids/counts", "negative"]),
    ],
)
def test_forged_statistics_are_refused(tmp_path, edit, says):
    path = forge(tmp_path, edit)
    with refuses(ModelFormatError, *says) as caught:
        load_statistics(path)
    assert str(path) in str(caught.value)


def test_the_unforged_file_loads(tmp_path):
    assert load_statistics(forge(tmp_path, lambda content, arrays: None)).total == _STATISTICS.total


def test_statistics_that_could_not_be_read_are_not_written(tmp_path):
    with refuses(DataError, "tables/margin", "negative"):
        save_statistics(_STATISTICS * -1.0, tmp_path / "m")
    schema = Schema((Variable("色泽", "categorical", (_Bad(),)),), _SCHEMA.target)
    zero = Statistics.zero(schema, Plan.naive(schema))
    with refuses(SettingError, "色泽", "<Bad>"):
        save_statistics(zero, tmp_path / "m")
    assert os.listdir(tmp_path) == []


def test_what_was_taken_away_is_kept_and_checked(tmp_path):
    """It tells what is rounding when the next rows are forgotten; files from before it was remembered have none."""
    faded = _STATISTICS * 0.7 - _STATISTICS * (0.3 * 0.7)
    assert set(faded.gone) == {"tables", "moments", "totals", "scatter"}
    save_statistics(faded, tmp_path / "m")
    back = load_statistics(tmp_path / "m")
    assert arrays_of(back).keys() == arrays_of(faded).keys()
    for kind, part in faded.gone.items():
        assert same(back.gone[kind].arrays(), part.arrays())
    assert not load_statistics(forge(tmp_path, lambda content, arrays: None)).gone

    def with_gone(edit):
        def forged(_, arrays):
            arrays |= {f"gone/tables/{name}": a.copy() for name, a in faded.gone["tables"].arrays().items()}
            edit(_, arrays)

        return forged

    for edit, says in (
        (put_cell("gone/tables/margin", -5.0), ["forgotten", "tables/margin", "negative"]),
        (put_cell("gone/tables/counts", np.nan), ["forgotten", "tables/counts", "NaN"]),
        (put("arrays", "gone/tables/counts", lambda a: a[:-1]), ["forgotten", "tables/counts", "shape"]),
        (lambda _, arrays: arrays.pop("gone/tables/margin"), ["forgotten", "plan", "tables/margin"]),
        (
            lambda _, arrays: arrays.update({"gone/grids/ids": arrays["grids/ids"]}),
            ["forgotten", "plan", "grids/ids"],
        ),
        (lambda _, arrays: arrays.update({"gone/more": np.zeros(1)}), ["forgotten", "plan", "'more'"]),
    ):
        with refuses(ModelFormatError, *says):
            load_statistics(forge(tmp_path, with_gone(edit)))


def test_rounding_below_zero_is_no_flaw(tmp_path):
    counts = _STATISTICS.tables.counts.copy()
    counts[0, 0] = -1e-12
    parts = {**_STATISTICS.parts, "tables": Tables(_STATISTICS.tables.margin, counts)}
    save_statistics(Statistics(_SCHEMA, _PLAN, parts), tmp_path / "m")
    assert load_statistics(tmp_path / "m").tables.counts[0, 0] == -1e-12
