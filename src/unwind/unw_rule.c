/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/unw_rule.h"

#include <stddef.h>

static const char *const stop_names[NR_UNW_STOPS] = {
	[UNW_STOP_NONE] = "none",
	[UNW_STOP_OUTERMOST] = "outermost",
	[UNW_STOP_NO_INFO] = "no-info",
	[UNW_STOP_NO_TABLE_YET] = "no-table-yet",
	[UNW_STOP_NO_MAPPING] = "no-mapping",
	[UNW_STOP_UNREPRESENTABLE] = "unrepresentable",
	[UNW_STOP_REGISTER] = "register-unknown",
	[UNW_STOP_BAD_CFA] = "bad-cfa",
	[UNW_STOP_BAD_RA] = "bad-ra",
	[UNW_STOP_UNREADABLE] = "stack-unreadable",
	[UNW_STOP_TRUNCATED] = "stack-truncated",
	[UNW_STOP_LOOP] = "loop",
	[UNW_STOP_MAX_DEPTH] = "max-depth",
	[UNW_STOP_EXITING] = "exiting",
	[UNW_STOP_UNSUPPORTED] = "unsupported-registers",
	[UNW_STOP_MAPS_BUSY] = "mappings-busy",
};

static const char *const origin_names[] = {
	[UNW_NO_ORIGIN] = "",
	[UNW_SFRAME] = "sframe",
	[UNW_EH_FRAME] = "eh_frame",
	[UNW_DEBUG_FRAME] = "debug_frame",
	[UNW_FP] = "fp",
	[UNW_TRAMPOLINE] = "sigreturn",
};

static const char *const why_names[] = {
	[UNW_WHY_GAP] = "no source covers it",
	[UNW_WHY_EXPRESSION] = "expression",
	[UNW_WHY_REGISTER] = "register form",
	[UNW_WHY_OPCODE] = "unknown instruction",
	[UNW_WHY_BAD] = "damaged",
	[UNW_WHY_OVERFLOW] = "too many rules",
	[UNW_WHY_EH_RETURN] = "entering an exception handler",
};

const char *unw_stop_name(enum unw_stop s)
{
	return (size_t)s < NR_UNW_STOPS ? stop_names[s] : "unknown";
}

const char *unw_origin_name(enum unw_origin o)
{
	return (size_t)o < sizeof(origin_names) / sizeof(*origin_names) ? origin_names[o] : "";
}

const char *unw_why_name(enum unw_why w)
{
	return (size_t)w < sizeof(why_names) / sizeof(*why_names) ? why_names[w] : "unknown";
}
