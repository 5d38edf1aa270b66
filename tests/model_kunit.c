// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit suite zsx_model: any sequence of calls, against a model of the pool
 *
 * A seed makes a sequence of steps: objects are stored, singly and in bulk, rewritten, read,
 * held open, freed; pages are isolated, migrated and put back; the pool is compacted; memory
 * is short for a while. The model knows which objects there are and what they hold, and
 * nothing of zspages: every few steps the pool must say the same of them, and every so
 * often all of it is recounted and every byte is read. A case says its seed when it
 * fails: zsx_kunit.model_seed=S does that one alone. Seeds that failed once are in
 * kept_seeds[].
 */
#include <linux/err.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/slab.h>

#include <kunit/test.h>

#include "../zsx_internal.h"
#include "memory.h"
#include "objects.h"

static uint model_seed;
module_param(model_seed, uint, 0444);
MODULE_PARM_DESC(model_seed, "the one sequence of suite zsx_model to be done (default 0: all)");

#define NR_OBJS		400
#define NR_STEPS	2000
#define STEPS_TO_COUNT	25
#define STEPS_TO_CHECK	250
#define MAX_BULK	70	/* more than two batches */
#define MAX_OPEN	4
#define MAX_ISOLATED	6

/* None has failed yet, but by hand. */
static const u32 kept_seeds[] = { 1, 2, 3, 4 };
#define NR_SEEDS	8

/* An object that is held open, and its bytes. */
struct reading {
	struct obj *o;
	u32 *mem;
	u32 *copy;
};

/*
 * @nr_live, @bytes: of the objects that there are
 * @mix_len: how long new ones are, for now; 0: of any length
 * @is_short: memory can't be had, for now
 */
struct fixture {
	struct memory memory;
	struct zsx_pool *pool;
	struct obj objs[NR_OBJS];
	size_t sizes[MAX_BULK];
	unsigned long handles[MAX_BULK];
	struct obj *which[MAX_BULK];
	struct reading open[MAX_OPEN];
	unsigned int nr_open;
	struct page *isolated[MAX_ISOLATED];
	unsigned int nr_isolated;
	struct rnd_state rnd;
	u32 *buf;
	unsigned long nr_live;
	u64 nr_mallocs;
	u64 nr_bytes;
	unsigned int mix_len;
	bool is_short;
	u32 next_seed;
};

static u32 below(struct fixture *f, u32 bound)
{
	return (u64)prandom_u32_state(&f->rnd) * bound >> 32;
}

/* === Memory ============================================================== */

static bool refuses(struct kunit *test)
{
	struct fixture *f = test->priv;

	return f->is_short && below(f, 2);
}

/* === Steps =============================================================== */

static bool is_open(struct fixture *f, const struct obj *o)
{
	unsigned int i;

	for (i = 0; i < f->nr_open; i++)
		if (f->open[i].o == o)
			return true;
	return false;
}

static struct obj *any_object(struct fixture *f)
{
	return &f->objs[below(f, NR_OBJS)];
}

static unsigned int any_len(struct fixture *f)
{
	return f->mix_len ?: 4 + below(f, PAGE_SIZE - 3);
}

static void note_stored(struct fixture *f, struct obj *o, unsigned long handle, size_t len)
{
	*o = (struct obj) { .handle = handle, .len = len, .seed = ++f->next_seed };
	f->nr_live++;
	f->nr_mallocs++;
	f->nr_bytes += len;
}

/* Each step says what is wrong, or NULL. */
static const char *step_malloc(struct fixture *f)
{
	struct obj *o = any_object(f);
	size_t len = any_len(f);
	unsigned long handle;

	if (o->handle)
		return NULL;
	handle = zsx_malloc(f->pool, len, GFP_KERNEL | __GFP_MOVABLE, NUMA_NO_NODE);
	if (IS_ERR_VALUE(handle))
		return handle == (unsigned long)-ENOMEM && f->is_short ? NULL : "malloc failed";
	note_stored(f, o, handle, len);
	return rewrite(f->pool, o, f->buf) ? NULL : "write failed";
}

static const char *step_malloc_bulk(struct fixture *f)
{
	unsigned int i, nr = 0, want = below(f, MAX_BULK + 1);
	struct obj *o = any_object(f);
	int err;

	for (; o < f->objs + NR_OBJS && nr < want; o++) {
		if (o->handle)
			continue;
		f->which[nr] = o;
		f->sizes[nr++] = any_len(f);
	}
	err = zsx_malloc_bulk(f->pool, f->sizes, nr, GFP_KERNEL | __GFP_MOVABLE, NUMA_NO_NODE,
			      f->handles);
	if (err) {
		struct zsx_pool_stats stats;

		/* What was stored before memory ended counts, and was freed. */
		zsx_pool_stats(f->pool, &stats);
		f->nr_mallocs = stats.mallocs;
		f->nr_bytes = stats.bytes_asked;
		return err == -ENOMEM && f->is_short ? NULL : "malloc in bulk failed";
	}
	for (i = 0; i < nr; i++) {
		note_stored(f, f->which[i], f->handles[i], f->sizes[i]);
		if (!rewrite(f->pool, f->which[i], f->buf))
			return "write failed";
	}
	return NULL;
}

static const char *step_free(struct fixture *f)
{
	struct obj *o = any_object(f);

	if (!o->handle || is_open(f, o))
		return NULL;
	if (!is_intact(f->pool, o, f->buf))
		return "an object is not what was stored";
	drop(f->pool, o);
	f->nr_live--;
	return NULL;
}

static const char *step_free_bulk(struct fixture *f)
{
	unsigned int nr = 0, want = below(f, MAX_BULK + 1);
	struct obj *o = any_object(f);

	for (; o < f->objs + NR_OBJS && nr < want; o++) {
		if (is_open(f, o))
			continue;
		f->handles[nr++] = o->handle;
		f->nr_live -= !!o->handle;
		o->handle = 0;
	}
	zsx_free_bulk(f->pool, f->handles, nr);
	return NULL;
}

static const char *step_rewrite(struct fixture *f)
{
	struct obj *o = any_object(f);

	if (!o->handle || is_open(f, o))
		return NULL;
	o->seed = ++f->next_seed;
	return rewrite(f->pool, o, f->buf) ? NULL : "write failed";
}

static const char *step_open(struct fixture *f)
{
	struct reading *r = &f->open[f->nr_open];
	struct obj *o = any_object(f);

	if (!o->handle || is_open(f, o) || f->nr_open == MAX_OPEN)
		return NULL;
	r->o = o;
	r->mem = zsx_obj_read_begin(f->pool, o->handle, o->len, r->copy);
	f->nr_open++;
	return r->mem ? NULL : "read failed";
}

/* The last one that was opened: on highmem that is a must. */
static const char *step_close(struct fixture *f)
{
	struct reading *r = &f->open[f->nr_open - 1];
	bool ok;

	if (!f->nr_open)
		return NULL;
	ok = has_words(r->o, r->mem);
	zsx_obj_read_end(f->pool, r->o->handle, r->o->len, r->mem);
	f->nr_open--;
	return ok ? NULL : "an open object changed";
}

static const char *step_isolate(struct fixture *f)
{
	struct obj *o = any_object(f);
	struct zsx_zspage *zspage;
	struct page *page;
	unsigned int i;

	if (!zsx_movable || !o->handle || f->nr_isolated == MAX_ISOLATED)
		return NULL;
	zspage = zspage_of(o);
	page = zspage->pages[below(f, zspage->class->geo->nr_pages)];
	for (i = 0; i < f->nr_isolated; i++)
		if (f->isolated[i] == page)
			return NULL;
	if (!page || !core_isolate(page))
		return page ? "a page of a live zspage can't be isolated" : NULL;
	f->isolated[f->nr_isolated++] = page;
	return NULL;
}

static struct page *take_isolated(struct fixture *f)
{
	unsigned int i = below(f, f->nr_isolated);
	struct page *page = f->isolated[i];

	f->isolated[i] = f->isolated[--f->nr_isolated];
	return page;
}

static const char *step_put_back(struct fixture *f)
{
	if (f->nr_isolated)
		core_put_back(take_isolated(f));
	return NULL;
}

/* Refused while an object of the zspage is open: then the page goes back. */
static const char *step_migrate(struct fixture *f)
{
	struct page *page, *dst;

	if (!f->nr_isolated)
		return NULL;
	dst = core_new_page();
	if (!dst)
		return NULL;
	page = take_isolated(f);
	if (core_migrate(page, dst))
		core_put_back(page);
	return NULL;
}

static const char *step_compact(struct fixture *f)
{
	zsx_compact(f->pool);
	return NULL;
}

/* Other wishes for a while. */
static const char *step_phase(struct fixture *f)
{
	f->mix_len = below(f, 3) ? 4 + below(f, PAGE_SIZE - 3) : 0;
	f->is_short = !below(f, 4);
	return NULL;
}

static const struct step {
	const char *(*take)(struct fixture *f);
	unsigned int weight;
} steps[] = {
	{ step_malloc, 30 }, { step_malloc_bulk, 3 }, { step_free, 24 }, { step_free_bulk, 3 },
	{ step_rewrite, 10 }, { step_open, 5 }, { step_close, 6 }, { step_isolate, 10 },
	{ step_put_back, 4 }, { step_migrate, 6 }, { step_compact, 1 }, { step_phase, 2 },
};

static const char *any_step(struct fixture *f)
{
	const struct step *step;
	unsigned int sum = 0, at;

	for (step = steps; step < steps + ARRAY_SIZE(steps); step++)
		sum += step->weight;
	at = below(f, sum);
	for (step = steps; at >= step->weight; step++)
		at -= step->weight;
	return step->take(f);
}

/* === What must be so ===================================================== */

static const char *check_counts(struct fixture *f)
{
	struct zsx_pool_stats stats;

	zsx_pool_stats(f->pool, &stats);
	if (stats.objects != f->nr_live)
		return "the number of objects is wrong";
	if (stats.mallocs != f->nr_mallocs || stats.frees != f->nr_mallocs - f->nr_live ||
	    stats.bytes_asked != f->nr_bytes)
		return "a counter is wrong";
	if (stats.pages != zsx_get_total_pages(f->pool))
		return "the number of pages is not the classes'";
	if (!f->nr_live && !f->nr_isolated && (stats.pages || stats.zspages))
		return "an empty pool holds pages";
	return NULL;
}

static const char *check_all(struct fixture *f)
{
	const char *wrong = NULL;
	unsigned int i;

	for (i = 0; i < f->pool->nr_classes && !wrong; i++)
		wrong = zsx_class_check(&f->pool->classes[i]);
	for (i = 0; i < NR_OBJS && !wrong; i++)
		if (f->objs[i].handle && !is_intact(f->pool, &f->objs[i], f->buf))
			wrong = "an object is not what was stored";
	return wrong;
}

static const char *end_all(struct fixture *f)
{
	const char *wrong = NULL;

	f->is_short = false;
	while (f->nr_open && !wrong)
		wrong = step_close(f);
	while (f->nr_isolated && !wrong)
		wrong = below(f, 2) ? step_put_back(f) : step_migrate(f);
	wrong = wrong ?: check_all(f);
	while (f->nr_live && !wrong)
		wrong = below(f, 8) ? step_free(f) : step_free_bulk(f);
	return wrong ?: check_counts(f);
}

/* === Cases =============================================================== */

static void end(void *data)
{
	struct fixture *f = data;
	unsigned int i;

	while (f->nr_open)
		step_close(f);
	while (f->nr_isolated)
		step_put_back(f);
	for (i = 0; i < NR_OBJS; i++)
		if (f->objs[i].handle)
			drop(f->pool, &f->objs[i]);
	zsx_destroy_pool(f->pool);
}

static int model_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->buf = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->buf);
	for (i = 0; i < MAX_OPEN; i++) {
		f->open[i].copy = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, f->open[i].copy);
	}
	f->pool = zsx_create_pool("zsx_model");
	KUNIT_ASSERT_NOT_NULL(test, f->pool);
	f->memory = (struct memory) { .refuses = refuses, .most = UINT_MAX };
	test->priv = f;
	return kunit_add_action_or_reset(test, end, f);
}

/* The kept seeds, then as many others. */
static u32 seed_of(unsigned int i)
{
	return i < ARRAY_SIZE(kept_seeds) ? kept_seeds[i] : 1000 + i;
}

static void pool_does_what_the_model_does(struct kunit *test)
{
	u32 seed = model_seed ?: seed_of((long)test->param_value - 1);
	struct fixture *f = test->priv;
	const char *wrong = NULL;
	unsigned int step;

	prandom_seed_state(&f->rnd, seed);
	use_memory(test);
	for (step = 0; step < NR_STEPS && !wrong; step++) {
		wrong = any_step(f);
		if (!wrong && step % STEPS_TO_COUNT == 0)
			wrong = check_counts(f);
		if (!wrong && step % STEPS_TO_CHECK == 0)
			wrong = check_all(f);
	}
	wrong = wrong ?: end_all(f);
	drop_memory(test);
	if (wrong)
		KUNIT_FAIL(test, "model_seed=%u, step %u: %s", seed, step, wrong);
}

/* The numbers 1 .. NR_SEEDS, or 1 alone. */
static const void *seeds_gen_params(struct kunit *test, const void *prev, char *desc)
{
	long i = (long)prev;

	if (i == (model_seed ? 1 : NR_SEEDS))
		return NULL;
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "seed %u", model_seed ?: seed_of(i));
	return (void *)(i + 1);
}

static struct kunit_case model_cases[] = {
	KUNIT_CASE_PARAM_ATTR(pool_does_what_the_model_does, seeds_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
	{}
};

static struct kunit_suite model_suite = {
	.name = "zsx_model",
	.init = model_init,
	.test_cases = model_cases,
};

kunit_test_suite(model_suite);
