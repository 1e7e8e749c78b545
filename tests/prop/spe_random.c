/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Random records through encoder and reader: equal; damaged in one place; in any pieces; in two
 * parts. */
#include "base/mem.h"
#include "make/spe_encode.h"
#include "make/splitmix.h"
#include "unit/tap.h"

enum { NR_RECORDS = 40, MAX_ITEMS = 400, NR_ROUNDS = 2000 };

struct stream {
	struct buf bytes;
	struct spe_record records[NR_RECORDS];
	size_t from[NR_RECORDS + 1], to[NR_RECORDS];
	uint64_t offset;
};

static struct spe_reader readers[2];

/** Alignment would move with the bytes that damage removes or inserts. */
static void put_gap(struct stream *s, uint64_t seed, uint64_t *random)
{
	static const unsigned int gaps[] = {0, 0, 0, 0, 7, 64, 300, 5000};
	unsigned int align;
	uint64_t to;

	buf_fill(&s->bytes, 0, gaps[splitmix64(random) % 8]);
	if (!(seed & 1) || splitmix64(random) % 16)
		return;
	align = (unsigned int)(splitmix64(random) % 4);
	to = s->offset + s->bytes.nr + 1;
	while (to % (2U << align))
		to++;
	buf_char(&s->bytes, (char)(0x20 | align));
	buf_char(&s->bytes, 0);
	while (s->offset + s->bytes.nr < to)
		buf_char(&s->bytes, seed & 2 ? 0 : (char)0xb0);
}

static void make_stream(struct stream *s, uint64_t seed, uint64_t *random)
{
	uint64_t ts = splitmix64(random) >> 20;
	bool is_timed = splitmix64(random) % 8;

	s->bytes.nr = 0;
	s->offset = (splitmix64(random) >> 40) * 16;
	for (unsigned int i = 0; i < NR_RECORDS; i++) {
		struct spe_style style;

		put_gap(s, seed, random);
		ts += 1 + splitmix64(random) % 5000;
		spe_random_record(random, is_timed ? ts : 0, &s->records[i], &style);
		s->from[i] = s->bytes.nr;
		spe_put_record(&s->bytes, &s->records[i], &style);
		s->to[i] = s->bytes.nr;
	}
	buf_fill(&s->bytes, 0, splitmix64(random) % 3 * 9);
	s->from[NR_RECORDS] = s->bytes.nr;
}

/** @p piece 0: all at once; else in pieces of up to that. */
static size_t read_all(struct spe_reader *r, const uint8_t *data, size_t bytes, uint64_t offset,
		       size_t piece, uint64_t *random, struct spe_record *ret)
{
	size_t n = 0, got, at = 0;

	spe_reader_start(r, offset, SPE_AT_RECORD);
	while (at < bytes) {
		size_t size = piece ? 1 + splitmix64(random) % piece : bytes;
		uint8_t *copy;

		size = size < bytes - at ? size : bytes - at;
		copy = mem_alloc(size); /* of this size: reading past it is found */
		if (!copy)
			exit(1);
		memcpy(copy, data + at, size);
		spe_reader_feed(r, copy, size);
		while ((got = spe_reader_take(r, ret + n, piece ? 3 : MAX_ITEMS - n)))
			n += got;
		mem_free(copy);
		at += size;
	}
	spe_reader_end(r);
	while ((got = spe_reader_take(r, ret + n, piece ? 1 : MAX_ITEMS - n)))
		n += got;
	return n;
}

static bool same_items(const struct spe_record *a, size_t nr_a, const struct spe_record *b,
		       size_t nr_b)
{
	if (nr_a != nr_b)
		return false;
	for (size_t i = 0; i < nr_a; i++)
		if (!spe_records_equal(&a[i], &b[i]) || a[i].offset != b[i].offset ||
		    a[i].bytes != b[i].bytes || a[i].saturated != b[i].saturated)
			return false;
	return true;
}

/** Items follow each other, and do not overlap. */
static bool in_order(const struct spe_record *items, size_t nr, uint64_t offset, uint64_t bytes)
{
	uint64_t at = offset;

	for (size_t i = 0; i < nr; i++) {
		if (items[i].offset < at || !items[i].bytes)
			return false;
		at = items[i].offset + items[i].bytes;
	}
	return at <= offset + bytes;
}

static bool is_intact(const struct stream *s, const struct spe_record *items, size_t nr)
{
	if (nr != NR_RECORDS)
		return false;
	for (unsigned int i = 0; i < NR_RECORDS; i++)
		if (!spe_records_equal(&items[i], &s->records[i]) ||
		    items[i].offset != s->offset + s->from[i] ||
		    items[i].bytes != s->to[i] - s->from[i])
			return false;
	return true;
}

/* --- one damage --- */

struct damage {
	size_t at, out, in; /* bytes removed and put in at `at` */
};

static struct damage do_damage(const struct stream *s, bool has_alignment, uint64_t *random,
			       struct buf *ret)
{
	unsigned int kind = has_alignment ? (unsigned int)(splitmix64(random) % 3) * 3
					  : (unsigned int)(splitmix64(random) % 5);
	size_t n = 1 + splitmix64(random) % 40;
	struct damage d = {splitmix64(random) % (s->bytes.nr - n), n, n};

	/* 0: other bytes, 1: removed, 2: inserted, 3: one bit, 6, 4: cut */
	if (kind == 1)
		d.in = 0;
	else if (kind == 2)
		d.out = 0;
	else if (kind == 3)
		d.in = d.out = 1;
	else if (kind == 4 || kind == 6) {
		d.out = s->bytes.nr - d.at;
		d.in = 0;
	}
	ret->nr = 0;
	buf_add(ret, s->bytes.data, d.at);
	for (size_t i = 0; i < d.in; i++)
		buf_char(ret, kind == 3 ? (char)(s->bytes.data[d.at] ^ 1 << splitmix64(random) % 8)
					: (char)splitmix64(random));
	buf_add(ret, s->bytes.data + d.at + d.out, s->bytes.nr - d.at - d.out);
	return d;
}

static bool is_touched(const struct stream *s, unsigned int i, const struct damage *d)
{
	return s->from[i] < d->at + (d->out ? d->out : 1) && s->to[i] > d->at;
}

struct tally {
	unsigned int nr_lost, nr_worst, nr_invented, nr_changed, nr_touched;
};

/** Records of @p items that are none of the stream's, and those of the stream that are missing. */
static void judge(const struct stream *s, const struct damage *d, const struct spe_record *items,
		  size_t nr, struct tally *t)
{
	unsigned int i = 0, nr_lost = 0, nr_wrong = 0, nr_touched = 0;

	for (size_t k = 0; k < nr; k++) {
		unsigned int found = i;

		if (items[k].outcome != SPE_COMPLETE)
			continue;
		while (found < NR_RECORDS && !spe_records_equal(&items[k], &s->records[found]))
			found++;
		if (found == NR_RECORDS) {
			nr_wrong++;
			continue;
		}
		for (; i < found; i++)
			nr_lost += !is_touched(s, i, d);
		i = found + 1;
	}
	for (; i < NR_RECORDS; i++)
		nr_lost += !is_touched(s, i, d);
	for (i = 0; i < NR_RECORDS; i++)
		nr_touched += is_touched(s, i, d);
	t->nr_lost += nr_lost;
	t->nr_worst = nr_lost > t->nr_worst ? nr_lost : t->nr_worst;
	t->nr_touched += nr_touched;
	t->nr_changed += nr_wrong < nr_touched ? nr_wrong : nr_touched;
	t->nr_invented += nr_wrong > nr_touched ? nr_wrong - nr_touched : 0;
}

/* --- parts --- */

/** Two readers from a cut on, or one again where they do not join: as one. */
static bool parts_same(const uint8_t *data, size_t bytes, uint64_t offset, size_t about,
		       const struct spe_record *want, size_t nr_want, unsigned int *nr_joined)
{
	static struct spe_record items[2 * MAX_ITEMS];
	size_t at = spe_cut(data, bytes, offset, about), n = 0, got;

	spe_reader_start(&readers[0], offset, SPE_AT_RECORD);
	spe_reader_feed(&readers[0], data, at);
	while ((got = spe_reader_take(&readers[0], items + n, MAX_ITEMS)))
		n += got;
	got = read_all(&readers[1], data + at, bytes - at, offset + at, 0, NULL, items + n);
	if (spe_reader_joins(&readers[0], &readers[1])) {
		++*nr_joined;
		return same_items(items, n + got, want, nr_want);
	}
	spe_reader_feed(&readers[0], data + at, bytes - at);
	spe_reader_end(&readers[0]);
	while ((got = spe_reader_take(&readers[0], items + n, MAX_ITEMS)))
		n += got;
	return same_items(items, n, want, nr_want);
}

int main(int argc, char **argv)
{
	static struct spe_record items[MAX_ITEMS], again[MAX_ITEMS];
	static const size_t pieces[] = {1, 3, 70, 3000};
	unsigned int nr_rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : NR_ROUNDS;
	unsigned int nr_differ = 0, nr_pieces = 0, nr_order = 0, nr_parts = 0, nr_joined = 0;
	struct buf bad = {0};
	struct stream s = {0};
	struct tally t = {0};

	spe_reader_init(&readers[0], 0);
	spe_reader_init(&readers[1], 0);
	for (uint64_t seed = 0; seed < nr_rounds; seed++) {
		uint64_t random = seed;
		struct damage d;
		size_t n, m;

		make_stream(&s, seed, &random);
		n = read_all(&readers[0], (uint8_t *)s.bytes.data, s.bytes.nr, s.offset, 0, &random,
			     items);
		if (!is_intact(&s, items, n) && !nr_differ++)
			printf("# seed %d: %d items\n", (int)seed, (int)n);
		d = do_damage(&s, seed & 1, &random, &bad);
		n = read_all(&readers[0], (uint8_t *)bad.data, bad.nr, s.offset, 0, &random, items);
		if (seed % 4 != 1) /* after damage what an alignment skips may look like records */
			judge(&s, &d, items, n, &t);
		nr_order += !in_order(items, n, s.offset, bad.nr);
		m = read_all(&readers[1], (uint8_t *)bad.data, bad.nr, s.offset, pieces[seed % 4],
			     &random, again);
		if (!same_items(items, n, again, m) && !nr_pieces++)
			printf("# seed %d differs in pieces\n", (int)seed);
		nr_parts += !parts_same((uint8_t *)bad.data, bad.nr, s.offset,
					splitmix64(&random) % (bad.nr + 1), items, n, &nr_joined);
		if (seed % 64 == 63) { /* new shapes */
			spe_reader_init(&readers[0], 0);
			spe_reader_init(&readers[1], 0);
		}
	}
	printf("# %u rounds: %u touched, %u of them changed and well formed; %u others lost, at most "
	       "%u at once; %u joined parts\n",
	       nr_rounds, t.nr_touched, t.nr_changed, t.nr_lost, t.nr_worst, nr_joined);
	CHECK_EQ(nr_differ, 0, "undamaged streams are read as they were made");
	CHECK_EQ(nr_order, 0, "no byte is in two items");
	CHECK_EQ(nr_pieces, 0, "pieces do not matter");
	CHECK_EQ(nr_parts, 0, "parts do not matter");
	CHECK(nr_joined > nr_rounds / 2, "most parts join");
	CHECK_EQ(t.nr_invented, 0, "no record that never was");
	CHECK(t.nr_worst <= 1, "at most one record that was not touched is lost");
	buf_done(&bad);
	buf_done(&s.bytes);
	return tap_done();
}
