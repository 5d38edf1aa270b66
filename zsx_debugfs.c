// SPDX-License-Identifier: GPL-2.0-only
/*
 * zsx_debugfs.c - what people look at: /sys/kernel/debug/zsx/<pool>/
 *
 *   classes  a line a size class, with the columns of in-tree zsmalloc's file of
 *            that name: what reads one reads the other
 *   lengths  a line a size class: what it was asked for, which classes has no column for
 *   stats    the pool's counters, one "name value" a line
 *   check    recounts all from the descriptors, and says "ok" or what is wrong
 *
 * Numbers are copied under the lock of their class, and printed after it.
 */
#include <linux/dcache.h>
#include <linux/debugfs.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "zsx_internal.h"

static struct dentry *root;

/* === classes ============================================================= */

/* zsmalloc's columns: up to 10 %, 20 % .. 90 %, 99 % in use, and full. */
#define NR_COLUMNS	(ZSX_NR_RATIOS + 1)

struct class_numbers {
	unsigned long zspages[NR_COLUMNS];
	unsigned long obj_allocated;
	unsigned long obj_used;
	unsigned long pages_used;
	unsigned long freeable;
};

/*
 * A growable zspage has no free slot on the pages that it holds, but isn't full:
 * what zsmalloc's column of 99 % is for.
 */
static void copy_numbers(struct zsx_class *class, struct class_numbers *n)
{
	unsigned int group;

	spin_lock(&class->lock);
	for (group = 0; group < ZSX_NR_RATIOS; group++)
		n->zspages[group] = class->nr_zspages[group];
	n->zspages[ZSX_NR_RATIOS - 1] += class->nr_zspages[ZSX_GROWABLE];
	n->zspages[ZSX_NR_RATIOS] = class->nr_zspages[ZSX_FULL];
	n->obj_allocated = class->capacity;
	n->obj_used = zsx_class_objects(class);
	n->pages_used = zsx_class_pages(class);
	n->freeable = n->pages_used - zsx_class_fewest_pages(class);
	spin_unlock(&class->lock);
}

static void add_numbers(struct class_numbers *sum, const struct class_numbers *n)
{
	unsigned int i;

	for (i = 0; i < NR_COLUMNS; i++)
		sum->zspages[i] += n->zspages[i];
	sum->obj_allocated += n->obj_allocated;
	sum->obj_used += n->obj_used;
	sum->pages_used += n->pages_used;
	sum->freeable += n->freeable;
}

static void print_zspages(struct seq_file *s, const struct class_numbers *n)
{
	unsigned int i;

	for (i = 0; i < NR_COLUMNS; i++)
		seq_printf(s, "%9lu ", n->zspages[i]);
	seq_printf(s, "%13lu %10lu %10lu ", n->obj_allocated, n->obj_used,
		   n->pages_used);
}

static int classes_show(struct seq_file *s, void *unused)
{
	struct zsx_pool *pool = s->private;
	struct class_numbers sum = {};
	unsigned int i;

	seq_printf(s, " %5s %5s ", "class", "size");
	for (i = 1; i < ZSX_NR_RATIOS; i++)
		seq_printf(s, "%8u%% ", i * 100 / ZSX_NR_RATIOS);
	seq_printf(s, "%9s %9s %13s %10s %10s %16s %8s\n", "99%", "100%",
		   "obj_allocated", "obj_used", "pages_used", "pages_per_zspage",
		   "freeable");

	for (i = 0; i < pool->nr_classes; i++) {
		struct zsx_class *class = &pool->classes[i];
		struct class_numbers n;

		copy_numbers(class, &n);
		seq_printf(s, " %5u %5u ", i, class->geo->size);
		print_zspages(s, &n);
		seq_printf(s, "%16u %8lu\n", class->geo->nr_pages, n.freeable);
		add_numbers(&sum, &n);
	}

	seq_printf(s, "\n %5s %5s ", "Total", "");
	print_zspages(s, &sum);
	seq_printf(s, "%16s %8lu\n", "", sum.freeable);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(classes);

/* === lengths ============================================================= */

/*
 * Of all that was ever stored. How long the objects are that are left, nobody knows once
 * some were freed: a free doesn't say it.
 */
static int lengths_show(struct seq_file *s, void *unused)
{
	struct zsx_pool *pool = s->private;
	unsigned int i;

	seq_printf(s, " %5s %5s %15s %15s %19s\n", "class", "size", "mallocs", "frees",
		   "bytes_asked");
	for (i = 0; i < pool->nr_classes; i++) {
		struct zsx_class *class = &pool->classes[i];
		u64 mallocs, frees, bytes_asked;

		spin_lock(&class->lock);
		mallocs = class->mallocs;
		frees = class->frees;
		bytes_asked = class->bytes_asked;
		spin_unlock(&class->lock);
		seq_printf(s, " %5u %5u %15llu %15llu %19llu\n", i, class->geo->size,
			   mallocs, frees, bytes_asked);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(lengths);

/* === stats =============================================================== */

static int stats_show(struct seq_file *s, void *unused)
{
	struct zsx_pool_stats stats;

	zsx_pool_stats(s->private, &stats);
	seq_printf(s, "objects %lu\n", stats.objects);
	seq_printf(s, "pages %lu\n", stats.pages);
	seq_printf(s, "zspages %lu\n", stats.zspages);
	seq_printf(s, "handle_bytes %llu\n", stats.handle_bytes);
	seq_printf(s, "descriptor_bytes %llu\n", stats.descriptor_bytes);
	seq_printf(s, "pool_bytes %llu\n", stats.pool_bytes);
	seq_printf(s, "bytes_in_classes %llu\n", stats.bytes_in_classes);
	seq_printf(s, "mallocs %llu\n", stats.mallocs);
	seq_printf(s, "bytes_asked %llu\n", stats.bytes_asked);
	seq_printf(s, "frees %llu\n", stats.frees);
	seq_printf(s, "pages_brought %llu\n", stats.pages_brought);
	seq_printf(s, "pages_given_back %llu\n", stats.pages_given_back);
	seq_printf(s, "pins_retried %llu\n", stats.pins_retried);
	seq_printf(s, "movable %d\n", zsx_movable);
	seq_printf(s, "pages_migrated %llu\n", stats.pages_migrated);
	seq_printf(s, "migrations_refused %llu\n", stats.migrations_refused);
	seq_printf(s, "pages_compacted %llu\n", stats.pages_compacted);
	seq_printf(s, "objects_copied %llu\n", stats.objects_copied);
	seq_printf(s, "source_steps %llu\n", stats.source_steps);
	seq_printf(s, "source_pages_emptied %llu\n", stats.source_pages_emptied);
	seq_printf(s, "zspages_freed %llu\n", stats.zspages_freed);
	seq_printf(s, "skipped_busy %llu\n", stats.skipped_busy);
	seq_printf(s, "longest_hold_ns %llu\n", stats.longest_hold_ns);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

/* === check =============================================================== */

/*
 * Holds each class's lock for a walk of all its zspages: on request, for tests. The
 * pool's count of pages is the sum of the classes' only while nobody mallocs or frees.
 */
static int check_show(struct seq_file *s, void *unused)
{
	struct zsx_pool *pool = s->private;
	unsigned long pages = 0;
	unsigned int i;

	for (i = 0; i < pool->nr_classes; i++) {
		struct zsx_class *class = &pool->classes[i];
		const char *broken = zsx_class_check(class);

		if (broken) {
			seq_printf(s, "class %u: %s\n", i, broken);
			return 0;
		}
		spin_lock(&class->lock);
		pages += zsx_class_pages(class);
		spin_unlock(&class->lock);
		cond_resched();
	}
	if (pages != zsx_get_total_pages(pool))
		seq_printf(s, "the pool's pages: %lu, the classes' %lu\n",
			   zsx_get_total_pages(pool), pages);
	else
		seq_puts(s, "ok\n");
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(check);

/* === Directories ========================================================= */

static bool is_taken(const char *name)
{
	struct dentry *dir = debugfs_lookup(name, root);

	if (IS_ERR_OR_NULL(dir))
		return false;
	dput(dir);
	return true;
}

/* "name", or "name.2" and so on where that is taken: debugfs logs an error if it is. */
static struct dentry *create_dir(const char *name)
{
	static DEFINE_MUTEX(lock); /* from looking to taking; and nr_taken */
	static unsigned int nr_taken = 1;
	struct dentry *dir;
	char *other = NULL;

	mutex_lock(&lock);
	if (is_taken(name))
		other = kasprintf(GFP_KERNEL, "%s.%u", name, ++nr_taken);
	dir = debugfs_create_dir(other ?: name, root);
	mutex_unlock(&lock);
	kfree(other);
	return dir;
}

/* Without debugfs, or under a name it refuses, a pool works all the same. */
void zsx_debugfs_add(struct zsx_pool *pool)
{
	char *name = kstrdup(pool->name, GFP_KERNEL);

	pool->debugfs = ERR_PTR(-ENOMEM);
	if (!name)
		return;
	strreplace(name, '/', '!');
	pool->debugfs = create_dir(name);
	kfree(name);
	debugfs_create_file("classes", 0444, pool->debugfs, pool, &classes_fops);
	debugfs_create_file("lengths", 0444, pool->debugfs, pool, &lengths_fops);
	debugfs_create_file("stats", 0444, pool->debugfs, pool, &stats_fops);
	debugfs_create_file("check", 0400, pool->debugfs, pool, &check_fops);
}

void zsx_debugfs_remove(struct zsx_pool *pool)
{
	debugfs_remove(pool->debugfs);
}

void zsx_debugfs_init(void)
{
	root = debugfs_create_dir("zsx", NULL);
}

void zsx_debugfs_exit(void)
{
	debugfs_remove(root);
}
