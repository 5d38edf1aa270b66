// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit suite zsx_pool: a pool as its callers see it
 *
 * All goes through zsx.h. What is inside is looked at only to choose cases (a
 * slot that spans two pages) and to count again what the pool tells. Each object
 * holds bytes that follow from a seed of its own, so any object can be verified
 * at any time. A case's objects are in one table: what a failed case leaves is
 * freed from there.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kfence.h>
#include <linux/kthread.h>
#include <linux/prandom.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include <kunit/static_stub.h>
#include <kunit/test.h>

#include "../zsx_internal.h"

#define MAX_WORKERS	8
#define MAX_OBJS	4096

/* An object of the test; @handle is 0: there is none. */
struct obj {
	unsigned long handle;
	unsigned int len;
	u32 seed;
};

/* Two pages to compare. */
struct bufs {
	u8 want[PAGE_SIZE];
	u8 got[PAGE_SIZE];
};

/*
 * What the stubs for page and descriptor do.
 * @fail_page, @fail_zspage: there is none to be had
 * @victim: an object that gets freed just before that
 * @rival: an object of @rival_len bytes that gets stored once a page has been got;
 *	@rival_waits: once a descriptor has been got
 * @page: what the real function gave, with a reference of the test's
 * @class: its lock must be free
 * @gfp, @nid: what was asked for
 */
struct shortage {
	bool fail_page;
	bool fail_zspage;
	struct obj *victim;
	struct obj *rival;
	unsigned int rival_len;
	bool rival_waits;
	struct page *page;
	struct zsx_class *class;
	gfp_t gfp;
	int nid;
	unsigned int nr_calls;
	bool was_locked;
};

/* @longest: the longest object of each class */
struct fixture {
	struct zsx_pool *pool;
	struct obj *objs;
	struct bufs *bufs;
	unsigned int longest[ZSX_MAX_CLASSES];
	u32 next_seed;
	struct shortage shortage;
};

/* === Objects ============================================================= */

static struct zsx_class *class_of(struct zsx_pool *pool, unsigned int len)
{
	return &pool->classes[zsx_lookup_class_index(pool, len)];
}

static struct zsx_zspage *zspage_of(const struct obj *o)
{
	return zsx_zspage_of(zsx_location_read(zsx_handle_of(o->handle)));
}

static unsigned int slot_of(const struct obj *o)
{
	return zsx_location_index(ZSX_LAYOUT,
				  zsx_location_read(zsx_handle_of(o->handle)));
}

/* How many bytes of slot @i are in its first page, if it had no end. */
static unsigned int room_in_page(const struct zsx_geometry *geo, unsigned int i)
{
	unsigned int start = i * (geo->nr_pages * PAGE_SIZE) / geo->nr_objects & ~7U;

	return PAGE_SIZE - start % PAGE_SIZE;
}

static bool spans(struct zsx_pool *pool, const struct obj *o)
{
	return room_in_page(class_of(pool, o->len)->geo, slot_of(o)) < o->len;
}

static void fill_bytes(u8 *to, u32 seed, unsigned int len)
{
	struct rnd_state rnd;

	prandom_seed_state(&rnd, seed);
	prandom_bytes_state(&rnd, to, len);
}

static void fill_want(struct bufs *bufs, const struct obj *o)
{
	fill_bytes(bufs->want, o->seed, o->len);
}

/* How an object can be read and written. */
enum way { BY_READ, BY_SG, BY_MAP_RO, BY_MAP_RW, NR_WAYS };
static const char * const way_names[] = { "read", "read sg", "map RO", "map RW" };

/* The object's bytes, into bufs->got. */
static void read_by(struct zsx_pool *pool, const struct obj *o, struct bufs *bufs,
		    enum way way)
{
	struct scatterlist sg[2];
	void *mem;

	memset(bufs->got, 0xee, PAGE_SIZE);
	switch (way) {
	case BY_READ:
		mem = zsx_obj_read_begin(pool, o->handle, o->len, bufs->got);
		if (mem && mem != bufs->got)
			memcpy(bufs->got, mem, o->len);
		zsx_obj_read_end(pool, o->handle, o->len, mem);
		break;
	case BY_SG:
		zsx_obj_read_sg_begin(pool, o->handle, sg, o->len);
		sg_copy_to_buffer(sg, sg_nents(sg), bufs->got, o->len);
		zsx_obj_read_sg_end(pool, o->handle);
		break;
	default:
		mem = zsx_map_object(pool, o->handle,
				     way == BY_MAP_RO ? ZSX_MAP_RO : ZSX_MAP_RW);
		if (!mem)
			break;
		memcpy(bufs->got, mem, o->len);
		zsx_unmap_object(pool, o->handle);
	}
}

/* bufs->want, into the object. */
static void write_by_map(struct zsx_pool *pool, const struct obj *o,
			 struct bufs *bufs, enum zsx_map_mode mode)
{
	void *mem = zsx_map_object(pool, o->handle, mode);

	if (!mem)
		return;
	memcpy(mem, bufs->want, o->len);
	zsx_unmap_object(pool, o->handle);
}

static bool is_intact(struct zsx_pool *pool, const struct obj *o,
		      struct bufs *bufs, enum way way)
{
	fill_want(bufs, o);
	read_by(pool, o, bufs, way);
	return !memcmp(bufs->want, bufs->got, o->len);
}

/* Store an object; false: zsx_malloc() or zsx_obj_write() failed. */
static bool store(struct zsx_pool *pool, struct obj *o, unsigned int len, u32 seed,
		  struct bufs *bufs)
{
	unsigned long handle = zsx_malloc(pool, len, GFP_KERNEL, NUMA_NO_NODE);

	if (IS_ERR_VALUE(handle))
		return false;
	*o = (struct obj) { .handle = handle, .len = len, .seed = seed };
	fill_want(bufs, o);
	return !zsx_obj_write(pool, handle, bufs->want, len);
}

static void drop(struct zsx_pool *pool, struct obj *o)
{
	zsx_free(pool, o->handle);
	o->handle = 0;
}

/* The same with the fixture's means, asserted. */
static void assert_store(struct kunit *test, unsigned int i, unsigned int len)
{
	struct fixture *f = test->priv;

	KUNIT_ASSERT_TRUE_MSG(test, store(f->pool, &f->objs[i], len, ++f->next_seed,
					  f->bufs),
			      "object %u of %u bytes", i, len);
}

static void expect_intact(struct kunit *test, unsigned int i, enum way way)
{
	struct fixture *f = test->priv;
	struct obj *o = &f->objs[i];

	KUNIT_EXPECT_TRUE_MSG(test, is_intact(f->pool, o, f->bufs, way),
			      "%s: object %u of %u bytes, seed %u, slot %u",
			      way_names[way], i, o->len, o->seed, slot_of(o));
}

static void drop_all(struct fixture *f)
{
	unsigned int i;

	for (i = 0; i < MAX_OBJS; i++)
		if (f->objs[i].handle)
			drop(f->pool, &f->objs[i]);
}

/* === Counting again ====================================================== */

/* What @pool must tell, by walking all its zspages. */
static struct zsx_pool_stats recount(struct zsx_pool *pool)
{
	struct zsx_pool_stats sum = {};
	unsigned int c, g, i;

	for (c = 0; c < pool->nr_classes; c++) {
		struct zsx_class *class = &pool->classes[c];
		const struct zsx_geometry *geo = class->geo;
		struct zsx_zspage *zspage;

		spin_lock(&class->lock);
		for (g = 0; g < ZSX_NR_GROUPS; g++) {
			list_for_each_entry(zspage, &class->groups[g], list) {
				unsigned int nr = zsx_slots_count(zspage->inuse);

				sum.zspages++;
				sum.objects += nr;
				sum.handle_bytes += nr * sizeof(struct zsx_handle);
				sum.descriptor_bytes += geo->desc_size;
				sum.bytes_in_classes += nr * geo->size;
				for (i = 0; i < geo->nr_pages; i++)
					sum.pages += !!zspage->pages[i];
			}
		}
		spin_unlock(&class->lock);
	}
	return sum;
}

/* Returns which figure is wrong, or NULL. */
static const char *compare_stats(struct zsx_pool *pool)
{
	struct zsx_pool_stats want = recount(pool), stats;
	const char *wrong = NULL;
	unsigned int c;

	for (c = 0; c < pool->nr_classes && !wrong; c++)
		wrong = zsx_class_check(&pool->classes[c]);
	if (wrong)
		return wrong;
	zsx_pool_stats(pool, &stats);
	if (stats.objects != want.objects ||
	    stats.mallocs - stats.frees != want.objects)
		return "objects";
	if (stats.pages != want.pages || zsx_get_total_pages(pool) != want.pages ||
	    stats.pages_brought - stats.pages_given_back != want.pages)
		return "pages";
	if (stats.zspages != want.zspages)
		return "zspages";
	if (stats.handle_bytes != want.handle_bytes)
		return "handle_bytes";
	if (stats.descriptor_bytes != want.descriptor_bytes)
		return "descriptor_bytes";
	if (stats.bytes_in_classes != want.bytes_in_classes)
		return "bytes_in_classes";
	if (stats.pool_bytes !=
	    PAGE_ALIGN(struct_size(pool, classes, zsx_classes.nr_classes)))
		return "pool_bytes";
	return NULL;
}

static void expect_stats_right(struct kunit *test)
{
	struct fixture *f = test->priv;

	KUNIT_EXPECT_STREQ(test, compare_stats(f->pool) ?: "", "");
}

static void expect_empty(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct zsx_pool_stats stats;

	expect_stats_right(test);
	zsx_pool_stats(f->pool, &stats);
	KUNIT_EXPECT_EQ(test, stats.objects, 0);
	KUNIT_EXPECT_EQ(test, stats.pages, 0);
	KUNIT_EXPECT_EQ(test, stats.zspages, 0);
	KUNIT_EXPECT_EQ(test, stats.handle_bytes, 0);
	KUNIT_EXPECT_EQ(test, stats.descriptor_bytes, 0);
	KUNIT_EXPECT_EQ(test, zsx_get_total_pages(f->pool), 0);
}

/* === Fixture ============================================================= */

static void end(void *data)
{
	struct fixture *f = data;

	drop_all(f);
	zsx_destroy_pool(f->pool);
}

static int pool_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	unsigned int len;

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->objs = kunit_kcalloc(test, MAX_OBJS, sizeof(*f->objs), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->objs);
	f->bufs = kunit_kzalloc(test, sizeof(*f->bufs), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->bufs);
	f->pool = zsx_create_pool("zsx_pool");
	KUNIT_ASSERT_NOT_NULL(test, f->pool);
	for (len = 1; len <= PAGE_SIZE; len++)
		f->longest[zsx_lookup_class_index(f->pool, len)] = len;
	test->priv = f;
	return kunit_add_action_or_reset(test, end, f);
}

/* === Bytes =============================================================== */

enum order { FORWARD, BACKWARD, RANDOM };

static const struct order_param {
	const char *name;
	enum order order;
} orders[] = {
	{ "in order", FORWARD }, { "in reverse", BACKWARD }, { "at random", RANDOM },
};

KUNIT_ARRAY_PARAM_DESC(orders, orders, name);

static void shuffle(unsigned int *places, unsigned int nr, u32 seed)
{
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, seed);
	for (i = nr; i > 1; i--) {
		unsigned int other = prandom_u32_state(&rnd) % i;

		swap(places[i - 1], places[other]);
	}
}

/* Every class, with two whole zspages and a part: each object is intact until freed. */
static void fill_verify_free(struct kunit *test)
{
	const struct order_param *param = test->param_value;
	struct fixture *f = test->priv;
	unsigned int *places, c, i, nr;

	places = kunit_kcalloc(test, 3 * ZSX_MAX_OBJECTS, sizeof(*places), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, places);
	for (c = 0; c < f->pool->nr_classes; c++) {
		nr = f->pool->classes[c].geo->nr_objects * 5 / 2;
		for (i = 0; i < nr; i++) {
			places[i] = param->order == BACKWARD ? nr - 1 - i : i;
			assert_store(test, i, f->longest[c]);
		}
		if (param->order == RANDOM)
			shuffle(places, nr, c);
		for (i = 0; i < nr; i++)
			expect_intact(test, i, BY_READ);
		for (i = 0; i < nr; i++) {
			expect_intact(test, places[i], BY_READ);
			drop(f->pool, &f->objs[places[i]]);
		}
		KUNIT_EXPECT_EQ_MSG(test, zsx_get_total_pages(f->pool), 0,
				    "class %u, the order's seed %u", c, c);
	}
	expect_empty(test);
}

/* A zspage full of the class's longest objects: object i in slot i. */
static void fill_zspage(struct kunit *test, unsigned int c)
{
	struct fixture *f = test->priv;
	unsigned int i;

	drop_all(f);
	for (i = 0; i < f->pool->classes[c].geo->nr_objects; i++) {
		assert_store(test, i, f->longest[c]);
		KUNIT_ASSERT_EQ(test, slot_of(&f->objs[i]), i);
	}
}

/* The next slot from *@i on whose longest object spans two pages, or doesn't. */
static bool next_slot_that(struct fixture *f, unsigned int c, bool spanning,
			   unsigned int *i)
{
	const struct zsx_geometry *geo = f->pool->classes[c].geo;
	unsigned int tries;

	for (tries = 0; tries < geo->nr_objects; tries++) {
		*i = (*i + 1) % geo->nr_objects;
		if ((room_in_page(geo, *i) < f->longest[c]) == spanning)
			return true;
	}
	return false;
}

/*
 * Lengths 1 .. PAGE_SIZE, each in slots that span and that don't, between
 * neighbours that fill their slots.
 */
static void every_size_to_its_last_byte(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int len, c, n, spanning, way, full = ZSX_MAX_CLASSES;
	unsigned int i = 0;

	for (len = 1; len <= PAGE_SIZE; len++) {
		c = zsx_lookup_class_index(f->pool, len);
		n = f->pool->classes[c].geo->nr_objects;
		if (c != full)
			fill_zspage(test, c);
		full = c;
		for (spanning = 0; spanning < 2; spanning++) {
			if (!next_slot_that(f, c, spanning, &i))
				continue;
			drop(f->pool, &f->objs[i]);
			assert_store(test, i, len);
			KUNIT_ASSERT_EQ_MSG(test, slot_of(&f->objs[i]), i, "%u bytes", len);
			for (way = BY_READ; way <= BY_MAP_RO; way++)
				expect_intact(test, i, way);
			if (i)
				expect_intact(test, i - 1, BY_READ);
			if (i + 1 < n)
				expect_intact(test, i + 1, BY_READ);
			drop(f->pool, &f->objs[i]);
			assert_store(test, i, f->longest[c]);
		}
	}
	drop_all(f);
	expect_empty(test);
}

static const struct write_param {
	const char *name;
	bool by_map;
	enum zsx_map_mode mode;
} writes[] = {
	{ "written by write", false },
	{ "written by map WO", true, ZSX_MAP_WO },
	{ "written by map RW", true, ZSX_MAP_RW },
};

KUNIT_ARRAY_PARAM_DESC(writes, writes, name);

/* One whole zspage of each class, all spanning and other slots of it. */
static void all_ways_to_read_agree(struct kunit *test)
{
	const struct write_param *param = test->param_value;
	struct fixture *f = test->priv;
	unsigned int c, i, n, way;

	for (c = 0; c < f->pool->nr_classes; c++) {
		n = f->pool->classes[c].geo->nr_objects;
		fill_zspage(test, c);
		for (i = 0; i < n; i++) {
			f->objs[i].seed = ++f->next_seed;
			fill_want(f->bufs, &f->objs[i]);
			if (param->by_map)
				write_by_map(f->pool, &f->objs[i], f->bufs, param->mode);
			else
				zsx_obj_write(f->pool, f->objs[i].handle,
					      f->bufs->want, f->objs[i].len);
		}
		for (i = 0; i < n; i++)
			for (way = 0; way < NR_WAYS; way++)
				expect_intact(test, i, way);
	}
	drop_all(f);
	expect_empty(test);
}

/* Lengths up to the end of the page that slot @i begins in, and beyond. */
static void lens_at_border(const struct zsx_geometry *geo, unsigned int i,
			   unsigned int longest, unsigned int lens[4])
{
	unsigned int room = room_in_page(geo, i);

	lens[0] = 1;
	lens[1] = min(room, longest);
	lens[2] = min(room + 1, longest);
	lens[3] = longest - 1 ?: 1;
}

/*
 * A reader's bytes are copied only if the wanted ones lie in two pages; a list
 * has an entry for each page that they lie in.
 */
static void reads_in_place_unless_it_spans(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int c, i, k, lens[4];
	struct scatterlist sg[2];
	void *mem;

	for (c = 0; c < f->pool->nr_classes; c++) {
		const struct zsx_geometry *geo = f->pool->classes[c].geo;

		fill_zspage(test, c);
		for (i = 0; i < geo->nr_objects; i++) {
			unsigned long handle = f->objs[i].handle;
			unsigned int room = room_in_page(geo, i);

			lens_at_border(geo, i, f->longest[c], lens);
			for (k = 0; k < ARRAY_SIZE(lens); k++) {
				unsigned int len = lens[k];

				fill_bytes(f->bufs->want, f->objs[i].seed, len);
				mem = zsx_obj_read_begin(f->pool, handle, len, f->bufs->got);
				KUNIT_EXPECT_EQ_MSG(test, mem == f->bufs->got, len > room,
						    "class %u, slot %u, %u bytes", c, i, len);
				KUNIT_EXPECT_EQ_MSG(test, memcmp(mem, f->bufs->want, len), 0,
						    "class %u, slot %u, %u bytes", c, i, len);
				zsx_obj_read_end(f->pool, handle, len, mem);

				zsx_obj_read_sg_begin(f->pool, handle, sg, len);
				KUNIT_EXPECT_EQ_MSG(test, sg_nents(sg), len > room ? 2 : 1,
						    "class %u, slot %u, %u bytes", c, i, len);
				KUNIT_EXPECT_EQ_MSG(test, sg[0].length, min(room, len),
						    "class %u, slot %u, %u bytes", c, i, len);
				KUNIT_EXPECT_EQ_MSG(test, len > room ? sg[1].length : 0,
						    len - min(room, len),
						    "class %u, slot %u, %u bytes", c, i, len);
				zsx_obj_read_sg_end(f->pool, handle);
			}
			KUNIT_EXPECT_EQ_MSG(test, atomic_read(&zspage_of(&f->objs[i])->pins), 0,
					    "class %u, slot %u", c, i);
		}
	}
	drop_all(f);
	expect_empty(test);
}

/* Write @len bytes over an object of its seed's bytes: the others must stay. */
static void expect_rest_kept(struct kunit *test, struct obj *o, unsigned int len)
{
	struct fixture *f = test->priv;
	unsigned int way;

	fill_want(f->bufs, o);
	memset(f->bufs->want, 0x5a, len);
	zsx_obj_write(f->pool, o->handle, f->bufs->want, len);
	for (way = 0; way < NR_WAYS; way++) {
		read_by(f->pool, o, f->bufs, way);
		KUNIT_EXPECT_EQ_MSG(test, memcmp(f->bufs->got, f->bufs->want, o->len), 0,
				    "%s: slot %u, %u of %u bytes", way_names[way],
				    slot_of(o), len, o->len);
	}
	fill_want(f->bufs, o);
	zsx_obj_write(f->pool, o->handle, f->bufs->want, o->len);
}

static void shorter_writes_keep_the_rest(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int c, i, k, lens[4];

	for (c = 0; c < f->pool->nr_classes; c++) {
		const struct zsx_geometry *geo = f->pool->classes[c].geo;

		fill_zspage(test, c);
		for (i = 0; i < geo->nr_objects; i++) {
			lens_at_border(geo, i, f->longest[c], lens);
			for (k = 0; k < ARRAY_SIZE(lens); k++)
				expect_rest_kept(test, &f->objs[i], lens[k]);
		}
		for (i = 0; i < geo->nr_objects; i++)
			expect_intact(test, i, BY_READ);
	}
	drop_all(f);
	expect_empty(test);
}

/* The bytes that a mapping for reading and writing changes, and no others. */
static void rw_map_keeps_untouched_bytes(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int c, i, k;

	for (c = 0; c < f->pool->nr_classes; c++) {
		const struct zsx_geometry *geo = f->pool->classes[c].geo;

		fill_zspage(test, c);
		for (i = 0; i < geo->nr_objects; i++) {
			struct obj *o = &f->objs[i];
			unsigned int room = min(room_in_page(geo, i), o->len);
			unsigned int at[] = { 0, room - 1, room % o->len, o->len - 1 };
			u8 *mem = zsx_map_object(f->pool, o->handle, ZSX_MAP_RW);

			if (mem) {
				for (k = 0; k < ARRAY_SIZE(at); k++)
					mem[at[k]] ^= 0x5a << k;
				zsx_unmap_object(f->pool, o->handle);
			}
			fill_want(f->bufs, o);
			for (k = 0; k < ARRAY_SIZE(at); k++)
				f->bufs->want[at[k]] ^= 0x5a << k;
			read_by(f->pool, o, f->bufs, BY_READ);
			KUNIT_EXPECT_EQ_MSG(test, memcmp(f->bufs->got, f->bufs->want, o->len), 0,
					    "class %u, slot %u", c, i);
		}
	}
	drop_all(f);
	expect_empty(test);
}

/* Where an object spans, its mapping is a copy, which a reader doesn't put back. */
static void ro_map_is_not_written_back(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int c, i, nr_spanning = 0;

	for (c = 0; c < f->pool->nr_classes; c++) {
		fill_zspage(test, c);
		for (i = 0; i < f->pool->classes[c].geo->nr_objects; i++) {
			struct obj *o = &f->objs[i];
			u8 *mem;

			if (!spans(f->pool, o))
				continue;
			nr_spanning++;
			mem = zsx_map_object(f->pool, o->handle, ZSX_MAP_RO);
			if (mem) {
				memset(mem, 0x77, o->len);
				zsx_unmap_object(f->pool, o->handle);
			}
			expect_intact(test, i, BY_READ);
		}
	}
	KUNIT_EXPECT_GT(test, nr_spanning, 0);
	drop_all(f);
	expect_empty(test);
}

/* === Pins ================================================================ */

/* An object open for reading: @mem, or the first bytes of @sg. */
struct reader {
	struct scatterlist sg[2];
	void *mem;
	u8 *copy;
};

static bool reader_sees(struct fixture *f, const struct obj *o, struct reader *r)
{
	fill_want(f->bufs, o);
	if (r->mem)
		return !memcmp(r->mem, f->bufs->want, o->len);
	sg_copy_to_buffer(r->sg, sg_nents(r->sg), f->bufs->got, o->len);
	return !memcmp(f->bufs->got, f->bufs->want, o->len);
}

/*
 * So many objects a task may have open by zsx_obj_read_begin(): any number, but where pages
 * have to be mapped for it. More is a BUG of kmap_local_page()'s.
 */
#define MOST_OPEN	(IS_ENABLED(CONFIG_KMAP_LOCAL) ? 12U : UINT_MAX)

static const unsigned int pinned_lens[] = { 40, 700, 1100, 2500, 3300, PAGE_SIZE };

/*
 * Every third object is held open, over sleeps, while its neighbours are freed
 * and others take their place and their pages. Half of the readers hold sg lists:
 * these show the pages themselves, of spanning objects too.
 */
static void open_objects_stay_across_sleep(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int nr = 1200, nr_lens = ARRAY_SIZE(pinned_lens), nr_open = 0;
	struct reader *readers;
	unsigned int i, round;
	struct rnd_state rnd;

	readers = kunit_kcalloc(test, nr, sizeof(*readers), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, readers);
	for (i = 0; i < nr; i += 6) {
		readers[i].copy = kunit_kmalloc(test, PAGE_SIZE, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, readers[i].copy);
	}
	for (i = 0; i < nr; i++)
		assert_store(test, i, pinned_lens[i / 2 % nr_lens]);
	for (i = 0; i < nr; i += 3) {
		struct obj *o = &f->objs[i];

		if (i % 2 || nr_open == MOST_OPEN) {
			zsx_obj_read_sg_begin(f->pool, o->handle, readers[i].sg, o->len);
			continue;
		}
		readers[i].mem = zsx_obj_read_begin(f->pool, o->handle, o->len,
						    readers[i].copy);
		nr_open++;
	}
	prandom_seed_state(&rnd, nr);
	for (round = 0; round < 6; round++) {
		for (i = 0; i < nr; i++)
			if (i % 3 && f->objs[i].handle && prandom_u32_state(&rnd) % 4)
				drop(f->pool, &f->objs[i]);
		msleep(20);
		schedule();
		for (i = 0; i < nr; i += 3)
			KUNIT_EXPECT_TRUE_MSG(test, reader_sees(f, &f->objs[i], &readers[i]),
					      "round %u, object %u of %u bytes, seed %u",
					      round, i, f->objs[i].len, f->objs[i].seed);
		for (i = 0; i < nr; i++)
			if (!f->objs[i].handle)
				assert_store(test, i, pinned_lens[i / 2 % nr_lens]);
	}
	/* The last one that was opened first. */
	for (i = nr - nr % 3; i; ) {
		i -= 3;
		KUNIT_EXPECT_TRUE_MSG(test, reader_sees(f, &f->objs[i], &readers[i]),
				      "at the end, object %u", i);
		if (!readers[i].mem)
			zsx_obj_read_sg_end(f->pool, f->objs[i].handle);
		else
			zsx_obj_read_end(f->pool, f->objs[i].handle, f->objs[i].len,
					 readers[i].mem);
	}
	for (i = 0; i < nr; i++) {
		KUNIT_EXPECT_EQ_MSG(test, atomic_read(&zspage_of(&f->objs[i])->pins), 0,
				    "object %u", i);
		expect_intact(test, i, BY_READ);
	}
	drop_all(f);
	expect_empty(test);
}

/* Each open access is one pin on the zspage; each end takes one off. */
static void each_access_pins_once(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct scatterlist sg[2];
	unsigned int i, n, pins[5];
	struct zsx_zspage *zspage;
	void *mem[ZSX_MAX_OBJECTS];

	fill_zspage(test, zsx_lookup_class_index(f->pool, 1100));
	n = zsx_classes.geo[zsx_lookup_class_index(f->pool, 1100)].nr_objects;
	n = min(n, MOST_OPEN);
	zspage = zspage_of(&f->objs[0]);
	for (i = 0; i < n; i++) {
		mem[i] = zsx_obj_read_begin(f->pool, f->objs[i].handle, 1, f->bufs->got);
		KUNIT_EXPECT_EQ_MSG(test, atomic_read(&zspage->pins), i + 1, "object %u", i);
	}
	for (i = n; i--; ) {
		zsx_obj_read_end(f->pool, f->objs[i].handle, 1, mem[i]);
		KUNIT_EXPECT_EQ_MSG(test, atomic_read(&zspage->pins), i, "object %u", i);
	}

	zsx_obj_read_sg_begin(f->pool, f->objs[0].handle, sg, 1);
	pins[0] = atomic_read(&zspage->pins);
	zsx_obj_read_sg_end(f->pool, f->objs[0].handle);
	pins[1] = atomic_read(&zspage->pins);
	zsx_map_object(f->pool, f->objs[0].handle, ZSX_MAP_WO);
	pins[2] = atomic_read(&zspage->pins);
	zsx_unmap_object(f->pool, f->objs[0].handle);
	pins[3] = atomic_read(&zspage->pins);
	zsx_obj_write(f->pool, f->objs[0].handle, f->bufs->want, 1);
	pins[4] = atomic_read(&zspage->pins);
	for (i = 0; i < ARRAY_SIZE(pins); i++)
		KUNIT_EXPECT_EQ_MSG(test, pins[i], i % 2 == 0 && i < 4, "step %u", i);
	drop_all(f);
	expect_empty(test);
}

/* === Threads ============================================================= */

/*
 * A thread of a case.
 * @objs, @nr_objs: its own part of the fixture's objects
 * @len: how long they are; 0: of any length
 * @wrong: what failed first, at @step
 */
struct worker {
	struct race *race;
	struct task_struct *task;
	struct bufs *bufs;
	struct obj *objs;
	unsigned int nr_objs;
	unsigned int len;
	u32 seed;
	unsigned int nr_steps;
	unsigned int step;
	const char *wrong;
	struct completion done;
};

/*
 * @arrived: how many are at the barrier
 * @go: all are: they begin at a time
 * @deadline: in jiffies; enough has been done by then. A guest with more CPUs than
 *	its host has takes seconds for what else is done in a moment: who waits for
 *	a lock takes the host's CPU from who holds it.
 */
struct race {
	struct zsx_pool *pool;
	unsigned int nr;
	atomic_t arrived;
	struct completion go;
	unsigned long deadline;
	void (*body)(struct worker *w);
	struct worker workers[MAX_WORKERS];
};

static int run_worker(void *data)
{
	struct worker *w = data;

	if (atomic_inc_return(&w->race->arrived) == w->race->nr)
		complete_all(&w->race->go);
	else
		wait_for_completion(&w->race->go);
	w->race->body(w);
	complete(&w->done);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static struct race *new_race(struct kunit *test, unsigned int nr, unsigned int len)
{
	struct fixture *f = test->priv;
	struct race *race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, race);
	race->pool = f->pool;
	race->nr = nr;
	for (i = 0; i < nr; i++) {
		struct worker *w = &race->workers[i];

		w->race = race;
		w->len = len;
		w->seed = i + 1;
		w->nr_objs = MAX_OBJS / MAX_WORKERS;
		w->objs = f->objs + i * w->nr_objs;
		w->bufs = kunit_kzalloc(test, sizeof(*w->bufs), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, w->bufs);
	}
	return race;
}

/* Run @body in all workers at a time, until all are done. */
static void run_race(struct kunit *test, struct race *race,
		     void (*body)(struct worker *w))
{
	unsigned int i, nr;

	race->body = body;
	atomic_set(&race->arrived, 0);
	init_completion(&race->go);
	race->deadline = jiffies + 2 * HZ;
	for (nr = 0; nr < race->nr; nr++) {
		struct worker *w = &race->workers[nr];

		init_completion(&w->done);
		w->task = kthread_create(run_worker, w, "zsx_pool/%u", nr);
		if (IS_ERR(w->task))
			break;
	}
	/* A thread that never ran ends at once. */
	if (nr < race->nr)
		for (i = 0; i < nr; i++)
			kthread_stop(race->workers[i].task);
	KUNIT_ASSERT_EQ(test, nr, race->nr);

	for (i = 0; i < nr; i++)
		wake_up_process(race->workers[i].task);
	for (i = 0; i < nr; i++)
		wait_for_completion(&race->workers[i].done);
	for (i = 0; i < nr; i++) {
		struct worker *w = &race->workers[i];

		kthread_stop(w->task);
		KUNIT_EXPECT_NULL_MSG(test, w->wrong, "%s: thread %u, seed %u, step %u",
				      w->wrong, i, w->seed, w->step);
	}
}

/* Store, verify by a way, write anew and free, at random. */
static void churn(struct worker *w)
{
	struct zsx_pool *pool = w->race->pool;
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, w->seed);
	for (w->step = 0; w->step < w->nr_steps && !w->wrong &&
	     time_before(jiffies, w->race->deadline); w->step++) {
		struct obj *o = &w->objs[prandom_u32_state(&rnd) % w->nr_objs];
		unsigned int len = w->len ?: 1 + prandom_u32_state(&rnd) % PAGE_SIZE;

		if (!o->handle) {
			if (!store(pool, o, len, prandom_u32_state(&rnd), w->bufs))
				w->wrong = "an object could not be stored";
			continue;
		}
		if (!is_intact(pool, o, w->bufs, prandom_u32_state(&rnd) % NR_WAYS)) {
			w->wrong = "an object is not intact";
		} else if (prandom_u32_state(&rnd) % 2) {
			drop(pool, o);
		} else {
			o->seed = prandom_u32_state(&rnd);
			fill_want(w->bufs, o);
			if (zsx_obj_write(pool, o->handle, w->bufs->want, o->len))
				w->wrong = "an object could not be written anew";
		}
		if (w->step % 64 == 0)
			cond_resched();
	}
	for (i = 0; i < w->nr_objs; i++) {
		struct obj *o = &w->objs[i];

		if (!o->handle)
			continue;
		if (!is_intact(pool, o, w->bufs, BY_READ))
			w->wrong = w->wrong ?: "an object is not intact at the end";
		drop(pool, o);
	}
}

static const struct threads_param {
	const char *name;
	unsigned int nr;
	unsigned int len;
} threads[] = {
	{ "2 threads, one class", 2, 1100 },
	{ "4 threads, one class", 4, 3300 },
	{ "8 threads, one class", 8, 600 },
	{ "8 threads, the class of whole pages", 8, PAGE_SIZE },
	{ "2 threads, all classes", 2, 0 },
	{ "4 threads, all classes", 4, 0 },
	{ "8 threads, all classes", 8, 0 },
};

KUNIT_ARRAY_PARAM_DESC(threads, threads, name);

static void threads_keep_their_objects(struct kunit *test)
{
	const struct threads_param *param = test->param_value;
	struct race *race = new_race(test, param->nr, param->len);
	unsigned int i;

	for (i = 0; i < param->nr; i++) {
		race->workers[i].nr_objs = 100;
		race->workers[i].nr_steps = 4000;
	}
	run_race(test, race, churn);
	expect_empty(test);
}

/* Nothing but malloc and free, so that threads meet in them. */
static void malloc_and_free(struct worker *w)
{
	struct zsx_pool *pool = w->race->pool;

	for (w->step = 0; w->step < w->nr_steps &&
	     time_before(jiffies, w->race->deadline); w->step++) {
		unsigned long handle = zsx_malloc(pool, w->len, GFP_KERNEL, NUMA_NO_NODE);

		if (IS_ERR_VALUE(handle)) {
			w->wrong = "an object could not be stored";
			return;
		}
		zsx_free(pool, handle);
		if (w->step % 256 == 0)
			cond_resched();
	}
}

static void threads_are_all_counted(struct kunit *test)
{
	const unsigned int len = 600;
	struct race *race = new_race(test, 4, len);
	struct fixture *f = test->priv;
	struct zsx_pool_stats stats;
	u64 nr = 1;
	unsigned int i;

	/* One object stays: else most of the time would go into pages. */
	assert_store(test, 0, len);
	for (i = 0; i < race->nr; i++)
		race->workers[i].nr_steps = 20000;
	run_race(test, race, malloc_and_free);
	for (i = 0; i < race->nr; i++)
		nr += race->workers[i].step;
	drop_all(f);
	zsx_pool_stats(f->pool, &stats);
	KUNIT_EXPECT_EQ(test, stats.mallocs, nr);
	KUNIT_EXPECT_EQ(test, stats.frees, nr);
	KUNIT_EXPECT_EQ(test, stats.bytes_asked, nr * len);
	expect_empty(test);
}

/* Store objects in the first @nr_steps places that are free. */
static void only_store(struct worker *w)
{
	unsigned int i, nr = 0;

	for (i = 0; i < w->nr_objs && nr < w->nr_steps; i++) {
		if (w->objs[i].handle)
			continue;
		nr++;
		w->step = i;
		if (!store(w->race->pool, &w->objs[i], w->len, w->seed << 16 | i, w->bufs))
			w->wrong = "an object could not be stored";
	}
}

static void only_free(struct worker *w)
{
	unsigned int i;

	for (i = 0; i < w->nr_objs; i++) {
		if (!w->objs[i].handle)
			continue;
		w->step = i;
		if (!is_intact(w->race->pool, &w->objs[i], w->bufs, BY_SG))
			w->wrong = "an object is not intact";
		drop(w->race->pool, &w->objs[i]);
	}
}

static const struct size_param {
	const char *name;
	unsigned int len;
} racing_sizes[] = {
	{ "of 32 bytes", 32 }, { "of 700 bytes", 700 }, { "of 1008 bytes", 1008 },
	{ "of 2424 bytes", 2424 }, { "of 3640 bytes", 3640 }, { "of a page", PAGE_SIZE },
};

KUNIT_ARRAY_PARAM_DESC(racing_sizes, racing_sizes, name);

/*
 * A page comes in only under the lock, while no present slot is free, and in a
 * new zspage only while none can grow. So mallocs alone fill slot after slot,
 * however they race: no page is ever brought that m objects don't need.
 */
static void racing_mallocs_take_fewest_pages(struct kunit *test)
{
	const struct size_param *param = test->param_value;
	struct race *race = new_race(test, MAX_WORKERS, param->len);
	struct fixture *f = test->priv;
	struct zsx_class *class = class_of(f->pool, param->len);
	const struct zsx_geometry *geo = class->geo;
	unsigned long objects = 0, fewest, want, rest;
	struct zsx_pool_stats stats;
	unsigned int i, round;

	for (round = 0; round < 5; round++) {
		for (i = 0; i < MAX_WORKERS; i++) {
			race->workers[i].nr_steps = 10 + (round * 5 + i) % 29;
			objects += race->workers[i].nr_steps;
		}
		run_race(test, race, only_store);

		rest = objects % geo->nr_objects;
		want = objects / geo->nr_objects * geo->nr_pages;
		if (rest)
			want += DIV_ROUND_UP(((rest - 1) * geo->nr_pages * PAGE_SIZE /
					      geo->nr_objects & ~7UL) + geo->size, PAGE_SIZE);
		spin_lock(&class->lock);
		fewest = zsx_class_fewest_pages(class);
		spin_unlock(&class->lock);
		zsx_pool_stats(f->pool, &stats);
		KUNIT_EXPECT_EQ_MSG(test, fewest, want, "%lu objects", objects);
		KUNIT_EXPECT_EQ_MSG(test, stats.pages, want, "%lu objects", objects);
		KUNIT_EXPECT_EQ_MSG(test, stats.pages_brought, want, "%lu objects", objects);
		KUNIT_EXPECT_EQ_MSG(test, stats.zspages, DIV_ROUND_UP(objects, geo->nr_objects),
				    "%lu objects", objects);
		expect_stats_right(test);
	}
	run_race(test, race, only_free);
	expect_empty(test);
}

/* === Memory is short ===================================================== */

static void use_stubs(struct kunit *test);
static void drop_stubs(struct kunit *test);

static void before_shortage(struct shortage *s, gfp_t gfp, int nid)
{
	s->nr_calls++;
	s->gfp = gfp;
	s->nid = nid;
	if (spin_trylock(&s->class->lock))
		spin_unlock(&s->class->lock);
	else
		s->was_locked = true;
}

static void store_rival(struct kunit *test, bool is_time)
{
	struct fixture *f = test->priv;
	struct obj *rival = f->shortage.rival;

	if (!rival || !is_time)
		return;
	f->shortage.rival = NULL;
	store(f->pool, rival, f->shortage.rival_len, 77, f->bufs);
}

static void free_victim(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct obj *victim = f->shortage.victim;

	f->shortage.victim = NULL;
	if (victim)
		drop(f->pool, victim);
}

/* Keeps an eye on the page that it gets, by a reference. */
static struct page *stub_page_alloc(gfp_t gfp, int nid)
{
	struct kunit *test = kunit_get_current_test();
	struct fixture *f = test->priv;
	struct page *page;

	before_shortage(&f->shortage, gfp, nid);
	if (f->shortage.fail_page) {
		free_victim(test);
		return NULL;
	}
	drop_stubs(test);
	page = zsx_page_alloc(gfp, nid);
	store_rival(test, !f->shortage.rival_waits);
	use_stubs(test);
	if (page && !f->shortage.page) {
		get_page(page);
		f->shortage.page = page;
	}
	return page;
}

static struct zsx_zspage *stub_zspage_alloc(struct zsx_class *class, gfp_t gfp, int nid)
{
	struct kunit *test = kunit_get_current_test();
	struct fixture *f = test->priv;
	struct zsx_zspage *zspage;

	before_shortage(&f->shortage, gfp, nid);
	if (f->shortage.fail_zspage) {
		free_victim(test);
		return NULL;
	}
	drop_stubs(test);
	zspage = zsx_zspage_alloc(class, gfp, nid);
	store_rival(test, f->shortage.rival_waits);
	use_stubs(test);
	return zspage;
}

static void use_stubs(struct kunit *test)
{
	kunit_activate_static_stub(test, zsx_page_alloc, stub_page_alloc);
	kunit_activate_static_stub(test, zsx_zspage_alloc, stub_zspage_alloc);
}

static void drop_stubs(struct kunit *test)
{
	kunit_deactivate_static_stub(test, zsx_page_alloc);
	kunit_deactivate_static_stub(test, zsx_zspage_alloc);
}

/* How the page that the stub saw fared; then it is forgotten. */
static int references_to_seen_page(struct fixture *f)
{
	int nr;

	if (!f->shortage.page)
		return 0;
	nr = page_count(f->shortage.page);
	put_page(f->shortage.page);
	f->shortage.page = NULL;
	return nr;
}

/* Store objects until the class has no free present slot. Returns how many. */
static unsigned int fill_up(struct kunit *test, unsigned int len, bool growable)
{
	struct fixture *f = test->priv;
	struct zsx_class *class = class_of(f->pool, len);
	unsigned int i = 0;

	do {
		assert_store(test, i++, len);
	} while (class->nonempty || !class->nr_zspages[growable ? ZSX_GROWABLE : ZSX_FULL]);
	return i;
}

/* @state: what the class is like, by the objects in it */
static const struct shortage_param {
	const char *name;
	bool fail_page;
	bool fail_zspage;
	enum { EMPTY, GROWABLE, FULL } state;
} shortages[] = {
	{ "no page, class empty", true, false, EMPTY },
	{ "no descriptor, class empty", false, true, EMPTY },
	{ "neither, class empty", true, true, EMPTY },
	{ "no page, a zspage growable", true, false, GROWABLE },
	{ "neither, a zspage growable", true, true, GROWABLE },
	{ "no page, zspages full", true, false, FULL },
	{ "no descriptor, zspages full", false, true, FULL },
	{ "neither, zspages full", true, true, FULL },
};

KUNIT_ARRAY_PARAM_DESC(shortages, shortages, name);

/* -ENOMEM, as if nothing had been asked for; and it works when memory is back. */
static void short_memory_changes_nothing(struct kunit *test)
{
	const struct shortage_param *param = test->param_value;
	const gfp_t gfp = GFP_NOWAIT | __GFP_NORETRY;
	struct fixture *f = test->priv;
	struct zsx_pool_stats before, after;
	unsigned long handle;
	unsigned int i = 0, k;

	if (param->state != EMPTY)
		i = fill_up(test, 3000, param->state == GROWABLE);
	f->shortage = (struct shortage) {
		.fail_page = param->fail_page,
		.fail_zspage = param->fail_zspage,
		.class = class_of(f->pool, 3000),
	};
	zsx_pool_stats(f->pool, &before);
	use_stubs(test);
	handle = zsx_malloc(f->pool, 3000, gfp, numa_node_id());
	drop_stubs(test);
	zsx_pool_stats(f->pool, &after);

	KUNIT_EXPECT_EQ(test, handle, (unsigned long)-ENOMEM);
	if (!IS_ERR_VALUE(handle))
		f->objs[MAX_OBJS - 1] = (struct obj) { .handle = handle, .len = 3000 };
	KUNIT_EXPECT_GT(test, f->shortage.nr_calls, 0);
	KUNIT_EXPECT_EQ(test, (__force u32)f->shortage.gfp, (__force u32)gfp);
	KUNIT_EXPECT_EQ(test, f->shortage.nid, numa_node_id());
	KUNIT_EXPECT_FALSE_MSG(test, f->shortage.was_locked,
			       "memory was asked for under class->lock");
	KUNIT_EXPECT_EQ(test, !!f->shortage.page, !param->fail_page);
	if (f->shortage.page)
		KUNIT_EXPECT_EQ_MSG(test, references_to_seen_page(f), 1,
				    "the page that was got was not given back");
	KUNIT_EXPECT_EQ(test, memcmp(&before, &after, sizeof(before)), 0);
	expect_stats_right(test);

	assert_store(test, i, 3000);
	for (k = 0; k <= i; k++)
		expect_intact(test, k, BY_READ);
	drop_all(f);
	expect_empty(test);
}

static const struct last_look_param {
	const char *name;
	unsigned int len;
	bool fail_page;
	bool fail_zspage;
	unsigned int pages;
} last_looks[] = {
	{ "no page, a slot came free", 600, true, false, 0 },
	{ "no descriptor, a slot came free", 600, false, true, 0 },
	/* The page that was got replaces the one that the free gave back. */
	{ "no descriptor, a zspage became growable", PAGE_SIZE, false, true, 1 },
};

KUNIT_ARRAY_PARAM_DESC(last_looks, last_looks, name);

/* Another object is freed while malloc is out for memory in vain: that is enough. */
static void malloc_takes_what_came_free(struct kunit *test)
{
	const struct last_look_param *param = test->param_value;
	struct fixture *f = test->priv;
	struct zsx_pool_stats before, after;
	unsigned int k, nr = fill_up(test, param->len, false);
	bool stored;

	f->shortage = (struct shortage) {
		.fail_page = param->fail_page,
		.fail_zspage = param->fail_zspage,
		.victim = &f->objs[1],
		.class = class_of(f->pool, param->len),
	};
	zsx_pool_stats(f->pool, &before);
	use_stubs(test);
	stored = store(f->pool, &f->objs[nr], param->len, nr, f->bufs);
	drop_stubs(test);
	zsx_pool_stats(f->pool, &after);

	KUNIT_EXPECT_TRUE(test, stored);
	KUNIT_EXPECT_EQ(test, f->objs[1].handle, 0);
	KUNIT_EXPECT_EQ(test, after.objects, before.objects);
	KUNIT_EXPECT_EQ(test, after.pages, before.pages);
	KUNIT_EXPECT_EQ(test, after.zspages, before.zspages);
	KUNIT_EXPECT_EQ(test, after.pages_brought - before.pages_brought, param->pages);
	if (f->shortage.page)
		KUNIT_EXPECT_EQ_MSG(test, references_to_seen_page(f), 1 + param->pages,
				    "the page that was got is used, or was given back");
	expect_stats_right(test);
	for (k = 0; k <= nr; k++)
		if (f->objs[k].handle)
			expect_intact(test, k, BY_READ);
	drop_all(f);
	expect_empty(test);
}

static const struct rival_param {
	const char *name;
	unsigned int len;
	bool rival_waits;
	unsigned int pages;
} rivals[] = {
	{ "its page has room, ours is got", 600, false, 1 },
	{ "its page has room, our descriptor is got", 600, true, 1 },
	{ "its zspage can grow, our page is got", PAGE_SIZE, false, 2 },
	{ "its zspage can grow, our descriptor is got", PAGE_SIZE, true, 2 },
};

KUNIT_ARRAY_PARAM_DESC(rivals, rivals, name);

/*
 * Another one grows the class while malloc is out for memory: malloc looks before
 * it brings in what it got, and gives back what is not needed any more.
 */
static void malloc_uses_what_a_rival_brought(struct kunit *test)
{
	const struct rival_param *param = test->param_value;
	struct fixture *f = test->priv;
	struct zsx_pool_stats before, after;
	unsigned int k, nr = fill_up(test, param->len, false);
	bool stored;

	f->shortage = (struct shortage) {
		.rival = &f->objs[nr],
		.rival_len = param->len,
		.rival_waits = param->rival_waits,
		.class = class_of(f->pool, param->len),
	};
	zsx_pool_stats(f->pool, &before);
	use_stubs(test);
	stored = store(f->pool, &f->objs[nr + 1], param->len, nr, f->bufs);
	drop_stubs(test);
	zsx_pool_stats(f->pool, &after);

	KUNIT_EXPECT_TRUE(test, stored);
	KUNIT_EXPECT_NE(test, f->objs[nr].handle, 0);
	KUNIT_EXPECT_EQ(test, after.objects - before.objects, 2);
	KUNIT_EXPECT_EQ(test, after.pages - before.pages, param->pages);
	KUNIT_EXPECT_EQ(test, after.pages_brought - before.pages_brought, param->pages);
	KUNIT_EXPECT_EQ(test, after.zspages - before.zspages, 1);
	KUNIT_EXPECT_EQ_MSG(test, references_to_seen_page(f), param->pages,
			    "the page that was got is used, or was given back");
	expect_stats_right(test);
	for (k = 0; k < nr + 2; k++)
		expect_intact(test, k, BY_READ);
	drop_all(f);
	expect_empty(test);
}

/* === Bad input =========================================================== */

static void sizes_out_of_range_are_refused(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct zsx_pool_stats before, after;
	static const struct {
		size_t size;
		long err;
	} bad[] = {
		{ 0, -EINVAL }, { PAGE_SIZE + 1, -ENOSPC }, { 2 * PAGE_SIZE, -ENOSPC },
		{ INT_MAX, -ENOSPC }, { UINT_MAX, -ENOSPC }, { SIZE_MAX - 7, -ENOSPC },
		{ SIZE_MAX, -ENOSPC },
	};
	unsigned int i;

	zsx_pool_stats(f->pool, &before);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ_MSG(test, (long)zsx_malloc(f->pool, bad[i].size, GFP_KERNEL,
							   NUMA_NO_NODE),
				    bad[i].err, "%zu bytes", bad[i].size);
	zsx_pool_stats(f->pool, &after);
	KUNIT_EXPECT_EQ(test, memcmp(&before, &after, sizeof(before)), 0);

	assert_store(test, 0, PAGE_SIZE);
	assert_store(test, 1, 1);
	expect_intact(test, 0, BY_READ);
	expect_intact(test, 1, BY_READ);
	drop_all(f);
	expect_empty(test);
}

static void free_of_no_handle_is_nothing(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct zsx_pool_stats before, after;
	unsigned long err;

	assert_store(test, 0, 100);
	zsx_pool_stats(f->pool, &before);
	zsx_free(f->pool, 0);
	for (err = 1; err <= MAX_ERRNO; err++)
		zsx_free(f->pool, -err);
	zsx_pool_stats(f->pool, &after);
	KUNIT_EXPECT_EQ(test, memcmp(&before, &after, sizeof(before)), 0);
	expect_intact(test, 0, BY_READ);
	drop_all(f);
	expect_empty(test);
}

static void lookup_outside_is_lookup_at_the_border(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int last = f->pool->nr_classes - 1;

	KUNIT_EXPECT_EQ(test, zsx_lookup_class_index(f->pool, 1), 0);
	KUNIT_EXPECT_EQ(test, zsx_lookup_class_index(f->pool, 0), 0);
	KUNIT_EXPECT_EQ(test, zsx_lookup_class_index(f->pool, PAGE_SIZE), last);
	KUNIT_EXPECT_EQ(test, zsx_lookup_class_index(f->pool, PAGE_SIZE + 1), last);
	KUNIT_EXPECT_EQ(test, zsx_lookup_class_index(f->pool, UINT_MAX), last);
}

/* What a caller asks before it stores: an object of that length has a page's cost. */
static void huge_objects_take_a_page_each(struct kunit *test)
{
	struct fixture *f = test->priv;
	size_t huge = zsx_huge_class_size(f->pool);
	unsigned int i;

	KUNIT_ASSERT_LE(test, huge, PAGE_SIZE);
	for (i = 0; i < 40; i++)
		assert_store(test, i, huge);
	KUNIT_EXPECT_EQ(test, zsx_get_total_pages(f->pool), 40);
	drop_all(f);
	for (i = 0; i < 40; i++)
		assert_store(test, i, huge - 1);
	KUNIT_EXPECT_LT(test, zsx_get_total_pages(f->pool), 40);
	drop_all(f);
	expect_empty(test);
}

static void pool_without_name_is_refused(struct kunit *test)
{
	KUNIT_EXPECT_NULL(test, zsx_create_pool(NULL));
	KUNIT_EXPECT_NULL(test, zsx_create_pool(""));
	zsx_destroy_pool(NULL);
}

static const struct name_param {
	const char *name;
	const char *pool_name;
	unsigned int len;
} names[] = {
	{ "one that is taken", "zsx_pool" },
	{ "with a slash", "a/b//c/" },
	{ "a slash", "/" },
	{ "two dots", ".." },
	{ "with a format", "%s%n" },
	{ "of 300 bytes", NULL, 300 },
	{ "of 5000 bytes", NULL, 5000 },
};

KUNIT_ARRAY_PARAM_DESC(names, names, name);

static void destroy_pool(void *pool)
{
	zsx_destroy_pool(pool);
}

static void any_other_name_works(struct kunit *test)
{
	const struct name_param *param = test->param_value;
	struct fixture *f = test->priv;
	struct zsx_pool *pools[2];
	const char *name = param->pool_name;
	struct obj o = {};
	unsigned int i;
	char *long_name;

	if (!name) {
		long_name = kunit_kzalloc(test, param->len + 1, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, long_name);
		memset(long_name, 'x', param->len);
		name = long_name;
	}
	for (i = 0; i < ARRAY_SIZE(pools); i++) {
		pools[i] = zsx_create_pool(name);
		KUNIT_ASSERT_NOT_NULL(test, pools[i]);
		KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, destroy_pool, pools[i]), 0);
	}
	for (i = 0; i < ARRAY_SIZE(pools); i++) {
		KUNIT_EXPECT_TRUE(test, store(pools[i], &o, 100, i, f->bufs));
		KUNIT_EXPECT_TRUE(test, is_intact(pools[i], &o, f->bufs, BY_READ));
		zsx_free(pools[i], o.handle);
		o.handle = 0;
	}
}

static void expect_too_long(struct kunit *test, unsigned long handle, size_t len)
{
	struct fixture *f = test->priv;
	struct scatterlist sg[2];
	size_t nr_bytes = 0;
	void *mem = NULL;
	int err = 0;

	memset(f->bufs->got, 0xee, PAGE_SIZE);
	kunit_warning_suppress(test) {
		err = zsx_obj_write(f->pool, handle, f->bufs->want, len);
		mem = zsx_obj_read_begin(f->pool, handle, len, f->bufs->got);
		zsx_obj_read_end(f->pool, handle, len, mem);
		zsx_obj_read_sg_begin(f->pool, handle, sg, len);
		nr_bytes = sg_copy_to_buffer(sg, sg_nents(sg), f->bufs->got, PAGE_SIZE);
		zsx_obj_read_sg_end(f->pool, handle);
	}
	KUNIT_EXPECT_EQ_MSG(test, err, -EINVAL, "%zu bytes", len);
	KUNIT_EXPECT_NULL_MSG(test, mem, "%zu bytes", len);
	KUNIT_EXPECT_EQ_MSG(test, nr_bytes, min(len, PAGE_SIZE), "%zu bytes", len);
	KUNIT_EXPECT_NULL_MSG(test, memchr_inv(f->bufs->got, 0, nr_bytes),
			      "%zu bytes", len);
}

/*
 * Whether it warns just once can't be told here: KUnit's suppression uses a
 * WARN_ONCE() up on some machines and not on others. The selftests see it.
 */
static void too_long_accesses_are_refused(struct kunit *test)
{
	static const unsigned int lens[] = { 8, 100, 1100, 3300, PAGE_SIZE };
	struct fixture *f = test->priv;
	unsigned int i, k, c, n;

	for (k = 0; k < ARRAY_SIZE(lens); k++) {
		c = zsx_lookup_class_index(f->pool, lens[k]);
		n = f->pool->classes[c].geo->nr_objects;
		fill_zspage(test, c);
		for (i = 0; i < n; i++) {
			struct obj *o = &f->objs[i];

			expect_too_long(test, o->handle, f->pool->classes[c].geo->size + 1);
			expect_too_long(test, o->handle, 2 * PAGE_SIZE);
			expect_too_long(test, o->handle, SIZE_MAX);
			/* Short, if only 32 bits of it are looked at. */
			expect_too_long(test, o->handle, SIZE_MAX - UINT_MAX ?: SIZE_MAX);
			KUNIT_EXPECT_EQ_MSG(test, atomic_read(&zspage_of(o)->pins), 0,
					    "slot %u", i);
		}
		for (i = 0; i < n; i++)
			expect_intact(test, i, BY_READ);
	}
	drop_all(f);
	expect_empty(test);
}

static void handle_of_another_pool_is_refused(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct zsx_pool *other = zsx_create_pool("zsx_pool_other");
	struct scatterlist sg[2];
	unsigned long handle;
	void *mem = &mem, *map = &map;
	int err = 0;

	KUNIT_ASSERT_NOT_NULL(test, other);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, destroy_pool, other), 0);
	assert_store(test, 0, 1100);
	handle = f->objs[0].handle;
	kunit_warning_suppress(test) {
		zsx_free(other, handle);
		err = zsx_obj_write(other, handle, f->bufs->got, 1100);
		mem = zsx_obj_read_begin(other, handle, 1100, f->bufs->got);
		map = zsx_map_object(other, handle, ZSX_MAP_RW);
		zsx_obj_read_sg_begin(other, handle, sg, 1100);
		zsx_obj_read_sg_end(other, handle);
	}
	KUNIT_EXPECT_EQ(test, err, -EINVAL);
	KUNIT_EXPECT_NULL(test, mem);
	KUNIT_EXPECT_NULL(test, map);
	KUNIT_EXPECT_EQ(test, atomic_read(&zspage_of(&f->objs[0])->pins), 0);
	KUNIT_EXPECT_STREQ(test, compare_stats(other) ?: "", "");
	expect_stats_right(test);
	expect_intact(test, 0, BY_READ);
	drop_all(f);
	expect_empty(test);
}

/*
 * Best effort: nothing else took the handle's memory since. KASAN, and KFENCE
 * where the handle is one of its samples, rightly report that it is looked at.
 */
static void second_free_is_refused(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct zsx_pool_stats before, after;
	unsigned long handle;
	unsigned int i;

	if (IS_ENABLED(CONFIG_KASAN))
		kunit_skip(test, "KASAN would report it");
	for (i = 0; i < 5; i++)
		assert_store(test, i, 1100);
	if (is_kfence_address((void *)f->objs[2].handle))
		kunit_skip(test, "KFENCE would report it");
	handle = f->objs[2].handle;
	drop(f->pool, &f->objs[2]);
	zsx_pool_stats(f->pool, &before);
	kunit_warning_suppress(test)
		zsx_free(f->pool, handle);
	zsx_pool_stats(f->pool, &after);
	KUNIT_EXPECT_EQ(test, memcmp(&before, &after, sizeof(before)), 0);
	assert_store(test, 2, 1100);
	for (i = 0; i < 5; i++)
		expect_intact(test, i, BY_READ);
	drop_all(f);
	expect_empty(test);
}

/* === What a pool tells =================================================== */

/* Of another class than 1. */
#define MEDIUM	(PAGE_SIZE / 40)

/* Five objects of three lengths, two freed: every figure, by hand. */
static void stats_of_a_known_sequence(struct kunit *test)
{
	static const unsigned int lens[] = { 1, MEDIUM, PAGE_SIZE, PAGE_SIZE, MEDIUM };
	struct fixture *f = test->priv;
	struct zsx_pool_stats stats;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++)
		assert_store(test, i, lens[i]);
	zsx_pool_stats(f->pool, &stats);
	KUNIT_EXPECT_EQ(test, stats.objects, 5);
	KUNIT_EXPECT_EQ(test, stats.mallocs, 5);
	KUNIT_EXPECT_EQ(test, stats.frees, 0);
	KUNIT_EXPECT_EQ(test, stats.bytes_asked, 1 + 2 * MEDIUM + 2 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, stats.pages, 4);
	KUNIT_EXPECT_EQ(test, stats.pages_brought, 4);
	KUNIT_EXPECT_EQ(test, stats.pages_given_back, 0);
	KUNIT_EXPECT_EQ(test, stats.zspages, 3);
	KUNIT_EXPECT_EQ(test, stats.handle_bytes, 5 * sizeof(struct zsx_handle));
	KUNIT_EXPECT_EQ(test, stats.descriptor_bytes,
			class_of(f->pool, 1)->geo->desc_size +
			class_of(f->pool, MEDIUM)->geo->desc_size +
			class_of(f->pool, PAGE_SIZE)->geo->desc_size);
	KUNIT_EXPECT_EQ(test, stats.bytes_in_classes,
			class_of(f->pool, 1)->geo->size +
			2 * class_of(f->pool, MEDIUM)->geo->size + 2 * PAGE_SIZE);
	expect_stats_right(test);

	drop(f->pool, &f->objs[3]);
	drop(f->pool, &f->objs[0]);
	zsx_pool_stats(f->pool, &stats);
	KUNIT_EXPECT_EQ(test, stats.objects, 3);
	KUNIT_EXPECT_EQ(test, stats.mallocs, 5);
	KUNIT_EXPECT_EQ(test, stats.frees, 2);
	KUNIT_EXPECT_EQ(test, stats.bytes_asked, 1 + 2 * MEDIUM + 2 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, stats.pages, 2);
	KUNIT_EXPECT_EQ(test, stats.pages_brought, 4);
	KUNIT_EXPECT_EQ(test, stats.pages_given_back, 2);
	KUNIT_EXPECT_EQ(test, stats.zspages, 2);
	KUNIT_EXPECT_EQ(test, stats.pins_retried, 0);
	expect_stats_right(test);
	drop_all(f);
	expect_empty(test);
}

/* Objects of all lengths come and go; after each the sums are what a walk finds. */
static void totals_equal_the_recount(struct kunit *test)
{
	struct fixture *f = test->priv;
	u64 mallocs = 0, frees = 0, bytes = 0;
	struct zsx_pool_stats stats;
	struct rnd_state rnd;
	const char *wrong;
	unsigned int step;

	prandom_seed_state(&rnd, 1);
	for (step = 0; step < 1500; step++) {
		unsigned int i = prandom_u32_state(&rnd) % 400;
		unsigned int len = 1 + prandom_u32_state(&rnd) % PAGE_SIZE;

		if (f->objs[i].handle) {
			drop(f->pool, &f->objs[i]);
			frees++;
		} else {
			assert_store(test, i, len);
			mallocs++;
			bytes += len;
		}
		wrong = compare_stats(f->pool);
		zsx_pool_stats(f->pool, &stats);
		if (stats.mallocs != mallocs || stats.frees != frees)
			wrong = wrong ?: "mallocs or frees";
		if (stats.bytes_asked != bytes)
			wrong = wrong ?: "bytes_asked";
		KUNIT_ASSERT_NULL_MSG(test, wrong, "%s: step %u, seed 1", wrong, step);
	}
	drop_all(f);
	expect_empty(test);
}

static struct kunit_case pool_cases[] = {
	KUNIT_CASE_PARAM(fill_verify_free, orders_gen_params),
	KUNIT_CASE(every_size_to_its_last_byte),
	KUNIT_CASE_PARAM(all_ways_to_read_agree, writes_gen_params),
	KUNIT_CASE(reads_in_place_unless_it_spans),
	KUNIT_CASE(shorter_writes_keep_the_rest),
	KUNIT_CASE(rw_map_keeps_untouched_bytes),
	KUNIT_CASE(ro_map_is_not_written_back),
	KUNIT_CASE(open_objects_stay_across_sleep),
	KUNIT_CASE(each_access_pins_once),
	KUNIT_CASE_PARAM_ATTR(threads_keep_their_objects, threads_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
	KUNIT_CASE_SLOW(threads_are_all_counted),
	KUNIT_CASE_PARAM_ATTR(racing_mallocs_take_fewest_pages, racing_sizes_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
	KUNIT_CASE_PARAM(short_memory_changes_nothing, shortages_gen_params),
	KUNIT_CASE_PARAM(malloc_takes_what_came_free, last_looks_gen_params),
	KUNIT_CASE_PARAM(malloc_uses_what_a_rival_brought, rivals_gen_params),
	KUNIT_CASE(sizes_out_of_range_are_refused),
	KUNIT_CASE(free_of_no_handle_is_nothing),
	KUNIT_CASE(lookup_outside_is_lookup_at_the_border),
	KUNIT_CASE(huge_objects_take_a_page_each),
	KUNIT_CASE(pool_without_name_is_refused),
	KUNIT_CASE_PARAM(any_other_name_works, names_gen_params),
	KUNIT_CASE(too_long_accesses_are_refused),
	KUNIT_CASE(handle_of_another_pool_is_refused),
	KUNIT_CASE(second_free_is_refused),
	KUNIT_CASE(stats_of_a_known_sequence),
	KUNIT_CASE(totals_equal_the_recount),
	{}
};

static struct kunit_suite pool_suite = {
	.name = "zsx_pool",
	.init = pool_init,
	.test_cases = pool_cases,
};

kunit_test_suite(pool_suite);
