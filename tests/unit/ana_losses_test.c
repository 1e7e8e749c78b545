/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_losses.h"

#include "base/bytes.h"
#include "perfdata/perf_record.h"
#include "unit/tap.h"

/* When records were lost: between the ring's newest sample before, and the loss's record. */

static enum clew_err lose(struct ana_losses *x, uint32_t type, uint64_t nr, uint32_t cpu,
			  uint32_t tid, uint64_t time)
{
	uint64_t bytes[4] = {0, 5, nr, 0}; /* header, id, lost; LOST_SAMPLES: lost */
	struct perf_event_header h = {.type = type, .size = 24};
	const struct perf_sample_id id = {.cpu = cpu, .tid = tid};
	struct perf_record r;

	if (type == PERF_RECORD_LOST_SAMPLES) {
		bytes[1] = nr;
		h.size = 16;
	}
	memcpy(bytes, &h, sizeof(h));
	r = (struct perf_record){.data = (const uint8_t *)bytes, .type = type, .size = h.size};
	return ana_losses_take(x, &r, &id, (struct clew_perf_ns){time});
}

static void check_last(const struct ana_losses *x, size_t nr, uint64_t from, uint64_t to,
		       uint64_t lost, const char *what)
{
	const struct ana_loss *l = &x->all.data[x->all.nr - 1];

	CHECK(x->all.nr == nr && l->from.ns == from && l->to.ns == to && l->nr == lost,
	      "%s: %llu within %llu-%llu", what, (unsigned long long)l->nr,
	      (unsigned long long)l->from.ns, (unsigned long long)l->to.ns);
}

int main(void)
{
	const uint32_t none = UINT32_MAX;
	struct ana_losses x = {0};

	CHECK(lose(&x, PERF_RECORD_LOST, 3, 0, 1, 50) == CLEW_OK, "nothing came before");
	check_last(&x, 1, 50, 50, 3, "it is a moment");
	ana_losses_sample(&x, 0, 1, 100);
	ana_losses_sample(&x, 1, 1, 150);
	lose(&x, PERF_RECORD_LOST, 7, 0, 2, 200);
	check_last(&x, 2, 100, 200, 7, "the CPU's newest sample counts, not another's");
	lose(&x, PERF_RECORD_LOST_SAMPLES, 2, 0, 2, 220);
	check_last(&x, 3, 200, 220, 2, "samples that the PMU dropped, after a loss");
	ana_losses_sample(&x, none, 1, 300);
	ana_losses_sample(&x, none, 2, 310);
	lose(&x, PERF_RECORD_LOST, 1, none, 1, 320);
	check_last(&x, 4, 300, 320, 1, "without CPUs: the thread's");
	CHECK(x.all.data[3].tid == 1 && x.all.data[2].tid == none, "which is named then alone");
	CHECK(x.sums.nr == 4 && x.sums.nr_records == 13 && x.sums.ns == 140, "sums");
	lose(&x, PERF_RECORD_LOST_SAMPLES, 30, none, none, UINT64_MAX);
	CHECK(x.sums.nr == 4 && ana_losses_nr(&x) == 32, "the recorder's totals have no time: %llu",
	      (unsigned long long)ana_losses_nr(&x));
	CHECK(ana_losses_sample(&x, none, 1, UINT64_MAX), "a sample without a time");
	lose(&x, PERF_RECORD_LOST, 0, none, 1, 330);
	CHECK(x.sums.nr == 4, "nothing lost is no loss");
	ana_losses_sample(&x, UINT32_MAX - 1, 9, 400);
	lose(&x, PERF_RECORD_LOST, 4, UINT32_MAX - 1, 9, 410);
	check_last(&x, 5, 400, 410, 4, "a CPU that no machine has");
	ana_losses_sample(&x, 0, 1, 500);
	ana_losses_sample(&x, 0, 1, 300);
	lose(&x, PERF_RECORD_LOST, 6, 0, 1, 510);
	check_last(&x, 6, 500, 510, 6, "a sample that comes late is not the newest");
	lose(&x, PERF_RECORD_LOST, 6, 0, 1, 250);
	lose(&x, PERF_RECORD_LOST, 8, 0, 1, 520);
	check_last(&x, 8, 510, 520, 8, "nor is a loss");
	ana_losses_done(&x);
	return tap_done();
}
