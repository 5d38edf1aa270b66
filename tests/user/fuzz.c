// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz.c - zsx's pure parts against a plain model, driven by any bytes
 *
 * Bytes are a program: the first two choose a page size and a chain limit, then each
 * command takes its operands from what follows, until they end. The model has no clever
 * step: sets are arrays of bool, a slot's bytes are compared with a page's bytes, ratios
 * are divisions. What differs ends the program (abort()). For libFuzzer, and for
 * fuzz_main.c, which makes up bytes from a seed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zsx_class.h"

#define must(condition) \
	do { if (!(condition)) broken(__LINE__, #condition); } while (0)

static void broken(int line, const char *condition)
{
	fprintf(stderr, "fuzz.c:%d: does not hold: %s\n", line, condition);
	abort();
}

/* === Bytes =============================================================== */

struct bytes {
	const uint8_t *at;
	size_t left;
};

static u64 take(struct bytes *b, unsigned int nr)
{
	u64 value = 0;

	for (; nr && b->left; nr--, b->left--)
		value = value << 8 | *b->at++;
	return value;
}

/* === Tables ============================================================== */

/* Of each page size and chain limit, made when it is first asked for. */
static const struct zsx_class_table *table_of(unsigned int page_shift, unsigned int limit)
{
	static struct zsx_class_table *tables[17][17];
	struct zsx_class_table **table = &tables[page_shift][limit];

	if (!*table) {
		*table = calloc(1, sizeof(**table));
		must(*table);
		must(!zsx_class_table_fill(*table, page_shift, limit));
	}
	return *table;
}

/* === Locations =========================================================== */

static void try_location(struct bytes *b)
{
	struct zsx_layout layout = zsx_layout_for(take(b, 1) % 65);
	u64 phys = take(b, 8) & ~((1ULL << ZSX_FRAME_SHIFT) - 1);
	unsigned int class = take(b, 1) % ZSX_MAX_CLASSES;
	unsigned int index = take(b, 1) % ZSX_MAX_OBJECTS;
	zsx_location_t loc;

	must(layout.frame_bits + layout.class_bits + layout.index_bits == 64);
	if (!zsx_frame_fits(layout, phys)) {
		must(!phys || phys >> ZSX_FRAME_SHIFT >> (layout.frame_bits - 1) > 1);
		return;
	}
	loc = zsx_location(layout, phys, class, index);
	must(loc.v);
	must(zsx_location_frame(layout, loc) << ZSX_FRAME_SHIFT == phys);
	must(zsx_location_index(layout, loc) == index);
	must(zsx_location_class(layout, loc) == (layout.class_bits ? class : 0));
}

/* === Sets of slots ======================================================= */

struct set {
	struct zsx_slots is;
	bool model[ZSX_MAX_OBJECTS];
};

static void compare(const struct set *s)
{
	unsigned int i, nr = 0, first = 0, last = 0;

	for (i = 0; i < ZSX_MAX_OBJECTS; i++) {
		must(zsx_slots_test(&s->is, i) == s->model[i]);
		if (!s->model[i])
			continue;
		if (!nr++)
			first = i;
		last = i;
	}
	must(zsx_slots_count(s->is) == nr);
	must(zsx_slots_empty(s->is) == !nr);
	if (nr) {
		must(zsx_slots_first(s->is) == first);
		must(zsx_slots_last(s->is) == last);
	}
}

static void try_set(struct bytes *b, struct set *s, const struct set *other)
{
	unsigned int op = take(b, 1) % 6, i = take(b, 1) % ZSX_MAX_OBJECTS, k;
	unsigned int j = take(b, 1) % ZSX_MAX_OBJECTS;

	switch (op) {
	case 0:
		zsx_slots_set(&s->is, i);
		s->model[i] = true;
		break;
	case 1:
		zsx_slots_clear(&s->is, i);
		s->model[i] = false;
		break;
	case 2:
		s->is = zsx_slots_range(i < j ? i : j, i < j ? j : i);
		for (k = 0; k < ZSX_MAX_OBJECTS; k++)
			s->model[k] = k >= (i < j ? i : j) && k <= (i < j ? j : i);
		break;
	case 3:
		s->is = zsx_slots_and(s->is, other->is);
		for (k = 0; k < ZSX_MAX_OBJECTS; k++)
			s->model[k] &= other->model[k];
		break;
	case 4:
		s->is = zsx_slots_or(s->is, other->is);
		for (k = 0; k < ZSX_MAX_OBJECTS; k++)
			s->model[k] |= other->model[k];
		break;
	case 5:
		s->is = zsx_slots_without(s->is, other->is);
		for (k = 0; k < ZSX_MAX_OBJECTS; k++)
			s->model[k] &= !other->model[k];
		break;
	}
	compare(s);
	must(zsx_slots_equal(s->is, other->is) ==
	     !memcmp(s->model, other->model, sizeof(s->model)));
}

/* === Geometry ============================================================ */

/* Where object @i begins, by a division. */
static unsigned int start_of(const struct zsx_geometry *geo, unsigned int page_size, unsigned int i)
{
	return (u64)i * geo->nr_pages * page_size / geo->nr_objects / 8 * 8;
}

static void try_object(struct bytes *b, const struct zsx_class_table *table)
{
	const struct zsx_geometry *geo = &table->geo[take(b, 1) % table->nr_classes];
	unsigned int page_size = 1U << table->page_shift;
	unsigned int i = take(b, 1) % geo->nr_objects;
	unsigned int len = take(b, 2) % (geo->size + 1);
	unsigned int start = start_of(geo, page_size, i);
	struct zsx_span span = zsx_span(geo, i, len, table->page_shift);

	must(zsx_offset(geo, i) == start);
	must(span.page * page_size + span.offset == start);
	must(span.offset < page_size && span.len[0] <= page_size - span.offset);
	must(span.len[0] + span.len[1] == len && span.len[1] < page_size);
	must(start + geo->size <= (i + 1 < geo->nr_objects ?
				   start_of(geo, page_size, i + 1) :
				   geo->nr_pages * page_size));
	must(zsx_last_page(geo, i, table->page_shift) == (start + geo->size - 1) / page_size);
	must(zsx_inuse_ratio(geo, i) == i * ZSX_NR_RATIOS / geo->nr_objects);
	must(zsx_inuse_ratio(geo, geo->nr_objects) == ZSX_NR_RATIOS);
}

static void try_size(struct bytes *b, const struct zsx_class_table *table)
{
	unsigned int size = 1 + take(b, 3) % (1U << table->page_shift);
	unsigned int c = zsx_class_of_size(table, size);
	/* Lengths are told apart by granules: all of one are of one class. */
	unsigned int border = (((size - 1) >> table->granule_shift) + 1) << table->granule_shift;

	must(c < table->nr_classes && border <= table->geo[c].size);
	/* It is the first that has room. */
	must(!c || border > table->geo[c - 1].size);
	must(zsx_class_of_size(table, border) == c);
}

/* === A zspage ============================================================ */

/* Pages come and go, objects do: the sets must say what the bytes say. */
static void try_zspage(struct bytes *b, const struct zsx_class_table *table)
{
	const struct zsx_geometry *geo = &table->geo[take(b, 1) % table->nr_classes];
	unsigned int page_size = 1U << table->page_shift, steps = take(b, 1), i, page;
	bool pages[ZSX_MAX_PAGES] = {};
	struct zsx_slots present;

	while (steps-- && b->left) {
		page = take(b, 1) % geo->nr_pages;
		pages[page] = !pages[page];
		present = zsx_slots_range(0, geo->nr_objects - 1);
		for (page = 0; page < geo->nr_pages; page++)
			if (!pages[page])
				present = zsx_slots_without(present, zsx_slots_on_page(geo, page));
		for (i = 0; i < geo->nr_objects; i++) {
			unsigned int start = start_of(geo, page_size, i);
			bool all = true;

			for (page = start / page_size; page * page_size < start + geo->size; page++)
				all &= pages[page];
			must(zsx_slots_test(&present, i) == all);
		}
		/* The lowest missing page makes room by itself. */
		for (page = 0; page < geo->nr_pages && pages[page]; page++)
			;
		if (page == geo->nr_pages)
			continue;
		for (i = 0; i < geo->nr_objects; i++) {
			unsigned int first = start_of(geo, page_size, i) / page_size;
			unsigned int last = zsx_last_page(geo, i, table->page_shift);

			if ((first == page && last == page) || (last == page && first + 1 == page))
				break;
		}
		must(i < geo->nr_objects);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = { data, size };
	unsigned int page_shift = 12 + take(&b, 1) % 5, limit = 1 + take(&b, 1) % ZSX_MAX_PAGES;
	const struct zsx_class_table *table = table_of(page_shift, limit);
	struct set sets[2] = {};

	while (b.left) {
		switch (take(&b, 1) % 5) {
		case 0:
			try_location(&b);
			break;
		case 1: {
			unsigned int k = take(&b, 1) % 2;

			try_set(&b, &sets[k], &sets[!k]);
			break;
		}
		case 2:
			try_object(&b, table);
			break;
		case 3:
			try_size(&b, table);
			break;
		case 4:
			try_zspage(&b, table);
			break;
		}
	}
	return 0;
}
