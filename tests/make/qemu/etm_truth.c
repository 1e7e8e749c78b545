/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "exec_plugin.h"
#include "flow/etm/etm_flow.h"
#include "make/enc_unit.h"
#include "prop/etm_set.h"

/*
 * Usage: etm_truth PREFIX VCPU SEED [SET]
 *
 * Make the trace of what exec_plugin.so saw one thread execute, in a configuration that SEED
 * chooses, decode it, and compare each instruction. SET: write the trace, the code and the digest
 * there (prop/etm_set.h). Only EL0 is traced: a system call, signal or fault is an exception and a
 * trace on where user space continues. Prints "INSTRUCTIONS BYTES ENCODE-MS DECODE-MS".
 */
struct step {
	uint64_t pc;
	uint32_t word;
	bool is_touched, is_begin;
};

/** Executed and to be traced: records [from, to). */
struct stretch {
	size_t from, to;
};

/** What is traced between instructions: before the pos-th. */
struct note {
	uint64_t pos;
	struct etm_log_entry entry;
};

struct truth {
	const uint8_t *code;
	const uint32_t *records;
	size_t nr_records, nr_code;
	struct etm_set set;
	struct enc_unit unit;
	struct etm_random random;
	struct enc_context context;
	uint32_t ts_every, cycles_every, sync_every, commit_every;
	uint64_t nr_blocks, ticks, synced_at;
	uint64_t nr_insns; /* traced */
	struct {
		VEC(struct stretch);
	} stretches;
	struct {
		VEC(struct note);
	} notes;
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "etm_truth: %s\n", what);
	exit(1);
}

static const void *map(const char *prefix, const char *what, size_t *size)
{
	char name[4096];
	struct stat st;
	const void *p;
	int fd;

	snprintf(name, sizeof(name), "%s.%s", prefix, what);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !st.st_size)
		die(name);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		die(name);
	*size = (size_t)st.st_size;
	return p;
}

static struct step step_at(const struct truth *t, size_t i)
{
	uint32_t index = t->records[i] & EXEC_INDEX;
	struct step s = {.is_touched = t->records[i] >> 31, .is_begin = index == EXEC_BEGIN};

	if (s.is_begin)
		return s;
	if (index >= t->nr_code)
		die("a record of no code");
	memcpy(&s.pc, t->code + (size_t)index * EXEC_CODE_BYTES, 8);
	memcpy(&s.word, t->code + (size_t)index * EXEC_CODE_BYTES + 8, 4);
	return s;
}

/* --- what instructions are, from DDI 0487, not from src/isa --- */

enum kind { PLAIN, DIRECT, CONDITIONAL, INDIRECT, BARRIER, CALL };

static uint64_t sum(uint64_t pc, uint32_t word, unsigned int low, unsigned int bits)
{
	uint64_t v = word >> low & ((1u << bits) - 1);

	return pc + 4 * (v >> (bits - 1) ? v - ((uint64_t)1 << bits) : v);
}

static enum kind kind_of(uint32_t w, uint64_t pc, uint64_t *target, bool *is_link)
{
	*is_link = w >> 26 == 0x25 || (w >> 25 == 0x6b && (w >> 21 & 7) == 1);
	*target = w >> 26 == 5 || w >> 26 == 0x25 ? sum(pc, w, 0, 26)
		: (w >> 25 & 0x3f) == 0x1b        ? sum(pc, w, 5, 14)
						  : sum(pc, w, 5, 19);
	if (w >> 26 == 5 || w >> 26 == 0x25) /* B, BL */
		return DIRECT;
	if (w >> 24 == 0x54 || (w >> 25 & 0x3f) == 0x1a || (w >> 25 & 0x3f) == 0x1b)
		return CONDITIONAL; /* B.cond; CBZ, CBNZ; TBZ, TBNZ */
	if (w >> 25 == 0x6b)        /* BR, BLR, RET and their authenticated forms */
		return INDIRECT;
	if ((w & 0xfffff0ff) == 0xd50330df)
		return BARRIER; /* ISB */
	if ((w & 0xffe0001f) == 0xd4000001)
		return CALL; /* SVC */
	return PLAIN;
}

static bool is_memory_access(uint32_t w)
{
	return (w & 0x0a000000) == 0x08000000;
}

/* --- telling --- */

static void note(struct truth *t, struct etm_log_entry e)
{
	if (!vec_push(&t->notes, (struct note){t->nr_insns, e}))
		die("no memory");
}

static void add_run(struct truth *t, size_t from, size_t to)
{
	struct stretch *last = t->stretches.nr ? &t->stretches.data[t->stretches.nr - 1] : NULL;

	t->nr_insns += to - from;
	if (last && last->to == from)
		last->to = to;
	else if (to > from && !vec_push(&t->stretches, (struct stretch){from, to}))
		die("no memory");
}

static void put_context(struct truth *t, uint64_t pc, bool is_full)
{
	const struct enc_context *c = &t->context;

	enc_unit_address_context(&t->unit, pc, false, c, is_full);
	note(t, (struct etm_log_entry){.kind = FLOW_EV_CONTEXT,
				       .isa = (uint8_t)(1 | 1 << 2 | c->has_cid << 3),
				       .number = (uint32_t)t->set.code.starts.nr,
				       .value = c->has_cid ? c->cid : 0});
}

static void put_trace_on(struct truth *t, uint64_t pc)
{
	enc_unit_flush(&t->unit);
	enc_trace_on(&t->unit.out);
	t->unit.stack.nr = 0;
	note(t, (struct etm_log_entry){.kind = FLOW_EV_TRACE_ON});
	put_context(t, pc, false);
}

static void put_time(struct truth *t)
{
	t->ticks = t->ticks + 1 > 3 * t->nr_insns ? t->ticks + 1 : 3 * t->nr_insns;
	enc_unit_timestamp(&t->unit, t->ticks);
	note(t, (struct etm_log_entry){.kind = FLOW_EV_TIMESTAMP, .value = t->ticks});
}

static void put_cycles(struct truth *t)
{
	uint32_t count = t->unit.threshold + etm_random_below(&t->random, 40);

	enc_unit_cycles(&t->unit, 1, count, true);
	note(t, (struct etm_log_entry){.kind = FLOW_EV_CYCLES, .number = count});
}

/** The code of what was just executed; where it is new at an old place, a new version begins. */
static void look_at_code(struct truth *t, size_t from, size_t to)
{
	bool is_changed = false;

	for (size_t i = from; i < to; i++) {
		struct step s = step_at(t, i);
		uint32_t old = etm_versions_word(&t->set.code, s.pc);

		if (old == s.word)
			continue;
		if (old && !is_changed) {
			is_changed = true;
			put_time(t);
			if (!vec_push(&t->set.code.starts, t->ticks))
				die("no memory");
		}
		if (!etm_versions_set(&t->set.code, s.pc, s.word, old))
			die("no memory");
	}
}

static void except(struct truth *t, unsigned int type, uint64_t back, size_t next)
{
	struct step s;

	enc_unit_exception(&t->unit, type, ENC_E_RETURN);
	enc_unit_address(&t->unit, back, false);
	note(t, (struct etm_log_entry){.kind = FLOW_EV_EXCEPTION, .number = type, .address = back});
	if (next == t->nr_records)
		return;
	s = step_at(t, next);
	if (!s.is_begin)
		put_trace_on(t, s.pc);
}

/** Now and then, between blocks. */
static void put_extras(struct truth *t, uint64_t pc)
{
	t->nr_blocks++;
	if (t->cycles_every && t->nr_blocks % t->cycles_every == 0)
		put_cycles(t);
	if (t->ts_every && t->nr_blocks % t->ts_every == 0)
		put_time(t);
	if (t->commit_every && t->nr_blocks % t->commit_every == 0 && t->unit.depth)
		enc_unit_commit(&t->unit, 1 + etm_random_below(&t->random, t->unit.depth));
	if (t->sync_every && t->unit.out.nr - t->synced_at > t->sync_every) {
		enc_unit_sync(&t->unit, t->cycles_every, false);
		put_context(t, pc, true);
		t->synced_at = t->unit.out.nr;
	}
}

enum { CALL_EXCEPTION = 2, DATA_FAULT = 12, INTERRUPT = 14 };

/** The waypoint of record @p i, after which the PE went to @p next. */
static void waypoint(struct truth *t, size_t i, const struct step *s, uint64_t next)
{
	uint64_t target, after = s->pc + 4;
	bool is_link;
	enum kind kind = kind_of(s->word, s->pc, &target, &is_link);

	if (kind == CONDITIONAL) {
		enc_unit_atom(&t->unit, next == target);
		if (next != target && next != after)
			except(t, INTERRUPT, after, i + 1);
		return;
	}
	enc_unit_atom(&t->unit, true);
	if (is_link)
		enc_unit_push(&t->unit, after, ISA_A64);
	if (kind == DIRECT && next != target)
		except(t, INTERRUPT, target, i + 1);
	else if (kind == BARRIER && next != after)
		except(t, INTERRUPT, after, i + 1);
	else if (kind == INDIRECT && (is_link || !enc_unit_pop(&t->unit, next, ISA_A64)))
		enc_unit_address(&t->unit, next, false);
}

/** The block that begins with record @p from. @return the next one's. */
static size_t block(struct truth *t, size_t from)
{
	for (size_t i = from; i + 1 < t->nr_records; i++) {
		struct step s = step_at(t, i), next = step_at(t, i + 1);
		uint64_t target;
		bool is_link;
		enum kind kind = kind_of(s.word, s.pc, &target, &is_link);

		if (next.is_begin) /* the thread ended here, and its number was reused */
			return i + 1;
		if (is_memory_access(s.word) && !s.is_touched && next.pc != s.pc + 4) {
			look_at_code(t, from, i);
			add_run(t, from, i);
			except(t, DATA_FAULT, s.pc, i + 1);
			return i + 1;
		}
		if (kind == PLAIN && next.pc == s.pc + 4)
			continue;
		look_at_code(t, from, i + 1);
		add_run(t, from, i + 1);
		if (kind == PLAIN || kind == CALL)
			except(t, kind == CALL ? CALL_EXCEPTION : INTERRUPT, s.pc + 4, i + 1);
		else
			waypoint(t, i, &s, next.pc);
		put_extras(t, next.pc);
		return i + 1;
	}
	return t->nr_records;
}

static void encode(struct truth *t)
{
	bool is_begun = false;

	note(t, (struct etm_log_entry){.kind = FLOW_EV_NO_SYNC});
	for (size_t i = 0; i + 1 < t->nr_records;) {
		struct step s = step_at(t, i);

		if (!s.is_begin) {
			i = block(t, i);
			continue;
		}
		s = step_at(t, ++i);
		if (s.is_begin)
			continue;
		if (!is_begun)
			enc_unit_sync(&t->unit, t->cycles_every, false);
		is_begun = true;
		put_trace_on(t, s.pc);
	}
	enc_unit_flush(&t->unit);
	if (t->unit.depth)
		enc_unit_commit(&t->unit, t->unit.depth);
	note(t, (struct etm_log_entry){.kind = FLOW_EV_END});
}

static void choose(struct truth *t, uint64_t seed, unsigned int vcpu)
{
	struct etm_regs *r = &t->set.regs;
	uint32_t stack, spec;

	t->random.state = seed;
	stack = etm_random_below(&t->random, ENC_UNIT_STACK + 1);
	spec = etm_random_one_in(&t->random, 2) ? 0 : etm_random_below(&t->random, 40);
	*r = (struct etm_regs){.configr = 1u | (uint32_t)(stack != 0) << 12,
			       .traceidr = 0x10 + 2 * (vcpu & 31),
			       .idr0 = 0x28000ea1,
			       .idr1 = 0x4100f403,
			       .idr2 = 0x488,
			       .idr8 = spec,
			       .devarch = 0x47705a13};
	r->is_ete = etm_random_one_in(&t->random, 3);
	if (etm_config_init(&t->set.config, r, NULL))
		die("a configuration that is not supported");
	t->ts_every = etm_random_one_in(&t->random, 2) ? 0 : 5 + etm_random_below(&t->random, 500);
	t->cycles_every =
		etm_random_one_in(&t->random, 2) ? 0 : 1 + etm_random_below(&t->random, 30);
	t->sync_every = 500 + etm_random_below(&t->random, 8000);
	t->commit_every = spec ? 1 + etm_random_below(&t->random, 20) : 0;
	t->context = (struct enc_context){.sf = true,
					  .ns = true,
					  .has_cid = etm_random_one_in(&t->random, 2),
					  .cid = 0x1000 + vcpu};
	t->unit.config = &t->set.config;
	t->unit.random = etm_random_one_in(&t->random, 2) ? &t->random : NULL;
	t->unit.stack.depth = stack;
	t->unit.threshold = t->cycles_every ? 4 : 0;
}

/* --- the decoder's turn --- */

struct judge {
	struct truth *t;
	size_t note, stretch, at;
	uint64_t nr_insns, digest, nr_entries;
	bool has_digest;
	struct etm_log_entry want;
};

static bool is_insn_right(struct judge *j, const struct etm_log_entry *e)
{
	const struct stretch *s = &j->t->stretches.data[j->stretch];
	struct step want;

	if (j->stretch == j->t->stretches.nr)
		return false;
	want = step_at(j->t, j->at);
	if (e->address != want.pc || e->isa != ISA_A64 || e->el)
		return false;
	if (etm_versions_word_of(&j->t->set.code, e->number, e->address) != want.word)
		return false;
	j->nr_insns++;
	if (++j->at == s->to && ++j->stretch < j->t->stretches.nr)
		j->at = s[1].from;
	return true;
}

static bool compare(void *ctx, const struct etm_log_entry *e)
{
	struct judge *j = ctx;
	const struct note *n = &j->t->notes.data[j->note];
	bool is_note = j->note < j->t->notes.nr && n->pos == j->nr_insns;

	j->nr_entries++;
	if (j->has_digest)
		j->digest = etm_set_digest(j->digest, e);
	if (is_note && etm_log_is_equal(e, &n->entry)) {
		j->note++;
		return true;
	}
	if (!is_note && e->kind == ETM_LOG_INSN && is_insn_right(j, e))
		return true;
	fprintf(stderr, "after %llu instructions: got %s\n", (unsigned long long)j->nr_insns,
		etm_log_text(e));
	fprintf(stderr, "want %s %llx\n", is_note ? etm_log_text(&n->entry) : "INSN",
		j->stretch < j->t->stretches.nr ? (unsigned long long)step_at(j->t, j->at).pc : 0);
	return false;
}

static bool decode(struct truth *t, struct judge *j)
{
	struct etm_log log = {
		.code = &t->set.code.source, .entry = compare, .ctx = j, .drops_marks = true};
	struct etm_flow_opts o = {.config = &t->set.config,
				  .flow.code = &t->set.code.source,
				  .flow.batch = etm_log_batch,
				  .flow.ctx = &log};
	struct flow *f = etm_flow_new(&o);
	bool ok = f && !flow_feed(f, bytes_of(t->set.trace.data, t->set.trace.nr)) &&
		  !flow_finish(f) && j->note == t->notes.nr && j->nr_insns == t->nr_insns;

	flow_free(f);
	return ok;
}

static unsigned long ms_since(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long)((now.tv_sec - from->tv_sec) * 1000 +
			       (now.tv_nsec - from->tv_nsec) / 1000000);
}

int main(int argc, char **argv)
{
	static struct truth t;
	struct judge j = {.t = &t, .has_digest = argc > 4};
	struct timespec start;
	unsigned long encode_ms;
	size_t bytes;

	if (argc < 4)
		die("PREFIX VCPU SEED [SET]");
	t.code = map(argv[1], "code", &bytes);
	t.nr_code = bytes / EXEC_CODE_BYTES;
	t.records = map(argv[1], argv[2], &bytes);
	t.nr_records = bytes / 4;
	etm_versions_init(&t.set.code);
	choose(&t, strtoull(argv[3], NULL, 0), (unsigned int)atoi(argv[2]));
	clock_gettime(CLOCK_MONOTONIC, &start);
	encode(&t);
	encode_ms = ms_since(&start);
	t.set.trace = t.unit.out;
	etm_versions_freeze(&t.set.code);
	j.at = t.stretches.nr ? t.stretches.data[0].from : 0;
	clock_gettime(CLOCK_MONOTONIC, &start);
	if (!decode(&t, &j)) {
		fprintf(stderr, "%s.%s seed %s: WRONG after %llu of %llu instructions\n", argv[1],
			argv[2], argv[3], (unsigned long long)j.nr_insns,
			(unsigned long long)t.nr_insns);
		return 1;
	}
	printf("%llu %zu %lu %lu\n", (unsigned long long)t.nr_insns, t.set.trace.nr, encode_ms,
	       ms_since(&start));
	t.set.nr_insns = t.nr_insns;
	t.set.nr_entries = j.nr_entries;
	t.set.digest = j.digest;
	if (argc > 4 && !etm_set_save(&t.set, argv[4]))
		die("cannot write the set");
	return 0;
}
