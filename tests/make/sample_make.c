/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "make/perf_build.h"

/*
 * Usage: sample_make [--pipe] [--feature | --no-feature] [--big] [--version1] [--words32]
 *	[--attr-bytes=N] [--no-inodes] < TEXT > perf.data
 *
 * A recording from a text, one record per line, numbers in hex:
 *
 *	event NAME [chain] [branches[=TYPE]] all events first; time, period, pid and tid always
 *	comm PID NAME
 *	map PID START BYTES OFFSET PATH
 *	round                                FINISHED_ROUND
 *	sample EVENT PID IP TIME PERIOD [chain ADDRESS ...] [branches FROM TO FLAGS ...]
 *
 * EVENT counts from 0. TYPE is attr.branch_sample_type (user, any). FLAGS is the word as the kernel
 *packs it: 1 mispredicted, 2 predicted, 4 in a transaction, 8 abort, cycles << 4. The header says
 *that there are branch stacks where an event has them, with --feature always, with --no-feature
 *never.
 */

enum { LINE_BYTES = 64 << 10, MAX_WORDS = 4096, MAX_EVENTS = 16, NAME_BYTES = 128 };

static const uint64_t common =
	PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;

static bool has_no_inodes;

static uint64_t number(void)
{
	const char *word = strtok(NULL, " \n");

	return word ? strtoull(word, NULL, 16) : 0;
}

static void add_event(struct perf_build *b, bool *has_branches)
{
	struct perf_attr attr = {.type = PERF_TYPE_HARDWARE,
				 .sample_type = common,
				 .sample_period = 1,
				 .flags = PERF_ATTR_SAMPLE_ID_ALL};
	static char names[MAX_EVENTS][NAME_BYTES]; /* the recording keeps only the address */
	char *name = names[b->events.nr % MAX_EVENTS];
	const char *word = strtok(NULL, " \n");
	uint64_t id = b->events.nr + 1;

	snprintf(name, NAME_BYTES, "%s", word ? word : "");
	while ((word = strtok(NULL, " \n"))) {
		if (!strcmp(word, "chain"))
			attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
		if (strncmp(word, "branches", 8) != 0)
			continue;
		attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
		attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
		if (word[8] == '=')
			attr.branch_sample_type = strtoull(word + 9, NULL, 16);
		*has_branches = true;
	}
	attr.sample_type |= PERF_SAMPLE_IDENTIFIER;
	perf_build_event(b, &attr, name, &id, 1);
}

static void add_comm(struct perf_build *b)
{
	union perf_view v = {0};

	v.comm.pid = v.comm.tid = (uint32_t)number();
	v.comm.comm = strtok(NULL, "\n");
	perf_build_view(b, PERF_RECORD_COMM, 0, &v, &(struct perf_sample_id){.id = 1});
}

static void add_map(struct perf_build *b)
{
	union perf_view v = {
		.mmap = {.is_mmap2 = true, .prot = 5}
        };
	struct stat st;

	v.mmap.pid = v.mmap.tid = (uint32_t)number();
	v.mmap.start = number();
	v.mmap.len = number();
	v.mmap.pgoff = number();
	v.mmap.filename = strtok(NULL, "\n");
	if (!has_no_inodes && !stat(v.mmap.filename, &st)) {
		v.mmap.maj = major(st.st_dev);
		v.mmap.min = minor(st.st_dev);
		v.mmap.ino = st.st_ino;
	}
	perf_build_view(b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, &v,
			&(struct perf_sample_id){.id = 1});
}

/* The numbers up to the next word. @return how many; *word: what follows. */
static uint32_t numbers(uint64_t *ret, const char **word)
{
	uint32_t nr = 0;
	char *end;

	for (; (*word = strtok(NULL, " \n")) && nr < MAX_WORDS; nr++) {
		ret[nr] = strtoull(*word, &end, 16);
		if (*end)
			break;
	}
	return nr;
}

static void add_sample(struct perf_build *b)
{
	static uint64_t chain[MAX_WORDS], branches[MAX_WORDS];
	uint32_t event = (uint32_t)number(), nr;
	struct perf_sample s = {.misc = PERF_RECORD_MISC_USER, .id = event + 1};
	const char *word;

	s.pid = s.tid = (uint32_t)number();
	s.ip = number();
	s.time = number();
	s.period = number();
	word = strtok(NULL, " \n");
	if (word && !strcmp(word, "chain")) {
		chain[0] = (uint64_t)-512; /* PERF_CONTEXT_USER */
		nr = numbers(chain + 1, &word) + 1;
		s.callchain = (struct perf_words){(const uint8_t *)chain, nr, false};
	}
	if (word && !strcmp(word, "branches")) {
		nr = numbers(branches, &word) / 3;
		s.branches.nr = nr;
		s.branches.words = (struct perf_words){(const uint8_t *)branches, nr * 3, false};
	}
	perf_build_sample(b, event, &s);
}

int main(int argc, char **argv)
{
	struct perf_build b = {.opts.attr_bytes = 128}; /* what perf 6.1 reads */
	bool has_branches = false, is_said = false, is_unsaid = false;
	static char line[LINE_BYTES];
	struct bytes file;

	for (int i = 1; i < argc; i++) {
		b.opts.pipe |= !strcmp(argv[i], "--pipe");
		has_no_inodes |= !strcmp(argv[i], "--no-inodes");
		b.opts.big |= !strcmp(argv[i], "--big");
		b.opts.is_version1 |= !strcmp(argv[i], "--version1");
		b.opts.has_32bit_words |= !strcmp(argv[i], "--words32");
		if (!strncmp(argv[i], "--attr-bytes=", 13))
			b.opts.attr_bytes = (uint32_t)strtoul(argv[i] + 13, NULL, 10);
		is_said |= !strcmp(argv[i], "--feature");
		is_unsaid |= !strcmp(argv[i], "--no-feature");
	}
	while (fgets(line, sizeof(line), stdin)) {
		const char *word = strtok(line, " \n");

		if (word && !strcmp(word, "event"))
			add_event(&b, &has_branches);
		else if (word && !strcmp(word, "comm"))
			add_comm(&b);
		else if (word && !strcmp(word, "map"))
			add_map(&b);
		else if (word && !strcmp(word, "round"))
			perf_build_round(&b);
		else if (word && !strcmp(word, "sample"))
			add_sample(&b);
	}
	if (!b.opts.pipe)
		perf_build_event_desc(&b);
	if (b.opts.is_version1 && !b.opts.pipe)
		perf_build_feature_string(&b, PERF_FEAT_HOSTNAME, "box");
	if (is_said || (has_branches && !is_unsaid))
		perf_build_feature(&b, PERF_FEAT_BRANCH_STACK, (struct bytes){0});
	file = perf_build_finish(&b);
	fwrite(file.pos, 1, bytes_left(&file), stdout);
	perf_build_done(&b);
	return ferror(stdout) != 0;
}
