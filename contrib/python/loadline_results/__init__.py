"""Reads what a Loadline study left in its folder.

>>> run = read("runs/recovery-nvme-1")
>>> run["balanced"]["client/iops"]

Figures have the keys of ``results.json``, units stand in their names: ``_ms`` milliseconds, ``_s`` seconds,
``_per_s`` per second of the world's time.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

__all__ = ["FigureRow", "NoResult", "Run", "Setup", "Statement", "UnknownVersion", "read"]

VERSIONS = (3,)
"""The forms of results that this package reads (docs/results.md)."""


class NoResult(ValueError):
    """The folder holds no study that was concluded."""


class UnknownVersion(ValueError):
    """The result has a form that this package does not know."""


@dataclass(frozen=True)
class Statement:
    """A sentence that was tested: of a published study, or an expectation of the study itself."""

    text: str
    holds: Optional[bool]
    """``None`` where a setup that it needs was not run."""
    detail: str


@dataclass(frozen=True)
class FigureRow:
    """A figure of a setup."""

    setup: str
    figure: str
    value: float
    half_width: Optional[float]
    """Half of the 95 % interval over the repeats; ``None`` for a single run."""
    published: Optional[float]


class Setup:
    """What one configuration showed."""

    def __init__(self, data: Dict[str, Any]):
        self.data = data
        """The setup as it stands in ``results.json``."""

    def __repr__(self) -> str:
        return f"Setup({self.name!r})"

    @property
    def name(self) -> str:
        return self.data["name"]

    @property
    def about(self) -> str:
        """What it is, in half a sentence; may be empty."""
        return self.data.get("about", "")

    @property
    def preset(self) -> str:
        return self.data["preset"]

    @property
    def profile(self) -> Optional[str]:
        return self.data["profile"]

    @property
    def figures(self) -> Dict[str, float]:
        """Every figure by its key, the mean over the repeats where there are several."""
        return self.data["figures"]

    def __getitem__(self, key: str) -> float:
        return self.figures[key]

    def get(self, key: str, default: Optional[float] = None) -> Optional[float]:
        return self.figures.get(key, default)

    def repeats(self, key: str) -> List[float]:
        """The figure in each repeat that has it."""
        repeats = (repeat["figures"].get(key) for repeat in self.data["repeats"])
        return [value for value in repeats if value is not None]

    def interval(self, key: str) -> Optional[Tuple[float, float]]:
        """Mean and half of the 95 % interval over the repeats; ``None`` where there are fewer than two."""
        values = self.repeats(key)
        count = len(values)
        if count < 2:
            return None
        mean = math.fsum(values) / count
        variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
        return mean, _student_t(count - 1) * math.sqrt(variance / count)

    def published(self, key: str) -> Optional[float]:
        """What somebody else published of it."""
        figure = self.data["published"].get(key)
        return None if figure is None else figure["value"]

    @property
    def is_kept(self) -> Optional[bool]:
        """Whether clients and images got what they were promised in every second; ``None`` where nothing was promised."""
        images = (image.get("promise") for image in self.data.get("images", []))
        promises = [promise for promise in (self.data.get("promise"), *images) if promise]
        verdicts = [promise["seconds_short"] == 0 for promise in promises if promise["share"] > 0]
        return all(verdicts) if verdicts else None

    @property
    def series(self) -> Dict[str, List[Optional[float]]]:
        """The course of the first repeat: columns by name, ``t_s`` first; a gap is ``None``."""
        series = self.data["series"]
        return {"t_s": series["t_s"], **series["columns"]}

    def series_frame(self, library: str = "pandas"):
        """The course as a frame."""
        columns = self.series
        length = max((len(column) for column in columns.values()), default=0)
        whole = {name: list(column) + [None] * (length - len(column)) for name, column in columns.items()}
        return _frame(whole, library)


class Run:
    """A study that was run and concluded."""

    def __init__(self, folder: Path, data: Dict[str, Any], manifest: Dict[str, Any]):
        self.folder = folder
        self.data = data
        """``results.json`` as it stands."""
        self.manifest = manifest
        """``manifest.json`` as it stands: inputs, program, machine."""
        self.setups = [Setup(setup) for setup in data["setups"]]

    def __repr__(self) -> str:
        return f"Run({self.study!r}, {len(self.setups)} setups, {str(self.folder)!r})"

    @property
    def study(self) -> str:
        return self.data["study"]

    @property
    def kind(self) -> str:
        """``recovery``, ``checkpoint``, ``limits`` or ``services``."""
        return self.data["kind"]

    @property
    def question(self) -> str:
        return self.data["question"]

    @property
    def is_real(self) -> bool:
        """Whether it ran on a machine's own disks, and not in simulation."""
        return self.data["world"] == "host"

    @property
    def warnings(self) -> List[str]:
        """What a reader must know before using a figure."""
        return self.data["warnings"]

    def __getitem__(self, name: str) -> Setup:
        for setup in self.setups:
            if setup.name == name:
                return setup
        raise KeyError(f"{name}; there are {', '.join(setup.name for setup in self.setups)}")

    def __iter__(self) -> Iterator[Setup]:
        return iter(self.setups)

    def __len__(self) -> int:
        return len(self.setups)

    def statements(self) -> List[Statement]:
        """Sentences of the published study, then the study's own expectations."""
        both = self.data["statements"] + self.data.get("expected", [])
        return [Statement(of["text"], of["holds"], of["detail"]) for of in both]

    def failing(self) -> List[Statement]:
        """Those that do not hold."""
        return [statement for statement in self.statements() if statement.holds is False]

    def figures(self) -> List[FigureRow]:
        """Every figure of every setup."""
        rows = []
        for setup in self.setups:
            for key, value in setup.figures.items():
                interval = setup.interval(key)
                half_width = None if interval is None else interval[1]
                rows.append(FigureRow(setup.name, key, value, half_width, setup.published(key)))
        return rows

    def figures_frame(self, library: str = "pandas"):
        """The same as a frame of ``library``: ``pandas`` or ``polars``."""
        rows = self.figures()
        names = ("setup", "figure", "value", "half_width", "published")
        return _frame({name: [getattr(row, name) for row in rows] for name in names}, library)


def read(folder: Union[str, Path]) -> Run:
    """The study in a folder.

    Raises ``NoResult`` where there is none, and ``UnknownVersion`` for a form that is not known here.
    """
    folder = Path(folder)
    try:
        data = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NoResult(f"{folder} holds no results.json: `loadline study run ... --out {folder}` writes one") from None
    except json.JSONDecodeError as error:
        raise NoResult(f"{folder / 'results.json'} is no JSON: {error}") from None
    version = data.get("version") if isinstance(data, dict) else None
    if version not in VERSIONS:
        known = ", ".join(map(str, VERSIONS))
        raise UnknownVersion(f"{folder} holds results of version {version}; this package reads {known}")
    manifest = folder / "manifest.json"
    facts = json.loads(manifest.read_text(encoding="utf-8")) if manifest.is_file() else {}
    return Run(folder, data, facts)


def _frame(columns: Dict[str, List[Any]], library: str):
    if library == "pandas":
        import pandas

        return pandas.DataFrame(columns)
    if library == "polars":
        import polars

        return polars.DataFrame(columns)
    raise ValueError(f"{library!r} makes no frames here: say 'pandas' or 'polars'")


# t of 97.5 % for 1 to 30 degrees of freedom; beyond, Cornish and Fisher's expansion is right to the fourth digit.
_T = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788, 2.1604, 2.1448, 2.1314,
    2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
)


def _student_t(freedom: int) -> float:
    if freedom <= len(_T):
        return _T[freedom - 1]
    z = 1.959964
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
