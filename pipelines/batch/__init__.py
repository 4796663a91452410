"""Many models at once: what there is to do, doing it in contained processes, what came of it."""
