/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "cli/common/message.h"
#include "cli/common/pager.h"
#include "cli/trace/etm_input.h"
#include "cli/trace/trace_commands.h"
#include "format/sink_flush.h"
#include "format/trace/cs_frame_text.h"
#include "format/trace/etm_dump.h"
#include "format/trace/ipt_dump.h"
#include "format/trace/spe_units_dump.h"
#include "format/trace/units_dump.h"
#include "format/windows_text.h"
#include "packet/etm/etm_packet.h"
#include "packet/pt/ipt_packet.h"
#include "packet/spe/spe_packet.h"
#include "trace/pt_decoder.h"
#include "trace/spe_decoder.h"

struct dump_command {
	struct cli_etm etm;
	const char *kinds;
	bool is_json, is_stat, is_frames;
	bool is_kind[NR_ETM_KINDS], is_spe_kind[NR_SPE_KINDS], is_pt_kind[NR_IPT_KINDS];
};

static enum clew_err note_warning(void *ctx, const char *what, uint64_t number, uint64_t offset)
{
	struct dump_command *c = ctx;

	return cli_etm_note_warning(&c->etm.warnings, what, number, offset);
}

static int choose_kinds(struct dump_command *c)
{
	const struct dump_kinds sets[] = {
		{etm_dump_kind, NR_ETM_KINDS, c->is_kind    },
		{spe_dump_kind, NR_SPE_KINDS, c->is_spe_kind},
		{ipt_dump_kind, NR_IPT_KINDS, c->is_pt_kind },
	};
	const char *bad = c->kinds ? units_dump_kinds(c->kinds, sets, 3) : NULL;

	if (!bad)
		return CLI_OK;
	cli_error("--kind: there is no packet '%.*s'", (int)strcspn(bad, ","), bad);
	cli_hint("names are as in the output, in full or in part: ATOM, I_ADDR_S_IS0, "
		 "of SPE EV, TS, of Intel PT TIP, MODE; 'man clew-dump' lists them");
	return CLI_USAGE;
}

/** Else the trace may be CoreSight's, and have frames of units that nothing describes. */
static bool is_of_others(const struct trace_input *t)
{
	for (size_t i = 0; i < t->nr_units; i++) {
		if (!spe_config_of(&t->units[i]) && !pt_config_of(&t->units[i]))
			return false;
	}
	return t->nr_units;
}

/* Of what each unit's packets are, where they come from snapshots. */
static enum clew_err print_windows(const struct dump_command *c, const struct clew_sink *sink)
{
	struct buf out = {0};
	enum clew_err err;

	windows_put(&out, trace_input_windows(c->etm.trace), c->is_json);
	err = sink_flush(sink, &out, 0);
	buf_done(&out);
	return err;
}

static enum clew_err print_packets(struct dump_command *c, const struct clew_sink *sink,
				   struct clew_diag *diag)
{
	struct units_dump_opts opts = {
		.is_json = c->is_json,
		.is_stat = c->is_stat,
		.skips = c->etm.skips,
		.kinds = c->kinds ? c->is_spe_kind : NULL,
		.listener = {note_warning, c}
        };
	bool is_any;
	enum clew_err err = spe_units_dump(c->etm.trace, &opts, sink, diag, &is_any);

	opts.kinds = c->kinds ? c->is_pt_kind : NULL;
	if (!err)
		err = ipt_dump(c->etm.trace, &opts, sink, diag, &is_any);
	opts.kinds = c->kinds ? c->is_kind : NULL;
	if (!err && !is_of_others(c->etm.trace))
		err = etm_dump(c->etm.trace, &opts, sink, diag, &is_any);
	return err || c->kinds ? err : print_windows(c, sink);
}

static enum clew_err print_frames(const struct dump_command *c, const struct clew_sink *sink,
				  struct clew_diag *diag)
{
	const struct cs_frame_text_opts frames = {.is_json = c->is_json, .skips = c->etm.skips};
	bool is_any;
	enum clew_err err = cs_frame_text(c->etm.trace, &frames, sink, diag, &is_any);

	if (!err && !is_any)
		cli_note("%s: no trace of it is in frames", c->etm.in.path);
	return err;
}

static int dump(struct dump_command *c)
{
	struct clew_diag diag = {0}, sink_diag = {0};
	struct clew_sink sink = cli_stdout_sink(&sink_diag);
	enum clew_err err;

	cli_pager_start();
	err = c->is_frames ? print_frames(c, &sink, &diag) : print_packets(c, &sink, &diag);
	cli_pager_done();
	return cli_etm_finish(&c->etm, err, &diag, &sink_diag, true);
}

static int run(struct dump_command *c)
{
	int status = choose_kinds(c);

	if (status == CLI_OK)
		status = cli_etm_begin(&c->etm);
	if (status == CLI_OK)
		status = dump(c);
	cli_etm_done(&c->etm);
	return status;
}

int cmd_dump(int argc, char **argv)
{
	struct dump_command c = {.etm.takes_raw_pt = true};
	/* clang-format off */
	const struct cli_option options[] = {
		{'i', "input", "FILE", "recording, or directory of an OpenCSD snapshot (default: perf.data)",
		 CLI_STRING, &c.etm.in.path},
		{'f', "force", NULL, NULL, CLI_FLAG, &c.etm.in.is_forced},
		{0, "stat", NULL, "count the packets of each kind only", CLI_FLAG, &c.is_stat},
		{0, "frames", NULL, "the frames of the trace formatter instead of packets", CLI_FLAG,
		 &c.is_frames},
		{0, "json", NULL, "JSON, one object per line", CLI_FLAG, &c.is_json},
		{0, "id", "IDS", "only these trace IDs, in hex (comma list)", CLI_STRING, &c.etm.ids},
		{'C', "cpu", "CPUS", "only the trace units of these CPUs, such as 0-2,5",
		 CLI_STRING, &c.etm.in.opts.filter.cpus},
		{0, "kind", "NAMES", "only these packets (comma list), by name or the start of "
				     "it, such as ATOM,ADDR_S", CLI_STRING, &c.kinds},
		CLI_MAX_MEMORY_OPTION(&c.etm.in),
		CLI_ETM_RAW_OPTIONS(c.etm.raw),
		{0},
	};
	/* clang-format on */
	const struct cli_command command = {
		.name = "dump",
		.usage =
			"[-i FILE|DIR] [--stat | --frames] [--json] [--id=IDS] [--cpu=CPUS] [--kind=NAMES]",
		.summary = "Print the packets of a hardware trace (CoreSight ETMv4, ETE, Arm "
			   "SPE, Intel PT), with their offsets.",
		.options = options,
		.examples = "  clew dump -i snapshot/ --id=10 --kind=EXCEPT,ADDR\n"
			    "  clew dump -i perf.data --cpu=3 --kind=PSB,TSC,OVF\n",
	};
	int first = cli_parse(&command, argc, argv);

	if (first < 0)
		return -1 - first;
	if (first < argc) {
		cli_error("dump takes no argument '%s'", argv[first]);
		cli_hint("name the trace with -i %s", argv[first]);
		return CLI_USAGE;
	}
	if (c.is_frames && (c.is_stat || c.kinds)) {
		cli_error("--frames and --%s exclude each other", c.is_stat ? "stat" : "kind");
		return CLI_USAGE;
	}
	return run(&c);
}
