/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_kept_maps.h"

#include "unit/tap.h"

/* Copies of perf-PID.map files, written and read again, whole and damaged. */

static const char text[] = "1000 10 first\n2000 20 second\n";

static enum clew_err parse(const void *data, size_t size, struct perf_kept_maps *ret)
{
	struct perf_features f = {0};

	f.section[PERF_FEAT_CLEW_MAPS] = bytes_of(data, size);
	return perf_kept_maps_parse(&f, ret);
}

static bool make(struct buf *b)
{
	struct buf packed = {0};
	struct perf_kept_map m = {.pid = 70, .time = 1ull << 40, .bytes = sizeof(text) - 1};
	bool ok;

	perf_pack_kept_map(&packed, text, sizeof(text) - 1);
	perf_put_kept_maps(b);
	m.packed = bytes_of(packed.data, packed.nr);
	perf_put_kept_map(b, &m);
	perf_put_kept_map(b, &(struct perf_kept_map){.pid = 70, .time = 5});
	m.pid = 8;
	perf_put_kept_map(b, &m);
	ok = !b->is_failed && !packed.is_failed;
	buf_done(&packed);
	return ok;
}

static void check_whole(const struct buf *b)
{
	struct perf_kept_maps got;
	char unpacked[sizeof(text) - 1];

	CHECK(parse(b->data, b->nr, &got) == CLEW_OK && got.nr == 3, "all are read");
	if (got.nr != 3)
		return;
	CHECK(got.data[0].pid == 8 && got.data[1].pid == 70 && got.data[1].time == 5 &&
		      !got.data[1].bytes && got.data[2].time == 1ull << 40,
	      "sorted by process and time");
	CHECK(got.data[2].bytes == sizeof(unpacked) &&
		      perf_kept_map_unpack(got.data[2].packed, unpacked, sizeof(unpacked)) &&
		      !memcmp(unpacked, text, sizeof(unpacked)),
	      "with their text");
	CHECK(!perf_kept_map_unpack(got.data[2].packed, unpacked, sizeof(unpacked) - 1),
	      "a wrong size is damage");
	perf_kept_maps_done(&got);
}

static void use(const struct perf_kept_maps *got)
{
	char room[256];

	vec_for_each (got, m) {
		if (m->bytes <= sizeof(room))
			perf_kept_map_unpack(m->packed, room, m->bytes);
	}
}

static void check_damaged(struct buf *b)
{
	struct perf_kept_maps got;
	size_t nr_whole = 0;

	for (size_t size = 0; size < b->nr; size++) {
		uint8_t *copy = malloc(size + 1); /* its end is seen by the sanitizer */

		memcpy(copy, b->data, size);
		if (parse(copy, size, &got) == CLEW_OK)
			nr_whole += got.nr >= 3;
		use(&got);
		perf_kept_maps_done(&got);
		free(copy);
	}
	CHECK(!nr_whole, "no cut is taken for the whole");
	for (size_t i = 0; i < 8 * b->nr; i++) {
		b->data[i / 8] = (char)(b->data[i / 8] ^ 1 << i % 8);
		parse(b->data, b->nr, &got);
		use(&got);
		perf_kept_maps_done(&got);
		b->data[i / 8] = (char)(b->data[i / 8] ^ 1 << i % 8);
	}
	b->data[7] = 2;
	CHECK(parse(b->data, b->nr, &got) == CLEW_UNSUPPORTED && !got.nr, "of another version");
}

int main(void)
{
	struct buf b = {0};
	struct perf_kept_maps none;

	CHECK(parse(NULL, 0, &none) == CLEW_OK && !none.nr, "no section, no maps");
	CHECK(make(&b), "made");
	check_whole(&b);
	check_damaged(&b);
	buf_done(&b);
	return tap_done();
}
