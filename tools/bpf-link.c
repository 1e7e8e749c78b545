// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Usage: bpf-link IN OUT: the BPF object IN as libbpf loads it, without its DWARF: BTF is what the
 * kernel and we read. Part of the build; a third of clew's size otherwise.
 */
#include <bpf/libbpf.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct bpf_linker *linker;
	bool is_linked;

	if (argc != 3) {
		fprintf(stderr, "usage: bpf-link IN OUT\n");
		return 2;
	}
	linker = bpf_linker__new(argv[2], NULL);
	is_linked = linker != NULL && bpf_linker__add_file(linker, argv[1], NULL) == 0 &&
		    bpf_linker__finalize(linker) == 0;
	bpf_linker__free(linker);
	if (!is_linked)
		fprintf(stderr, "bpf-link: %s: libbpf cannot link it\n", argv[1]);
	return is_linked ? 0 : 1;
}
