/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "diff/ipt_peer.h"
#include "flow/pt/ipt_flow.h"
#include "golden/pt_golden.h"
#include "isa/x86/x86_branch.h"
#include "unit/tap.h"

/*
 * Usage: pt_trace_peer DIR
 *
 * libipt gives the instructions of DIR/NAME.trace that clew gives, but for the files that say why
 * it does not ("libipt-differs:"). After the last one it shows more: what no packet proves.
 */
struct insns {
	const struct code_source *code;
	struct ipt_addresses addresses;
};

static bool add_insns(struct insns *n, enum isa isa, uint64_t from, uint64_t to)
{
	struct code_region r;
	struct insn i;

	while (from < to) {
		if (!n->code->find(n->code->ctx, GOLDEN_ANY_SPACE, from, &r) ||
		    x86_decode(isa, r.bytes + (from - r.start), r.end - from, from, &i) ||
		    !vec_push(&n->addresses, from))
			return false;
		from += i.bytes;
	}
	return true;
}

static enum clew_err take(void *ctx, const struct flow_batch *b)
{
	for (size_t i = 0; i < b->nr; i++) {
		uint32_t item = b->items[i];
		const struct flow_block *k = &b->blocks[item >> 1];
		const struct flow_event *e = &b->events[item & ~(uint32_t)FLOW_ITEM_EVENT];
		bool ok = true;

		if (!(item & FLOW_ITEM_EVENT))
			ok = add_insns(ctx, (enum isa)k->isa, k->start, k->start + k->bytes);
		else if (e->kind == FLOW_EV_RANGE)
			ok = add_insns(ctx, (enum isa)e->isa, e->address, e->end);
		if (!ok)
			return CLEW_INVALID;
	}
	return CLEW_OK;
}

static bool decode(struct pt_golden *g, struct insns *ret)
{
	const struct golden_way way = {.nr_threads = 1};
	struct ipt_flow_opts o = {.config = &g->config, .flow.batch = take, .flow.ctx = ret};
	struct flow *f;
	bool ok;

	flow_free(pt_golden_unit.flow(&g->golden, &way, NULL)); /* sets the code */
	o.flow.code = ret->code = &g->code;
	f = ipt_flow_new(&o);
	ok = f && !flow_feed(f, bytes_of(g->golden.trace.data, g->golden.trace.nr)) &&
	     !flow_finish(f);
	flow_free(f);
	return ok;
}

static bool decode_by_peer(struct pt_golden *g, struct ipt_addresses *ret)
{
	struct ipt_peer peer = {.config = &g->config,
				.code = &g->code,
				.trace = &g->golden.trace,
				.family = g->family,
				.model = g->model,
				.filter_from = g->filter_from,
				.filter_to = g->filter_to,
				.has_filter = g->has_filter};

	return ipt_peer_insns(&peer, ret);
}

/** @return how many instructions are equal. */
static size_t nr_equal(const struct ipt_addresses *a, const struct ipt_addresses *b)
{
	size_t i = 0;

	while (i < a->nr && i < b->nr && a->data[i] == b->data[i])
		i++;
	return i;
}

static void print(const char *who, const struct ipt_addresses *a, size_t from)
{
	printf("# %s:", who);
	for (size_t i = from; i < a->nr && i < from + 8; i++)
		printf(" %llx", (unsigned long long)a->data[i]);
	printf("\n");
}

static void check_file(void *ctx, const char *dir, const char *name)
{
	struct pt_golden g = {.golden.unit = &pt_golden_unit};
	struct ipt_addresses peer = {0};
	struct insns ours = {0};
	char path[4096];
	size_t nr;
	bool ok, is_equal;

	(void)ctx;
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	ok = golden_read(&g.golden, path) && decode(&g, &ours) && decode_by_peer(&g, &peer);
	nr = nr_equal(&ours.addresses, &peer);
	is_equal = nr == ours.addresses.nr;
	if (ok && is_equal != !*g.peer) {
		printf("# %zu equal\n", nr);
		print("clew", &ours.addresses, nr);
		print("libipt", &peer, nr);
	}
	if (*g.peer)
		CHECK(ok && !is_equal, "%s: libipt differs: %s", name, g.peer);
	else
		CHECK(ok && is_equal, "%s: libipt: %zu instructions", name, nr);
	vec_done(&ours.addresses);
	vec_done(&peer);
	golden_done(&g.golden);
}

int main(int argc, char **argv)
{
	if (!ipt_peer_can())
		SKIP_ALL("built without libipt");
	CHECK(golden_for_each(argc == 2 ? argv[1] : "", check_file, NULL) > 0,
	      "there are situations to decode");
	return tap_done();
}
