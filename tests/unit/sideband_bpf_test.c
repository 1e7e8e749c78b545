/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Code that the kernel made, by the lines of /proc/kallsyms. */
#include "os/proc.h"
#include "perfdata/perf_record.h"
#include "record/running/sideband.h"
#include "unit/tap.h"

/* Reads the next record of @p s. @return false: there is none, or it is no KSYMBOL. */
static bool next(const struct rec_sideband *s, size_t *at, struct perf_ksymbol *ret)
{
	struct perf_event_header h;
	struct perf_record r;

	if (s->out.nr - *at < sizeof(h))
		return false;
	memcpy(&h, s->out.data + *at, sizeof(h));
	r = (struct perf_record){.data = (const uint8_t *)s->out.data + *at,
				 .type = h.type,
				 .misc = h.misc,
				 .size = h.size};
	*at += h.size;
	return h.type == PERF_RECORD_KSYMBOL && perf_ksymbol_parse(&r, ret) == CLEW_OK;
}

static struct rec_sideband made_of(const struct rec_options *o, const char *kallsyms)
{
	struct rec_sideband s = {.options = o};

	rec_sideband_made(&s, kallsyms);
	return s;
}

static void check_kinds(void)
{
	static const struct {
		uint64_t addr;
		uint16_t type;
		const char *name;
	} want[] = {
		{0xffffffffc0201000, 2, "ftrace_trampoline"        },
		{0xffffffffc0300000, 1, "bpf_trampoline_6442491914"},
		{0xffffffffc0302000, 1, "bpf_dispatcher_xdp"       },
		{0xffffffffc0400000, 2, "kprobe_insn_page"         },
		{0xffffffffc0401000, 2, "kprobe_optinsn_page"      },
	};
	struct rec_options o = {0};
	struct rec_sideband s =
		made_of(&o, "ffffffff81000000 T _stext\n"
			    "ffffffff81359dc0 T arch_alloc_bpf_trampoline\n"
			    "ffffffffc0100000 t bpf_trampoline_x\t[some_module]\n"
			    "ffffffffc0101000 t ftrace_trampoline\t[bpf]\n"
			    "ffffffffc0201000 t ftrace_trampoline\t[__builtin__ftrace]\n"
			    "ffffffffc0250000 t bpf_prog_0123456789abcdef_one\t[bpf]\n"
			    "ffffffffc0300000 t bpf_trampoline_6442491914\t[bpf]\n"
			    "ffffffffc0302000 t bpf_dispatcher_xdp\t[bpf]\n"
			    "ffffffffc0400000 t kprobe_insn_page\t[__builtin__kprobes]\n"
			    "ffffffffc0401000 t kprobe_optinsn_page\t[__builtin__kprobes]\n"
			    "0000000000000000 t bpf_trampoline_7\t[bpf]\n"
			    "ffffffffc0500000 t bpf_trampoline_8\t[bpf]");
	struct perf_ksymbol k;
	size_t at = 0, nr = 0;

	for (; nr < sizeof(want) / sizeof(*want) && next(&s, &at, &k); nr++)
		CHECK(k.addr == want[nr].addr && k.ksym_type == want[nr].type && !k.flags &&
			      k.len == os_page_bytes() && !strcmp(k.name, want[nr].name),
		      "%s: %s at %llx, type %u", want[nr].name, k.name, (unsigned long long)k.addr,
		      k.ksym_type);
	CHECK(nr == sizeof(want) / sizeof(*want), "%zu of them", nr);
	CHECK(at == s.out.nr,
	      "no others: of modules, programs, hidden addresses, a line that is cut");
	rec_sideband_done(&s);
}

static void check_none(void)
{
	static const char *const texts[] = {"",
					    "\n",
					    "\t[bpf]\n",
					    "1 t \t[bpf]\n",
					    "ffffffffc0300000 bpf_trampoline_1\t[bpf]\n",
					    "x t bpf_trampoline_1\t[bpf]\n"};
	struct rec_options o = {0}, none = {.no_bpf_events = true};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct rec_sideband s = made_of(&o, texts[i]);

		CHECK(!s.out.nr, "nothing of line %zu", i);
		rec_sideband_done(&s);
	}
	struct rec_sideband s = made_of(&none, "ffffffffc0300000 t bpf_trampoline_1\t[bpf]\n");

	CHECK(!s.out.nr, "nor when it is not asked for");
	rec_sideband_done(&s);
}

int main(void)
{
	check_kinds();
	check_none();
	return tap_done();
}
