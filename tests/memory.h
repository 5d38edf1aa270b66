/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memory.h - pages and descriptors that can't be had when a KUnit case wants it so
 */
#ifndef _ZSX_TESTS_MEMORY_H_
#define _ZSX_TESTS_MEMORY_H_

#include <kunit/static_stub.h>
#include <kunit/test.h>

#include "zsx_internal.h"

/**
 * struct memory - what the stubs ask; the first member of a fixture
 * @refuses: whether there is none this time
 * @got: told of each page that was got; or NULL
 * @most: so many pages are got in one call
 */
struct memory {
	bool (*refuses)(struct kunit *test);
	void (*got)(struct kunit *test, struct page *page);
	unsigned int most;
};

static void use_memory(struct kunit *test);
static void drop_memory(struct kunit *test);

static struct page *memory_page(gfp_t gfp, int nid)
{
	struct kunit *test = kunit_get_current_test();
	struct memory *m = test->priv;
	struct page *page;

	if (m->refuses(test))
		return NULL;
	drop_memory(test);
	page = zsx_page_alloc(gfp, nid);
	use_memory(test);
	if (page && m->got)
		m->got(test, page);
	return page;
}

static void memory_pages(gfp_t gfp, int nid, unsigned int nr, struct zsx_loose *loose)
{
	struct memory *m = kunit_get_current_test()->priv;

	for (nr = min(nr, m->most); nr; nr--) {
		struct page *page = memory_page(gfp, nid);

		if (!page)
			break;
		zsx_loose_add_page(loose, page);
	}
}

static struct zsx_zspage *memory_zspage(struct zsx_class *class, gfp_t gfp, int nid)
{
	struct kunit *test = kunit_get_current_test();
	struct memory *m = test->priv;
	struct zsx_zspage *zspage;

	if (m->refuses(test))
		return NULL;
	drop_memory(test);
	zspage = zsx_zspage_alloc(class, gfp, nid);
	use_memory(test);
	return zspage;
}

static void use_memory(struct kunit *test)
{
	kunit_activate_static_stub(test, zsx_page_alloc, memory_page);
	kunit_activate_static_stub(test, zsx_page_alloc_bulk, memory_pages);
	kunit_activate_static_stub(test, zsx_zspage_alloc, memory_zspage);
}

static void drop_memory(struct kunit *test)
{
	kunit_deactivate_static_stub(test, zsx_page_alloc);
	kunit_deactivate_static_stub(test, zsx_page_alloc_bulk);
	kunit_deactivate_static_stub(test, zsx_zspage_alloc);
}

#endif /* _ZSX_TESTS_MEMORY_H_ */
