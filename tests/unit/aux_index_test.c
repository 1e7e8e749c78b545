/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/perf/aux_index.h"

#include "base/cleanup.h"
#include "unit/tap.h"

/* The file of an index: what is written is read, and nothing else is. */

static const struct aux_index_key key = {.size = 4711, .mtime_ns = 42, .head = 7};

static bool add_ring(struct aux_index *x, uint32_t cpu, uint64_t nr)
{
	struct aux_index_ring ring = {.cpu = cpu, .tid = UINT32_MAX};

	for (uint64_t i = 0; i < nr; i++) {
		struct aux_sync s = {i * 1000 + cpu, (UINT64_C(1) << 55) + i,
				     (uint8_t)(i & AUX_SYNC_ALL)};

		if (!vec_push(&ring.places, s))
			return false;
	}
	return vec_push(x, ring);
}

static bool is_same(const struct aux_index *a, const struct aux_index *b)
{
	bool same = a->nr == b->nr;

	for (size_t i = 0; same && i < a->nr; i++) {
		const struct aux_index_ring *x = &a->data[i], *y = &b->data[i];

		same = x->cpu == y->cpu && x->tid == y->tid && x->places.nr == y->places.nr;
		for (size_t k = 0; same && k < x->places.nr; k++)
			same = x->places.data[k].offset == y->places.data[k].offset &&
			       x->places.data[k].stamp == y->places.data[k].stamp &&
			       x->places.data[k].has == y->places.data[k].has;
	}
	return same;
}

static enum clew_err read_back(struct aux_index *x, const struct aux_index_key *k,
			       const struct buf *b, size_t nr)
{
	return aux_index_read(x, k, bytes_of(b->data, nr));
}

static void check_same(const struct aux_index *x, const struct buf *b)
{
	struct aux_index_key other = key;
	struct aux_index y = {0};

	CHECK(read_back(&y, &key, b, b->nr) == CLEW_OK && is_same(x, &y),
	      "what was written is read");
	aux_index_done(&y);
	other.mtime_ns++;
	CHECK(read_back(&y, &other, b, b->nr) == CLEW_BAD_FILE && !y.nr,
	      "of another time it is not");
	other = key;
	other.size++;
	CHECK(read_back(&y, &other, b, b->nr) == CLEW_BAD_FILE && !y.nr, "nor of another size");
	other = key;
	other.head++;
	CHECK(read_back(&y, &other, b, b->nr) == CLEW_BAD_FILE && !y.nr, "nor of another head");
}

static void check_damage(struct buf *b)
{
	struct aux_index y = {0};
	size_t nr_read = 0;

	for (size_t i = 0; i < b->nr; i++)
		nr_read += read_back(&y, &key, b, i) != CLEW_BAD_FILE || y.nr;
	CHECK(!nr_read, "none is read that is cut, at any byte");
	for (size_t i = 0; i < 8 * b->nr; i++) {
		b->data[i / 8] ^= (char)(1 << i % 8);
		nr_read += read_back(&y, &key, b, b->nr) != CLEW_BAD_FILE || y.nr;
		b->data[i / 8] ^= (char)(1 << i % 8);
	}
	CHECK(!nr_read, "nor one with a wrong bit, at any place");
}

static void check_order(void)
{
	clew_auto(buf_done) struct buf b = {0};
	struct aux_index x = {0}, y = {0};

	if (add_ring(&x, 3, 3)) {
		x.data[0].places.data[2].offset = x.data[0].places.data[1].offset;
		aux_index_write(&x, &key, &b);
	}
	CHECK(b.nr && read_back(&y, &key, &b, b.nr) == CLEW_BAD_FILE && !y.nr,
	      "places have to ascend");
	aux_index_done(&x);
}

int main(void)
{
	clew_auto(buf_done) struct buf b = {0};
	struct aux_index x = {0};

	CHECK(add_ring(&x, 0, 20) && add_ring(&x, 1, 0) && add_ring(&x, 7, 5), "an index");
	aux_index_write(&x, &key, &b);
	check_same(&x, &b);
	check_damage(&b);
	check_order();
	aux_index_done(&x);
	return tap_done();
}
