/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <time.h>

#include "base/buf.h"
#include "flow/etm/etm_flow.h"
#include "make/etm_program.h"
#include "os/file.h"
#include "prop/etm_set.h"
#include "trace/etm_decoder.h"
#include "trace/perf/perf_trace.h"
#include "trace/snapshot/cs_snapshot.h"
#include "unit/tap.h"

/*
 * Usage: etm_damage [--full|--random] SETS_DIR SNAPSHOTS_DIR|PERF_DATA...
 *
 * Traces of random programs, of the committed sets, of snapshots and of recordings, cut and with
 * bits flipped.
 *
 * Cut: the output of a prefix is the beginning of the output of the whole. At its end, after the
 * last executed instruction, the prefix may report early what would have waited for the next one
 * (timestamps, counts, events, the outcome of a transaction).
 *
 * Damaged: decoding ends, and is right again after the next synchronisation. Let A be the first
 * async after the damage that is also a packet of the damaged bytes (damage can hide an async: a
 * field that swallows it), and X the end of the next address with a context after A's trace info.
 * From the first thing executed after X to the end the outputs are equal. (Except that the next
 * trace on may be marked as after an overflow that only the damage made up, or hid.) This is
 * checked for units that do not speculate and for code that does not change. With speculation,
 * commits that were lost or made up shift what is committed when; where code changes, a wrong time
 * leads through wrong code, which is noticed and loses the place again, up to the next async. In
 * these cases only the end of decoding is checked.
 *
 * A trial takes a window of the trace that begins at an async. CLEW_TEST_SECONDS (10) in all;
 * --full: every cut of the first 64 KiB and of 64 KiB in its middle, and 20,000 damaged windows of
 * each trace.
 * --random: of each given trace 20,000 random cuts (every one of a trace no longer than that), and
 * as many windows with random bits flipped. Windows are as long as two synchronisations are apart
 * at most.
 */
enum { WINDOW = 24 << 10, EDGE = 64 << 10, NR_DAMAGED = 20000, NR_PROGRAMS = 12 };
enum { MIN_WINDOW = 2 << 10, MAX_WINDOW = 12 << 10, CUTS_OF_WINDOW = 25 };

struct subject {
	char name[64];
	const struct etm_config *config;
	const struct code_source *code;
	bool has_versions; /* code changes with timestamps */
	const uint8_t *bytes;
	size_t nr;
};

struct entries {
	VEC(struct etm_log_entry);
};

struct syncs {
	struct sync {
		size_t at, back; /* the async's, X */
	} * data;
	size_t nr, cap;
};

static struct etm_random rng = {17};
static bool is_full, is_random;
static size_t window = WINDOW;
static clock_t until;
static uint64_t nr_trials, nr_cuts, nr_compared, nr_wrong, nr_never_back;

static uint32_t below(size_t n)
{
	return (uint32_t)(etm_random_u64(&rng) % (n ? n : 1));
}

static bool keep(void *ctx, const struct etm_log_entry *e)
{
	struct entries *to = ctx;

	return vec_push(to, *e);
}

/** With an FLOW_EV_BOUND after the output of @p mark bytes; it means no change of code. */
static bool decode(const struct subject *s, const uint8_t *bytes, size_t nr, size_t mark,
		   struct entries *ret)
{
	struct etm_log log = {.code = s->code, .entry = keep, .ctx = ret, .by_block = true};
	struct etm_flow_opts o = {.config = s->config,
				  .flow.code = s->code,
				  .flow.batch = etm_log_batch,
				  .flow.ctx = &log};
	struct flow *f = etm_flow_new(&o);
	uint8_t *copy = mem_alloc(nr ? nr : 1); /* so that reading past its end shows */
	bool ok = f && copy;

	ret->nr = 0;
	if (ok) {
		memcpy(copy, bytes, nr);
		ok = !flow_feed(f, bytes_of(copy, mark));
		if (mark < nr)
			flow_set_bound(f, (struct clew_perf_ns){1});
		ok = ok && !flow_feed(f, bytes_of(copy + mark, nr - mark)) && !flow_finish(f);
	}
	mem_free(copy);
	flow_free(f);
	return ok;
}

static bool is_executed(const struct etm_log_entry *e)
{
	return e->kind == ETM_LOG_INSN || e->kind == FLOW_EV_NACC || e->kind == FLOW_EV_EXCEPTION ||
	       e->kind == FLOW_EV_NO_PATH;
}

static void wrong(const struct subject *s, const char *what, size_t at,
		  const struct etm_log_entry *got, const struct etm_log_entry *want)
{
	if (nr_wrong++ % 1000 >= 3)
		return;
	printf("# %s: %s at %zu\n", s->name, what, at);
	printf("# got  %s\n", got ? etm_log_text(got) : "nothing more");
	printf("# want %s\n", want ? etm_log_text(want) : "nothing more");
}

/* --- cuts --- */

static bool is_time_up(void)
{
	return !is_full && !is_random && clock() > until;
}

/** Whether the whole says @p e, too, before it executes anything more. */
static bool is_early(const struct etm_log_entry *e, const struct entries *whole, size_t i)
{
	for (; i < whole->nr && !is_executed(&whole->data[i]); i++)
		if (etm_log_is_equal(e, &whole->data[i]))
			return true;
	return false;
}

static void check_cut(const struct subject *s, const uint8_t *bytes, size_t nr,
		      const struct entries *whole)
{
	static struct entries part;
	size_t i = 0;

	nr_cuts++;
	if (!decode(s, bytes, nr, nr, &part)) {
		wrong(s, "cut: an error", nr, NULL, NULL);
		return;
	}
	while (i < part.nr && i < whole->nr && etm_log_is_equal(&part.data[i], &whole->data[i]))
		i++;
	for (; i < part.nr; i++) {
		/* Of a row of dropped atoms the cut leaves fewer. */
		if (etm_log_is_note(&part.data[i]) || part.data[i].kind == FLOW_EV_END ||
		    part.data[i].kind == FLOW_EV_DROPPED)
			continue;
		if (part.data[i].kind == FLOW_EV_TRANSACTION && is_early(&part.data[i], whole, i))
			continue;
		wrong(s, "cut", nr, &part.data[i], i < whole->nr ? &whole->data[i] : NULL);
		return;
	}
}

static void cut(const struct subject *s, size_t from, size_t nr, size_t step,
		unsigned int nr_random)
{
	static struct entries whole;
	const uint8_t *bytes = s->bytes + from;

	if (!decode(s, bytes, nr, nr, &whole)) {
		wrong(s, "an error", 0, NULL, NULL);
		return;
	}
	for (size_t n = 0; step && n < nr && !is_time_up(); n += step)
		check_cut(s, bytes, n, &whole);
	for (unsigned int i = 0; i < nr_random && !is_time_up(); i++)
		check_cut(s, bytes, below(nr), &whole);
}

/** Windows from two syncs to the next but one: they include what follows the damage. */
static size_t window_of(const struct syncs *syncs)
{
	size_t most = MIN_WINDOW;

	for (size_t i = 1; i < syncs->nr; i++) {
		size_t gap = syncs->data[i].at - syncs->data[i - 1].at;

		most = 2 * gap + MIN_WINDOW / 2 > most ? 2 * gap + MIN_WINDOW / 2 : most;
	}
	return most < MAX_WINDOW ? most : MAX_WINDOW;
}

static void cut_at_random(const struct subject *s, const struct syncs *syncs)
{
	if (s->nr <= NR_DAMAGED / 2 && s->nr <= WINDOW) {
		cut(s, 0, s->nr, 1, 0);
		return;
	}
	for (unsigned int i = 0; i < NR_DAMAGED && syncs->nr; i += CUTS_OF_WINDOW) {
		size_t at = syncs->data[below(syncs->nr)].at;

		cut(s, at, s->nr - at < window ? s->nr - at : window, 0, CUTS_OF_WINDOW);
	}
}

/* --- damage --- */

static bool is_address(const struct etm_packet *p)
{
	return p->kind >= ETM_ADDR_CTXT_L_32IS0 && p->kind <= ETM_ADDR_CTXT_L_64IS1;
}

static bool is_p0(const struct etm_packet *p)
{
	return p->kind == ETM_EXCEPT || (p->kind >= ETM_Q && p->kind <= ETM_ATOM_F6);
}

/** The syncs of a trace, and from where on each has set all state. One of which something ran
 * before its address has set it only with the next one: a call made there is on the return stack.
 */
static void find_syncs(const struct subject *s, struct syncs *ret)
{
	struct etm_packets p;
	struct etm_packet packet;
	struct bytes in = bytes_of(s->bytes, s->nr);
	size_t first = 0;
	bool has_context = false, has_info = false, has_address = false, has_run = false;

	ret->nr = 0;
	etm_packets_init(&p, s->config);
	while (!etm_packets_next(&p, &in, &packet)) {
		if (packet.kind == ETM_ASYNC && vec_push(ret, (struct sync){packet.offset, 0}))
			has_info = has_context = has_address = has_run = false;
		has_info |= packet.kind == ETM_TRACE_INFO;
		has_context |= packet.kind == ETM_CTXT && packet.context.has_payload;
		has_address |=
			is_address(&packet) || (has_context && packet.kind >= ETM_ADDR_MATCH &&
						packet.kind <= ETM_ADDR_L_64IS1);
		has_run |= has_info && is_p0(&packet);
		has_address &= has_info && !has_run;
		for (; has_address && first < ret->nr; first++)
			ret->data[first].back = packet.offset + packet.bytes;
	}
}

/** The first async from @p from on that @p bytes have, too. @return its index; nr: none. */
static size_t common_sync(const struct subject *s, const struct syncs *syncs, const uint8_t *bytes,
			  size_t base, size_t nr, size_t from)
{
	struct etm_packets p;
	struct etm_packet packet;
	struct bytes in = bytes_of(bytes, nr);
	size_t i = 0;

	etm_packets_init(&p, s->config);
	while (!etm_packets_next(&p, &in, &packet)) {
		if (packet.kind != ETM_ASYNC || packet.offset < from)
			continue;
		while (i < syncs->nr && syncs->data[i].at < base + packet.offset)
			i++;
		if (i < syncs->nr && syncs->data[i].at == base + packet.offset)
			return i;
	}
	return syncs->nr;
}

static size_t bound_of(const struct entries *e)
{
	size_t i = 0;

	while (i < e->nr && e->data[i].kind != FLOW_EV_BOUND)
		i++;
	return i;
}

static void compare(const struct subject *s, size_t at, struct entries *got, struct entries *want)
{
	size_t g = bound_of(got), w = bound_of(want);

	while (g < got->nr && !is_executed(&got->data[g]))
		g++;
	while (w < want->nr && !is_executed(&want->data[w]))
		w++;
	nr_compared += want->nr - w;
	/* An overflow that never was, or was missed, shows in the next trace on. */
	for (size_t a = g, b = w; a < got->nr && b < want->nr; a++, b++) {
		if (want->data[b].kind != FLOW_EV_TRACE_ON || got->data[a].kind != FLOW_EV_TRACE_ON)
			continue;
		got->data[a].number = want->data[b].number;
		break;
	}
	for (; g < got->nr || w < want->nr; g++, w++) {
		const struct etm_log_entry *a = g < got->nr ? &got->data[g] : NULL;
		const struct etm_log_entry *b = w < want->nr ? &want->data[w] : NULL;

		if (!a || !b || !etm_log_is_equal(a, b)) {
			wrong(s, "not back after damage", at, a, b);
			return;
		}
	}
}

static size_t do_damage(uint8_t *bytes, size_t nr)
{
	size_t at = below(nr), last = at;

	switch (is_random ? 3 : below(4)) {
	case 0:
		bytes[at] = (uint8_t)below(256);
		break;
	case 1: /* a few together */
		for (unsigned int i = 0; i < 8; i++, last = at + i - 1) {
			if (at + i < nr)
				bytes[at + i] ^= (uint8_t)(1u << below(8));
		}
		break;
	default:
		bytes[at] ^= (uint8_t)(1u << below(8));
		break;
	}
	return last + 1;
}

/** A window from sync @p first on, damaged once. */
static void damage(const struct subject *s, const struct syncs *syncs, size_t first)
{
	static struct entries got, want;
	static uint8_t copy[WINDOW];
	size_t base = syncs->data[first].at, nr = s->nr - base, from, i, mark;

	nr = nr < window ? nr : window;
	memcpy(copy, s->bytes + base, nr);
	from = do_damage(copy, nr);
	nr_trials++;
	i = common_sync(s, syncs, copy, base, nr, from);
	mark = i < syncs->nr && syncs->data[i].back ? syncs->data[i].back - base : nr;
	if (mark >= nr) {
		nr_never_back++;
		mark = nr;
	}
	if (!decode(s, copy, nr, mark, &got) ||
	    (mark < nr && !decode(s, s->bytes + base, nr, mark, &want)))
		wrong(s, "damaged: an error", base + from, NULL, NULL);
	else if (mark < nr && !s->config->max_spec && !s->has_versions)
		compare(s, base + from, &got, &want);
}

static void check(const struct subject *s)
{
	static struct syncs syncs;
	uint64_t trials = nr_trials, cuts = nr_cuts, compared = nr_compared, bad = nr_wrong;
	clock_t whole = until, half = clock() + (until - clock()) / 2;
	size_t edge = s->nr < EDGE ? s->nr : EDGE;

	nr_wrong = bad = bad + 999 - (bad + 999) % 1000;

	find_syncs(s, &syncs);
	until = half;
	window = is_random ? window_of(&syncs) : WINDOW;
	if (is_random) {
		cut_at_random(s, &syncs);
	} else if (is_full) {
		cut(s, 0, edge, 1, 0);
		if (s->nr > edge && syncs.nr)
			cut(s, syncs.data[syncs.nr / 2].at,
			    s->nr - syncs.data[syncs.nr / 2].at < edge
				    ? s->nr - syncs.data[syncs.nr / 2].at
				    : edge,
			    1, 0);
	} else {
		cut(s, 0, s->nr < WINDOW ? s->nr : WINDOW, 0, 1000);
	}
	until = whole;
	for (unsigned int i = 0; i < NR_DAMAGED && syncs.nr && !is_time_up(); i++)
		damage(s, &syncs, below(syncs.nr));
	CHECK(nr_wrong == bad, "%s: %llu cuts, %llu damaged, %llu entries compared after", s->name,
	      (unsigned long long)(nr_cuts - cuts), (unsigned long long)(nr_trials - trials),
	      (unsigned long long)(nr_compared - compared));
	fflush(stdout);
}

/* --- the traces --- */

static clock_t share; /* of time, for each */

static void check_for_a_while(const struct subject *s)
{
	until = clock() + share;
	if (s->nr)
		check(s);
}

static void check_set(const char *dir, const char *name)
{
	static struct etm_set set;
	struct subject s = {.config = &set.config, .code = &set.code.source};
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	snprintf(s.name, sizeof(s.name), "set %s", name);
	if (!etm_set_load(&set, path)) {
		CHECK(false, "%s is a set", path);
		return;
	}
	s.bytes = (const uint8_t *)set.trace.data;
	s.nr = set.trace.nr;
	s.has_versions = set.code.starts.nr;
	check_for_a_while(&s);
	etm_set_done(&set);
}

static void check_program(uint64_t seed)
{
	static struct etm_program p;
	struct subject s = {.config = &p.config, .code = &p.source};

	if (etm_program_make(&p, seed, 3000)) {
		snprintf(s.name, sizeof(s.name), "program %llu, version %x, spec %u",
			 (unsigned long long)seed, p.config.version, p.config.max_spec);
		s.bytes = (const uint8_t *)p.unit.out.data;
		s.nr = p.unit.out.nr;
		s.has_versions = p.has_versions;
		check_for_a_while(&s);
	}
	etm_program_done(&p);
}

enum { MAX_UNITS = 64 };
static struct buf raw[MAX_UNITS];

static enum clew_err take_bytes(void *ctx, size_t unit, struct bytes in, uint64_t offset)
{
	(void)ctx;
	(void)offset;
	if (unit < MAX_UNITS)
		buf_add(&raw[unit], in.pos, bytes_left(&in));
	return CLEW_OK;
}

static enum clew_err take_restart(void *ctx, size_t unit, uint64_t offset)
{
	(void)ctx;
	(void)unit;
	(void)offset;
	return CLEW_OK;
}

/** @p t is taken. @p has_versions: its code changes with time. */
static void check_units(struct trace_input *t, const char *name, bool has_versions)
{
	struct trace_sink sink = {.bytes = take_bytes, .restart = take_restart};
	struct clew_diag diag;

	memset(raw, 0, sizeof(raw));
	(void)t->ops->run(t, &sink, &diag);
	for (size_t i = 0; i < t->nr_units && i < MAX_UNITS; i++) {
		struct subject s = {.config = etm_config_of(&t->units[i]),
				    .code = t->units[i].code,
				    .bytes = (const uint8_t *)raw[i].data,
				    .nr = raw[i].nr,
				    .has_versions = has_versions};

		snprintf(s.name, sizeof(s.name), "%s %s", name,
			 t->units[i].name ? t->units[i].name : "");
		if (t->units[i].is_decodable)
			check_for_a_while(&s);
		buf_done(&raw[i]);
	}
	trace_input_free(t);
}

static void check_snapshot(const char *dir, const char *name)
{
	struct trace_input *t;
	struct clew_diag diag;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (!cs_snapshot_open(&t, path, &diag))
		check_units(t, name, false);
}

/** Its binaries are in the directory symfs beside it. */
static void check_recording(const char *path)
{
	char symfs[4096];
	const struct dso_store_opts symbols = {
		.symfs = symfs, .no_host_kernel = true, .no_proc_root = true};
	const char *slash = strrchr(path, '/');
	struct os_map map = {0};
	struct perf_input in = {0};
	struct trace_input *t;
	struct clew_diag diag;

	if (os_map_file(path, &map, &diag)) {
		SKIP("a recording is missing");
		return;
	}
	snprintf(symfs, sizeof(symfs), "%.*ssymfs", slash ? (int)(slash + 1 - path) : 0, path);
	in.data = map.data;
	in.size = map.size;
	if (!perf_trace_open(&t, &in, &symbols, &diag))
		check_units(t, slash ? slash + 1 : path, true);
	os_map_done(&map);
}

static void each_snapshot(const char *dir)
{
	struct dirent **e;
	int nr = scandir(dir, &e, NULL, alphasort);

	if (nr < 0)
		SKIP("the snapshots are missing");
	for (int i = 0; i < nr; i++) {
		if (e[i]->d_name[0] != '.')
			check_snapshot(dir, e[i]->d_name);
		free(e[i]);
	}
	if (nr >= 0)
		free(e);
}

int main(int argc, char **argv)
{
	static const char *const sets[] = {"jit", "threads", "work"};
	const char *seconds = getenv("CLEW_TEST_SECONDS");
	int arg = 1;

	is_full = argc > 1 && !strcmp(argv[1], "--full");
	is_random = argc > 1 && !strcmp(argv[1], "--random");
	arg += is_full || is_random;
	/* About fifty traces. */
	share = (clock_t)(seconds ? strtoul(seconds, NULL, 0) : 10) * CLOCKS_PER_SEC / 50;
	for (uint64_t seed = 1; !is_random && seed <= NR_PROGRAMS; seed++)
		check_program(seed);
	for (size_t i = 0; !is_random && arg < argc && i < sizeof(sets) / sizeof(sets[0]); i++)
		check_set(argv[arg], sets[i]);
	for (arg++; arg < argc; arg++) {
		if (strlen(argv[arg]) > 5 && !strcmp(argv[arg] + strlen(argv[arg]) - 5, ".data"))
			check_recording(argv[arg]);
		else
			each_snapshot(argv[arg]);
	}
	printf("# %llu cuts, %llu damaged windows (%llu without a sync after), %llu entries compared\n",
	       (unsigned long long)nr_cuts, (unsigned long long)nr_trials,
	       (unsigned long long)nr_never_back, (unsigned long long)nr_compared);
	return tap_done();
}
