// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit suite zsx_fullness: what becomes of a zspage
 *
 * zsx_zspage.c is driven step by step, as malloc and free drive it. Beside each
 * zspage a model keeps nothing but which slots are in use: which pages there
 * must be, which slots are present and which group the zspage is in follow from
 * that, by arithmetic of the test's own. After every step all that the class and
 * its zspages hold is compared with it, and the core's own checkers run too.
 */
#include <linux/prandom.h>

#include <kunit/test.h>

#include "../zsx_internal.h"

#define MAX_ZSPAGES	6

/* What the test knows of one zspage; @zspage is NULL: there is none. */
struct model {
	struct zsx_zspage *zspage;
	struct page *pages[ZSX_MAX_PAGES];
	bool inuse[ZSX_MAX_OBJECTS];
	unsigned int nr_inuse;
};

/* What follows from a model. */
struct recount {
	bool page[ZSX_MAX_PAGES];
	bool present[ZSX_MAX_OBJECTS];
	unsigned int nr_pages;
	unsigned int nr_present;
	unsigned int nr_free_present;
	unsigned int group;
};

/*
 * @own, @geo: a class of a shape that no class of the table need have
 * @seed, @step: for messages
 */
struct fixture {
	struct zsx_pool *pool;
	struct zsx_class *class;
	struct model models[MAX_ZSPAGES];
	struct zsx_handle handles[MAX_ZSPAGES * ZSX_MAX_OBJECTS];
	struct zsx_class own;
	struct zsx_geometry geo;
	unsigned int seed;
	unsigned int step;
};

/* A shape of zspages. */
struct shape {
	unsigned int pages;
	unsigned int objects;
};

static void shape_desc(const struct shape *shape, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u pages, %u objects",
		 shape->pages, shape->objects);
}

/* The capacities that are borders of something, in short and long zspages. */
static const struct shape shapes[] = {
	{ 1, 1 }, { 1, 2 }, { 2, 2 }, { 2, 3 }, { 3, 3 }, { 1, 9 }, { 7, 9 },
	{ 3, 10 }, { 10, 10 }, { 4, 11 }, { 11, 11 }, { 13, 16 }, { 1, 127 },
	{ 16, 127 }, { 3, ZSX_MAX_OBJECTS }, { ZSX_MAX_PAGES, ZSX_MAX_OBJECTS },
};

KUNIT_ARRAY_PARAM(shapes, shapes, shape_desc);

/* Small enough to try everything. */
static const struct shape small_shapes[] = {
	{ 1, 1 }, { 1, 2 }, { 2, 2 }, { 1, 3 }, { 2, 3 }, { 3, 3 }, { 3, 4 },
	{ 4, 5 }, { 1, 6 }, { 3, 6 }, { 4, 6 }, { 5, 6 },
};

KUNIT_ARRAY_PARAM(small_shapes, small_shapes, shape_desc);

/* === The model =========================================================== */

static unsigned int slot_offset(const struct zsx_geometry *geo, unsigned int i)
{
	return i * (geo->nr_pages * PAGE_SIZE) / geo->nr_objects & ~7U;
}

static unsigned int slot_first_page(const struct zsx_geometry *geo, unsigned int i)
{
	return slot_offset(geo, i) / PAGE_SIZE;
}

static unsigned int slot_last_page(const struct zsx_geometry *geo, unsigned int i)
{
	return (slot_offset(geo, i) + geo->size - 1) / PAGE_SIZE;
}

static struct recount recount(const struct zsx_geometry *geo, const struct model *m)
{
	struct recount r = {};
	unsigned int i, page;

	for (i = 0; i < geo->nr_objects; i++)
		if (m->inuse[i])
			for (page = slot_first_page(geo, i);
			     page <= slot_last_page(geo, i); page++)
				r.page[page] = true;
	for (page = 0; page < geo->nr_pages; page++)
		r.nr_pages += r.page[page];
	for (i = 0; i < geo->nr_objects; i++) {
		r.present[i] = r.page[slot_first_page(geo, i)] &&
			       r.page[slot_last_page(geo, i)];
		r.nr_present += r.present[i];
		r.nr_free_present += r.present[i] && !m->inuse[i];
	}
	if (!m->nr_inuse)
		r.group = ZSX_NOT_LINKED;
	else if (m->nr_inuse == geo->nr_objects)
		r.group = ZSX_FULL;
	else if (!r.nr_free_present)
		r.group = ZSX_GROWABLE;
	else
		r.group = m->nr_inuse * 10 / geo->nr_objects;
	return r;
}

static unsigned int lowest_missing_page(const struct recount *r)
{
	unsigned int page = 0;

	while (page < ZSX_MAX_PAGES && r->page[page])
		page++;
	return page;
}

/* The slot that the next object must get, of those that the pages let in. */
static unsigned int lowest_free_slot(const struct zsx_geometry *geo,
				     const struct model *m, const struct recount *r)
{
	unsigned int i = 0;

	while (i < geo->nr_objects &&
	       (m->inuse[i] || !r->page[slot_first_page(geo, i)] ||
		!r->page[slot_last_page(geo, i)]))
		i++;
	return i;
}

static struct model *model_of(struct fixture *f, const struct zsx_zspage *zspage)
{
	unsigned int i;

	for (i = 0; i < MAX_ZSPAGES; i++)
		if (f->models[i].zspage == zspage)
			return &f->models[i];
	return NULL;
}

/* Each slot's object has a handle of its own. */
static unsigned long handle_for(const struct fixture *f, const struct model *m,
				unsigned int i)
{
	return (unsigned long)&f->handles[(m - f->models) * ZSX_MAX_OBJECTS + i];
}

/* === Comparing =========================================================== */

static const char *compare_zspage(struct fixture *f, struct model *m,
				  const struct recount *r)
{
	const struct zsx_geometry *geo = f->class->geo;
	struct zsx_zspage *zspage = m->zspage;
	unsigned int i;

	if (zspage->class != f->class)
		return "the zspage's class";
	if (zspage->nr_inuse != m->nr_inuse)
		return "the zspage's number of objects";
	if (zspage->group != r->group)
		return "the zspage's group";
	for (i = 0; i < ZSX_MAX_OBJECTS; i++) {
		if (zsx_slots_test(&zspage->inuse, i) != m->inuse[i])
			return "a slot in use or not";
		if (zsx_slots_test(&zspage->present, i) != r->present[i])
			return "a slot present or not";
		if (m->inuse[i] && zsx_zspage_handles(geo, zspage)[i] != handle_for(f, m, i))
			return "a back pointer";
	}
	for (i = 0; i < geo->nr_pages; i++) {
		if (zspage->pages[i] != m->pages[i])
			return "a page of the zspage";
		if (!m->pages[i] != !r->page[i])
			return "a page present or not";
		if (m->pages[i] && page_private(m->pages[i]) != (unsigned long)zspage)
			return "a page's private";
	}
	return NULL;
}

static const char *compare_group(struct fixture *f, unsigned int group,
				 const struct recount *r)
{
	struct zsx_class *class = f->class;
	struct zsx_zspage *zspage;
	unsigned int i, nr = 0;

	for (i = 0; i < MAX_ZSPAGES; i++)
		nr += f->models[i].zspage && r[i].group == group;
	if (class->nr_zspages[group] != nr)
		return "the number of zspages in a group";
	if (group < ZSX_NR_RATIOS && (class->nonempty >> group & 1) != !!nr)
		return "the mask of groups that have zspages";
	list_for_each_entry(zspage, &class->groups[group], list) {
		struct model *m = model_of(f, zspage);

		if (!m || r[m - f->models].group != group)
			return "a zspage on a group's list";
		if (!nr--)
			return "a zspage too many on a group's list";
	}
	return nr ? "a zspage too few on a group's list" : NULL;
}

/* What malloc would take: one of the fullest with room, else a growable one. */
static const char *compare_first(struct fixture *f, const struct recount *r)
{
	struct zsx_zspage *room, *growable;
	unsigned int i, fullest = 0, nr_room = 0, nr_growable = 0;

	for (i = 0; i < MAX_ZSPAGES; i++) {
		if (!f->models[i].zspage)
			continue;
		nr_growable += r[i].group == ZSX_GROWABLE;
		if (r[i].group < ZSX_NR_RATIOS) {
			nr_room++;
			fullest = max(fullest, r[i].group);
		}
	}
	spin_lock(&f->class->lock);
	room = zsx_class_first_with_room(f->class);
	growable = zsx_class_first_growable(f->class);
	spin_unlock(&f->class->lock);

	if (!room != !nr_room || !growable != !nr_growable)
		return "whether there is one with room, or a growable one";
	if (room && r[model_of(f, room) - f->models].group != fullest)
		return "the fullest with room";
	if (growable && r[model_of(f, growable) - f->models].group != ZSX_GROWABLE)
		return "the first growable one";
	return NULL;
}

static const char *compare_all(struct fixture *f)
{
	struct recount r[MAX_ZSPAGES];
	unsigned long pages = 0, capacity = 0;
	const char *wrong;
	unsigned int i;

	wrong = zsx_class_check(f->class);
	for (i = 0; i < MAX_ZSPAGES && !wrong; i++) {
		struct model *m = &f->models[i];

		r[i] = (struct recount) {};
		if (!m->zspage)
			continue;
		r[i] = recount(f->class->geo, m);
		pages += r[i].nr_pages;
		capacity += r[i].nr_present;
		wrong = zsx_zspage_check(f->class, m->zspage);
		wrong = wrong ?: compare_zspage(f, m, &r[i]);
	}
	for (i = 0; i < ZSX_NR_GROUPS && !wrong; i++)
		wrong = compare_group(f, i, r);
	wrong = wrong ?: compare_first(f, r);
	if (!wrong && f->class->capacity != capacity)
		wrong = "the class's capacity";
	if (!wrong && zsx_class_pages(f->class) != pages)
		wrong = "the class's pages";
	if (!wrong && zsx_get_total_pages(f->pool) != pages)
		wrong = "the pool's pages";
	return wrong;
}

static void assert_right(struct kunit *test, const char *wrong)
{
	struct fixture *f = test->priv;

	KUNIT_ASSERT_NULL_MSG(test, wrong,
			      "%s: class of %u bytes, %u pages, %u objects, seed %u, step %u",
			      wrong, f->class->geo->size, f->class->geo->nr_pages,
			      f->class->geo->nr_objects, f->seed, f->step);
}

/* === Steps =============================================================== */

/* An object comes to @m, as by zsx_malloc(). Returns its slot. */
static unsigned int take(struct kunit *test, struct model *m)
{
	struct fixture *f = test->priv;
	struct zsx_class *class = f->class;
	const struct zsx_geometry *geo = class->geo;
	struct recount before = recount(geo, m);
	unsigned int place = lowest_missing_page(&before);
	struct page *page = NULL;
	struct zsx_loose loose;
	zsx_location_t loc = {};
	unsigned int want;
	bool room;

	zsx_loose_init(&loose);
	f->step++;
	KUNIT_ASSERT_LT(test, m->nr_inuse, geo->nr_objects);
	if (!before.nr_free_present) {
		page = zsx_page_alloc(GFP_KERNEL, NUMA_NO_NODE);
		KUNIT_ASSERT_NOT_NULL(test, page);
		before.page[place] = true;
	}
	want = lowest_free_slot(geo, m, &before);
	if (!m->zspage)
		m->zspage = zsx_zspage_alloc(class, GFP_KERNEL, NUMA_NO_NODE);
	if (!m->zspage)
		zsx_page_free(page);
	KUNIT_ASSERT_NOT_NULL(test, m->zspage);

	spin_lock(&class->lock);
	if (page)
		zsx_zspage_install(class, m->zspage, page);
	room = !zsx_slots_empty(zsx_slots_without(m->zspage->present,
						  m->zspage->inuse));
	if (room) {
		loc = zsx_zspage_take(class, m->zspage, handle_for(f, m, want));
		zsx_location_publish(class, zsx_handle_of(handle_for(f, m, want)), loc);
		class->mallocs++;
	} else {
		zsx_settle(class, m->zspage, 0, geo->nr_pages - 1, &loose);
	}
	spin_unlock(&class->lock);

	if (zsx_loose_first_zspage(&loose))
		m->zspage = NULL;
	zsx_loose_free(&loose);
	assert_right(test, room ? NULL : "the page at the lowest missing place lets no slot in");
	if (page)
		m->pages[place] = page;
	m->inuse[zsx_location_index(ZSX_LAYOUT, loc)] = true;
	m->nr_inuse++;
	if (zsx_zspage_of(loc) != m->zspage)
		assert_right(test, "the location's zspage");
	if (zsx_location_index(ZSX_LAYOUT, loc) != want)
		assert_right(test, "not the lowest free present slot was taken");
	assert_right(test, compare_all(f));
	return want;
}

/*
 * Whether exactly the pages that no object touches came loose, whole and once.
 * The test has a reference on each of them.
 */
static const char *compare_loose(struct zsx_loose *loose, struct model *m,
				 const struct recount *after)
{
	struct zsx_zspage *dead = zsx_loose_first_zspage(loose);
	unsigned int page, nr = 0;
	struct page *each;

	for (page = 0; page < ZSX_MAX_PAGES; page++) {
		bool is_loose = false;

		list_for_each_entry(each, &loose->pages, lru)
			is_loose |= each == m->pages[page];
		if (!m->pages[page])
			continue;
		if (is_loose != !after->page[page])
			return is_loose ? "a page was taken from an object" :
					  "a page was kept without an object";
		if (is_loose && page_private(m->pages[page]))
			return "private of a page that came loose";
		nr += is_loose;
	}
	if (nr != loose->nr_pages)
		return "the number of pages that came loose";
	if (dead != (m->nr_inuse ? NULL : m->zspage))
		return dead ? "a zspage died before its last object" :
			      "a zspage outlived its last object";
	if (dead && m->zspage->group != ZSX_NOT_LINKED)
		return "a dead zspage is linked";
	return NULL;
}

/* An object of @m goes, as by zsx_free(). */
static void put(struct kunit *test, struct model *m, unsigned int i)
{
	struct fixture *f = test->priv;
	struct zsx_class *class = f->class;
	struct page *loose_pages[ZSX_MAX_PAGES], *each;
	unsigned int page, nr = 0;
	struct zsx_loose loose;
	struct recount after;
	const char *wrong;

	zsx_loose_init(&loose);
	f->step++;
	m->inuse[i] = false;
	m->nr_inuse--;
	after = recount(class->geo, m);

	spin_lock(&class->lock);
	zsx_zspage_put(class, m->zspage, i, &loose);
	class->frees++;
	spin_unlock(&class->lock);

	wrong = compare_loose(&loose, m, &after);
	list_for_each_entry(each, &loose.pages, lru) {
		get_page(each);
		loose_pages[nr++] = each;
	}
	if (zsx_loose_first_zspage(&loose))
		m->zspage = NULL;
	zsx_loose_free(&loose);
	for (page = 0; page < ZSX_MAX_PAGES; page++)
		if (!after.page[page])
			m->pages[page] = NULL;
	while (nr--) {
		if (page_count(loose_pages[nr]) != 1)
			wrong = wrong ?: "a loose page was not given back, or twice";
		put_page(loose_pages[nr]);
	}
	assert_right(test, wrong);
	assert_right(test, compare_all(f));
}

static void fill(struct kunit *test, struct model *m)
{
	struct fixture *f = test->priv;

	while (m->nr_inuse < f->class->geo->nr_objects)
		take(test, m);
}

static void drain(struct kunit *test, struct model *m)
{
	unsigned int i;

	for (i = 0; i < ZSX_MAX_OBJECTS; i++)
		if (m->inuse[i])
			put(test, m, i);
}

/* A random slot that is in use, or not. */
static unsigned int random_slot(struct fixture *f, struct rnd_state *rnd,
				const struct model *m, bool inuse)
{
	unsigned int n = f->class->geo->nr_objects;
	unsigned int i = prandom_u32_state(rnd) % n;

	while (m->inuse[i] != inuse)
		i = (i + 1) % n;
	return i;
}

/* === Fixture ============================================================= */

/* Whatever a failed case left, found by what the core says. */
static void drop_zspages(struct fixture *f)
{
	struct zsx_class *class = f->class;
	unsigned int i;

	for (i = 0; i < MAX_ZSPAGES; i++) {
		struct zsx_zspage *zspage = f->models[i].zspage;
		struct zsx_loose loose;

		while (zspage) {
			zsx_loose_init(&loose);
			spin_lock(&class->lock);
			if (zspage->nr_inuse)
				zsx_zspage_put(class, zspage,
					       zsx_slots_first(zspage->inuse), &loose);
			else
				list_add(&zspage->list, &loose.zspages);
			spin_unlock(&class->lock);
			if (zsx_loose_first_zspage(&loose))
				zspage = NULL;
			zsx_loose_free(&loose);
		}
		f->models[i] = (struct model) {};
	}
}

static void end(void *data)
{
	struct fixture *f = data;

	drop_zspages(f);
	zsx_destroy_pool(f->pool);
}

static int fullness_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->pool = zsx_create_pool("zsx_fullness");
	KUNIT_ASSERT_NOT_NULL(test, f->pool);
	f->class = &f->pool->classes[0];
	test->priv = f;
	return kunit_add_action_or_reset(test, end, f);
}

/* The smallest descriptor of the table's classes that this shape fits in. */
static unsigned int desc_size_for(const struct shape *shape)
{
	unsigned int need = offsetof(struct zsx_zspage, pages) + sizeof(void *) +
			    shape->pages * sizeof(struct page *) +
			    shape->objects * sizeof(unsigned long);
	unsigned int i, size = 0;

	for (i = 0; i < zsx_classes.nr_classes; i++) {
		unsigned int other = zsx_classes.geo[i].desc_size;

		if (other >= need && (!size || other < size))
			size = other;
	}
	return size;
}

/* Let the fixture's class be an empty one of this shape. */
static void use_shape(struct kunit *test, const struct shape *shape)
{
	struct fixture *f = test->priv;
	struct zsx_geometry *geo = &f->geo;
	unsigned int bytes = shape->pages * PAGE_SIZE;
	unsigned int i, page;

	*geo = (struct zsx_geometry) {
		.stride = DIV_ROUND_UP_ULL((u64)bytes << ZSX_STRIDE_SHIFT,
					   shape->objects),
		.size = bytes / shape->objects & ~7U,
		.ratio = DIV_ROUND_UP(10U << ZSX_RATIO_SHIFT, shape->objects),
		.desc_size = desc_size_for(shape),
		.nr_pages = shape->pages,
		.nr_objects = shape->objects,
	};
	KUNIT_ASSERT_NE(test, geo->desc_size, 0);
	for (page = 0; page < shape->pages; page++) {
		geo->first[page] = ZSX_MAX_OBJECTS;
		for (i = 0; i < shape->objects; i++) {
			if (slot_first_page(geo, i) > page || slot_last_page(geo, i) < page)
				continue;
			geo->first[page] = min(i, geo->first[page]);
			geo->last[page] = i;
		}
	}

	f->own = (struct zsx_class) { .pool = f->pool, .geo = geo };
	spin_lock_init(&f->own.lock);
	for (i = 0; i < ZSX_NR_GROUPS; i++)
		INIT_LIST_HEAD(&f->own.groups[i]);
	f->class = &f->own;
}

/* === Cases =============================================================== */

/* Object by object up to full, and down again from either end, twice. */
static void every_group_up_and_down(struct kunit *test)
{
	const struct shape *shape = test->param_value;
	struct fixture *f = test->priv;
	struct model *m = &f->models[0];
	unsigned int i;

	use_shape(test, shape);
	fill(test, m);
	KUNIT_EXPECT_EQ(test, m->zspage->group, ZSX_FULL);
	for (i = shape->objects; i--; )
		put(test, m, i);
	fill(test, m);
	drain(test, m);
	KUNIT_EXPECT_NULL(test, m->zspage);
	KUNIT_EXPECT_EQ(test, zsx_class_pages(f->class), 0);
}

static void frees_in_every_order(struct kunit *test)
{
	const struct shape *shape = test->param_value;
	struct fixture *f = test->priv;
	unsigned int n = shape->objects;
	unsigned int i, order, nr_orders = 1;

	use_shape(test, shape);
	for (i = 2; i <= n; i++)
		nr_orders *= i;
	for (order = 0; order < nr_orders; order++) {
		unsigned int rest = order;

		f->seed = order;
		f->step = 0;
		fill(test, &f->models[0]);
		for (i = n; i; i--) {
			unsigned int slot = 0, skip = rest % i;

			/* The skip-th of those still in use. */
			while (!f->models[0].inuse[slot] || skip--)
				slot += 1;
			put(test, &f->models[0], slot);
			rest /= i;
		}
	}
}

/* A zspage's state is which slots are in use: all of them are tried. */
static void every_step_from_every_state(struct kunit *test)
{
	const struct shape *shape = test->param_value;
	struct fixture *f = test->priv;
	struct model *m = &f->models[0];
	unsigned int n = shape->objects;
	unsigned int set, step, i;

	use_shape(test, shape);
	for (set = 1; set < 1U << n; set++) {
		/* Step n is a take, the others are puts. */
		for (step = 0; step <= n; step++) {
			if (step < n ? !(set >> step & 1) : set == (1U << n) - 1)
				continue;
			f->seed = set;
			f->step = 0;
			fill(test, m);
			for (i = 0; i < n; i++)
				if (!(set >> i & 1))
					put(test, m, i);
			if (step < n)
				put(test, m, step);
			else
				take(test, m);
			drain(test, m);
		}
	}
}

/* Where malloc would put an object, or else anywhere; NULL if all are full. */
static struct model *random_room(struct fixture *f, struct rnd_state *rnd)
{
	struct zsx_zspage *zspage;
	unsigned int tries;

	spin_lock(&f->class->lock);
	zspage = zsx_class_first_with_room(f->class) ?:
		 zsx_class_first_growable(f->class);
	spin_unlock(&f->class->lock);
	if (zspage && prandom_u32_state(rnd) % 4)
		return model_of(f, zspage);

	for (tries = 0; tries < 4 * MAX_ZSPAGES; tries++) {
		struct model *m = &f->models[prandom_u32_state(rnd) % MAX_ZSPAGES];

		if (m->nr_inuse < f->class->geo->nr_objects)
			return m;
	}
	return NULL;
}

static void random_steps(struct kunit *test, unsigned int nr_steps)
{
	struct fixture *f = test->priv;
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, f->seed);
	f->step = 0;
	for (i = 0; i < nr_steps; i++) {
		/* Tides, so that all groups are seen, full and empty among them. */
		bool flood = i * 4 / nr_steps % 2 == 0;
		bool takes = prandom_u32_state(&rnd) % 8 < (flood ? 6 : 2);
		struct model *m = takes ? random_room(f, &rnd) :
				  &f->models[prandom_u32_state(&rnd) % MAX_ZSPAGES];

		if (takes && m)
			take(test, m);
		else if (!takes && m->nr_inuse)
			put(test, m, random_slot(f, &rnd, m, true));
	}
	for (i = 0; i < MAX_ZSPAGES; i++)
		while (f->models[i].nr_inuse)
			put(test, &f->models[i],
			    random_slot(f, &rnd, &f->models[i], true));
}

static void random_steps_of_many_zspages(struct kunit *test)
{
	const struct shape *shape = test->param_value;
	struct fixture *f = test->priv;

	use_shape(test, shape);
	for (f->seed = 1; f->seed <= 2; f->seed++)
		random_steps(test, 100 + 12 * shape->objects);
}

/*
 * take() brings one page in whenever no present slot is free, and fails if none
 * is then. Here it is asked to from random states of every class that there is.
 */
static void one_page_is_enough_to_grow(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct model *m = &f->models[0];
	unsigned int c, i, round, n;
	struct rnd_state rnd;

	for (c = 0; c < f->pool->nr_classes; c++) {
		f->class = &f->pool->classes[c];
		f->seed = c;
		f->step = 0;
		prandom_seed_state(&rnd, c);
		n = f->class->geo->nr_objects;
		for (round = 0; round < 3; round++) {
			fill(test, m);
			for (i = prandom_u32_state(&rnd) % n; i; i--)
				put(test, m, random_slot(f, &rnd, m, true));
		}
		fill(test, m);
		while (m->nr_inuse)
			put(test, m, random_slot(f, &rnd, m, true));
	}
}

/* Two objects in one page, one in two: the pages go with the one that spans. */
static void page_goes_with_its_last_object(struct kunit *test)
{
	static const struct shape shape = { 2, 3 };
	struct fixture *f = test->priv;
	struct model *m = &f->models[0];

	use_shape(test, &shape);
	fill(test, m);
	KUNIT_EXPECT_EQ(test, zsx_class_pages(f->class), 2);
	put(test, m, 0);
	KUNIT_EXPECT_EQ(test, zsx_class_pages(f->class), 2);
	put(test, m, 2);
	KUNIT_EXPECT_EQ(test, zsx_class_pages(f->class), 2);
	put(test, m, 1);
	KUNIT_EXPECT_EQ(test, zsx_class_pages(f->class), 0);
	KUNIT_EXPECT_NULL(test, m->zspage);
}

static struct zsx_zspage *first_with_room(struct fixture *f)
{
	struct zsx_zspage *zspage;

	spin_lock(&f->class->lock);
	zspage = zsx_class_first_with_room(f->class);
	spin_unlock(&f->class->lock);
	return zspage;
}

static void fullest_zspage_is_filled_first(struct kunit *test)
{
	static const struct shape shape = { 1, 20 };
	static const unsigned int nr[] = { 5, 19, 1, 12 };
	struct fixture *f = test->priv;
	unsigned int i;

	use_shape(test, &shape);
	for (i = 0; i < ARRAY_SIZE(nr); i++)
		while (f->models[i].nr_inuse < nr[i])
			take(test, &f->models[i]);

	KUNIT_EXPECT_PTR_EQ(test, first_with_room(f), f->models[1].zspage);
	take(test, &f->models[1]);
	KUNIT_EXPECT_PTR_EQ(test, first_with_room(f), f->models[3].zspage);
	drain(test, &f->models[3]);
	KUNIT_EXPECT_PTR_EQ(test, first_with_room(f), f->models[0].zspage);
	drain(test, &f->models[0]);
	KUNIT_EXPECT_PTR_EQ(test, first_with_room(f), f->models[2].zspage);
	drain(test, &f->models[2]);
	KUNIT_EXPECT_NULL(test, first_with_room(f));
	drain(test, &f->models[1]);
}

static void expect_growable(struct kunit *test, const unsigned int *order,
			    unsigned int nr)
{
	struct fixture *f = test->priv;
	struct zsx_zspage *zspage;
	unsigned int i = 0;

	list_for_each_entry(zspage, &f->class->groups[ZSX_GROWABLE], list) {
		KUNIT_ASSERT_LT(test, i, nr);
		KUNIT_EXPECT_EQ_MSG(test, model_of(f, zspage) - f->models, order[i],
				    "the growable zspage at place %u", i);
		i++;
	}
	KUNIT_EXPECT_EQ(test, i, nr);
}

/*
 * Growable by filling up: first, to be grown next. By losing a page: last, to
 * drain in peace.
 */
static void growable_zspages_in_order(struct kunit *test)
{
	static const struct shape shape = { 2, 4 };
	struct fixture *f = test->priv;
	struct model *m = f->models;

	use_shape(test, &shape);
	take(test, &m[0]);
	take(test, &m[0]);
	expect_growable(test, (unsigned int[]) { 0 }, 1);
	take(test, &m[1]);
	take(test, &m[1]);
	expect_growable(test, (unsigned int[]) { 1, 0 }, 2);

	fill(test, &m[2]);
	put(test, &m[2], 0);
	put(test, &m[2], 1);
	expect_growable(test, (unsigned int[]) { 1, 0, 2 }, 3);

	fill(test, &m[3]);
	put(test, &m[3], 3);
	put(test, &m[3], 2);
	expect_growable(test, (unsigned int[]) { 1, 0, 2, 3 }, 4);

	take(test, &m[4]);
	take(test, &m[4]);
	expect_growable(test, (unsigned int[]) { 4, 1, 0, 2, 3 }, 5);

	drain(test, &m[1]);
	expect_growable(test, (unsigned int[]) { 4, 0, 2, 3 }, 4);
	drain(test, &m[0]);
	drain(test, &m[2]);
	drain(test, &m[3]);
	drain(test, &m[4]);
	expect_growable(test, NULL, 0);
}

/* From full straight to growable: it lost a page too, and goes last. */
static void full_zspage_that_loses_a_page_goes_last(struct kunit *test)
{
	static const struct shape shape = { 3, 3 };
	struct fixture *f = test->priv;
	struct model *m = f->models;

	use_shape(test, &shape);
	fill(test, &m[0]);
	take(test, &m[1]);
	expect_growable(test, (unsigned int[]) { 1 }, 1);
	put(test, &m[0], 1);
	expect_growable(test, (unsigned int[]) { 1, 0 }, 2);
	drain(test, &m[0]);
	drain(test, &m[1]);
}

static struct kunit_case fullness_cases[] = {
	KUNIT_CASE_PARAM(every_group_up_and_down, shapes_gen_params),
	KUNIT_CASE_PARAM(frees_in_every_order, small_shapes_gen_params),
	KUNIT_CASE_PARAM(every_step_from_every_state, small_shapes_gen_params),
	KUNIT_CASE_PARAM(random_steps_of_many_zspages, shapes_gen_params),
	KUNIT_CASE_SLOW(one_page_is_enough_to_grow),
	KUNIT_CASE(page_goes_with_its_last_object),
	KUNIT_CASE(fullest_zspage_is_filled_first),
	KUNIT_CASE(growable_zspages_in_order),
	KUNIT_CASE(full_zspage_that_loses_a_page_goes_last),
	{}
};

static struct kunit_suite fullness_suite = {
	.name = "zsx_fullness",
	.init = fullness_init,
	.test_cases = fullness_cases,
};

kunit_test_suite(fullness_suite);
