/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_PROFILE_AUTOFDO_TEXT_H
#define FORMAT_PROFILE_AUTOFDO_TEXT_H

#include "base/sink.h"
#include "profile/counted_code.h"

/*
 * AutoFDO's text profile of one binary, as create_llvm_prof and create_gcov read it with
 * --profiler=text, in simpleperf's spelling: three lists, each after its length,
 *
 *	FIRST-LAST:COUNT   runs of instructions, both ends inclusive
 *	ADDRESS:COUNT      samples
 *	FROM->TO:COUNT     taken branches; TO is 0 where it is in another binary, or unknown
 *
 * then build id and path as comments. There are two readings of an address.
 */
enum autofdo_base {
	AUTOFDO_OFFSET,  /* where it lies in the file: simpleperf, AutoFDO of today */
	AUTOFDO_SEGMENT, /* counted from the first loaded segment's linked address: AutoFDO 0.19 */
};

struct autofdo_opts {
	enum autofdo_base base;
	/* Include the targets of indirect branches, as a profile from branch records does;
	 * simpleperf writes 0. */
	bool has_indirect;
};

/** "offset", "segment". @return false: @p name is none. */
bool autofdo_find_base(const char *name, enum autofdo_base *ret);

/** Is any address of @p b another number in the other reading? Opens files: when nothing else uses
 * the dsos. */
bool autofdo_bases_differ(const struct counted_binary *b);

/** Opens files, too. @return the sink's error; CLEW_NO_MEMORY. */
enum clew_err autofdo_text(const struct counted_binary *b, const struct autofdo_opts *opts,
			   const struct clew_sink *sink);

#endif
