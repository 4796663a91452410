"""Checkpoints of the static scheme: a run that was cut off goes on to the same result."""

from __future__ import annotations

import hashlib
import pickle
from typing import TYPE_CHECKING

import torch

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.atomic_file import atomic_write
from serenity_mlir.pipelines.reform.train.admm import AdmmState

if TYPE_CHECKING:
    from pathlib import Path

    from serenity_mlir.pipelines.reform.train.admm import Admm


def fingerprint(admm: Admm) -> str:
    """What must be the same for a run to go on: network, weights, samples, budgets and options."""
    found = hashlib.sha256(
        repr((admm.options, sorted(admm.aim.limits.items()), admm.aim.estimate.costs.profile)).encode()
    )
    objective = admm.objective
    found.update(repr((objective.batch, admm.factors.count)).encode())
    for node in objective.evaluator.network.nodes:
        found.update(repr((node.op, node.inputs, node.outputs)).encode())
    for value in (*objective.evaluator.weights.values(), *objective.inputs.values(), objective.labels):
        found.update(value.detach().numpy().tobytes())
    return found.hexdigest()


def save(path: Path, admm: Admm, key: str) -> None:
    """Writes all that a later run needs, or nothing.

    Args:
        path: Replaced when the new file is complete.
        admm: Between two rounds.
        key: Its `fingerprint` before the first.
    """
    state = admm.state
    content = {
        "key": key,
        "gates": torch.from_numpy(state.gates),
        "projected": torch.from_numpy(state.projected),
        "duals": torch.from_numpy(state.duals),
        "rounds": state.rounds,
        "gaps": state.gaps,
        "losses": state.losses,
        "means": state.means,
        "kept": state.kept,
        "goal": dict(admm.aim.goal),
        "held": {group: sorted(channels) for group, channels in admm.aim.held.items()},
        "corrections": admm.aim.estimate.corrections,
        "weights": {name: weight.detach() for name, weight in admm.objective.evaluator.weights.items()},
        "optimizer": admm.optimizer.state_dict(),
    }
    with atomic_write(path) as file:
        torch.save(content, file)


def resume(path: Path, admm: Admm, key: str) -> None:
    """Puts a fresh run where the file's run was.

    Raises:
        SerenityError: The file is no checkpoint, or that of another run.
    """
    try:
        content = torch.load(path, weights_only=True)
        known = content["key"]
    except (OSError, RuntimeError, EOFError, KeyError, TypeError, pickle.UnpicklingError) as error:
        raise SerenityError(
            f"is no checkpoint: {error}", file=str(path), hint="remove it, or name another file"
        ) from error
    if known != key:
        raise SerenityError(
            "belongs to a run with another model, other samples, budgets or options",
            file=str(path),
            hint="repeat what that run was given, or remove the file to start anew",
        )
    admm.state = AdmmState(
        gates=content["gates"].numpy(),
        projected=content["projected"].numpy(),
        duals=content["duals"].numpy(),
        rounds=content["rounds"],
        gaps=content["gaps"],
        losses=content["losses"],
        means=content["means"],
        kept=content["kept"],
    )
    admm.aim.goal = content["goal"]
    admm.aim.held = {group: set(channels) for group, channels in content["held"].items()}
    admm.aim.estimate.corrections = content["corrections"]
    admm.objective.evaluator.load({name: value.numpy() for name, value in content["weights"].items()})
    admm.optimizer.load_state_dict(content["optimizer"])
