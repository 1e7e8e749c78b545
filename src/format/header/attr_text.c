/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/header/attr_text.h"

struct bit_name {
	uint64_t bit;
	const char *name;
};

/* In the order in which perf prints them, which is not that of the bits. */
#define BIT(name)           \
 {                          \
  PERF_SAMPLE_##name, #name \
 }
static const struct bit_name sample_types[] = {
	BIT(IP),
	BIT(TID),
	BIT(TIME),
	BIT(ADDR),
	BIT(READ),
	BIT(CALLCHAIN),
	BIT(ID),
	BIT(CPU),
	BIT(PERIOD),
	BIT(STREAM_ID),
	BIT(RAW),
	BIT(BRANCH_STACK),
	BIT(REGS_USER),
	BIT(STACK_USER),
	BIT(IDENTIFIER),
	BIT(REGS_INTR),
	BIT(DATA_SRC),
	BIT(WEIGHT),
	BIT(PHYS_ADDR),
	BIT(AUX),
	BIT(CGROUP),
	BIT(DATA_PAGE_SIZE),
	BIT(CODE_PAGE_SIZE),
	BIT(WEIGHT_STRUCT),
	BIT(TRANSACTION),
	{0},
};
#undef BIT

#define BIT(name)                  \
 {                                 \
  PERF_SAMPLE_BRANCH_##name, #name \
 }
static const struct bit_name branch_types[] = {
	BIT(USER),      BIT(KERNEL),    BIT(HV),
	BIT(ANY),       BIT(ANY_CALL),  BIT(ANY_RETURN),
	BIT(IND_CALL),  BIT(ABORT_TX),  BIT(IN_TX),
	BIT(NO_TX),     BIT(COND),      BIT(CALL_STACK),
	BIT(IND_JUMP),  BIT(CALL),      BIT(NO_FLAGS),
	BIT(NO_CYCLES), BIT(TYPE_SAVE), BIT(HW_INDEX),
	BIT(PRIV_SAVE), BIT(COUNTERS),  {0},
};
#undef BIT

#define BIT(name)           \
 {                          \
  PERF_FORMAT_##name, #name \
 }
static const struct bit_name read_formats[] = {
	BIT(TOTAL_TIME_ENABLED), BIT(TOTAL_TIME_RUNNING), BIT(ID), BIT(GROUP), BIT(LOST), {0},
};
#undef BIT

static const struct bit_name flags_before_precise[] = {
	{PERF_ATTR_DISABLED,     "disabled"},
	{PERF_ATTR_INHERIT,                      "inherit"},
	{PERF_ATTR_PINNED,"pinned"},
	{PERF_ATTR_EXCLUSIVE,       "exclusive"},
	{PERF_ATTR_EXCLUDE_USER,                      "exclude_user"},
	{PERF_ATTR_EXCLUDE_KERNEL,     "exclude_kernel"},
	{PERF_ATTR_EXCLUDE_HV, "exclude_hv"},
	{PERF_ATTR_EXCLUDE_IDLE,                      "exclude_idle"},
	{PERF_ATTR_MMAP,  "mmap"},
	{PERF_ATTR_COMM,   "comm"},
	{PERF_ATTR_FREQ,                      "freq"},
	{PERF_ATTR_INHERIT_STAT,"inherit_stat"},
	{PERF_ATTR_ENABLE_ON_EXEC,         "enable_on_exec"},
	{PERF_ATTR_TASK,                      "task"},
	{PERF_ATTR_WATERMARK,              "watermark"},
	{0        },
};

static const struct bit_name flags_after_precise[] = {
	{PERF_ATTR_MMAP_DATA,                "mmap_data"},
	{PERF_ATTR_SAMPLE_ID_ALL,				  "sample_id_all"},
	{PERF_ATTR_EXCLUDE_HOST,"exclude_host"},
	{PERF_ATTR_EXCLUDE_GUEST,             "exclude_guest"},
	{PERF_ATTR_EXCLUDE_CALLCHAIN_KERNEL,                                  "exclude_callchain_kernel"},
	{PERF_ATTR_EXCLUDE_CALLCHAIN_USER,       "exclude_callchain_user"},
	{PERF_ATTR_MMAP2, "mmap2"},
	{PERF_ATTR_COMM_EXEC,				  "comm_exec"},
	{PERF_ATTR_USE_CLOCKID,    "use_clockid"},
	{PERF_ATTR_CONTEXT_SWITCH,                    "context_switch"},
	{PERF_ATTR_WRITE_BACKWARD,                                  "write_backward"},
	{PERF_ATTR_NAMESPACES,"namespaces"},
	{PERF_ATTR_KSYMBOL,              "ksymbol"},
	{PERF_ATTR_BPF_EVENT,				  "bpf_event"},
	{PERF_ATTR_AUX_OUTPUT,"aux_output"},
	{PERF_ATTR_CGROUP,           "cgroup"},
	{PERF_ATTR_TEXT_POKE,				  "text_poke"},
	{PERF_ATTR_BUILD_ID,				 "build_id"},
	{PERF_ATTR_INHERIT_THREAD,                  "inherit_thread"},
	{PERF_ATTR_REMOVE_ON_EXEC,                                  "remove_on_exec"},
	{PERF_ATTR_SIGTRAP,"sigtrap"},
	{PERF_ATTR_DEFER_CALLCHAIN,               "defer_callchain"},
	{PERF_ATTR_DEFER_OUTPUT,				  "defer_output"},
	{0	       },
};

static const struct bit_name aux_actions[] = {
	{PERF_AUX_START_PAUSED, "aux_start_paused"},
	{PERF_AUX_PAUSE,                     "aux_pause"},
	{PERF_AUX_RESUME,"aux_resume"},
	{0      },
};

struct walk {
	void (*each)(void *ctx, const struct attr_field *f);
	void *ctx;
};

static void add(const struct walk *w, const char *name, const char *json, enum attr_kind kind,
		uint64_t value)
{
	if (value)
		w->each(w->ctx, &(struct attr_field){name, json, kind, value});
}

static void add_flags(const struct walk *w, const struct bit_name *names, uint64_t bits)
{
	for (; names->name; names++)
		add(w, names->name, names->name, ATTR_DECIMAL, (bits & names->bit) != 0);
}

static void add_front(const struct walk *w, const struct perf_attr *a)
{
	bool is_freq = perf_attr_has(a, PERF_ATTR_FREQ);

	add(w, "type", "type", ATTR_DECIMAL, a->type);
	add(w, "size", "size", ATTR_DECIMAL, a->size);
	add(w, "config", "config", ATTR_HEX, a->config);
	add(w, "{ sample_period, sample_freq }", is_freq ? "sample_freq" : "sample_period",
	    ATTR_DECIMAL, a->sample_period);
	add(w, "sample_type", "sample_type", ATTR_SAMPLE_TYPE, a->sample_type);
	add(w, "read_format", "read_format", ATTR_READ_FORMAT, a->read_format);
}

static void add_back(const struct walk *w, const struct perf_attr *a)
{
	bool is_watermark = perf_attr_has(a, PERF_ATTR_WATERMARK);
	bool is_breakpoint = a->type == PERF_TYPE_BREAKPOINT;

	add(w, "{ wakeup_events, wakeup_watermark }",
	    is_watermark ? "wakeup_watermark" : "wakeup_events", ATTR_DECIMAL, a->wakeup);
	add(w, "bp_type", "bp_type", ATTR_DECIMAL, a->bp_type);
	add(w, "{ bp_addr, config1 }", is_breakpoint ? "bp_addr" : "config1", ATTR_HEX, a->config1);
	add(w, "{ bp_len, config2 }", is_breakpoint ? "bp_len" : "config2", ATTR_HEX, a->config2);
	add(w, "branch_sample_type", "branch_sample_type", ATTR_BRANCH, a->branch_sample_type);
	add(w, "sample_regs_user", "sample_regs_user", ATTR_HEX, a->sample_regs_user);
	add(w, "sample_stack_user", "sample_stack_user", ATTR_DECIMAL, a->sample_stack_user);
	add(w, "clockid", "clockid", ATTR_SIGNED, (uint64_t)(int64_t)a->clockid);
	add(w, "sample_regs_intr", "sample_regs_intr", ATTR_HEX, a->sample_regs_intr);
	add(w, "aux_watermark", "aux_watermark", ATTR_DECIMAL, a->aux_watermark);
	add(w, "sample_max_stack", "sample_max_stack", ATTR_DECIMAL, a->sample_max_stack);
	add(w, "aux_sample_size", "aux_sample_size", ATTR_DECIMAL, a->aux_sample_size);
	add_flags(w, aux_actions, a->aux_action);
	add(w, "sig_data", "sig_data", ATTR_DECIMAL, a->sig_data);
	add(w, "config3", "config3", ATTR_HEX, a->config3);
	add(w, "config4", "config4", ATTR_HEX, a->config4);
}

void attr_each_field(const struct perf_attr *a, void (*each)(void *ctx, const struct attr_field *f),
		     void *ctx)
{
	const struct walk w = {each, ctx};

	add_front(&w, a);
	add_flags(&w, flags_before_precise, a->flags);
	add(&w, "precise_ip", "precise_ip", ATTR_DECIMAL, perf_attr_precise_ip(a));
	add_flags(&w, flags_after_precise, a->flags);
	add_back(&w, a);
}

static const struct bit_name *names_of(const struct attr_field *f)
{
	switch (f->kind) {
	case ATTR_SAMPLE_TYPE:
		return sample_types;
	case ATTR_READ_FORMAT:
		return read_formats;
	case ATTR_BRANCH:
		return branch_types;
	case ATTR_DECIMAL:
	case ATTR_SIGNED:
	case ATTR_HEX:
		break;
	}
	return NULL;
}

void attr_field_each_bit(const struct attr_field *f, void (*each)(void *ctx, const char *name),
			 void *ctx)
{
	for (const struct bit_name *n = names_of(f); n && n->name; n++) {
		if (f->value & n->bit)
			each(ctx, n->name);
	}
}

struct bits_text {
	struct buf *out;
	bool has_one;
};

static void add_bit(void *ctx, const char *name)
{
	struct bits_text *t = ctx;

	if (t->has_one)
		buf_char(t->out, '|');
	t->has_one = true;
	buf_str(t->out, name);
}

void attr_field_text(struct buf *out, const struct attr_field *f)
{
	struct bits_text bits = {.out = out};

	switch (f->kind) {
	case ATTR_DECIMAL:
		buf_dec(out, f->value, 0, ' ');
		break;
	case ATTR_SIGNED:
		buf_printf(out, "%lld", (long long)f->value);
		break;
	case ATTR_HEX:
		buf_str(out, "0x");
		buf_hex(out, f->value, 0, ' ');
		break;
	case ATTR_SAMPLE_TYPE:
	case ATTR_READ_FORMAT:
	case ATTR_BRANCH:
		attr_field_each_bit(f, add_bit, &bits);
		break;
	}
}

struct attr_line {
	struct buf *out;
	const char *is;
	bool has_one;
};

static void add_field(void *ctx, const struct attr_field *f)
{
	struct attr_line *l = ctx;

	if (l->has_one)
		buf_str(l->out, ", ");
	l->has_one = true;
	buf_str(l->out, f->name);
	buf_str(l->out, l->is);
	attr_field_text(l->out, f);
}

void attr_text(struct buf *out, const struct perf_attr *a, const char *is)
{
	struct attr_line l = {.out = out, .is = is};

	attr_each_field(a, add_field, &l);
}
