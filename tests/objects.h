/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * objects.h - objects that the KUnit suites of what moves keep in a pool
 *
 * Each is filled with words that follow from its seed, so that it can be told from any
 * other, wherever it is.
 */
#ifndef _ZSX_TESTS_OBJECTS_H_
#define _ZSX_TESTS_OBJECTS_H_

#include <linux/err.h>
#include <linux/numa.h>

#include "zsx_internal.h"

/* @handle is 0: there is none. */
struct obj {
	unsigned long handle;
	unsigned int len;
	u32 seed;
};

static inline struct zsx_zspage *zspage_of(const struct obj *o)
{
	return zsx_zspage_of(zsx_location_read(zsx_handle_of(o->handle)));
}

static inline unsigned int slot_of(const struct obj *o)
{
	return zsx_location_index(ZSX_LAYOUT,
				  zsx_location_read(zsx_handle_of(o->handle)));
}

static inline u32 word(const struct obj *o, unsigned int i)
{
	return (o->seed ^ i * 0x9e3779b1) * 0x85ebca6b;
}

static inline bool has_words(const struct obj *o, const u32 *words)
{
	unsigned int i;

	for (i = 0; i < o->len / sizeof(*words); i++)
		if (words[i] != word(o, i))
			return false;
	return true;
}

static inline bool is_intact(struct zsx_pool *pool, const struct obj *o, u32 *buf)
{
	void *mem = zsx_obj_read_begin(pool, o->handle, o->len, buf);
	bool ok = mem && has_words(o, mem);

	zsx_obj_read_end(pool, o->handle, o->len, mem);
	return ok;
}

static inline bool rewrite(struct zsx_pool *pool, const struct obj *o, u32 *buf)
{
	unsigned int i;

	for (i = 0; i < o->len / sizeof(*buf); i++)
		buf[i] = word(o, i);
	return !zsx_obj_write(pool, o->handle, buf, o->len);
}

/* Store an object; false: zsx_malloc() or zsx_obj_write() failed. */
static inline bool store(struct zsx_pool *pool, struct obj *o, unsigned int len, u32 seed,
		  u32 *buf)
{
	unsigned long handle = zsx_malloc(pool, len, GFP_KERNEL | __GFP_MOVABLE,
					  NUMA_NO_NODE);

	if (IS_ERR_VALUE(handle))
		return false;
	*o = (struct obj) { .handle = handle, .len = len, .seed = seed };
	return rewrite(pool, o, buf);
}

static inline void drop(struct zsx_pool *pool, struct obj *o)
{
	zsx_free(pool, o->handle);
	o->handle = 0;
}

#endif /* _ZSX_TESTS_OBJECTS_H_ */
