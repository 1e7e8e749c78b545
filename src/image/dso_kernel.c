/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "elf/elf_sym.h"
#include "image/dso_code_priv.h"
#include "image/dso_kcore.h"
#include "image/dso_running.h"
#include "os/path.h"
#include "os/proc.h"

enum {
	KALLSYMS_MAX_BYTES = 256 * 1024 * 1024,
};

static void forget_symbols(struct kernel_syms *k)
{
	kallsyms_index_done(&k->index);
	sym_table_done(&k->table);
	intern_done(&k->modules);
	k->modules = (struct intern){0};
	k->table.budget = k->store->opts.budget;
}

void kernel_syms_free(struct kernel_syms *k)
{
	if (!k)
		return;
	forget_symbols(k);
	os_map_done(&k->map);
	mem_free(k->text);
	dso_file_done(&k->vmlinux);
	mem_free(k->path);
	mem_free(k->ref_name);
	mem_free(k);
}

static void free_kernel_syms(struct kernel_syms **k)
{
	kernel_syms_free(*k);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static struct kernel_syms *kernel_syms_new(struct dso_store *s, const char *path,
					   const char *ref_name)
{
	struct kernel_syms *k = mem_zalloc(sizeof(*k));

	if (!k)
		return NULL;
	k->store = s;
	k->table.budget = s->opts.budget;
	k->path = mem_strdup(path);
	k->ref_name = ref_name ? mem_strdup(ref_name) : NULL;
	if (k->path && (k->ref_name || !ref_name))
		return k;
	kernel_syms_free(k);
	return NULL;
}

static bool charge_text(struct kernel_syms *k, size_t size)
{
	return dso_store_charge(k->store, size, "the kernel's symbols in", k->path);
}

/** procfs reports no size and cannot be mapped. */
static bool open_kallsyms(struct kernel_syms *k, struct bytes *ret)
{
	size_t size;

	if (os_is_regular(k->path) && !os_map_file(k->path, &k->map, NULL) && k->map.size) {
		*ret = bytes_of(k->map.data, k->map.size);
		return k->map.size <= KALLSYMS_MAX_BYTES && charge_text(k, k->map.size);
	}
	if (os_read_file(k->path, KALLSYMS_MAX_BYTES, &k->text, &size, NULL))
		return false;
	*ret = bytes_of(k->text, size);
	return charge_text(k, size);
}

static bool collect_kallsyms(struct kernel_syms *k, struct bytes text, struct kallsyms_info *ret)
{
	return !kallsyms_collect(&k->table, text, &k->modules, k->ref_name, ret) &&
	       sym_table_finish(&k->table, SYM_FILL_KALLSYMS);
}

/** The kernel's own symbols stay text; those of modules, which are in no order, become a table. */
static bool index_kallsyms(struct kernel_syms *k, struct bytes text, struct kallsyms_info *ret)
{
	struct kallsyms_info rest;

	if (kallsyms_index_open(&k->index, &text, k->ref_name, ret) ||
	    !collect_kallsyms(k, text, &rest) ||
	    !kallsyms_index_is_apart(&k->index, &k->table, &rest)) {
		forget_symbols(k);
		return false;
	}
	ret->is_all_zero &= rest.is_all_zero;
	if (!ret->has_ref) {
		ret->has_ref = rest.has_ref;
		ret->ref_addr = rest.ref_addr;
	}
	return true;
}

static bool read_kallsyms(struct kernel_syms *k)
{
	struct kallsyms_info info;
	struct bytes text;

	if (!open_kallsyms(k, &text))
		return false;
	if (!index_kallsyms(k, text, &info) && (!collect_kallsyms(k, text, &info) || !info.nr))
		return false;
	k->is_all_zero = info.is_all_zero;
	k->has_ref = info.has_ref;
	k->ref_addr = info.ref_addr;
	return true;
}

static bool read_vmlinux(struct kernel_syms *k)
{
	if (dso_file_open(&k->vmlinux, k->path) || !elf_has_symtab(&k->vmlinux.elf) ||
	    !dso_file_charge(k->store, &k->vmlinux) ||
	    elf_sym_collect(&k->table, &k->vmlinux.elf, &k->vmlinux.elf, ELF_SYM_ADDRESSES, NULL))
		return false;
	if (k->ref_name)
		k->has_ref = elf_sym_address(&k->vmlinux.elf, k->ref_name, &k->ref_addr);
	return k->table.added.nr && sym_table_finish(&k->table, SYM_FILL_ELF);
}

/** Read once for each path and reference symbol. */
static struct kernel_syms *kernel_syms_of(struct dso_store *s, const char *path,
					  const char *ref_name, bool (*read)(struct kernel_syms *))
{
	clew_auto(free_kernel_syms) struct kernel_syms *n = NULL;

	for (struct kernel_syms *k = s->kernels; k; k = k->next) {
		if (!strcmp(k->path, path) && (!ref_name || same_text(k->ref_name, ref_name)))
			return k;
	}
	n = kernel_syms_new(s, path, ref_name);
	if (!n || !read(n))
		return NULL;
	n->next = s->kernels;
	s->kernels = n;
	return clew_take(n);
}

static const struct kernel_syms *from_build_id(struct dso *d)
{
	clew_auto(buf_done) struct buf path = {0};
	const struct kernel_syms *k = NULL;

	if (!d->build_id.size)
		return NULL;
	if (dso_find_vmlinux(d, &path))
		k = kernel_syms_of(d->store, buf_cstr(&path), d->ref_name, read_vmlinux);
	return k;
}

static const struct kernel_syms *from_cached_kallsyms(struct dso *d)
{
	clew_auto(buf_done) struct buf path = {0};

	if (!dso_build_id_path(d->store->opts.buildid_dir, &d->build_id, "/kallsyms", &path) ||
	    !os_exists(buf_cstr(&path)))
		return NULL;
	return kernel_syms_of(d->store, buf_cstr(&path), d->ref_name, read_kallsyms);
}

const struct kernel_syms *dso_running_syms(struct dso *d)
{
	clew_auto(buf_done) struct buf path = {0};

	dso_running_path(d->store, DSO_RUNNING_KALLSYMS, &path);
	return kernel_syms_of(d->store, buf_cstr(&path), d->ref_name, read_kallsyms);
}

static const struct kernel_syms *from_running(struct dso *d)
{
	d->why = dso_why_not_running(d);
	if (d->why)
		return NULL;
	if (d->kind == DSO_KERNEL && !d->build_id.size && !d->store->opts.is_live)
		d->note = "the recording has no kernel build id: the running kernel's symbols may "
			  "not fit";
	return dso_running_syms(d);
}

static void load_once(struct dso *k)
{
	if (!k->has_asked) {
		k->has_asked = true;
		dso_load_kernel(k);
	}
}

/** Module symbols are in the kallsyms of the kernel that they are loaded into. */
static const struct kernel_syms *find_kernel_of_module(struct dso *d)
{
	struct dso_build_id running = dso_running_build_id(d->store);

	vec_for_each (&d->store->dsos, at) {
		struct dso *k = *at;

		if (k->kind != DSO_KERNEL || k->guest)
			continue;
		load_once(k);
		if (k->kernel && !k->kernel->vmlinux.elf.elf)
			return k->kernel;
		if (k->kernel && k->build_id.size && dso_same_build_id(&k->build_id, &running))
			break;
		d->why = k->why ? k->why : "vmlinux has no symbols of modules";
		return NULL;
	}
	return from_running(d);
}

/** DIR/PID/proc/NAME. @return false: no --guestmount. */
static bool guest_proc_path(const struct dso *d, const char *name, struct buf *ret)
{
	const char *mount = d->store->opts.guest_mount;

	if (mount)
		buf_printf(ret, "%s/%u/proc/%s", mount, d->guest, name);
	return mount;
}

/** Never the host's: the same addresses are other code there. */
static const struct kernel_syms *find_guest_kernel(struct dso *d)
{
	const struct dso_store_opts *o = &d->store->opts;
	clew_auto(buf_done) struct buf path = {0};
	const struct kernel_syms *k = NULL;

	d->why = "no symbols of the guest's kernel: --guestkallsyms or --guestmount names them";
	if (o->guest_vmlinux && d->kind == DSO_KERNEL)
		k = kernel_syms_of(d->store, o->guest_vmlinux, d->ref_name, read_vmlinux);
	if (!k && o->guest_kallsyms)
		k = kernel_syms_of(d->store, o->guest_kallsyms, d->ref_name, read_kallsyms);
	if (!k && guest_proc_path(d, "kallsyms", &path))
		k = kernel_syms_of(d->store, buf_cstr(&path), d->ref_name, read_kallsyms);
	buf_clear(&path);
	if (!k && d->kind == DSO_KERNEL && dso_guest_vmlinux(d, &path))
		k = kernel_syms_of(d->store, buf_cstr(&path), d->ref_name, read_vmlinux);
	if (!k && d->kind == DSO_KERNEL)
		k = from_build_id(d);
	return k;
}

/** Copied with the recording: they are of its kernel, at its addresses. */
static const struct kernel_syms *from_kcore_dir(struct dso *d)
{
	clew_auto(buf_done) struct buf path = {0};

	buf_printf(&path, "%s/kallsyms", d->store->opts.kcore_dir);
	return kernel_syms_of(d->store, buf_cstr(&path), d->ref_name, read_kallsyms);
}

/** Asked for, so it is used. */
static const struct kernel_syms *from_given_vmlinux(struct dso *d, const char *path)
{
	const struct kernel_syms *k = kernel_syms_of(d->store, path, d->ref_name, read_vmlinux);
	struct dso_build_id id = {0};

	if (k)
		id = dso_file_build_id(&k->vmlinux);
	if (id.size && d->build_id.size && d->kind == DSO_KERNEL &&
	    !dso_same_build_id(&id, &d->build_id))
		d->note =
			"the vmlinux that was given is of another build than the recorded kernel: "
			"names may be wrong";
	return k;
}

static const struct kernel_syms *find_kernel(struct dso *d)
{
	const struct dso_store_opts *o = &d->store->opts;
	const struct kernel_syms *k = NULL;

	if (d->guest)
		return find_guest_kernel(d);
	if (o->vmlinux)
		return from_given_vmlinux(d, o->vmlinux);
	if (o->kallsyms)
		return kernel_syms_of(d->store, o->kallsyms, d->ref_name, read_kallsyms);
	if (o->kcore_dir)
		k = from_kcore_dir(d);
	if (k)
		return k;
	if (d->kind == DSO_MODULE)
		return find_kernel_of_module(d);
	k = from_build_id(d);
	if (!k)
		k = from_cached_kallsyms(d);
	return k ? k : from_running(d);
}

/** "[ext4]" in the table of modules, 0: none. Its number there is its number in the symbols. */
static uint16_t module_number(const struct kernel_syms *k, const char *name)
{
	for (size_t i = 1; i < k->modules.strs.nr; i++) {
		if (!strcmp(k->modules.strs.data[i].s, name))
			return (uint16_t)i;
	}
	return 0;
}

/** The list that was true when @p k was read. @return false: none is known. */
static bool modules_path(const struct dso *d, const struct kernel_syms *k, struct buf *ret)
{
	clew_auto(buf_done) struct buf running = {0};

	if (d->guest && d->store->opts.guest_modules)
		buf_str(ret, d->store->opts.guest_modules);
	else if (d->guest)
		return guest_proc_path(d, "modules", ret);
	else
		dso_running_path(d->store, DSO_RUNNING_MODULES, ret);
	dso_running_path(d->store, DSO_RUNNING_KALLSYMS, &running);
	return d->guest || !strcmp(k->path, buf_cstr(&running));
}

/** Loaded at another address since the recording? kallsyms has today's. */
static uint64_t module_delta(const struct dso *d, const struct kernel_syms *k)
{
	clew_auto(buf_done) struct buf path = {0};
	uint64_t now;

	if (!d->load_start || !modules_path(d, k, &path) ||
	    !dso_module_now(d, buf_cstr(&path), &now))
		return 0;
	return now - d->load_start;
}

static uint64_t nr_refused(const struct dso *d)
{
	return d->store->opts.budget ? d->store->opts.budget->nr_refused : 0;
}

static bool is_running(const struct dso_store *s, const struct kernel_syms *k)
{
	clew_auto(buf_done) struct buf path = {0};

	dso_running_path(s, DSO_RUNNING_KALLSYMS, &path);
	return !strcmp(k->path, buf_cstr(&path));
}

static void take_kernel(struct dso *d)
{
	uint64_t nr_before = nr_refused(d);
	const struct kernel_syms *k = find_kernel(d);

	if (!k) {
		if (nr_refused(d) > nr_before)
			d->why = dso_over_budget;
		if (!d->why)
			d->why = "no kallsyms or vmlinux for this kernel";
		return;
	}
	if (k->is_all_zero) {
		d->why = "kptr_restrict hides kernel addresses";
		return;
	}
	if (d->kind == DSO_MODULE) {
		if (!d->guest && is_running(d->store, k) && dso_is_other_module(d)) {
			d->why = "the module loaded now is of another build";
			return;
		}
		d->module = module_number(k, d->short_name);
		if (!d->module) {
			d->why = "the module is not loaded now";
			return;
		}
		d->kernel_delta = module_delta(d, k);
	} else if (d->ref_name && d->ref_addr) {
		if (!k->has_ref) {
			d->why = "the relocation reference symbol is missing";
			return;
		}
		d->kernel_delta = k->ref_addr - d->ref_addr;
	}
	d->why = NULL;
	d->kernel = k;
	d->symbol_file = k->path;
}

void dso_load_kernel(struct dso *d)
{
	take_kernel(d);
	if (d->kind == DSO_MODULE && !d->kernel && !d->guest && dso_load_module_file(d))
		d->why = NULL;
}
