/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>

#include "doctor/doctor_rows.h"
#include "os/file.h"
#include "os/proc.h"

enum { MAX_CHUNKS = 64 };

/* Each line starts with an address. Users without the right see zeros; but some are zero for every
 * user (per-CPU offsets on x86), so one line is not enough. */
static bool has_address(const char *text, size_t size, bool *in_address)
{
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '\n')
			*in_address = true;
		else if (text[i] == ' ')
			*in_address = false;
		else if (*in_address && text[i] != '0')
			return true;
	}
	return false;
}

static bool shows_addresses(void)
{
	int fd = os_open_read("/proc/kallsyms");
	bool in_address = true, found = false;
	char text[4096];

	for (int i = 0; fd >= 0 && !found && i < MAX_CHUNKS; i++) {
		long n = os_read(fd, text, sizeof(text));

		if (n <= 0)
			break;
		found = has_address(text, (size_t)n, &in_address);
	}
	os_close(fd);
	return found;
}

/** Spec: Linux kernel/ksyms_common.c, kallsyms_show_value(). */
static const char *how_to_see(struct doctor *d, int64_t restricted)
{
	const char *rights = doctor_setcap(d);

	if (restricted > 1 && d->world.caps.is_initial_user_ns)
		return os_caps_has(&d->world.caps, OS_CAP_SYSLOG)
			     ? "sudo sysctl kernel.kptr_restrict=1"
			     : "sudo sysctl kernel.kptr_restrict=1, and then run as root";
	if (restricted > 0)
		return rights;
	return doctor_text(d, "%s, or: sudo sysctl kernel.perf_event_paranoid=1", rights);
}

static void kallsyms(struct doctor *d)
{
	int64_t restricted = -1;

	if (os_sysctl("kernel/kptr_restrict", &restricted))
		doctor_fact(d, "kptr-restrict", "address hiding", "kernel.kptr_restrict = %lld",
			    (long long)restricted);
	if (shows_addresses())
		doctor_yes(d, "kallsyms", "kernel symbols", "/proc/kallsyms");
	else if (!os_exists("/proc/kallsyms"))
		doctor_no(d, "kallsyms", "kernel symbols", NULL,
			  "this kernel is built without CONFIG_KALLSYMS");
	else
		doctor_no(
			d, "kallsyms", "kernel symbols", how_to_see(d, restricted),
			"/proc/kallsyms hides the addresses from this user: kernel functions stay "
			"unnamed");
}

/** Is a file of the distribution's package NAME installed? */
static bool has_package(const char *name, const char *release)
{
	char path[256];

	snprintf(path, sizeof(path), "/var/lib/dpkg/info/%s%s.list", name, release);
	return os_exists(path);
}

static bool is_fedora(const char *release)
{
	char path[256];

	snprintf(path, sizeof(path), "/lib/modules/%s/vmlinuz", release);
	return os_exists("/etc/redhat-release") && os_exists(path);
}

/** A package is named only if the running kernel came from a package of that name. */
static const char *how_to_have_vmlinux(struct doctor *d, const char *release)
{
	if (has_package("linux-image-", release) && !os_exists("/usr/share/doc/ubuntu-keyring"))
		return doctor_text(d, "sudo apt-get install linux-image-%s-dbg", release);
	if (has_package("linux-image-", release))
		return doctor_text(
			d, "sudo apt-get install linux-image-%s-dbgsym, from ddebs.ubuntu.com",
			release);
	if (is_fedora(release))
		return doctor_text(d, "sudo dnf debuginfo-install kernel-core-%s", release);
	return doctor_text(d,
			   "copy the vmlinux this kernel was built with to "
			   "/usr/lib/debug/boot/vmlinux-%s, or: give it to clew report and script "
			   "with -k",
			   release);
}

static void vmlinux(struct doctor *d)
{
	static const char *const patterns[] = {
		"/usr/lib/debug/boot/vmlinux-%s",
		"/usr/lib/debug/lib/modules/%s/vmlinux",
		"/lib/modules/%s/build/vmlinux",
		"/boot/vmlinux-%s",
	};
	char release[128], path[256];

	os_kernel_release(release, sizeof(release));
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		const char *mark = strstr(patterns[i], "%s");

		snprintf(path, sizeof(path), "%.*s%s%s", (int)(mark - patterns[i]), patterns[i],
			 release, mark + 2);
		if (os_exists(path)) {
			doctor_yes(d, "vmlinux", "kernel debug information", "%s", path);
			return;
		}
	}
	doctor_no(d, "vmlinux", "kernel debug information", how_to_have_vmlinux(d, release),
		  "no vmlinux of %s found: kernel functions have no source lines", release);
}

static void debug_dirs(struct doctor *d)
{
	if (os_exists("/usr/lib/debug/.build-id"))
		doctor_yes(d, "debuginfo", "separate debug information",
			   "/usr/lib/debug/.build-id");
	else
		doctor_no(d, "debuginfo", "separate debug information",
			  "install the -dbgsym or -debuginfo packages of what you record",
			  "/usr/lib/debug/.build-id does not exist: stripped libraries show "
			  "exported names only");
}

void doctor_symbols(struct doctor *d)
{
	d->section = "Symbols";
	kallsyms(d);
	vmlinux(d);
	debug_dirs(d);
}
