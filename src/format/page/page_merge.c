/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "format/page/page_impl.h"
#include "os/create.h"
#include "os/file.h"

/*
 * Bins of time are 2^k ns wide, so that a bin of one width is two of the next smaller one: how many
 * rows each width leaves is counted in one pass. Two samples of a kind, one after the other, are
 * one row from the width on at which the highest bit in which their times differ is shifted out.
 *
 * Kinds that are waited for are bounded: when the table is full, it begins again, as a bin does.
 */
enum { MAX_KINDS = 128 << 10, NR_SLOTS = 2 * MAX_KINDS, NR_WIDTHS = 64 };

struct merge {
	struct page_feed *page;
	const struct page_tree *tree;
	bool has_cpu; /* samples of different CPUs are different kinds */
	struct page_row *kinds;
	uint32_t *slots; /* kind + 1; 0: free */
	uint32_t nr;
	uint64_t differ[NR_WIDTHS],
		nr_new; /* by that highest bit; of kinds met for the first time */
	int fd;
	uint64_t nr_out;
};

static uint32_t node_of(const struct merge *m, const struct page_row *r)
{
	return m->tree->node_of[r->node];
}

static bool is_same_kind(const struct merge *m, const struct page_row *a, const struct page_row *b)
{
	return a->thread == b->thread && node_of(m, a) == node_of(m, b) && a->event == b->event &&
	       a->cgroup == b->cgroup && a->cpu == b->cpu;
}

static uint32_t *slot_of(const struct merge *m, const struct page_row *r)
{
	uint64_t h = hash_u64((uint64_t)node_of(m, r) << 32 | r->thread);

	h = hash_u64(h ^ r->cpu ^ (uint64_t)r->cgroup << 32 ^ (uint64_t)r->event << 48);
	for (uint32_t i = (uint32_t)h % NR_SLOTS;; i = (i + 1) % NR_SLOTS) {
		if (!m->slots[i] || is_same_kind(m, &m->kinds[m->slots[i] - 1], r))
			return &m->slots[i];
	}
}

static void begin(struct merge *m)
{
	memset(m->slots, 0, NR_SLOTS * sizeof(*m->slots));
	m->nr = 0;
}

static struct page_row as_kind(const struct merge *m, const struct page_row *r)
{
	struct page_row row = *r;

	if (!m->has_cpu)
		row.cpu = PAGE_NONE;
	return row;
}

/* @return the kind that it is one more of; NULL: it is the first. */
static struct page_row *add(struct merge *m, const struct page_row *r)
{
	uint32_t *slot = slot_of(m, r);

	if (*slot)
		return &m->kinds[*slot - 1];
	m->kinds[m->nr++] = *r;
	*slot = m->nr;
	return NULL;
}

static enum clew_err measure(struct merge *m)
{
	struct page_feed *p = m->page;
	size_t n;

	begin(m);
	m->nr_new = 0;
	memset(m->differ, 0, sizeof(m->differ));
	for (uint64_t at = 0; at < p->nr; at += n) {
		n = page_rows_read(p, at);
		if (!n)
			return CLEW_OS;
		for (size_t i = 0; i < n; i++) {
			struct page_row r = as_kind(m, &p->rows[i]), *same;
			uint64_t x;

			if (m->nr == MAX_KINDS)
				begin(m);
			same = add(m, &r);
			m->nr_new += !same;
			x = same ? (same->time - p->first) ^ (r.time - p->first) : 0;
			if (x)
				m->differ[63 - __builtin_clzll(x)]++;
			if (same)
				same->time = r.time;
		}
	}
	return CLEW_OK;
}

/* The finest width that leaves @p max rows; NR_WIDTHS: none does. */
static unsigned int width_for(const struct merge *m, uint64_t max)
{
	uint64_t nr = m->nr_new;
	unsigned int k = NR_WIDTHS;

	while (k > 0 && nr <= max && nr + m->differ[k - 1] <= max)
		nr += m->differ[--k];
	return nr <= max ? k : NR_WIDTHS;
}

static enum clew_err put_kinds(struct merge *m)
{
	int err = os_write_all(m->fd, m->kinds, m->nr * sizeof(*m->kinds));

	m->nr_out += m->nr;
	begin(m);
	m->page->os_errno = err;
	return err ? CLEW_OS : CLEW_OK;
}

static enum clew_err put_all(struct merge *m, unsigned int width)
{
	struct page_feed *p = m->page;
	enum clew_err err = CLEW_OK;
	uint64_t bin = 0;
	size_t n;

	begin(m);
	for (uint64_t at = 0; at < p->nr && err == CLEW_OK; at += n) {
		n = page_rows_read(p, at);
		if (!n)
			return CLEW_OS;
		for (size_t i = 0; i < n && err == CLEW_OK; i++) {
			struct page_row r = as_kind(m, &p->rows[i]), *same;

			if (m->nr == MAX_KINDS || (r.time - p->first) >> width != bin)
				err = put_kinds(m);
			bin = (r.time - p->first) >> width;
			same = err == CLEW_OK ? add(m, &r) : NULL;
			if (same) {
				same->weight += r.weight;
				same->nr += r.nr;
			}
		}
	}
	return err == CLEW_OK ? put_kinds(m) : err;
}

static enum clew_err choose(struct merge *m, uint64_t max, unsigned int *ret_width)
{
	enum clew_err err;

	m->has_cpu = true;
	err = measure(m);
	*ret_width = width_for(m, max);
	if (err != CLEW_OK || *ret_width < NR_WIDTHS)
		return err;
	/* Too many kinds whatever the width: then CPUs, which are lanes of the timeline alone. */
	m->has_cpu = false;
	err = measure(m);
	*ret_width = width_for(m, max);
	if (*ret_width == NR_WIDTHS)
		*ret_width = NR_WIDTHS - 1;
	return err;
}

static void take_over(struct merge *m, unsigned int width)
{
	struct page_feed *p = m->page;

	os_close(p->fd);
	p->fd = m->fd;
	m->fd = -1;
	p->nr = m->nr_out;
	p->bin_ns = 1ull << width;
	p->has_no_cpus = !m->has_cpu;
}

enum clew_err page_rows_merge(struct page_feed *p, const struct page_tree *tree, uint64_t max)
{
	struct merge m = {.page = p, .tree = tree, .fd = -1};
	enum clew_err err = CLEW_OK;
	unsigned int width = 0;

	if (p->nr <= max)
		return CLEW_OK;
	m.kinds = mem_calloc(MAX_KINDS, sizeof(*m.kinds));
	m.slots = mem_calloc(NR_SLOTS, sizeof(*m.slots));
	if (!m.kinds || !m.slots)
		err = CLEW_NO_MEMORY;
	if (err == CLEW_OK)
		err = choose(&m, max, &width);
	if (err == CLEW_OK && (m.fd = os_create_unnamed()) < 0) {
		p->os_errno = m.fd;
		err = CLEW_OS;
	}
	if (err == CLEW_OK)
		err = put_all(&m, width);
	if (err == CLEW_OK)
		take_over(&m, width);
	if (m.fd >= 0)
		os_close(m.fd);
	mem_free(m.kinds);
	mem_free(m.slots);
	return err == CLEW_OK ? page_rows_measure(p) : err;
}
