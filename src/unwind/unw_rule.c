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
	[UNW_STOP_FP_END] = "fp-end",
	[UNW_STOP_URETPROBE] = "uretprobe",
	[UNW_STOP_LATE] = "late",
	[UNW_STOP_TRACE_BEGIN] = "trace-begin",
	[UNW_STOP_TRACE_LOST] = "trace-lost",
	[UNW_STOP_TRACE_ELSEWHERE] = "trace-elsewhere",
	[UNW_STOP_TRACE_JUMP] = "trace-jump",
	[UNW_STOP_TRACE_SWITCH] = "trace-switch",
};

static const char *const origin_names[] = {
	[UNW_NO_ORIGIN] = "",
	[UNW_SFRAME] = "sframe",
	[UNW_EH_FRAME] = "eh_frame",
	[UNW_DEBUG_FRAME] = "debug_frame",
	[UNW_FP] = "fp-convention",
	[UNW_TRAMPOLINE] = "sigreturn",
	[UNW_FP_PROLOGUE] = "fp-prologue",
	[UNW_DERIVED] = "derived",
};

static const uint8_t hows[] = {
	[UNW_NO_ORIGIN] = UNW_HOW_NONE,          [UNW_SFRAME] = UNW_HOW_TABLE,
	[UNW_EH_FRAME] = UNW_HOW_TABLE,          [UNW_DEBUG_FRAME] = UNW_HOW_TABLE,
	[UNW_FP] = UNW_HOW_FP_CONVENTION,        [UNW_TRAMPOLINE] = UNW_HOW_SIGNAL,
	[UNW_FP_PROLOGUE] = UNW_HOW_FP_PROLOGUE, [UNW_DERIVED] = UNW_HOW_DERIVED,
};

static const char *const how_names[NR_UNW_HOWS] = {
	[UNW_HOW_NONE] = "",           [UNW_HOW_TABLE] = "table",
	[UNW_HOW_SIGNAL] = "signal",   [UNW_HOW_FP_PROLOGUE] = "fp-prologue",
	[UNW_HOW_DERIVED] = "derived", [UNW_HOW_FP_CONVENTION] = "fp-convention",
};

static const char *const why_names[] = {
	[UNW_WHY_GAP] = "no source covers it",
	[UNW_WHY_EXPRESSION] = "expression",
	[UNW_WHY_REGISTER] = "register form",
	[UNW_WHY_OPCODE] = "unknown instruction",
	[UNW_WHY_BAD] = "damaged",
	[UNW_WHY_OVERFLOW] = "too many rules",
	[UNW_WHY_EH_RETURN] = "entering an exception handler",
	[UNW_WHY_NEW_STACK] = "on another stack",
};

const char *unw_stop_name(enum unw_stop s)
{
	return (size_t)s < NR_UNW_STOPS ? stop_names[s] : "unknown";
}

const char *unw_origin_name(enum unw_origin o)
{
	return (size_t)o < sizeof(origin_names) / sizeof(*origin_names) ? origin_names[o] : "";
}

enum unw_how unw_how_of(enum unw_origin o)
{
	return (size_t)o < sizeof(hows) / sizeof(*hows) ? (enum unw_how)hows[o] : UNW_HOW_NONE;
}

const char *unw_how_name(enum unw_how h)
{
	return (size_t)h < NR_UNW_HOWS ? how_names[h] : "";
}

const char *unw_why_name(enum unw_why w)
{
	return (size_t)w < sizeof(why_names) / sizeof(*why_names) ? why_names[w] : "unknown";
}
