/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/script_raw.h"

#include "cli/common/message.h"
#include "cli/common/pager.h"
#include "cli/common/progress.h"
#include "format/script/script_dump.h"
#include "format/sink_flush.h"
#include "format/trace/spe_dump.h"
#include "trace/perf/units_spe_meta.h"

enum { DUMP_BYTES = 256 * 1024, DUMP_LINES = 1024 };

struct dumped_spe {
	bool is_spe; /* what AUXTRACE holds */
	struct spe_meta meta;
};

/* Text is ten times as large as its trace, so it goes out piece by piece. */
static enum clew_err dump_packets(struct buf *out, const struct clew_sink *sink, struct bytes in,
				  uint64_t offset, enum spe_core core)
{
	enum clew_err err = CLEW_OK;
	size_t at = 0;

	spe_dump_head(out, bytes_left(&in));
	while (err == CLEW_OK &&
	       spe_dump_lines(out, in.pos, bytes_left(&in), offset, core, &at, DUMP_LINES))
		err = sink_flush(sink, out, DUMP_BYTES);
	return err;
}

/** The packets of SPE, as perf prints them after the record. */
static enum clew_err dump_trace(struct buf *out, const struct clew_sink *sink,
				const struct perf_record *r, struct dumped_spe *d)
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
		return CLEW_OK;
	cpu = spe_meta_cpu(&d->meta, aux.cpu);
	return dump_packets(out, sink, r->payload, aux.offset, spe_core_of(cpu ? cpu->midr : 0));
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
		err = dump_trace(&out, sink, &r, &spe);
		if (err == CLEW_OK)
			err = sink_flush(sink, &out, DUMP_BYTES);
		if (err != CLEW_OK)
			break;
		cli_progress_at(r.offset);
	}
	if (err != CLEW_STOPPED)
		sink_flush(sink, &out, 0);
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
