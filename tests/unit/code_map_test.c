/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image/code_map.h"

#include "make/splitmix.h"
#include "unit/tap.h"

enum { NR_DUMPS = 12, SPACE_BYTES = 64, SPACE = 3 };

static const uint8_t bytes[NR_DUMPS][SPACE_BYTES];

/* What each address has to be: the byte of the first dump that covers it. */
static bool is_first_of_all(const struct code_source *s, const uint8_t *const wanted[SPACE_BYTES])
{
	for (uint64_t at = 0; at < SPACE_BYTES; at++) {
		struct code_region r;
		bool is_there = s->find(s->ctx, SPACE, at, &r);

		if (is_there != (wanted[at] != NULL))
			return false;
		if (is_there &&
		    (at < r.start || at >= r.end || r.bytes + (at - r.start) != wanted[at]))
			return false;
	}
	return true;
}

static bool try(uint64_t *random)
{
	const uint8_t *wanted[SPACE_BYTES] = {NULL};
	struct code_map *m = code_map_new();
	bool is_right = m != NULL;

	for (size_t i = 0; i < NR_DUMPS; i++) {
		uint64_t start = splitmix64(random) % SPACE_BYTES;
		size_t size = (size_t)(splitmix64(random) % (SPACE_BYTES - start));
		bool is_seen = splitmix64(random) % 4;

		is_right &= code_map_add(m, start, bytes[i], size, is_seen ? 1 << SPACE : 1);
		for (size_t at = 0; is_seen && at < size; at++)
			if (!wanted[start + at])
				wanted[start + at] = bytes[i] + at;
	}
	is_right = is_right && is_first_of_all(code_map_source(m), wanted);
	code_map_free(m);
	return is_right;
}

int main(void)
{
	uint64_t random = 1;
	bool is_right = true;

	for (int i = 0; i < 2000; i++)
		is_right &= try(&random);
	CHECK(is_right, "of dumps that overlap, the first that has an address gives its byte");
	return tap_done();
}
