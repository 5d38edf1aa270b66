// SPDX-License-Identifier: GPL-2.0-only
/*
 * zsmalloc_client.c - a caller of <linux/zsmalloc.h>, in the style of 6.1 and 6.12
 *
 * It knows nothing of zsx. Kbuild builds it twice: against in-tree zsmalloc where
 * that still has these calls, and against zsx. It does its
 * round trip while it is loaded, and doesn't load if an object isn't intact.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/zsmalloc.h>

#define NR_OBJECTS	5000

static size_t len_of(unsigned int i)
{
	return 1 + i * 1021 % PAGE_SIZE; /* 1021 is odd: every length comes. */
}

static unsigned long __init store(struct zs_pool *pool, unsigned int i)
{
	unsigned long handle;
	u8 *bytes;

	handle = zs_malloc(pool, len_of(i),
			   GFP_KERNEL | __GFP_HIGHMEM | __GFP_MOVABLE);
	if (IS_ERR_VALUE(handle))
		return handle;
	bytes = zs_map_object(pool, handle, ZS_MM_WO);
	memset(bytes, i, len_of(i));
	zs_unmap_object(pool, handle);

	/* One byte is changed in place, and the rest must stay. */
	bytes = zs_map_object(pool, handle, ZS_MM_RW);
	bytes[len_of(i) - 1] = ~i;
	zs_unmap_object(pool, handle);
	return handle;
}

static bool __init is_intact(struct zs_pool *pool, unsigned long handle,
			     unsigned int i)
{
	size_t len = len_of(i);
	u8 *bytes = zs_map_object(pool, handle, ZS_MM_RO);
	bool intact = bytes[len - 1] == (u8)~i &&
		      (len == 1 || !memchr_inv(bytes, i, len - 1));

	zs_unmap_object(pool, handle);
	return intact;
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
	pr_info("%u objects in %lu pages, %u intact; one of %zu bytes or more has a page of its own\n",
		nr_stored, zs_get_total_pages(pool), nr_intact,
		zs_huge_class_size(pool));

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
MODULE_DESCRIPTION("Stores objects through the zsmalloc interface of Linux 6.1");
MODULE_AUTHOR("The zsx authors");
MODULE_INFO(test, "Y");
