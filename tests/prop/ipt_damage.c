/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/pt/ipt_flow.h"
#include "isa/x86/x86_branch.h"
#include "make/ipt_program.h"
#include "make/splitmix.h"
#include "packet/pt/ipt_sync.h"
#include "prop/ipt_set.h"
#include "prop/seeds.h"
#include "unit/tap.h"

/*
 * Usage: ipt_damage SETS_DIR [FIRST_SEED [NR]]
 *
 * Traces of random programs, and of the committed set whose code does not change, cut and damaged.
 *
 * Cut: what ran in a prefix is the beginning of what ran in the whole.
 *
 * Damaged: decoding ends, and is right again after the next synchronisation. Let P be the first PSB
 * that both traces report at the same offset, after the damage by the longest packet or more, and
 * of which the PSB+ is whole and says where execution is: from P to the end what ran is equal. Such
 * a PSB+ says all: the mode, the place, the address space, whether it is in a transaction; and the
 * return stack is empty there. (Of one that an overflow ends the mode is that before.)
 *
 * Without arguments: CLEW_TEST_SECONDS (4) of programs.
 */
enum { NR_INSNS = 4000, NR_TRIALS = 24, LONGEST = 16, NR_SET_TRIALS = 60, SET_BYTES = 200 << 10 };

/** Something ran, or a PSB came. */
struct entry {
	uint64_t start, end; /* start of a PSB: its offset */
	uint32_t nr_insns;
	uint8_t isa;
	bool is_psb;
};

struct log {
	VEC(struct entry);
	bool has_psbs;
};

struct subject {
	const char *name;
	const struct ipt_config *config;
	const struct code_source *code;
	const uint8_t *bytes;
	size_t nr;
};

static uint64_t nr_cuts, nr_damaged, nr_back, nr_compared, nr_wrong;

/** Runs of one place that nothing divides are one: an event on the way divides them. */
static bool add_run(struct log *l, const struct entry *e)
{
	struct entry *last = l->nr ? &l->data[l->nr - 1] : NULL;

	if (last && !last->is_psb && last->end == e->start && last->isa == e->isa) {
		last->end = e->end;
		last->nr_insns += e->nr_insns;
		return true;
	}
	return vec_push(l, *e);
}

static bool add_event(struct log *l, const struct flow_event *e)
{
	if (e->kind == FLOW_EV_RANGE)
		return add_run(l, &(struct entry){e->address, e->end, e->count, e->isa, false});
	if (l->has_psbs && e->kind == FLOW_EV_NOTE && e->number == FLOW_NOTE_PSB)
		return vec_push(l, (struct entry){.start = e->value, .is_psb = true});
	return true;
}

static enum clew_err take_batch(void *ctx, const struct flow_batch *b)
{
	bool ok = true;

	for (size_t i = 0; ok && i < b->nr; i++) {
		uint32_t item = b->items[i];
		const struct flow_block *k = &b->blocks[item >> 1];

		ok = item & FLOW_ITEM_EVENT
			   ? add_event(ctx, &b->events[item & ~(uint32_t)FLOW_ITEM_EVENT])
			   : add_run(ctx, &(struct entry){k->start, k->start + k->bytes,
							  k->nr_insns, k->isa, false});
	}
	return ok ? CLEW_OK : CLEW_NO_MEMORY;
}

static bool decode(const struct subject *s, const uint8_t *bytes, size_t nr,
		   unsigned int nr_threads, struct log *ret)
{
	struct ipt_flow_opts o = {.config = s->config,
				  .flow.code = s->code,
				  .flow.batch = take_batch,
				  .flow.ctx = ret,
				  .flow.nr_threads = nr_threads,
				  .flow.part_bytes = nr_threads > 1 ? 3000 : 0};
	struct flow *f = ipt_flow_new(&o);
	uint8_t *copy = mem_alloc(nr ? nr : 1); /* so that reading past its end shows */
	bool ok = f && copy;

	ret->nr = 0;
	if (ok) {
		memcpy(copy, bytes, nr);
		ok = !flow_feed(f, bytes_of(copy, nr)) && !flow_finish(f);
	}
	mem_free(copy);
	flow_free(f);
	return ok;
}

static bool is_equal(const struct entry *a, const struct entry *b)
{
	return a->start == b->start && a->end == b->end && a->nr_insns == b->nr_insns &&
	       a->isa == b->isa && a->is_psb == b->is_psb;
}

static void show(const char *what, const struct entry *e)
{
	if (e)
		printf("# %s %llx-%llx, %u instructions of %u%s\n", what,
		       (unsigned long long)e->start, (unsigned long long)e->end, e->nr_insns,
		       e->isa, e->is_psb ? ", a PSB" : "");
	else
		printf("# %s nothing more\n", what);
}

static void wrong(const struct subject *s, const char *what, size_t at, const struct entry *got,
		  const struct entry *want)
{
	if (nr_wrong++ >= 5)
		return;
	printf("# %s: %s at %zu\n", s->name, what, at);
	show("got", got);
	show("want", want);
}

/** What ran last may have come farther in the whole. */
static void check_cut(const struct subject *s, size_t nr, unsigned int nr_threads,
		      const struct log *whole)
{
	static struct log part;
	size_t i = 0;

	nr_cuts++;
	if (!decode(s, s->bytes, nr, nr_threads, &part)) {
		wrong(s, "cut: an error", nr, NULL, NULL);
		return;
	}
	while (i < part.nr && i < whole->nr && is_equal(&part.data[i], &whole->data[i]))
		i++;
	if (i == part.nr ||
	    (i + 1 == part.nr && i < whole->nr && part.data[i].start == whole->data[i].start &&
	     part.data[i].end <= whole->data[i].end))
		return;
	wrong(s, "cut", nr, &part.data[i], i < whole->nr ? &whole->data[i] : NULL);
}

/** Is the PSB+ at @p offset whole, with a place? */
static bool says_all(const struct subject *s, uint64_t offset)
{
	struct ipt_sync sync;

	return ipt_sync_find(s->config, bytes_of(s->bytes, s->nr), (size_t)offset, &sync) &&
	       sync.at == offset && sync.has & IPT_SYNC_ON;
}

/** The first PSB from entry @p i on that says all, at @p offset or after it. @return its index; nr:
 * none. */
static size_t psb_from(const struct subject *s, const struct log *l, size_t i, uint64_t offset)
{
	while (i < l->nr &&
	       !(l->data[i].is_psb && l->data[i].start >= offset && says_all(s, l->data[i].start)))
		i++;
	return i;
}

static void compare(const struct subject *s, size_t at, size_t end, const struct log *got,
		    const struct log *want)
{
	size_t g = psb_from(s, got, 0, end), w = psb_from(s, want, 0, end);

	while (g < got->nr && w < want->nr && got->data[g].start != want->data[w].start) {
		if (got->data[g].start < want->data[w].start)
			g = psb_from(s, got, g + 1, end);
		else
			w = psb_from(s, want, w + 1, end);
	}
	if (w == want->nr || g == got->nr)
		return;
	nr_back++;
	nr_compared += want->nr - w;
	for (; g < got->nr || w < want->nr; g++, w++) {
		const struct entry *a = g < got->nr ? &got->data[g] : NULL;
		const struct entry *b = w < want->nr ? &want->data[w] : NULL;

		if (!a || !b || !is_equal(a, b)) {
			wrong(s, "not back after damage", at, a, b);
			return;
		}
	}
}

/** @return after the last byte that is another one. */
static size_t do_damage(uint8_t *bytes, size_t nr, uint64_t *random)
{
	size_t at = splitmix_below(random, (uint32_t)nr), last = at;

	switch (splitmix_below(random, 4)) {
	case 0:
		bytes[at] = (uint8_t)splitmix_below(random, 256);
		break;
	case 1: /* a few together */
		for (size_t i = at; i < nr && i < at + 8; last = i++)
			bytes[i] ^= (uint8_t)(1u << splitmix_below(random, 8));
		break;
	default:
		bytes[at] ^= (uint8_t)(1u << splitmix_below(random, 8));
		break;
	}
	return last + 1;
}

static void damage(const struct subject *s, const struct log *want, uint64_t *random)
{
	static struct log got = {.has_psbs = true};
	uint8_t *copy = mem_alloc(s->nr);
	size_t end;

	if (!copy)
		return;
	memcpy(copy, s->bytes, s->nr);
	end = do_damage(copy, s->nr, random);
	nr_damaged++;
	if (decode(s, copy, s->nr, 1 + splitmix_below(random, 2), &got))
		compare(s, end, end + LONGEST, &got, want);
	else
		wrong(s, "damaged: an error", end, NULL, NULL);
	mem_free(copy);
}

static bool try_subject(const struct subject *s, unsigned int nr_trials, uint64_t random)
{
	static struct log whole, with_psbs = {.has_psbs = true};
	uint64_t before = nr_wrong;

	if (!s->nr || !decode(s, s->bytes, s->nr, 1, &whole) ||
	    !decode(s, s->bytes, s->nr, 1, &with_psbs))
		return false;
	for (unsigned int i = 0; i < nr_trials; i++) {
		damage(s, &with_psbs, &random);
		check_cut(s, splitmix_below(&random, (uint32_t)s->nr),
			  1 + splitmix_below(&random, 2), &whole);
	}
	return nr_wrong == before;
}

static bool try_seed(void *ctx, uint64_t seed)
{
	static struct ipt_program p;
	const struct ipt_program_opts o = {.seed = seed, .nr_insns = NR_INSNS};
	bool ok = ipt_program_make(&p, &o);
	const struct subject s = {ipt_program_text(&p), &p.config, &p.source,
				  (const uint8_t *)p.encoder.out.data, p.encoder.out.nr};

	(void)ctx;
	ok = ok && try_subject(&s, NR_TRIALS, seed);
	ipt_program_done(&p);
	return ok;
}

/** Its beginning. */
static void try_set(const char *path)
{
	struct ipt_set set;
	bool ok = ipt_set_load(&set, path);
	const struct subject s = {"a set", &set.config, &set.code.source,
				  (const uint8_t *)set.trace.data,
				  set.trace.nr < SET_BYTES ? set.trace.nr : SET_BYTES};

	CHECK(ok && try_subject(&s, NR_SET_TRIALS, 1), "%s", strrchr(path, '/') + 1);
	ipt_set_done(&set);
}

int main(int argc, char **argv)
{
	char path[4096];
	struct seeds r;

	if (!x86_can_decode())
		SKIP_ALL("built without Zydis");
	if (argc < 2)
		SKIP_ALL("which sets?");
	snprintf(path, sizeof(path), "%s/threads", argv[1]);
	try_set(path);
	r = seeds_try(argc - 1, argv + 1, 4, try_seed, NULL);
	CHECK(r.done && !r.nr_wrong && nr_back,
	      "%llu programs, %llu cuts, %llu times damaged, %llu of them with a PSB after it, from "
	      "which %llu runs are compared",
	      (unsigned long long)r.done, (unsigned long long)nr_cuts,
	      (unsigned long long)nr_damaged, (unsigned long long)nr_back,
	      (unsigned long long)nr_compared);
	return tap_done();
}
