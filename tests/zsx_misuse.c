// SPDX-License-Identifier: GPL-2.0-only
/*
 * zsx_misuse.c - a user of zsx that does everything wrong
 *
 * /sys/kernel/debug/zsx_misuse/do: reading it lists the misuses; writing the name
 * of one provokes it in a pool of its own, among objects that it must not touch.
 * The write fails if zsx answers otherwise than zsx.h says, if a neighbour's
 * byte changes, or if the pool doesn't work on. Some end in a WARN, once a load
 * of zsx.
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "command.h"
#include "zsx.h"

#define NR_NEIGHBOURS	64
#define LEN		200

/* 0, or a message and -EIO, so that claims can be chained by ?: */
#define claim(condition) ((condition) ? 0 : broken(__LINE__, #condition))

static int broken(int line, const char *condition)
{
	pr_err("zsx_misuse: line %d: does not hold: %s\n", line, condition);
	return -EIO;
}

/* A pool where objects of one class lie around the victim. */
struct scene {
	struct zsx_pool *pool;
	unsigned long victim;
	unsigned long neighbours[NR_NEIGHBOURS];
};

/* Guards the buffers. */
static DEFINE_MUTEX(lock);
static u8 pattern[PAGE_SIZE], copy[PAGE_SIZE];

static struct dentry *dir;

/* === Scenes ============================================================== */

static unsigned long store(struct zsx_pool *pool, u8 byte, size_t len)
{
	unsigned long handle = zsx_malloc(pool, len, GFP_KERNEL, NUMA_NO_NODE);

	memset(pattern, byte, len);
	if (!IS_ERR_VALUE(handle) && zsx_obj_write(pool, handle, pattern, len)) {
		zsx_free(pool, handle);
		handle = -EIO;
	}
	return handle;
}

static bool holds(struct zsx_pool *pool, unsigned long handle, u8 byte,
		  size_t len)
{
	u8 *bytes = zsx_obj_read_begin(pool, handle, len, copy);
	bool ok = bytes && !memchr_inv(bytes, byte, len);

	zsx_obj_read_end(pool, handle, len, bytes);
	return ok;
}

/* Whether objects can still be stored, read and freed. */
static bool works(struct zsx_pool *pool)
{
	static const size_t lens[] = { 1, 8, LEN, PAGE_SIZE / 2 + 1, PAGE_SIZE };
	unsigned int i;
	bool ok = true;

	for (i = 0; ok && i < ARRAY_SIZE(lens); i++) {
		unsigned long handle = store(pool, 0xa5, lens[i]);

		ok = !IS_ERR_VALUE(handle) && holds(pool, handle, 0xa5, lens[i]);
		zsx_free(pool, handle);
	}
	return ok;
}

/* The victim is in the middle; neighbour i is full of bytes i. */
static int set_up(struct scene *scene)
{
	unsigned int i;

	scene->pool = zsx_create_pool("zsx_misuse");
	if (!scene->pool)
		return -ENOMEM;
	for (i = 0; i < NR_NEIGHBOURS; i++) {
		if (i == NR_NEIGHBOURS / 2)
			scene->victim = store(scene->pool, 0xff, LEN);
		scene->neighbours[i] = store(scene->pool, i, LEN);
		if (IS_ERR_VALUE(scene->neighbours[i]) ||
		    IS_ERR_VALUE(scene->victim))
			return -ENOMEM; /* The leak that follows is reported. */
	}
	/* Once more: now bytes that fall beside it fall on a neighbour. */
	memset(pattern, 0xff, LEN);
	return zsx_obj_write(scene->pool, scene->victim, pattern, LEN);
}

static bool neighbours_are_intact(const struct scene *scene)
{
	unsigned int i;

	for (i = 0; i < NR_NEIGHBOURS; i++)
		if (!holds(scene->pool, scene->neighbours[i], i, LEN))
			return false;
	return true;
}

/* @victims: how many objects there must be beside the neighbours. */
static int tear_down(struct scene *scene, unsigned long victims)
{
	struct zsx_pool_stats stats;
	unsigned int i;
	int err;

	zsx_pool_stats(scene->pool, &stats);
	err = claim(stats.objects == NR_NEIGHBOURS + victims) ?:
	      claim(neighbours_are_intact(scene)) ?:
	      claim(works(scene->pool));
	for (i = 0; i < NR_NEIGHBOURS; i++)
		zsx_free(scene->pool, scene->neighbours[i]);
	if (victims)
		zsx_free(scene->pool, scene->victim);

	zsx_pool_stats(scene->pool, &stats);
	err = err ?: claim(stats.objects == 0) ?: claim(stats.pages == 0) ?:
	      claim(zsx_get_total_pages(scene->pool) == 0);
	zsx_destroy_pool(scene->pool);
	return err;
}

/* === Sizes =============================================================== */

static int try_size_0(struct scene *scene)
{
	return claim(zsx_malloc(scene->pool, 0, GFP_KERNEL, NUMA_NO_NODE) ==
		     (unsigned long)-EINVAL);
}

static int try_size_too_large(struct scene *scene)
{
	static const size_t sizes[] = {
		PAGE_SIZE + 1, 2 * PAGE_SIZE, INT_MAX, SIZE_MAX / 2 + 1,
		SIZE_MAX - PAGE_SIZE, SIZE_MAX - 7, SIZE_MAX,
	};
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < ARRAY_SIZE(sizes); i++)
		err = claim(zsx_malloc(scene->pool, sizes[i], GFP_KERNEL,
				       NUMA_NO_NODE) == (unsigned long)-ENOSPC);
	return err;
}

/* All or none: not even the good ones are stored. */
static int try_bulk_sizes(struct scene *scene)
{
	static const struct {
		size_t size;
		int err;
	} bad[] = { { 0, -EINVAL }, { PAGE_SIZE + 1, -ENOSPC }, { SIZE_MAX, -ENOSPC } };
	unsigned long handles[3];
	struct zsx_pool_stats stats;
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < ARRAY_SIZE(bad); i++) {
		size_t sizes[] = { LEN, bad[i].size, LEN };

		err = claim(zsx_malloc_bulk(scene->pool, sizes, ARRAY_SIZE(sizes), GFP_KERNEL,
					    NUMA_NO_NODE, handles) == bad[i].err);
	}
	zsx_pool_stats(scene->pool, &stats);
	return err ?: claim(stats.mallocs == NR_NEIGHBOURS + 1);
}

static int try_write_too_long(struct scene *scene)
{
	memset(pattern, 0, sizeof(pattern));
	return claim(zsx_obj_write(scene->pool, scene->victim, pattern,
				   PAGE_SIZE) == -EINVAL) ?:
	       claim(zsx_obj_write(scene->pool, scene->victim, pattern,
				   SIZE_MAX) == -EINVAL) ?:
	       claim(holds(scene->pool, scene->victim, 0xff, LEN));
}

static bool sg_is_zeroes(struct scatterlist *sg, size_t len)
{
	size_t copied;

	memset(copy, 0xff, len);
	copied = sg_copy_to_buffer(sg, sg_nents(sg), copy, len);
	return copied == len && !memchr_inv(copy, 0, len);
}

static int try_read_too_long(struct scene *scene)
{
	struct scatterlist sg[2];
	int err;

	err = claim(!zsx_obj_read_begin(scene->pool, scene->victim, PAGE_SIZE,
					copy)) ?:
	      claim(!zsx_obj_read_begin(scene->pool, scene->victim, SIZE_MAX,
					copy));
	zsx_obj_read_end(scene->pool, scene->victim, PAGE_SIZE, NULL);
	zsx_obj_read_sg_begin(scene->pool, scene->victim, sg, PAGE_SIZE);
	err = err ?: claim(sg_is_zeroes(sg, PAGE_SIZE));
	zsx_obj_read_sg_end(scene->pool, scene->victim);
	return err ?: claim(holds(scene->pool, scene->victim, 0xff, LEN));
}

/* === Handles that are none =============================================== */

static int try_free_null(struct scene *scene)
{
	zsx_free(scene->pool, 0);
	return 0;
}

static int try_free_error(struct scene *scene)
{
	long err;

	for (err = -MAX_ERRNO; err < 0; err++)
		zsx_free(scene->pool, err);
	return 0;
}

/* Each way to @handle's bytes must refuse, and hold nothing after. */
static int access_is_refused(struct zsx_pool *pool, unsigned long handle)
{
	struct scatterlist sg[2];
	int err;

	memset(pattern, 0, LEN);
	err = claim(!zsx_obj_read_begin(pool, handle, LEN, copy)) ?:
	      claim(!zsx_map_object(pool, handle, ZSX_MAP_RO)) ?:
	      claim(!zsx_map_object(pool, handle, ZSX_MAP_RW)) ?:
	      claim(zsx_obj_write(pool, handle, pattern, LEN) == -EINVAL);
	zsx_obj_read_end(pool, handle, LEN, NULL);
	zsx_obj_read_sg_begin(pool, handle, sg, LEN);
	err = err ?: claim(sg_is_zeroes(sg, LEN));
	zsx_obj_read_sg_end(pool, handle);
	return err;
}

static int try_access_null(struct scene *scene)
{
	return access_is_refused(scene->pool, 0) ?:
	       claim(!zsx_map_object(scene->pool, 0, ZSX_MAP_WO));
}

static int try_access_error(struct scene *scene)
{
	return access_is_refused(scene->pool, -ENOMEM);
}

static int try_access_freed(struct scene *scene)
{
	zsx_free(scene->pool, scene->victim);
	return access_is_refused(scene->pool, scene->victim);
}

static int try_double_free(struct scene *scene)
{
	zsx_free(scene->pool, scene->victim);
	zsx_free(scene->pool, scene->victim);
	return 0;
}

/* And what is no handle among them. */
static int try_double_free_in_bulk(struct scene *scene)
{
	unsigned long handles[] = { 0, scene->victim, (unsigned long)-ENOMEM, scene->victim };

	zsx_free_bulk(scene->pool, handles, ARRAY_SIZE(handles));
	zsx_free_bulk(scene->pool, handles, ARRAY_SIZE(handles));
	zsx_free_bulk(scene->pool, handles, 0);
	return 0;
}

/* Do @misuse to @scene's victim through another pool. */
static int through_another(struct scene *scene,
			   int (*misuse)(struct zsx_pool *pool, unsigned long handle))
{
	struct scene other = {};
	int err;

	err = set_up(&other) ?:
	      misuse(other.pool, scene->victim) ?:
	      claim(holds(scene->pool, scene->victim, 0xff, LEN)) ?:
	      claim(holds(other.pool, other.victim, 0xff, LEN));
	return (other.pool ? tear_down(&other, 1) : 0) ?: err;
}

static int free_by(struct zsx_pool *pool, unsigned long handle)
{
	zsx_free(pool, handle);
	return 0;
}

static int free_in_bulk_by(struct zsx_pool *pool, unsigned long handle)
{
	zsx_free_bulk(pool, &handle, 1);
	return 0;
}

static int try_foreign_free_in_bulk(struct scene *scene)
{
	return through_another(scene, free_in_bulk_by);
}

static int try_foreign_free(struct scene *scene)
{
	return through_another(scene, free_by);
}

static int try_foreign_access(struct scene *scene)
{
	return through_another(scene, access_is_refused);
}

/* Only to be done where handles are checked: else it is the end. */
static int try_wild_handles(struct scene *scene)
{
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	void *far = vmalloc(PAGE_SIZE);
	u64 *near = kzalloc(256, GFP_KERNEL);
	u64 on_stack = 0;
	unsigned long wild[] = {
		8, PAGE_SIZE, (unsigned long)-MAX_ERRNO - 9, scene->victim + 1, scene->victim - 4,
		(unsigned long)far, (unsigned long)near, (unsigned long)&on_stack,
		page ? (unsigned long)page_address(page) : 8,
		(unsigned long)scene, (unsigned long)scene->pool,
	};
	unsigned int i;
	int err = claim(page && far && near);

	for (i = 0; !err && i < ARRAY_SIZE(wild); i++) {
		zsx_free(scene->pool, wild[i]);
		zsx_free_bulk(scene->pool, &wild[i], 1);
		err = access_is_refused(scene->pool, wild[i]);
	}
	/* A copy of a handle's word is no handle. */
	if (!err) {
		*near = *(u64 *)scene->victim;
		zsx_free(scene->pool, (unsigned long)near);
		err = access_is_refused(scene->pool, (unsigned long)near);
	}
	if (page)
		__free_page(page);
	vfree(far);
	kfree(near);
	return err;
}

/* === Pools =============================================================== */

/* Whether a pool of this name can be made, works, and can be destroyed. */
static int pool_works(const char *name)
{
	struct zsx_pool *pool = zsx_create_pool(name);
	int err = claim(pool) ?: claim(works(pool));

	zsx_destroy_pool(pool);
	return err;
}

static int try_same_name(struct scene *scene)
{
	return pool_works("zsx_misuse") ?: pool_works("zsx_misuse");
}

static int try_long_name(struct scene *scene)
{
	char name[301];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	return pool_works(name);
}

static int try_odd_names(struct scene *scene)
{
	return pool_works("a/b/c") ?: pool_works("/") ?: pool_works("..") ?:
	       pool_works(".") ?: pool_works("%s%n") ?: pool_works("\n");
}

static int try_no_name(struct scene *scene)
{
	return claim(!zsx_create_pool(NULL)) ?: claim(!zsx_create_pool(""));
}

static int try_destroy_null(struct scene *scene)
{
	zsx_destroy_pool(NULL);
	return 0;
}

/* The pool is never given back, but its objects can be looked at and freed. */
static int try_leak_pool(struct scene *unused)
{
	struct scene scene = {};
	struct zsx_pool_stats stats;
	unsigned int i;
	int err = set_up(&scene);

	if (!scene.pool)
		return err;
	zsx_destroy_pool(scene.pool);
	err = err ?: claim(neighbours_are_intact(&scene)) ?:
	      claim(works(scene.pool));
	for (i = 0; i < NR_NEIGHBOURS; i++)
		zsx_free(scene.pool, scene.neighbours[i]);
	zsx_free(scene.pool, scene.victim);
	zsx_pool_stats(scene.pool, &stats);
	return err ?: claim(!stats.objects) ?: claim(!stats.pages);
}

/* === Memory that can't be had ============================================ */

static bool all_is_back(struct zsx_pool *pool, const struct zsx_pool_stats *before,
			unsigned long stored)
{
	struct zsx_pool_stats now;

	zsx_pool_stats(pool, &now);
	return now.objects == before->objects && now.pages == before->pages &&
	       now.zspages == before->zspages &&
	       now.descriptor_bytes == before->descriptor_bytes &&
	       now.mallocs - before->mallocs == stored &&
	       now.frees - before->frees == stored &&
	       now.pages_brought - before->pages_brought ==
	       now.pages_given_back - before->pages_given_back &&
	       zsx_get_total_pages(pool) == now.pages;
}

/*
 * Store up to @count objects, with @gfp, until memory is short; then try all
 * lengths, so that each step of zsx_malloc() meets it; free all.
 */
static int use_up(struct zsx_pool *pool, unsigned long count, gfp_t gfp,
		  unsigned long *nr_refused)
{
	unsigned long *handles = vmalloc_array(count, sizeof(*handles));
	struct zsx_pool_stats before;
	unsigned long i = 0, tries, handle, len = PAGE_SIZE;
	int err = 0;

	if (!handles)
		return -ENOMEM;
	zsx_pool_stats(pool, &before);
	*nr_refused = 0;
	for (tries = 0; !err && i < count && *nr_refused < 10000; tries++) {
		handle = zsx_malloc(pool, len, gfp, NUMA_NO_NODE);
		if (IS_ERR_VALUE(handle)) {
			err = claim(handle == (unsigned long)-ENOMEM);
			(*nr_refused)++;
		} else {
			handles[i++] = handle;
		}
		if (*nr_refused)
			len = 1 + tries * 61 % PAGE_SIZE;
		cond_resched();
	}
	pr_info("zsx_misuse: %lu objects stored, %lu refused\n", i, *nr_refused);

	for (tries = 0; tries < i; tries++) {
		zsx_free(pool, handles[tries]);
		cond_resched();
	}
	vfree(handles);
	return err ?: claim(all_is_back(pool, &before, i));
}

static int try_nowait(struct scene *scene)
{
	unsigned long nr_refused;

	return use_up(scene->pool, 1000, GFP_NOWAIT | __GFP_NOWARN, &nr_refused);
}

static unsigned long exhaust_count = 1000000;
module_param(exhaust_count, ulong, 0644);
MODULE_PARM_DESC(exhaust_count,
		 "objects that \"exhaust\" tries to store: more than there are pages");

/* No reserves, no OOM killer: what others need to live is left to them. */
static int try_exhaust(struct scene *scene)
{
	unsigned long nr_refused;

	return use_up(scene->pool, exhaust_count,
		      GFP_KERNEL | __GFP_HIGHMEM | __GFP_NORETRY | __GFP_NOWARN |
		      __GFP_NOMEMALLOC, &nr_refused) ?:
	       claim(nr_refused);
}

/* === debugfs ============================================================= */

static const struct misuse {
	const char *name;
	int (*provoke)(struct scene *scene);
	bool frees_victim;
} misuses[] = {
	{ "size-0", try_size_0 },
	{ "size-too-large", try_size_too_large },
	{ "bulk-sizes", try_bulk_sizes },
	{ "write-too-long", try_write_too_long },
	{ "read-too-long", try_read_too_long },
	{ "free-null", try_free_null },
	{ "free-error", try_free_error },
	{ "access-null", try_access_null },
	{ "access-error", try_access_error },
	{ "access-freed", try_access_freed, true },
	{ "double-free", try_double_free, true },
	{ "double-free-in-bulk", try_double_free_in_bulk, true },
	{ "foreign-free", try_foreign_free },
	{ "foreign-free-in-bulk", try_foreign_free_in_bulk },
	{ "foreign-access", try_foreign_access },
	{ "wild-handles", try_wild_handles },
	{ "same-name", try_same_name },
	{ "long-name", try_long_name },
	{ "odd-names", try_odd_names },
	{ "no-name", try_no_name },
	{ "destroy-null", try_destroy_null },
	{ "nowait", try_nowait },
	{ "exhaust", try_exhaust },
	{ "leak-pool", try_leak_pool },
};

static int provoke(const char *name)
{
	const struct misuse *misuse = misuses;
	struct scene scene = {};
	int err;

	while (strcmp(misuse->name, name))
		if (++misuse == misuses + ARRAY_SIZE(misuses))
			return -EINVAL;
	err = set_up(&scene) ?: misuse->provoke(&scene);
	return (scene.pool ? tear_down(&scene, !misuse->frees_victim) : 0) ?: err;
}

static ssize_t do_write(struct file *file, const char __user *from,
			size_t count, loff_t *pos)
{
	return take_command(from, count, &lock, provoke);
}

static int do_show(struct seq_file *s, void *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(misuses); i++)
		seq_printf(s, "%s\n", misuses[i].name);
	return 0;
}

static int do_open(struct inode *inode, struct file *file)
{
	return single_open(file, do_show, NULL);
}

static const struct file_operations do_fops = {
	.owner = THIS_MODULE,
	.open = do_open,
	.read = seq_read,
	.write = do_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/* === The module's beginning and end ====================================== */

static int __init misuse_init(void)
{
	dir = debugfs_create_dir("zsx_misuse", NULL);
	debugfs_create_file("do", 0600, dir, NULL, &do_fops);
	return 0;
}

static void __exit misuse_exit(void)
{
	debugfs_remove(dir);
}

module_init(misuse_init);
module_exit(misuse_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Misuses zsx, to see that nothing comes of it");
MODULE_AUTHOR("The zsx authors");
MODULE_INFO(test, "Y");
