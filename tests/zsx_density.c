// SPDX-License-Identifier: GPL-2.0-only
/*
 * zsx_density.c - how much memory a pool takes for what it stores
 *
 * Fills a pool with objects whose lengths follow a distribution, then replaces
 * and frees some at random. /sys/kernel/debug/zsx_density/:
 *
 *   do      w  fill COUNT MIX SEED   COUNT objects; into an empty pool
 *              churn COUNT SEED      COUNT times: free one, store a new one
 *              thin COUNT SEED       free COUNT
 *              compact               zsx_compact(); again, it must find nothing
 *              reset                 free all
 *   report  r  one "name value" a line
 *
 * Equal commands do the same on each machine. MIX is one of mixes.h. An object bears its
 * number at both ends, which is looked at when it is freed.
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "command.h"
#include "zsx.h"
#include "mixes.h"

/**
 * struct item - an object in the pool
 * @handle: its handle
 * @number: which one it is of all ever stored; its first and last 8 bytes
 * @len: its length
 */
struct item {
	unsigned long handle;
	u64 number;
	unsigned int len;
};

/* Serialises all calls; guards all below. */
static DEFINE_MUTEX(lock);
static struct zsx_pool *pool;
static struct item *items; /* nr_items of them are in the pool */
static unsigned long nr_items;
static u64 nr_ever;
static unsigned long nr_mismatches;
static const struct mix *mix;
static u8 buffer[PAGE_SIZE], copy[PAGE_SIZE];

static struct dentry *dir;

/* === Objects ============================================================= */

static int store_item(struct item *item, struct rnd_state *rnd)
{
	u64 number = nr_ever++;
	int err;

	item->number = number;
	item->len = mix->len(rnd);
	item->handle = zsx_malloc(pool, item->len, GFP_KERNEL | __GFP_HIGHMEM,
				  NUMA_NO_NODE);
	if (IS_ERR_VALUE(item->handle))
		return (long)item->handle;
	memset(buffer, 0, item->len);
	memcpy(buffer, &number, sizeof(number));
	memcpy(buffer + item->len - sizeof(number), &number, sizeof(number));
	err = zsx_obj_write(pool, item->handle, buffer, item->len);
	if (err)
		zsx_free(pool, item->handle);
	return err;
}

static void free_item(const struct item *item)
{
	u8 *bytes = zsx_obj_read_begin(pool, item->handle, item->len, copy);

	if (!bytes || memcmp(bytes, &item->number, sizeof(item->number)) ||
	    memcmp(bytes + item->len - sizeof(item->number), &item->number,
		   sizeof(item->number)))
		nr_mismatches++;
	zsx_obj_read_end(pool, item->handle, item->len, bytes);
	zsx_free(pool, item->handle);
}

/* === Commands ============================================================ */

static void reset(void)
{
	while (nr_items)
		free_item(&items[--nr_items]);
	vfree(items);
	items = NULL;
}

static int fill(unsigned long count, const char *name, u32 seed)
{
	struct rnd_state rnd;
	int err;

	if (items)
		return -EBUSY;
	mix = mix_of(name);
	if (!mix)
		return -EINVAL;

	items = vmalloc_array(count, sizeof(*items));
	if (!items)
		return -ENOMEM;
	prandom_seed_state(&rnd, seed);
	while (nr_items < count) {
		err = store_item(&items[nr_items], &rnd);
		if (err)
			return err;
		nr_items++;
		cond_resched();
	}
	return 0;
}

/* Free a random one; the last one takes its place in the array. */
static void free_random(struct rnd_state *rnd)
{
	unsigned long i = mix_below(rnd, nr_items);

	free_item(&items[i]);
	items[i] = items[--nr_items];
}

static int churn(unsigned long count, u32 seed)
{
	struct rnd_state rnd;
	int err;

	if (!nr_items)
		return -EINVAL;
	prandom_seed_state(&rnd, seed);
	while (count--) {
		free_random(&rnd);
		err = store_item(&items[nr_items], &rnd);
		if (err)
			return err;
		nr_items++;
		cond_resched();
	}
	return 0;
}

static int thin(unsigned long count, u32 seed)
{
	struct rnd_state rnd;

	if (count > nr_items)
		return -EINVAL;
	prandom_seed_state(&rnd, seed);
	while (count--) {
		free_random(&rnd);
		cond_resched();
	}
	return 0;
}

/* -EIO if it left something for a second call. */
static int compact(void)
{
	struct zsx_pool_stats before, after;

	zsx_compact(pool);
	zsx_pool_stats(pool, &before);
	if (zsx_compact(pool))
		return -EIO;
	zsx_pool_stats(pool, &after);
	return before.objects_copied == after.objects_copied ? 0 : -EIO;
}

static int run(const char *command)
{
	unsigned long count;
	char name[16];
	u32 seed;

	if (sscanf(command, "fill %lu %15s %u", &count, name, &seed) == 3)
		return fill(count, name, seed);
	if (sscanf(command, "churn %lu %u", &count, &seed) == 2)
		return churn(count, seed);
	if (sscanf(command, "thin %lu %u", &count, &seed) == 2)
		return thin(count, seed);
	if (!strcmp(command, "compact"))
		return compact();
	if (strcmp(command, "reset"))
		return -EINVAL;
	reset();
	return 0;
}

static ssize_t do_write(struct file *file, const char __user *from,
			size_t count, loff_t *pos)
{
	return take_command(from, count, &lock, run);
}

static const struct file_operations do_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = do_write,
};

static int report_show(struct seq_file *s, void *unused)
{
	struct zsx_pool_stats stats;
	u64 stored = 0, held;
	unsigned long i;

	mutex_lock(&lock);
	for (i = 0; i < nr_items; i++)
		stored += items[i].len;
	zsx_pool_stats(pool, &stats);
	held = (u64)stats.pages * PAGE_SIZE + stats.handle_bytes +
	       stats.descriptor_bytes + stats.pool_bytes;

	seq_printf(s, "objects %lu\n", nr_items);
	seq_printf(s, "bytes_stored %llu\n", stored);
	seq_printf(s, "pages %lu\n", stats.pages);
	seq_printf(s, "zspages %lu\n", stats.zspages);
	seq_printf(s, "handle_bytes %llu\n", stats.handle_bytes);
	seq_printf(s, "descriptor_bytes %llu\n", stats.descriptor_bytes);
	seq_printf(s, "pool_bytes %llu\n", stats.pool_bytes);
	seq_printf(s, "bytes_held %llu\n", held);
	seq_printf(s, "held_per_10000_stored %llu\n",
		   stored ? div64_u64(held * 10000, stored) : 0);
	seq_printf(s, "mismatches %lu\n", nr_mismatches);
	mutex_unlock(&lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(report);

/* === The module's beginning and end ====================================== */

static int __init density_init(void)
{
	pool = zsx_create_pool("zsx_density");
	if (!pool)
		return -ENOMEM;
	dir = debugfs_create_dir("zsx_density", NULL);
	debugfs_create_file("do", 0200, dir, NULL, &do_fops);
	debugfs_create_file("report", 0444, dir, NULL, &report_fops);
	return 0;
}

static void __exit density_exit(void)
{
	debugfs_remove(dir);
	reset();
	zsx_destroy_pool(pool);
}

module_init(density_init);
module_exit(density_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Measures how densely zsx stores");
MODULE_AUTHOR("The zsx authors");
MODULE_INFO(test, "Y");
