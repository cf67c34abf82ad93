"""Options of sessions and runs, and what a program asks before it has a session."""
from __future__ import annotations

import enum
import operator
from typing import Any, Dict, List, NoReturn, Optional

from .._native import Unimplemented
from .._threads import CancelToken

_UNIMPLEMENTED = 3


class GraphOptimizationLevel(enum.IntEnum):
    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(enum.IntEnum):
    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


def refuse(what: str) -> NoReturn:
    raise Unimplemented(f"{what}: dnnl_tp does not do this, and without it results would be others", _UNIMPLEMENTED)


class _Options:
    """Attributes have the types of their defaults, and there are no others."""

    _defaults: Dict[str, Any] = {}

    def __init__(self) -> None:
        self.__dict__.update(self._defaults)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._defaults and name[0] != "_":
            raise AttributeError(f"{type(self).__name__} has no option '{name}'; it has {sorted(self._defaults)}")
        kind = type(self._defaults.get(name))
        if kind in (str, bool) and not isinstance(value, kind) or isinstance(value, str) and kind is not str:
            raise TypeError(f"{name} is {value!r}, not of type {kind.__name__}")
        if kind is int or issubclass(kind, enum.Enum):
            value = operator.index(value) if kind is int else kind(value)
        self.__dict__[name] = value

    def __repr__(self) -> str:
        changed = (f"{n}={getattr(self, n)!r}" for n, d in self._defaults.items() if getattr(self, n) != d)
        return f"{type(self).__name__}({', '.join(changed)})"


class SessionOptions(_Options):
    """Options of a session.

    intra_op_num_threads       threads that compute at once, the caller included; 0: all processors of the process, which
                               all sessions with 0 share
    use_per_session_threads    False: these sessions share the threads of all processors, whatever the number is
    enable_profiling           writes what ran when to profile_file_prefix and the time, see end_profiling()
    use_deterministic_compute  results never depend on threads; this also keeps the order of operators with side effects

    Accepted without effect, because they change no results: inter_op_num_threads and execution_mode (one number of threads
    serves both), graph_optimization_level, execution_order, enable_cpu_mem_arena, enable_mem_pattern, enable_mem_reuse,
    log_severity_level, log_verbosity_level, logid. Refused with Unimplemented: optimized_model_filepath, initializers from
    outside, libraries of operators, the format ORT.
    """

    intra_op_num_threads: int
    inter_op_num_threads: int
    use_per_session_threads: bool
    graph_optimization_level: GraphOptimizationLevel
    execution_mode: ExecutionMode
    execution_order: ExecutionOrder
    enable_profiling: bool
    profile_file_prefix: str
    use_deterministic_compute: bool
    enable_cpu_mem_arena: bool
    enable_mem_pattern: bool
    enable_mem_reuse: bool
    log_severity_level: int
    log_verbosity_level: int
    logid: str
    optimized_model_filepath: str
    _defaults = {
        "intra_op_num_threads": 0, "inter_op_num_threads": 0, "use_per_session_threads": True,
        "graph_optimization_level": GraphOptimizationLevel.ORT_ENABLE_ALL,
        "execution_mode": ExecutionMode.ORT_SEQUENTIAL, "execution_order": ExecutionOrder.DEFAULT,
        "enable_profiling": False, "profile_file_prefix": "onnxruntime_profile_", "use_deterministic_compute": False,
        "enable_cpu_mem_arena": True, "enable_mem_pattern": True, "enable_mem_reuse": True, "log_severity_level": -1,
        "log_verbosity_level": 0, "logid": "", "optimized_model_filepath": ""}

    def __init__(self) -> None:
        super().__init__()
        self._entries: Dict[str, str] = {}
        self._dims: Dict[str, int] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "optimized_model_filepath" and value:
            refuse("optimized_model_filepath")
        super().__setattr__(name, value)

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Without effect, as onnxruntime has hints for speed there. The model format ORT is refused."""
        if key == "session.load_model_format" and value.upper() == "ORT":
            refuse("session.load_model_format = ORT")
        self._entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        if key not in self._entries:
            raise RuntimeError(f"SessionOptions does not have configuration with key: {key}")
        return self._entries[key]

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Fixes the size of a symbolic dimension: dims of dnnl_tp.Session. A name that the model has not is ignored."""
        self._dims[name] = operator.index(size)

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> NoReturn:
        refuse("add_free_dimension_override_by_denotation")

    def add_initializer(self, name: str, value: Any) -> NoReturn:
        refuse("add_initializer")

    def add_external_initializers(self, names: List[str], values: List[Any]) -> NoReturn:
        refuse("add_external_initializers")

    def register_custom_ops_library(self, path: str) -> NoReturn:
        refuse("register_custom_ops_library")

    def has_providers(self) -> bool:
        return False


class RunOptions(_Options):
    """Options of a run. terminate = True ends the runs in progress that have them, and later ones, with Cancelled. All
    others have no effect."""

    terminate: bool
    only_execute_path_to_fetches: bool
    log_severity_level: int
    log_verbosity_level: int
    logid: str
    _defaults = {"terminate": False, "only_execute_path_to_fetches": False, "log_severity_level": -1,
                 "log_verbosity_level": 0, "logid": ""}

    def __init__(self) -> None:
        super().__init__()
        self._entries: Dict[str, str] = {}
        self._token: Optional[CancelToken] = CancelToken()

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "terminate" and value:
            assert self._token
            self._token.cancel()
        elif name == "terminate":
            self._token = CancelToken()

    def add_run_config_entry(self, key: str, value: str) -> None:
        self._entries[key] = value

    def get_run_config_entry(self, key: str) -> str:
        return self._entries[key]


def get_available_providers() -> List[str]:
    return ["CPUExecutionProvider"]


get_all_providers = get_available_providers


def get_device() -> str:
    return "CPU"


def get_version_string() -> str:
    """The version of onnxruntime whose names and results this module was compared with."""
    return "1.31.1"


def get_build_info() -> str:
    return f"dnnl_tp, interface of onnxruntime {get_version_string()}"


def set_default_logger_severity(level: int) -> None:
    """Without effect: nothing is logged."""


def set_default_logger_verbosity(level: int) -> None:
    """Without effect: nothing is logged."""


def enable_telemetry_events() -> None:
    """Without effect: there are none."""


def disable_telemetry_events() -> None:
    """Without effect: there are none."""


def preload_dlls(*_: Any, **__: Any) -> None:
    """Without effect: there are no libraries of devices."""
