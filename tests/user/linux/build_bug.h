/* SPDX-License-Identifier: GPL-2.0-only */
#include <linux/types.h>
/* The kernel's static_assert() takes the message as an option, like C2x's. */
#undef static_assert
#define static_assert(...) _Static_assert(__VA_ARGS__)
