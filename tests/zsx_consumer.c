// SPDX-License-Identifier: GPL-2.0-only
/*
 * zsx_consumer.c - a user of zsx, as one would write it
 *
 * Stores what is written to a file in debugfs page by page, compressed, and
 * reads every page back by each of zsx's ways. /sys/kernel/debug/zsx_consumer/:
 *
 *   store   w  cat FILE >store: each page of FILE becomes an object, and is
 *              verified when the file is closed
 *   verify  w  1: verify all objects; the write fails if one isn't intact
 *   free    w  all, half (every other object), half-random SEED
 *   reset   w  1: free all, and count from 0 again
 *   report  r  a sentence, then one "name value" a line
 */
#include <linux/crc32c.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/list.h>
#include <linux/lzo.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/prandom.h>
#include <linux/scatterlist.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "command.h"
#include "zsx.h"

static char *pool_name = "zsx_consumer";
module_param_named(pool, pool_name, charp, 0444);
MODULE_PARM_DESC(pool, "name of the pool (default zsx_consumer)");

/* LZO may make a page longer. */
#define BUFFER_SIZE	lzo1x_worst_compress(PAGE_SIZE)

/**
 * struct stored_page - what is kept of a page outside the pool
 * @list: in @stored, oldest first
 * @handle: the object that its bytes are in
 * @len: length of the object. PAGE_SIZE: not compressed.
 * @file_len: how many of the page's bytes came from the file; zeroes follow
 * @crc: CRC32C of the page
 * @checked: whether the file it came with has been verified
 */
struct stored_page {
	struct list_head list;
	unsigned long handle;
	unsigned int len;
	unsigned int file_len;
	u32 crc;
	bool checked;
};

/* The ways to read an object. */
enum way {
	BY_READ,	/* zsx_obj_read_begin() */
	BY_SG,		/* zsx_obj_read_sg_begin() */
	BY_MAP,		/* zsx_map_object() */
	NR_WAYS,
};

/* Serialises all calls; guards all below. */
static DEFINE_MUTEX(lock);
static struct zsx_pool *pool;
static LIST_HEAD(stored);
static unsigned long nr_files;
static unsigned long nr_verified[NR_WAYS];
static unsigned long nr_mismatches;

/* For one page at a time. */
static u8 *object_buffer, *page_buffer, *lzo_memory;

static struct dentry *dir;

/* === A page goes in ====================================================== */

/* Return: the bytes to store for @page, and how many they are. */
static const u8 *compress(const u8 *page, unsigned int *len)
{
	size_t compressed = BUFFER_SIZE;
	int err = lzo1x_1_compress(page, PAGE_SIZE, object_buffer, &compressed,
				   lzo_memory);

	/* What doesn't shrink below this takes a whole page in any case. */
	if (err != LZO_E_OK || compressed >= zsx_huge_class_size(pool)) {
		*len = PAGE_SIZE;
		return page;
	}
	*len = compressed;
	return object_buffer;
}

static int store_page(const u8 *page, unsigned int file_len)
{
	struct stored_page *p = kzalloc(sizeof(*p), GFP_KERNEL);
	const u8 *bytes;
	int err;

	if (!p)
		return -ENOMEM;
	bytes = compress(page, &p->len);
	p->file_len = file_len;
	p->crc = crc32c(~0, page, PAGE_SIZE);
	p->handle = zsx_malloc(pool, p->len,
			       GFP_KERNEL | __GFP_HIGHMEM | __GFP_MOVABLE,
			       NUMA_NO_NODE);
	if (IS_ERR_VALUE(p->handle)) {
		err = (long)p->handle;
		goto free_page;
	}
	err = zsx_obj_write(pool, p->handle, bytes, p->len);
	if (err)
		goto free_object;
	list_add_tail(&p->list, &stored);
	return 0;

free_object:
	zsx_free(pool, p->handle);
free_page:
	kfree(p);
	return err;
}

/* === A page comes out ==================================================== */

/* Whether the @len bytes at @bytes are the object of @p. */
static bool is_intact(const struct stored_page *p, const u8 *bytes)
{
	size_t page_len = PAGE_SIZE;

	if (p->len == PAGE_SIZE)
		return crc32c(~0, bytes, PAGE_SIZE) == p->crc;
	return lzo1x_decompress_safe(bytes, p->len, page_buffer,
				     &page_len) == LZO_E_OK &&
	       page_len == PAGE_SIZE &&
	       crc32c(~0, page_buffer, PAGE_SIZE) == p->crc;
}

static bool verify_by_read(const struct stored_page *p)
{
	void *bytes = zsx_obj_read_begin(pool, p->handle, p->len, object_buffer);
	bool intact = bytes && is_intact(p, bytes);

	zsx_obj_read_end(pool, p->handle, p->len, bytes);
	return intact;
}

/* Where a driver would hand the scatterlist on, this one copies. */
static bool verify_by_sg(const struct stored_page *p)
{
	struct scatterlist sg[2];
	size_t len;

	zsx_obj_read_sg_begin(pool, p->handle, sg, p->len);
	len = sg_copy_to_buffer(sg, sg_nents(sg), object_buffer, p->len);
	zsx_obj_read_sg_end(pool, p->handle);
	return len == p->len && is_intact(p, object_buffer);
}

static bool verify_by_map(const struct stored_page *p)
{
	void *bytes = zsx_map_object(pool, p->handle, ZSX_MAP_RO);
	bool intact;

	if (!bytes)
		return false;
	intact = is_intact(p, bytes);
	zsx_unmap_object(pool, p->handle);
	return intact;
}

static int verify_page(const struct stored_page *p)
{
	static bool (*const verify_by[NR_WAYS])(const struct stored_page *p) = {
		[BY_READ] = verify_by_read,
		[BY_SG] = verify_by_sg,
		[BY_MAP] = verify_by_map,
	};
	enum way way;
	int err = 0;

	for (way = 0; way < NR_WAYS; way++) {
		if (verify_by[way](p)) {
			nr_verified[way]++;
		} else {
			nr_mismatches++;
			err = -EIO;
		}
	}
	if (err)
		pr_err_ratelimited("zsx_consumer: an object of %u bytes is not what was stored\n",
				   p->len);
	return err;
}

static int verify_all(void)
{
	struct stored_page *p;
	int err = 0;

	list_for_each_entry(p, &stored, list) {
		err = verify_page(p) ?: err;
		cond_resched();
	}
	return err;
}

static int verify_new(void)
{
	struct stored_page *p;
	int err = 0;

	list_for_each_entry_reverse(p, &stored, list) {
		if (p->checked)
			break;
		p->checked = true;
		err = verify_page(p) ?: err;
		cond_resched();
	}
	return err;
}

/* === Pages are freed ===================================================== */

static void free_page_of(struct stored_page *p)
{
	zsx_free(pool, p->handle);
	list_del(&p->list);
	kfree(p);
}

static void free_all(void)
{
	struct stored_page *p, *next;

	list_for_each_entry_safe(p, next, &stored, list)
		free_page_of(p);
}

static void free_every_other(void)
{
	struct stored_page *p, *next;
	bool doomed = false;

	list_for_each_entry_safe(p, next, &stored, list) {
		if (doomed)
			free_page_of(p);
		doomed = !doomed;
	}
}

static void free_random_half(u32 seed)
{
	struct stored_page *p, *next;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, seed);
	list_for_each_entry_safe(p, next, &stored, list)
		if (prandom_u32_state(&rnd) & 1)
			free_page_of(p);
}

/* === debugfs: store ====================================================== */

/* One open of "store": the page that its next bytes go to; never full. */
struct writer {
	unsigned int len;
	u8 page[];
};

static int store_open(struct inode *inode, struct file *file)
{
	struct writer *w = kzalloc(struct_size(w, page, PAGE_SIZE), GFP_KERNEL);

	file->private_data = w;
	return w ? 0 : -ENOMEM;
}

static ssize_t store_write(struct file *file, const char __user *from,
			   size_t count, loff_t *pos)
{
	struct writer *w = file->private_data;
	size_t done = 0;
	int err = 0;

	mutex_lock(&lock);
	while (done < count) {
		size_t n = min(count - done, PAGE_SIZE - w->len);

		if (copy_from_user(w->page + w->len, from + done, n))
			err = -EFAULT;
		else if (w->len + n == PAGE_SIZE)
			err = store_page(w->page, PAGE_SIZE);
		if (err)
			break;
		w->len = (w->len + n) % PAGE_SIZE;
		done += n;
	}
	mutex_unlock(&lock);
	return done ?: err;
}

/* What this returns, close(2) returns. */
static int store_flush(struct file *file, fl_owner_t id)
{
	struct writer *w = file->private_data;
	int err = 0;

	mutex_lock(&lock);
	if (w->len) {
		memset(w->page + w->len, 0, PAGE_SIZE - w->len);
		err = store_page(w->page, w->len);
		w->len = 0;
	}
	err = verify_new() ?: err;
	mutex_unlock(&lock);
	return err;
}

static int store_release(struct inode *inode, struct file *file)
{
	mutex_lock(&lock);
	nr_files++;
	mutex_unlock(&lock);
	kfree(file->private_data);
	return 0;
}

static const struct file_operations store_fops = {
	.owner = THIS_MODULE,
	.open = store_open,
	.write = store_write,
	.flush = store_flush,
	.release = store_release,
};

/* === debugfs: verify, free, reset ======================================== */

static int verify_set(void *unused, u64 val)
{
	int err;

	if (val != 1)
		return -EINVAL;
	mutex_lock(&lock);
	err = verify_all();
	mutex_unlock(&lock);
	return err;
}
DEFINE_DEBUGFS_ATTRIBUTE(verify_fops, NULL, verify_set, "%llu\n");

static int reset_set(void *unused, u64 val)
{
	if (val != 1)
		return -EINVAL;
	mutex_lock(&lock);
	free_all();
	nr_files = 0;
	nr_mismatches = 0;
	memset(nr_verified, 0, sizeof(nr_verified));
	mutex_unlock(&lock);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(reset_fops, NULL, reset_set, "%llu\n");

static int free_some(const char *which)
{
	u32 seed;

	if (!strcmp(which, "all"))
		free_all();
	else if (!strcmp(which, "half"))
		free_every_other();
	else if (sscanf(which, "half-random %u", &seed) == 1)
		free_random_half(seed);
	else
		return -EINVAL;
	return 0;
}

static ssize_t free_write(struct file *file, const char __user *from,
			  size_t count, loff_t *pos)
{
	return take_command(from, count, &lock, free_some);
}

static const struct file_operations free_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = free_write,
};

/* === debugfs: report ===================================================== */

/* What the list of pages says: to be compared with what the pool says. */
struct sums {
	unsigned long objects;
	unsigned long raw_objects;
	u64 bytes_in;
	u64 bytes_stored;
};

static void sum_up(struct sums *sums)
{
	const struct stored_page *p;

	list_for_each_entry(p, &stored, list) {
		sums->objects++;
		sums->raw_objects += p->len == PAGE_SIZE;
		sums->bytes_in += p->file_len;
		sums->bytes_stored += p->len;
	}
}

static int report_show(struct seq_file *s, void *unused)
{
	struct zsx_pool_stats stats;
	struct sums sums = {};
	u64 held, percent = 0, permille = 0;

	mutex_lock(&lock);
	sum_up(&sums);
	zsx_pool_stats(pool, &stats);
	held = (u64)stats.pages * PAGE_SIZE + stats.handle_bytes +
	       stats.descriptor_bytes + stats.pool_bytes;
	if (sums.bytes_in)
		percent = div64_u64(held * 100, sums.bytes_in);
	if (sums.bytes_stored)
		permille = div64_u64(held * 1000, sums.bytes_stored);

	seq_printf(s, "%lu files of %llu bytes: %lu objects of %llu bytes, for which the pool holds %llu, all counted (%llu.%llu %%); %s\n",
		   nr_files, sums.bytes_in, sums.objects, sums.bytes_stored, held,
		   permille / 10, permille % 10, nr_mismatches ? "NOT ALL INTACT" : "all read back intact");
	seq_printf(s, "files %lu\n", nr_files);
	seq_printf(s, "objects %lu\n", sums.objects);
	seq_printf(s, "raw_objects %lu\n", sums.raw_objects);
	seq_printf(s, "bytes_in %llu\n", sums.bytes_in);
	seq_printf(s, "bytes_stored %llu\n", sums.bytes_stored);
	seq_printf(s, "pages_used %lu\n", zsx_get_total_pages(pool));
	seq_printf(s, "handle_bytes %llu\n", stats.handle_bytes);
	seq_printf(s, "descriptor_bytes %llu\n", stats.descriptor_bytes);
	seq_printf(s, "pool_bytes %llu\n", stats.pool_bytes);
	seq_printf(s, "bytes_held %llu\n", held);
	seq_printf(s, "percent_held %llu\n", percent);
	seq_printf(s, "verified_by_read %lu\n", nr_verified[BY_READ]);
	seq_printf(s, "verified_by_sg %lu\n", nr_verified[BY_SG]);
	seq_printf(s, "verified_by_map %lu\n", nr_verified[BY_MAP]);
	seq_printf(s, "mismatches %lu\n", nr_mismatches);
	mutex_unlock(&lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(report);

/* === The module's beginning and end ====================================== */

static void free_buffers(void)
{
	kvfree(object_buffer);
	kvfree(page_buffer);
	kvfree(lzo_memory);
}

static int __init consumer_init(void)
{
	object_buffer = kvmalloc(BUFFER_SIZE, GFP_KERNEL);
	page_buffer = kvmalloc(PAGE_SIZE, GFP_KERNEL);
	lzo_memory = kvmalloc(LZO1X_1_MEM_COMPRESS, GFP_KERNEL);
	if (object_buffer && page_buffer && lzo_memory)
		pool = zsx_create_pool(pool_name);
	if (!pool) {
		free_buffers();
		return -ENOMEM;
	}

	dir = debugfs_create_dir("zsx_consumer", NULL);
	/*
	 * "unsafe" is about files that are removed while they are open. Ours go
	 * with the module, which an open file holds; and the safe variant has no
	 * flush.
	 */
	debugfs_create_file_unsafe("store", 0200, dir, NULL, &store_fops);
	debugfs_create_file_unsafe("verify", 0200, dir, NULL, &verify_fops);
	debugfs_create_file_unsafe("reset", 0200, dir, NULL, &reset_fops);
	debugfs_create_file("free", 0200, dir, NULL, &free_fops);
	debugfs_create_file("report", 0444, dir, NULL, &report_fops);
	return 0;
}

static void __exit consumer_exit(void)
{
	debugfs_remove(dir);
	free_all();
	zsx_destroy_pool(pool);
	free_buffers();
}

module_init(consumer_init);
module_exit(consumer_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Stores compressed pages in zsx and reads them back");
MODULE_AUTHOR("The zsx authors");
MODULE_INFO(test, "Y");
