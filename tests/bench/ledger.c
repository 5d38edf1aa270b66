// SPDX-License-Identifier: GPL-2.0-only
/*
 * ledger.c - remembers the objects of a caller whose frees are to cost nothing
 *
 * See floor/zsmalloc/linux/zsmalloc.h. It remembers too how long objects were asked to be:
 * /sys/kernel/debug/zsx_ledger has a line "length objects" for each length that came.
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "zsx.h"
#include "ledger.h"

struct leaf {
	struct list_head list;
	unsigned int nr;
	unsigned long handles[];
};

#define PER_LEAF	((PAGE_SIZE - sizeof(struct leaf)) / sizeof(unsigned long))

/* Guards all below. Its users store objects, and may sleep. */
static DEFINE_MUTEX(lock);
static LIST_HEAD(leaves); /* the newest first */
static unsigned long lengths[PAGE_SIZE + 1];
static struct dentry *file;

static struct leaf *leaf_with_room(void)
{
	struct leaf *leaf = list_first_entry_or_null(&leaves, struct leaf, list);

	if (leaf && leaf->nr < PER_LEAF)
		return leaf;
	leaf = (struct leaf *)__get_free_page(GFP_NOIO);
	if (leaf) {
		leaf->nr = 0;
		list_add(&leaf->list, &leaves);
	}
	return leaf;
}

/* Of a handle that is an error nothing is noted. */
void zsx_ledger_add(unsigned long handle, size_t size)
{
	struct leaf *leaf;

	if (IS_ERR_VALUE(handle))
		return;
	mutex_lock(&lock);
	lengths[min(size, PAGE_SIZE)]++;
	leaf = leaf_with_room();
	if (!WARN_ON_ONCE(!leaf))
		leaf->handles[leaf->nr++] = handle;
	mutex_unlock(&lock);
}
EXPORT_SYMBOL_GPL(zsx_ledger_add);

void zsx_ledger_free_all(struct zsx_pool *pool)
{
	struct leaf *leaf, *next;

	mutex_lock(&lock);
	list_for_each_entry_safe(leaf, next, &leaves, list) {
		while (leaf->nr)
			zsx_free(pool, leaf->handles[--leaf->nr]);
		list_del(&leaf->list);
		free_page((unsigned long)leaf);
		cond_resched();
	}
	mutex_unlock(&lock);
}
EXPORT_SYMBOL_GPL(zsx_ledger_free_all);

static int lengths_show(struct seq_file *s, void *unused)
{
	unsigned int i;

	mutex_lock(&lock);
	for (i = 0; i <= PAGE_SIZE; i++)
		if (lengths[i])
			seq_printf(s, "%u %lu\n", i, lengths[i]);
	mutex_unlock(&lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(lengths);

static int __init ledger_init(void)
{
	file = debugfs_create_file("zsx_ledger", 0444, NULL, NULL, &lengths_fops);
	return 0;
}

static void __exit ledger_exit(void)
{
	debugfs_remove(file);
}

module_init(ledger_init);
module_exit(ledger_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Remembers objects for a caller whose frees cost nothing");
MODULE_AUTHOR("The zsx authors");
MODULE_INFO(test, "Y");
