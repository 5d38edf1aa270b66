/* SPDX-License-Identifier: GPL-2.0-only */
/* What zsx's pure parts need of <linux/types.h>, for user space. */
#ifndef _TESTS_LINUX_TYPES_H
#define _TESTS_LINUX_TYPES_H
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define __aligned(n) __attribute__((aligned(n)))
#endif
