// SPDX-License-Identifier: GPL-2.0-only
/*
 * zsx_pool.c - a pool's life, and what it tells of itself
 *
 * A pool is its size classes and little else: nothing in it is shared by all classes but
 * the counters. What it tells is summed up class by class, each under its own lock.
 */
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/kmemleak.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "zsx_internal.h"
#define CREATE_TRACE_POINTS
#include "zsx_trace.h"

/* === A pool's life ======================================================= */

static size_t pool_bytes(const struct zsx_pool *pool)
{
	return PAGE_ALIGN(struct_size(pool, classes, pool->nr_classes));
}

/* Whole pages, so that nothing is lost; in the direct map where that can be had. */
static struct zsx_pool *pool_alloc(unsigned int nr_classes)
{
	struct zsx_pool *pool;
	size_t bytes = struct_size(pool, classes, nr_classes);

	pool = alloc_pages_exact(bytes, GFP_KERNEL | __GFP_ZERO | __GFP_NORETRY |
				 __GFP_NOWARN);
	/* What only the pool names would be a leak to kmemleak, which skips pages. */
	if (pool)
		kmemleak_alloc(pool, bytes, 1, GFP_KERNEL);
	else
		pool = vzalloc(bytes);
	if (pool)
		pool->nr_classes = nr_classes;
	return pool;
}

static void pool_free(struct zsx_pool *pool)
{
	if (is_vmalloc_addr(pool)) {
		vfree(pool);
		return;
	}
	kmemleak_free(pool);
	free_pages_exact(pool, pool_bytes(pool));
}

static void class_init(struct zsx_class *class, struct zsx_pool *pool,
		       const struct zsx_geometry *geo)
{
	unsigned int group;

	spin_lock_init(&class->lock);
	class->pool = pool;
	class->geo = geo;
	for (group = 0; group < ZSX_NR_GROUPS; group++)
		INIT_LIST_HEAD(&class->groups[group]);
}

struct zsx_pool *zsx_create_pool(const char *name)
{
	struct zsx_pool *pool;
	unsigned int i;

	if (!name || !*name) {
		pr_err("zsx: a pool needs a name\n");
		return NULL;
	}
	if (!zsx_is_ready) {
		pr_err("zsx: no pool %s: zsx could not start\n", name);
		return NULL;
	}

	pool = pool_alloc(zsx_classes.nr_classes);
	if (!pool)
		return NULL;
	pool->name = kstrdup(name, GFP_KERNEL);
	if (!pool->name) {
		pool_free(pool);
		return NULL;
	}
	for (i = 0; i < pool->nr_classes; i++)
		class_init(&pool->classes[i], pool, &zsx_classes.geo[i]);

	/* The caller's use of our symbols holds us already: this can't fail. */
	__module_get(THIS_MODULE);
	zsx_shrinker_add(pool);
	zsx_debugfs_add(pool);
	trace_zsx_pool_create(pool);
	return pool;
}
EXPORT_SYMBOL_GPL(zsx_create_pool);

/* Whether the caller left objects behind; says so. */
static bool report_leak(struct zsx_pool *pool)
{
	unsigned long objects, total = 0, most = 0;
	unsigned int i, where = 0, nr_classes = 0;

	for (i = 0; i < pool->nr_classes; i++) {
		objects = zsx_class_objects(&pool->classes[i]);
		total += objects;
		nr_classes += !!objects;
		if (objects > most) {
			most = objects;
			where = i;
		}
	}
	if (total)
		pr_err("zsx: pool %s destroyed with %lu live objects in %u classes, %lu of them in class %u of %u bytes; it is kept\n",
		       pool->name, total, nr_classes, most, where,
		       pool->classes[where].geo->size);
	return total;
}

/* Without objects, those with isolated pages. */
static bool has_zspages(struct zsx_pool *pool)
{
	unsigned long zspages = 0;
	unsigned int i;

	for (i = 0; i < pool->nr_classes && !zspages; i++) {
		spin_lock(&pool->classes[i].lock);
		zspages = zsx_class_zspages(&pool->classes[i]);
		spin_unlock(&pool->classes[i].lock);
	}
	return zspages;
}

void zsx_destroy_pool(struct zsx_pool *pool)
{
	if (!pool)
		return;
	zsx_debugfs_remove(pool);
	zsx_shrinker_remove(pool);
	if (report_leak(pool))
		return;

	/* Pages are isolated for a moment, and then put back by others. */
	while (has_zspages(pool))
		msleep(1);
	/* Whoever looks at a class of ours, in RCU, by a stale descriptor is done then. */
	synchronize_rcu();
	trace_zsx_pool_destroy(pool);
	kfree(pool->name);
	pool_free(pool);
	module_put(THIS_MODULE);
}
EXPORT_SYMBOL_GPL(zsx_destroy_pool);

/* === What a pool tells =================================================== */

unsigned long zsx_get_total_pages(struct zsx_pool *pool)
{
	return atomic_long_read(&pool->nr_pages);
}
EXPORT_SYMBOL_GPL(zsx_get_total_pages);

size_t zsx_huge_class_size(struct zsx_pool *pool)
{
	return zsx_classes.huge_size;
}
EXPORT_SYMBOL_GPL(zsx_huge_class_size);

unsigned int zsx_lookup_class_index(struct zsx_pool *pool, unsigned int size)
{
	return zsx_class_of_size(&zsx_classes, clamp(size, 1U, (unsigned int)PAGE_SIZE));
}
EXPORT_SYMBOL_GPL(zsx_lookup_class_index);

/**
 * zsx_class_fewest_pages() - how few pages could hold a class's objects
 * @class: the class, its lock held
 *
 * m objects need m / n whole zspages, and of one more the pages that its first
 * m % n slots touch: no set of pages holds more slots than the first ones do.
 *
 * Return: The number of pages.
 */
unsigned long zsx_class_fewest_pages(const struct zsx_class *class)
{
	const struct zsx_geometry *geo = class->geo;
	unsigned long objects = zsx_class_objects(class);
	unsigned int rest = objects % geo->nr_objects;
	unsigned long pages = objects / geo->nr_objects * geo->nr_pages;

	lockdep_assert_held(&class->lock);

	if (rest)
		pages += zsx_last_page(geo, rest - 1, PAGE_SHIFT) + 1;
	return pages;
}
EXPORT_SYMBOL_IF_KUNIT(zsx_class_fewest_pages);

static void add_class_stats(struct zsx_class *class, struct zsx_pool_stats *stats)
{
	unsigned long zspages;

	spin_lock(&class->lock);
	zspages = zsx_class_zspages(class);
	stats->objects += zsx_class_objects(class);
	stats->pages += zsx_class_pages(class);
	stats->zspages += zspages;
	stats->descriptor_bytes += (u64)zspages * class->geo->desc_size;
	stats->bytes_in_classes += (u64)zsx_class_objects(class) * class->geo->size;
	stats->mallocs += class->mallocs;
	stats->bytes_asked += class->bytes_asked;
	stats->frees += class->frees;
	stats->pages_brought += class->pages_brought;
	stats->pages_given_back += class->pages_given_back;
	spin_unlock(&class->lock);
}

static u64 compaction_counter(const struct zsx_pool *pool,
			      enum zsx_compaction_counter i)
{
	return atomic_long_read(&pool->compaction[i]);
}

void zsx_pool_stats(struct zsx_pool *pool, struct zsx_pool_stats *stats)
{
	unsigned int i;

	*stats = (struct zsx_pool_stats) {
		.pool_bytes = pool_bytes(pool),
		.pins_retried = atomic_long_read(&pool->pins_retried),
		.pages_migrated = atomic_long_read(&pool->pages_migrated),
		.migrations_refused = atomic_long_read(&pool->migrations_refused),
		.pages_compacted = compaction_counter(pool, ZSX_PAGES_COMPACTED),
		.objects_copied = compaction_counter(pool, ZSX_OBJECTS_COPIED),
		.source_steps = compaction_counter(pool, ZSX_SOURCE_STEPS),
		.source_pages_emptied =
			compaction_counter(pool, ZSX_SOURCE_PAGES_EMPTIED),
		.zspages_freed = compaction_counter(pool, ZSX_ZSPAGES_FREED),
		.skipped_busy = compaction_counter(pool, ZSX_SKIPPED_BUSY),
		.longest_hold_ns = atomic_long_read(&pool->longest_hold),
	};
	for (i = 0; i < pool->nr_classes; i++)
		add_class_stats(&pool->classes[i], stats);
	stats->handle_bytes = (u64)stats->objects * sizeof(struct zsx_handle);
}
EXPORT_SYMBOL_GPL(zsx_pool_stats);
