/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A caller of <linux/zsmalloc.h> runs on zsx unchanged: it finds this header in the
 * place of the kernel's. In the caller's Kbuild:
 *
 *	LINUXINCLUDE := -I$(zsx)/zsmalloc $(LINUXINCLUDE)
 *
 * Names are mapped when the caller is compiled: zsx exports none of zsmalloc's symbols.
 * Which of the two can be loaded beside the other: porting.rst.
 *
 * Signatures differ by kernel version; what is called decides which is meant.
 * zs_malloc() takes a node from 6.16 on and none before. zs_map_object() went
 * when zs_obj_read_begin() came; here a caller finds both.
 */
#ifndef _ZS_MALLOC_H_
#define _ZS_MALLOC_H_

#include <linux/atomic.h>
#include <linux/numa.h>

#include "../../zsx.h"

#define zs_pool			zsx_pool
#define zs_compact		zsx_compact
#define zs_create_pool		zsx_create_pool
#define zs_destroy_pool		zsx_destroy_pool
#define zs_free			zsx_free
#define zs_get_total_pages	zsx_get_total_pages
#define zs_huge_class_size	zsx_huge_class_size
#define zs_lookup_class_index	zsx_lookup_class_index
#define zs_obj_read_begin	zsx_obj_read_begin
#define zs_obj_read_end		zsx_obj_read_end
#define zs_obj_read_sg_begin	zsx_obj_read_sg_begin
#define zs_obj_read_sg_end	zsx_obj_read_sg_end
#define zs_obj_write		zsx_obj_write

#define zs_mapmode		zsx_map_mode
#define ZS_MM_RW		ZSX_MAP_RW
#define ZS_MM_RO		ZSX_MAP_RO
#define ZS_MM_WO		ZSX_MAP_WO
#define zs_map_object		zsx_map_object
#define zs_unmap_object		zsx_unmap_object

/* zs_malloc(pool, size, gfp) or zs_malloc(pool, size, gfp, nid) */
#define zs_malloc(pool, size, ...) \
	__zsx_zs_malloc(pool, size, __VA_ARGS__, NUMA_NO_NODE)
#define __zsx_zs_malloc(pool, size, gfp, nid, ...) \
	zsx_malloc(pool, size, gfp, nid)

/**
 * struct zs_pool_stats - zsmalloc's statistics of a pool
 * @pages_compacted: pages freed by compaction
 */
struct zs_pool_stats {
	atomic_long_t pages_compacted;
};

static inline void zs_pool_stats(struct zsx_pool *pool,
				 struct zs_pool_stats *stats)
{
	struct zsx_pool_stats all;

	zsx_pool_stats(pool, &all);
	atomic_long_set(&stats->pages_compacted, all.pages_compacted);
}

#endif /* _ZS_MALLOC_H_ */
