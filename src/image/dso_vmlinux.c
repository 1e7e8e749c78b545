/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "image/dso_code_priv.h"
#include "os/path.h"
#include "os/proc.h"

static bool has_build_id(const char *path, const struct dso_build_id *want)
{
	clew_auto(dso_file_done) struct dso_file f = {0};
	struct dso_build_id id;

	if (dso_file_open(&f, path))
		return false;
	id = dso_file_build_id(&f);
	return !want->size || dso_same_build_id(&id, want);
}

/** Only with a build id to prove that it is the right one. */
bool dso_find_vmlinux(struct dso *d, struct buf *ret)
{
	static const char *const places[] = {"/boot/vmlinux-%s", "/usr/lib/debug/boot/vmlinux-%s",
					     "/lib/modules/%s/build/vmlinux",
					     "/usr/lib/debug/lib/modules/%s/vmlinux",
					     "/usr/lib/debug/boot/vmlinux-%s.debug"};
	const struct dso_store_opts *o = &d->store->opts;
	char release[65];

	if (dso_build_id_path(o->buildid_dir, &d->build_id, "/elf", ret) &&
	    has_build_id(buf_cstr(ret), &d->build_id))
		return true;
	buf_clear(ret);
	if (dso_build_id_path(o->debug_dir ? o->debug_dir : "/usr/lib/debug", &d->build_id,
			      ".debug", ret) &&
	    has_build_id(buf_cstr(ret), &d->build_id))
		return true;
	os_kernel_release(release, sizeof(release));
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		const char *percent = strchr(places[i], '%');

		buf_clear(ret);
		buf_add(ret, places[i], (size_t)(percent - places[i]));
		buf_str(ret, release);
		buf_str(ret, percent + 2);
		if (d->build_id.size && has_build_id(buf_cstr(ret), &d->build_id))
			return true;
	}
	return false;
}

bool dso_guest_vmlinux(const struct dso *d, struct buf *ret)
{
	const char *mount = d->store->opts.guest_mount;

	if (!d->guest || !mount)
		return false;
	buf_printf(ret, "%s/%u/vmlinux", mount, d->guest);
	if (os_exists(buf_cstr(ret)))
		return true;
	buf_clear(ret);
	return false;
}
