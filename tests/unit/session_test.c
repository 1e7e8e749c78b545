/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <clew/clew.h>

#include "make/perf_build.h"
#include "make/tracing_make.h"
#include "perfdata/perf_sample.h"
#include "unit/test_dir.h"

enum {
	SAMPLE = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN |
		 PERF_SAMPLE_BRANCH_STACK,
	NR = 3000 /* more than one batch of the pipeline */
};

static void put_words(uint8_t *to, const uint64_t *from, size_t nr)
{
	memcpy(to, from, nr * sizeof(*from));
}

static void put_sample(struct perf_build *b, uint64_t time, uint32_t tid, uint64_t ip)
{
	const uint64_t chain[] = {PERF_CONTEXT_USER, ip, 0x5000}, branch[] = {0x1010, 0x2020, 1};
	uint8_t chain_bytes[sizeof(chain)], branch_bytes[sizeof(branch)];
	struct perf_sample s = {
		.misc = PERF_RECORD_MISC_USER, .ip = ip, .time = time, .pid = 10, .tid = tid};

	put_words(chain_bytes, chain, 3);
	put_words(branch_bytes, branch, 3);
	s.callchain = (struct perf_words){chain_bytes, 3, false};
	s.branches.nr = 1;
	s.branches.words = (struct perf_words){branch_bytes, 3, false};
	perf_build_sample(b, 0, &s);
}

/** Threads 10 and 11 by turns, in a mapping of no file that is here. */
static struct bytes make(struct perf_build *b)
{
	struct perf_attr attr = {.sample_type = SAMPLE, .sample_period = 7};

	perf_build_event(b, &attr, "cycles:u", (uint64_t[]){3}, 1);
	perf_build_event_desc(b);
	perf_build_view(b, PERF_RECORD_COMM, 0,
			&(union perf_view){
				.comm = {10, 10, "prog"}
        },
			NULL);
	perf_build_view(b, PERF_RECORD_MMAP, 0,
			&(union perf_view){
				.mmap = {.pid = 10,
					 .tid = 10,
					 .start = 0x1000,
					 .len = 0x8000,
					 .filename = "/no/such/prog"}
        },
			NULL);
	for (uint64_t i = 0; i < NR; i++)
		put_sample(b, 100 + i, 10 + i % 2, 0x1000 + 16 * (i % 5));
	return perf_build_finish(b);
}

struct log {
	char text[64 * NR];
	size_t at, nr, stop_at;
};

static enum clew_err take(void *ctx, const struct clew_sample *s)
{
	struct log *l = ctx;
	int n;

	if (l->stop_at && l->nr == l->stop_at)
		return CLEW_STOPPED;
	l->nr++;
	n = snprintf(l->text + l->at, sizeof(l->text) - l->at, "%llu %u %llx %zu %llx %s\n",
		     (unsigned long long)s->time.ns, s->tid, (unsigned long long)s->leaf->ip,
		     s->nr_chain, (unsigned long long)s->chain[s->nr_chain - 1]->address,
		     clew_binary_name(s->leaf->binary));
	l->at += (size_t)n;
	return CLEW_OK;
}

static enum clew_err pull(struct clew_session *s, struct log *l)
{
	const struct clew_sample *sample;
	enum clew_err err;

	while ((err = clew_session_next(s, &sample, NULL)) == CLEW_OK)
		take(l, sample);
	return err;
}

static void test_passes(struct clew_session *s)
{
	static struct log pushed, again, pulled, stopped = {.stop_at = 2000};

	CHECK(clew_session_each(s, take, &pushed, NULL) == CLEW_OK && pushed.nr == NR,
	      "every sample is handed out");
	CHECK(clew_session_each(s, take, &again, NULL) == CLEW_OK &&
		      !strcmp(pushed.text, again.text),
	      "a second time they are the same");
	CHECK(clew_session_rewind(s, NULL) == CLEW_OK && pull(s, &pulled) == CLEW_END &&
		      !strcmp(pushed.text, pulled.text),
	      "those asked for one by one are the same");
	CHECK(clew_session_each(s, take, &stopped, NULL) == CLEW_STOPPED && stopped.nr == 2000,
	      "the consumer's error ends the pass");
}

static void test_lists(struct clew_session *s)
{
	const struct clew_event *e = clew_session_event(s, 0);
	const struct clew_sample *first, *second;
	const struct clew_summary *sum;
	const struct clew_branch *b;
	const struct clew_frame *leaf;

	CHECK(e && !strcmp(e->name, "cycles:u") && e->sample_period == 7 && e->nr_ids == 1 &&
		      e->ids[0] == 3 && !e->has_frequency && !clew_session_event(s, 1),
	      "the events are listed");
	CHECK(clew_session_rewind(s, NULL) == CLEW_OK &&
		      clew_session_next(s, &first, NULL) == CLEW_OK && first->event == e,
	      "a sample names its event");
	leaf = first->leaf;
	b = first->branches[0];
	CHECK(first->nr_branches == 1 && b->from->ip == 0x1010 && b->to->ip == 0x2020 &&
		      b->flags == CLEW_BRANCH_MISPREDICTED,
	      "a sample has its branches");
	CHECK(!leaf->is_return && first->nr_chain == 2 && !first->chain[0]->is_return &&
		      first->chain[1]->is_return && first->chain[1]->ip == 0x5000,
	      "a caller's address is where its call returns to");
	for (int i = 0; i < 5; i++)
		CHECK(clew_session_next(s, &second, NULL) == CLEW_OK, "the next sample comes");
	CHECK(second->leaf == leaf && second->leaf->binary == clew_session_binary(s, 0),
	      "equal places are one object");
	while (clew_session_next(s, &second, NULL) == CLEW_OK)
		;
	sum = clew_session_summary(s);
	CHECK(sum->nr_samples == NR && sum->first_time.ns == 100 &&
		      sum->last_time.ns == 100 + NR - 1 && sum->nr_without_symbol == NR &&
		      sum->end == CLEW_OK && !sum->left_out->nr,
	      "the summary has what was delivered");
	CHECK(clew_session_thread(s, 0)->tid == 10 && clew_session_thread(s, 1)->tid == 11 &&
		      clew_session_thread(s, 1)->nr_samples == NR / 2 &&
		      !strcmp(clew_session_thread(s, 0)->comm, "prog") &&
		      !clew_session_thread(s, 2),
	      "the threads are listed");
}

static void test_options(struct bytes file)
{
	struct {
		struct clew_session_opts known;
		uint64_t later;
	} opts = {{.symfs = "/"}, 0};
	struct clew_session *s = NULL;
	struct clew_diag diag;
	char text[64], cut[8];

	CHECK(clew_session_open_memory(&s, file.pos, bytes_left(&file), &opts.known, &diag) ==
			      CLEW_INVALID &&
		      !s,
	      "options without their size are refused");
	CHECK(clew_diag_text(text, sizeof(text), "file", &diag) == strlen(text) &&
		      !strcmp(text, "file: the options' size is not set"),
	      "the diag is a sentence");
	CHECK(clew_diag_text(cut, sizeof(cut), "file", &diag) == strlen(text) &&
		      !strcmp(cut, "file: t"),
	      "and is cut where there is no room");
	opts.known.size = sizeof(opts);
	opts.later = 1;
	CHECK(clew_session_open_memory(&s, file.pos, bytes_left(&file), &opts.known, &diag) ==
		      CLEW_UNSUPPORTED,
	      "what a later version asks for is refused");
}

static void test_cut(struct bytes file)
{
	const struct clew_sample *sample;
	struct clew_session *s = NULL;
	struct clew_diag diag = {0};
	enum clew_err err;
	size_t nr = 0;

	CHECK(clew_session_open_memory(&s, file.pos, bytes_left(&file) - 20, NULL, NULL) == CLEW_OK,
	      "a stream that was cut opens");
	while ((err = clew_session_next(s, &sample, &diag)) == CLEW_OK)
		nr++;
	CHECK(err == CLEW_TRUNCATED && diag.offset && nr == NR - 1 &&
		      clew_session_next(s, &sample, NULL) == CLEW_TRUNCATED,
	      "all that is whole comes, then TRUNCATED, and again");
	CHECK(clew_session_summary(s)->end == CLEW_TRUNCATED, "and the summary says so");
	clew_session_free(s);
}

/* --- tracepoints --- */

static struct bytes make_tracepoint(struct perf_build *b)
{
	const struct perf_attr attr = {.type = PERF_TYPE_TRACEPOINT,
				       .config = 317,
				       .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_RAW,
				       .sample_period = 1};
	const uint8_t *raw = (const uint8_t *)&tracing_payload;
	struct buf data = {0};

	tracing_put(&data);
	perf_build_event(b, &attr, "sched:switch", NULL, 0);
	perf_build_tracing_data(b, bytes_of(data.data, data.nr));
	perf_build_sample(b, 0,
			  &(struct perf_sample){
				  .pid = 1, .tid = 1, .raw = {raw, raw + sizeof(tracing_payload)}
        });
	buf_done(&data);
	return perf_build_finish(b);
}

static enum clew_err add_field(void *ctx, const struct clew_field *f)
{
	struct buf *out = ctx;

	buf_printf(out, "%s=", f->name);
	if (f->kind == CLEW_FIELD_TEXT)
		buf_add(out, f->bytes, f->nr_bytes);
	else
		buf_printf(out, "%lld", (long long)f->number);
	buf_char(out, ' ');
	return CLEW_OK;
}

static enum clew_err add_name(void *ctx, const char *name)
{
	buf_str(ctx, name);
	buf_char(ctx, ' ');
	return CLEW_OK;
}

static void test_fields(void)
{
	struct perf_build b = {0};
	struct bytes file = make_tracepoint(&b);
	struct buf fields = {0}, names = {0};
	const struct clew_sample *sample;
	struct clew_session *s = NULL;

	CHECK(clew_session_open_memory(&s, file.pos, bytes_left(&file), NULL, NULL) == CLEW_OK &&
		      clew_session_next(s, &sample, NULL) == CLEW_OK &&
		      sample->raw_bytes >= sizeof(tracing_payload),
	      "a tracepoint's sample has its payload");
	CHECK(clew_sample_fields(s, sample, add_field, &fields) == CLEW_OK, "and its fields");
	CHECK_STR(buf_cstr(&fields), "comm=ls prio=-3 path=/bin place=4112 ", "by name");
	CHECK(clew_event_fields(s, sample->event, add_name, &names) == CLEW_OK,
	      "its event has their names");
	CHECK_STR(buf_cstr(&names), "comm prio path place ", "in order");
	buf_done(&fields);
	buf_done(&names);
	clew_session_free(s);
	perf_build_done(&b);
}

/* --- misuse --- */

static enum clew_err give(void *ctx, const struct clew_sample *sample)
{
	(void)sample;
	return *(const enum clew_err *)ctx;
}

static enum clew_err call_inside(void *ctx, const struct clew_sample *sample)
{
	struct clew_session *s = ctx;
	enum clew_err ok = CLEW_OK;
	const struct clew_sample *next;

	(void)sample;
	return clew_session_next(s, &next, NULL) == CLEW_INVALID &&
			       clew_session_rewind(s, NULL) == CLEW_INVALID &&
			       clew_session_each(s, give, &ok, NULL) == CLEW_INVALID
		     ? CLEW_STOPPED
		     : CLEW_BAD_FILE;
}

static void test_results(struct clew_session *s)
{
	enum clew_err ok = CLEW_OK, positive = (enum clew_err)7, stop = CLEW_STOPPED;
	const struct clew_sample *sample;
	struct clew_diag diag = {0};

	CHECK(clew_session_each(s, give, &ok, NULL) == CLEW_OK &&
		      clew_session_next(s, &sample, &diag) == CLEW_INVALID && diag.what &&
		      !strcmp(diag.what, "another pass has begun"),
	      "after a pass by callback nothing more is asked for");
	CHECK(clew_session_rewind(s, NULL) == CLEW_OK &&
		      clew_session_next(s, &sample, NULL) == CLEW_OK,
	      "but in a new one");
	CHECK(clew_session_each(s, call_inside, s, NULL) == CLEW_STOPPED,
	      "a pass inside of a pass is an error");
	CHECK(clew_session_each(s, give, &positive, &diag) == CLEW_INVALID &&
		      diag.code == CLEW_INVALID && clew_session_summary(s)->end == CLEW_INVALID,
	      "so is a positive result of a callback");
	CHECK(clew_session_each(s, give, &stop, &diag) == CLEW_STOPPED &&
		      diag.code == CLEW_STOPPED && clew_session_summary(s)->end == CLEW_STOPPED,
	      "others are returned, with a diag");
	(void)!clew_session_rewind(s, NULL);
	while (clew_session_next(s, &sample, &diag) == CLEW_OK)
		;
	CHECK(diag.code == CLEW_END && diag.what, "the end has a diag, too");
}

static void test_nulls(struct clew_session *s)
{
	enum clew_err ok = CLEW_OK;
	const struct clew_sample *sample;
	struct clew_session *other;
	char text[16];

	CHECK(clew_session_open(NULL, "/", NULL, NULL) == CLEW_INVALID &&
		      clew_session_open(&other, NULL, NULL, NULL) == CLEW_INVALID &&
		      clew_session_open_fd(NULL, 0, NULL, NULL) == CLEW_INVALID &&
		      clew_session_open_memory(NULL, "", 0, NULL, NULL) == CLEW_INVALID &&
		      clew_session_open_memory(&other, NULL, 1, NULL, NULL) == CLEW_INVALID,
	      "NULL in place of a path, a recording or a place for the result");
	CHECK(clew_session_each(NULL, give, &ok, NULL) == CLEW_INVALID &&
		      clew_session_each(s, NULL, NULL, NULL) == CLEW_INVALID &&
		      clew_session_next(NULL, &sample, NULL) == CLEW_INVALID &&
		      clew_session_next(s, NULL, NULL) == CLEW_INVALID &&
		      clew_session_rewind(NULL, NULL) == CLEW_INVALID &&
		      clew_session_read_events(NULL, NULL) == CLEW_INVALID &&
		      clew_sample_fields(NULL, NULL, NULL, NULL) == CLEW_INVALID &&
		      clew_event_fields(s, NULL, NULL, NULL) == CLEW_INVALID,
	      "in place of a session or a callback");
	CHECK(!clew_session_event(NULL, 0) && !clew_session_thread(NULL, 0) &&
		      !clew_session_binary(NULL, 0) && !clew_session_summary(NULL) &&
		      !clew_binary_build_id(NULL, NULL),
	      "questions about no session");
	CHECK(clew_diag_text(text, sizeof(text), NULL, NULL) == 2 && !strcmp(text, "ok"),
	      "the text of no diag");
}

static void test_reserved(struct bytes file)
{
	struct clew_session_opts opts = {.size = sizeof(opts)};
	struct clew_session *s = NULL;
	bool ok = true;

	for (size_t i = 0; i < sizeof(opts.reserved); i++) {
		opts.reserved[i] = true;
		ok &= clew_session_open_memory(&s, file.pos, bytes_left(&file), &opts, NULL) ==
		      CLEW_UNSUPPORTED;
		opts.reserved[i] = false;
	}
	CHECK(ok, "each reserved byte that is set is refused");
	opts.size = (size_t)1 << 40;
	CHECK(clew_session_open_memory(&s, file.pos, bytes_left(&file), &opts, NULL) ==
		      CLEW_INVALID,
	      "so is a size that nothing can have");
}

/* A record of impossible size: what ended the pass, again and again. */
static void test_bad(void)
{
	struct perf_build b = {.opts = {.pipe = true}};
	const uint8_t bad[8] = {9};
	const struct clew_sample *sample;
	struct clew_session *s = NULL;
	enum clew_err ok = CLEW_OK;
	struct clew_diag diag = {0};
	struct bytes file;

	make(&b);
	perf_build_bytes(&b, bytes_of(bad, sizeof(bad)), false);
	file = perf_build_finish(&b);
	CHECK(clew_session_open_memory(&s, file.pos, bytes_left(&file), NULL, NULL) == CLEW_OK,
	      "a damaged stream opens");
	while (clew_session_next(s, &sample, &diag) == CLEW_OK)
		;
	CHECK(diag.code == CLEW_BAD_FILE && clew_session_next(s, &sample, NULL) == CLEW_BAD_FILE &&
		      clew_session_summary(s)->end == CLEW_BAD_FILE &&
		      clew_session_summary(s)->end_offset == diag.offset && diag.offset,
	      "and ends with BAD_FILE as often as it is asked");
	CHECK(clew_session_each(s, give, &ok, NULL) == CLEW_BAD_FILE &&
		      clew_session_summary(s)->end == CLEW_BAD_FILE,
	      "by callback, too");
	clew_session_free(s);
	perf_build_done(&b);
}

static void *run_alone(void *file)
{
	const struct bytes *b = file;
	const struct clew_session_opts opts = {.size = sizeof(opts), .single_threaded = true};
	enum { NR_SESSIONS = 5 };
	struct clew_session *s;
	size_t nr = 0;
	const struct clew_sample *sample;

	for (int i = 0; i < NR_SESSIONS; i++) {
		if (clew_session_open_memory(&s, b->pos, bytes_left(b), &opts, NULL) != CLEW_OK)
			return NULL;
		while (clew_session_next(s, &sample, NULL) == CLEW_OK)
			nr++;
		clew_session_free(s);
	}
	return nr == NR_SESSIONS * NR ? file : NULL;
}

/** Of this program, whose symbols each session reads. */
static struct bytes make_own(struct perf_build *b)
{
	struct perf_attr attr = {.sample_type = SAMPLE};
	char path[256];
	ssize_t nr = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[nr > 0 ? nr : 0] = '\0';
	perf_build_event(b, &attr, "cycles:u", (uint64_t[]){3}, 1);
	perf_build_view(b, PERF_RECORD_MMAP, 0,
			&(union perf_view){
				.mmap = {.pid = 10,
					 .tid = 10,
					 .start = 0x1000,
					 .len = 0x800000,
					 .filename = path}
        },
			NULL);
	for (uint64_t i = 0; i < NR; i++)
		put_sample(b, 100 + i, 10 + i % 2, 0x1000 + 16 * (i % 5));
	return perf_build_finish(b);
}

static void test_threads(void)
{
	enum { NR_THREADS = 4 };
	struct perf_build b = {0};
	struct bytes file = make_own(&b);
	pthread_t threads[NR_THREADS];
	void *ok[NR_THREADS] = {NULL};
	int nr_ok = 0;

	for (int i = 0; i < NR_THREADS; i++)
		pthread_create(&threads[i], NULL, run_alone, &file);
	for (int i = 0; i < NR_THREADS; i++) {
		pthread_join(threads[i], &ok[i]);
		nr_ok += ok[i] != NULL;
	}
	CHECK(nr_ok == NR_THREADS, "%d threads read, each with sessions of its own", nr_ok);
	perf_build_done(&b);
}

/* Both go on where they were. */
static void test_fork(struct bytes file)
{
	const struct clew_sample *sample;
	struct clew_session *s = NULL;
	int status = -1;
	size_t nr = 0;
	pid_t pid;

	if (clew_session_open_memory(&s, file.pos, bytes_left(&file), NULL, NULL) != CLEW_OK)
		return;
	while (nr < 10 && clew_session_next(s, &sample, NULL) == CLEW_OK)
		nr++;
	pid = fork();
	while (clew_session_next(s, &sample, NULL) == CLEW_OK)
		nr++;
	if (!pid)
		_exit(nr == NR ? 0 : 1);
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 && nr == NR,
	      "after fork both processes read on");
	clew_session_free(s);
}

int main(void)
{
	struct perf_build b = {0}, pipe = {.opts = {.pipe = true}};
	struct bytes file = make(&b), stream = make(&pipe);
	const struct clew_session_opts opts = {.size = sizeof(opts), .wants_branches = true};
	struct clew_session *s = NULL;

	CHECK(!strcmp(clew_version(), CLEW_VERSION) && clew_version_number() == CLEW_VERSION_NUMBER,
	      "the library is of the headers' version");
	CHECK(clew_session_open(&s, "/nowhere", NULL, NULL) == CLEW_OS && !s,
	      "no file, no session");
	CHECK(clew_session_open_memory(&s, file.pos, bytes_left(&file), &opts, NULL) == CLEW_OK,
	      "a recording in memory opens");
	if (s) {
		test_passes(s);
		test_lists(s);
		test_results(s);
		test_nulls(s);
	}
	test_reserved(file);
	test_bad();
	test_options(file);
	test_cut(stream);
	test_fields();
	test_threads();
	test_fork(file);
	clew_session_free(s);
	clew_session_free(NULL);
	perf_build_done(&b);
	perf_build_done(&pipe);
	return tap_done();
}
