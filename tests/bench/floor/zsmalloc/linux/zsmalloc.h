/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For a caller of <linux/zsmalloc.h> whose frees are to cost nothing: zsx, but zs_free() is
 * no code at all. Objects are in a ledger, and are freed with the pool. What the caller's
 * frees still take is its own: the floor below any allocator. One pool at a time.
 */
#ifndef _ZSX_TESTS_FLOOR_H_
#define _ZSX_TESTS_FLOOR_H_

#include "../../../../../zsmalloc/linux/zsmalloc.h"
#include "../../../ledger.h"

static inline unsigned long zsx_floor_malloc(struct zsx_pool *pool, size_t size, gfp_t gfp,
					     int nid)
{
	unsigned long handle = zsx_malloc(pool, size, gfp, nid);

	zsx_ledger_add(handle, size);
	return handle;
}

static inline void zsx_floor_free(struct zsx_pool *pool, unsigned long handle)
{
}

static inline void zsx_floor_destroy_pool(struct zsx_pool *pool)
{
	zsx_ledger_free_all(pool);
	zsx_destroy_pool(pool);
}

#undef __zsx_zs_malloc
#define __zsx_zs_malloc(pool, size, gfp, nid, ...) \
	zsx_floor_malloc(pool, size, gfp, nid)
#undef zs_free
#define zs_free			zsx_floor_free
#undef zs_destroy_pool
#define zs_destroy_pool		zsx_floor_destroy_pool

#endif /* _ZSX_TESTS_FLOOR_H_ */
