// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit suite zsx_numa: on which node objects are
 *
 * Where a page is got it comes from the node that was asked for. Who says __GFP_THISNODE
 * gets no object on another node, though there be room. Who doesn't gets whatever room
 * there is: nodes must not cost density. Needs two nodes with memory: numa=fake=2.
 */
#include <linux/err.h>
#include <linux/nodemask.h>
#include <linux/prandom.h>

#include <kunit/test.h>

#include "../zsx_internal.h"
#include "objects.h"

#define NR_OBJS	600

struct fixture {
	struct zsx_pool *pool;
	unsigned long handles[NR_OBJS];
	size_t sizes[NR_OBJS];
	int nodes[2];
};

static void drop_all(struct fixture *f)
{
	zsx_free_bulk(f->pool, f->handles, NR_OBJS);
	memset(f->handles, 0, sizeof(f->handles));
}

static void end(void *data)
{
	struct fixture *f = data;

	drop_all(f);
	zsx_destroy_pool(f->pool);
}

static int numa_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	struct rnd_state rnd;
	unsigned int i;

	if (num_node_state(N_MEMORY) < 2) {
		kunit_mark_skipped(test, "one node only: boot with numa=fake=2");
		return 0;
	}
	KUNIT_ASSERT_NOT_NULL(test, f);
	f->nodes[0] = first_node(node_states[N_MEMORY]);
	f->nodes[1] = next_node(f->nodes[0], node_states[N_MEMORY]);
	f->pool = zsx_create_pool("zsx_numa");
	KUNIT_ASSERT_NOT_NULL(test, f->pool);
	prandom_seed_state(&rnd, 1);
	for (i = 0; i < NR_OBJS; i++)
		f->sizes[i] = 8 + prandom_u32_state(&rnd) % (PAGE_SIZE - 7);
	test->priv = f;
	return kunit_add_action_or_reset(test, end, f);
}

static void assert_store(struct kunit *test, unsigned int i, gfp_t gfp, int nid)
{
	struct fixture *f = test->priv;

	f->handles[i] = zsx_malloc(f->pool, f->sizes[i], gfp, nid);
	KUNIT_ASSERT_FALSE_MSG(test, IS_ERR_VALUE(f->handles[i]), "object %u", i);
}

/* Of an object's one or two pages: whether they are on @nid. */
static bool is_on(unsigned long handle, int nid)
{
	zsx_location_t loc = zsx_location_read(zsx_handle_of(handle));
	struct zsx_zspage *zspage = zsx_zspage_of(loc);
	const struct zsx_geometry *geo = zspage->class->geo;
	struct zsx_span span = zsx_span(geo, zsx_location_index(ZSX_LAYOUT, loc), geo->size,
					PAGE_SHIFT);

	return page_to_nid(zspage->pages[span.page]) == nid &&
	       (!span.len[1] || page_to_nid(zspage->pages[span.page + 1]) == nid);
}

static unsigned long pages_of(struct fixture *f)
{
	return zsx_get_total_pages(f->pool);
}

/* As zram asks: no object of another node is in the way. */
static void pages_come_from_the_node_asked_for(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int n, i;

	for (n = 0; n < 2; n++) {
		for (i = 0; i < NR_OBJS; i++) {
			assert_store(test, i, GFP_KERNEL, f->nodes[n]);
			KUNIT_EXPECT_TRUE_MSG(test, is_on(f->handles[i], f->nodes[n]),
					      "object %u, node %d", i, f->nodes[n]);
		}
		drop_all(f);
	}
}

/* In turn, so that each finds room of the other node. */
static void only_this_node_means_it(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < NR_OBJS; i++)
		assert_store(test, i, GFP_KERNEL | __GFP_THISNODE, f->nodes[i % 2]);
	for (i = 0; i < NR_OBJS; i++)
		KUNIT_EXPECT_TRUE_MSG(test, is_on(f->handles[i], f->nodes[i % 2]),
				      "object %u", i);
	expect_pool_right(test, f->pool);

	/* Holes are used again, and by the same node's alone. */
	for (i = 0; i < NR_OBJS; i += 3) {
		zsx_free(f->pool, f->handles[i]);
		assert_store(test, i, GFP_KERNEL | __GFP_THISNODE, f->nodes[(i + 1) % 2]);
		KUNIT_EXPECT_TRUE_MSG(test, is_on(f->handles[i], f->nodes[(i + 1) % 2]),
				      "object %u, again", i);
	}
	expect_pool_right(test, f->pool);
}

static void batches_mean_it_too(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int n, i, half = NR_OBJS / 2;

	for (n = 0; n < 2; n++)
		KUNIT_ASSERT_EQ(test, zsx_malloc_bulk(f->pool, f->sizes, half,
						      GFP_KERNEL | __GFP_THISNODE,
						      f->nodes[n], f->handles + n * half), 0);
	for (i = 0; i < NR_OBJS; i++)
		KUNIT_EXPECT_TRUE_MSG(test, is_on(f->handles[i], f->nodes[i / half]),
				      "object %u", i);
	expect_pool_right(test, f->pool);
}

/* Two nodes need no more pages than one where any will do, and about two pools' where not. */
static void nodes_cost_no_density(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned long one, any, only;
	unsigned int i;

	for (i = 0; i < NR_OBJS; i++)
		assert_store(test, i, GFP_KERNEL, f->nodes[0]);
	one = pages_of(f);
	drop_all(f);
	for (i = 0; i < NR_OBJS; i++)
		assert_store(test, i, GFP_KERNEL, f->nodes[i % 2]);
	any = pages_of(f);
	drop_all(f);
	for (i = 0; i < NR_OBJS; i++)
		assert_store(test, i, GFP_KERNEL | __GFP_THISNODE, f->nodes[i % 2]);
	only = pages_of(f);

	KUNIT_EXPECT_EQ(test, any, one);
	/* A zspage that isn't full in each class, for a second time. */
	KUNIT_EXPECT_LE(test, only, one + f->pool->nr_classes);
}

static struct kunit_case numa_cases[] = {
	KUNIT_CASE(pages_come_from_the_node_asked_for),
	KUNIT_CASE(only_this_node_means_it),
	KUNIT_CASE(batches_mean_it_too),
	KUNIT_CASE(nodes_cost_no_density),
	{}
};

static struct kunit_suite numa_suite = {
	.name = "zsx_numa",
	.init = numa_init,
	.test_cases = numa_cases,
};

kunit_test_suite(numa_suite);
