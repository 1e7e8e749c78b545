# SPDX-License-Identifier: LGPL-2.1-or-later
"""Changes of a recording that must not change answers, or only where evidence is gone (section 14.5 of the specification)."""
import random

NR_UNRELATED = 300
SHIFT = 5000

CHANGES = {
    "order": (lambda seed: {"order": random.Random(f"order/{seed}")}, "rings are read in another order, trace before or after its sideband"),
    "cuts": (lambda seed: {"cuts": 1 + seed}, "chunks of AUX data end elsewhere"),
    "unrelated": (lambda seed: {"unrelated": NR_UNRELATED}, "threads that never run"),
    "shift-root": (lambda seed: {"shift_root": SHIFT}, "all root ids are greater by a constant"),
    "shift-local": (lambda seed: {"shift_local": SHIFT}, "all ids of containers are greater by a constant"),
    "no-contexts": (lambda seed: {"ctx": False}, "no context packets"),
    "no-switches": (lambda seed: {"switches": False}, "no switch records"),
}


def options(name, seed):
    return CHANGES[name][0](seed)
