/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prop/cookie_model.h"

#include <stdlib.h>

#include "base/hash.h"
#include "unit/tap.h"

/*
 * Every order of events of two tasks on two CPUs within a budget, on the code that the BPF program
 * runs; then the same with one mistake each, which has to be found. CLEW_TEST_DEPTH=N: N more
 * requests and runs of user code (1: a minute).
 */

/* --- the ways one step can go: a list of choices, counted through like an odometer --- */

struct oracle {
	uint8_t at[64], limit[64];
	unsigned nr, next;
};

static unsigned oracle_choose(void *ctx, unsigned n)
{
	struct oracle *o = ctx;

	if (o->next == o->nr) {
		if (o->nr == 64)
			return 0;
		o->at[o->nr] = 0;
		o->limit[o->nr++] = (uint8_t)n;
	}
	return o->at[o->next++];
}

static bool oracle_next(struct oracle *o)
{
	while (o->nr && o->at[o->nr - 1] + 1 == o->limit[o->nr - 1])
		o->nr--;
	if (o->nr)
		o->at[o->nr - 1]++;
	o->next = 0;
	return o->nr;
}

/* --- states seen, by a hash of 64 bits --- */

struct seen {
	uint64_t *slot;
	size_t nr, cap;
};

static bool seen_add(struct seen *s, uint64_t h);

static void seen_grow(struct seen *s)
{
	struct seen bigger = {.cap = s->cap ? s->cap * 2 : 1 << 16};

	bigger.slot = calloc(bigger.cap, sizeof(*bigger.slot));
	if (!bigger.slot)
		abort();
	for (size_t i = 0; i < s->cap; i++)
		if (s->slot[i])
			seen_add(&bigger, s->slot[i]);
	free(s->slot);
	*s = bigger;
}

/* true: new */
static bool seen_add(struct seen *s, uint64_t h)
{
	size_t i;

	if (s->nr * 2 >= s->cap)
		seen_grow(s);
	h += !h;
	for (i = h & (s->cap - 1); s->slot[i]; i = (i + 1) & (s->cap - 1))
		if (s->slot[i] == h)
			return false;
	s->slot[i] = h;
	s->nr++;
	return true;
}

/* --- depth first, the path kept for the report --- */

enum { MAX_PATH = 4096 };

struct path_node {
	struct model_world world;
	struct oracle oracle;
	unsigned task;
	unsigned step; /* enum model_step_kind: the one being tried */
};

struct search {
	struct model model;
	struct seen seen;
	struct path_node *path;
	unsigned depth;
	uint64_t nr_steps, nr_second;
	enum model_fault fault;
	unsigned fault_depth;
};

/* The next way out of @p n, done to @p ret. */
static bool try_next(struct search *s, struct path_node *n, struct model_world *ret)
{
	for (; n->task < MODEL_TASKS; n->task++, n->step = 0) {
		for (; n->step < NR_MODEL_STEPS; n->step++, n->oracle.nr = 0) {
			if (!model_can(&s->model, &n->world, n->task, n->step))
				continue;
			memcpy(ret, &n->world, sizeof(*ret));
			n->oracle.next = 0;
			s->model.ctx = &n->oracle;
			model_step(&s->model, ret, n->task, n->step);
			return true;
		}
	}
	return false;
}

static void move_on(struct path_node *n)
{
	if (!oracle_next(&n->oracle))
		n->step++;
}

static void push(struct search *s, const struct model_world *w)
{
	struct path_node *n = &s->path[s->depth++];

	memcpy(&n->world, w, sizeof(*w));
	n->task = n->step = 0;
	n->oracle.nr = n->oracle.next = 0;
}

static void print_path(const struct search *s)
{
	for (unsigned i = 0; i < s->depth; i++)
		printf("#   task %u on CPU %d: %s\n", s->path[i].task,
		       (int8_t)s->path[i].world.task[s->path[i].task].cpu,
		       model_step_name(s->path[i].step));
	printf("#   -> %s\n", model_fault_name(s->fault));
}

static void search_done(struct search *s)
{
	free(s->seen.slot);
	free(s->path);
}

/* Until the first fault, or all has been seen. */
static void explore(struct search *s, const struct model_budget *b)
{
	struct model_world w, same;

	s->path = calloc(MAX_PATH, sizeof(*s->path));
	if (!s->path)
		abort();
	s->model.choose = oracle_choose;
	model_start(&w, b);
	push(s, &w);
	while (s->depth && !s->fault) {
		struct path_node *n = &s->path[s->depth - 1];

		if (!try_next(s, n, &w)) {
			if (--s->depth)
				move_on(&s->path[s->depth - 1]);
			continue;
		}
		s->nr_steps++;
		s->fault = s->model.fault;
		if (s->fault || s->depth == MAX_PATH)
			break;
		model_canonical(&s->model, &w, &same);
		if (seen_add(&s->seen, hash_bytes(&same, sizeof(same))))
			push(s, &w);
		else
			move_on(n);
	}
	s->nr_second = s->model.nr_second_cookies;
}

/* --- the protocol, and mistakes in it --- */

static const struct model_protocol right = {
	.name = "cookie_state.h",
	.request = cookie_request,
	.asked = cookie_asked,
	.begin = cookie_callback_begin,
	.end = cookie_callback_end,
	.make = cookie_make,
};

static void end_is_free(struct cookie_slot *s, uint64_t rest)
{
	(void)rest;
	s->state = COOKIE_FREE;
}

static bool begin_is_done(struct cookie_slot *s, uint64_t place, uint64_t fresh)
{
	bool ok = cookie_callback_begin(s, place, fresh);

	s->state = COOKIE_FREE;
	return ok;
}

static bool begin_is_blind(struct cookie_slot *s, uint64_t place, uint64_t fresh)
{
	(void)place;
	(void)fresh;
	if (s->state != COOKIE_PENDING)
		return false;
	s->state = COOKIE_RUNNING;
	return true;
}

static bool begin_overwrites(struct cookie_slot *s, uint64_t place, uint64_t fresh)
{
	bool is_other = s->place && s->place != place;

	if (s->state != COOKIE_PENDING)
		return false;
	model_point();
	if (is_other)
		s->cookie = fresh;
	s->place = place;
	s->state = COOKIE_RUNNING;
	return true;
}

static enum cookie_act pending_is_blind(struct cookie_slot *s, const struct cookie_sight *now)
{
	return s->state == COOKIE_PENDING ? COOKIE_SAME : cookie_request(s, now);
}

static enum cookie_act running_asks(struct cookie_slot *s, const struct cookie_sight *now)
{
	return s->state == COOKIE_RUNNING ? COOKIE_ASK : cookie_request(s, now);
}

static enum cookie_act done_is_blind(struct cookie_slot *s, const struct cookie_sight *now)
{
	return s->state == COOKIE_DONE ? COOKIE_SAME : cookie_request(s, now);
}

static enum cookie_act done_sees_place_only(struct cookie_slot *s, const struct cookie_sight *now)
{
	if (s->state == COOKIE_DONE && now->place == s->place)
		return COOKIE_SAME;
	return cookie_request(s, now);
}

static uint64_t refused_is_taken(struct cookie_slot *s, const struct cookie_sight *now,
				 enum cookie_taken taken, uint64_t fresh)
{
	return cookie_asked(s, now, taken == COOKIE_REFUSED ? COOKIE_TAKEN : taken, fresh);
}

static uint64_t queued_keeps_cookie(struct cookie_slot *s, const struct cookie_sight *now,
				    enum cookie_taken taken, uint64_t fresh)
{
	return taken == COOKIE_QUEUED ? s->cookie : cookie_asked(s, now, taken, fresh);
}

static uint64_t make_without_cpu(uint32_t cpu, uint64_t counter)
{
	(void)cpu;
	return counter << 16 | 1;
}

struct mutant {
	struct model_protocol protocol;
	enum model_eyes eyes;
};

#define LIKE_RIGHT                                                                 \
 .request = cookie_request, .asked = cookie_asked, .begin = cookie_callback_begin, \
 .end = cookie_callback_end, .make = cookie_make

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
/* clang-format off */
static const struct mutant mutants[] = {
	{{LIKE_RIGHT, .name = "the slot is freed at the end of the callback", .end = end_is_free}, EYES_SHARP},
	{{LIKE_RIGHT, .name = "the slot is freed when the callback begins", .begin = begin_is_done}, EYES_SHARP},
	{{LIKE_RIGHT, .name = "the callback does not look where it is", .begin = begin_is_blind}, EYES_SHARP},
	{{LIKE_RIGHT, .name = "the callback overwrites a request's new cookie", .begin = begin_overwrites}, EYES_SHARP},
	{{LIKE_RIGHT, .name = "a pending slot answers every request", .request = pending_is_blind}, EYES_SHARP},
	{{LIKE_RIGHT, .name = "a request inside the callback asks again", .request = running_asks}, EYES_SHARP},
	{{LIKE_RIGHT, .name = "a done slot answers every request", .request = done_is_blind}, EYES_SHARP},
	{{LIKE_RIGHT, .name = "a done slot answers equal registers", .request = done_sees_place_only}, EYES_SAME_PLACE},
	{{LIKE_RIGHT, .name = "a refusal is taken for a promise", .asked = refused_is_taken}, EYES_SHARP},
	{{LIKE_RIGHT, .name = "a queued item keeps its cookie", .asked = queued_keeps_cookie}, EYES_SHARP},
	{{LIKE_RIGHT, .name = "cookies without the CPU", .make = make_without_cpu}, EYES_SHARP},
	{{LIKE_RIGHT, .name = "no look at the start time", .ignores_start_time = true}, EYES_SHARP},
	{{LIKE_RIGHT, .name = "the counter is read and written apart", .counts_unsafely = true}, EYES_SHARP},
};
/* clang-format on */
#pragma GCC diagnostic pop

/* clang-format off */
static const struct budget_row {
	const char *name;
	struct model_budget b;
} budgets[] = {
	{"requests and switches", {.requests = 4, .runs = 2, .switches = 2}},
	{"requests and refusals", {.requests = 3, .runs = 2, .switches = 1, .refusals = 1, .full_maps = 1, .full_rings = 1}},
	{"what cannot be seen",   {.requests = 3, .runs = 1, .switches = 1, .earlies = 2, .unseen = 1}},
	{"exec and exit",         {.requests = 2, .runs = 1, .switches = 1, .earlies = 1, .execs = 1, .exits = 1, .missed_exits = 1}},
	{"tids used again",       {.requests = 3, .runs = 1, .switches = 1, .earlies = 1, .exits = 1, .missed_exits = 1}},
};
/* clang-format on */
enum { NR_BUDGETS = sizeof(budgets) / sizeof(budgets[0]) };

static struct model_budget budget_of(const struct budget_row *r)
{
	struct model_budget b = r->b;
	const char *depth = getenv("CLEW_TEST_DEPTH");
	uint8_t more = depth ? (uint8_t)(strtoul(depth, NULL, 10) & 7) : 0;

	b.requests = (uint8_t)(b.requests + more);
	b.runs = (uint8_t)(b.runs + more);
	return b;
}

static void check_right(enum model_eyes eyes, bool never_late, const char *what)
{
	for (unsigned i = 0; i < NR_BUDGETS; i++) {
		struct search s = {.model.protocol = &right,
				   .model.eyes = eyes,
				   .model.never_late = never_late};
		struct model_budget b = budget_of(&budgets[i]);

		explore(&s, &b);
		CHECK(!s.fault && !s.depth, "%s, %s: %zu states, %llu steps: %s is wrong", what,
		      budgets[i].name, s.seen.nr, (unsigned long long)s.nr_steps,
		      model_fault_name(s.fault));
		if (s.fault)
			print_path(&s);
		printf("# second cookies, in entries that could not be distinguished: %llu\n",
		       (unsigned long long)s.nr_second);
		search_done(&s);
	}
}

static void check_mutants(void)
{
	for (size_t i = 0; i < sizeof(mutants) / sizeof(mutants[0]); i++) {
		enum model_fault found = FAULT_NONE;
		size_t nr = 0;

		for (unsigned j = 0; j < NR_BUDGETS && !found; j++) {
			struct search s = {.model.protocol = &mutants[i].protocol,
					   .model.eyes = mutants[i].eyes,
					   .model.never_late = mutants[i].eyes != EYES_SHARP};

			explore(&s, &budgets[j].b);
			found = s.fault;
			nr += s.seen.nr;
			search_done(&s);
		}
		CHECK(found && found != FAULT_FULL, "%s: found after %zu states: %s",
		      mutants[i].protocol.name, nr, model_fault_name(found));
	}
}

/* No counter runs into the ids of another CPU, and none looks like "no cookie". */
static void check_layout(void)
{
	static const uint64_t counters[] = {0,
					    1,
					    0xffff,
					    0x10000,
					    (1ULL << 32) - 1,
					    1ULL << 32,
					    (1ULL << 47) - 1,
					    (1ULL << 48) - 1,
					    1ULL << 48,
					    UINT64_MAX};
	static const uint32_t cpus[] = {0, 1, 2, 255, 8191, 65533, 65534};
	unsigned nr_bad = 0, nr = 0;

	for (size_t a = 0; a < sizeof(cpus) / sizeof(cpus[0]); a++) {
		for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++, nr++) {
			uint64_t c = cookie_make(cpus[a], counters[i]);

			nr_bad += (c & 0xffff) != cpus[a] + 1;
			nr_bad += c >> 16 != (counters[i] & ((1ULL << 48) - 1));
		}
	}
	CHECK_EQ(nr_bad, 0, "%u cookies keep the CPU apart from the counter", nr);
}

int main(void)
{
	check_layout();
	check_right(EYES_SHARP, false, "every entry looks different");
	check_right(EYES_SAME_PLACE, true, "entries with equal registers");
	check_mutants();
	return tap_done();
}
