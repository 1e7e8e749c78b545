/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <zstd.h>

#include "base/search.h"
#include "perfdata/perf_clock.h"
#include "perfdata/perf_file.h"
#include "perfdata/perf_order.h"
#include "perfdata/perf_tracing.h"
#include "unit/tap.h"
#include "who/who_history.h"
#include "who/who_play.h"
#include "who/who_ran.h"

/*
 * Recordings of modelled machines, with the true owner of each SPE record
 * (../shared/data/who-truth): none may be wrong, and as many right as the model's own rule finds.
 *
 * usage: who_sets DIR [SET...]
 */

enum { IDLE_FROM_LOW = 0x40000, IDLE_TO_LOW = 0x40100, MAX_FIELDS = 20 };
#define KERNEL_TEXT UINT64_C(0xffff800080000000)

/* --- input --- */

static struct bytes read_zst(const char *path)
{
	FILE *f = fopen(path, "rb");
	ZSTD_DStream *d = ZSTD_createDStream();
	size_t cap = 16 << 20, nr = 0, got;
	uint8_t *out = malloc(cap);
	static uint8_t part[1 << 16];

	while (f && (got = fread(part, 1, sizeof(part), f))) {
		ZSTD_inBuffer in = {part, got, 0};

		while (in.pos < in.size && nr < cap) {
			ZSTD_outBuffer o = {out, cap, nr};

			if (ZSTD_isError(ZSTD_decompressStream(d, &o, &in)))
				break;
			nr = o.pos;
			if (nr == cap)
				out = realloc(out, cap *= 2);
		}
	}
	if (f)
		fclose(f);
	ZSTD_freeDStream(d);
	return (struct bytes){out, out + nr};
}

/* --- the recording --- */

struct chunk {
	uint32_t cpu;
	uint64_t offset, size;
	struct clew_perf_ns time;
	struct who_local_id owner;
};

struct buffer {
	uint32_t cpu, tid;
	uint64_t offset;
	struct bytes data;
};

struct recording {
	struct perf_file *file;
	struct who_history history;
	struct who_ran *ran;
	struct perf_time_conv conv;
	struct perf_tracepoint sched;
	uint64_t nr_lines;
	bool has_sched, is_timed;
	struct {
		VEC(struct chunk);
	} chunks;
	struct {
		VEC(struct buffer);
	} buffers;
};

static void take_sample(struct recording *t, const struct perf_record *r,
			struct who_ran_stamp *stamp, const struct perf_evsel *e)
{
	struct who_root_id prev, next;
	struct perf_sample s;

	if (!t->has_sched || e->attr.type != PERF_TYPE_TRACEPOINT ||
	    e->attr.config != t->sched.id ||
	    perf_sample_parse(perf_record_body(r), r->misc, r->swap, &e->attr, &s) ||
	    !perf_tracepoint_u32(s.raw, t->sched.offsets[0], r->swap, &prev.n) ||
	    !perf_tracepoint_u32(s.raw, t->sched.offsets[1], r->swap, &next.n))
		return;
	stamp->cpu = s.cpu;
	stamp->pid = s.pid;
	stamp->tid = s.tid;
	who_ran_take_sched(t->ran, prev, next, stamp);
}

static void take_aux(struct recording *t, const struct perf_record *r,
		     const struct who_ran_stamp *stamp)
{
	struct chunk c = {
		.cpu = stamp->cpu, .time = stamp->time, .owner = who_ran_owner_of_aux(t->ran)};
	struct perf_aux aux;

	if (perf_aux_parse(r, &aux))
		return;
	c.offset = aux.offset;
	c.size = aux.size;
	(void)vec_push(&t->chunks, c);
}

static void take_timed(struct recording *t, const struct perf_record *r, uint64_t time)
{
	struct bytes body = perf_record_body(r);
	const struct perf_evsel *e =
		perf_evlist_of_record(perf_file_evlist(t->file), r->type, body, r->swap);
	struct perf_sample_id id = {.cpu = UINT32_MAX, .pid = UINT32_MAX, .tid = UINT32_MAX};
	struct who_ran_stamp stamp = {.time = {time}, .has_time = t->is_timed};

	if (!e)
		return;
	if (r->type != PERF_RECORD_SAMPLE)
		perf_sample_id_parse(body, r->swap, &e->attr, &id);
	stamp.cpu = id.cpu;
	stamp.pid = id.pid;
	stamp.tid = id.tid;
	stamp.is_inherited = perf_attr_has(&e->attr, PERF_ATTR_INHERIT);
	stamp.has_clockid = perf_attr_has(&e->attr, PERF_ATTR_USE_CLOCKID);
	if (r->type == PERF_RECORD_SAMPLE) {
		take_sample(t, r, &stamp, e);
		return;
	}
	who_play(&who_player_of_history, &t->history, &t->history.guests, r,
		 &(struct who_stamp){.time = {time}, .cpu = id.cpu, .pid = id.pid, .tid = id.tid});
	if (who_ran_takes(r->type))
		who_ran_take(t->ran, r, &stamp);
	if (r->type == PERF_RECORD_AUX)
		take_aux(t, r, &stamp);
}

static uint64_t time_of(const struct recording *t, const struct perf_record *r)
{
	struct bytes body = perf_record_body(r);
	const struct perf_evsel *e =
		perf_evlist_of_record(perf_file_evlist(t->file), r->type, body, r->swap);
	struct perf_sample_id id = {0};
	struct perf_sample s;

	if (!e || r->type >= PERF_RECORD_HEADER_ATTR)
		return 0;
	if (r->type == PERF_RECORD_SAMPLE)
		return perf_sample_parse(body, r->misc, r->swap, &e->attr, &s) ? 0 : s.time;
	perf_sample_id_parse(body, r->swap, &e->attr, &id);
	return id.time;
}

static void take_other(struct recording *t, const struct perf_record *r)
{
	struct perf_auxtrace x;

	if (r->type == PERF_RECORD_TIME_CONV && !perf_time_conv_parse(r, &t->conv))
		who_ran_set_clock(t->ran, &t->conv);
	if (r->type == PERF_RECORD_AUXTRACE && !perf_auxtrace_parse(r, &x))
		(void)vec_push(&t->buffers, (struct buffer){x.cpu, x.tid, x.offset, r->payload});
}

static void look_for_sched(struct recording *t)
{
	const struct perf_features *f = perf_file_features(t->file);

	t->has_sched = perf_sched_switch_find(f->section[PERF_FEAT_TRACING_DATA], &t->sched);
}

static void read_recording(struct recording *t, struct bytes data)
{
	struct perf_input in = {.data = data.pos, .size = bytes_left(&data)};
	struct perf_order *order = perf_order_new(0);
	struct perf_record r;
	struct clew_diag why;
	uint64_t time;

	perf_file_open(&t->file, &in, &why);
	t->is_timed =
		perf_file_evlist(t->file)->evsels.data[0]->attr.sample_type & PERF_SAMPLE_TIME;
	who_history_init(&t->history, 0, NULL);
	t->ran = who_ran_new(&t->history);
	look_for_sched(t);
	while (perf_file_next(t->file, &r, &why) == CLEW_OK) {
		time = time_of(t, &r);
		if (r.type >= PERF_RECORD_HEADER_ATTR)
			take_other(t, &r);
		else if (!t->is_timed)
			take_timed(t, &r, ++t->nr_lines);
		else if (!time)
			take_timed(t, &r, 0);
		else
			perf_order_push(order, &r, time);
	}
	perf_order_finish(order);
	while (perf_order_pop(order, &r, &time))
		take_timed(t, &r, time);
	perf_order_free(order);
	who_ran_close(t->ran);
}

static void recording_done(struct recording *t)
{
	who_ran_free(t->ran);
	who_history_done(&t->history);
	perf_file_free(t->file);
	vec_done(&t->chunks);
	vec_done(&t->buffers);
}

/* --- SPE, as little as the sets need --- */

struct record {
	uint32_t buffer;
	uint64_t offset, pc;
	struct who_question q;
};

struct records {
	VEC(struct record);
};

static uint64_t le(const uint8_t *p, size_t nr)
{
	uint64_t v = 0;

	for (size_t i = 0; i < nr; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

static void take_packet(struct record *x, uint8_t h, uint64_t v)
{
	if (h == 0x64)
		x->q.context_el1 = (uint32_t)v, x->q.has |= WHO_Q_CONTEXT_EL1;
	else if (h == 0x65)
		x->q.context_el2 = (uint32_t)v, x->q.has |= WHO_Q_CONTEXT_EL2;
	else if (h == 0x71)
		x->q.ticks.ticks = v, x->q.has |= WHO_Q_TICKS;
	else if (h == 0xb0) {
		x->q.level = (enum who_level)(v >> 61 & 3);
		x->pc = (v & UINT64_C(0xffffffffffffff)) | (v >> 55 & 1 ? UINT64_C(0xff) << 56 : 0);
	}
}

static void read_spe(struct records *to, const struct record *start, uint64_t offset,
		     struct bytes b)
{
	const uint8_t *base = b.pos, *p = b.pos;
	struct record x = *start;
	bool is_in = false;

	while (p < b.end) {
		uint8_t h = *p;
		size_t size = h <= 1 ? 0 : (size_t)1 << (h >> 4 & 3);

		if (h && !is_in) {
			x = *start;
			x.offset = offset + (uint64_t)(p - base);
			is_in = true;
		}
		if ((size_t)(b.end - p) < 1 + size)
			return;
		if (size)
			take_packet(&x, h, le(p + 1, size));
		p += 1 + size;
		if (h == 1 || h == 0x71) {
			(void)vec_push(to, x);
			is_in = false;
		}
	}
}

/* --- chunks of a buffer --- */

static int by_place(const void *a, const void *b)
{
	const struct chunk *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static int by_buffer(const void *a, const void *b)
{
	const struct buffer *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/** All bytes of the ring; padding after each AUXTRACE record is overwritten by the next. */
static struct bytes ring_bytes(const struct recording *t, size_t first, size_t end)
{
	const struct buffer *last = &t->buffers.data[end - 1];
	size_t size = last->offset + bytes_left(&last->data);
	uint8_t *mem = calloc(1, size + 1);

	for (size_t i = first; i < end; i++) {
		const struct buffer *b = &t->buffers.data[i];

		memcpy(mem + b->offset, b->data.pos, bytes_left(&b->data));
	}
	return (struct bytes){mem, mem + size};
}

static void read_part(struct records *to, const struct record *start, struct bytes ring,
		      uint64_t from, uint64_t end)
{
	size_t size = bytes_left(&ring);

	end = end < size ? end : size;
	if (from < end)
		read_spe(to, start, from, (struct bytes){ring.pos + from, ring.pos + end});
}

static void read_ring(const struct recording *t, size_t first, size_t end, struct records *to)
{
	const struct buffer *b = &t->buffers.data[first];
	struct bytes ring = ring_bytes(t, first, end);
	struct record x = {
		.buffer = b->cpu, .q = {.cpu = b->cpu, .world = WHO_WORLD_OF_SPE}
        };
	struct clew_perf_ns before = {0};
	uint64_t at = 0;

	if (b->cpu == UINT32_MAX) {
		x.q.has |= WHO_Q_QUEUE;
		x.q.queue = who_local_id_of(b->tid);
	} else {
		x.q.has |= WHO_Q_CPU;
	}
	vec_for_each (&t->chunks, c) {
		struct record in = x;

		if (c->cpu != b->cpu)
			continue;
		read_part(to, &x, ring, at, c->offset);
		in.q.owner = c->owner;
		in.q.has |= WHO_Q_OWNER;
		in.q.to = c->time;
		in.q.has |= t->is_timed ? WHO_Q_TO : 0;
		in.q.from = before;
		in.q.has |= before.ns ? WHO_Q_FROM : 0;
		read_part(to, &in, ring, c->offset, c->offset + c->size);
		at = c->offset + c->size;
		before = c->time;
	}
	read_part(to, &x, ring, at, UINT64_MAX);
	free((void *)ring.pos);
}

static void read_trace(struct recording *t, struct records *to)
{
	size_t first = 0;

	if (t->chunks.nr)
		qsort(t->chunks.data, t->chunks.nr, sizeof(*t->chunks.data), by_place);
	if (t->buffers.nr)
		qsort(t->buffers.data, t->buffers.nr, sizeof(*t->buffers.data), by_buffer);
	for (size_t i = 1; i <= t->buffers.nr; i++) {
		if (i < t->buffers.nr && t->buffers.data[i].cpu == t->buffers.data[first].cpu)
			continue;
		read_ring(t, first, i, to);
		first = i;
	}
}

/* --- the truth --- */

enum field {
	BUFFER,
	CPU,
	OFFSET,
	TICK,
	NS,
	EL,
	MACHINE,
	VCPU,
	KIND,
	ROOT_PID,
	ROOT_TID,
	REC_PID,
	REC_TID,
	COMM,
	SERIAL,
	GTID,
	GCOMM,
	EVIDENCE,
	NR_FIELDS
};

struct truth {
	const char *v[NR_FIELDS];
	bool is_seen;
};

struct truths {
	VEC(struct truth);
};

static void read_truth(struct bytes b, struct truths *to)
{
	char *p = (char *)b.pos;

	while (p < (char *)b.end) {
		char *end = memchr(p, '\n', (size_t)((char *)b.end - p));
		struct truth x = {0};

		if (!end)
			break;
		*end = 0;
		for (unsigned int i = 0; i < NR_FIELDS && p; i++)
			x.v[i] = strsep(&p, "\t");
		if (x.v[0][0] != '#')
			(void)vec_push(to, x);
		p = end + 1;
	}
}

static int64_t number(const struct truth *x, enum field f)
{
	return strtoll(x->v[f], NULL, 10);
}

static struct truth *truth_of(const struct truths *l, const struct record *r)
{
	int64_t buffer = (int32_t)r->buffer;
	size_t at = search_first(l->nr, i,
				 number(&l->data[i], BUFFER) > buffer ||
					 (number(&l->data[i], BUFFER) == buffer &&
					  number(&l->data[i], OFFSET) >= (int64_t)r->offset));

	return at < l->nr && number(&l->data[at], BUFFER) == buffer &&
			       number(&l->data[at], OFFSET) == (int64_t)r->offset
		     ? &l->data[at]
		     : NULL;
}

enum verdict { RIGHT, WRONG, UNKNOWN };

static enum verdict judge_thread(const struct truth *x, const struct who_answer *a,
				 const char **why)
{
	*why = "name";
	if (a->has & WHO_A_THREAD && a->comm && !(a->has & WHO_A_NAME_STALE) &&
	    strcmp(a->comm, x->v[COMM]))
		return WRONG;
	*why = "process";
	if (a->has & WHO_A_THREAD && a->pid.n > 0 && a->pid.n != number(x, REC_PID))
		return WRONG;
	*why = "guest thread";
	if (a->has & WHO_A_GUEST_ROOT && a->guest_root.n != (uint32_t)number(x, GTID))
		return WRONG;
	*why = "vcpu";
	if (a->has & WHO_A_VCPU && a->vcpu != (uint32_t)number(x, VCPU))
		return WRONG;
	return RIGHT;
}

static enum verdict judge(const struct truth *x, const struct who_answer *a, const char **why)
{
	bool is_idle = !strcmp(x->v[KIND], "idle"), is_outside = !strcmp(x->v[KIND], "outside");
	bool is_guest = strcmp(x->v[MACHINE], "host");

	*why = who_reason_name(a->reason);
	if (a->kind == WHO_UNKNOWN)
		return UNKNOWN;
	*why = "machine";
	if (is_guest != !!(a->has & WHO_A_GUEST))
		return WRONG;
	*why = "idle-or-outside";
	if (a->kind == WHO_IDLE_OR_OUTSIDE)
		return is_idle || is_outside ? UNKNOWN : WRONG;
	*why = "idle";
	if (is_idle != (a->kind == WHO_IDLE))
		return WRONG;
	if (is_idle)
		return RIGHT;
	*why = "root id";
	if (a->has & WHO_A_ROOT && a->root.n != (uint32_t)number(x, ROOT_TID))
		return WRONG;
	*why = "outside";
	if (is_outside)
		return a->kind == WHO_OUTSIDE || !(a->has & WHO_A_LOCAL) ? RIGHT : WRONG;
	if (a->kind == WHO_OUTSIDE)
		return WRONG;
	*why = "local id";
	if (a->has & WHO_A_LOCAL && a->local.n != number(x, REC_TID))
		return WRONG;
	return judge_thread(x, a, why);
}

static bool is_covered(const struct truth *x)
{
	const char *e = x->v[EVIDENCE];

	return !strcmp(e, "ctx") || !strcmp(e, "aux") || !strcmp(e, "queue") ||
	       !strcmp(e, "switch");
}

struct result {
	uint64_t nr[3], nr_missing, nr_extra, nr_covered, nr_covered_right, nr_nameless;
	struct who_counts counts;
};

static void print_wrong(const struct truth *x, const struct who_answer *a, const char *why)
{
	printf("# wrong %s: cpu %s offset %s tick %s el %s %s root %s local %s %s %s: %s by %s root "
	       "%u "
	       "local %d pid %d %s\n",
	       why, x->v[BUFFER], x->v[OFFSET], x->v[TICK], x->v[EL], x->v[KIND], x->v[ROOT_TID],
	       x->v[REC_TID], x->v[COMM], x->v[EVIDENCE], who_kind_name(a->kind),
	       who_evidence_name(a->evidence), a->root.n, a->local.n, a->pid.n,
	       a->comm ? a->comm : "-");
}

static void judge_record(const struct record *r, const struct truths *truth,
			 const struct who_answer *a, struct result *ret, bool is_loud)
{
	struct truth *x = truth_of(truth, r);
	const char *why;
	enum verdict v;

	if (!x) {
		ret->nr_extra++;
		return;
	}
	v = judge(x, a, &why);
	x->is_seen = true;
	ret->nr[v]++;
	ret->nr_covered += is_covered(x);
	ret->nr_covered_right += is_covered(x) && v == RIGHT;
	ret->nr_nameless +=
		v == RIGHT && a->kind == WHO_TASK && (!a->comm || a->has & WHO_A_NAME_STALE);
	who_counts_add(&ret->counts, a);
	if ((v == WRONG && ret->nr[WRONG] <= 5) || (is_loud && is_covered(x) && v != RIGHT))
		print_wrong(x, a, why);
}

/** Notes in two halves, as two threads would take them. */
static void note_all(struct recording *t, const struct records *l)
{
	for (unsigned int half = 0; half < 2; half++) {
		struct who_notes *n = who_notes_new();
		struct who_cursor c = {0};

		for (size_t i = half; i < l->nr; i += 2)
			who_ran_note(t->ran, n, &c, &l->data[i].q);
		who_ran_add_notes(t->ran, n);
		who_notes_free(n);
	}
	who_ran_settle(t->ran);
}

/** As the model's kernel lies in memory. */
static bool is_idle_code(uint64_t pc)
{
	return pc >= KERNEL_TEXT + IDLE_FROM_LOW && pc < KERNEL_TEXT + IDLE_TO_LOW;
}

static void ask_all(const struct recording *t, const struct records *l, const struct truths *truth,
		    struct result *ret, bool is_loud)
{
	struct who_cursor c = {0};

	for (size_t i = 0; i < l->nr; i++) {
		struct who_answer a, alone;
		struct who_cursor fresh = {0};

		who_ran_ask(t->ran, &c, &l->data[i].q, &a);
		who_ran_ask(t->ran, &fresh, &l->data[i].q, &alone);
		if (a.kind != alone.kind || a.has != alone.has || a.local.n != alone.local.n ||
		    a.root.n != alone.root.n || a.comm != alone.comm || a.serial != alone.serial ||
		    a.reason != alone.reason)
			ret->nr_extra += 1000000;
		if (is_idle_code(l->data[i].pc))
			who_answer_in_idle_code(&a);
		judge_record(&l->data[i], truth, &a, ret, is_loud);
	}
	vec_for_each (truth, x)
		ret->nr_missing += !x->is_seen;
}

static void print_facts(const struct who_facts *f, const struct result *r)
{
	printf("# root recorder %d (%s), mixture %d, L = P %d (%s), clock %d (%s), kernel EL%d\n",
	       f->is_root.is, f->is_root.why ? f->is_root.why : "-", f->is_mixture.is,
	       f->is_same_proc.is, f->is_same_proc.why ? f->is_same_proc.why : "-", f->has_clock.is,
	       f->has_clock.why, f->kernel_level);
	printf("# right %llu unknown %llu covered %llu of %llu, without name %llu;",
	       (unsigned long long)r->nr[RIGHT], (unsigned long long)r->nr[UNKNOWN],
	       (unsigned long long)r->nr_covered_right, (unsigned long long)r->nr_covered,
	       (unsigned long long)r->nr_nameless);
	for (unsigned int i = 0; i < WHO_NR_REASONS; i++) {
		if (r->counts.by_reason[i])
			printf(" %s %llu", who_reason_name(i),
			       (unsigned long long)r->counts.by_reason[i]);
	}
	printf("\n");
}

static void check_set(const char *dir, const char *name, uint64_t nr_right, bool is_loud)
{
	char data_path[4096], truth_path[4096];
	struct recording t = {0};
	struct records records = {0};
	struct truths truths = {0};
	struct bytes data, truth;
	struct result res = {{0}, 0};

	snprintf(data_path, sizeof(data_path), "%s/%s.data.zst", dir, name);
	snprintf(truth_path, sizeof(truth_path), "%s/%s.truth.zst", dir, name);
	data = read_zst(data_path);
	truth = read_zst(truth_path);
	read_truth(truth, &truths);
	read_recording(&t, data);
	read_trace(&t, &records);
	note_all(&t, &records);
	ask_all(&t, &records, &truths, &res, is_loud);
	print_facts(who_ran_facts(t.ran), &res);
	CHECK_EQ(res.nr[WRONG], 0, "%s: no record has a wrong owner", name);
	CHECK_EQ(res.nr_missing + res.nr_extra, 0, "%s: each record of the truth, once", name);
	CHECK(res.nr[RIGHT] >= nr_right, "%s: %llu of %llu right, %llu by the model's own rule",
	      name, (unsigned long long)res.nr[RIGHT], (unsigned long long)records.nr,
	      (unsigned long long)nr_right);
	recording_done(&t);
	vec_done(&records);
	vec_done(&truths);
	free((void *)data.pos);
	free((void *)truth.pos);
}

/** Column 12 of SUMMARY.tsv. */
static uint64_t right_of(char *line)
{
	char *p = line;

	for (unsigned int i = 0; i < 11; i++)
		strsep(&p, "\t");
	return p ? strtoull(p, NULL, 10) : 0;
}

static bool is_wanted(int argc, char **argv, const char *name)
{
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], name))
			return true;
	}
	return argc <= 2;
}

int main(int argc, char **argv)
{
	const char *dir = argc > 1 ? argv[1] : ".";
	char path[4096], line[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/SUMMARY.tsv", dir);
	f = fopen(path, "r");
	if (!f)
		SKIP_ALL("../shared/data/who-truth is not there");
	while (fgets(line, sizeof(line), f)) {
		char *tab = strchr(line, '\t');
		char name[256];

		if (!tab || !strncmp(line, "set\t", 4))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(tab - line), line);
		if (is_wanted(argc, argv, name))
			check_set(dir, name, right_of(line), argc > 2);
	}
	fclose(f);
	return tap_done();
}
