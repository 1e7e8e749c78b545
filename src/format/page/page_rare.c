/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "base/err.h"
#include "format/page/page_kinds.h"
#include "os/create.h"
#include "os/file.h"

/*
 * Where samples are of too many kinds for any bin of time: the whole time is one bin, and what is
 * rare has no row of its own. It counts in "(small)" of its thread, as rare nodes of the tree do of
 * their callers; the rarest threads are a thread "(small)" together. Sums of the whole, of events
 * and, as far as there is room, of levels do not change.
 *
 * Which ones are frequent is counted in tables of bounded size: when one is full, the rarer half of
 * what was met so far is forgotten.
 */
enum { MAX_ROWS = 1 << 20 };

enum rare_tier { BY_STACK, BY_THREAD, THE_REST, NR_TIERS };

struct rare {
	struct page_feed *page;
	const struct page_tree *tree;
	uint32_t thread;   /* of THE_REST */
	bool has_no_level; /* THE_REST */
	struct page_kinds kinds[NR_TIERS];
};

static struct page_row as_kind(const struct rare *x, const struct page_row *r, enum rare_tier tier)
{
	unsigned int level = x->tree->levels[x->tree->node_of[r->node]];
	struct page_row k = *r;

	k.cpu = PAGE_NONE;
	if (tier == BY_STACK)
		return k;
	if (tier == THE_REST) {
		k.thread = x->thread;
		k.cgroup = 0;
		level = x->has_no_level ? 0 : level;
	}
	k.node = x->tree->small_node + level;
	return k;
}

static void count(struct rare *x, const struct page_row *r, enum rare_tier tier)
{
	struct page_kinds *k = &x->kinds[tier];
	struct page_row kind = as_kind(x, r, tier), *same;

	if (!k->max)
		return;
	if (k->nr == k->max)
		page_kinds_halve(k);
	same = page_kinds_add(k, &kind);
	if (same)
		same->nr += r->nr;
}

static enum clew_err count_stack(void *rare, const struct page_row *r)
{
	count(rare, r, BY_STACK);
	return CLEW_OK;
}

static enum clew_err count_thread(void *rare, const struct page_row *r)
{
	count(rare, r, BY_THREAD);
	return CLEW_OK;
}

static struct page_row *kind_of(struct rare *x, const struct page_row *r)
{
	for (unsigned int tier = 0; tier < NR_TIERS; tier++) {
		struct page_row k = as_kind(x, r, tier), *found;

		found = page_kinds_find(&x->kinds[tier], &k);
		if (found)
			return found;
		if (tier == THE_REST) {
			k.nr = 0;
			page_kinds_add(&x->kinds[tier], &k);
			return &x->kinds[tier].rows[x->kinds[tier].nr - 1];
		}
	}
	return NULL;
}

static enum clew_err add_up(void *rare, const struct page_row *r)
{
	struct page_row *k = kind_of(rare, r);

	if (!k->nr) {
		k->time = r->time;
		k->is_timeless = r->is_timeless;
		k->weight = 0;
	}
	k->nr += r->nr;
	k->weight += r->weight;
	return CLEW_OK;
}

static bool choose_sizes(struct rare *x, uint64_t max)
{
	uint32_t room = max < MAX_ROWS ? (uint32_t)max : MAX_ROWS, nr_events = 0, rest;

	for (unsigned int i = 0; i <= PAGE_MAX_EVENTS; i++)
		nr_events += x->page->nr_of[i] > 0;
	if (room < nr_events)
		room = nr_events;
	x->has_no_level = PAGE_NR_SMALL * nr_events > room / 2;
	rest = x->has_no_level ? nr_events : PAGE_NR_SMALL * nr_events;
	if (!page_kinds_init(&x->kinds[THE_REST], x->tree->node_of, rest) ||
	    !page_kinds_init(&x->kinds[BY_THREAD], x->tree->node_of, (room - rest) / 2) ||
	    !page_kinds_init(&x->kinds[BY_STACK], x->tree->node_of, room))
		return false;
	x->kinds[BY_STACK].max -= rest; /* gather() takes all of it */
	return true;
}

static enum clew_err count_all(struct rare *x)
{
	enum clew_err err = page_rows_each(x->page, count_thread, x);

	x->kinds[BY_STACK].max -= x->kinds[BY_THREAD].nr;
	if (err == CLEW_OK)
		err = page_rows_each(x->page, count_stack, x);
	for (unsigned int tier = 0; tier < NR_TIERS; tier++) {
		for (uint32_t i = 0; i < x->kinds[tier].nr; i++)
			x->kinds[tier].rows[i].nr = 0;
	}
	return err == CLEW_OK ? page_rows_each(x->page, add_up, x) : err;
}

/* Rows of all tiers into the first one's table, which has room for them. */
static uint32_t gather(struct rare *x)
{
	struct page_row *to = x->kinds[BY_STACK].rows;
	uint32_t nr = x->kinds[BY_STACK].nr;

	for (unsigned int tier = BY_THREAD; tier < NR_TIERS; tier++) {
		const struct page_kinds *k = &x->kinds[tier];

		for (uint32_t i = 0; i < k->nr; i++) {
			if (!k->rows[i].nr)
				continue;
			x->page->nr_rare += k->rows[i].nr;
			to[nr++] = k->rows[i];
		}
	}
	return nr;
}

static enum clew_err put_all(struct rare *x)
{
	struct page_feed *p = x->page;
	struct page_row *rows = x->kinds[BY_STACK].rows;
	uint32_t nr = gather(x);
	int fd = os_create_unnamed();

	qsort(rows, nr, sizeof(*rows), page_row_order);
	p->os_errno = fd < 0 ? fd : os_write_all(fd, rows, nr * sizeof(*rows));
	if (p->os_errno) {
		if (fd >= 0)
			os_close(fd);
		return CLEW_OS;
	}
	page_rows_replace(p, fd, nr);
	p->bin_ns = UINT64_MAX;
	p->has_no_cpus = true;
	return CLEW_OK;
}

/* A thread for those without rows of their own. */
static bool add_thread(struct rare *x)
{
	struct page_thread t = {.pid = PAGE_NONE, .tid = PAGE_NONE, .nr_comms = 1};

	t.comms[0] = intern_str(&x->page->texts, "(small)");
	x->thread = (uint32_t)x->page->threads.nr;
	return t.comms[0] != INTERN_FAILED && vec_push(&x->page->threads, t);
}

enum clew_err page_rows_merge_rare(struct page_feed *p, struct page_tree *tree,
				   const struct report_feed *f, uint64_t max)
{
	struct rare x = {.page = p, .tree = tree};
	enum clew_err err = page_tree_add_small(tree, f);

	if (err == CLEW_OK && (!add_thread(&x) || !choose_sizes(&x, max)))
		err = CLEW_NO_MEMORY;
	if (err == CLEW_OK)
		err = count_all(&x);
	if (err == CLEW_OK)
		err = put_all(&x);
	for (unsigned int i = 0; i < NR_TIERS; i++)
		page_kinds_done(&x.kinds[i]);
	return err;
}
