/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * zsx_trace.h - tracepoints: what happens to pools, zspages and pages
 *
 * Where something is rare enough to be told of one by one: pools, zspages, compaction,
 * page migration. Not malloc, free and access: they are functions of their own, and
 * can be traced as such (fprobe, kprobe) at no cost of ours. None is inside class->lock.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM zsx

#if !defined(_ZSX_TRACE_H_) || defined(TRACE_HEADER_MULTI_READ)
#define _ZSX_TRACE_H_

#include <linux/tracepoint.h>

#include "zsx_internal.h"

DECLARE_EVENT_CLASS(zsx_pool,
	TP_PROTO(const struct zsx_pool *pool),
	TP_ARGS(pool),
	TP_STRUCT__entry(
		__string(pool, pool->name)
	),
	TP_fast_assign(
		compat_assign_str(pool, pool->name);
	),
	TP_printk("pool=%s", __get_str(pool))
);

DEFINE_EVENT(zsx_pool, zsx_pool_create,
	TP_PROTO(const struct zsx_pool *pool),
	TP_ARGS(pool)
);

DEFINE_EVENT(zsx_pool, zsx_pool_destroy,
	TP_PROTO(const struct zsx_pool *pool),
	TP_ARGS(pool)
);

/* A descriptor, made and ended: its pages come and go in between. */
DECLARE_EVENT_CLASS(zsx_zspage,
	TP_PROTO(const struct zsx_zspage *zspage),
	TP_ARGS(zspage),
	TP_STRUCT__entry(
		__string(pool, zspage->class->pool->name)
		__field(unsigned int, size)
		__field(const void *, zspage)
	),
	TP_fast_assign(
		compat_assign_str(pool, zspage->class->pool->name);
		__entry->size = zspage->class->geo->size;
		__entry->zspage = zspage;
	),
	TP_printk("pool=%s size=%u zspage=%p", __get_str(pool), __entry->size,
		  __entry->zspage)
);

DEFINE_EVENT(zsx_zspage, zsx_zspage_build,
	TP_PROTO(const struct zsx_zspage *zspage),
	TP_ARGS(zspage)
);

DEFINE_EVENT(zsx_zspage, zsx_zspage_free,
	TP_PROTO(const struct zsx_zspage *zspage),
	TP_ARGS(zspage)
);

/* One class is done. @freed: may be below 0, if others stored meanwhile. */
TRACE_EVENT(zsx_compact_class,
	TP_PROTO(const struct zsx_class *class, long freed, unsigned long copied,
		 unsigned long skipped, u64 longest_hold),
	TP_ARGS(class, freed, copied, skipped, longest_hold),
	TP_STRUCT__entry(
		__string(pool, class->pool->name)
		__field(unsigned int, size)
		__field(long, freed)
		__field(unsigned long, copied)
		__field(unsigned long, skipped)
		__field(u64, longest_hold)
	),
	TP_fast_assign(
		compat_assign_str(pool, class->pool->name);
		__entry->size = class->geo->size;
		__entry->freed = freed;
		__entry->copied = copied;
		__entry->skipped = skipped;
		__entry->longest_hold = longest_hold;
	),
	TP_printk("pool=%s size=%u pages_freed=%ld objects_copied=%lu zspages_skipped=%lu longest_hold_ns=%llu",
		  __get_str(pool), __entry->size, __entry->freed, __entry->copied,
		  __entry->skipped, (unsigned long long)__entry->longest_hold)
);

/* All classes are done, or @wanted pages are free; 0: as many as could be had. */
TRACE_EVENT(zsx_compact,
	TP_PROTO(const struct zsx_pool *pool, long wanted, unsigned long freed),
	TP_ARGS(pool, wanted, freed),
	TP_STRUCT__entry(
		__string(pool, pool->name)
		__field(long, wanted)
		__field(unsigned long, freed)
	),
	TP_fast_assign(
		compat_assign_str(pool, pool->name);
		__entry->wanted = wanted;
		__entry->freed = freed;
	),
	TP_printk("pool=%s pages_wanted=%ld pages_freed=%lu", __get_str(pool),
		  __entry->wanted, __entry->freed)
);

/* @err: 0: page @src was replaced by @dst; else why not, for now. */
TRACE_EVENT(zsx_migrate_page,
	TP_PROTO(const struct zsx_zspage *zspage, const struct page *src,
		 const struct page *dst, int err),
	TP_ARGS(zspage, src, dst, err),
	TP_STRUCT__entry(
		__string(pool, zspage->class->pool->name)
		__field(unsigned int, size)
		__field(const void *, zspage)
		__field(unsigned long, src)
		__field(unsigned long, dst)
		__field(int, err)
	),
	TP_fast_assign(
		compat_assign_str(pool, zspage->class->pool->name);
		__entry->size = zspage->class->geo->size;
		__entry->zspage = zspage;
		__entry->src = page_to_pfn(src);
		__entry->dst = page_to_pfn(dst);
		__entry->err = err;
	),
	TP_printk("pool=%s size=%u zspage=%p pfn=0x%lx to=0x%lx err=%d", __get_str(pool),
		  __entry->size, __entry->zspage, __entry->src, __entry->dst, __entry->err)
);

#endif /* _ZSX_TRACE_H_ */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE zsx_trace
#include <trace/define_trace.h>
