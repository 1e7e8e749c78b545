/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Samples on their way through the source of user stacks; BPF and the rings are the test's. */
#include "record/stacks/user_stacks.h"

#include <limits.h>
#include <unistd.h>

#include "make/fake_bpf.h"
#include "make/perf_encode.h"
#include "perfdata/perf_regs.h"
#include "unit/tap.h"

/* --- a recording of two events on one CPU, in one ring --- */

enum { RING = 1 << 16, DATA_HEAD = 1024, WITH_STACKS = 100, PLAIN = 101, COPIED = 102 };

static struct {
	struct rec_options options;
	struct rec_target target;
	struct rec_counters counters;
	struct rec_source source;
	struct rec_file file;
	struct buf written;
	size_t story_at;
	uint64_t page[512];
	uint8_t ring[RING];
	size_t nr_counted;
	char said[512];
	struct rec_error error;
} f;

#if defined(__aarch64__)
# define PC_BIT (1ull << PERF_REG_ARM64_PC)
#else
# define PC_BIT (1ull << PERF_REG_X86_IP)
#endif

static int fds[] = {0};
static uint64_t ids[][1] = {{WITH_STACKS}, {PLAIN}, {COPIED}};

static void say(void *ctx, enum rec_level level, const char *text)
{
	(void)ctx, (void)level;
	snprintf(f.said, sizeof(f.said), "%s", text);
}

static const struct rec_ui ui = {.say = say};

static void add_event(enum rec_stacks stacks, uint64_t *id)
{
	struct rec_counter e = {
		.name = "event",
		.stacks = stacks,
		.fds = fds,
		.ids = id,
		.is_tracking = !f.counters.list.nr,
		.attr = {.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID |
					PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
			 .flags = PERF_ATTR_SAMPLE_ID_ALL}
        };

	if (stacks == REC_STACKS_COPY) {
		e.attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		e.attr.sample_regs_user = PC_BIT;
		e.attr.sample_stack_user = 64;
	}
	vec_push(&f.counters.list, e);
}

static enum clew_err to_buf(void *ctx, const void *p, size_t size)
{
	buf_add(ctx, p, size);
	return CLEW_OK;
}

static enum clew_err open_source(bool refuses)
{
	const struct perf_writer_out out = {
		{to_buf, &f.written},
                NULL
        };
	const struct perf_evlist no_events = {0};

	memset(&f, 0, sizeof(f));
	bpf = (struct defer_bpf){.refuses = refuses};
	f.options.stacks = (struct rec_stack_plan){.kind = REC_STACKS_BPF_DEFERRED};
	vec_push(&f.target.tids, 7);
	vec_push(&f.target.cpus, 0);
	f.counters.target = &f.target;
	f.counters.nr_places = 1;
	add_event(REC_STACKS_BPF_DEFERRED, ids[0]);
	add_event(REC_STACKS_FP, ids[1]);
	add_event(REC_STACKS_COPY, ids[2]);
	vec_push(&f.counters.rings,
		 (struct rec_ring){
			 .fd = -1,
			 .tid = -1,
			 .ring = {.page = f.page, .data = f.ring, .data_bytes = RING}
        });
	perf_writer_open(&f.file.writer, &out, &no_events, &(struct perf_writer_opts){0});
	f.story_at = f.written.nr;
	return user_stacks_open(&f.source, &f.counters, &f.options,
				&(struct rec_stack_choice){.ui = &ui, .bpf = &bpf}, &f.error);
}

static void close_source(void)
{
	if (f.source.ops)
		f.source.ops->done(f.source.ctx);
	perf_writer_free(f.file.writer);
	buf_done(&f.written);
	vec_done(&f.counters.list);
	vec_done(&f.counters.rings);
	rec_target_done(&f.target);
}

static void write_ring(struct perf_put *p)
{
	struct bytes b = put_result(p);
	uint64_t *head = &f.page[DATA_HEAD / 8];

	for (; bytes_left(&b); b.pos++)
		f.ring[(*head)++ % RING] = *b.pos;
	buf_done(&p->buf);
}

/* A sample of one kernel frame. @abi: of the user's registers, where the event copies them. */
static void sample(uint64_t id, uint32_t tid, uint64_t time, uint64_t abi)
{
	static const uint64_t chain[] = {PERF_CONTEXT_KERNEL, 0xffffffff81000010};
	static const uint64_t pc = 0x5000;
	static const uint8_t stack[64];
	struct perf_put p = {0};
	struct perf_sample s = {
		.id = id,
		.time = time,
		.pid = tid,
		.tid = tid,
		.callchain = {(const uint8_t *)chain, 2,                        false                  },
		.regs_user = {.abi = abi,
			      .mask = PC_BIT,
			      .words = {(const uint8_t *)&pc, abi != 0, false}                         },
		.stack_user = {bytes_of(stack,         abi ? sizeof(stack) : 0), abi ? sizeof(stack) : 0}
        };

	perf_encode_sample(&p, &f.counters.list.data[id - WITH_STACKS].attr, &s);
	write_ring(&p);
}

static void comm(uint32_t tid, uint64_t time)
{
	const union perf_view v = {
		.comm = {.pid = tid, .tid = tid, .comm = "name"}
        };
	const struct perf_sample_id id = {.pid = tid, .tid = tid, .time = time, .id = WITH_STACKS};
	struct perf_put p = {0};

	perf_encode_record(&p, PERF_RECORD_COMM, 0, &v, &f.counters.list.data[0].attr, &id);
	write_ring(&p);
}

static void request(uint32_t tid, uint64_t time, uint64_t cookie)
{
	vec_push(&bpf.requests, (struct defer_request){.time = time, .cookie = cookie, .tid = tid});
}

static struct defer_stack stack_of(uint32_t tid, uint64_t time, uint64_t cookie)
{
	static const uint64_t ips[] = {0x1000, 0x2000};
	static const uint8_t methods[2];

	return (struct defer_stack){.time = time,
				    .cookie = cookie,
				    .pid = tid,
				    .tid = tid,
				    .ips = ips,
				    .methods = methods,
				    .nr = 2,
				    .stop = UNW_STOP_OUTERMOST};
}

static bool count(void *ctx, struct rec_aux_seen *aux, const struct bytes part[2])
{
	(void)ctx;
	(void)aux;
	f.nr_counted += bytes_left(&part[0]) + bytes_left(&part[1]);
	return false;
}

/* One record as words: "sample 7 at 10 > 10001", "stack 10001 of 7: 1000 2000". */
static void put_words(struct buf *b, const struct perf_record *r)
{
	struct perf_callchain_deferred c;
	struct perf_sample_id id;
	struct perf_sample s;

	if (b->nr)
		buf_str(b, ", ");
	if (r->type == PERF_RECORD_SAMPLE) {
		/* The id stands first; copies have gone. */
		uint64_t event = load_u64(r->data + 8, false) - WITH_STACKS;
		struct perf_attr attr = f.counters.list.data[event].attr;

		rec_attr_of_file(&attr, f.counters.list.data[event].stacks, false, event == 0,
				 true);
		if (perf_sample_parse(perf_record_body(r), 0, false, &attr, &s) != CLEW_OK) {
			buf_str(b, "damaged");
			return;
		}
		buf_printf(b, "sample %u at %llu", s.tid, (unsigned long long)s.time);
		if (s.callchain.nr == 4 &&
		    perf_words_get(&s.callchain, 2) == PERF_CONTEXT_USER_DEFERRED)
			buf_printf(b, " > %llx",
				   (unsigned long long)perf_words_get(&s.callchain, 3));
	} else if (perf_callchain_deferred_parse(r, &c) == CLEW_OK) {
		perf_sample_id_parse(perf_record_body(r), false, &f.counters.list.data[0].attr,
				     &id);
		buf_printf(b, "stack %llx of %u:", (unsigned long long)c.cookie, id.tid);
		for (uint64_t i = 0; i < c.nr; i++)
			buf_printf(b, " %llx", (unsigned long long)load_u64(c.ips + 8 * i, false));
	} else {
		buf_printf(b, "type %u", r->type);
	}
}

/* A pass, and what it wrote. */
static const char *pass(void)
{
	struct rec_pass p = {.file = &f.file, .count = count};
	static struct buf story;
	struct perf_record r;

	buf_clear(&story);
	if (f.source.ops->pass(f.source.ctx, &p) != CLEW_OK)
		buf_str(&story, "failed");
	for (; f.story_at < f.written.nr; f.story_at += r.size) {
		r = perf_record_of(bytes_of(f.written.data + f.story_at, f.written.nr - f.story_at),
				   false);
		put_words(&story, &r);
	}
	return buf_cstr(&story);
}

/* --- the tests --- */

static void test_one_pass(void)
{
	CHECK(open_source(false) == CLEW_OK && bpf.nr_attached == 1,
	      "a program on the event that wants stacks, and on no other");
	CHECK_STR(pass(), "", "nothing came: nothing is written");
	request(7, 10, 0x10001);
	vec_push(&bpf.stacks, stack_of(7, 11, 0x10001));
	sample(WITH_STACKS, 7, 10, 0);
	CHECK_STR(pass(), "sample 7 at 10 > 10001, stack 10001 of 7: 1000 2000",
		  "a sample gets its request's cookie, and the stack follows");
	CHECK(f.nr_counted > 0 && f.source.ops->may_end_round(f.source.ctx),
	      "its span was counted, and the round may end");
	sample(PLAIN, 7, 20, 0);
	comm(7, 25);
	CHECK_STR(pass(), "sample 7 at 20, type 3",
		  "samples of other events and other records go as they are");
	close_source();
	CHECK_EQ(bpf.nr_freed, 1, "BPF is closed with the source");
}

static void test_order(void)
{
	open_source(false);
	request(7, 10, 0x10001);
	request(8, 30, 0x20001);
	sample(WITH_STACKS, 7, 10, 0);
	sample(WITH_STACKS, 8, 30, 0);
	CHECK_STR(pass(), "sample 7 at 10 > 10001, sample 8 at 30 > 20001",
		  "stacks that have not come leave their samples alone");
	vec_push(&bpf.stacks, stack_of(8, 31, 0x20001));
	CHECK_STR(pass(), "stack 20001 of 8: 1000 2000", "one comes a pass later");
	sample(WITH_STACKS, 9, 50, 0);
	CHECK_STR(pass(), "sample 9 at 50 > 70000", "a sample without a request says that");
	request(7, 60, 0x10002);
	bpf.nr_hidden = 5;
	sample(WITH_STACKS, 7, 60, 0);
	CHECK_STR(pass(), "sample 7 at 60 > 10002",
		  "a request hidden by another CPU's unfinished one is waited for");
	request(7, 70, 0x10003);
	bpf.nr_hidden = INT_MAX;
	sample(WITH_STACKS, 7, 70, 0);
	CHECK_STR(pass(), "sample 7 at 70 > 70000", "but not for ever");
	bpf.nr_hidden = 0;
	close_source();
}

static void test_end(void)
{
	const struct rec_source_ops *ops;

	open_source(false);
	ops = f.source.ops;
	request(7, 10, 0x10001);
	sample(WITH_STACKS, 7, 10, 0);
	pass();
	ops->stop(f.source.ctx);
	CHECK(bpf.is_stopped && ops->pending(f.source.ctx) == REC_PENDING_OTHERS,
	      "after the end a task in the kernel is waited for");
	vec_push(&bpf.asleep, stack_of(7, 90, 0x10001));
	bpf.nr_left = 3;
	ops->last_call(f.source.ctx);
	CHECK_STR(pass(), "stack 10001 of 7: 1000 2000", "the last call reads it where it sleeps");
	CHECK(ops->pending(f.source.ctx) == REC_PENDING_NONE, "then nothing is missing");
	ops->report(f.source.ctx, false);
	CHECK_STR(
		f.said,
		"user stacks: 1 for 1 samples, 3 tasks still in the kernel; tables of 0 binaries, "
		"0 KiB in the kernel",
		"the outcome in one line");
	close_source();
}

static void test_unasked(void)
{
	bool is_quiet = true;

	open_source(false);
	vec_push(&bpf.stacks, stack_of(7, 11, 0x10001));
	vec_push(&bpf.stacks, stack_of(7, 12, 0x20001));
	for (int i = 0; i < 4; i++)
		is_quiet &= !*pass();
	CHECK(is_quiet, "stacks that no sample asks for are not written");
	close_source();
}

/* A process that has ended: no mapping to open, no record that names the file. */
static void test_lost_file(void)
{
	open_source(false);
	vec_push(&bpf.wants,
		 (struct defer_want){.pid = 0x7ffffffe, .start = 0x1000, .end = 0x2000});
	pass();
	for (int i = 0; i < 60000 && !bpf.nr_later; i++) {
		usleep(1000);
		pass();
	}
	CHECK(bpf.nr_later == 1 && !bpf.nr_tables && !bpf.nr_none,
	      "a file that could not be opened is to be asked for again");
	close_source();
}

static void test_copies(void)
{
	enum { KERNEL_THREAD = 0, TASK_32 = 1 };

	open_source(false);
	sample(COPIED, 7, 10, KERNEL_THREAD);
	CHECK_STR(pass(), "sample 7 at 10 > 10000",
		  "a copied sample without user registers says why it has no stack");
	sample(COPIED, 8, 20, TASK_32);
	CHECK_STR(pass(), "sample 8 at 20 > 8000000000010001, stack 8000000000010001 of 8: 5000",
		  "a 32-bit task's has the frame that needs no unwinding");
	close_source();
}

static void test_refused(void)
{
	CHECK(open_source(true) == CLEW_UNSUPPORTED && !f.source.ops,
	      "an event that takes no program refuses the way");
	CHECK_STR(f.error.text, "event 0 takes no program", "with its sentence");
	CHECK_EQ(bpf.nr_freed, 1, "and BPF is closed");
	close_source();
}

static void test_nothing_wanted(void)
{
	open_source(false);
	f.source.ops->done(f.source.ctx);
	vec_for_each (&f.counters.list, e)
		e->stacks = REC_STACKS_FP;
	f.source.ops = NULL;
	CHECK(user_stacks_open(&f.source, &f.counters, &f.options,
			       &(struct rec_stack_choice){.ui = &ui}, &f.error) == CLEW_OK &&
		      !f.source.ops,
	      "where the kernel writes all chains there is no such source");
	close_source();
}

int main(void)
{
	test_one_pass();
	test_order();
	test_end();
	test_unasked();
	test_lost_file();
	test_copies();
	test_refused();
	test_nothing_wanted();
	return tap_done();
}
