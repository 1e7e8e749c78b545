/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "diff/ipt_peer.h"
#include "exec_plugin.h"
#include "make/ipt_encode.h"
#include "make/splitmix.h"
#include "prop/ipt_judge.h"
#include "prop/ipt_set.h"

/*
 * Usage: ipt_truth PREFIX VCPU SEED [--i386] [--libipt | SET]
 *        ipt_truth --can-libipt: is it built with it?
 *
 * Make the Intel PT of what exec_plugin.so saw one thread of an x86 program execute, in a
 * configuration that SEED chooses, decode it, and compare each instruction. Only user space is
 * traced: a system call ends tracing until user space continues, a signal or fault is an event at
 * the instruction that did not complete. --libipt: by its rule of returns, and libipt decodes it.
 * SET: write the trace, the code and the digest there (prop/ipt_set.h). Prints
 * "INSTRUCTIONS BYTES ENCODE-MS DECODE-MS".
 */
struct step {
	uint64_t pc;
	const uint8_t *bytes;
	unsigned int nr;
	bool is_begin;
};

struct truth {
	const uint8_t *code;
	const uint32_t *records;
	size_t nr_records, nr_code;
	struct ipt_set set;
	struct ipt_encoder encoder;
	struct {
		VEC(uint64_t);
	} changes; /* instructions before each change of code */
	uint64_t random;
	uint32_t lose_every, stop_every;
	bool for_libipt;
	uint8_t bits; /* 64, --i386: 32 */
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "ipt_truth: %s\n", what);
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
	struct step s = {.is_begin = index == EXEC_BEGIN};
	const uint8_t *code;

	if (s.is_begin)
		return s;
	if (index >= t->nr_code)
		die("a record of no code");
	code = t->code + (size_t)index * EXEC_X86_CODE_BYTES;
	memcpy(&s.pc, code, 8);
	s.nr = code[8];
	s.bytes = code + 9;
	return s;
}

/* --- what instructions are, by their opcodes, not from src/isa --- */

enum kind { PLAIN, STRING, COND, JUMP, CALL, JUMP_TO, CALL_TO, RETURN, FAR, TRAP };

static bool is_prefix(uint8_t b)
{
	return b == 0x66 || b == 0x67 || b == 0xf0 || b == 0xf2 || b == 0xf3 || b == 0x26 ||
	       b == 0x2e || b == 0x36 || b == 0x3e || b == 0x64 || b == 0x65;
}

static enum kind kind_of_ff(uint8_t modrm)
{
	static const uint8_t kinds[] = {
		[2] = CALL_TO, [3] = FAR, [4] = JUMP_TO, [5] = FAR, [7] = 0};

	return (enum kind)kinds[modrm >> 3 & 7];
}

/** Of two bytes. */
static enum kind kind_of_0f(uint8_t op)
{
	if ((op & 0xf0) == 0x80)
		return COND;
	return op == 0x05 || op == 0x07 || op == 0x34 || op == 0x35 ? FAR : PLAIN;
}

static enum kind kind_of(const struct truth *t, const struct step *s)
{
	unsigned int i = 0;
	bool is_repeated = false;

	for (; i + 1 < s->nr && is_prefix(s->bytes[i]); i++)
		is_repeated |= s->bytes[i] == 0xf2 || s->bytes[i] == 0xf3;
	if (t->bits == 64 && i + 1 < s->nr && (s->bytes[i] & 0xf0) == 0x40)
		i++;
	switch (s->bytes[i]) {
	case 0x0f:
		return kind_of_0f(s->bytes[i + 1]);
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3:
		return COND;
	case 0xe8:
		return CALL;
	case 0xe9:
	case 0xeb:
		return JUMP;
	case 0xc2:
	case 0xc3:
		return RETURN;
	case 0xca:
	case 0xcb:
	case 0xcf:
	case 0x9a: /* of 32 bits only */
	case 0xea:
		return FAR;
	case 0xcc:
	case 0xcd:
	case 0xf1:
		return TRAP;
	case 0xff:
		return kind_of_ff(s->bytes[i + 1]);
	case 0xa4 ... 0xa7:
	case 0xaa ... 0xaf:
	case 0x6c ... 0x6f:
		return is_repeated ? STRING : PLAIN;
	default:
		return PLAIN;
	}
}

/** Of a direct near branch: a byte for short ones, else four. */
static uint64_t target_of(const struct truth *t, const struct step *s)
{
	uint64_t next = s->pc + s->nr, most = t->bits == 64 ? UINT64_MAX : UINT32_MAX;
	int32_t rel;

	if (s->nr < 5)
		return (next + (uint64_t)(int64_t)(int8_t)s->bytes[s->nr - 1]) & most;
	memcpy(&rel, s->bytes + s->nr - 4, 4);
	return (next + (uint64_t)(int64_t)rel) & most;
}

/* --- the code --- */

/** Code changes between what ran before and @p pc; the trace has a time there. What ran before is
 * proven by then: it is not looked for in the next version. */
static void begin_version(struct truth *t, uint64_t pc)
{
	struct ipt_encoder *e = &t->encoder;

	if (!e->opts.has_tsc)
		die("code changes, and there is no time");
	ipt_enc_flush(e);
	if (e->is_on && splitmix_below(&t->random, 2)) {
		ipt_enc_pass(e, 5000);
		ipt_enc_psb(e, pc);
	} else {
		if (e->is_on)
			ipt_enc_stop_at(e, pc, 0, false);
		ipt_enc_pass(e, 5000);
		ipt_enc_tsc(e);
	}
	if (!vec_push(&t->set.code.starts, e->ticks) || !vec_push(&t->changes, e->truth.insns.nr))
		die("no memory");
}

static void look_at_code(struct truth *t, const struct step *s)
{
	if (ipt_versions_differs(&t->set.code, s->pc, s->bytes, s->nr))
		begin_version(t, s->pc);
	if (!ipt_versions_set(&t->set.code, s->pc, s->bytes, s->nr))
		die("no memory");
}

static bool has_changes(const struct truth *t)
{
	struct ipt_versions v;
	bool ret = false;

	ipt_versions_init(&v);
	for (size_t i = 0; !ret && i < t->nr_records; i++) {
		struct step s = step_at(t, i);

		if (s.is_begin)
			continue;
		ret = ipt_versions_differs(&v, s.pc, s.bytes, s.nr) ||
		      !ipt_versions_set(&v, s.pc, s.bytes, s.nr);
	}
	ipt_versions_done(&v);
	return ret;
}

/* --- encoding --- */

/** The instruction did not complete: a fault, a signal, a trap. */
static void stop_at(struct truth *t, const struct step *s)
{
	ipt_enc_drop_insn(&t->encoder);
	ipt_enc_stop_at(&t->encoder, s->pc, 0, false);
	ipt_enc_pass(&t->encoder, 1000);
}

static void branch(struct truth *t, const struct step *s, enum kind kind, uint64_t next)
{
	struct ipt_encoder *e = &t->encoder;
	uint64_t target = target_of(t, s), after = s->pc + s->nr;

	if (next != target && (kind != COND || next != after)) {
		stop_at(t, s);
		return;
	}
	if (kind == COND)
		ipt_enc_cond(e, target == after ? splitmix_below(&t->random, 2) : next == target);
	else if (kind == CALL && target != after)
		ipt_enc_call(e, after);
}

/** After which the processor went to @p next. */
static void execute(struct truth *t, const struct step *s, uint64_t next)
{
	struct ipt_encoder *e = &t->encoder;
	enum kind kind = kind_of(t, s);

	ipt_enc_insn(e, s->pc, s->nr);
	switch (kind) {
	case COND:
	case JUMP:
	case CALL:
		branch(t, s, kind, next);
		break;
	case CALL_TO:
		ipt_enc_call(e, s->pc + s->nr);
		ipt_enc_indirect(e, next);
		break;
	case JUMP_TO:
		ipt_enc_indirect(e, next);
		break;
	case RETURN:
		ipt_enc_return(e, next);
		break;
	case FAR:
		ipt_enc_stop_by(e, 0);
		ipt_enc_pass(e, 200);
		break;
	case PLAIN:
	case STRING:
	case TRAP:
		if (kind == TRAP || next != s->pc + s->nr)
			stop_at(t, s);
		break;
	}
}

/** The record after @p i that is of another instruction: an emulator runs each turn of a repeated
 * one. */
static size_t after(const struct truth *t, size_t i)
{
	struct step s = step_at(t, i), next;
	bool is_string = kind_of(t, &s) == STRING;

	for (i++; i < t->nr_records; i++) {
		next = step_at(t, i);
		if (!is_string || next.is_begin || next.pc != s.pc)
			break;
	}
	return i;
}

/** Lose what ran from record @p i on. @return where it is traced again. */
static size_t lose(struct truth *t, size_t i)
{
	enum ipt_enc_overflow how;
	size_t to = i;

	for (unsigned int nr = 0; nr < 100; nr++) {
		struct step s = step_at(t, to);

		if (s.is_begin || ipt_versions_differs(&t->set.code, s.pc, s.bytes, s.nr) ||
		    after(t, to) == t->nr_records)
			break;
		to = after(t, to);
	}
	if (to == i || step_at(t, to).is_begin)
		return i;
	how = splitmix_below(&t->random, 2) ? IPT_ENC_LOST_ON : IPT_ENC_LOST_PSB;
	if (t->for_libipt)
		how = IPT_ENC_LOST_ON;
	ipt_enc_overflow(&t->encoder, how, step_at(t, to).pc);
	return to;
}

static bool one_in(struct truth *t, uint32_t n)
{
	return n && !splitmix_below(&t->random, n);
}

/** @return the next record. */
static size_t record(struct truth *t, size_t i)
{
	struct ipt_encoder *e = &t->encoder;
	struct step s = step_at(t, i), next;
	size_t to;

	look_at_code(t, &s);
	if (!e->is_on)
		ipt_enc_start(e, s.pc, t->bits);
	ipt_enc_between(e, s.pc);
	to = one_in(t, t->lose_every) ? lose(t, i) : i;
	if (to != i)
		return to;
	if (one_in(t, t->stop_every)) {
		ipt_enc_stop_at(e, s.pc, 0, false);
		ipt_enc_pass(e, 3000);
		ipt_enc_start(e, s.pc, t->bits);
	}
	to = after(t, i);
	if (to < t->nr_records)
		next = step_at(t, to);
	if (to == t->nr_records || next.is_begin) /* the thread ended, and its number was reused */
		ipt_enc_stop_at(e, s.pc, 0, false);
	else
		execute(t, &s, next.pc);
	return to;
}

static void encode(struct truth *t)
{
	struct ipt_truth *truth = &t->encoder.truth;

	for (size_t i = 0; i < t->nr_records;)
		i = step_at(t, i).is_begin ? i + 1 : record(t, i);
	ipt_enc_finish(&t->encoder, 0);
	t->set.trace = t->encoder.out;
	t->set.nr_insns = truth->insns.nr;
	ipt_versions_freeze(&t->set.code);
}

/** Every fourth seed is as plain as can be. */
static void choose(struct truth *t, uint64_t seed)
{
	static const uint32_t periods[] = {2048, 4096, 8192, 65536};
	struct ipt_encode_opts o = {
		.timing = {84, 1, 3, 20, UINT64_C(1000000000)}
        };
	bool is_plain = seed % 4 == 0;
	uint64_t *r = &t->random;

	*r = seed;
	o.has_returns = !is_plain && (splitmix_below(r, 3) || t->for_libipt);
	o.keeps_returns = t->for_libipt;
	o.defers = !is_plain && splitmix_below(r, 2);
	o.has_long_tnt = splitmix_below(r, 2);
	o.has_any_form = splitmix_below(r, 2);
	o.zips_psb = splitmix_below(r, 2);
	o.has_tsc = !is_plain || has_changes(t);
	o.has_mtc = !is_plain && splitmix_below(r, 2);
	o.has_cyc = !is_plain && splitmix_below(r, 2);
	o.has_power = splitmix_below(r, 2);
	o.has_notes = splitmix_below(r, 2) && !t->for_libipt;
	o.psb_bytes = periods[splitmix_below(r, 4)];
	o.timing.mtc_shift = (uint8_t)splitmix_below(r, 11);
	t->lose_every = splitmix_below(r, 2) ? 0 : 5000 + splitmix_below(r, 100000);
	t->stop_every = splitmix_below(r, 2) ? 0 : 5000 + splitmix_below(r, 100000);
	ipt_enc_init(&t->encoder, &o, splitmix64(r));
	t->set.config.timing = o.timing;
}

/* --- decoding --- */

static const struct ipt_judge_run runs[] = {
	{0,    1, 0,    false},
        {1,    1, 0,    false},
        {7,    1, 0,    false},
        {4096, 1, 0,    false},
	{0,    1, 0,    true },
        {0,    3, 0,    false},
        {4096, 2, 4000, false},
};

static bool is_right(struct truth *t)
{
	struct ipt_judge j = {.truth = &t->encoder.truth,
			      .config = &t->set.config,
			      .code = &t->set.code.source,
			      .trace = &t->set.trace,
			      .most_off = ipt_judge_most_off(&t->encoder.opts)};

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		if (ipt_judge_is_right(&j, &runs[i]))
			continue;
		fprintf(stderr, "pieces of %zu, %u threads: %s\n", runs[i].piece,
			runs[i].nr_threads, j.why);
		return false;
	}
	return true;
}

static bool has_peer(struct truth *t)
{
	struct ipt_peer p = {.truth = &t->encoder.truth,
			     .config = &t->set.config,
			     .code = &t->set.code.source,
			     .trace = &t->set.trace,
			     .starts = t->changes.data,
			     .nr_starts = t->changes.nr};

	if (ipt_peer_agrees(&p))
		return true;
	fprintf(stderr, "libipt: %s\n", p.why);
	return false;
}

static unsigned long ms_since(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long)((now.tv_sec - from->tv_sec) * 1000 +
			       (now.tv_nsec - from->tv_nsec) / 1000000);
}

static void save(struct truth *t, const char *path)
{
	vec_for_each (&t->encoder.truth.insns, i)
		t->set.digest = ipt_set_digest(t->set.digest, ipt_insn_address(*i));
	if (!ipt_set_save(&t->set, path))
		die("cannot write the set");
}

int main(int argc, char **argv)
{
	static struct truth t;
	struct timespec start;
	unsigned long encode_ms;
	const char *what;
	size_t bytes;

	if (argc == 2 && !strcmp(argv[1], "--can-libipt"))
		return !ipt_peer_can();
	if (argc < 4)
		die("PREFIX VCPU SEED");
	t.bits = argc > 4 && !strcmp(argv[4], "--i386") ? 32 : 64;
	what = argc > (t.bits == 32 ? 5 : 4) ? argv[argc - 1] : NULL;
	t.for_libipt = what && !strcmp(what, "--libipt");
	t.code = map(argv[1], "code", &bytes);
	t.nr_code = bytes / EXEC_X86_CODE_BYTES;
	t.records = map(argv[1], argv[2], &bytes);
	t.nr_records = bytes / 4;
	ipt_versions_init(&t.set.code);
	choose(&t, strtoull(argv[3], NULL, 0));
	clock_gettime(CLOCK_MONOTONIC, &start);
	encode(&t);
	encode_ms = ms_since(&start);
	clock_gettime(CLOCK_MONOTONIC, &start);
	if (t.for_libipt ? !has_peer(&t) : !is_right(&t)) {
		fprintf(stderr, "%s.%s seed %s: WRONG\n", argv[1], argv[2], argv[3]);
		return 1;
	}
	printf("%llu %zu %lu %lu\n", (unsigned long long)t.set.nr_insns, t.set.trace.nr, encode_ms,
	       ms_since(&start));
	if (what && !t.for_libipt)
		save(&t, what);
	return 0;
}
