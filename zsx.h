/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * zsx.h - an allocator for compressed pages: what a caller sees
 *
 * A pool stores objects of 1 byte to PAGE_SIZE bytes densely in order-0 pages.
 * zsx_malloc() gives a handle, not an address, so that zsx may move an object
 * while nobody looks at it; its bytes are reached through the calls below.
 *
 *	handle = zsx_malloc(pool, len, GFP_KERNEL, NUMA_NO_NODE);
 *	if (IS_ERR_VALUE(handle))
 *		return (long)handle;
 *	zsx_obj_write(pool, handle, data, len);
 *
 *	src = zsx_obj_read_begin(pool, handle, len, buffer);
 *	decompress(src, len);
 *	zsx_obj_read_end(pool, handle, len, src);
 *
 *	zsx_free(pool, handle);
 *
 * All calls are for process context. Calls on one pool may run at the same time
 * on all CPUs. The caller sees to it that a handle is not used after, or while,
 * it is freed, and that an object is not written by two at once or read while
 * it is written.
 *
 * Callers of <linux/zsmalloc.h> run on zsx unchanged: zsmalloc/linux/zsmalloc.h.
 */
#ifndef _ZSX_H_
#define _ZSX_H_

#include <linux/types.h>

/* The only place that says it: the module, DKMS and the package read it here. */
#define ZSX_VERSION "0.1"

struct scatterlist;
struct zsx_pool;

/**
 * struct zsx_pool_stats - what a pool holds and has done
 * @objects: objects stored now
 * @pages: pages held for them now
 * @zspages: zspages that these pages belong to
 * @handle_bytes: memory of the handles of @objects
 * @descriptor_bytes: memory of the descriptors of @zspages
 * @pool_bytes: memory of the pool itself, whatever it holds, in whole pages
 * @bytes_in_classes: the sum over @objects of their classes' sizes: what they
 *	were asked for, and what rounding up to a class added
 * @mallocs: objects ever stored
 * @bytes_asked: the sum of the sizes that @mallocs asked for
 * @frees: objects ever freed
 * @pages_brought: pages ever brought in
 * @pages_given_back: pages ever given back
 * @pins_retried: how often a reader or writer found its object being moved,
 *	and looked again
 * @pages_migrated: pages that the kernel's page migration replaced
 * @migrations_refused: how often it was refused a page, because objects on its
 *	zspage were being read, written or moved
 * @pages_compacted: pages that compaction gave back: the sum of what
 *	zsx_compact() returned and the shrinker freed
 * @objects_copied: objects that compaction moved
 * @source_steps: how often it looked for an object to move; were slots tried one by
 *	one for that, it would be more than @objects_copied
 * @source_pages_emptied: pages from which it moved the last object
 * @zspages_freed: zspages from which it moved the last object
 * @skipped_busy: zspages that it left as they were, although it could have won
 *	something, because objects in them were being read or written or pages were
 *	isolated to be migrated; each once in a call, about. One that ends early, as the
 *	shrinker's may, has not looked at all.
 * @longest_hold_ns: the longest time for which it held a class's lock, by the wall
 *	clock: with interrupts, and preemption on PREEMPT_RT
 *
 * @pages * PAGE_SIZE + @handle_bytes + @descriptor_bytes + @pool_bytes is all
 * that the pool costs, but for what the slab allocator leaves unused in the
 * slabs of handles and descriptors; pools share these.
 *
 * The figures of one class are of one moment; the sums over the classes are not.
 */
struct zsx_pool_stats {
	unsigned long objects;
	unsigned long pages;
	unsigned long zspages;
	u64 handle_bytes;
	u64 descriptor_bytes;
	u64 pool_bytes;
	u64 bytes_in_classes;
	u64 mallocs;
	u64 bytes_asked;
	u64 frees;
	u64 pages_brought;
	u64 pages_given_back;
	u64 pins_retried;
	u64 pages_migrated;
	u64 migrations_refused;
	u64 pages_compacted;
	u64 objects_copied;
	u64 source_steps;
	u64 source_pages_emptied;
	u64 zspages_freed;
	u64 skipped_busy;
	u64 longest_hold_ns;
};

/**
 * enum zsx_map_mode - what a mapped object's bytes are wanted for
 * @ZSX_MAP_RW: they are read, changed in part, and kept
 * @ZSX_MAP_RO: they are read; what is written to the mapping may get lost
 * @ZSX_MAP_WO: they are written as a whole; what the mapping holds at first is
 *	not defined
 */
enum zsx_map_mode {
	ZSX_MAP_RW,
	ZSX_MAP_RO,
	ZSX_MAP_WO,
};

/**
 * zsx_create_pool() - make an empty pool
 * @name: its name, for messages and for its directory in debugfs; not empty.
 *	Names need not be unique. In debugfs '/' is shown as '!', and where the
 *	name is taken a number is added. A pool without a directory (its name is
 *	too long for one, or there is no debugfs) works all the same.
 *
 * The pool takes a reference on the module.
 *
 * Context: May sleep.
 * Return: The pool, or NULL if @name is NULL or empty or memory is short, or if zsx is built
 * in and could not start.
 */
struct zsx_pool *zsx_create_pool(const char *name);

/**
 * zsx_destroy_pool() - end a pool
 * @pool: from zsx_create_pool(), or NULL: nothing is done
 *
 * All its objects must have been freed before. If not, that is a leak in the
 * caller: one message names the pool and the class that most of them are in,
 * and the pool's memory and its reference on the module are kept for ever, so
 * that handles in use elsewhere stay valid.
 *
 * Context: May sleep. No other call on @pool may be running.
 */
void zsx_destroy_pool(struct zsx_pool *pool);

/**
 * zsx_malloc() - get room for an object
 * @pool: the pool to store it in
 * @size: its length in bytes, 1 .. PAGE_SIZE
 * @gfp: how memory may be got, for pages, descriptors and handles alike. No lock
 *	is held meanwhile. __GFP_HIGHMEM is for pages alone, and so is
 *	__GFP_MOVABLE, which is taken off where pages can't be migrated;
 *	__GFP_ZERO is taken off.
 * @nid: the node for a page and a descriptor, if they are needed; NUMA_NO_NODE:
 *	this CPU's. With __GFP_THISNODE in @gfp the object is on this node at first, or
 *	not stored: no room is used whose pages are on another. Compaction and page
 *	migration know nothing of nodes.
 *
 * The object's bytes are not defined at first.
 *
 * Context: Process context. Sleeps if @gfp allows it.
 * Return: A handle, or an error that IS_ERR_VALUE() tells from one: -EINVAL if
 * @size is 0; -ENOSPC if @size is more than PAGE_SIZE; -ENOMEM if memory is
 * short. After an error nothing has changed.
 */
unsigned long zsx_malloc(struct zsx_pool *pool, size_t size, gfp_t gfp, int nid);

/**
 * zsx_free() - give an object back
 * @pool: the pool it is in
 * @handle: its handle. Of 0 and of an error value nothing is freed.
 *
 * Pages that no other object touches go back to the system at once.
 *
 * A handle that was freed before, or is another pool's, is reported once and
 * changes nothing wherever it is recognised. It is not if the memory of the
 * handle has been given to another object meanwhile.
 *
 * Context: Process context. Doesn't sleep. Nobody may be reading, writing or
 * mapping the object.
 */
void zsx_free(struct zsx_pool *pool, unsigned long handle);

/**
 * zsx_malloc_bulk() - make room for many objects
 * @pool: the pool
 * @sizes: how long each is, as for zsx_malloc(); @nr of them
 * @nr: how many
 * @gfp: as for zsx_malloc()
 * @nid: as for zsx_malloc()
 * @handles: filled in: the handle of each; not defined after an error
 *
 * All or none. It does what @nr calls of zsx_malloc() do, and takes less time for it: of
 * each 32 objects, those of a size class share a trip through its lock, and handles and
 * pages are got together.
 *
 * Context: As zsx_malloc().
 * Return: 0; or, and then no object is stored, -EINVAL if a size is 0, -ENOSPC if one is
 * more than PAGE_SIZE, -ENOMEM if memory is short.
 */
int zsx_malloc_bulk(struct zsx_pool *pool, const size_t *sizes, unsigned int nr, gfp_t gfp,
		    int nid, unsigned long *handles);

/**
 * zsx_free_bulk() - free many objects
 * @pool: the pool they are in
 * @handles: their handles; an error or 0 among them is passed over
 * @nr: how many
 *
 * It does what @nr calls of zsx_free() do, and takes less time for it: of each 32 objects,
 * those of a size class share a trip through its lock, and handles and pages are given
 * back together.
 *
 * Context: As zsx_free().
 */
void zsx_free_bulk(struct zsx_pool *pool, const unsigned long *handles, unsigned int nr);

/**
 * zsx_obj_read_begin() - start to read an object
 * @pool: the pool it is in
 * @handle: its handle
 * @mem_len: how many bytes are wanted, from its start: at most its size
 * @local_copy: @mem_len bytes of the caller's
 *
 * An object that lies in one page is read where it is. One that spans two is
 * copied to @local_copy. Until zsx_obj_read_end() it stays where it is; the
 * caller may sleep and may have many objects open at a time. (On highmem kernels
 * this is kmap_local_page() and its rules: the last one opened is the first to be
 * ended, by the same task, and a dozen at a time.)
 *
 * Context: Process context. Doesn't sleep.
 * Return: The object's bytes: either @local_copy or its place in its page; valid
 * until zsx_obj_read_end(). NULL, with one warning, if @mem_len is more than
 * the object's class holds or the handle is not an object's, where that is
 * recognised. Nothing is held then, and zsx_obj_read_end() of NULL does nothing.
 */
void *zsx_obj_read_begin(struct zsx_pool *pool, unsigned long handle,
			 size_t mem_len, void *local_copy);

/**
 * zsx_obj_read_end() - end what zsx_obj_read_begin() started
 * @pool: as there
 * @handle: as there
 * @mem_len: as there
 * @handle_mem: what it returned
 *
 * Context: Process context. Doesn't sleep.
 */
void zsx_obj_read_end(struct zsx_pool *pool, unsigned long handle,
		      size_t mem_len, void *handle_mem);

/**
 * zsx_obj_read_sg_begin() - start to read an object through a scatterlist
 * @pool: the pool it is in
 * @handle: its handle
 * @sg: two entries of the caller's; filled in, and ended after the first or
 *	the second
 * @mem_len: how many bytes are wanted, from its start: at most its size
 *
 * For readers that take scatterlists, as the crypto API does: no byte is copied,
 * spanning or not. Until zsx_obj_read_sg_end() the object stays where it is; the
 * caller may sleep and may have many objects open.
 *
 * If @mem_len is more than the object's class holds, or the handle is not an
 * object's where that is recognised, there is one warning, and @sg is filled with
 * zeroes instead: up to PAGE_SIZE of them. zsx_obj_read_sg_end() is called all
 * the same.
 *
 * Context: Process context. Doesn't sleep.
 */
void zsx_obj_read_sg_begin(struct zsx_pool *pool, unsigned long handle,
			   struct scatterlist *sg, size_t mem_len);

/**
 * zsx_obj_read_sg_end() - end what zsx_obj_read_sg_begin() started
 * @pool: as there
 * @handle: as there
 *
 * Context: Process context. Doesn't sleep.
 */
void zsx_obj_read_sg_end(struct zsx_pool *pool, unsigned long handle);

/**
 * zsx_obj_write() - write an object
 * @pool: the pool it is in
 * @handle: its handle
 * @handle_mem: the bytes to write
 * @mem_len: how many, from its start: at most the size it was asked for with.
 *	(Up to the size of its class can be told from too much.)
 *
 * Context: Process context. Doesn't sleep.
 * Return: 0. -EINVAL, with one warning and nothing written, if @mem_len is more
 * than the object's class holds or the handle is not an object's, where that is
 * recognised.
 */
int zsx_obj_write(struct zsx_pool *pool, unsigned long handle,
		  const void *handle_mem, size_t mem_len);

/**
 * zsx_map_object() - make all of an object's bytes one piece of memory
 * @pool: the pool it is in
 * @handle: its handle
 * @mode: what they are wanted for
 *
 * For callers that were written for zs_map_object(): an object that spans two
 * pages is brought together in a buffer of this CPU, so that one object can be
 * mapped at a time. New code reads by zsx_obj_read_begin() and writes by
 * zsx_obj_write().
 *
 * Context: Process context. Until zsx_unmap_object() the caller may neither
 * sleep nor map another object.
 * Return: The object's bytes, as many as its class holds. NULL, with one warning,
 * if the handle is not an object's, where that is recognised; nothing is held
 * then, and zsx_unmap_object() must not be called.
 */
void *zsx_map_object(struct zsx_pool *pool, unsigned long handle,
		     enum zsx_map_mode mode);

/**
 * zsx_unmap_object() - end what zsx_map_object() started
 * @pool: as there
 * @handle: as there
 *
 * Context: As zsx_map_object() left it.
 */
void zsx_unmap_object(struct zsx_pool *pool, unsigned long handle);

/**
 * zsx_compact() - move objects together, and give back the pages that become free
 * @pool: the pool
 *
 * Handles stay valid, and objects in use stay where they are. With none in use, and
 * memory for a few pages, each class ends with as few pages and zspages as its
 * objects need. A pool is compacted by one caller at a time: another one returns at
 * once. The pool's shrinker does the same when memory is short.
 *
 * Context: Process context. May be scheduled away between a few pages of copying.
 * Return: How many pages were given back.
 */
unsigned long zsx_compact(struct zsx_pool *pool);

/**
 * zsx_get_total_pages() - how many pages a pool holds
 * @pool: the pool
 *
 * Pages of objects alone; zsx_pool_stats() tells what else it costs. Cheap
 * enough for each store to ask.
 *
 * Context: Any.
 * Return: The number of pages, of one moment.
 */
unsigned long zsx_get_total_pages(struct zsx_pool *pool);

/**
 * zsx_pool_stats() - what a pool holds and has done
 * @pool: the pool
 * @stats: filled in
 *
 * Context: Process context. Takes each class's lock for a moment, in turn.
 */
void zsx_pool_stats(struct zsx_pool *pool, struct zsx_pool_stats *stats);

/**
 * zsx_huge_class_size() - from which length on an object gets a page of its own
 * @pool: the pool; all have the same
 *
 * Such objects are no denser than pages: compressing to as much wins nothing.
 *
 * Context: Any.
 * Return: The shortest such length, in bytes.
 */
size_t zsx_huge_class_size(struct zsx_pool *pool);

/**
 * zsx_lookup_class_index() - which class an object of a size is stored in
 * @pool: the pool; all have the same classes
 * @size: the size in bytes. 0 is looked up as 1, more than PAGE_SIZE as
 *	PAGE_SIZE.
 *
 * Two sizes of one class cost the same.
 *
 * Context: Any.
 * Return: The class, as numbered in debugfs' "classes".
 */
unsigned int zsx_lookup_class_index(struct zsx_pool *pool, unsigned int size);

#endif /* _ZSX_H_ */
