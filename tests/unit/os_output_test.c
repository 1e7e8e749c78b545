/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/output.h"
#include "unit/tap.h"

/* The end of an output: what could not be written whole is not left there. */

static const char path[] = "output", old[] = "output.old";

static int begin(struct os_output *o)
{
	int err = os_output_create(o, path);

	return err ? err : os_output_add(o, "text", 4);
}

static bool is_there(const char *name)
{
	return !access(name, F_OK);
}

static int begin_late(struct os_output *o)
{
	int err = os_output_create_late(o, path);

	return err ? err : os_output_add(o, "text", 4);
}

/* With a file at its path; where the file system has no files without a name, it is as above. */
static void check_late(void)
{
	struct os_output o;

	unlink(old);
	CHECK_EQ(begin_late(&o), 0, "late: a new file");
	if (!o.created.is_nameless) {
		SKIP("the file system has no files without a name");
		os_output_discard(&o, path);
		return;
	}
	CHECK(is_there(path) && !is_there(old), "late: what was there stays");
	os_output_discard(&o, path);
	CHECK(is_there(path) && !is_there(old), "late: also afterwards");
	CHECK_EQ(begin_late(&o), 0, "late: a new file");
	CHECK_EQ(os_output_end(&o, path, 0), 0, "late: it is whole");
	CHECK(is_there(path) && is_there(old), "late: what was there is moved away");
	unlink(old);
	mkdir(old, 0700);
	CHECK_EQ(begin_late(&o), 0, "late: what was there cannot be moved away");
	CHECK_EQ(os_output_end(&o, path, 0), -EISDIR, "late: the failure is that");
	CHECK(is_there(path), "late: and it stays");
	rmdir(old);
	unlink(path);
	CHECK_EQ(begin_late(&o), 0, "late: where nothing is");
	CHECK(!is_there(path), "late: nor is it");
	CHECK_EQ(os_output_end(&o, path, 0), 0, "late: it is whole");
	CHECK(is_there(path), "late: the file is there");
}

/* It is /proc that names one later. */
static void check_no_proc(void)
{
	struct os_output o;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/proc", "tmpfs", 0, NULL)) {
		SKIP("not allowed to take /proc away");
		return;
	}
	CHECK_EQ(begin_late(&o), 0, "without /proc: a new file");
	CHECK(!o.created.is_nameless && is_there(path), "without /proc: at its path");
	CHECK_EQ(os_output_end(&o, path, 0), 0, "without /proc: it is whole");
	umount("/proc");
}

int main(void)
{
	char folder[] = "/tmp/os_output_test.XXXXXX";
	const struct rlimit few = {2, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
	struct os_output o;
	int err;

	signal(SIGXFSZ, SIG_IGN);
	if (!mkdtemp(folder) || chdir(folder))
		SKIP_ALL("no folder");
	CHECK_EQ(begin(&o), 0, "a new file");
	CHECK_EQ(os_output_end(&o, path, -ECANCELED), -ECANCELED, "an error stays the answer");
	CHECK(!is_there(path), "and the file is gone");
	CHECK_EQ(begin(&o), 0, "a new file");
	setrlimit(RLIMIT_FSIZE, &few);
	err = os_output_end(&o, path, 0);
	setrlimit(RLIMIT_FSIZE, &all); /* of standard output, too */
	CHECK_EQ(err, -EFBIG, "its end has no room");
	CHECK(!is_there(path), "the file is gone");
	CHECK_EQ(begin(&o), 0, "a new file");
	CHECK_EQ(os_output_end(&o, path, 0), 0, "it is whole");
	CHECK(is_there(path), "the file stays");
	CHECK_EQ(begin(&o), 0, "one that was there");
	CHECK(is_there(old), "it is moved away");
	os_output_discard(&o, path);
	CHECK(is_there(path) && !is_there(old), "and stands there again");
	check_late();
	check_no_proc();
	unlink(path);
	unlink(old);
	rmdir(folder);
	return tap_done();
}
