"""`serenity bench`: the measurements that documents quote, one command each."""

from __future__ import annotations

import click


@click.group()
def bench() -> None:
    """Measure the scheduler, the packer and whole networks beside published figures."""
