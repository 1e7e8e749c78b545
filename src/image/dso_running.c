/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image/dso_running.h"

#include <string.h>

#include "elf/elf_sym.h"
#include "image/dso_code_priv.h"
#include "image/dso_kcore.h"
#include "os/proc.h"

/*
 * The running kernel: whether it is the one of the recording, and where it is. Its names and code
 * are given to no other. A build id proves it; without one the release has to be the same, and a
 * symbol at the address where it was when it was recorded.
 */
enum { MODULES_MAX_BYTES = 4 * 1024 * 1024, NOTES_MAX_BYTES = 64 * 1024 };

void dso_running_path(const struct dso_store *s, enum dso_running what, struct buf *ret)
{
	static const char *const paths[] = {
		[DSO_RUNNING_KCORE] = "/proc/kcore",
		[DSO_RUNNING_KALLSYMS] = "/proc/kallsyms",
		[DSO_RUNNING_MODULES] = "/proc/modules",
		[DSO_RUNNING_NOTES] = "/sys/kernel/notes",
	};

	if (s->opts.running_dir)
		buf_printf(ret, "%s%s", s->opts.running_dir, strrchr(paths[what], '/'));
	else
		buf_str(ret, paths[what]);
}

struct dso_build_id dso_running_build_id(const struct dso_store *s)
{
	clew_auto(buf_done) struct buf path = {0};
	clew_auto(mem_free_at) char *notes = NULL;
	struct dso_build_id id = {0};
	size_t size;

	dso_running_path(s, DSO_RUNNING_NOTES, &path);
	if (!os_read_file(buf_cstr(&path), NOTES_MAX_BYTES, &notes, &size, NULL))
		id.size = (uint8_t)elf_notes_build_id(bytes_of(notes, size), false, id.bytes);
	return id;
}

static struct dso *host_kernel(struct dso_store *s)
{
	vec_for_each (&s->dsos, k) {
		if ((*k)->kind == DSO_KERNEL && !(*k)->guest)
			return *k;
	}
	return NULL;
}

/** Without a build id: @p k has the address of a symbol, and that is where it is now? */
static const char *why_not_at_address(struct dso *k)
{
	const struct kernel_syms *now;

	if (!k || !k->ref_name || !k->ref_addr)
		return "neither a build id nor an address of its kernel was recorded";
	now = dso_running_syms(k);
	if (!now || now->is_all_zero) /* then there are no names, either */
		return NULL;
	return now->has_ref && now->ref_addr == k->ref_addr
		     ? NULL
		     : "no kernel build id was recorded, and the running kernel is at another "
		       "address: another one, or started again";
}

/** By what the header says: the same release on the same machine? */
static const char *why_not_same_release(const struct dso_store *s)
{
	if (!s->release.is_known)
		return "neither a kernel build id nor a release was recorded: nothing says that it "
		       "was the running kernel";
	if (!s->release.is_same)
		return "recorded on another kernel release than the running one";
	return s->host.is_known && !s->host.is_same ? "recorded on another machine, without a "
						      "kernel build id"
						    : NULL;
}

const char *dso_why_not_running(struct dso *d)
{
	struct dso_store *s = d->store;
	struct dso *k = d->kind == DSO_KERNEL ? d : host_kernel(s);
	struct dso_build_id id;
	const char *why;

	if (s->opts.no_host_kernel)
		return "the running kernel's symbols were not asked for";
	if (s->opts.is_live)
		return NULL;
	if (k && k->build_id.size) {
		id = dso_running_build_id(s);
		return dso_same_build_id(&id, &k->build_id)
			     ? NULL
			     : "build id differs from the running kernel's";
	}
	why = why_not_same_release(s);
	return why ? why : why_not_at_address(k);
}

const char *dso_why_not_release(struct dso *d)
{
	struct dso_store *s = d->store;

	return host_kernel(s) || s->opts.is_live ? dso_why_not_running(d) : why_not_same_release(s);
}

/** Kernels of one build may have loaded modules of different ones. */
bool dso_is_other_module(const struct dso *d)
{
	clew_auto(mem_free_at) char *notes = NULL;
	clew_auto(buf_done) struct buf path = {0};
	struct dso_build_id id = {0};
	size_t size, len = strlen(d->short_name);
	const char *dir = d->store->opts.running_dir;

	if (!d->build_id.size || len < 3)
		return false;
	buf_printf(&path, "%s/module/%.*s/notes/.note.gnu.build-id", dir ? dir : "/sys",
		   (int)len - 2, d->short_name + 1);
	if (!os_read_file(buf_cstr(&path), NOTES_MAX_BYTES, &notes, &size, NULL))
		id.size = (uint8_t)elf_notes_build_id(bytes_of(notes, size), false, id.bytes);
	return id.size && !dso_same_build_id(&id, &d->build_id);
}

bool dso_module_now(const struct dso *d, const char *path, uint64_t *ret)
{
	clew_auto(mem_free_at) char *text = NULL;
	size_t size, len = strlen(d->short_name);

	return len >= 3 && !os_read_file(path, MODULES_MAX_BYTES, &text, &size, NULL) &&
	       modules_address(bytes_of(text, size), d->short_name + 1, len - 2, ret);
}

/* --- the running kernel, for its code --- */

static const char *kernel_delta_now(struct dso *d, uint64_t *ret)
{
	const struct kernel_syms *k = dso_running_syms(d);

	if (!d->ref_name || !d->ref_addr)
		return "the recording does not say where its kernel was loaded";
	if (!k || k->is_all_zero || !k->has_ref)
		return "no image of this kernel: -k names one; /proc/kallsyms does not say where "
		       "the running one is";
	*ret = k->ref_addr - d->ref_addr;
	return NULL;
}

static const char *module_delta_now(struct dso *d, uint64_t *ret)
{
	clew_auto(buf_done) struct buf path = {0};
	uint64_t now;

	dso_running_path(d->store, DSO_RUNNING_MODULES, &path);
	if (!d->load_start || !dso_module_now(d, buf_cstr(&path), &now))
		return "the module's file was not found, and it is not loaded now";
	*ret = now - d->load_start;
	return NULL;
}

const char *dso_running_delta(struct dso *d, uint64_t *ret)
{
	struct dso_build_id id = dso_running_build_id(d->store);
	struct dso *k = d->kind == DSO_KERNEL ? d : host_kernel(d->store);

	if (d->store->opts.no_host_kernel || d->guest)
		return "no image of this kernel: -k names one";
	if (!k || !k->build_id.size)
		return "no image of this kernel: -k names one; without a build id in the recording "
		       "that of the running one may be another";
	if (!dso_same_build_id(&id, &k->build_id))
		return "no image of this kernel: -k names one; the running one is of another build";
	return d->kind == DSO_KERNEL ? kernel_delta_now(d, ret) : module_delta_now(d, ret);
}
