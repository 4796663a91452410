"""Executors: where many independent pieces of work run. In this process, in processes, on a Dask cluster."""

from serenity_mlir.executors.in_process import InProcess
from serenity_mlir.executors.interface import Done, Executor, Failed
from serenity_mlir.executors.processes import Processes

__all__ = ["Done", "Executor", "Failed", "InProcess", "Processes"]
