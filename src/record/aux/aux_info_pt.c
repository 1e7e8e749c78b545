/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>

#include "record/aux/aux_info_impl.h"

static uint64_t number_of(const struct aux_info_from *f, const char *file)
{
	uint64_t v = 0;

	os_pmu_number(f->pmu, file, &v);
	return v;
}

/* "100:2"; older kernels have no such file. */
static struct os_tsc_ratio ratio_of(const struct aux_info_from *f)
{
	struct os_tsc_ratio r;
	char text[64], end;

	if (os_pmu_text(f->pmu, "tsc_art_ratio", text, sizeof(text)) &&
	    sscanf(text, "%u:%u%c", &r.numerator, &r.denominator, &end) == 2)
		return r.numerator && r.denominator ? r : (struct os_tsc_ratio){0};
	return f->ratio;
}

static void put_clock(const struct aux_info_from *f, struct buf *b)
{
	buf_u64(b, f->has_clock ? f->clock.shift : 0);
	buf_u64(b, f->has_clock ? f->clock.mult : 0);
	buf_u64(b, f->has_clock ? f->clock.zero : 0);
	buf_u64(b, f->has_clock);
}

static void put_filter(const struct aux_info_from *f, struct buf *b)
{
	size_t n = f->filter ? strlen(f->filter) : 0;

	buf_u64(b, n);
	buf_add(b, f->filter, n);
	buf_fill(b, '\0', align_up(n, 8) - n);
}

enum clew_err aux_info_intel_pt(const struct aux_info_from *f, struct buf *b,
				struct rec_error *error)
{
	struct os_tsc_ratio ratio = ratio_of(f);

	(void)error;
	buf_u64(b, f->pmu->type);
	put_clock(f, b);
	buf_u64(b, aux_info_mask(f, "tsc"));
	buf_u64(b, aux_info_mask(f, "noretcomp"));
	buf_u64(b, f->switches);
	buf_u64(b, f->is_snapshot);
	buf_u64(b, f->is_per_cpu);
	buf_u64(b, aux_info_mask(f, "mtc"));
	buf_u64(b, aux_info_mask(f, "mtc_period"));
	buf_u64(b, ratio.numerator);
	buf_u64(b, ratio.denominator);
	buf_u64(b, aux_info_mask(f, "cyc"));
	buf_u64(b, number_of(f, "max_nonturbo_ratio"));
	put_filter(f, b);
	buf_u64(b, number_of(f, "caps/event_trace") != 0);
	return CLEW_OK;
}
