// SPDX-License-Identifier: GPL-2.0-only
/*
 * micro.c - what one operation takes: rows "<operation>/<mix>/<set>", metric "ns"
 *
 * Each thread has objects of its own, but for the pool and its classes nothing is shared.
 * Threads begin each operation together and do it for all their objects; the value is the
 * mean of the threads' ns an operation.
 *
 *   malloc       in order, into an empty pool
 *   write        in random order, like all that follow
 *   read         zs_obj_read_begin(), the first 8 bytes, zs_obj_read_end(): what a caller
 *                does with the rest is not the allocator's
 *   read-sg      the same by zs_obj_read_sg_begin()
 *   free-order   in the order of malloc
 *   free-random
 *   free-malloc  free one, malloc one of another length; both together are one operation
 *   malloc-bulk  as malloc, BULK objects in a call. Where the allocator has no such call,
 *                one call each. (Not measured with many pools.)
 *   free-bulk    as free-random, in the same way
 */
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/unaligned.h>

#include "bench.h"
#include "bulk.h"

/* About as many as a large folio has pages that are swapped out or given up together. */
#define BULK	64

enum op { OP_MALLOC, OP_WRITE, OP_READ, OP_READ_SG, OP_FREE_ORDER, OP_FREE_RANDOM,
	  OP_FREE_MALLOC, OP_MALLOC_BULK, OP_FREE_BULK, NR_OPS };

static const char * const op_names[] = {
	[OP_MALLOC] = "malloc",
	[OP_WRITE] = "write",
	[OP_READ] = "read",
	[OP_READ_SG] = "read-sg",
	[OP_FREE_ORDER] = "free-order",
	[OP_FREE_RANDOM] = "free-random",
	[OP_FREE_MALLOC] = "free-malloc",
	[OP_MALLOC_BULK] = "malloc-bulk",
	[OP_FREE_BULK] = "free-bulk",
};

static_assert(ARRAY_SIZE(op_names) == NR_OPS);

struct times {
	u64 ns[NR_OPS];
	u64 nr[NR_OPS];
};

/**
 * struct plan - what all threads do
 * @passes: how often all of it
 * @repeat: how often reads and writes in each pass
 * @times: what each thread measured
 */
struct plan {
	unsigned int passes;
	unsigned int repeat;
	struct times times[MAX_THREADS];
};

/* === Operations, for all objects of a thread ============================= */

static void malloc_all(struct worker *w)
{
	unsigned long i;

	for (i = 0; i < w->nr_items; i++)
		worker_malloc(w, &w->items[i]);
}

static void write_all(struct worker *w)
{
	unsigned long i;

	for (i = 0; i < w->nr_items; i++)
		worker_write(w, &w->walk[i]);
	cond_resched();
}

/* Objects that are read must be all there are: they have a sum. */
static void check_sum(struct worker *w, u64 sum)
{
	unsigned long i;

	for (i = 0; i < w->nr_items; i++)
		sum -= id_stamp(w->walk[i].id);
	if (sum) {
		pr_err("zsx_bench: what was read is not what was written\n");
		worker_fail(w, -EIO);
	}
}

static u64 read_all(struct worker *w)
{
	unsigned long i;
	u64 sum = 0;

	for (i = 0; i < w->nr_items; i++) {
		struct item *item = &w->walk[i];
		void *bytes = zs_obj_read_begin(pool_of(w, item), item->handle, item->len,
						w->copy);

		sum += get_unaligned((u64 *)bytes);
		zs_obj_read_end(pool_of(w, item), item->handle, item->len, bytes);
	}
	return sum;
}

static u64 read_sg_all(struct worker *w)
{
	unsigned long i;
	u64 sum = 0;

	for (i = 0; i < w->nr_items; i++) {
		struct item *item = &w->walk[i];
		struct scatterlist sg[2];

		zs_obj_read_sg_begin(pool_of(w, item), item->handle, sg, item->len);
		sum += get_unaligned((u64 *)sg_virt(sg));
		zs_obj_read_sg_end(pool_of(w, item), item->handle);
	}
	return sum;
}

static void free_in_order(struct worker *w)
{
	unsigned long i;

	for (i = 0; i < w->nr_items; i++)
		worker_free(w, &w->items[i]);
}

static void free_at_random(struct worker *w)
{
	unsigned long i;

	for (i = 0; i < w->nr_items; i++)
		worker_free(w, &w->walk[i]);
}

/* An object gets the length of one that comes later in the walk, if it came earlier. */
static void free_and_malloc(struct worker *w)
{
	u32 first_len = w->walk[0].len;
	unsigned long i;

	for (i = 0; i < w->nr_items; i++) {
		struct item *item = &w->walk[i];

		worker_free(w, item);
		item->len = i + 1 < w->nr_items ? item[1].len : first_len;
		worker_malloc(w, item);
	}
}

static void malloc_in_bulk(struct worker *w)
{
	unsigned long i, handles[BULK];
	size_t sizes[BULK];
	unsigned int k, nr;

	for (i = 0; i < w->nr_items; i += nr) {
		struct item *items = &w->items[i];

		nr = min(w->nr_items - i, (unsigned long)BULK);
		for (k = 0; k < nr; k++)
			sizes[k] = items[k].len;
		if (bulk_malloc(w->crew->pools[0], sizes, nr, BENCH_GFP, NUMA_NO_NODE, handles)) {
			worker_fail(w, -ENOMEM);
			return;
		}
		for (k = 0; k < nr; k++)
			items[k].handle = handles[k];
	}
}

static void free_in_bulk(struct worker *w)
{
	unsigned long i, handles[BULK];
	unsigned int k, nr;

	for (i = 0; i < w->nr_items; i += nr) {
		nr = min(w->nr_items - i, (unsigned long)BULK);
		for (k = 0; k < nr; k++)
			handles[k] = w->walk[i + k].handle;
		bulk_free(w->crew->pools[0], handles, nr);
	}
}

static void verify_all(struct worker *w)
{
	unsigned long i;

	for (i = 0; i < w->nr_items; i++)
		worker_verify(w, &w->walk[i]);
	cond_resched();
}

/* === The course of it ==================================================== */

/* Ten million objects take seconds: others, RCU first, come before each walk over them. */
static u64 begin(struct worker *w)
{
	cond_resched();
	crew_meet(w->crew);
	return ktime_get_ns();
}

static void end(struct worker *w, enum op op, u64 start)
{
	struct plan *plan = w->crew->data;
	struct times *times = &plan->times[w->index];

	times->ns[op] += ktime_get_ns() - start;
	times->nr[op] += w->nr_items;
	crew_meet(w->crew);
}

static void timed(struct worker *w, enum op op, void (*all)(struct worker *w))
{
	u64 start = begin(w);

	all(w);
	end(w, op, start);
}

static void timed_read(struct worker *w, enum op op, u64 (*all)(struct worker *w))
{
	u64 start, sum;

	worker_shuffle(w);
	start = begin(w);
	sum = all(w);
	end(w, op, start);
	check_sum(w, sum);
}

/* After the last free: all have met. */
static void check_empty(struct worker *w)
{
	if (w->index == 0 && !crew_pools_are_empty(w->crew)) {
		pr_err("zsx_bench: pages are left after the last free\n");
		worker_fail(w, -EIO);
	}
	crew_meet(w->crew);
}

/* False: there was no memory for all of them, and none is left. */
static bool store(struct worker *w)
{
	timed(w, OP_MALLOC, malloc_all);
	if (!crew_failed(w->crew))
		return true;
	free_in_order(w);
	return false;
}

static void store_read_free(struct worker *w)
{
	struct plan *plan = w->crew->data;
	unsigned int i;

	if (!store(w))
		return;
	for (i = 0; i < plan->repeat; i++) {
		worker_shuffle(w);
		timed(w, OP_WRITE, write_all);
	}
	verify_all(w);
	for (i = 0; i < plan->repeat; i++)
		timed_read(w, OP_READ, read_all);
	for (i = 0; i < plan->repeat; i++)
		timed_read(w, OP_READ_SG, read_sg_all);
	timed(w, OP_FREE_ORDER, free_in_order);
	check_empty(w);
}

static void store_free_at_random(struct worker *w)
{
	if (!store(w))
		return;
	worker_shuffle(w);
	timed(w, OP_FREE_RANDOM, free_at_random);
	check_empty(w);
}

static void replace_and_free(struct worker *w)
{
	if (!store(w))
		return;
	worker_shuffle(w);
	timed(w, OP_FREE_MALLOC, free_and_malloc);
	if (!crew_failed(w->crew)) {
		crew_meet(w->crew);
		write_all(w);
		verify_all(w);
	}
	free_at_random(w);
	crew_meet(w->crew);
	check_empty(w);
}

static void store_and_free_in_bulk(struct worker *w)
{
	unsigned long i;

	for (i = 0; i < w->nr_items; i++)
		w->items[i].handle = 0;
	timed(w, OP_MALLOC_BULK, malloc_in_bulk);
	worker_shuffle(w);
	if (!crew_failed(w->crew)) {
		write_all(w);
		verify_all(w);
	}
	timed(w, OP_FREE_BULK, free_in_bulk);
	check_empty(w);
}

static void work(struct worker *w)
{
	struct plan *plan = w->crew->data;
	unsigned int i;

	for (i = 0; i < plan->passes && !crew_failed(w->crew); i++) {
		store_read_free(w);
		if (!crew_failed(w->crew))
			store_free_at_random(w);
		if (!crew_failed(w->crew))
			replace_and_free(w);
		if (!crew_failed(w->crew) && w->crew->nr_pools == 1)
			store_and_free_in_bulk(w);
		crew_meet(w->crew);
		cond_resched();
	}
}

static void report(const struct plan *plan, const char *set, const char *mix,
		   unsigned int nr_threads)
{
	unsigned int op, i;
	char row[48];

	for (op = 0; op < NR_OPS; op++) {
		u64 sum = 0;

		if (!plan->times[0].nr[op])
			continue;
		for (i = 0; i < nr_threads; i++)
			sum += div64_u64(plan->times[i].ns[op] * 1000, plan->times[i].nr[op]);
		snprintf(row, sizeof(row), "%s/%s/%s", op_names[op], mix, set);
		bench_result(row, nr_threads, "ns", div_u64(sum, nr_threads));
	}
}

int micro(const char *set, const char *mix, u64 bytes, unsigned int passes,
	  unsigned int repeat, unsigned int nr_threads, unsigned int nr_pools, u32 seed)
{
	struct crew *crew = crew_create(nr_threads, nr_pools);
	struct plan *plan;
	int err;

	if (IS_ERR(crew))
		return PTR_ERR(crew);
	plan = kzalloc(sizeof(*plan), GFP_KERNEL);
	err = plan ? crew_add_items(crew, mix, bytes, seed) : -ENOMEM;
	if (!err) {
		plan->passes = passes;
		plan->repeat = repeat;
		err = crew_run(crew, work, plan);
	}
	if (!err)
		report(plan, set, mix, nr_threads);
	kfree(plan);
	crew_destroy(crew);
	return err;
}
