/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_SCRIPT_SCRIPT_SYNTH_H
#define FORMAT_SCRIPT_SCRIPT_SYNTH_H

#include "analyze/analyze.h"
#include "base/buf.h"

/* What only events made of a hardware trace have, as perf 6.1 prints it. All append to @p b. */

/** "call", "tr end  return", ... With @p is_exact a jump through a register is a jump; to perf it
 * is a return. */
void script_flow_name(struct buf *b, uint32_t flow, bool is_exact);

/** The flags column: "  call                   "; NULL: empty. */
void script_add_flow(struct buf *b, const struct ana_synth *synth);

/** " \t IPC: 1.50 (3/2) "; nothing where cycles were not counted. */
void script_add_ipc(struct buf *b, const struct ana_synth *synth);

/** " [paused]": it ran outside of every interval of tracing. */
void script_add_paused(struct buf *b, const struct ana_synth *synth);

/** " instruction trace error type 1 time 0 cpu 0 pid 1 tid 1 ip 0 code 7: Overflow packet\n". */
void script_add_trace_error(struct buf *b, const struct ana_event *ev);

#endif
