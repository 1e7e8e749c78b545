/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_SECURITY_H
#define BASE_SECURITY_H

/** Security states of Arm, numbered as NSE << 1 | NS. Spec: DDI 0487, D1.1 (FEAT_RME). */
enum arm_security { ARM_SECURE, ARM_NONSECURE, ARM_ROOT, ARM_REALM, ARM_SECURITY_UNKNOWN };

#endif
