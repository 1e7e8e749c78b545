/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "export/export_impl.h"
#include "unwind/unw_rule.h"

/* From a sample's places to its stack: a node of the tree. */

static uint32_t item_of(const struct export *x, uint32_t frame)
{
	return x->format->by_function ? x->tables.frames.data[frame].function : frame;
}

enum clew_err export_stacks_init(struct export *x)
{
	enum clew_err err = report_tree_init(&x->tree, x->opts.max_nodes);

	x->tree.account.budget = x->opts.budget;
	return err == CLEW_OK ? report_tree_child(&x->tree, REPORT_ROOT, item_of(x, EXPORT_UNKNOWN),
						  &x->unknown_node)
			      : err;
}

void export_stacks_forget(struct export *x)
{
	x->chains.nr = x->place_of_loc.nr = 0;
	for (size_t i = 0; i < EXPORT_PATHS; i++)
		x->last_paths[i].steps.nr = 0;
}

const char *export_why_cut(const struct ana_event *e)
{
	if (e->chain && e->chain->is_broken)
		return "undefined-mark";
	if (!e->has_user_state)
		return NULL;
	switch ((enum stitch_state)e->user_state) {
	case STITCH_LOST:
		return stitch_reason_name((enum stitch_reason)e->user_reason);
	case STITCH_PARTIAL:
		return unw_stop_name((enum unw_stop)e->user_stop);
	case STITCH_COMPLETE:
	case STITCH_NONE_EXPECTED:
	case STITCH_UNPROVEN: /* nothing shows that it is cut */
		break;
	}
	return NULL;
}

static enum clew_err place_of(struct export *x, const struct ana_loc *loc, uint32_t *ret)
{
	enum clew_err err;

	if (!vec_reserve(&x->place_of_loc, (size_t)loc->id + 1))
		return CLEW_NO_MEMORY;
	while (x->place_of_loc.nr <= loc->id)
		x->place_of_loc.data[x->place_of_loc.nr++] = EXPORT_NONE;
	*ret = x->place_of_loc.data[loc->id];
	if (*ret != EXPORT_NONE)
		return CLEW_OK;
	err = export_place_of(&x->tables, loc, ret);
	if (err == CLEW_OK)
		x->place_of_loc.data[loc->id] = *ret;
	return err;
}

/* The place's frames below *node, the outermost first. */
static enum clew_err descend(struct export *x, const struct ana_loc *loc, uint32_t *node)
{
	const struct export_place *p;
	enum clew_err err;
	uint32_t place;

	err = place_of(x, loc, &place);
	if (err != CLEW_OK)
		return err;
	p = &x->tables.places.data[place];
	for (uint32_t i = p->nr_frames; i-- > 0 && err == CLEW_OK;)
		err = report_tree_child(&x->tree, *node, item_of(x, p->first_frame + i), node);
	return err;
}

/* Below which node a stack begins: a frame of its own says that its outermost ones are missing. */
static enum clew_err outermost(struct export *x, const char *why, uint32_t *node)
{
	uint32_t frame;
	enum clew_err err;

	*node = REPORT_ROOT;
	if (!why || x->opts.no_cut_frames)
		return CLEW_OK;
	err = export_cut_frame(&x->tables, why, &frame);
	return err ? err : report_tree_child(&x->tree, REPORT_ROOT, item_of(x, frame), node);
}

static struct export_chain *chain_at(struct export *x, uint32_t id)
{
	const struct export_chain none = {REPORT_NONE, 0};

	if (!vec_reserve(&x->chains, (size_t)id + 1))
		return NULL;
	while (x->chains.nr <= id)
		x->chains.data[x->chains.nr++] = none;
	return &x->chains.data[id];
}

/* Free of cost as far as the chain equals the last one. */
static enum clew_err walk(struct export *x, struct export_path *last, const struct ana_chain *c,
			  uint32_t *node)
{
	enum clew_err err = CLEW_OK;
	uint32_t depth = 0;

	for (; depth < c->nr && depth < last->steps.nr; depth++) {
		if (last->steps.data[depth].loc != c->locs[c->nr - 1 - depth])
			break;
		*node = last->steps.data[depth].node;
	}
	last->steps.nr = depth;
	for (; depth < c->nr && err == CLEW_OK; depth++) {
		const struct ana_loc *loc = c->locs[c->nr - 1 - depth];

		err = descend(x, loc, node);
		if (err == CLEW_OK && !vec_push(&last->steps, (struct export_step){loc, *node}))
			err = CLEW_NO_MEMORY;
	}
	return err;
}

static enum clew_err chain_node(struct export *x, const struct ana_event *e, const char *why,
				uint32_t *ret)
{
	const struct ana_chain *c = e->chain;
	struct export_chain *known = chain_at(x, c->id);
	struct export_path *last;
	uint32_t cut, node;
	enum clew_err err;

	if (!known)
		return CLEW_NO_MEMORY;
	cut = export_text_of(&x->tables, why);
	if (known->node != REPORT_NONE && known->cut == cut) {
		*ret = known->node;
		return CLEW_OK;
	}
	last = &x->last_paths[e->tid % EXPORT_PATHS];
	if (last->cut != cut)
		last->steps.nr = 0;
	last->cut = cut;
	err = outermost(x, why, &node);
	if (err == CLEW_OK)
		err = walk(x, last, c, &node);
	if (err == CLEW_OK)
		*known = (struct export_chain){*ret = node, cut};
	return err;
}

/* Is the sampled address in the function that the chain begins with, as it nearly always is? */
static bool has_leaf(const struct ana_event *e)
{
	const struct ana_loc *first = e->chain->locs[0];

	return !e->loc || first == e->loc || (first->sym && first->sym == e->loc->sym);
}

static enum clew_err whole_stack(struct export *x, const struct ana_event *e, const char *why,
				 uint32_t *node)
{
	enum clew_err err;

	if (e->chain && e->chain->nr) {
		err = chain_node(x, e, why, node);
		return err || has_leaf(e) ? err : descend(x, e->loc, node);
	}
	err = outermost(x, why, node);
	if (err == CLEW_OK && !e->loc)
		return report_tree_child(&x->tree, *node, item_of(x, EXPORT_UNKNOWN), node);
	return err ? err : descend(x, e->loc, node);
}

const struct ana_loc *export_innermost(const struct ana_event *e)
{
	return e->loc ? e->loc : e->chain && e->chain->nr ? e->chain->locs[0] : NULL;
}

/* The function alone: without what was inlined into it, as that is one frame. */
static enum clew_err short_stack(struct export *x, const struct ana_event *e, uint32_t *node)
{
	const struct ana_loc *loc = export_innermost(e);
	enum clew_err err = CLEW_LIMIT;
	uint32_t place, frame;

	*node = REPORT_ROOT;
	if (loc)
		err = place_of(x, loc, &place);
	if (err == CLEW_OK) {
		frame = x->tables.places.data[place].first_frame;
		err = report_tree_child(&x->tree, REPORT_ROOT, item_of(x, frame), node);
	}
	if (err == CLEW_LIMIT)
		*node = x->unknown_node;
	return err == CLEW_LIMIT ? CLEW_OK : err;
}

enum clew_err export_node(struct export *x, const struct ana_event *e, const char *why,
			  uint32_t *ret)
{
	enum clew_err err = whole_stack(x, e, why, ret);

	if (err != CLEW_LIMIT)
		return err;
	x->summary.nr_short += 1 + e->nr_more;
	return short_stack(x, e, ret);
}

bool export_stack(struct export *x, uint32_t node, struct export_stack *ret)
{
	const struct report_node *nodes = x->tree.nodes.data;

	x->stack.nr = 0;
	for (uint32_t n = node; n != REPORT_ROOT; n = nodes[n].parent) {
		if (!vec_push(&x->stack, nodes[n].frame))
			return false;
	}
	*ret = (struct export_stack){x->stack.data, x->stack.nr};
	return true;
}

uint32_t export_nr_nodes(const struct export *x)
{
	return (uint32_t)x->tree.nodes.nr - 1; /* without the root */
}

const struct report_tree *export_tree(const struct export *x)
{
	return &x->tree;
}

uint32_t export_callers(const struct export *x, uint32_t node)
{
	return x->tree.nodes.data[node].parent;
}

uint32_t export_innermost_frame(const struct export *x, uint32_t node)
{
	return x->tree.nodes.data[node].frame;
}
