/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "annotate/annotation.h"
#include "base/search.h"

static uint64_t place(const struct ann_insn *n, bool is_linked)
{
	return is_linked ? n->address : n->rel;
}

/** What begins in each instruction, and what ends before it, becomes what runs through it. */
static bool add_runs(struct annotation *a, const struct code_table *runs, bool is_linked)
{
	size_t nr = a->insns.nr;
	uint64_t *begins = mem_calloc(2 * (nr + 1), sizeof(*begins)), *ends, now = 0;

	if (!begins)
		return false;
	ends = begins + nr + 1;
	for (size_t i = 0; i < runs->nr; i++) {
		const struct code_count *r = &runs->data[i];
		size_t first = search_first(nr, k, place(&a->insns.data[k], is_linked) >= r->a);
		size_t after = search_first(nr, k, place(&a->insns.data[k], is_linked) > r->b);

		if (first < after) {
			begins[first] += r->nr;
			ends[after] += r->nr;
		}
	}
	for (size_t i = 0; i < nr; i++) {
		now += begins[i] - ends[i];
		a->insns.data[i].executed += now;
	}
	mem_free(begins);
	return true;
}

/** Of runs that lie in the function whole: of others it is unknown which part took how long. */
static bool add_cycles(struct annotation *a, const struct code_table *runs, bool is_linked)
{
	size_t nr = a->insns.nr;
	struct ann_weight *steps = mem_calloc(nr + 1, sizeof(*steps)), now = {0};

	if (!steps)
		return false;
	for (size_t i = 0; i < runs->nr; i++) {
		const struct code_count *r = &runs->data[i];
		size_t first = search_first(nr, k, place(&a->insns.data[k], is_linked) >= r->a);
		size_t last = search_first(nr, k, place(&a->insns.data[k], is_linked) >= r->b);
		struct ann_insn *end;
		uint64_t share;

		if (!r->nr_timed || last >= nr || first > last ||
		    place(&a->insns.data[first], is_linked) != r->a ||
		    place(&a->insns.data[last], is_linked) != r->b)
			continue;
		end = &a->insns.data[last];
		share = r->cycles / (last - first + 1);
		steps[first].nr += r->nr_timed;
		steps[first].period += share;
		steps[last + 1].nr -= r->nr_timed; /* may wrap: the sum does not */
		steps[last + 1].period -= share;
		end->nr_runs_timed += r->nr_timed;
		end->run_cycles += r->cycles;
		end->run_insns += r->nr_timed * (last - first + 1);
		a->has_cycles = true;
	}
	for (size_t i = 0; i < nr; i++) {
		ann_weight_add(&now, &steps[i]);
		a->insns.data[i].nr_timed += now.nr;
		a->insns.data[i].cycles += now.period;
	}
	mem_free(steps);
	return true;
}

static double per(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

double ann_insn_cycles(const struct ann_insn *n)
{
	return per(n->cycles, n->nr_timed) / CODE_CYCLE;
}

double ann_run_cycles(const struct ann_insn *n)
{
	return per(n->run_cycles, n->nr_runs_timed) / CODE_CYCLE;
}

double ann_run_ipc(const struct ann_insn *n)
{
	return per(n->run_insns, n->run_cycles) * CODE_CYCLE;
}

static void add_branches(struct annotation *a, const struct code_table *t, bool is_linked,
			 bool has_runs)
{
	vec_for_each (&a->insns, n) {
		uint64_t at = place(n, is_linked);

		for (size_t i = search_first(t->nr, k, t->data[k].a >= at);
		     i < t->nr && t->data[i].a == at; i++) {
			n->taken += t->data[i].nr;
			n->mispredicted += t->data[i].nr_part;
		}
		/* Of stacks the oldest branch has no run that leads to it. */
		if (has_runs && n->executed < n->taken)
			n->executed = n->taken;
	}
}

bool annotation_add_flow(struct annotation *a, const struct code_counts *c, bool is_linked,
			 enum ann_flow flow)
{
	bool has_runs = c->runs.nr || flow == ANN_FLOW_EXACT;

	if (!add_runs(a, &c->runs, is_linked) || !add_cycles(a, &c->runs, is_linked))
		return false;
	add_branches(a, &c->branches, is_linked, has_runs);
	if (has_runs || a->flow == ANN_FLOW_NONE)
		a->flow = has_runs ? flow : ANN_FLOW_BRANCHES;
	return true;
}

bool annotation_weigh_executed(struct annotation *a)
{
	struct ann_column c = {.name = "executed", .event = ANN_NONE, .is_executed = true};

	mem_free(a->weights);
	a->weights = mem_calloc(a->insns.nr ? a->insns.nr : 1, sizeof(*a->weights));
	if (!a->weights)
		return false;
	for (size_t i = 0; i < a->insns.nr; i++) {
		uint64_t nr = a->insns.data[i].executed;

		a->weights[i] = (struct ann_weight){nr, nr};
		c.weight.nr += nr;
		c.weight.period += nr;
	}
	return vec_push(&a->columns, c);
}
