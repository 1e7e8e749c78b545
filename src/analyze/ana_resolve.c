/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_resolve.h"

#include "analyze/ana_caller.h"
#include "analyze/ana_guest.h"
#include "analyze/analyze_impl.h"
#include "base/hash.h"
#include "base/mem.h"

enum {
	DEFAULT_CACHE_BYTES = 96 << 20,
	FIRST_LOCS = 4096,
	FIRST_CHAINS = 1024,
	/* A record holds 8192 words, and its stack is put in with a mark before each frame. */
	MAX_CHAIN = 3 * 8192,
};

/* Space numbers of levels that have no address space of ours. */
#define SPACE_OF_LEVEL(level) (UINT32_MAX - (uint32_t)(level))

static struct who_space *space_of(struct analyze *a, struct who_thread *t, enum ana_level level)
{
	if (level == ANA_KERNEL)
		return who_kernel(a->who);
	if (level == ANA_GUEST_KERNEL)
		return ana_guest_kernel(a, t);
	/* Which of a guest's processes the host sampled is unknown. */
	return t && level == ana_level_in(t, ANA_USER) ? t->space : NULL;
}

static struct ana_place *find_place(struct analyze *a, struct who_space *space, bool is_kernel,
				    uint64_t ip, struct who_map **ret_map)
{
	*ret_map = space ? who_space_find(space, ip) : NULL;
	if (*ret_map)
		return ana_place_of(&a->places, *ret_map);
	/* Code freed after boot lies outside of the map that recorders write. */
	return is_kernel && (!a->opts.is_as_perf || space->maps) ? ana_kernel_place(&a->places)
								 : NULL;
}

/* Who asks: the space of @p thread, which may be NULL. */
struct asker {
	const struct who_thread *thread;
	struct who_space *space;
	bool is_kernel;
};

static enum clew_err find_spot(struct analyze *a, const struct ana_site *s, const struct asker *q,
			       uint64_t ip, struct ana_spot *ret)
{
	uint32_t pid = s->map ? s->map->pid : 0;

	/* Its code is looked for in no file. */
	if (s->place->is_jit && a->opts.no_symbols) {
		*ret = (struct ana_spot){s->place->dso, ip, true};
		return CLEW_OK;
	}
	return ana_places_find(&a->places, s->place, s->map, q->thread ? q->thread->pid : pid,
			       (struct jit_when){a->now, false}, ip, ret);
}

static struct ana_site site_at(struct analyze *a, const struct asker *q, uint64_t ip)
{
	struct ana_site s = {0};
	struct who_map *map;

	s.place = find_place(a, q->space, q->is_kernel, ip, &map);
	s.map = map;
	if (s.place && find_spot(a, &s, q, ip, &s.at) != CLEW_OK)
		s = (struct ana_site){.is_failed = true};
	return s;
}

/* Where @p ip is looked up: at @p *ret_back bytes before it. */
static struct ana_site find_site(struct analyze *a, const struct asker *q, uint64_t ip,
				 enum ana_arrival arrival, uint64_t *ret_back)
{
	struct ana_site at = site_at(a, q, ip), before;

	*ret_back = 0;
	if (arrival == ANA_AT || !ip)
		return at;
	before = site_at(a, q, ip - 1);
	*ret_back = ana_is_after(&before, &at, arrival, a->opts.no_symbols);
	return *ret_back ? before : at;
}

/* @p back: 1 for a return address, which takes the place of the byte before it. */
static struct ana_loc *make_loc(struct analyze *a, struct ana_site *site, enum ana_level level,
				uint64_t ip, uint64_t back)
{
	struct ana_loc *loc = arena_zalloc(&a->cache.memory, sizeof(*loc));

	if (!loc)
		return NULL;
	loc->ip = loc->rel = ip;
	loc->level = (uint8_t)level;
	loc->is_return = back;
	loc->id = a->cache.next_loc_id++;
	if (!site->place)
		return loc;
	loc->rel = site->at.rel + back;
	loc->dso = site->at.dso;
	loc->sym = site->place->only_sym;
	if (!a->opts.no_symbols)
		loc->sym = ana_site_symbol(site);
	/* The running kernel stands in where the recording has no map: only for what it covers. */
	if (!site->map && !loc->sym && !a->opts.no_symbols)
		loc->dso = NULL;
	loc->is_entry = (level == ANA_KERNEL || level == ANA_GUEST_KERNEL) &&
			ana_is_exception_entry(loc->sym);
	if (site->at.has_no_name)
		return loc;
	return ana_places_add_lines(&a->places, site->at.dso, site->at.rel, &a->cache.memory, loc)
		     ? loc
		     : NULL;
}

static inline struct ana_loc_slot *loc_slot(struct ana_cache *c, uint32_t space, uint64_t ip,
					    uint8_t arrival)
{
	size_t i = hash_two(ip ^ (uint64_t)arrival << 56, space) & (c->cap_locs - 1);

	while (c->locs[i].loc &&
	       (c->locs[i].ip != ip || c->locs[i].space != space || c->locs[i].arrival != arrival))
		i = (i + 1) & (c->cap_locs - 1);
	return &c->locs[i];
}

static __attribute__((noinline)) bool grow_locs(struct ana_cache *c)
{
	struct ana_loc_slot *old = c->locs;
	size_t old_cap = c->cap_locs, cap = old_cap ? old_cap * 2 : FIRST_LOCS;
	struct ana_loc_slot *next = mem_calloc(cap, sizeof(*next));

	if (!next)
		return false;
	c->locs = next;
	c->cap_locs = cap;
	for (size_t i = 0; i < old_cap; i++) {
		if (old[i].loc)
			*loc_slot(c, old[i].space, old[i].ip, old[i].arrival) = old[i];
	}
	mem_free(old);
	return true;
}

/* At the edge of a mapping the one beside it counts, too. */
static bool is_at_edge(const struct who_map *map, uint64_t ip)
{
	return map && (ip == map->start || ip == map->end);
}

/* After the maps changed: is the address still the same place? */
static bool is_same(struct analyze *a, const struct asker *q, const struct ana_loc_slot *slot)
{
	const struct ana_loc *loc = slot->loc;
	struct ana_site s = site_at(a, q, loc->ip - loc->is_return);
	uint64_t back = loc->is_return;

	if (slot->arrival != ANA_AT && (!s.place || is_at_edge(s.map, loc->ip)))
		s = find_site(a, q, loc->ip, slot->arrival, &back);
	if (back != loc->is_return)
		return false;
	if (!s.place)
		return !loc->dso;
	return loc->dso == s.at.dso && loc->rel == s.at.rel + back &&
	       (!s.place->is_jit || s.at.has_no_name == !loc->sym) &&
	       (!s.place->only_sym || loc->sym == s.place->only_sym);
}

/* @p key, but for the location, is of no slot, or of one from before the maps changed. */
static __attribute__((noinline)) struct ana_loc *resolve_anew(struct analyze *a,
							      const struct asker *q,
							      enum ana_level level,
							      const struct ana_loc_slot *key)
{
	struct ana_cache *c = &a->cache;
	struct ana_loc_slot *slot;
	struct ana_loc *loc;

	if (c->nr_locs + c->nr_locs / 2 >= c->cap_locs && !grow_locs(c))
		return NULL;
	slot = loc_slot(c, key->space, key->ip, key->arrival);
	loc = slot->loc;
	if (!loc || !is_same(a, q, slot)) {
		uint64_t back;
		struct ana_site site =
			find_site(a, q, key->ip, (enum ana_arrival)key->arrival, &back);

		loc = site.is_failed ? NULL : make_loc(a, &site, level, key->ip, back);
		if (!loc)
			return NULL;
		c->nr_locs += !slot->loc;
	}
	*slot = *key;
	slot->loc = loc;
	return loc;
}

static struct ana_loc *resolve(struct analyze *a, struct who_thread *t, enum ana_level level,
			       uint64_t ip, enum ana_arrival arrival)
{
	struct who_space *space = space_of(a, t, level);
	const struct ana_loc_slot key = {
		.ip = ip,
		.space = space ? space->id : SPACE_OF_LEVEL(level),
		.generation = space ? space->generation : 0,
		.arrival = (uint8_t)arrival,
	};

	if (__builtin_expect(a->cache.cap_locs != 0, 1)) {
		const struct ana_loc_slot *slot = loc_slot(&a->cache, key.space, ip, key.arrival);

		if (__builtin_expect(slot->loc && slot->generation == key.generation, 1))
			return slot->loc;
	}
	return resolve_anew(a, &(struct asker){t, space, level == ANA_KERNEL}, level, &key);
}

const struct ana_loc *ana_resolve(struct analyze *a, struct who_thread *t, enum ana_level level,
				  uint64_t ip)
{
	return resolve(a, t, ana_level_in(t, level), ip, ANA_AT);
}

static enum ana_source source_of(struct analyze *a, const struct ana_loc *loc)
{
	struct dso *d = loc->dso ? dso_store_at(analyze_dsos(a), dso_id(loc->dso)) : NULL;

	return d ? a->opts.source_of(a->opts.source_ctx, d, loc->rel) : ANA_SOURCE_UNKNOWN;
}

const struct ana_loc *ana_resolve_source(struct analyze *a, struct who_thread *t,
					 enum ana_level level, uint64_t ip)
{
	struct ana_loc *loc = resolve(a, t, ana_level_in(t, level), ip, ANA_AT);

	if (loc && a->opts.source_of && loc->source == ANA_SOURCE_NOT_ASKED)
		loc->source = (uint8_t)source_of(a, loc);
	return loc;
}

void ana_resolve_other_code(struct analyze *a, struct who_thread *t, struct clew_perf_ns time)
{
	struct who_space *s = t->space;

	/* Another program may have the very maps of the one before it. */
	s->generation++;
	s->code_to.ns = UINT64_MAX;
	s->code_from.ns = 0;
	if (!a->opts.no_symbols)
		ana_programs_span(&a->places.programs, t->pid, time, &s->code_from, &s->code_to);
}

/* A mark in a chain: the level of what follows. @return false: not a mark we know; the rest means
 * nothing. */
static bool level_of_mark(uint64_t mark, enum ana_level *ret)
{
	switch (mark) {
	case PERF_CONTEXT_HV:
		*ret = ANA_HYPERVISOR;
		return true;
	case PERF_CONTEXT_KERNEL:
		*ret = ANA_KERNEL;
		return true;
	case PERF_CONTEXT_USER:
		*ret = ANA_USER;
		return true;
	case PERF_CONTEXT_GUEST_KERNEL:
		*ret = ANA_GUEST_KERNEL;
		return true;
	case PERF_CONTEXT_GUEST:
	case PERF_CONTEXT_GUEST_USER:
		*ret = ANA_GUEST_USER;
		return true;
	default:
		return false;
	}
}

/* The next frame of a chain of @p callers. */
static const struct ana_loc *next_loc(struct analyze *a, struct who_thread *t, enum ana_level level,
				      uint64_t ip, bool is_first, uint8_t callers,
				      const struct ana_chain *chain)
{
	const struct ana_loc *inner = chain->nr ? chain->locs[chain->nr - 1] : NULL, *loc;
	enum ana_arrival arrival = ANA_AFTER_CALL;

	if (!(callers & (level == ANA_USER ? ANA_CALLERS_USER : ANA_CALLERS_OTHER)))
		arrival = ANA_AT;
	else if (is_first)
		arrival = level == ANA_USER && callers & ANA_CALLERS_OTHER &&
					  (inner || callers & ANA_CALLERS_ENTERED)
				? ANA_AFTER_ENTRY
				: ANA_AT;
	loc = resolve(a, t, ana_level_in(t, level), ip, arrival);
	/* Once some entries were named as the functions are that entries now call. */
	if (arrival == ANA_AFTER_CALL && loc && inner && inner->is_entry && !loc->is_entry)
		loc = resolve(a, t, ana_level_in(t, level), ip, ANA_AT);
	return loc;
}

/* Fill the chain, which has room for words->nr. @return false without memory. */
static bool resolve_words(struct analyze *a, struct who_thread *t, const struct perf_words *words,
			  uint8_t callers, struct ana_chain *chain)
{
	enum ana_level level = ANA_USER;
	bool is_first = true; /* after a mark */

	for (uint32_t i = 0; i < words->nr; i++) {
		uint64_t ip = perf_words_get(words, i);
		const struct ana_loc *loc;

		if (ip == PERF_CONTEXT_USER_DEFERRED) {
			/* the cookie of a stack that comes in a record of its own */
			if (++i >= words->nr || !a->opts.no_merge)
				continue;
			loc = resolve(a, t, ANA_COOKIE, perf_words_get(words, i), ANA_AT);
		} else if (ip >= PERF_CONTEXT_MAX) {
			chain->is_broken = !level_of_mark(ip, &level);
			if (chain->is_broken)
				break;
			is_first = true;
			continue;
		} else {
			loc = next_loc(a, t, level, ip, is_first, callers, chain);
			is_first = false;
		}
		if (!loc)
			return false;
		chain->locs[chain->nr++] = loc;
	}
	return true;
}

static const struct ana_chain *make_chain(struct analyze *a, struct who_thread *t,
					  const struct perf_words *words, uint8_t callers)
{
	struct ana_chain *chain =
		arena_alloc(&a->cache.memory, sizeof(*chain) + words->nr * sizeof(chain->locs[0]));

	if (!chain)
		return NULL;
	*chain = (struct ana_chain){.id = a->cache.next_chain_id++};
	return resolve_words(a, t, words, callers, chain) ? chain : NULL;
}

/* Chains of one thread's space and of the kernel as both were mapped then; of a guest's kernel too:
 * each generation only grows. */
static struct ana_chain_slot key_of(struct analyze *a, const struct who_thread *t,
				    const struct perf_words *words, uint8_t callers)
{
	const struct who_space *guest = ana_guest_kernel(a, t);
	size_t size = 8 * (size_t)words->nr;

	return (struct ana_chain_slot){
		.hash = hash_two(hash_bytes(words->data, size), t->space->id) ^ callers,
		.words = words->data,
		.nr_words = words->nr,
		.space = t->space->id,
		.generation = t->space->generation,
		.kernel_generation =
			who_kernel(a->who)->generation + (guest ? guest->generation : 0),
		.callers = callers,
	};
}

static bool is_key(const struct ana_chain_slot *slot, const struct ana_chain_slot *key)
{
	return slot->hash == key->hash && slot->space == key->space &&
	       slot->callers == key->callers && slot->nr_words == key->nr_words &&
	       !memcmp(slot->words, key->words, 8 * (size_t)key->nr_words);
}

static struct ana_chain_slot *chain_slot(struct ana_cache *c, const struct ana_chain_slot *key)
{
	size_t i = key->hash & (c->cap_chains - 1);

	while (c->chains[i].chain && !is_key(&c->chains[i], key))
		i = (i + 1) & (c->cap_chains - 1);
	return &c->chains[i];
}

static __attribute__((noinline)) bool grow_chains(struct ana_cache *c)
{
	struct ana_chain_slot *old = c->chains;
	size_t old_cap = c->cap_chains, cap = old_cap ? old_cap * 2 : FIRST_CHAINS;
	struct ana_chain_slot *next = mem_calloc(cap, sizeof(*next));

	if (!next)
		return false;
	c->chains = next;
	c->cap_chains = cap;
	for (size_t i = 0; i < old_cap; i++) {
		size_t to = old[i].hash & (cap - 1);

		if (!old[i].chain)
			continue;
		while (next[to].chain) /* all keys differ: the first free place will do */
			to = (to + 1) & (cap - 1);
		next[to] = old[i];
	}
	mem_free(old);
	return true;
}

/* The words move into the cache: the record will be gone. */
static bool keep_words(struct ana_cache *c, struct ana_chain_slot *slot)
{
	size_t size = 8 * (size_t)slot->nr_words;
	uint8_t *copy = arena_alloc(&c->memory, size);

	if (!copy)
		return false;
	memcpy(copy, slot->words, size);
	slot->words = copy;
	return true;
}

/* The same of a chain. */
static __attribute__((noinline)) bool fill_chain(struct analyze *a, struct who_thread *t,
						 const struct perf_words *words,
						 const struct ana_chain_slot *key,
						 struct ana_chain_slot *slot)
{
	struct ana_chain_slot next = *key;

	next.chain = make_chain(a, t, words, key->callers);
	if (!next.chain)
		return false;
	if (slot->chain)
		next.words = slot->words;
	else if (!keep_words(&a->cache, &next))
		return false;
	a->cache.nr_chains += !slot->chain;
	*slot = next;
	return true;
}

enum clew_err ana_resolve_chain(struct analyze *a, struct who_thread *t,
				const struct perf_words *words, uint8_t callers,
				const struct ana_chain **ret)
{
	struct ana_chain_slot key = key_of(a, t, words, callers), *slot;
	struct ana_cache *c = &a->cache;

	if (!words->nr || words->nr > MAX_CHAIN)
		return CLEW_OK;
	if (c->nr_chains + c->nr_chains / 2 >= c->cap_chains && !grow_chains(c))
		return CLEW_NO_MEMORY;
	slot = chain_slot(c, &key);
	if ((!slot->chain || slot->generation != key.generation ||
	     slot->kernel_generation != key.kernel_generation) &&
	    !fill_chain(a, t, words, &key, slot))
		return CLEW_NO_MEMORY;
	*ret = slot->chain->nr ? slot->chain : NULL;
	return CLEW_OK;
}

bool ana_cache_is_full(const struct analyze *a)
{
	const struct ana_cache *c = &a->cache;
	uint64_t limit = budget_part(a->input.budget, a->opts.cache_bytes ? a->opts.cache_bytes
									  : DEFAULT_CACHE_BYTES);

	return c->memory.used_bytes + c->cap_locs * sizeof(*c->locs) +
		       c->cap_chains * sizeof(*c->chains) >
	       limit;
}

void ana_cache_reset(struct ana_cache *c)
{
	uint64_t epoch = c->epoch + 1;

	ana_cache_done(c);
	c->epoch = epoch;
}

void ana_cache_done(struct ana_cache *c)
{
	arena_done(&c->memory);
	mem_free(c->locs);
	mem_free(c->chains);
	*c = (struct ana_cache){0};
}
