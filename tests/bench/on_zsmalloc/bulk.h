/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bulk.h - many objects at once, on in-tree zsmalloc: one after the other
 */
#ifndef _ZSX_TESTS_BULK_H_
#define _ZSX_TESTS_BULK_H_

#include <linux/err.h>
#include <linux/zsmalloc.h>

static inline void bulk_free(struct zs_pool *pool, const unsigned long *handles,
			     unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		zs_free(pool, handles[i]);
}

static inline int bulk_malloc(struct zs_pool *pool, const size_t *sizes, unsigned int nr,
			      gfp_t gfp, int nid, unsigned long *handles)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		handles[i] = zs_malloc(pool, sizes[i], gfp, nid);
		if (IS_ERR_VALUE(handles[i])) {
			bulk_free(pool, handles, i);
			return (long)handles[i];
		}
	}
	return 0;
}

#endif /* _ZSX_TESTS_BULK_H_ */
