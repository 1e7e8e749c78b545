# SPDX-License-Identifier: LGPL-2.1-or-later
"""The cases of the model: what differs from BASE, and in one line what it is about."""

BASE = {
    # The machine.
    "ncpu": 3, "pid_max": 160, "namespaces": 2, "nested": False, "processes": 8, "guests": 0, "vcpus": 1, "idle": 0.25, "forks": 0.05, "execs": 0.05,
    "exits": 0.05, "vmm_user": 0.1, "host_el": 2, "ms": 60, "hotplug": False, "freq": 25_000_000, "gap_percents": (6, 10, 14, 20, 30, 45),
    "guest_ctx": True,
    # The recorder. mode: cpu, task, thread; recorder: root, container; host_proc: a container that sees the /proc of the initial namespace.
    "kvm": False, "mode": "cpu", "recorder": "root", "host_proc": False, "ctx": True, "ctx_cpus": None, "switches": True, "tracepoint": False, "ns_records": False,
    "timestamps": True, "time_conv": True, "use_clockid": False, "wrap": False, "losses": 0, "truncate": 0, "late": False, "spe_leak": False,
    "spe_step_us": 40, "chunk": (700, 3000), "round": (2000, 6000), "period": 1024, "pmu": 9,
    "trace": "spe", "etm_chunk": 60, "etm_timestamps": 0.7, "guest_recordings": False, "guest_samples": False, "drift": False,
    # Changes that must leave the answers as they are: change.py.
    "shift_root": 0, "shift_local": 0, "unrelated": 0, "cuts": 0, "order": None,
}

REUSE = {"pid_max": 40, "exits": 0.4, "forks": 0.4, "processes": 5, "namespaces": 1}
LEAK = {"guests": 2, "vcpus": 2, "ncpu": 4, "spe_leak": True}
ETM = {"trace": "etm", "execs": 0, "ms": 25, "pmu": 8}
MERGE = {"guests": 2, "vcpus": 2, "ncpu": 4, "ms": 1500, "ctx": False, "guest_recordings": True, "pid_max": 4000, "spe_step_us": 2000}

CASES = {
    "root-ctx": ({}, "initial namespace, contexts and switches"),
    "root-ctx-el1": ({"host_el": 1}, "the same, kernel at EL1"),
    "root-switch": ({"ctx": False}, "initial namespace, no contexts"),
    "root-switch-ns": ({"ctx": False, "ns_records": True}, "the same with NAMESPACES records: idle is idle"),
    "root-ctx-lost": ({"losses": 4}, "contexts, rings overflow"),
    "root-switch-lost": ({"ctx": False, "losses": 4, "ns_records": True}, "switches only, rings overflow"),
    "root-tp": ({"ctx": False, "tracepoint": True}, "switches and sched_switch samples"),
    "partial-ctx": ({"ctx_cpus": (0,)}, "contexts on one CPU only"),
    "box-switch": ({"ctx": False, "recorder": "container"}, "recorder in a container, no contexts"),
    "box-mix": ({"recorder": "container"}, "privileged container: root ids in contexts, local ids elsewhere"),
    "box-mix-lost": ({"recorder": "container", "losses": 4}, "the same, rings overflow"),
    "box-tp": ({"ctx": False, "recorder": "container", "tracepoint": True, "ns_records": True}, "container with sched_switch samples"),
    "box-mix-tp": ({"recorder": "container", "tracepoint": True}, "container, contexts and sched_switch samples"),
    "box-hostproc": ({"recorder": "container", "ctx": False, "host_proc": True, "ns_records": True},
                     "container that sees the host's /proc: made-up records carry root ids"),
    "box-mix-hostproc": ({"recorder": "container", "host_proc": True}, "the same with contexts"),
    "task": ({"mode": "task", "ctx": False}, "one process tree, events that follow tasks, no contexts"),
    "task-ctx": ({"mode": "task"}, "the same with contexts"),
    "task-box": ({"mode": "task", "recorder": "container", "ctx": False}, "the same in a container, no contexts"),
    "task-noclock": ({"mode": "task", "ctx": False, "time_conv": False}, "the same, no TIME_CONV"),
    "thread": ({"mode": "thread", "ctx": False, "timestamps": False, "time_conv": False, "execs": 0, "forks": 0},
               "one thread, a buffer without CPU, no times at all"),
    "noclock": ({"ctx": False, "time_conv": False, "chunk": (100, 300), "ns_records": True}, "no TIME_CONV, no contexts: bounds by AUX records"),
    "noclock-ctx": ({"time_conv": False}, "no TIME_CONV, contexts"),
    "wrap": ({"ctx": False, "wrap": True, "ns_records": True}, "the 56-bit counter wraps while recording"),
    "clockid": ({"ctx": False, "use_clockid": True}, "times of another clock: not comparable"),
    "reuse": (dict(REUSE, ctx=False, ns_records=True), "ids are given away again within the recording"),
    "reuse-ctx": (REUSE, "the same with contexts"),
    "hotplug": ({"ctx": False, "hotplug": True, "ns_records": True}, "a CPU goes and comes back"),
    "truncate": ({"truncate": 0.01, "ctx": False, "ns_records": True}, "AUX data lost, cut records"),
    "late": ({"ctx": False, "late": True, "ns_records": True}, "rings are written late: newer records of other CPUs stand before theirs"),
    "storm": ({"ctx": False, "gap_percents": (10, 30, 60, 90), "ns_records": True}, "long switches"),
    "leak": (LEAK, "VHE host with an SPE that also samples guests (older kernels)"),
    "leak-noctx": (dict(LEAK, guest_ctx=False), "the same, guests do not write CONTEXTIDR: user code of vcpu threads is ambiguous"),
    "leak-kvm": (dict(LEAK, guest_ctx=False, kvm=True), "the same with samples of kvm_entry and kvm_exit"),
    "leak-kvm-lost": (dict(LEAK, guest_ctx=False, kvm=True, losses=4), "the same, rings overflow"),
    "leak-kvm-only": (dict(LEAK, guest_ctx=False, kvm=True, ctx=False, switches=False), "samples of kvm_entry and kvm_exit alone: no contexts, no switches"),
    "guests-quiet": ({"guests": 2, "vcpus": 2, "ncpu": 4}, "guests that SPE does not sample"),
    "etm": (ETM, "ETM, contexts of EL2 (VMIDOPT), kernel and user code"),
    "etm-el1": (dict(ETM, host_el=1), "ETM, contexts of EL1, kernel at EL1"),
    "etm-box": (dict(ETM, recorder="container"), "ETM in a container: the driver omits ids, switches only"),
    "etm-guests": (dict(ETM, guests=2, vcpus=2, ncpu=4, guest_recordings=True), "two guests with equal ids and overlapping addresses, ids of EL2 and EL1"),
    "etm-guests-noctx": (dict(ETM, guests=2, vcpus=2, ncpu=4, guest_recordings=True, guest_ctx=False), "the same, no ids of EL1"),
    "etm-guests-kvm": (dict(ETM, guests=2, vcpus=2, ncpu=4, guest_recordings=True, kvm=True), "etm-guests with samples of kvm_entry and kvm_exit"),
    "merge": (MERGE, "recordings of a host and its guests, one counter"),
    "merge-drift": (dict(MERGE, drift=True), "the same, clocks of guests drift and have no TIME_CONV"),
    "merge-ids": (dict(MERGE, ctx=True, spe_leak=True, spe_step_us=150), "the same as merge, the host's SPE samples guests, with ids of EL1"),
    "merge-lost": (dict(MERGE, losses=20, guest_samples=True), "the same as merge, records lost; guests record samples, too"),
}
ETM_CASES = [c for c in CASES if c.startswith("etm")]
MERGE_CASES = [c for c in CASES if c.startswith("merge")]
SPE_CASES = [c for c in CASES if c not in ETM_CASES + MERGE_CASES]

SPE_CONFIG = 7 << 32 | 1 << 16 | 1 << 1  # branches, loads, stores; jitter; pa_enable (ts_enable: bit 0)
ETM_TIMESTAMP, ETM_CONTEXT1, ETM_CONTEXT2 = 1 << 28, 1 << 14, 1 << 15


def options(case, seed, changes):
    """All options of a case; the seed chooses some sizes. @changes: over everything."""
    opts = {**BASE, **CASES[case][0]}
    opts["ncpu"] += seed % 2
    opts["nested"] = bool(seed % 2)
    if seed % 3 == 1:
        opts["freq"] = 100_000_000
    opts.update(changes)
    us = opts["us"] = opts["freq"] // 1_000_000
    opts["gaps"] = [max(1, us * percent // 100) for percent in opts["gap_percents"]]
    opts["spe_step"] = opts["spe_step_us"] * us
    if opts["trace"] == "etm":
        config = ETM_TIMESTAMP | (ETM_CONTEXT2 if opts["host_el"] == 2 else ETM_CONTEXT1)
    else:
        config = SPE_CONFIG | (1 if opts["timestamps"] else 0)
    opts["aux_config"] = (config, 0, 0)
    return opts
