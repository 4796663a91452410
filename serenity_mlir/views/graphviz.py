"""`--dot`: the ops as a graph, each with its step in the order and the bytes that are live then."""

from __future__ import annotations

from collections.abc import Iterator

from serenity_mlir.sizes import size_text
from serenity_mlir.timeline import RegionTimeline, Step
from serenity_mlir.views.shown import Shown


def dot(shown: Shown) -> bytes:
    """A digraph with one cluster a region; an edge leads from an op to one that must run after it.

    The more bytes are live the darker an op is, and those at the peak have a thick border.

    Raises:
        SerenityError: No region of the model has constant sizes.
    """
    lines = [
        f"digraph {_quoted(shown.model)} {{",
        '  graph [fontname="sans-serif", labelloc=t, rankdir=TB];',
        '  node [fontname="sans-serif", shape=box, style="filled,rounded"];',
    ]
    for number, region in enumerate(shown.drawable()):
        lines += [f"  subgraph cluster_{number} {{", *_cluster(shown, region, f"r{number}s"), "  }"]
    return "\n".join([*lines, "}", ""]).encode()


def _cluster(shown: Shown, region: RegionTimeline, prefix: str) -> Iterator[str]:
    course = region.after
    title = f"{shown.model}, {region.name}: peak {size_text(course.peak)} at step {course.peak_step}"
    yield f"    label={_quoted(title)};"
    for number, step in enumerate(course.steps):
        words = f"step {number}: {', '.join(step.nodes) or step.op}\n{size_text(step.live)} live"
        share = step.live / course.peak if course.peak else 0.0
        width = 3 if step.live == course.peak else 1
        looks = f'fillcolor="0.6 {share / 2:.3f} 1.0", penwidth={width}, tooltip={_quoted(_tooltip(step))}'
        yield f"    {prefix}{number} [label={_quoted(words)}, {looks}];"
    for first, then in shown.edges.get(region.name, ()):
        yield f"    {prefix}{first} -> {prefix}{then};"


def _tooltip(step: Step) -> str:
    return f"{step.op}, {step.delta:+,} bytes"


def _quoted(words: str) -> str:
    escaped = words.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
