/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/err.h"
#include "format/page/page_kinds.h"
#include "os/create.h"
#include "os/file.h"

/*
 * Bins of time are 2^k ns wide, so that a bin of one width is two of the next smaller one: how many
 * rows each width leaves is counted in one pass. Two samples of a kind, one after the other, are
 * one row from the width on at which the highest bit in which their times differ is shifted out.
 *
 * Kinds that are waited for are bounded: when the table is full, it begins again, as a bin does.
 */
enum { MAX_KINDS = 128 << 10, NR_WIDTHS = 64 };

struct merge {
	struct page_feed *page;
	bool has_cpu; /* samples of different CPUs are different kinds */
	struct page_kinds kinds;
	uint64_t differ[NR_WIDTHS],
		nr_new;     /* by that highest bit; of kinds met for the first time */
	unsigned int width; /* of a bin: 2^width ns; NR_WIDTHS: none will do */
	uint64_t bin;       /* of the row before */
	int fd;
	uint64_t nr_out;
};

static struct page_row as_kind(const struct merge *m, const struct page_row *r)
{
	struct page_row row = *r;

	if (!m->has_cpu)
		row.cpu = PAGE_NONE;
	return row;
}

static enum clew_err measure_row(void *merge, const struct page_row *row)
{
	struct merge *m = merge;
	struct page_row r = as_kind(m, row), *same;
	uint64_t first = m->page->first, x;

	if (m->kinds.nr == MAX_KINDS)
		page_kinds_clear(&m->kinds);
	same = page_kinds_add(&m->kinds, &r);
	m->nr_new += !same;
	x = same ? (same->time - first) ^ (r.time - first) : 0;
	if (x)
		m->differ[63 - __builtin_clzll(x)]++;
	if (same)
		same->time = r.time;
	return CLEW_OK;
}

static enum clew_err measure(struct merge *m)
{
	page_kinds_clear(&m->kinds);
	m->nr_new = 0;
	memset(m->differ, 0, sizeof(m->differ));
	return page_rows_each(m->page, measure_row, m);
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
	int err = os_write_all(m->fd, m->kinds.rows, m->kinds.nr * sizeof(*m->kinds.rows));

	m->nr_out += m->kinds.nr;
	page_kinds_clear(&m->kinds);
	m->page->os_errno = err;
	return err ? CLEW_OS : CLEW_OK;
}

static enum clew_err put_row(void *merge, const struct page_row *row)
{
	struct merge *m = merge;
	struct page_row r = as_kind(m, row), *same;
	uint64_t bin = (r.time - m->page->first) >> m->width;
	enum clew_err err = CLEW_OK;

	if (m->kinds.nr == MAX_KINDS || bin != m->bin)
		err = put_kinds(m);
	m->bin = bin;
	same = err == CLEW_OK ? page_kinds_add(&m->kinds, &r) : NULL;
	if (same) {
		same->weight += r.weight;
		same->nr += r.nr;
	}
	return err;
}

static enum clew_err put_all(struct merge *m)
{
	enum clew_err err;

	page_kinds_clear(&m->kinds);
	m->bin = 0;
	err = page_rows_each(m->page, put_row, m);
	return err == CLEW_OK ? put_kinds(m) : err;
}

static enum clew_err choose_width(struct merge *m, uint64_t max)
{
	enum clew_err err;

	m->has_cpu = true;
	err = measure(m);
	m->width = width_for(m, max);
	if (err != CLEW_OK || m->width < NR_WIDTHS)
		return err;
	/* Too many kinds whatever the width: then CPUs, which are lanes of the timeline alone. */
	m->has_cpu = false;
	err = measure(m);
	m->width = width_for(m, max);
	return err;
}

void page_rows_replace(struct page_feed *p, int fd, uint64_t nr)
{
	os_close(p->fd);
	p->fd = fd;
	p->nr = nr;
}

static enum clew_err merge(struct merge *m)
{
	enum clew_err err;

	m->fd = os_create_unnamed();
	if (m->fd < 0) {
		m->page->os_errno = m->fd;
		return CLEW_OS;
	}
	err = put_all(m);
	if (err != CLEW_OK) {
		os_close(m->fd);
		return err;
	}
	page_rows_replace(m->page, m->fd, m->nr_out);
	m->page->bin_ns = 1ull << m->width;
	m->page->has_no_cpus = !m->has_cpu;
	return CLEW_OK;
}

enum clew_err page_rows_merge(struct page_feed *p, struct page_tree *tree,
			      const struct report_feed *f, uint64_t max)
{
	struct merge m = {.page = p};
	enum clew_err err = CLEW_OK;

	if (p->nr <= max)
		return CLEW_OK;
	if (!page_kinds_init(&m.kinds, tree->node_of, MAX_KINDS))
		err = CLEW_NO_MEMORY;
	if (err == CLEW_OK)
		err = choose_width(&m, max);
	if (err == CLEW_OK && m.width < NR_WIDTHS)
		err = merge(&m);
	page_kinds_done(&m.kinds);
	/* No width will do; or a bin had so many kinds that it began again. */
	if (err == CLEW_OK && p->nr > max)
		err = page_rows_merge_rare(p, tree, f, max);
	return err == CLEW_OK ? page_rows_measure(p) : err;
}
