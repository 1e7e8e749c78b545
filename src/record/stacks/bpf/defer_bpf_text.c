/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/stacks/bpf/defer_bpf_text.h"

#include <string.h>

#include "base/mem.h"
#include "elf/kallsyms.h"
#include "os/file.h"

enum { MAX_KALLSYMS = 256 << 20 };

/* The callback is called from these, or they follow it on the way to user mode. x86 has no
 * do_notify_resume, and arm64 none of the irqentry and syscall ones. */
static const char *const returning[] = {
	"exit_to_user_mode_loop",     "task_work_run",
	"bpf_task_work_callback",     "get_signal",
	"irqentry_exit_to_user_mode", "syscall_exit_to_user_mode",
	"do_notify_resume",           "asm_exit_to_user_mode",
};
_Static_assert(sizeof(returning) / sizeof(*returning) <= CB_NR_RANGES, "all have room");

static bool is_name(const struct kallsyms_line *l, const char *name)
{
	return strlen(name) == l->name_bytes && !memcmp(name, l->name, l->name_bytes);
}

void defer_find_text(struct cb_text *ret)
{
	struct kallsyms_line line;
	struct bytes text;
	size_t nr = 0, size;
	char *data;

	if (os_read_file("/proc/kallsyms", MAX_KALLSYMS, &data, &size, NULL))
		return;
	text = bytes_of(data, size);
	while (kallsyms_next(&text, &line)) {
		if (!line.addr || line.module_bytes)
			continue;
		for (size_t i = 0; i < nr; i++) {
			struct cb_range *r = &ret->returning[i];

			/* Up to the nearest symbol above: aliases share an address. */
			if (line.addr > r->start && (!r->end || line.addr < r->end))
				r->end = line.addr;
		}
		for (size_t i = 0; i < sizeof(returning) / sizeof(*returning); i++) {
			if (is_name(&line, returning[i]) && nr < CB_NR_RANGES)
				ret->returning[nr++] = (struct cb_range){.start = line.addr};
		}
		if (is_name(&line, "__entry_text_start"))
			ret->entry.start = line.addr;
		else if (is_name(&line, "__entry_text_end"))
			ret->entry.end = line.addr;
	}
	mem_free(data);
}
