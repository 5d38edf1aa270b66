/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * compat.h - the only place where kernels differ
 *
 * Kbuild includes it before everything else, and the rest of zsx reads as if
 * written for the newest kernel. Each block names what changed and when; it can
 * go when that kernel is no longer built for. Features are probed where they
 * can be: stable kernels backport, so a version says little.
 */
#ifndef _ZSX_COMPAT_H_
#define _ZSX_COMPAT_H_

/* Before the others, of which an older kernel may lack one. */
#include <linux/version.h>
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "zsx needs Linux 6.1 or newer"
#endif

#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/pgtable.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/stacktrace.h>
#include <linux/timex.h>
#include <linux/vmstat.h>

/*
 * How many bits a physical address can have. Some architectures say the most
 * that any machine can have, others what this build can have; where nobody says
 * (UML, and others without sparse memory), any bit may be set.
 */
#if defined(MAX_POSSIBLE_PHYSMEM_BITS)
#define ZSX_PHYS_BITS	MAX_POSSIBLE_PHYSMEM_BITS
#elif defined(MAX_PHYSMEM_BITS)
#define ZSX_PHYS_BITS	MAX_PHYSMEM_BITS
#else
#define ZSX_PHYS_BITS	BITS_PER_LONG
#endif

/*
 * For tests/bench alone: a clock for single operations. UML has none (get_cycles() is 0, and
 * ktime goes in steps of 256 ns), though the machine below it has.
 */
static inline u64 compat_cycles(void)
{
#ifdef CONFIG_X86_64
	return __builtin_ia32_rdtsc();
#else
	return get_cycles();
#endif
}

/* The zone counter of zspages' pages exists where in-tree zsmalloc does. */
static inline void compat_count_zspage_pages(struct zone *zone, long delta)
{
#if IS_ENABLED(CONFIG_ZSMALLOC)
	mod_zone_page_state(zone, NR_ZSPAGES, delta);
#endif
}

/* v6.14: no word "array" in the name any more. @pages are NULL. Return: how many aren't. */
static inline unsigned int compat_alloc_pages_bulk(gfp_t gfp, int nid, unsigned int nr,
						   struct page **pages)
{
#ifdef alloc_pages_bulk_node
	return alloc_pages_bulk_node(gfp, nid, nr, pages);
#else
	return alloc_pages_bulk_array_node(gfp, nid, nr, pages);
#endif
}

/*
 * v6.17: the operations that migrate a page are its type's, not its own. Before, a
 * page is marked under its lock, and unmarked when it was migrated; from then on a
 * mark stays until the page is freed.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
static inline int compat_movable_register(const struct movable_operations *ops)
{
	return IS_ENABLED(CONFIG_COMPACTION) ? 0 : -EOPNOTSUPP;
}

static inline void compat_movable_unregister(void)
{
}

/* @page is locked. */
static inline void compat_page_mark_movable(struct page *page,
					    const struct movable_operations *ops)
{
	__SetPageMovable(page, ops);
}

/* @page is locked. A page that is kept by others must not name our operations. */
static inline void compat_page_moved_away(struct page *page)
{
	__ClearPageMovable(page);
}
#else
static inline int compat_movable_register(const struct movable_operations *ops)
{
	return set_movable_ops(ops, PGTY_zsmalloc);
}

static inline void compat_movable_unregister(void)
{
	set_movable_ops(NULL, PGTY_zsmalloc);
}

static inline void compat_page_mark_movable(struct page *page,
					    const struct movable_operations *ops)
{
	__SetPageZsmalloc(page);
	SetPageMovableOps(page);
}

static inline void compat_page_moved_away(struct page *page)
{
}
#endif

/*
 * Mark a page that was just allocated. Its lock is free, as who scans for movable pages
 * takes it of marked ones alone, and orders what the page holds before the mark.
 */
static inline bool
compat_page_mark_fresh_movable(struct page *page,
			       const struct movable_operations *ops)
{
	if (WARN_ON_ONCE(!trylock_page(page)))
		return false;
	compat_page_mark_movable(page, ops);
	unlock_page(page);
	return true;
}

/*
 * v6.7: shrinkers are allocated, and bear a pointer of their owner's. Before, they
 * are a part of the owner's structure.
 */
struct compat_shrinker {
	struct shrinker *shrinker;
	void *private_data;
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	struct shrinker own;
#endif
};

static inline void *compat_shrinker_private(struct shrinker *shrinker)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	return container_of(shrinker, struct compat_shrinker, own)->private_data;
#else
	return shrinker->private_data;
#endif
}

/* Return: NULL if memory is short. */
static inline struct compat_shrinker *
compat_shrinker_register(unsigned long (*count)(struct shrinker *,
						struct shrink_control *),
			 unsigned long (*scan)(struct shrinker *,
					       struct shrink_control *),
			 void *private_data, const char *kind, const char *name)
{
	struct compat_shrinker *cs = kzalloc(sizeof(*cs), GFP_KERNEL);

	if (!cs)
		return NULL;
	cs->private_data = private_data;
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	cs->shrinker = &cs->own;
	cs->shrinker->seeks = DEFAULT_SEEKS;
#else
	cs->shrinker = shrinker_alloc(0, "%s:%s", kind, name);
	if (!cs->shrinker) {
		kfree(cs);
		return NULL;
	}
	cs->shrinker->private_data = private_data;
#endif
	cs->shrinker->count_objects = count;
	cs->shrinker->scan_objects = scan;
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	if (register_shrinker(cs->shrinker, "%s:%s", kind, name)) {
		kfree(cs);
		return NULL;
	}
#else
	shrinker_register(cs->shrinker);
#endif
	return cs;
}

/* Waits for scans that run. */
static inline void compat_shrinker_unregister(struct compat_shrinker *cs)
{
	if (!cs)
		return;
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	unregister_shrinker(cs->shrinker);
#else
	shrinker_free(cs->shrinker);
#endif
	kfree(cs);
}

/* Where the kernel can't tell its callers, there are none. Return: how many. */
static inline unsigned int compat_stack_save(unsigned long *frames, unsigned int most,
					     unsigned int skip)
{
#ifdef CONFIG_STACKTRACE
	return stack_trace_save(frames, most, skip);
#else
	return 0;
#endif
}

static inline void compat_stack_print(const unsigned long *frames, unsigned int nr)
{
#ifdef CONFIG_STACKTRACE
	stack_trace_print(frames, nr, 2);
#endif
}

/* v6.5. Before, slab merges what it likes, unless booted with slab_nomerge. */
#ifndef SLAB_NO_MERGE
#define SLAB_NO_MERGE	0
#endif

/* v6.10: __string() keeps what it was given. To be used in tracepoints' headers only. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define compat_assign_str(dst, src)	__assign_str(dst, src)
#else
#define compat_assign_str(dst, src)	__assign_str(dst)
#endif

/* v6.13: a symbol namespace became a string. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define COMPAT_IMPORT_KUNIT_NS()	MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING)
#else
#define COMPAT_IMPORT_KUNIT_NS()	MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING")
#endif

/*
 * v6.3: KUnit's static stubs, and a static branch that is on while a test runs. A kernel
 * without KUnit has nothing to redirect to.
 */
#if IS_ENABLED(CONFIG_KUNIT) && LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
#include <kunit/static_stub.h>
static __always_inline bool compat_kunit_running(void)
{
	return static_branch_unlikely(&kunit_running);
}
#else
#define KUNIT_STATIC_STUB_REDIRECT(real_fn_name, args...) do {} while (0)
static __always_inline bool compat_kunit_running(void)
{
	return false;
}
#endif

#endif /* _ZSX_COMPAT_H_ */
