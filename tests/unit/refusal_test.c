/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What each refusal of the kernel is explained as, on machines made up for it; and, on this one,
 * that the explanation fits what the kernel really says. */
#include "record/refusal/refusal.h"

#include <errno.h>

#include "os/file.h"
#include "os/perf/perf_event.h"
#include "perfdata/perf_attr.h"
#include "unit/tap.h"

enum { ROOT = 1 << 0, SECCOMP = 1 << 1, USER_NS = 1 << 2, OLD = 1 << 3, OTHERS = 1 << 4 };

#define NO_KERNEL PERF_ATTR_EXCLUDE_KERNEL

/* clang-format off */
static const struct row {
	const char *what;
	struct rec_refusal r;
	struct perf_attr attr;
	int paranoid;
	unsigned int world;
	const char *cause, *remedy; /* parts of the texts */
} rows[] = {
	{ "kernel at level 2", { REC_CALL_OPEN, EACCES, .event = "cycles", .pid = 7, .cpu = -1 },
	  { .type = 0 }, 2, 0,
	  "kernel.perf_event_paranoid is 2, and it takes 1 or less", "sudo sysctl kernel.perf_event_paranoid=1" },
	{ "user space at level 4 (Debian)", { REC_CALL_OPEN, EACCES, .event = "cycles:u", .pid = 7, .cpu = -1 },
	  { .flags = NO_KERNEL }, 4, 0, "is 4, and it takes 2 or less", "setcap cap_perfmon" },
	{ "all CPUs at level 1", { REC_CALL_OPEN, EACCES, .event = "cycles", .pid = -1, .cpu = 0 },
	  { .flags = NO_KERNEL }, 1, 0, "all processes of a CPU is closed", "perf_event_paranoid=0" },
	{ "raw tracepoint at level 0", { REC_CALL_OPEN, EPERM, .event = "sched:sched_switch", .pid = 7, .cpu = -1 },
	  { .type = PERF_TYPE_TRACEPOINT, .sample_type = PERF_SAMPLE_RAW }, 0, 0,
	  "it takes -1 or less", "perf_event_paranoid=-1" },
	{ "somebody else's process", { REC_CALL_OPEN, EACCES, .event = "cycles:u", .pid = 7, .cpu = -1 },
	  { .flags = NO_KERNEL }, 2, OTHERS, "process 7 belongs to user 0, but this is user 1000", "as that user" },
	{ "namespaces", { REC_CALL_OPEN, EACCES, .event = "dummy:u", .pid = 7, .cpu = -1 },
	  { .flags = NO_KERNEL | PERF_ATTR_NAMESPACES }, 2, 0, "--namespaces needs the capability CAP_PERFMON", "setcap" },
	{ "kernel breakpoint", { REC_CALL_OPEN, EPERM, .event = "mem:0xffffffff81000000:x", .pid = 7, .cpu = -1 },
	  { .type = PERF_TYPE_BREAKPOINT, .config1 = 0xffffffff81000000, .flags = NO_KERNEL }, 2, 0,
	  "a breakpoint on a kernel address needs", "setcap cap_sys_admin" },
	{ "probe", { REC_CALL_OPEN, EACCES, .event = "uprobe:/x:y", .pmu = "uprobe", .pid = 7, .cpu = -1 },
	  { .type = 8 }, 2, 0, "placing a probe needs the capability CAP_PERFMON", "setcap cap_perfmon,cap_bpf," },
	{ "physical addresses", { REC_CALL_OPEN, EACCES, .event = "cycles:u", .pid = 7, .cpu = -1 },
	  { .flags = NO_KERNEL, .sample_type = PERF_SAMPLE_PHYS_ADDR }, 2, 0,
	  "recording physical addresses is closed", "perf_event_paranoid=1" },
	{ "no such tracepoint", { REC_CALL_OPEN, EINVAL, .event = "2:99999", .pid = 7, .cpu = -1 },
	  { .type = PERF_TYPE_TRACEPOINT, .config = 99999 }, 2, ROOT, "no tracepoint of number 99999", "" },
	{ "docker", { REC_CALL_OPEN, EPERM, .event = "cycles:u", .pid = 7, .cpu = -1 },
	  { .flags = NO_KERNEL }, 2, SECCOMP, "seccomp filter refuses", "docker run --cap-add PERFMON" },
	{ "root in a user namespace", { REC_CALL_OPEN, EACCES, .event = "cycles", .pid = 7, .cpu = -1 },
	  { .flags = 0 }, 2, ROOT | USER_NS, "user namespace", "perf_event_paranoid=1" },
	{ "no PMU", { REC_CALL_OPEN, ENOENT, .event = "instructions", .pid = 7, .cpu = -1 },
	  { .type = PERF_TYPE_HARDWARE }, 2, ROOT, "no hardware counters", "-e cpu-clock" },
	{ "module gone", { REC_CALL_OPEN, ENOENT, .event = "x:y", .pid = 7, .cpu = -1 },
	  { .type = PERF_TYPE_TRACEPOINT }, 2, ROOT, "no longer has this tracepoint", "" },
	{ "CPU offline", { REC_CALL_OPEN, ENODEV, .event = "cycles", .pid = -1, .cpu = 9 },
	  { .type = 0 }, 2, ROOT, "CPU 9 is offline", "-C" },
	{ "descriptors", { REC_CALL_OPEN, EMFILE, .event = "cs", .pid = 7, .cpu = 0 },
	  { .type = 1 }, 2, ROOT, "may have 1024", "ulimit -n 4096" },
	{ "breakpoints used up", { REC_CALL_OPEN, ENOSPC, .event = "mem:0x10:w", .pid = 7, .cpu = -1 },
	  { .type = PERF_TYPE_BREAKPOINT }, 2, ROOT, "breakpoints are in use", "fewer mem:" },
	{ "PT taken", { REC_CALL_OPEN, EBUSY, .event = "intel_pt//", .pmu = "intel_pt", .pid = 7, .cpu = -1 },
	  { .type = 9 }, 2, ROOT, "Intel PT is in use", "kvm" },
	{ "ended", { REC_CALL_OPEN, ESRCH, .event = "cs", .pid = 77, .cpu = -1 },
	  { .type = 1 }, 2, ROOT, "77 has ended", "" },
	{ "unknown flag", { REC_CALL_OPEN, EINVAL, .event = "cs", .pid = 7, .cpu = -1 },
	  { .type = 1, .flags = PERF_ATTR_BUILD_ID }, 2, ROOT | OLD, "does not know attr.build_id (mainline has it since Linux 5.12)", "newer kernel" },
	{ "unknown sample bit", { REC_CALL_OPEN, EINVAL, .event = "cs", .pid = 7, .cpu = -1 },
	  { .type = 1, .sample_type = PERF_SAMPLE_CGROUP }, 2, ROOT | OLD, "attr.sample_type cgroup", "" },
	{ "rate", { REC_CALL_OPEN, EINVAL, .event = "cs", .pid = 7, .cpu = -1 },
	  { .type = 1, .flags = PERF_ATTR_FREQ, .sample_period = 1000000 }, 2, ROOT, "perf_event_max_sample_rate", "-F 100000" },
	{ "clock", { REC_CALL_OPEN, EINVAL, .event = "cs", .pid = 7, .cpu = -1 },
	  { .type = 1, .flags = PERF_ATTR_USE_CLOCKID, .clockid = 5 }, 2, ROOT, "clock 5", "-k monotonic" },
	{ "aux-action without group", { REC_CALL_OPEN, EINVAL, .event = "cs", .pid = 7, .cpu = -1 },
	  { .type = 1, .aux_action = PERF_AUX_PAUSE }, 2, ROOT, "its group's leader, but it has none", "put the trace first" },
	{ "aux-action twice", { REC_CALL_OPEN, EINVAL, .event = "cs", .pid = 7, .cpu = -1 },
	  { .type = 1, .aux_action = PERF_AUX_PAUSE | PERF_AUX_RESUME }, 2, ROOT, "both pause and resume", "" },
	{ "aux-action, the trace cannot", { REC_CALL_OPEN, EOPNOTSUPP, .event = "x//", .pmu = "x", .is_trace = true },
	  { .type = 9, .aux_action = PERF_AUX_START_PAUSED }, 2, ROOT, "PMU x cannot pause its trace", "--filter" },
	{ "aux-action, the leader's PMU cannot",
	  { REC_CALL_OPEN, EINVAL, .event = "cs", .has_leader = true, .leader_pmu = "x", .pausing = REC_PAUSING_IMPOSSIBLE },
	  { .type = 1, .aux_action = PERF_AUX_RESUME }, 2, ROOT, "PMU x cannot pause its trace", "-S" },
	{ "aux-action, the leader can, a rule is broken",
	  { REC_CALL_OPEN, EINVAL, .event = "cs", .has_leader = true, .leader_pmu = "x", .pausing = REC_PAUSING_POSSIBLE },
	  { .type = 1, .aux_action = PERF_AUX_RESUME }, 2, ROOT, "of the same task and CPU", "no-inherit" },
	{ "two traces in a buffer", { REC_CALL_OUTPUT, EINVAL, .event = "x//", .pmu = "x", .is_trace = true },
	  { .type = 9 }, 2, ROOT, "traces of two PMUs", "one at a time" },
	{ "a learned trace of a thread", { REC_CALL_OPEN, EINVAL, .event = "x//", .pmu = "x", .pid = 7, .cpu = -1, .is_trace = true },
	  { .type = 9 }, 2, ROOT, "finds the event's settings inconsistent", "omit terms" },
	{ "aux-action, leader cannot", { REC_CALL_OPEN, EINVAL, .event = "cs", .pid = 7, .cpu = -1, .has_leader = true },
	  { .type = 1, .aux_action = PERF_AUX_RESUME }, 2, ROOT, "cannot be paused", "" },
	{ "start-paused, PMU cannot", { REC_CALL_OPEN, EOPNOTSUPP, .event = "cs", .pid = 7, .cpu = -1 },
	  { .type = 1, .aux_action = PERF_AUX_START_PAUSED }, 2, ROOT, "could start paused", "on the trace event itself" },
	{ "aux-output, PMU cannot", { REC_CALL_OPEN, EOPNOTSUPP, .event = "cs", .pid = 7, .cpu = -1 },
	  { .type = 1, .flags = PERF_ATTR_AUX_OUTPUT }, 2, ROOT, "cannot write into a trace", "" },
	{ "aux-sample without group", { REC_CALL_OPEN, EINVAL, .event = "cs", .pid = 7, .cpu = -1 },
	  { .type = 1, .aux_sample_size = 8 }, 2, ROOT, "aux-sample-size needs a group", "put the trace first" },
	{ "no branches", { REC_CALL_OPEN, EOPNOTSUPP, .event = "cycles", .pid = 7, .cpu = -1 },
	  { .type = 0, .branch_sample_type = 1 }, 2, ROOT, "no branch stack", "-b" },
	{ "no interrupt", { REC_CALL_OPEN, EOPNOTSUPP, .event = "cycles", .pid = 7, .cpu = -1 },
	  { .type = 0, .sample_period = 1 }, 2, ROOT, "no interrupt", "cpu-clock" },
	{ "package PMU on a thread", { REC_CALL_OPEN, EINVAL, .event = "msr/tsc/", .pmu = "msr", .pid = 7, .cpu = -1 },
	  { .type = 8 }, 2, ROOT, "for whole CPUs", "-a" },
	{ "breakpoint not aligned", { REC_CALL_OPEN, EINVAL, .event = "mem:0x1001/4:w", .pid = 7, .cpu = -1 },
	  { .type = PERF_TYPE_BREAKPOINT, .config1 = 0x1001, .config2 = 4, .bp_type = 2 }, 2, ROOT, "not a multiple of the 4 bytes", "mem:0x1001/1" },
	{ "group too large", { REC_CALL_OPEN, EINVAL, .event = "cycles", .pid = 7, .cpu = -1, .has_leader = true },
	  { .type = 0 }, 2, ROOT, "whole group", ":W" },
	{ "chain too deep", { REC_CALL_OPEN, EOVERFLOW, .event = "cs", .pid = 7, .cpu = -1 },
	  { .type = 1, .sample_max_stack = 500 }, 2, ROOT, "call chains of 500", "perf_event_max_stack=500" },
	{ "attr too large", { REC_CALL_OPEN, E2BIG, .event = "cs", .pid = 7, .cpu = -1 },
	  { .type = 1 }, 2, ROOT, "has only 128 bytes", "config3" },
	{ "mlock", { REC_CALL_MMAP, EPERM, .event = "cs", .pid = 7, .cpu = 0, .map_bytes = (128 + 1) * 4096 },
	  { .type = 1 }, 2, 0, "kernel.perf_event_mlock_kb is 516", "-m 64" },
	{ "mlock of AUX", { REC_CALL_MMAP_AUX, EPERM, .event = "intel_pt//", .pid = 7, .cpu = 0, .map_bytes = 4 << 20 },
	  { .type = 9 }, 2, 0, "4096 KiB per CPU", "-m ,512" },
	{ "no AUX", { REC_CALL_MMAP_AUX, EOPNOTSUPP, .event = "x//", .pmu = "x", .pid = 7, .cpu = 0 },
	  { .type = 9 }, 2, ROOT, "PMU x has no AUX area", "" },
	{ "filter", { REC_CALL_FILTER, EINVAL, .event = "sched:sched_switch", .pid = 7, .filter = "prev_pidd==0" },
	  { .type = 2 }, 2, ROOT, "'prev_pidd==0' is not understood", "sched_switch/format" },
	{ "aux-action, older kernel", { REC_CALL_OPEN, EINVAL, .event = "x//", .pmu = "x", .is_trace = true },
	  { .type = 9, .aux_action = PERF_AUX_START_PAUSED }, 2, ROOT | OLD, "this kernel does not know aux-action", "newer kernel" },
	{ "aux-action, reserved bits", { REC_CALL_OPEN, EINVAL, .event = "cs", .pid = 7, .cpu = -1 },
	  { .type = 1, .aux_action = 1 << 3 }, 2, ROOT, "finds the event's settings inconsistent, and does not say which", "omit terms" },
	{ "aux-action and aux-output", { REC_CALL_OPEN, EOPNOTSUPP, .event = "cs", .pid = 7, .cpu = -1 },
	  { .type = 1, .aux_action = PERF_AUX_PAUSE, .flags = PERF_ATTR_AUX_OUTPUT }, 2, ROOT, "exclude each other", "" },
	{ "a counter of no PMU that acts", { REC_CALL_OPEN, ENOENT, .event = "cycles", .pid = 7, .cpu = -1, .has_leader = true, .leader_pmu = "x" },
	  { .type = PERF_TYPE_HARDWARE, .aux_action = PERF_AUX_PAUSE }, 2, ROOT, "no hardware counters", "-e cpu-clock" },
	{ "aux-sample, leader cannot", { REC_CALL_OPEN, EINVAL, .event = "cs", .pid = 7, .cpu = -1, .has_leader = true, .leader_pmu = "x" },
	  { .type = 1, .aux_sample_size = 8 }, 2, ROOT, "a trace PMU that can be sampled", "put the trace first" },
	{ "a trace that another recording has", { REC_CALL_OPEN, EBUSY, .event = "x//", .pmu = "x", .pid = 7, .cpu = -1, .is_trace = true },
	  { .type = 9 }, 2, ROOT, "PMU x is in exclusive use: by another recording of it (of all CPUs or of tasks, never both), or a buffer", "pgrep" },
	{ "an inherited thread's buffer", { REC_CALL_MMAP, EINVAL, .event = "cs", .pid = 7, .cpu = -1, .map_bytes = 4096 },
	  { .type = 1, .flags = PERF_ATTR_INHERIT }, 2, ROOT, "threads that inherit it", "omit its inherit, or --per-thread" },
	{ "size of an AUX area", { REC_CALL_MMAP_AUX, EINVAL, .event = "x//", .pmu = "x", .pid = 7, .cpu = 0, .map_bytes = 12288, .is_trace = true },
	  { .type = 9 }, 2, ROOT, "AUX area of 12288 bytes is refused: the size must be a power of two of pages that this PMU can handle", "-m ,16M" },
	{ "no memory for an AUX area", { REC_CALL_MMAP_AUX, ENOMEM, .event = "x//", .pmu = "x", .pid = 7, .cpu = 0, .map_bytes = 1 << 20, .is_trace = true },
	  { .type = 9 }, 2, ROOT, "no memory for its AUX area of 1024 KiB", "-m" },
	{ "another direction", { REC_CALL_OUTPUT, EINVAL, .event = "cs", .pid = 7, .cpu = 0 },
	  { .type = 1 }, 2, ROOT, "of one CPU or thread, of one clock", "separately" },
	{ "an address filter too many", { REC_CALL_FILTER, EOPNOTSUPP, .event = "x//", .pmu = "x", .pid = 7, .is_trace = true, .filter = "filter 0x1/0x1" },
	  { .type = 9 }, 2, ROOT, "x refuses the address filter 'filter 0x1/0x1': it is one too many", "clew-events(7)" },
	{ "no address filters", { REC_CALL_FILTER, EINVAL, .event = "x//", .pmu = "x", .pid = 7, .is_trace = true, .filter = "filter 0x1/0x1" },
	  { .type = 9 }, 2, ROOT, "it has none, or not this form", "omit --filter" },
	{ "a filter's file has gone", { REC_CALL_FILTER, ENOENT, .event = "x//", .pmu = "x", .pid = 7, .is_trace = true, .filter = "filter 0x1/0x1@/y" },
	  { .type = 9 }, 2, ROOT, "'filter 0x1/0x1@/y' has gone", "" },
	{ "unforeseen", { REC_CALL_OPEN, EIO, .event = "cs", .pid = 7, .cpu = -1 },
	  { .type = 1 }, 2, ROOT, "Input/output error", "" },
};
/* clang-format on */

static struct rec_host_facts world_of(const struct row *r)
{
	struct rec_host_facts w = {
		.caps = {.uid = r->world & ROOT ? 0 : 1000,
			 .effective = r->world & ROOT ? UINT64_MAX : 0,
			 .paranoid = r->paranoid,
			 .nr_files = 1024,
			 .nr_files_hard = 4096,
			 .memlock_bytes = 64 << 10,
			 .mlock_kb = 516,
			 .seccomp = r->world & SECCOMP ? 2 : 0,
			 .is_initial_user_ns = !(r->world & USER_NS),
			 .container = ""},
		.features = {.can_open = true,
                         .attr_bytes = 128,
                         .flags = UINT64_MAX,
                         .sample_type = UINT64_MAX,
                         .read_format = UINT64_MAX,
                         .clockids = 1 << 1,
                         .has_aux_action = true},
		.max_rate = 100000,
		.max_stack = 127,
		.is_uid_known = r->world & OTHERS,
	};

	if (r->world & OLD) {
		w.features.flags &= ~PERF_ATTR_BUILD_ID;
		w.features.sample_type &= ~PERF_SAMPLE_CGROUP;
		w.features.has_aux_action = false;
	}
	return w;
}

static void check_rows(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *row = &rows[i];
		struct rec_refusal r = row->r;
		struct rec_host_facts w = world_of(row);
		struct rec_error error;
		bool is_ok;

		r.attr = &row->attr;
		rec_refusal_explain(&r, &w, &error);
		is_ok = strstr(error.text, row->cause) &&
			(*row->remedy ? strstr(error.hint, row->remedy) != NULL : true);
		CHECK(is_ok, "%s", row->what);
		if (!is_ok)
			printf("# %s\n# %s\n", error.text, error.hint);
	}
}

/* Linux does not refuse joined rings, and filters of tracepoints, with it. */
static bool is_impossible(const struct rec_refusal *r)
{
	return r->os_errno == EOPNOTSUPP &&
	       (r->call == REC_CALL_OUTPUT || (r->call == REC_CALL_FILTER && !r->is_trace));
}

/* What the kernel says of a broken rule is never all that the user gets. */
static void check_no_bare_errno(void)
{
	static const int errnos[] = {EINVAL, EOPNOTSUPP};
	size_t nr_bare = 0, nr = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		for (int k = 0; k < 2 * (REC_CALL_FILTER + 1); k++) {
			struct rec_refusal r = rows[i].r;
			struct rec_host_facts w = world_of(&rows[i]);
			struct rec_error error;

			r.attr = &rows[i].attr;
			r.call = (enum rec_call)(k / 2);
			r.os_errno = errnos[k % 2];
			if (is_impossible(&r))
				continue;
			rec_refusal_explain(&r, &w, &error);
			nr++;
			nr_bare += strstr(error.text, strerror(r.os_errno)) != NULL;
			if (strstr(error.text, strerror(r.os_errno)))
				printf("# %s, call %d: %s\n", rows[i].what, k / 2, error.text);
		}
	}
	CHECK(!nr_bare, "none of %zu explanations is the errno's own text", nr);
}

static int open_errno(const struct perf_attr *attr)
{
	uint8_t bytes[PERF_ATTR_SIZE_VER9];
	int fd;

	perf_attr_for_kernel(attr, bytes);
	fd = os_perf_open(bytes, 0, -1, -1, 0);
	if (fd >= 0)
		os_close(fd);
	return fd < 0 ? -fd : 0;
}

/* Every bit that is said to be known opens, or is refused for another reason than being unknown;
 * an attr that was fitted opens. */
static void check_features(void)
{
	struct rec_features f;
	struct perf_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = PERF_ATTR_SIZE_VER9,
		.config = PERF_COUNT_SW_DUMMY,
		.flags = PERF_ATTR_DISABLED | PERF_ATTR_EXCLUDE_KERNEL | PERF_ATTR_EXCLUDE_HV |
			 PERF_ATTR_MMAP2 | PERF_ATTR_COMM_EXEC | PERF_ATTR_KSYMBOL |
			 PERF_ATTR_BPF_EVENT | PERF_ATTR_CGROUP | PERF_ATTR_TEXT_POKE |
			 PERF_ATTR_BUILD_ID | PERF_ATTR_DEFER_CALLCHAIN,
		.sample_type = PERF_SAMPLE_CALLCHAIN,
		.read_format = PERF_FORMAT_LOST,
	};

	rec_probe_features(&f);
	if (!f.can_open) {
		SKIP("perf_event_open is refused here");
		return;
	}
	printf("# attr %u bytes, flags %llx, sample_type %llx, read_format %llx, clocks %x, "
	       "aux_action %d\n",
	       f.attr_bytes, (unsigned long long)f.flags, (unsigned long long)f.sample_type,
	       (unsigned long long)f.read_format, f.clockids, f.has_aux_action);
	CHECK(f.attr_bytes >= PERF_ATTR_SIZE_VER0, "the kernel reports its attr's size");
	CHECK(f.clockids & 1 << 1, "CLOCK_MONOTONIC is known");
	rec_features_fit(&f, &attr);
	CHECK_EQ(open_errno(&attr), 0, "what is left of an attr that asks for all opens");
	CHECK(!rec_features_fit(&f, &attr), "fitting twice changes nothing");
	f.flags &= ~PERF_ATTR_BUILD_ID;
	attr.flags |= PERF_ATTR_BUILD_ID;
	CHECK(rec_features_fit(&f, &attr) && !(attr.flags & PERF_ATTR_BUILD_ID),
	      "build_id is taken out for a kernel without it");
}

/* The aux_action contract as this kernel has it. */
static void check_aux_contract(void)
{
	static const struct {
		uint32_t action;
		int err;
	} cases[] = {
		{PERF_AUX_START_PAUSED,            EOPNOTSUPP},
		{PERF_AUX_PAUSE,                   EINVAL    },
		{PERF_AUX_PAUSE | PERF_AUX_RESUME, EINVAL    },
	};
	struct rec_features f;

	rec_probe_features(&f);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct perf_attr attr = {.type = PERF_TYPE_SOFTWARE,
					 .size = PERF_ATTR_SIZE_VER9,
					 .config = PERF_COUNT_SW_DUMMY,
					 .flags = PERF_ATTR_EXCLUDE_KERNEL | PERF_ATTR_EXCLUDE_HV,
					 .aux_action = cases[i].action};

		if (!f.can_open || !f.has_aux_action)
			SKIP("no aux_action here");
		else
			CHECK_EQ(open_errno(&attr), cases[i].err, "aux_action %u on a dummy event",
				 cases[i].action);
	}
}

int main(void)
{
	check_rows();
	check_no_bare_errno();
	check_features();
	check_aux_contract();
	return tap_done();
}
