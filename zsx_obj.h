/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * zsx_obj.h - where an object is: values only
 *
 * Three small kinds of value and the arithmetic on them:
 *
 *   location   one u64 that names an object: the frame of its zspage's
 *              descriptor, its class and its index in the zspage
 *   slot set   a set of object indices of one zspage (at most 128)
 *   span       which bytes of which one or two pages an object occupies
 *
 * No locks, no pages, no pointers: whatever is here can be tried over every
 * layout and page size on any machine, in user space too.
 */
#ifndef _ZSX_OBJ_H_
#define _ZSX_OBJ_H_

#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/minmax.h>
#include <linux/types.h>

/* A zspage has at most so many pages and objects; design.rst says why. */
#define ZSX_MAX_PAGES		16
#define ZSX_MAX_OBJECTS		128

/* An index has so many bits in a location, and a class, where it has any. */
#define ZSX_INDEX_BITS		7
#define ZSX_CLASS_BITS		8
#define ZSX_MAX_CLASSES		(1U << ZSX_CLASS_BITS)

/*
 * Descriptors are aligned to, and sized in multiples of, 1 << ZSX_FRAME_SHIFT
 * bytes, so a descriptor's frame is its physical address without these bits.
 */
#define ZSX_FRAME_SHIFT		7

static_assert(ZSX_MAX_OBJECTS <= 1U << ZSX_INDEX_BITS);

/* --- location --------------------------------------------------------- */

/**
 * struct zsx_layout - the widths of a location's fields, in bits
 * @frame_bits: the descriptor's frame, in the upper bits
 * @class_bits: the class, below it; 0 where the word has no room for it (the
 *              class is then read from the descriptor)
 * @index_bits: the object's index, in the lowest bits
 *
 * The three add up to 64. A layout is a value so that tests can run the same
 * code over the layouts of machines that they don't have; in the allocator it
 * is a constant and folds away.
 */
struct zsx_layout {
	u8 frame_bits;
	u8 class_bits;
	u8 index_bits;
};

/* The layout for machines whose physical addresses have @phys_bits bits. */
static __always_inline struct zsx_layout zsx_layout_for(unsigned int phys_bits)
{
	bool has_room = phys_bits + ZSX_CLASS_BITS + ZSX_INDEX_BITS <=
			64 + ZSX_FRAME_SHIFT;
	u8 class_bits = has_room ? ZSX_CLASS_BITS : 0;

	return (struct zsx_layout) {
		.frame_bits = 64 - class_bits - ZSX_INDEX_BITS,
		.class_bits = class_bits,
		.index_bits = ZSX_INDEX_BITS,
	};
}

/**
 * typedef zsx_location_t - where an object is, in one word
 * @v: frame | class | index, or 0: no object. (Frame 0 is never a descriptor's:
 *     physical page 0 is not handed out by any slab.)
 *
 * A struct, so that a location can't be taken for a handle, an index or an
 * error.
 */
typedef struct {
	u64 v;
} zsx_location_t;

/* Whether a descriptor at physical address @phys can be named in @layout. */
static __always_inline bool zsx_frame_fits(struct zsx_layout layout, u64 phys)
{
	u64 frame = phys >> ZSX_FRAME_SHIFT;

	return frame && !(frame >> layout.frame_bits) &&
	       !(phys & ((1U << ZSX_FRAME_SHIFT) - 1));
}

static __always_inline zsx_location_t
zsx_location(struct zsx_layout layout, u64 phys, unsigned int class_idx,
	     unsigned int obj_idx)
{
	u64 v = phys >> ZSX_FRAME_SHIFT;

	/* Shifts of a folded field are by 0 bits, and it is or'ed in as 0. */
	v = v << layout.class_bits;
	v |= class_idx & ((1U << layout.class_bits) - 1);
	v = v << layout.index_bits | obj_idx;
	return (zsx_location_t) { v };
}

static __always_inline u64
zsx_location_frame(struct zsx_layout layout, zsx_location_t loc)
{
	return loc.v >> (layout.class_bits + layout.index_bits);
}

/* Only where the layout has class bits. */
static __always_inline unsigned int
zsx_location_class(struct zsx_layout layout, zsx_location_t loc)
{
	return loc.v >> layout.index_bits & ((1U << layout.class_bits) - 1);
}

static __always_inline unsigned int
zsx_location_index(struct zsx_layout layout, zsx_location_t loc)
{
	return loc.v & ((1U << layout.index_bits) - 1);
}

/* --- slot sets --------------------------------------------------------- */

/**
 * struct zsx_slots - a set of slots of one zspage
 * @w: a bit a slot, slot 0 lowest
 *
 * u64, not unsigned long: two words on every machine.
 */
struct zsx_slots {
	u64 w[ZSX_MAX_OBJECTS / 64];
};

static_assert(ZSX_MAX_OBJECTS == 128, "slot sets are written out for two words");

static __always_inline bool zsx_slots_empty(struct zsx_slots s)
{
	return !(s.w[0] | s.w[1]);
}

static __always_inline bool zsx_slots_equal(struct zsx_slots a, struct zsx_slots b)
{
	return a.w[0] == b.w[0] && a.w[1] == b.w[1];
}

static __always_inline struct zsx_slots
zsx_slots_and(struct zsx_slots a, struct zsx_slots b)
{
	return (struct zsx_slots) { { a.w[0] & b.w[0], a.w[1] & b.w[1] } };
}

static __always_inline struct zsx_slots
zsx_slots_or(struct zsx_slots a, struct zsx_slots b)
{
	return (struct zsx_slots) { { a.w[0] | b.w[0], a.w[1] | b.w[1] } };
}

static __always_inline struct zsx_slots
zsx_slots_without(struct zsx_slots a, struct zsx_slots b)
{
	return (struct zsx_slots) { { a.w[0] & ~b.w[0], a.w[1] & ~b.w[1] } };
}

/*
 * The slots first..last, both included. No branch: which word a slot is in is as good as
 * random, and a branch on it would be mispredicted.
 */
static __always_inline struct zsx_slots
zsx_slots_range(unsigned int first, unsigned int last)
{
	u64 from = ~0ULL << (first % 64), upper_first = -(u64)(first / 64);
	u64 to = ~0ULL >> (63 - last % 64), upper_last = -(u64)(last / 64);

	return (struct zsx_slots) { {
		from & ~upper_first & (to | upper_last),
		(from | ~upper_first) & to & upper_last,
	} };
}

static __always_inline bool zsx_slots_test(const struct zsx_slots *s, unsigned int i)
{
	return s->w[i / 64] >> (i % 64) & 1;
}

static __always_inline void zsx_slots_set(struct zsx_slots *s, unsigned int i)
{
	s->w[i / 64] |= 1ULL << (i % 64);
}

static __always_inline void zsx_slots_clear(struct zsx_slots *s, unsigned int i)
{
	s->w[i / 64] &= ~(1ULL << (i % 64));
}

/* The lowest slot of a set that is not empty. */
static __always_inline unsigned int zsx_slots_first(struct zsx_slots s)
{
	bool upper = !s.w[0];

	return 64 * upper + __ffs64(upper ? s.w[1] : s.w[0]);
}

/* The highest slot of a set that is not empty. */
static __always_inline unsigned int zsx_slots_last(struct zsx_slots s)
{
	return s.w[1] ? 127 - __builtin_clzll(s.w[1]) : 63 - __builtin_clzll(s.w[0]);
}

static __always_inline unsigned int zsx_slots_count(struct zsx_slots s)
{
	return hweight64(s.w[0]) + hweight64(s.w[1]);
}

/* --- geometry and spans ------------------------------------------------ */

/* Offsets are computed in units of 2^-ZSX_STRIDE_SHIFT bytes. */
#define ZSX_STRIDE_SHIFT	24

/* Every object starts at a multiple of this. */
#define ZSX_ALIGN		8U

/* Zspages with a free present slot are grouped by tenths in use, as zsmalloc's. */
#define ZSX_NR_RATIOS		10
#define ZSX_RATIO_SHIFT		16

/**
 * struct zsx_geometry - the shape of one class's zspages
 * @stride: pages * PAGE_SIZE / objects in units of 2^-24 bytes, rounded up
 * @size: the largest object, in bytes
 * @ratio: 2^16 * ZSX_NR_RATIOS / objects, rounded up: zsx_inuse_ratio()
 * @desc_size: bytes of a descriptor's slab object, a multiple of 128
 * @nr_pages: pages of a whole zspage
 * @nr_objects: objects of a full zspage
 * @first: @first[j] is the lowest slot that touches page j
 * @last: @last[j] is the highest slot that touches page j
 *
 * One cache line, never written after load: all that a reader needs to know
 * of a class.
 */
struct zsx_geometry {
	u64 stride;
	u32 size;
	u32 ratio;
	u16 desc_size;
	u8 nr_pages;
	u8 nr_objects;
	u8 first[ZSX_MAX_PAGES];
	u8 last[ZSX_MAX_PAGES];
} __aligned(64);

static_assert(sizeof(struct zsx_geometry) == 64);
static_assert(ZSX_MAX_OBJECTS <= 255, "nr_objects is a u8");

/*
 * The offset of object @i in its zspage. Slack is spread evenly, not left at
 * the end: so fewer objects span two pages, and pages empty sooner. Rounding
 * the stride up adds less than i * 2^-24 < 2^-17 bytes, too little to reach the
 * next multiple of 1 / objects: the offset equals the exact
 * (i * pages * PAGE_SIZE / objects) & ~7.
 */
static __always_inline unsigned int
zsx_offset(const struct zsx_geometry *geo, unsigned int i)
{
	return (unsigned int)(i * geo->stride >> ZSX_STRIDE_SHIFT) &
	       ~(ZSX_ALIGN - 1);
}

/*
 * inuse * ZSX_NR_RATIOS / nr_objects without a division: the rounding adds less
 * than inuse * 2^-16 <= 2^-9, too little to reach the next 1 / nr_objects.
 */
static __always_inline unsigned int
zsx_inuse_ratio(const struct zsx_geometry *geo, unsigned int inuse)
{
	return inuse * geo->ratio >> ZSX_RATIO_SHIFT;
}

/* The slots that touch page @page of a zspage. */
static __always_inline struct zsx_slots
zsx_slots_on_page(const struct zsx_geometry *geo, unsigned int page)
{
	return zsx_slots_range(geo->first[page], geo->last[page]);
}

/**
 * struct zsx_span - the bytes of an object
 * @page: the page that holds its first byte, counted within the zspage
 * @offset: where in that page
 * @len: how many bytes there, and how many at the start of the next page
 */
struct zsx_span {
	unsigned int page;
	unsigned int offset;
	unsigned int len[2];
};

/* The first @len bytes of object @i; @len is at most the class's size. */
static __always_inline struct zsx_span
zsx_span(const struct zsx_geometry *geo, unsigned int i, unsigned int len,
	 unsigned int page_shift)
{
	unsigned int page_size = 1U << page_shift;
	unsigned int start = zsx_offset(geo, i);
	struct zsx_span span = {
		.page = start >> page_shift,
		.offset = start & (page_size - 1),
	};

	span.len[0] = min(len, page_size - span.offset);
	span.len[1] = len - span.len[0];
	return span;
}

/* The last page that object @i can touch: its span's page or the next. */
static __always_inline unsigned int
zsx_last_page(const struct zsx_geometry *geo, unsigned int i,
	      unsigned int page_shift)
{
	return (zsx_offset(geo, i) + geo->size - 1) >> page_shift;
}

#endif /* _ZSX_OBJ_H_ */
