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

/* === Pinning ============================================================= */

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

/*
 * One look for the zspage of @h's object. The location is read again behind the pin:
 * unchanged, it names the zspage that holds the object now, and that nothing moves in
 * until zsx_unpin(). @check: handles are checked.
 *
 * Return: The zspage, pinned; NULL if there is no object, or one that was moved or is
 * being moved just now. In RCU: else a stale location might name no descriptor.
 */
static __always_inline struct zsx_zspage *pin_once(struct zsx_pool *pool, struct zsx_handle *h,
						   zsx_location_t *loc, bool check)
{
	struct zsx_zspage *zspage;

	*loc = zsx_location_read(h);
	zspage = zsx_zspage_of(*loc);
	if (unlikely(!zspage) || (check && !zsx_check_before_pin(pool, h, loc)) ||
	    unlikely(!zsx_try_pin(zspage)))
		return NULL;
	zsx_race_point(ZSX_POINT_READER_PINNED, zspage);
	/* With acquire, as the object may have been moved away and back meanwhile. */
	if (likely(zsx_location_read_acquire(h).v == loc->v))
		return zspage;
	zsx_unpin(zspage);
	return NULL;
}

/* A mover is done within a few pages of copying, and doesn't sleep: look again until then. */
static noinline struct zsx_zspage *pin_again(struct zsx_pool *pool, struct zsx_handle *h,
					     zsx_location_t *loc)
{
	struct zsx_zspage *zspage = NULL;
	bool retried = false;

	while (!zspage && zsx_zspage_of(*loc)) {
		retried = true;
		zsx_race_point(ZSX_POINT_READER_RETRIES, zsx_zspage_of(*loc));
		cpu_relax();
		zspage = pin_once(pool, h, loc, zsx_is_hardened());
	}
	if (retried)
		atomic_long_inc(&pool->pins_retried);
	return zspage;
}

/* Whether a zspage, pinned here or before, is @pool's and of the class that @loc names. */
static bool is_of_pool(const struct zsx_pool *pool, const struct zsx_zspage *zspage,
		       zsx_location_t loc)
{
	if (ZSX_LAYOUT.class_bits)
		return zspage->class == &pool->classes[zsx_location_class(ZSX_LAYOUT, loc)];
	return zsx_is_class_of(pool, zspage->class);
}

/* Whether the location's slot is @handle's. */
static bool is_object(struct zsx_zspage *zspage, zsx_location_t loc, unsigned long handle)
{
	return zsx_holds_object(zspage, zsx_location_index(ZSX_LAYOUT, loc), handle);
}

/* Not inlined, or each caller would warn once: 7.3 on x86-64 counts copies of a WARN. */
static noinline struct access refuse_handle(void)
{
	WARN_ONCE(1, "zsx: access by no handle\n");
	return (struct access) {};
}

static noinline struct access refuse_object(struct zsx_pool *pool, unsigned long handle)
{
	if (zsx_is_hardened())
		zsx_report(pool, handle, "access");
	else
		WARN_ONCE(1, "zsx: access to an object that was freed or is another pool's\n");
	return (struct access) {};
}

/* For access_begin(): @check is a constant, and what it doesn't ask for is not there. */
static __always_inline struct access pin_object(struct zsx_pool *pool, unsigned long handle,
						bool check)
{
	struct zsx_handle *h = zsx_handle_of(handle);
	struct zsx_zspage *zspage;
	zsx_location_t loc;

	if (check && !zsx_may_be_handle(handle))
		return refuse_object(pool, handle);

	rcu_read_lock();
	zspage = pin_once(pool, h, &loc, check);
	if (unlikely(!zspage))
		zspage = pin_again(pool, h, &loc);
	/* A foreign zspage may end as soon as it is let go: that is inside RCU. */
	if (zspage && (unlikely(!is_of_pool(pool, zspage, loc)) ||
		       (check && !is_object(zspage, loc, handle)))) {
		zsx_unpin(zspage);
		zspage = NULL;
	}
	rcu_read_unlock();
	if (unlikely(!zspage))
		return refuse_object(pool, handle);
	return access_of(zspage, loc);
}

/* noinline: or its registers and stack would be the unchecked way's, too. */
static noinline struct access pin_checked(struct zsx_pool *pool, unsigned long handle)
{
	return pin_object(pool, handle, true);
}

/*
 * Keep an object where it is, to look at its bytes.
 *
 * Return: What was found. zspage is NULL, with one warning, if @handle is not an
 * object's of @pool, where that is recognised.
 */
static __always_inline struct access access_begin(struct zsx_pool *pool, unsigned long handle)
{
	/* A reader that interrupted a mover would wait for ever. */
	if (ZSX_DEBUG)
		WARN_ON_ONCE(!in_task());
	if (IS_ERR_OR_NULL((void *)handle))
		return refuse_handle();
	if (zsx_is_hardened())
		return pin_checked(pool, handle);
	return pin_object(pool, handle, false);
}

static void access_end(const struct access *access)
{
	zsx_unpin(access->zspage);
}

/* For find_open_access(). */
static __always_inline struct access find_open(struct zsx_pool *pool, unsigned long handle,
					       bool check)
{
	struct zsx_zspage *zspage;
	zsx_location_t loc;

	if (check && !zsx_may_be_handle(handle))
		return (struct access) {};
	loc = zsx_location_read(zsx_handle_of(handle));
	zspage = zsx_zspage_of(loc);
	if (unlikely(!zspage) || (check && !zsx_class_in(pool, zspage)) ||
	    unlikely(!is_of_pool(pool, zspage, loc)) ||
	    (check && !is_object(zspage, loc, handle)))
		return (struct access) {};
	return access_of(zspage, loc);
}

static noinline struct access find_open_checked(struct zsx_pool *pool, unsigned long handle)
{
	return find_open(pool, handle, true);
}

/*
 * The access that the owner of this handle has begun. zspage is NULL if it was
 * refused then, and warned of: zsx_obj_read_sg_end() is called all the same.
 */
static struct access find_open_access(struct zsx_pool *pool, unsigned long handle)
{
	if (IS_ERR_OR_NULL((void *)handle))
		return (struct access) {};
	if (zsx_is_hardened())
		return find_open_checked(pool, handle);
	return find_open(pool, handle, false);
}

/* === Spans =============================================================== */

static noinline void warn_too_long(const struct zsx_zspage *zspage, size_t len)
{
	WARN_ONCE(1, "zsx: pool %s: access to %zu bytes of an object of a class of %u\n",
		  zspage->class->pool->name, len, zspage->class->geo->size);
}

static bool too_long(const struct access *access, size_t len)
{
	if (likely(len <= access->geo->size))
		return false;
	warn_too_long(access->zspage, len);
	return true;
}

static struct zsx_span span_of(const struct access *access, size_t len)
{
	return zsx_span(access->geo, access->index, len, PAGE_SHIFT);
}

static struct page *page_of(const struct access *access, unsigned int i)
{
	return access->zspage->pages[i];
}

/* Values, and not inlined: no caller needs memory for what it keeps in registers. */
static noinline void copy_from_span(void *to, struct page *const *pages,
				    struct zsx_span span)
{
	memcpy_from_page(to, pages[0], span.offset, span.len[0]);
	if (span.len[1])
		memcpy_from_page(to + span.len[0], pages[1], 0, span.len[1]);
}

static noinline void copy_to_span(struct page *const *pages, struct zsx_span span,
				  const void *from)
{
	memcpy_to_page(pages[0], span.offset, from, span.len[0]);
	if (span.len[1])
		memcpy_to_page(pages[1], 0, from + span.len[0], span.len[1]);
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
	copy_from_span(local_copy, &access.zspage->pages[span.page], span);
	return local_copy;
}
EXPORT_SYMBOL_GPL(zsx_obj_read_begin);

void zsx_obj_read_end(struct zsx_pool *pool, unsigned long handle,
		      size_t mem_len, void *handle_mem)
{
	struct access access;

	if (!handle_mem)
		return;
	access = find_open_access(pool, handle);
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

	/* If it is too long, it stays pinned: zsx_obj_read_sg_end() is called all the same. */
	if (!access.zspage || too_long(&access, mem_len)) {
		sg_init_table(sg, 1);
		sg_set_page(sg, ZERO_PAGE(0), min_t(size_t, mem_len, PAGE_SIZE), 0);
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
	struct access access = find_open_access(pool, handle);

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
		copy_to_span(&access.zspage->pages[span.page], span, handle_mem);
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
			copy_from_span(area->mem, &access.zspage->pages[span.page], span);
	}
	return area->mem;
}
EXPORT_SYMBOL_GPL(zsx_map_object);

void zsx_unmap_object(struct zsx_pool *pool, unsigned long handle)
{
	struct access access = find_open_access(pool, handle);
	struct map_area *area;
	struct zsx_span span;

	if (!access.zspage)
		return;

	area = this_cpu_ptr(&map_area);
	span = span_of(&access, access.geo->size);
	if (!span.len[1])
		kunmap_local(area->mem);
	else if (area->mode != ZSX_MAP_RO)
		copy_to_span(&access.zspage->pages[span.page], span, area->mem);
	local_unlock(&map_area.lock);
	access_end(&access);
}
EXPORT_SYMBOL_GPL(zsx_unmap_object);
