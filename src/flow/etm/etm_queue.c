/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/etm/etm_flow_impl.h"
#include "flow/flow_walk.h"

static bool is_p0(const struct etm_flow *f, const struct etm_elem *e)
{
	if (e->kind == ETM_EL_TRANS_START)
		return f->config->transactions_are_p0;
	if (e->kind == ETM_EL_EXCEPTION_RET)
		return f->config->is_m_profile;
	return e->kind <= ETM_EL_FUNCTION_RET;
}

/** Reported even where the elements before it are not. */
static bool is_note(const struct etm_elem *e)
{
	return e->kind >= ETM_EL_TIMESTAMP;
}

static uint32_t depth_of(const struct etm_flow *f, const struct etm_elem *e)
{
	return e->kind == ETM_EL_ATOMS ? e->nr : is_p0(f, e);
}

static bool is_empty(const struct etm_flow *f)
{
	return f->head == f->queue.nr;
}

static bool lose(struct etm_flow *f, const char *what)
{
	f->flow.front->lose(&f->flow, FLOW_NO_SYNC_BAD_PACKET, what);
	return false;
}

static bool push(struct etm_flow *f, const struct etm_elem *e)
{
	if (is_empty(f))
		f->head = f->queue.nr = 0;
	if (f->queue.nr - f->head >= ETM_MAX_QUEUE) {
		if (f->config->max_spec)
			return lose(f, "nothing is committed");
		etm_queue_perform_rest(f); /* nothing that may be taken back */
		if (f->flow.err)
			return false;
		f->head = f->queue.nr = 0;
	}
	if (f->queue.nr >= 2 * ETM_MAX_QUEUE) {
		f->queue.nr -= f->head;
		memmove(f->queue.data, f->queue.data + f->head,
			f->queue.nr * sizeof(*f->queue.data));
		f->head = 0;
	}
	if (!vec_push(&f->queue, *e)) {
		flow_fail(&f->flow, CLEW_NO_MEMORY);
		return false;
	}
	f->depth += depth_of(f, e);
	return true;
}

/** Perform up to @p n P0 elements of the oldest, and what is not P0 before them. */
static bool perform(struct etm_flow *f, uint32_t *n)
{
	struct etm_elem *e = &f->queue.data[f->head];
	uint32_t depth = depth_of(f, e);
	struct etm_elem copy;

	if (e->kind == ETM_EL_ATOMS) {
		for (; e->nr && *n; --*n) {
			bool is_e = e->a & 1;

			e->a >>= 1;
			e->nr--;
			f->depth--;
			if (!flow_step(&f->flow, is_e))
				return false;
		}
		f->head += !e->nr;
		return true;
	}
	copy = *e;
	f->head++;
	f->depth -= depth;
	*n -= depth;
	return etm_walk_element(f, &copy);
}

void etm_queue_perform_rest(struct etm_flow *f)
{
	uint32_t none = 0;

	while (!is_empty(f) && perform(f, &none))
		;
}

bool etm_queue_commit(struct etm_flow *f, uint32_t n)
{
	uint32_t unseen;

	if (n > f->depth)
		return lose(f, "more elements are committed than there are");
	unseen = n < f->nr_placeholders ? n : f->nr_placeholders;
	f->nr_placeholders -= unseen;
	f->depth -= unseen;
	for (n -= unseen; n;) {
		if (f->flow.nr_items + FLOW_ITEMS_OF_PACKET > FLOW_BATCH_ITEMS)
			flow_deliver(&f->flow); /* thousands may have waited */
		if (!perform(f, &n))
			return false;
	}
	return true;
}

bool etm_queue_add(struct etm_flow *f, const struct etm_elem *e)
{
	uint32_t depth = depth_of(f, e);
	bool is_first_address = e->kind == ETM_EL_ADDRESS && is_empty(f);

	/* Without speculation only what belongs to the next P0 element waits. An address with
	 * nothing before it does not wait either, as in the fast decoder. */
	if (!f->config->max_spec && (depth || is_first_address) && !f->nr_placeholders) {
		uint32_t none = 0;

		while (!is_empty(f)) {
			if (!perform(f, &none))
				return false;
		}
		if (e->kind != ETM_EL_ATOMS)
			return etm_walk_element(f, e);
		for (uint32_t i = 0; i < e->nr; i++) {
			if (!flow_step(&f->flow, e->a >> i & 1))
				return false;
		}
		return true;
	}
	if (!push(f, e))
		return false;
	return f->depth <= f->config->max_spec ||
	       etm_queue_commit(f, f->depth - f->config->max_spec);
}

/** Take the newest @p n P0 elements back, and what came after the oldest of them. */
bool etm_queue_cancel(struct etm_flow *f, uint32_t n)
{
	size_t at = f->queue.nr, kept;

	if (n > f->depth)
		return lose(f, "more elements are cancelled than there are");
	f->depth -= n;
	while (n && at > f->head) {
		struct etm_elem *e = &f->queue.data[at - 1];
		uint32_t depth = depth_of(f, e);

		if (depth > n) { /* atoms: the newest of them */
			e->nr = (uint8_t)(e->nr - n);
			n = 0;
			break;
		}
		n -= depth;
		at--;
	}
	f->nr_placeholders -= n; /* those from before the sync */
	while (at > f->head && f->queue.data[at - 1].is_of_next)
		at--;
	kept = at;
	for (size_t i = at; i < f->queue.nr; i++) {
		if (is_note(&f->queue.data[i]))
			f->queue.data[kept++] = f->queue.data[i];
	}
	f->queue.nr = kept;
	return true;
}

/** Addresses from @p at on are those of the wrong way. */
static void drop_addresses(struct etm_flow *f, size_t at)
{
	size_t kept = at;

	for (size_t i = at; i < f->queue.nr; i++) {
		if (f->queue.data[i].kind != ETM_EL_ADDRESS)
			f->queue.data[kept++] = f->queue.data[i];
	}
	f->queue.nr = kept;
}

bool etm_queue_mispredict(struct etm_flow *f)
{
	for (size_t i = f->queue.nr; i-- > f->head;) {
		struct etm_elem *e = &f->queue.data[i];

		if (e->kind != ETM_EL_ATOMS)
			continue;
		e->a ^= 1u << (e->nr - 1);
		drop_addresses(f, i + 1);
		return true;
	}
	drop_addresses(f, f->head);
	return f->nr_placeholders || lose(f, "no atom to turn round");
}

void etm_queue_drop(struct etm_flow *f, bool has_notes)
{
	for (; has_notes && !is_empty(f); f->head++) {
		const struct etm_elem *e = &f->queue.data[f->head];

		if (is_note(e))
			etm_walk_note(f, e);
	}
	flow_take_back_edge(&f->flow);
	f->head = f->queue.nr = 0;
	f->depth = f->nr_placeholders = 0;
	f->has_pending = false;
}

static bool is_outcome(const struct etm_elem *e)
{
	return e->kind == ETM_EL_TRANS_COMMIT || e->kind == ETM_EL_TRANS_FAIL;
}

/** The start of a transaction in which nothing ran, and of which the outcome is known? */
static bool is_start_of_outcome(const struct etm_flow *f, size_t at)
{
	if (f->queue.data[at].kind != ETM_EL_TRANS_START)
		return false;
	while (++at < f->queue.nr && f->queue.data[at].kind != ETM_EL_TRANS_START) {
		if (is_outcome(&f->queue.data[at]))
			return true;
	}
	return false;
}

void etm_queue_end(struct etm_flow *f)
{
	for (; !f->depth && !is_empty(f); f->head++) {
		const struct etm_elem e = f->queue.data[f->head];

		if (is_note(&e) || is_outcome(&e) || is_start_of_outcome(f, f->head))
			etm_walk_element(f, &e);
	}
	etm_queue_drop(f, true);
}
