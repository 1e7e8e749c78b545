/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "golden/pt_golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow/pt/ipt_flow.h"
#include "golden/pt_text.h"

static uint32_t space_of(void *ctx, const struct code_key *key)
{
	(void)ctx, (void)key;
	return GOLDEN_ANY_SPACE;
}

static bool is_traced(void *ctx, uint32_t space, uint64_t address)
{
	const struct pt_golden *g = ctx;

	(void)space;
	return address - g->filter_from < g->filter_to - g->filter_from;
}

/** "1000 64 75fe jne 1000"; "1000 64 90 x70000 nop": so many of them. */
static bool read_code(struct golden *g, const char *line)
{
	unsigned long long address;
	unsigned int mode, nr = 1;
	char hex[31], times[16];
	uint8_t b[15];
	size_t n;
	int read = sscanf(line, "%llx %u %30[0-9a-f] %15s", &address, &mode, hex, times);

	if (read < 3)
		return golden_wrong(g, "not \"address mode encoding assembly\"");
	if (read == 4 && *times == 'x' && strspn(times + 1, "0123456789") == strlen(times + 1))
		nr = (unsigned int)strtoul(times + 1, NULL, 10);
	n = strlen(hex) / 2;
	for (size_t i = 0; i < n; i++) {
		const char byte[3] = {hex[2 * i], hex[2 * i + 1]};

		b[i] = (uint8_t)strtoul(byte, NULL, 16);
	}
	for (unsigned int i = 0; i < nr; i++)
		if (!golden_add_insn(g, address + i * n, b, n))
			return false;
	return true;
}

static bool read_clock(struct ipt_timing *t, const char *line)
{
	unsigned int shift, ratio;

	if (sscanf(line, "clock %u/%u mtc %u ratio %u", &t->numerator, &t->denominator, &shift,
		   &ratio) != 4)
		return false;
	t->mtc_shift = (uint8_t)shift;
	t->max_ratio = (uint8_t)ratio;
	return true;
}

static bool read_filter(struct pt_golden *g, const char *line)
{
	unsigned long long from, to;

	if (sscanf(line, "filter %llx-%llx", &from, &to) != 2)
		return false;
	g->filter_from = from;
	g->filter_to = to;
	g->has_filter = true;
	return true;
}

static bool read_fact(struct golden *base, const char *line)
{
	struct pt_golden *g = pt_golden_of(base);
	static const char peer[] = "libipt-differs: ";

	if (strncmp(line, peer, strlen(peer)) == 0) {
		snprintf(g->peer, sizeof(g->peer), "%s", line + strlen(peer));
		return true;
	}
	if (sscanf(line, "cpu %u %x", &g->family, &g->model) == 2) {
		g->config.errata = ipt_errata_of(g->family, g->model);
		return true;
	}
	if (strcmp(line, "event-trace") == 0)
		return g->config.has_event_trace = true;
	if (strcmp(line, "no-tnt") == 0)
		return g->config.has_no_tnt = true;
	if (strcmp(line, "no-branches") == 0)
		return g->config.has_no_branches = true;
	return strcmp(line, "any") == 0 || read_clock(&g->config.timing, line) ||
	       read_filter(g, line) || golden_wrong(base, "an unknown fact");
}

static bool encode(struct golden *g, char *words)
{
	return pt_words_encode(&g->trace, &pt_golden_of(g)->words, words);
}

static struct flow *flow_of(struct golden *base, const struct golden_way *w, struct buf *out)
{
	struct pt_golden *g = pt_golden_of(base);
	struct ipt_flow_opts o = {.config = &g->config,
				  .flow.code = &g->code,
				  .flow.batch = out ? pt_text_batch : NULL,
				  .flow.ctx = out,
				  .flow.nr_threads = w->nr_threads,
				  .goes_plain = w->goes_plain,
				  .flow.part_bytes = 16};

	g->code = (struct code_source){.space = space_of,
				       .find = golden_find_code,
				       .is_traced = g->has_filter ? is_traced : NULL,
				       .ctx = g};
	return ipt_flow_new(&o);
}

const struct golden_unit pt_golden_unit = {.title = "[processor]",
					   .bytes = sizeof(struct pt_golden),
					   .taken = 'T',
					   .read_fact = read_fact,
					   .read_code = read_code,
					   .encode = encode,
					   .flow = flow_of};
