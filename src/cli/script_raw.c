/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/script_raw.h"

#include "cli/common/message.h"
#include "cli/common/pager.h"
#include "cli/common/progress.h"
#include "format/script/script_dump.h"
#include "format/trace/spe_dump.h"
#include "trace/perf/units_spe_meta.h"

enum { DUMP_BYTES = 256 * 1024 };

struct dumped_spe {
	bool is_spe; /* what AUXTRACE holds */
	struct spe_meta meta;
};

/** The packets of SPE, as perf prints them after the record. */
static void dump_trace(struct buf *out, const struct perf_record *r, struct dumped_spe *d)
{
	struct perf_auxtrace_info info;
	struct perf_auxtrace aux;
	const struct spe_cpu *cpu;

	if (r->type == PERF_RECORD_AUXTRACE_INFO && !perf_auxtrace_info_parse(r, &info)) {
		d->is_spe = info.type == PERF_AUXTRACE_ARM_SPE;
		if (d->is_spe)
			spe_meta_take_info(&d->meta, r, &info, NULL); /* damaged: no cores */
	}
	if (!d->is_spe || r->type != PERF_RECORD_AUXTRACE || perf_auxtrace_parse(r, &aux))
		return;
	cpu = spe_meta_cpu(&d->meta, aux.cpu);
	spe_dump(out, r->payload.pos, bytes_left(&r->payload), aux.offset,
		 spe_core_of(cpu ? cpu->midr : 0));
}

static enum clew_err dump_records(struct perf_file *f, const struct clew_sink *sink,
				  struct clew_diag *diag)
{
	struct perf_record r;
	struct buf out = {0};
	enum clew_err err;
	struct dumped_spe spe = {0};

	while ((err = perf_file_next(f, &r, diag)) == CLEW_OK) {
		script_dump_record(&out, &r, perf_file_evlist(f));
		dump_trace(&out, &r, &spe);
		if (out.nr < DUMP_BYTES)
			continue;
		cli_progress_at(r.offset);
		err = sink->write(sink->ctx, out.data, out.nr);
		buf_clear(&out);
		if (err != CLEW_OK)
			break;
	}
	if (out.nr && err != CLEW_STOPPED)
		sink->write(sink->ctx, out.data, out.nr);
	vec_done(&spe.meta.cpus);
	buf_done(&out);
	return err;
}

int script_raw_dump(struct cli_input *in)
{
	struct clew_diag sink_diag = {0};
	struct clew_sink sink = cli_stdout_sink(&sink_diag);
	struct clew_diag diag = {0};
	struct perf_file *f;
	enum clew_err err = perf_file_open(&f, &in->input, &diag);

	if (err == CLEW_OK) {
		cli_progress_begin("reading", in->input.size);
		cli_pager_start();
		err = dump_records(f, &sink, &diag);
		cli_pager_done();
		perf_file_free(f);
	}
	if (sink_diag.code != CLEW_OK)
		return cli_fail("standard output", &sink_diag);
	if (err == CLEW_TRUNCATED)
		cli_warn("%s: cut off at offset 0x%llx: everything before was printed", in->path,
			 (unsigned long long)diag.offset);
	return err == CLEW_END || err == CLEW_STOPPED || err == CLEW_TRUNCATED
		     ? CLI_OK
		     : cli_input_fail(in, &diag);
}
