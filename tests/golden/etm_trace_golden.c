/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow/etm/etm_flow.h"
#include "golden/etm_words.h"
#include "golden/trace_golden.h"
#include "prop/etm_log.h"

/* Usage: etm_trace_golden DIR (format: etm/README.md) */

struct etm_golden {
	struct golden golden;
	struct etm_regs regs;
	struct etm_config config;
	bool has_config, is_m_profile;
	struct code_source code;
	struct etm_log log;
};

static struct etm_golden *of(struct golden *g)
{
	return (struct etm_golden *)g; /* its first member */
}

static uint32_t space_of(void *ctx, const struct code_key *key)
{
	const struct golden *g = ctx;

	vec_for_each (&g->runs, r) {
		if (r->space != GOLDEN_ANY_SPACE && key->context.arm.has_cid &&
		    r->space == key->context.arm.cid)
			return r->space;
	}
	return GOLDEN_ANY_SPACE;
}

/** "10000 a64 d503201f nop", or "cid 5": what follows is seen there only. */
static bool read_code(struct golden *g, const char *line)
{
	unsigned long long address;
	unsigned int cid;
	char isa[4], hex[9];
	uint8_t b[4];
	uint32_t word;

	if (sscanf(line, "cid %x", &cid) == 1) {
		g->space = cid;
		return true;
	}
	if (sscanf(line, "%llx %3s %8[0-9a-f]", &address, isa, hex) != 3)
		return golden_wrong(g, "not \"address set encoding assembly\"");
	word = (uint32_t)strtoul(hex, NULL, 16);
	for (int i = 0; i < 4; i++)
		b[i] = (uint8_t)(word >> 8 * i);
	if (strcmp(isa, "t32") != 0)
		return golden_add_insn(g, address, b, 4);
	if (strlen(hex) == 4)
		return golden_add_insn(g, address, b, 2);
	return golden_add_insn(g, address, (uint8_t[]){b[2], b[3], b[0], b[1]}, 4);
}

static bool read_register(struct golden *base, const char *line)
{
	struct etm_golden *g = of(base);
	struct {
		const char *name;
		uint32_t *to;
	} regs[] = {
		{"TRCIDR0",     &g->regs.idr0    },
                {"TRCIDR1",     &g->regs.idr1    },
		{"TRCIDR2",     &g->regs.idr2    },
                {"TRCIDR8",     &g->regs.idr8    },
		{"TRCDEVARCH",  &g->regs.devarch },
                {"TRCCONFIGR",  &g->regs.configr },
		{"TRCTRACEIDR", &g->regs.traceidr},
	};
	char name[32];
	unsigned int v;
	int nr = sscanf(line, "%31s %x", name, &v);

	if (nr == 1 && strcmp(name, "ete") == 0)
		g->regs.is_ete = true;
	else if (nr == 1 && strcmp(name, "m-profile") == 0)
		g->is_m_profile = true;
	else if (nr == 1 && strcmp(name, "etmv4") != 0)
		return golden_wrong(base, "an unknown word");
	for (size_t i = 0; nr == 2 && i < sizeof(regs) / sizeof(regs[0]); i++) {
		if (strcmp(regs[i].name, name) == 0) {
			*regs[i].to = v;
			return true;
		}
	}
	return nr == 1 || golden_wrong(base, "an unknown register");
}

static bool encode(struct golden *base, char *words)
{
	struct etm_golden *g = of(base);

	if (!g->has_config) {
		if (etm_config_init(&g->config, &g->regs, NULL) != CLEW_OK)
			return golden_wrong(base, "a trace unit that is not decoded");
		g->config.is_m_profile = g->is_m_profile;
		g->has_config = true;
	}
	return etm_words_encode(&base->trace, &g->config, words);
}

static bool add_entry(void *ctx, const struct etm_log_entry *e)
{
	buf_printf(ctx, "%s\n", etm_log_text(e));
	return true;
}

static struct flow *flow_of(struct golden *base, const struct golden_way *w, struct buf *out)
{
	struct etm_golden *g = of(base);
	struct etm_flow_opts o = {.config = &g->config,
				  .flow.code = &g->code,
				  .flow.batch = out ? etm_log_batch : NULL,
				  .flow.ctx = &g->log,
				  .flow.nr_threads = w->nr_threads,
				  .goes_plain = w->goes_plain,
				  .flow.part_bytes = 16};

	g->code = (struct code_source){.space = space_of, .find = golden_find_code, .ctx = g};
	g->log = (struct etm_log){
		.code = &g->code, .entry = add_entry, .ctx = out, .by_block = true};
	return etm_flow_new(&o);
}

static const struct golden_unit unit = {.title = "[registers]",
					.bytes = sizeof(struct etm_golden),
					.taken = 'E',
					.read_fact = read_register,
					.read_code = read_code,
					.encode = encode,
					.flow = flow_of};

int main(int argc, char **argv)
{
	return golden_check_all(&unit, argc == 2 ? argv[1] : "");
}
