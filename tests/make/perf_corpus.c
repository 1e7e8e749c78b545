/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <stdlib.h>

#include "make/defer_make.h"
#include "make/perf_features_make.h"
#include "make/perf_random.h"

/*
 * Usage: perf_*_corpus DIR: write inputs for the fuzz target of that name into DIR. Built once a
 * target; CORPUS names the function that makes them.
 */

static const char *dir;

static void write_input(const char *name, unsigned int nr, struct bytes b)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s-%u", dir, name, nr);
	file = fopen(path, "wb");
	if (!file || fwrite(b.pos, 1, bytes_left(&b), file) != bytes_left(&b) || fclose(file)) {
		perror(path);
		exit(1);
	}
}

/* Small recordings of each form; the first byte says how perf_file_fuzz.c reads them. */
__attribute__((unused)) static void write_files(struct perf_random *r)
{
	for (unsigned int i = 0; i < 64; i++) {
		struct perf_random_opts opts = {
			.build = {.pipe = i & 1, .big = i & 2, .is_unfinished = (i & 12) == 12},
			.nr_records = 1 + i % 16,
			.compress_type = i & 16 ? PERF_RECORD_COMPRESSED + 2 * (i >> 5 & 1) : 0,
			.is_ordered = i & 4,
		};
		struct perf_build b = {0};
		struct perf_put out = {0};

		perf_random_fill(r, &opts, &b);
		put_u8(&out, (uint8_t)i);
		put_bytes(&out, perf_build_finish(&b));
		write_input("file", i, put_result(&out));
		buf_done(&out.buf);
		perf_build_done(&b);
	}
}

/* u8 flags (1: big-endian), u8 misc, the attr's 144 bytes, then the body of a sample. */
__attribute__((unused)) static void write_samples(struct perf_random *r)
{
	for (unsigned int i = 0; i < 200; i++) {
		struct perf_put out = {.big = i & 1}, record = {.big = i & 1};
		struct perf_attr attr;
		struct perf_sample s;
		struct bytes body;

		r->big = out.big;
		perf_random_attr(r, &attr);
		attr.size = PERF_ATTR_SIZE_VER9;
		perf_random_sample(r, &attr, &s);
		put_u8(&out, (uint8_t)(i & 1));
		put_u8(&out, 2);
		perf_encode_attr(&out, &attr, PERF_ATTR_SIZE_VER9);
		perf_encode_sample(&record, &attr, &s);
		body = put_result(&record);
		body.pos += sizeof(struct perf_event_header);
		put_bytes(&out, body);
		write_input("sample", i, put_result(&out));
		buf_done(&out.buf);
		buf_done(&record.buf);
	}
}

/* u8 flags (1: big-endian), then any number of: u8 feature, u16 size (little-endian), content. */
__attribute__((unused)) static void write_headers(struct perf_random *r)
{
	for (unsigned int i = 0; i < 8; i++) {
		struct perf_put all = {.big = i & 1}, lone = {0};

		put_u8(&all, (uint8_t)(i & 1));
		for (unsigned int feature = 1; feature < PERF_FEAT_MAX; feature++) {
			struct perf_put content = {.big = i & 1};

			perf_make_feature(r, &content, feature);
			buf_clear(&lone.buf);
			put_u8(&lone, (uint8_t)feature);
			put_u16(&lone, (uint16_t)content.buf.nr);
			put_bytes(&lone, put_result(&content));
			put_bytes(&all, put_result(&lone));
			buf_done(&content.buf);
		}
		write_input("header", i, put_result(&all));
		buf_done(&all.buf);
		buf_done(&lone.buf);
	}
}

/* perf refuses a file with bits it has no name for. */
__attribute__((unused)) static void keep_what_perf_6_knows(struct perf_attr *a, bool big)
{
	a->flags &= (PERF_ATTR_SIGTRAP << 1) - 1;
	a->branch_sample_type &= (PERF_SAMPLE_BRANCH_HW_INDEX << 1) - 1;
	a->reserved_2 = 0;
	a->aux_action = 0;
	if (big) { /* these perf 6.1 does not turn round, or not rightly */
		a->flags &= ~((uint64_t)3 << PERF_ATTR_PRECISE_IP_SHIFT);
		a->clockid = 0;
		a->sample_regs_intr = 0;
		a->sig_data = 0;
	}
}

/* Recordings that perf's commands read too: any attr, and every header feature. */
__attribute__((unused)) static void write_recordings(struct perf_random *r)
{
	for (unsigned int i = 0; i < 40; i++) {
		struct perf_build b = {.opts = {.big = i >= 36}};
		struct perf_attr attr;

		r->big = b.opts.big;
		perf_random_attr(r, &attr);
		attr.type = i % 2;
		attr.size = i % 8 ? PERF_ATTR_SIZE_VER7 : PERF_ATTR_SIZE_VER5;
		memset((char *)&attr + attr.size, 0, sizeof(attr) - attr.size);
		keep_what_perf_6_knows(&attr, b.opts.big);
		perf_build_event(&b, &attr, "event", (uint64_t[]){i + 1}, 1);
		perf_build_event_desc(&b);
		for (unsigned int feature = PERF_FEAT_HOSTNAME; feature < PERF_FEAT_MAX;
		     feature++) {
			struct perf_put p = {.big = b.opts.big};

			/* perf 6.1 knows features to PMU_CAPS, and takes groups and traces at
			 * their word. */
			if (feature > PERF_FEAT_PMU_CAPS || feature == PERF_FEAT_EVENT_DESC ||
			    feature == PERF_FEAT_GROUP_DESC || feature == PERF_FEAT_AUXTRACE ||
			    feature == PERF_FEAT_DIR_FORMAT || feature == PERF_FEAT_BPF_PROG_INFO ||
			    feature == PERF_FEAT_BPF_BTF || feature == PERF_FEAT_COMPRESSED ||
			    feature == PERF_FEAT_CLOCK_DATA)
				continue;
			perf_make_feature(r, &p, feature);
			perf_build_feature(&b, feature, put_result(&p));
			buf_done(&p.buf);
		}
		perf_build_round(&b);
		write_input("built.data", i, perf_build_finish(&b));
		perf_build_done(&b);
	}
}

/* Deferred user stacks, for perf's commands and ours. */
__attribute__((unused)) static void write_deferred(struct perf_random *r)
{
	(void)r;
	for (unsigned int i = 0; i < 3; i++) {
		struct perf_build b = {.opts = {.pipe = i == 2}};

		if (i == 1)
			perf_build_compress(&b, PERF_RECORD_COMPRESSED);
		defer_make_story(&b);
		if (i == 1)
			perf_build_compress_end(&b, 1000);
		write_input("deferred.data", i, perf_build_finish(&b));
		perf_build_done(&b);
	}
}

int main(int argc, char **argv)
{
	struct perf_random r = {.state = 2026};

	if (argc != 2)
		return 2;
	dir = argv[1];
	CORPUS(&r);
	perf_random_done(&r);
	return 0;
}
