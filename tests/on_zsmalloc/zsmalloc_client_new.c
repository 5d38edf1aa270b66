// SPDX-License-Identifier: GPL-2.0-only
/*
 * zsmalloc_client_new.c - a caller of <linux/zsmalloc.h>, in the style of 7.3
 *
 * The same as zsmalloc_client.c, by the calls that there are since: objects are
 * read and written without being mapped.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/zsmalloc.h>

#define NR_OBJECTS	5000

static u8 buffer[PAGE_SIZE];

static size_t len_of(unsigned int i)
{
	return 1 + i * 1021 % PAGE_SIZE; /* 1021 is odd: every length comes. */
}

static unsigned long __init store(struct zs_pool *pool, unsigned int i)
{
	unsigned long handle;

	handle = zs_malloc(pool, len_of(i),
			   GFP_KERNEL | __GFP_HIGHMEM | __GFP_MOVABLE,
			   NUMA_NO_NODE);
	if (IS_ERR_VALUE(handle))
		return handle;
	memset(buffer, i, len_of(i));
	zs_obj_write(pool, handle, buffer, len_of(i));
	return handle;
}

static bool __init is_intact(struct zs_pool *pool, unsigned long handle,
			     unsigned int i)
{
	size_t len = len_of(i), copied;
	struct scatterlist sg[2];
	bool intact;
	u8 *bytes;

	bytes = zs_obj_read_begin(pool, handle, len, buffer);
	intact = !memchr_inv(bytes, i, len);
	zs_obj_read_end(pool, handle, len, bytes);

	memset(buffer, ~i, len);
	zs_obj_read_sg_begin(pool, handle, sg, len);
	copied = sg_copy_to_buffer(sg, sg_nents(sg), buffer, len);
	zs_obj_read_sg_end(pool, handle);
	return intact && copied == len && !memchr_inv(buffer, i, len);
}

static int __init client_init(void)
{
	unsigned long *handles;
	struct zs_pool_stats stats;
	unsigned int nr_stored, nr_intact = 0, i;
	struct zs_pool *pool = zs_create_pool(KBUILD_MODNAME);

	if (!pool)
		return -ENOMEM;
	handles = kvmalloc_array(NR_OBJECTS, sizeof(*handles), GFP_KERNEL);
	for (nr_stored = 0; handles && nr_stored < NR_OBJECTS; nr_stored++) {
		handles[nr_stored] = store(pool, nr_stored);
		if (IS_ERR_VALUE(handles[nr_stored]))
			break;
	}
	zs_compact(pool);
	for (i = 0; i < nr_stored; i++)
		nr_intact += is_intact(pool, handles[i], i);
	zs_pool_stats(pool, &stats);
	pr_info("%u objects in %lu pages, %u intact; 2000 bytes are in class %u\n",
		nr_stored, zs_get_total_pages(pool), nr_intact,
		zs_lookup_class_index(pool, 2000));

	for (i = 0; i < nr_stored; i++)
		zs_free(pool, handles[i]);
	if (zs_get_total_pages(pool))
		nr_intact = 0;
	kvfree(handles);
	zs_destroy_pool(pool);
	return nr_intact == NR_OBJECTS ? 0 : -EIO;
}

static void __exit client_exit(void)
{
}

module_init(client_init);
module_exit(client_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Stores objects through the zsmalloc interface of Linux 7.3");
MODULE_AUTHOR("The zsx authors");
MODULE_INFO(test, "Y");
