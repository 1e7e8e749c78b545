/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_caller.h"

#include <string.h>

#include "unwind/unw_call_site.h"
#include "unwind/unw_walk.h"

/* Code to which something else than a call leads, each at its first instruction. Spec: glibc 2.41
 * sysdeps/unix/sysv/linux/.../libc_sigaction.c and __start_context.S, musl 1.2.5
 * src/signal/.../restore.s; Linux 2.6 to 7.3, arch/.../vdso, and what puts itself in the place of a
 * return address: kretprobes, rethooks, the function graph tracer. */
static const char *const entered[] = {
	"__restore_rt",
	"__restore",
	"__kernel_rt_sigreturn",
	"__kernel_sigreturn",
	"__vdso_rt_sigreturn",
	"__default_rt_sa_restorer",
	"__default_sa_restorer",
	"__start_context",
	"ret_from_fork",
	"ret_from_fork_asm",
	"ret_from_kernel_thread",
	"kernel_thread_starter",
	"kretprobe_trampoline",
	"__kretprobe_trampoline",
	"arch_rethook_trampoline",
	"return_to_handler",
};

/* Names of a family, and names: Linux 2.6 to 7.3, arch/x86/entry/entry_{32,64}.S and
 * entry_64_fred.S, arch/arm64/kernel/entry.S, arch/arm/kernel/entry-armv.S,
 * arch/s390/kernel/entry.S, arch/riscv/kernel/entry.S. */
/* clang-format off */
static const char *const entry_families[] = {"asm_exc_", "asm_sysvec_"};
static const char *const entries[] = {
	/* x86 */
	"asm_common_interrupt", "asm_spurious_interrupt", "asm_fred_entrypoint_kernel",
	"common_interrupt", "ret_from_intr", "common_interrupt_return", "retint_kernel",
	"restore_regs_and_return_to_kernel", "native_irq_return_iret", "native_iret",
	"apic_timer_interrupt", "reschedule_interrupt", "reboot_interrupt", "call_function_interrupt",
	"call_function_single_interrupt", "irq_work_interrupt", "irq_move_cleanup_interrupt",
	"x86_platform_ipi", "kvm_posted_intr_ipi", "thermal_interrupt", "threshold_interrupt",
	"deferred_error_interrupt", "error_interrupt", "spurious_interrupt", "page_fault",
	"async_page_fault", "general_protection", "double_fault", "stack_segment", "divide_error",
	"invalid_op", "int3", "debug", "nmi", "first_nmi", "repeat_nmi", "end_repeat_nmi",
	"machine_check", "alignment_check", "device_not_available", "coprocessor_error",
	"simd_coprocessor_error", "hyperv_callback_vector", "xen_hvm_callback_vector",
	"xen_do_hypervisor_callback",
	/* arm64 */
	"el1h_64_sync", "el1h_64_irq", "el1h_64_fiq", "el1h_64_error", "el1t_64_sync",
	"el1t_64_irq", "el1t_64_fiq", "el1t_64_error", "el1_sync", "el1_irq", "el1_fiq",
	"el1_error",
	/* arm */
	"__irq_svc", "__dabt_svc", "__pabt_svc", "__und_svc", "__fiq_svc",
	/* s390 */
	"ext_int_handler", "io_int_handler", "pgm_check_handler", "mcck_int_handler",
	/* riscv */
	"handle_exception", "ret_from_exception",
};
/* clang-format on */

static bool is_one_of(const char *const *names, size_t nr, const char *name)
{
	for (size_t i = 0; i < nr; i++) {
		if (*names[i] == *name && !strcmp(names[i], name))
			return true;
	}
	return false;
}

bool ana_is_exception_entry(const struct dso_sym *sym)
{
	if (!sym)
		return false;
	for (size_t i = 0; i < sizeof(entry_families) / sizeof(*entry_families); i++) {
		if (!strncmp(sym->name, entry_families[i], strlen(entry_families[i])))
			return true;
	}
	return is_one_of(entries, sizeof(entries) / sizeof(*entries), sym->name);
}

const struct dso_sym *ana_site_symbol(struct ana_site *s)
{
	if (!s->has_sym && s->place && !s->at.has_no_name)
		s->sym = s->place->only_sym ? s->place->only_sym
					    : dso_find_sym(s->at.dso, s->at.rel);
	s->has_sym = true;
	return s->sym;
}

static enum unw_call_site code_at(const struct ana_site *s, uint64_t rel)
{
	const uint8_t *file = NULL;
	size_t size;

	if (s->place && !s->place->is_absolute)
		file = dso_code_bytes(s->at.dso, &size);
	return file ? unw_call_site_of(file, size, rel) : UNW_SITE_UNKNOWN;
}

static bool is_one_function(struct ana_site *before, const struct ana_site *at)
{
	const struct dso_sym *sym;

	if (!at->place || at->at.dso != before->at.dso || at->at.rel != before->at.rel + 1)
		return false;
	sym = ana_site_symbol(before);
	return sym && at->at.rel < sym->end;
}

/* A trampoline, by its code, its name, or its mapping. */
static bool is_entered(struct ana_site *at)
{
	const struct dso_sym *sym;

	if (code_at(at, at->at.rel) == UNW_SITE_SIGRETURN)
		return true;
	if (at->map && at->at.rel == at->map->pgoff && !strcmp(at->map->path, unw_probes_name))
		return true;
	sym = ana_site_symbol(at);
	return sym && sym->start == at->at.rel &&
	       is_one_of(entered, sizeof(entered) / sizeof(*entered), sym->name);
}

/** What Linux puts before functions for call thunks and kCFI, under a name of its own: no call ends
 * there. Spec: Linux 6.2 to 7.3, CONFIG_PREFIX_SYMBOLS, tools/objtool/check.c; kernel/cfi.c. */
static bool is_padding(struct ana_site *before)
{
	const struct dso_sym *sym = ana_site_symbol(before);

	return sym && (!strncmp(sym->name, "__pfx_", 6) || !strncmp(sym->name, "__cfi_", 6));
}

bool ana_is_after(struct ana_site *before, struct ana_site *at, enum ana_arrival arrival,
		  bool no_symbols)
{
	bool is_caller = arrival == ANA_AFTER_CALL;
	enum unw_call_site code;

	if (!before->place)
		return is_caller && !at->place;
	if (no_symbols || is_one_function(before, at))
		return is_caller;
	if (is_entered(at) || is_padding(before))
		return false;
	code = code_at(before, before->at.rel + 1);
	if (!is_caller)
		return code == UNW_SITE_AFTER_SYSCALL;
	return code != UNW_SITE_NO_CALL && code != UNW_SITE_AFTER_SYSCALL;
}
