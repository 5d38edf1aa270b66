// SPDX-License-Identifier: GPL-2.0-only
/*
 * zsx_harden.c - handles that are no objects': what is checked, and what is said of it
 *
 * A handle is an address. zsx reads the word there, and finds by it the descriptor that
 * it writes to. Unless told otherwise it refuses what doesn't fit as far as that costs
 * nothing, and warns once. With hardened=1 it reads nothing but slab memory; and writes
 * nothing, but for a pin on a descriptor of the pool, before all fits together: handle, word,
 * descriptor, class, slot, and the slot's back pointer. Each bad handle is refused with a
 * report of its own. With hardened=2 it remembers who freed handles last, by stack depot
 * where the kernel has it, and the report says so.
 *
 * Not recognised by any of it: a handle that was freed, and given out again since. It is
 * the new object's.
 */
#include <linux/hash.h>
#include <linux/jump_label.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/stackdepot.h>
#include <linux/vmalloc.h>

#include "zsx_internal.h"

DEFINE_STATIC_KEY_FALSE(zsx_hardened);
EXPORT_SYMBOL_IF_KUNIT(zsx_hardened);

static DEFINE_STATIC_KEY_FALSE(remember_frees);

/* So much is told of how a call came about. */
#define MAX_FRAMES	16

/* === What may be believed ================================================ */

/* So that reading it can't fault, and names no page of somebody else's. */
static bool is_slab_memory(const void *p)
{
	return virt_addr_valid(p) && folio_test_slab(virt_to_folio(p));
}

/* Whether there may be a word at @handle. Another cache's word is told by what it says. */
bool zsx_may_be_handle(unsigned long handle)
{
	return IS_ALIGNED(handle, sizeof(struct zsx_handle)) &&
	       is_slab_memory(zsx_handle_of(handle));
}

/*
 * The class of what a word names, if it may be a descriptor of @pool; else NULL. In RCU. If
 * the word wasn't a handle's, @zspage may be any slab memory, or NULL: nothing of it is
 * written before it has a class. The class is told by bytes: the compiler takes the
 * difference of two pointers for a multiple of their type's size.
 */
struct zsx_class *zsx_class_in(struct zsx_pool *pool, const struct zsx_zspage *zspage)
{
	struct zsx_class *class;

	if (!is_slab_memory(zspage))
		return NULL;
	/* Pairs with zsx_zspage_alloc(). */
	class = smp_load_acquire(&zspage->class);
	if (!zsx_is_class_of(pool, class) ||
	    ((unsigned long)class - (unsigned long)pool->classes) % sizeof(*class))
		return NULL;
	return class;
}

/*
 * Before the zspage of a location that was read without a lock is pinned: whether it is one
 * of @pool's. If not, @loc is what the word is now, for another look; or none, if the word
 * hasn't changed, and still doesn't fit: then it never will.
 */
bool zsx_check_before_pin(struct zsx_pool *pool, const struct zsx_handle *h, zsx_location_t *loc)
{
	zsx_location_t before = *loc;

	if (zsx_class_in(pool, zsx_zspage_of(before)))
		return true;
	*loc = zsx_location_read_acquire(h);
	if (loc->v == before.v && !zsx_class_in(pool, zsx_zspage_of(before)))
		loc->v = 0;
	return false;
}

/* Without class->lock others' bits may change, but not that of a live object. */
static bool is_in_use(const struct zsx_zspage *zspage, unsigned int i)
{
	return READ_ONCE(zspage->inuse.w[i / 64]) >> (i % 64) & 1;
}

/* What speaks against slot @i being the object's that has @handle; NULL: nothing. */
static const char *slot_fault(const struct zsx_geometry *geo, struct zsx_zspage *zspage,
			      unsigned int i, unsigned long handle)
{
	if (i >= geo->nr_objects || !is_in_use(zspage, i))
		return "its slot holds no object";
	if (READ_ONCE(zsx_zspage_handles(geo, zspage)[i]) != handle)
		return "its slot holds another object";
	return NULL;
}

/*
 * Whether slot @i of a pinned zspage is the object's that has @handle. What is read
 * without the lock pairs with zsx_zspage_take(), long ago: the caller was given the handle
 * after it.
 */
bool zsx_holds_object(struct zsx_zspage *zspage, unsigned int i, unsigned long handle)
{
	return !slot_fault(zspage->class->geo, zspage, i, handle);
}

/* === Who freed it ======================================================== */

/*
 * The last free of a handle, in a table that others' frees push it out of.
 * Written by zsx_remember_free() and read by tell_who_freed() without a lock: two frees at
 * once may mix, and the report is then of another handle's. It is a hint for people.
 */
struct past_free {
	unsigned long handle;
	depot_stack_handle_t stack;
	pid_t pid;
};

#define PAST_FREES_SHIFT	12

/* Made once, and kept until the module goes. */
static struct past_free *past_frees;

static struct past_free *past_free_of(unsigned long handle)
{
	return &past_frees[hash_long(handle, PAST_FREES_SHIFT)];
}

static depot_stack_handle_t save_stack(void)
{
	unsigned long frames[MAX_FRAMES];
	unsigned int nr = compat_stack_save(frames, MAX_FRAMES, 2);

	if (!IS_ENABLED(CONFIG_STACKDEPOT) || !nr)
		return 0;
	return stack_depot_save(frames, nr, GFP_NOWAIT | __GFP_NOWARN);
}

void zsx_remember_free(unsigned long handle)
{
	struct past_free *past;

	if (!static_branch_unlikely(&remember_frees))
		return;
	past = past_free_of(handle);
	WRITE_ONCE(past->stack, save_stack());
	WRITE_ONCE(past->pid, current->pid);
	WRITE_ONCE(past->handle, handle);
}

static void tell_who_freed(unsigned long handle)
{
	struct past_free *past;
	depot_stack_handle_t stack;

	if (!static_branch_unlikely(&remember_frees))
		return;
	past = past_free_of(handle);
	if (READ_ONCE(past->handle) != handle)
		return;
	pr_err("zsx: it was freed last by pid %d\n", READ_ONCE(past->pid));
	stack = READ_ONCE(past->stack);
	if (IS_ENABLED(CONFIG_STACKDEPOT) && stack)
		stack_depot_print(stack);
}

/* === The report ========================================================== */

/* In RCU. @nr: its class's number in @pool, if it is of one; else -1. */
const char *zsx_what_is_wrong(struct zsx_pool *pool, unsigned long handle, int *nr)
{
	struct zsx_zspage *zspage;
	struct zsx_class *class;
	zsx_location_t loc;

	*nr = -1;
	if (IS_ERR_VALUE(handle) || !zsx_may_be_handle(handle))
		return "it is no handle's address";
	loc = zsx_location_read(zsx_handle_of(handle));
	if (!loc.v)
		return "its object was freed";
	zspage = zsx_zspage_of(loc);
	if (!zspage || !is_slab_memory(zspage))
		return "its memory holds no location";
	class = zsx_class_in(pool, zspage);
	if (!class)
		return "its object is not of this pool";
	*nr = class - pool->classes;
	if (ZSX_LAYOUT.class_bits && zsx_location_class(ZSX_LAYOUT, loc) != *nr)
		return "its class is not that of its zspage";
	return slot_fault(class->geo, zspage, zsx_location_index(ZSX_LAYOUT, loc), handle) ?:
	       "it was changed just now";
}
EXPORT_SYMBOL_IF_KUNIT(zsx_what_is_wrong);

/**
 * zsx_report() - say why a handle is refused
 * @pool: the pool it was given with
 * @handle: it
 * @what: what was to be done
 *
 * Hashed addresses only: what is printed helps nobody who may not see the kernel's.
 */
noinline void zsx_report(struct zsx_pool *pool, unsigned long handle, const char *what)
{
	static DEFINE_RATELIMIT_STATE(limit, 5 * HZ, 10);
	unsigned long frames[MAX_FRAMES];
	const char *wrong;
	int class;

	KUNIT_STATIC_STUB_REDIRECT(zsx_report, pool, handle, what);

	if (!__ratelimit(&limit))
		return;
	rcu_read_lock();
	wrong = zsx_what_is_wrong(pool, handle, &class);
	rcu_read_unlock();
	pr_err("zsx: pool %s: %s of handle %p (class %d) refused: %s; by pid %d:\n", pool->name,
	       what, (void *)handle, class, wrong, current->pid);
	compat_stack_print(frames, compat_stack_save(frames, MAX_FRAMES, 1));
	tell_who_freed(handle);
}
EXPORT_SYMBOL_IF_KUNIT(zsx_report);

/* === The parameter ======================================================= */

static unsigned int level; /* under the lock of the module's parameters, once @is_ready */
static bool is_ready;

/* What is got is kept until the module goes: who remembers may be just at it. */
static int start_to_remember(void)
{
	if (!past_frees)
		past_frees = vzalloc(sizeof(*past_frees) << PAST_FREES_SHIFT);
	if (!past_frees)
		return -ENOMEM;
	return IS_ENABLED(CONFIG_STACKDEPOT) ? stack_depot_init() : 0;
}

static void set_key(struct static_key_false *key, bool on)
{
	if (on)
		static_branch_enable(key);
	else
		static_branch_disable(key);
}

static int apply_level(unsigned int wanted)
{
	int err = wanted == 2 ? start_to_remember() : 0;

	if (err)
		return err;
	set_key(&zsx_hardened, wanted);
	set_key(&remember_frees, wanted == 2);
	return 0;
}

/* Built in, it may be set before there is memory: zsx_harden_init() applies it then. */
static int set_level(const char *text, const struct kernel_param *kp)
{
	unsigned int wanted;
	int err = kstrtouint(text, 0, &wanted);

	if (!err && wanted > 2)
		err = -EINVAL;
	if (!err && is_ready)
		err = apply_level(wanted);
	if (!err)
		level = wanted;
	return err;
}

static const struct kernel_param_ops level_ops = {
	.set = set_level,
	.get = param_get_uint,
};
module_param_cb(hardened, &level_ops, &level, 0644);
MODULE_PARM_DESC(hardened,
		 "check each handle before it is believed: 0 (default) as far as that costs nothing, 1 fully, 2 and remember who freed it");

int __init zsx_harden_init(void)
{
	int err;

	kernel_param_lock(THIS_MODULE);
	err = apply_level(level);
	is_ready = !err;
	kernel_param_unlock(THIS_MODULE);
	if (err)
		pr_err("zsx: hardened=%u: error %d\n", level, err);
	return err;
}

/* The parameter can be set for a moment longer, and then gets nothing any more. */
void zsx_harden_exit(void)
{
	kernel_param_lock(THIS_MODULE);
	is_ready = false;
	kernel_param_unlock(THIS_MODULE);
	vfree(past_frees);
}
