/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_MAIN_H
#define ELF_MAIN_H

#include "elf/elf_file.h"

/**
 * Link-time address of main() of a program without a symbol for it: what the code at its entry
 * hands to __libc_start_main(), of glibc and musl, on x86-64 and AArch64. @return false: the code
 * is of another form, or its result is no code of the file. Spec: glibc 2.36
 * sysdeps/{x86_64,aarch64}/start.S; musl 1.2.3 crt/crt1.c, arch/x86_64/crt_arch.h (what they do, in
 * compiled form).
 */
bool elf_main_address(const struct elf_file *f, uint64_t *ret);

#endif
