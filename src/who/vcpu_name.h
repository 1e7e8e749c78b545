/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WHO_VCPU_NAME_H
#define WHO_VCPU_NAME_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Is it the name that a virtual machine's monitor gives to the thread of a virtual CPU? Of QEMU,
 * Firecracker, crosvm, kvmtool and others. @p ret: the virtual CPU.
 */
bool who_vcpu_of_name(const char *comm, uint32_t *ret);

#endif
