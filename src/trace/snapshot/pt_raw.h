/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_SNAPSHOT_PT_RAW_H
#define TRACE_SNAPSHOT_PT_RAW_H

#include "trace/trace_input.h"

/** Intel PT without a recording. Texts are borrowed until the trace is freed. */
struct pt_raw_opts {
	const char *file; /* the bytes of one trace */
	/** Of the processor, NAME=NUMBER in a comma list: FAMILY, MODEL (errata); IA32_RTIT_CTL
	 * (MTC's frequency, event trace, what was not recorded); CPUID_15_EAX, CPUID_15_EBX (TSC to
	 * crystal clock); NOM_RATIO. NULL: nothing is known. */
	const char *registers;
	const char *memory; /* the code that ran, FILE@ADDRESS in a comma list; NULL: none */
};

/** @return CLEW_OS, CLEW_UNSUPPORTED (not a regular file), CLEW_INVALID: registers or memory cannot
 * be read; CLEW_NO_MEMORY. */
enum clew_err pt_raw_open(struct trace_input **ret, const struct pt_raw_opts *opts,
			  struct clew_diag *diag);

#endif
