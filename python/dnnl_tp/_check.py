"""What of a model cannot run."""
from __future__ import annotations

import ctypes as c
import dataclasses
from typing import Any, List, Mapping, Optional

from . import _native
from ._session import Model, Path, Session, _path, open_model


@dataclasses.dataclass(frozen=True)
class Problem:
    """Things of a model that cannot run, with one cause.

    kind   "node", "node of" (without a name: name is that of its first result), "input", "initializer", or "model"
    name   name of the first of these things
    op     its operator or type; None: neither is known
    why    the cause
    count  number of these things
    """

    kind: str
    name: str
    op: Optional[str]
    why: str
    count: int

    def __str__(self) -> str:
        more = f" and {self.count - 1} more" if self.count > 1 else ""
        op = f" ({self.op})" if self.op else ""
        return f"{self.kind} '{self.name}'{op}{more}: {self.why}" if self.name else self.why


def check(model: Model, *, dims: Optional[Mapping[str, int]] = None, base_folder: Optional[Path] = None) -> List[Problem]:
    """Lists what of a model cannot run here: all of it at once, before anything runs. [] if nothing is known.

    model        path of a file, or its bytes
    dims         sizes of open dimensions, as for Session: if all inputs have known sizes then, the model is also compiled,
                 which finds the first operator that does not take its shapes or types
    base_folder  where files of external data lie; None: the model's folder

    Raises what Session raises where there is no model, or what is there is none.
    """
    problems: List[Problem] = []

    def report(_: Any, told: Any) -> None:
        p = told.contents
        kind, name, op, why = ((text or b"").decode(errors="replace") for text in (p.kind, p.name, p.op, p.why))
        problems.append(Problem(kind, name, op or None, why, p.count))

    try:
        open_model(model, None if base_folder is None else _path("base_folder", base_folder),
                   _native.Report(report)).close()
    except _native.Error:
        if not problems:
            raise
        return problems
    try:
        Session(model, dims=dims, base_folder=base_folder).close()
    except _native.Error as e:
        return [Problem("model", "", None, str(e), 1)]
    return []
