/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/plan/kernel_probes.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "os/file.h"
#include "os/perf/perf_event.h"
#include "perfdata/perf_attr.h"

/* clang-format off */
const struct rec_feature_name rec_flag_names[] = {
	{ PERF_ATTR_EXCLUDE_CALLCHAIN_KERNEL, "exclude_callchain_kernel", "3.7",  false },
	{ PERF_ATTR_EXCLUDE_CALLCHAIN_USER,   "exclude_callchain_user",   "3.7",  false },
	{ PERF_ATTR_MMAP2,                    "mmap2",                    "3.16", true },
	{ PERF_ATTR_COMM_EXEC,                "comm_exec",                "3.16", true },
	{ PERF_ATTR_USE_CLOCKID,              "use_clockid",              "4.1",  false },
	{ PERF_ATTR_CONTEXT_SWITCH,           "context_switch",           "4.3",  false },
	{ PERF_ATTR_WRITE_BACKWARD,           "write_backward",           "4.7",  false },
	{ PERF_ATTR_NAMESPACES,               "namespaces",               "4.12", false },
	{ PERF_ATTR_KSYMBOL,                  "ksymbol",                  "5.1",  true },
	{ PERF_ATTR_BPF_EVENT,                "bpf_event",                "5.1",  true },
	{ PERF_ATTR_AUX_OUTPUT,               "aux_output",               "5.4",  false },
	{ PERF_ATTR_CGROUP,                   "cgroup",                   "5.7",  true },
	{ PERF_ATTR_TEXT_POKE,                "text_poke",                "5.9",  true },
	{ PERF_ATTR_BUILD_ID,                 "build_id",                 "5.12", true },
	{ PERF_ATTR_INHERIT_THREAD,           "inherit_thread",           "5.13", false },
	{ PERF_ATTR_REMOVE_ON_EXEC,           "remove_on_exec",           "5.13", false },
	{ PERF_ATTR_SIGTRAP,                  "sigtrap",                  "5.13", false },
	{ PERF_ATTR_DEFER_CALLCHAIN,          "defer_callchain",          "6.19", true },
	{ PERF_ATTR_DEFER_OUTPUT,             "defer_output",             "6.19", true },
	{ 0, NULL, NULL, false },
};

const struct rec_feature_name rec_sample_names[] = {
	{ PERF_SAMPLE_IDENTIFIER,     "identifier",     "3.12", false },
	{ PERF_SAMPLE_TRANSACTION,    "transaction",    "3.13", true },
	{ PERF_SAMPLE_PHYS_ADDR,      "phys_addr",      "4.14", false },
	{ PERF_SAMPLE_AUX,            "aux",            "5.5",  false },
	{ PERF_SAMPLE_CGROUP,         "cgroup",         "5.7",  false },
	{ PERF_SAMPLE_DATA_PAGE_SIZE, "data_page_size", "5.11", false },
	{ PERF_SAMPLE_CODE_PAGE_SIZE, "code_page_size", "5.11", false },
	{ PERF_SAMPLE_WEIGHT_STRUCT,  "weight_struct",  "5.12", false },
	{ 0, NULL, NULL, false },
};

const struct rec_feature_name rec_read_names[] = {
	{ PERF_FORMAT_LOST, "lost", "6.0", true },
	{ 0, NULL, NULL, false },
};
/* clang-format on */

/* A dummy event of this thread, user space only, so that paranoid levels do not matter. */
static struct perf_attr dummy(void)
{
	return (struct perf_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = PERF_ATTR_SIZE_VER9,
		.config = PERF_COUNT_SW_DUMMY,
		.flags = PERF_ATTR_DISABLED | PERF_ATTR_EXCLUDE_KERNEL | PERF_ATTR_EXCLUDE_HV,
	};
}

/* @return 0, or the errno. */
static int try_open(const struct perf_attr *attr)
{
	uint8_t bytes[PERF_ATTR_SIZE_VER9];
	int fd;

	perf_attr_for_kernel(attr, bytes);
	fd = os_perf_open(bytes, 0, -1, -1, 0);
	if (fd < 0)
		return -fd;
	os_close(fd);
	return 0;
}

/* The kernel checks what it knows before whether it is allowed: any other refusal means known. */
static bool is_known(const struct perf_attr *attr)
{
	int err = try_open(attr);

	return err != EINVAL && err != E2BIG;
}

/* Flags that are refused alone. */
static uint64_t companions(uint64_t flag)
{
	switch (flag) {
	case PERF_ATTR_INHERIT_THREAD:
		return PERF_ATTR_INHERIT;
	case PERF_ATTR_SIGTRAP:
		return PERF_ATTR_REMOVE_ON_EXEC;
	default:
		return 0;
	}
}

static void probe_flags(struct rec_features *f)
{
	f->flags = PERF_ATTR_EXCLUDE_CALLCHAIN_KERNEL - 1; /* all that Linux 3.6 had */
	for (const struct rec_feature_name *n = rec_flag_names; n->name; n++) {
		struct perf_attr attr = dummy();

		attr.flags |= n->bit | companions(n->bit);
		if (n->bit == PERF_ATTR_USE_CLOCKID)
			attr.clockid = CLOCK_MONOTONIC;
		if (n->bit == PERF_ATTR_DEFER_CALLCHAIN)
			attr.sample_type = PERF_SAMPLE_CALLCHAIN;
		if (is_known(&attr))
			f->flags |= n->bit;
	}
}

static void probe_samples(struct rec_features *f)
{
	f->sample_type = (PERF_SAMPLE_IDENTIFIER - 1) | PERF_SAMPLE_REGS_INTR;
	for (const struct rec_feature_name *n = rec_sample_names; n->name; n++) {
		struct perf_attr attr = dummy();

		attr.sample_type = n->bit;
		if (is_known(&attr))
			f->sample_type |= n->bit;
	}
	f->read_format = PERF_FORMAT_LOST - 1;
	for (const struct rec_feature_name *n = rec_read_names; n->name; n++) {
		struct perf_attr attr = dummy();

		attr.read_format = n->bit;
		if (is_known(&attr))
			f->read_format |= n->bit;
	}
}

static void probe_clocks(struct rec_features *f)
{
	static const int clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW,
				     CLOCK_BOOTTIME, CLOCK_TAI};

	for (size_t i = 0; i < sizeof(clocks) / sizeof(*clocks); i++) {
		struct perf_attr attr = dummy();

		attr.flags |= PERF_ATTR_USE_CLOCKID;
		attr.clockid = clocks[i];
		if (is_known(&attr))
			f->clockids |= 1u << clocks[i];
	}
}

/* A start paused on a software event is refused for what it is (EOPNOTSUPP) where it is understood,
 * and as reserved bits (EINVAL, E2BIG) where not. */
static bool probe_aux_action(void)
{
	struct perf_attr attr = dummy();

	attr.aux_action = PERF_AUX_START_PAUSED;
	return is_known(&attr);
}

/* Given an attr larger than its own with something at the end, the kernel says E2BIG and puts its
 * size into the attr. */
static uint32_t probe_size(void)
{
	uint8_t bytes[512] = {0};
	struct perf_attr attr = dummy();
	uint32_t size = sizeof(bytes);

	perf_attr_for_kernel(&attr, bytes);
	memcpy(bytes + 4, &size, sizeof(size));
	bytes[sizeof(bytes) - 1] = 1;
	if (os_perf_open(bytes, 0, -1, -1, 0) != -E2BIG)
		return 0;
	memcpy(&size, bytes + 4, sizeof(size));
	return size;
}

void rec_probe_features(struct rec_features *ret)
{
	struct perf_attr attr = dummy();

	*ret = (struct rec_features){.open_errno = try_open(&attr)};
	ret->can_open = !ret->open_errno;
	if (!ret->can_open) {
		ret->flags = ret->sample_type = ret->read_format = UINT64_MAX;
		ret->clockids = UINT32_MAX;
		ret->has_aux_action = true;
		return;
	}
	ret->attr_bytes = probe_size();
	ret->has_aux_action = probe_aux_action();
	probe_flags(ret);
	probe_samples(ret);
	probe_clocks(ret);
}

static uint64_t fit(const struct rec_feature_name *names, uint64_t known, uint64_t wanted)
{
	for (; names->name; names++) {
		if (names->is_optional && !(known & names->bit))
			wanted &= ~names->bit;
	}
	return wanted;
}

bool rec_features_fit(const struct rec_features *f, struct perf_attr *attr)
{
	struct perf_attr before = *attr;

	attr->flags = fit(rec_flag_names, f->flags, attr->flags);
	attr->sample_type = fit(rec_sample_names, f->sample_type, attr->sample_type);
	attr->read_format = fit(rec_read_names, f->read_format, attr->read_format);
	return before.flags != attr->flags || before.sample_type != attr->sample_type ||
	       before.read_format != attr->read_format;
}
