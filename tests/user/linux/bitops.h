/* SPDX-License-Identifier: GPL-2.0-only */
#include <linux/types.h>
#define __ffs64(x) ((unsigned int)__builtin_ctzll(x))
#define hweight64(x) ((unsigned int)__builtin_popcountll(x))
