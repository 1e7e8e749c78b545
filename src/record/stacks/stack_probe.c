/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/stacks/stack_probe.h"

#include <errno.h>
#include <string.h>

#include "os/clock.h"
#include "os/file.h"
#include "os/perf/perf_event.h"
#include "os/perf/ring.h"
#include "os/proc.h"
#include "perfdata/perf_attr.h"
#include "perfdata/perf_regs.h"
#include "perfdata/perf_sample.h"

enum { PROBE_PERIOD_NS = 250000, PROBE_PAGES = 16, ENOUGH_SAMPLES = 8 };

/* An emulated CPU may take long for the first sample. */
#define PROBE_NS 1000000000ull

static struct perf_attr user_clock(void)
{
	return (struct perf_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = PERF_ATTR_SIZE_VER9,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = PROBE_PERIOD_NS,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
		.flags = PERF_ATTR_EXCLUDE_KERNEL | PERF_ATTR_EXCLUDE_HV | PERF_ATTR_SAMPLE_ID_ALL,
	};
}

static int open_self(const struct perf_attr *attr)
{
	uint8_t bytes[PERF_ATTR_SIZE_VER9];

	perf_attr_for_kernel(attr, bytes);
	return os_perf_open(bytes, 0, -1, -1, 0);
}

static bool has_marker(struct bytes body, const struct perf_attr *attr)
{
	struct perf_sample s;

	if (perf_sample_parse(body, 0, false, attr, &s) != CLEW_OK)
		return false;
	for (uint32_t i = 0; i < s.callchain.nr; i++)
		if (perf_words_get(&s.callchain, i) == PERF_CONTEXT_USER_DEFERRED)
			return true;
	return false;
}

/* Samples of the ring so far, which is too large to be filled by them. */
static bool look(struct os_ring *ring, const struct perf_attr *attr, size_t *nr_samples)
{
	struct perf_event_header h;
	struct bytes part[2];

	*nr_samples = 0;
	os_ring_peek(ring, part);
	while (bytes_left(&part[0]) >= sizeof(h)) {
		memcpy(&h, part[0].pos, sizeof(h));
		if (h.size < sizeof(h) || h.size > bytes_left(&part[0]))
			return false;
		*nr_samples += h.type == PERF_RECORD_SAMPLE;
		if (h.type == PERF_RECORD_SAMPLE &&
		    has_marker((struct bytes){part[0].pos + sizeof(h), part[0].pos + h.size}, attr))
			return true;
		part[0].pos += h.size;
	}
	return false;
}

static enum clew_err self_test(int fd, const struct perf_attr *attr, struct rec_error *error)
{
	uint64_t until = os_clock_ns() + PROBE_NS;
	struct os_ring ring;
	size_t nr = 0;
	bool is_seen = false;
	int err = os_ring_map(fd, PROBE_PAGES * (size_t)os_page_bytes(), false, &ring);

	if (err)
		return rec_fail_os(error, err, "its self test got no buffer");
	while (!is_seen && nr < ENOUGH_SAMPLES && os_clock_ns() < until)
		is_seen = look(&ring, attr, &nr);
	os_ring_unmap(&ring);
	if (is_seen)
		return CLEW_OK;
	if (nr)
		return rec_fail(
			error, CLEW_UNSUPPORTED,
			"the kernel accepts attr.defer_callchain but records ordinary chains: it "
			"is built without CONFIG_UNWIND_USER");
	return rec_fail(error, CLEW_UNSUPPORTED, "its self test brought no samples");
}

enum clew_err rec_probe_kernel_deferral(struct rec_error *error)
{
	struct perf_attr attr = user_clock();
	enum clew_err err;
	int fd;

	attr.flags |= PERF_ATTR_DEFER_CALLCHAIN | PERF_ATTR_DEFER_OUTPUT;
	fd = open_self(&attr);
	if (fd == -EINVAL || fd == -E2BIG)
		return rec_fail(
			error, CLEW_UNSUPPORTED,
			"this kernel has no attr.defer_callchain (mainline since Linux 6.19): "
			"perf_event_open gives %s",
			fd == -EINVAL ? "EINVAL" : "E2BIG");
	if (fd < 0)
		return rec_fail_os(error, fd, "perf_event_open");
	err = self_test(fd, &attr, error);
	os_close(fd);
	return err;
}

enum clew_err rec_probe_stack_copy(struct rec_error *error)
{
	struct perf_attr attr = user_clock();
	int fd;

#if defined(__x86_64__)
	attr.sample_regs_user =
		1ull << PERF_REG_X86_BP | 1ull << PERF_REG_X86_SP | 1ull << PERF_REG_X86_IP;
#elif defined(__aarch64__)
	attr.sample_regs_user =
		1ull << PERF_REG_ARM64_X29 | 1ull << PERF_REG_ARM64_SP | 1ull << PERF_REG_ARM64_PC;
#else
	return rec_fail(error, CLEW_UNSUPPORTED,
			"clew does not know the registers of this machine");
#endif
	attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr.sample_stack_user = 1024;
	attr.flags |= PERF_ATTR_EXCLUDE_CALLCHAIN_USER | PERF_ATTR_DISABLED;
	fd = open_self(&attr);
	if (fd < 0)
		return rec_fail_os(error, fd, "perf_event_open with user registers and stack");
	os_close(fd);
	return CLEW_OK;
}
