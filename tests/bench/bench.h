/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench.h - what the parts of the benchmark's client share
 *
 * It knows the interface of <linux/zsmalloc.h> and nothing of who is behind it. What it
 * measures goes out as lines "row threads metric value" (main.c).
 */
#ifndef _ZSX_TESTS_BENCH_H_
#define _ZSX_TESTS_BENCH_H_

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/numa.h>
#include <linux/prandom.h>
#include <linux/types.h>
#include <linux/zsmalloc.h>

/* As zram asks for memory. */
#define BENCH_GFP	(GFP_NOIO | __GFP_NOWARN | __GFP_HIGHMEM | __GFP_MOVABLE)

#define MAX_THREADS	16
#define MAX_POOLS	64

/**
 * struct item - an object
 * @handle: its handle; 0: there is none
 * @id: unlike any other's: the thread's number and its own
 * @len: its length; at least 16
 */
struct item {
	unsigned long handle;
	u32 id;
	u32 len;
};

/**
 * struct worker - a thread of a measurement, bound to a CPU
 * @crew: all threads of it
 * @index: 0 .. crew->nr_threads - 1
 * @err: what went wrong first, or 0
 * @rnd: this thread's random numbers: the same for each allocator
 * @items: its own objects, in the order of their allocation
 * @walk: copies of @items in another order
 * @nr_items: how many they are
 * @pattern: PAGE_SIZE bytes that objects are written from
 * @copy: PAGE_SIZE bytes for an object that spans pages
 * @task: internal to crew.c
 * @done: internal to crew.c
 */
struct worker {
	struct crew *crew;
	unsigned int index;
	int err;
	struct rnd_state rnd;
	struct item *items;
	struct item *walk;
	unsigned long nr_items;
	u8 *pattern;
	u8 *copy;
	struct task_struct *task;
	struct completion done;
};

/**
 * struct crew - threads that measure together
 * @nr_threads: how many
 * @pools: where the objects are: that of an item is pools[id % nr_pools]
 * @nr_pools: a power of two
 * @workers: the threads
 * @work: what each of them does
 * @data: for @work
 * @here: internal to crew_meet()
 * @meetings: internal to crew_meet()
 */
struct crew {
	unsigned int nr_threads;
	unsigned int nr_pools;
	struct zs_pool *pools[MAX_POOLS];
	struct worker workers[MAX_THREADS];
	void (*work)(struct worker *w);
	void *data;
	atomic_t here;
	atomic_t meetings;
};

static inline struct zs_pool *pool_of(const struct worker *w, const struct item *item)
{
	return w->crew->pools[item->id & (w->crew->nr_pools - 1)];
}

/* What an object begins with. The rest of it is its thread's pattern. */
static inline u64 id_stamp(u32 id)
{
	return id ^ 0x5a5a5a5a00000000;
}

/* --- main.c -------------------------------------------------------------- */

/* A line of the results; the value is given in thousandths. */
void bench_result(const char *row, unsigned int threads, const char *metric, u64 thousandths);

/* --- crew.c -------------------------------------------------------------- */

struct crew *crew_create(unsigned int nr_threads, unsigned int nr_pools);
int crew_add_items(struct crew *crew, const char *mix, u64 bytes, u32 seed);
int crew_run(struct crew *crew, void (*work)(struct worker *w), void *data);
void crew_destroy(struct crew *crew);

void crew_meet(struct crew *crew);
bool crew_failed(struct crew *crew);
bool crew_pools_are_empty(struct crew *crew);

void worker_fail(struct worker *w, int err);
void worker_shuffle(struct worker *w);
void worker_malloc(struct worker *w, struct item *item);
void worker_free(struct worker *w, struct item *item);
void worker_write(struct worker *w, const struct item *item);
void worker_verify(struct worker *w, const struct item *item);

/* --- the measurements ---------------------------------------------------- */

int micro(const char *set, const char *mix, u64 bytes, unsigned int passes,
	  unsigned int repeat, unsigned int nr_threads, unsigned int nr_pools, u32 seed);
int latency(const char *op, const char *mix, const char *mover, u64 bytes, unsigned int ms,
	    u32 seed);
int line_transfer(void);
int compaction(const char *mix, u64 bytes, unsigned int keep, u32 seed);

int density_fill(const char *mix, u64 bytes, unsigned int nr_pools, u32 seed);
int density_churn(unsigned int percent, u32 seed);
int density_thin(unsigned int percent, u32 seed);
int density_compact(void);
int density_state(void);
int density_reset(void);
int density_empty_pools(void);

#endif /* _ZSX_TESTS_BENCH_H_ */
