/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every order of what kernel, hardware, triggers and clew do with an AUX area, up to a number of
 * blocks, hits and requests: clew's rules break no property (make/aux_model.h), other rules do. */
#include "make/aux_model.h"

#include "base/mem.h"
#include "unit/tap.h"

enum { MAX_STATES = 1 << 19, SLOTS = 1 << 20 };

struct found {
	struct model state;
	uint32_t from; /* number of the state before */
	const char *step;
};

struct search {
	const struct model_config *c;
	struct found *states;
	uint32_t *slots; /* number of a state + 1 */
	uint32_t nr;
	unsigned int broken; /* properties, of any state */
	unsigned int wanted; /* stop when one of these is broken */
	uint32_t worst;      /* the first state that breaks one */
};

static uint32_t hash_of(const struct model *m)
{
	const uint8_t *p = (const uint8_t *)m;
	uint64_t h = 0x9e3779b97f4a7c15;

	for (size_t i = 0; i < sizeof(*m); i++)
		h = (h ^ p[i]) * 0x100000001b3;
	return (uint32_t)(h ^ h >> 29) & (SLOTS - 1);
}

static void visit(struct search *s, const struct model *m, uint32_t from, const char *step)
{
	uint32_t at = hash_of(m);
	unsigned int broken;

	for (; s->slots[at]; at = (at + 1) & (SLOTS - 1))
		if (!memcmp(&s->states[s->slots[at] - 1].state, m, sizeof(*m)))
			return;
	if (s->nr == MAX_STATES)
		return;
	s->states[s->nr] = (struct found){*m, from, step};
	s->slots[at] = ++s->nr;
	broken = model_check(s->c, m);
	if (broken && !s->broken)
		s->worst = s->nr - 1;
	s->broken |= broken;
}

static void explore(struct search *s)
{
	struct model first;

	memset(s->slots, 0, SLOTS * sizeof(*s->slots));
	s->nr = s->broken = 0;
	model_init(&first, s->c);
	visit(s, &first, 0, "start");
	for (uint32_t i = 0; i < s->nr && !(s->broken & s->wanted); i++) {
		struct model_step step[MODEL_MAX_STEPS];
		size_t nr = s->states[i].state.errors
				  ? 0
				  : model_steps(s->c, &s->states[i].state, step);

		for (size_t k = 0; k < nr; k++)
			visit(s, &step[k].next, i, step[k].name);
	}
}

/* The shortest way to the first state that breaks a property. */
static void print_way(const struct search *s, uint32_t at)
{
	uint32_t way[256], nr = 0;

	for (; at && nr < 256; at = s->states[at].from)
		way[nr++] = at;
	while (nr)
		printf("#   %s\n", s->states[way[--nr]].step);
}

#define FULL      .max_blocks = 5, .max_records = 2
#define FULL_HITS .max_blocks = 4, .max_records = 1, .has_triggers = true, .max_hits = 2
#define SNAPSHOT  .is_snapshot = true, .max_blocks = 11, .max_requests = 3
#define TRIGGERS  .is_snapshot = true, .has_triggers = true, .changes = true, .max_hits = 4

/* clang-format off */
static const struct model_config rules[] = {
	{ "full, 6.12, task",            FULL },
	{ "full, 6.12, CPU 0",           FULL, .is_wide = true },
	{ "full, 6.12, CPU 1",           FULL, .is_wide = true, .cpu = 1 },
	{ "full, 7.3, task",             FULL, .is_73 = true },
	{ "full, 7.3, CPU 0",            FULL, .is_73 = true, .is_wide = true },
	{ "full, 7.3, CPU 1",            FULL, .is_73 = true, .is_wide = true, .cpu = 1 },
	{ "full, 6.12, CPU 1, triggers", FULL_HITS, .is_wide = true, .cpu = 1 },
	{ "full, 7.3, CPU 0, triggers",  FULL_HITS, .is_73 = true, .is_wide = true },
	{ "snapshot, byte counter",      SNAPSHOT, .is_counter = true },
	{ "snapshot, offset",            SNAPSHOT },
	{ "snapshot, offset, limit",     SNAPSHOT, .limit = 2 },
	{ "snapshot, counter, limit",    SNAPSHOT, .is_counter = true, .limit = 2 },
	{ "snapshot, true sizes",        SNAPSHOT, .has_true_sizes = true },
	{ "triggers",                    TRIGGERS },
	{ "triggers, start paused",      TRIGGERS, .starts_paused = true },
	{ "triggers, nested",            TRIGGERS, .nests = true },
	{ "triggers, nested, start paused", TRIGGERS, .nests = true, .starts_paused = true },
};

static const struct {
	struct model_config c;
	unsigned int breaks;
} others[] = {
	{ { "perf: window modulo the area",  SNAPSHOT, .is_counter = true, .bad = MODEL_MODULO }, MODEL_P4 },
	{ { "perf: came round for ever",     SNAPSHOT, .bad = MODEL_STICKY }, MODEL_P4 },
	{ { "perf: requests dropped",        SNAPSHOT, .is_counter = true, .bad = MODEL_DROP }, MODEL_P5 },
	{ { "perf: slices contained",        .is_snapshot = true, .max_blocks = 7, .max_requests = 2, .is_counter = true, .bad = MODEL_CONTAIN }, MODEL_P3 },
	{ { "perf: ENABLE only, 6.12 CPU 0", FULL, .is_wide = true, .bad = MODEL_ENABLE_ONLY }, MODEL_P3 },
	{ { "perf: ENABLE only, 6.12 task",  FULL, .bad = MODEL_ENABLE_ONLY }, MODEL_P3 },
	{ { "a tail before the copy",        FULL, .bad = MODEL_EARLY_TAIL }, MODEL_P3 },
	{ { "a head without DISABLE",        SNAPSHOT, .is_counter = true, .bad = MODEL_STALE_HEAD }, MODEL_P4 },
	{ { "a trigger enabled late",        TRIGGERS, .bad = MODEL_LATE_TRIGGER }, MODEL_P1 },
	{ { "the leader closed first",       TRIGGERS, .bad = MODEL_LEADER_FIRST }, MODEL_P6 },
	{ { "LOST records alone",            FULL, .is_wide = true, .bad = MODEL_NO_LOST }, MODEL_P3 },
	{ { "its own times alone, 6.12",     FULL, .bad = MODEL_NO_PEER }, MODEL_P3 },
	{ { "its own times alone, 7.3",      FULL, .is_73 = true, .bad = MODEL_NO_PEER }, MODEL_P3 },
};
/* clang-format on */

static void check_rules(struct search *s)
{
	uint32_t all = 0;

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		s->c = &rules[i];
		explore(s);
		all += s->nr;
		printf("# %s: %u states\n", s->c->name, s->nr);
		CHECK(s->nr < MAX_STATES, "%s: all states are visited", s->c->name);
		CHECK_EQ(s->broken, 0, "%s: no property is broken", s->c->name);
		if (s->broken)
			print_way(s, s->worst);
	}
	CHECK(all > 100000, "%u states", all);
}

static void check_others(struct search *s)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		s->c = &others[i].c;
		s->wanted = others[i].breaks;
		explore(s);
		CHECK(s->broken & others[i].breaks, "%s: wrong, after %u states", s->c->name,
		      s->nr);
		print_way(s, s->worst);
	}
}

int main(void)
{
	struct search s = {.states = mem_alloc(MAX_STATES * sizeof(*s.states)),
			   .slots = mem_alloc(SLOTS * sizeof(*s.slots))};

	if (!s.states || !s.slots)
		SKIP_ALL("no memory for the states");
	check_rules(&s);
	check_others(&s);
	mem_free(s.states);
	mem_free(s.slots);
	return tap_done();
}
