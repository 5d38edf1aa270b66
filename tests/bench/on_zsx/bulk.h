/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bulk.h - many objects at once, on zsx
 */
#ifndef _ZSX_TESTS_BULK_H_
#define _ZSX_TESTS_BULK_H_

#include <linux/zsmalloc.h>

#define bulk_malloc	zsx_malloc_bulk
#define bulk_free	zsx_free_bulk

#endif /* _ZSX_TESTS_BULK_H_ */
