// SPDX-License-Identifier: GPL-2.0-only
/*
 * zsx_access.c - a caller looks at an object's bytes
 *
 * Each way is the same: pin the object, turn its location into a span of one or
 * two pages, touch the bytes there, unpin. No lock is taken, and no shared line
 * is written but the zspage's own. Between the two calls of a pair the location
 * can't change, so the second one finds by it what the first one found.
 */
#include <linux/highmem.h>
#include <linux/local_lock.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "zsx_internal.h"

/* A pinned object. */
struct access {
	struct zsx_zspage *zspage;
	const struct zsx_geometry *geo;
	unsigned int index;
};

static struct access access_of(struct zsx_zspage *zspage, zsx_location_t loc)
{
	unsigned int class = ZSX_LAYOUT.class_bits ?
			     zsx_location_class(ZSX_LAYOUT, loc) :
			     zspage->class->geo - zsx_classes.geo;

	return (struct access) {
		.zspage = zspage,
		.geo = &zsx_classes.geo[class],
		.index = zsx_location_index(ZSX_LAYOUT, loc),
	};
}

/* zspage is NULL, after a warning, if there is no such object. */
static struct access access_begin(struct zsx_pool *pool, unsigned long handle)
{
	zsx_location_t loc;
	struct zsx_zspage *zspage = zsx_pin_object(pool, handle, &loc);

	return zspage ? access_of(zspage, loc) : (struct access) {};
}

static void access_end(const struct access *access)
{
	zsx_unpin(access->zspage);
}

/*
 * The access that the owner of this handle has begun. zspage is NULL if it was
 * refused then, and warned of.
 */
static struct access access_begun(struct zsx_pool *pool, unsigned long handle)
{
	zsx_location_t loc = zsx_location_read(zsx_handle_of(handle));
	struct zsx_zspage *zspage = zsx_zspage_of(loc);

	if (unlikely(!zspage || !zsx_is_class_of(pool, zspage->class)))
		return (struct access) {};
	return access_of(zspage, loc);
}

/* Not inlined, or it would warn once a caller: 7.3 on x86-64 counts copies of a WARN. */
static noinline void warn_too_long(const struct access *access, size_t len)
{
	WARN_ONCE(1, "zsx: pool %s: access to %zu bytes of an object of a class of %u\n",
		  access->zspage->class->pool->name, len, access->geo->size);
}

static bool too_long(const struct access *access, size_t len)
{
	bool bad = len > access->geo->size;

	if (unlikely(bad))
		warn_too_long(access, len);
	return bad;
}

static struct zsx_span span_of(const struct access *access, size_t len)
{
	return zsx_span(access->geo, access->index, len, PAGE_SHIFT);
}

static struct page *page_of(const struct access *access, unsigned int i)
{
	return access->zspage->pages[i];
}

static void copy_from_span(void *to, const struct access *access,
			   const struct zsx_span *span)
{
	memcpy_from_page(to, page_of(access, span->page), span->offset,
			 span->len[0]);
	if (span->len[1])
		memcpy_from_page(to + span->len[0],
				 page_of(access, span->page + 1), 0, span->len[1]);
}

static void copy_to_span(const struct access *access,
			 const struct zsx_span *span, const void *from)
{
	memcpy_to_page(page_of(access, span->page), span->offset, from,
		       span->len[0]);
	if (span->len[1])
		memcpy_to_page(page_of(access, span->page + 1), 0,
			       from + span->len[0], span->len[1]);
}

/* === Reading and writing ================================================= */

void *zsx_obj_read_begin(struct zsx_pool *pool, unsigned long handle,
			 size_t mem_len, void *local_copy)
{
	struct access access = access_begin(pool, handle);
	struct zsx_span span;

	if (!access.zspage)
		return NULL;
	if (too_long(&access, mem_len)) {
		access_end(&access);
		return NULL;
	}
	span = span_of(&access, mem_len);
	if (!span.len[1])
		return kmap_local_page(page_of(&access, span.page)) + span.offset;
	copy_from_span(local_copy, &access, &span);
	return local_copy;
}
EXPORT_SYMBOL_GPL(zsx_obj_read_begin);

void zsx_obj_read_end(struct zsx_pool *pool, unsigned long handle,
		      size_t mem_len, void *handle_mem)
{
	struct access access;

	if (!handle_mem)
		return;
	access = access_begun(pool, handle);
	if (!access.zspage)
		return;
	if (!span_of(&access, mem_len).len[1])
		kunmap_local(handle_mem);
	access_end(&access);
}
EXPORT_SYMBOL_GPL(zsx_obj_read_end);

void zsx_obj_read_sg_begin(struct zsx_pool *pool, unsigned long handle,
			   struct scatterlist *sg, size_t mem_len)
{
	struct access access = access_begin(pool, handle);
	struct zsx_span span;

	if (!access.zspage || too_long(&access, mem_len)) {
		sg_init_table(sg, 1);
		sg_set_page(sg, ZERO_PAGE(0), min(mem_len, PAGE_SIZE), 0);
		return;
	}
	span = span_of(&access, mem_len);
	sg_init_table(sg, span.len[1] ? 2 : 1);
	sg_set_page(sg, page_of(&access, span.page), span.len[0], span.offset);
	if (span.len[1])
		sg_set_page(sg_next(sg), page_of(&access, span.page + 1),
			    span.len[1], 0);
}
EXPORT_SYMBOL_GPL(zsx_obj_read_sg_begin);

void zsx_obj_read_sg_end(struct zsx_pool *pool, unsigned long handle)
{
	struct access access = access_begun(pool, handle);

	if (access.zspage)
		access_end(&access);
}
EXPORT_SYMBOL_GPL(zsx_obj_read_sg_end);

int zsx_obj_write(struct zsx_pool *pool, unsigned long handle,
		  const void *handle_mem, size_t mem_len)
{
	struct access access = access_begin(pool, handle);
	struct zsx_span span;
	int err = 0;

	if (!access.zspage)
		return -EINVAL;
	if (too_long(&access, mem_len)) {
		err = -EINVAL;
	} else {
		span = span_of(&access, mem_len);
		copy_to_span(&access, &span, handle_mem);
	}
	access_end(&access);
	return err;
}
EXPORT_SYMBOL_GPL(zsx_obj_write);

/* === Mapping ============================================================= */

/*
 * The mapping of this CPU.
 * @lock: from zsx_map_object() to zsx_unmap_object(); guards the rest
 * @mode: what it is for
 * @mem: what zsx_map_object() returned
 * @buffer: a page, where an object that spans two pages is brought together.
 *	The pointer is constant after module init.
 */
struct map_area {
	local_lock_t lock;
	enum zsx_map_mode mode;
	void *mem;
	void *buffer;
};

static DEFINE_PER_CPU(struct map_area, map_area) = {
	.lock = INIT_LOCAL_LOCK(lock),
};

void zsx_access_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		kfree(per_cpu(map_area.buffer, cpu));
}

int zsx_access_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		void *buffer = kmalloc_node(PAGE_SIZE, GFP_KERNEL,
					   cpu_to_node(cpu));

		if (!buffer) {
			zsx_access_exit();
			return -ENOMEM;
		}
		per_cpu(map_area.buffer, cpu) = buffer;
	}
	return 0;
}

void *zsx_map_object(struct zsx_pool *pool, unsigned long handle,
		     enum zsx_map_mode mode)
{
	struct access access = access_begin(pool, handle);
	struct map_area *area;
	struct zsx_span span;

	if (!access.zspage)
		return NULL;

	local_lock(&map_area.lock);
	area = this_cpu_ptr(&map_area);
	area->mode = mode;
	span = span_of(&access, access.geo->size);
	if (!span.len[1]) {
		area->mem = kmap_local_page(page_of(&access, span.page)) +
			    span.offset;
	} else {
		area->mem = area->buffer;
		if (mode != ZSX_MAP_WO)
			copy_from_span(area->mem, &access, &span);
	}
	return area->mem;
}
EXPORT_SYMBOL_GPL(zsx_map_object);

void zsx_unmap_object(struct zsx_pool *pool, unsigned long handle)
{
	struct access access = access_begun(pool, handle);
	struct map_area *area;
	struct zsx_span span;

	if (!access.zspage)
		return;

	area = this_cpu_ptr(&map_area);
	span = span_of(&access, access.geo->size);
	if (!span.len[1])
		kunmap_local(area->mem);
	else if (area->mode != ZSX_MAP_RO)
		copy_to_span(&access, &span, area->mem);
	local_unlock(&map_area.lock);
	access_end(&access);
}
EXPORT_SYMBOL_GPL(zsx_unmap_object);
