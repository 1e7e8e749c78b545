/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_guest_fits.h"

#include "unit/tap.h"

/* What is known of guests' clocks, written and read again, whole and damaged. */

static bool make(struct perf_guest_fits *f)
{
	const struct perf_guest_piece piece = {
		.from = 7,
		.to = 9000,
		.guest_at = 8,
		.host_at = 1ull << 60,
		.slope = 1.5e-5,
		.low = {-3, -40},
		.high = {4,  50 },
		.nr_matched = 60,
		.nr_edges = 61
        };
	const struct perf_guest_fit sure = {.machine = 4711,
					    .verdict = PERF_GUEST_SURE,
					    .is_ticks = true,
					    .path = "web.data",
					    .band_ns = 2001,
					    .nr_inside = 99,
					    .nr_events = 100};
	const struct perf_guest_fit given = {.machine = 12, .path = ""};

	return vec_push(&f->guests, sure) && vec_push(&f->guests.data[0].pieces, piece) &&
	       vec_push(&f->guests.data[0].pieces, piece) && vec_push(&f->guests, given);
}

static enum clew_err parse(const void *data, size_t size, struct perf_guest_fits *ret)
{
	struct perf_features f = {0};

	f.section[PERF_FEAT_CLEW_GUESTS] = bytes_of(data, size);
	return perf_guest_fits_parse(&f, ret);
}

static void check_whole(const struct perf_guest_fits *made, const struct buf *b)
{
	const struct perf_guest_fit *a = &made->guests.data[0], *c;
	struct perf_guest_fits got;

	CHECK(parse(b->data, b->nr, &got) == CLEW_OK && got.guests.nr == 2, "both guests are read");
	if (got.guests.nr != 2)
		return;
	c = &got.guests.data[0];
	CHECK(c->machine == a->machine && c->verdict == a->verdict && c->is_ticks &&
		      c->band_ns == a->band_ns && c->nr_inside == 99 && c->nr_events == 100,
	      "with what was written");
	CHECK_STR(c->path, "web.data", "its path");
	CHECK_STR(got.guests.data[1].path, "", "an empty path");
	CHECK(c->pieces.nr == 2 && !memcmp(&c->pieces.data[1], &a->pieces.data[1],
					   sizeof(struct perf_guest_piece)),
	      "its pieces");
	perf_guest_fits_done(&got);
}

static void check_damaged(struct buf *b)
{
	struct perf_guest_fits got;
	unsigned int nr_read = 0;

	for (size_t size = 0; size < b->nr; size++) {
		uint8_t *copy = malloc(size + 1); /* its end is seen by the sanitizer */

		memcpy(copy, b->data, size);
		nr_read += parse(copy, size, &got) == CLEW_OK;
		perf_guest_fits_done(&got);
		free(copy);
	}
	CHECK(!nr_read, "no cut is taken for the whole");
	for (size_t i = 0; i < 8 * b->nr; i++) {
		b->data[i / 8] = (char)(b->data[i / 8] ^ 1 << i % 8);
		if (parse(b->data, b->nr, &got) == CLEW_OK)
			perf_guest_fits_done(&got);
		b->data[i / 8] = (char)(b->data[i / 8] ^ 1 << i % 8);
	}
	b->data[7]++;
	CHECK(parse(b->data, b->nr, &got) == CLEW_UNSUPPORTED, "another version is refused");
}

int main(void)
{
	struct perf_guest_fits made = {0}, got;
	struct buf b = {0};

	CHECK(parse(NULL, 0, &got) == CLEW_OK && !got.guests.nr, "a file without guests has none");
	CHECK(make(&made), "guests are made");
	perf_put_guest_fits(&b, &made);
	check_whole(&made, &b);
	check_damaged(&b);
	perf_guest_fits_done(&made);
	buf_done(&b);
	return tap_done();
}
