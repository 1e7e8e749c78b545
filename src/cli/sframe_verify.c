/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "cli/common/message.h"
#include "cli/sframe.h"
#include "elf/elf_sym.h"
#include "format/json_put.h"
#include "format/sframe_text.h"
#include "unwind/eh_frame.h"
#include "unwind/sframe_check.h"
#include "unwind/unw_list.h"

struct verify {
	const struct sframe_command *c;
	struct sym_table symbols;
	struct sframe s;
	struct buf line;
};

static const char *const verdict_names[NR_SFRAME_VERDICTS] = {
	[SFRAME_DIFFERS] = "differs",
	[SFRAME_LOST_MARK] = "lost mark",
	[SFRAME_DROPPED] = "dropped",
	[SFRAME_EXTRA] = "only in .sframe",
};

static void add_name(struct verify *v, uint64_t rel)
{
	const struct sym *s = sym_table_find(&v->symbols, rel);

	if (!s)
		return;
	escape_printf(&v->line, " %s", sym_name(&v->symbols, s));
	if (rel != s->start)
		buf_printf(&v->line, "+0x%llx", (unsigned long long)(rel - s->start));
}

static void put_rule_json(struct verify *v, struct json_put *j, const char *key,
			  const struct unw_rule *rule)
{
	clew_auto(buf_done) struct buf text = {0};

	sframe_text_rule(&text, v->c->image.arch, rule);
	json_put_string(j, key, buf_cstr(&text));
}

/* @p start: as linked. */
static void put_finding_json(struct verify *v, const struct sframe_finding *f, uint64_t start)
{
	const struct sym *s = sym_table_find(&v->symbols, f->start);
	struct json_put j = {.out = &v->line};

	json_open(&j, '{');
	json_put_string(&j, "verdict", verdict_names[f->verdict]);
	json_put_hex(&j, "start", start);
	json_put_hex(&j, "end", start + f->end - f->start);
	if (s)
		json_put_string(&j, "function", sym_name(&v->symbols, s));
	if (f->verdict != SFRAME_DROPPED) {
		put_rule_json(v, &j, "sframe", f->sframe);
		put_rule_json(v, &j, "eh_frame", f->eh_frame);
	}
	json_close(&j, '}');
}

static void put_finding(struct verify *v, const struct sframe_finding *f, uint64_t start)
{
	buf_printf(&v->line, "%s: 0x%llx-0x%llx", verdict_names[f->verdict],
		   (unsigned long long)start, (unsigned long long)(start + f->end - f->start));
	add_name(v, f->start);
	if (f->verdict != SFRAME_DROPPED) {
		buf_str(&v->line, ": .sframe ");
		sframe_text_rule(&v->line, v->c->image.arch, f->sframe);
		buf_str(&v->line, ", .eh_frame ");
		sframe_text_rule(&v->line, v->c->image.arch, f->eh_frame);
	}
}

static void report_finding(void *ctx, const struct sframe_finding *f)
{
	struct verify *v = ctx;
	uint64_t start = f->start;

	if (v->c->is_quiet)
		return;
	unw_image_vaddr(&v->c->image, f->start, &start);
	buf_clear(&v->line);
	(v->c->is_json ? put_finding_json : put_finding)(v, f, start);
	puts(buf_cstr(&v->line));
}

static void print_totals_json(const struct verify *v, const struct sframe_verdicts *n,
			      const struct sframe_counts *s)
{
	clew_auto(buf_done) struct buf out = {0};
	struct json_put j = {.out = &out};

	json_open(&j, '{');
	json_put_string(&j, "file", v->c->path);
	json_put_u64(&j, "version", v->s.version);
	json_put_u64(&j, "functions", s->nr_functions);
	json_put_u64(&j, "rows", s->nr_rows);
	json_put_u64(&j, "damaged_functions", s->nr_bad);
	json_put_u64(&j, "compared", n->nr_compared);
	json_put_u64(&j, "compared_bytes", n->compared_bytes);
	json_key(&j, "verdicts");
	json_open(&j, '[');
	for (int i = 0; i < NR_SFRAME_VERDICTS; i++) {
		json_open(&j, '{');
		json_put_string(&j, "verdict", verdict_names[i]);
		json_put_u64(&j, "nr", n->nr[i]);
		json_put_u64(&j, "bytes", n->bytes[i]);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	cli_put(stdout, "%s\n", buf_cstr(&out));
}

static void print_totals_text(const struct verify *v, const struct sframe_verdicts *n,
			      const struct sframe_counts *s)
{
	cli_put(stdout,
		"%s: version %u, %llu functions, %llu rows; compared %llu stretches, %llu bytes\n",
		v->c->path, v->s.version, (unsigned long long)s->nr_functions,
		(unsigned long long)s->nr_rows, (unsigned long long)n->nr_compared,
		(unsigned long long)n->compared_bytes);
	for (int i = 0; i < NR_SFRAME_VERDICTS; i++)
		printf("  %-15s  %llu (%llu bytes)\n", verdict_names[i],
		       (unsigned long long)n->nr[i], (unsigned long long)n->bytes[i]);
}

static void print_totals(const struct verify *v, const struct sframe_verdicts *n,
			 const struct sframe_counts *s)
{
	(v->c->is_json ? print_totals_json : print_totals_text)(v, n, s);
	if (s->nr_equal)
		cli_warn("%s: %llu rows start where the row before does", v->c->path,
			 (unsigned long long)s->nr_equal);
	if (s->nr_out_of_order)
		cli_warn("%s: %llu functions out of order, though the section says it is sorted",
			 v->c->path, (unsigned long long)s->nr_out_of_order);
	if (s->nr_overlaps)
		cli_warn("%s: %llu functions overlap the one before", v->c->path,
			 (unsigned long long)s->nr_overlaps);
	if (!s->nr_bad && s->nr_rows != v->s.nr_rows)
		cli_warn("%s: the header counts %u rows, there are %llu", v->c->path, v->s.nr_rows,
			 (unsigned long long)s->nr_rows);
}

static enum clew_err compare(struct verify *v, struct unw_list *sframe, struct unw_list *eh,
			     struct sframe_verdicts *ret, struct clew_diag *diag)
{
	struct eh_frame_counts counts = {0};
	enum clew_err err;

	*diag = (struct clew_diag){.code = CLEW_NO_MEMORY};
	if (!sframe || !eh)
		return CLEW_NO_MEMORY;
	err = sframe_rows(&v->c->image, sframe, diag);
	if (err)
		return err;
	eh->is_without_rbx = true;
	err = eh_frame_rows(&v->c->image, false, eh, &counts);
	if (!err)
		err = sframe_check(sframe, eh, v->s.version, report_finding, v, ret);
	diag->code = err;
	return err;
}

static int verify(struct verify *v)
{
	struct unw_list *sframe = unw_list_new(), *eh = unw_list_new();
	struct sframe_verdicts verdicts = {0};
	struct sframe_counts counts = {0};
	struct clew_diag diag;
	enum clew_err err = compare(v, sframe, eh, &verdicts, &diag);

	unw_list_free(sframe);
	unw_list_free(eh);
	if (err)
		return cli_fail(v->c->path, &diag);
	sframe_count(&v->s, &counts);
	print_totals(v, &verdicts, &counts);
	if (counts.nr_bad) {
		cli_fail(v->c->path, &counts.first_bad);
		cli_error("%s: %llu damaged functions", v->c->path,
			  (unsigned long long)counts.nr_bad);
	}
	return counts.nr_bad || verdicts.nr[SFRAME_DIFFERS] ? CLI_FAILED : CLI_OK;
}

int sframe_command_check(struct sframe_command *c)
{
	struct verify v = {.c = c};
	struct clew_diag diag = {0};
	int status;

	if (!c->image.sframe.bytes || !c->image.eh_frame.bytes) {
		cli_error("%s: no section %s", c->path,
			  c->image.sframe.bytes ? ".eh_frame to compare with" : ".sframe");
		return CLI_FAILED;
	}
	if (sframe_open(&v.s, &c->image.sframe, &diag))
		return cli_fail(c->path, &diag);
	sym_table_init(&v.symbols, NULL, 0);
	/* Without symbols there are addresses. */
	if (elf_sym_collect(&v.symbols, &c->elf, &c->elf, ELF_SYM_OFFSETS, NULL) ||
	    !sym_table_finish(&v.symbols, SYM_FILL_ELF)) {
		sym_table_done(&v.symbols);
		sym_table_init(&v.symbols, NULL, 0);
		sym_table_finish(&v.symbols, SYM_FILL_ELF);
	}
	status = verify(&v);
	sym_table_done(&v.symbols);
	buf_done(&v.line);
	return status;
}
