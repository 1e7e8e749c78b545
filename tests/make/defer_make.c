/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/defer_make.h"

#include "perfdata/perf_deferred.h"

enum { EVENT_ID = 7, OUTPUT_ID = DEFER_MAKE_OUTPUT_ID };

bool defer_make_announces = true;

void defer_make_events(struct perf_build *b)
{
	struct perf_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
			       PERF_SAMPLE_CALLCHAIN,
		.sample_period = 1,
		.read_format = PERF_FORMAT_ID,
		.flags = PERF_ATTR_SAMPLE_ID_ALL | PERF_ATTR_DEFER_CALLCHAIN,
	};

	if (!defer_make_announces)
		attr.flags &= ~PERF_ATTR_DEFER_CALLCHAIN;
	perf_build_event(b, &attr, "cpu-clock", (uint64_t[]){EVENT_ID}, 1);
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.flags = PERF_ATTR_SAMPLE_ID_ALL | PERF_ATTR_DEFER_OUTPUT | PERF_ATTR_MMAP |
		     PERF_ATTR_MMAP2 | PERF_ATTR_COMM | PERF_ATTR_COMM_EXEC | PERF_ATTR_TASK;
	perf_build_event(b, &attr, "dummy:u", (uint64_t[]){OUTPUT_ID}, 1);
	perf_build_event_desc(b);
}

static struct perf_sample_id id_of(uint32_t tid, uint32_t cpu, uint64_t time)
{
	return (struct perf_sample_id){
		.pid = tid, .tid = tid, .time = time, .cpu = cpu, .id = OUTPUT_ID};
}

void defer_make_process(struct perf_build *b, uint32_t tid, uint64_t time, const char *comm)
{
	struct perf_sample_id id = id_of(tid, 0, time);

	perf_build_view(b, PERF_RECORD_COMM, 0,
			&(union perf_view){
				.comm = {.pid = tid, .tid = tid, .comm = comm}
        },
			&id);
	perf_build_view(
		b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER,
		&(union perf_view){
			.mmap = {.pid = tid,
				 .tid = tid,
				 .start = 0x400000,
				 .len = 0x100000,
				 .pgoff = 0x400000, /* perf releases differ in what they show */
				 .filename = "/no/such/program",
				 .is_mmap2 = true,
				 .prot = 5}
        },
		&id);
}

void defer_make_task(struct perf_build *b, uint32_t type, uint32_t tid, uint64_t time)
{
	struct perf_sample_id id = id_of(tid, 0, time);
	union perf_view v = {
		.task = {.pid = tid, .tid = tid, .ppid = 1, .ptid = 1, .time = time}
        };

	if (type == PERF_RECORD_COMM)
		v = (union perf_view){
			.comm = {.pid = tid, .tid = tid, .comm = "execed", .is_exec = true}
                };
	perf_build_view(b, type, 0, &v, &id);
}

void defer_make_sample(struct perf_build *b, const struct defer_sample *s)
{
	struct perf_put words = {.big = b->opts.big};

	if (!s->in_user) {
		put_u64(&words, PERF_CONTEXT_KERNEL);
		put_u64(&words, 0xffffffff81000010);
		put_u64(&words, 0xffffffff81000020);
	}
	if (s->has_user_part || s->no_mark) {
		put_u64(&words, PERF_CONTEXT_USER);
		put_u64(&words, 0x400010);
	}
	if (s->no_mark) {
		put_u64(&words, 0x400020);
	} else {
		put_u64(&words, PERF_CONTEXT_USER_DEFERRED);
		put_u64(&words, s->cookie);
	}
	for (uint32_t i = 0; i < s->nr_after; i++)
		put_u64(&words, i ? 0xffffffff81000030 : PERF_CONTEXT_KERNEL);
	perf_build_sample(b, 0,
			  &(struct perf_sample){
				  .misc = s->in_user ? PERF_RECORD_MISC_USER
						     : PERF_RECORD_MISC_KERNEL,
				  .id = EVENT_ID,
				  .ip = s->in_user ? 0x400010 : 0xffffffff81000010,
				  .time = s->time,
				  .pid = s->tid,
				  .tid = s->tid,
				  .cpu = s->cpu,
				  .period = 1,
				  .callchain = {.data = (const uint8_t *)words.buf.data,
						.nr = (uint32_t)(words.buf.nr / 8),
						.swap = (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) !=
							b->opts.big}
        });
	buf_done(&words.buf);
}

void defer_make_stack(struct perf_build *b, const struct defer_stack *s)
{
	struct perf_put body = {.big = b->opts.big};

	put_u64(&body, s->cookie);
	put_u64(&body, s->nr);
	for (uint32_t i = 0; i < s->nr; i++)
		put_u64(&body, s->ips[i]);
	if (s->has_trailer)
		perf_deferred_put_trailer(&body.buf, s->stop, 0, s->methods, s->nr);
	put_u32(&body, s->tid);
	put_u32(&body, s->tid);
	put_u64(&body, s->time);
	put_u32(&body, s->cpu);
	put_u32(&body, 0);
	put_u64(&body, OUTPUT_ID);
	perf_build_raw(b, PERF_RECORD_CALLCHAIN_DEFERRED, PERF_RECORD_MISC_USER, put_result(&body));
	buf_done(&body.buf);
}

/* Times in microseconds, from 1 s on. */
#define AT(us) (1000000000ull + (us)*1000ull)

void defer_make_story(struct perf_build *b)
{
	static const uint64_t a[] = {0x400010, 0x400101, 0x400201}, c[] = {0x400310, 0x400401};

	defer_make_events(b);
	defer_make_process(b, 10, AT(1), "ten");
	defer_make_process(b, 11, AT(2), "eleven");
	defer_make_process(b, 12, AT(3), "twelve");
	/* A task that leaves the kernel after all others. */
	defer_make_sample(b, &(struct defer_sample){.tid = 11, .time = AT(10), .cookie = 0x30002});
	/* In user mode, alone. */
	defer_make_sample(b,
			  &(struct defer_sample){
				  .tid = 10, .time = AT(11), .cookie = 0x10001, .in_user = true});
	defer_make_stack(b, &(struct defer_stack){.tid = 10,
						  .time = AT(12),
						  .cookie = 0x10001,
						  .ips = a,
						  .nr = 3,
						  .has_trailer = true,
						  .stop = 1});
	/* Its address in a user part of its own. */
	defer_make_sample(b, &(struct defer_sample){.tid = 10,
						    .time = AT(13),
						    .cookie = 0x30001,
						    .in_user = true,
						    .has_user_part = true});
	defer_make_stack(b,
			 &(struct defer_stack){
				 .tid = 10, .time = AT(14), .cookie = 0x30001, .ips = a, .nr = 3});
	/* One entry, three samples, of which one is late; the stack comes twice. */
	defer_make_sample(b, &(struct defer_sample){.tid = 10, .time = AT(20), .cookie = 0x50001});
	defer_make_sample(
		b, &(struct defer_sample){.tid = 10, .time = AT(21), .cookie = 0x50001, .cpu = 1});
	defer_make_stack(
		b,
		&(struct defer_stack){
			.tid = 10, .time = AT(22), .cookie = 0x50001, .cpu = 1, .ips = c, .nr = 2});
	defer_make_stack(b,
			 &(struct defer_stack){
				 .tid = 10, .time = AT(22), .cookie = 0x50001, .ips = c, .nr = 2});
	defer_make_sample(b, &(struct defer_sample){.tid = 10, .time = AT(23), .cookie = 0x50001});
	/* The one has no stack; the other has a kernel part after its mark. */
	defer_make_sample(b, &(struct defer_sample){.tid = 10, .time = AT(30), .cookie = 0x70001});
	defer_make_sample(b, &(struct defer_sample){
				     .tid = 10, .time = AT(31), .cookie = 0x90001, .nr_after = 2});
	defer_make_stack(b, &(struct defer_stack){.tid = 10,
						  .time = AT(32),
						  .cookie = 0x90001,
						  .ips = c,
						  .nr = 2,
						  .has_trailer = true,
						  .stop = 2});
	/* A chain that was not deferred, reasons for none, no frames. */
	defer_make_sample(b, &(struct defer_sample){.tid = 10, .time = AT(40), .no_mark = true});
	for (uint64_t why = 0; why < NR_PERF_NO_STACK; why++)
		defer_make_sample(b, &(struct defer_sample){.tid = 10,
							    .time = AT(41 + why),
							    .cookie = perf_no_stack_cookie(
								    (enum perf_no_stack)why)});
	defer_make_sample(b, &(struct defer_sample){.tid = 10, .time = AT(50), .cookie = 0xb0001});
	defer_make_stack(b, &(struct defer_stack){.tid = 10, .time = AT(51), .cookie = 0xb0001});
	/* exec, and exit with its number taken again */
	defer_make_sample(b, &(struct defer_sample){.tid = 12, .time = AT(60), .cookie = 0x110001});
	defer_make_task(b, PERF_RECORD_COMM, 12, AT(61));
	defer_make_sample(b, &(struct defer_sample){.tid = 12, .time = AT(62), .cookie = 0x110001});
	defer_make_stack(b,
			 &(struct defer_stack){
				 .tid = 12, .time = AT(63), .cookie = 0x110001, .ips = a, .nr = 1});
	defer_make_sample(b, &(struct defer_sample){.tid = 12, .time = AT(64), .cookie = 0x130001});
	defer_make_task(b, PERF_RECORD_EXIT, 12, AT(65));
	defer_make_stack(b,
			 &(struct defer_stack){
				 .tid = 11, .time = AT(70), .cookie = 0x30002, .ips = c, .nr = 2});
	defer_make_sample(b, &(struct defer_sample){.tid = 11, .time = AT(80), .cookie = 0x50002});
	perf_build_round(b);
}
