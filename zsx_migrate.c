// SPDX-License-Identifier: GPL-2.0-only
/*
 * zsx_migrate.c - pages move: a page is replaced under a zspage
 *
 * The kernel's page migration isolates a page, and then replaces it or puts it
 * back. All that has to change for a new page is one entry of pages[]: no handle
 * names a page, and class->lock is not held while it is copied.
 *
 * An isolated page is a bit in zspage->isolated. It is never taken out, even if
 * nothing touches it any more; whoever ends the isolation settles what was put off
 * (zsx_settle()), down to the zspage. So a zspage lives while one of its pages is
 * isolated, and there is no worker to free it.
 *
 * The core calls these in process context, with the page locked, and for each
 * isolated page either putback or one migrate that returns 0.
 */
#include <linux/highmem.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/rcupdate.h>
#include <linux/sysfs.h>
#include <linux/string.h>

#include "zsx_internal.h"
#include "zsx_trace.h"

/* === One page ============================================================ */

/* Where @page is in @zspage: under class->lock, or while @page is isolated. */
static int index_of(const struct zsx_geometry *geo,
		    const struct zsx_zspage *zspage, const struct page *page)
{
	unsigned int i;

	/* Other entries may change: pairs with install, take_out and replace_page. */
	for (i = 0; i < geo->nr_pages; i++)
		if (READ_ONCE(zspage->pages[i]) == page)
			return i;
	return -1;
}

static struct zsx_zspage *zspage_of_page(const struct page *page)
{
	return (struct zsx_zspage *)READ_ONCE(page->private);
}

/*
 * The page may be leaving its zspage just now, and the zspage may be at its end.
 * page->private, read in this RCU section, names a zspage that is or was live in
 * it, so its class is still there to be locked; under the lock all is judged.
 */
static bool isolate_page(struct page *page, isolate_mode_t mode)
{
	struct zsx_zspage *zspage;
	struct zsx_class *class;
	bool isolated = false;
	int i;

	rcu_read_lock();
	zspage = zspage_of_page(page); /* Pairs with zsx_zspage_install(), take_out(). */
	if (!zspage)
		goto unlock_rcu;
	class = READ_ONCE(zspage->class); /* Ordered by the address. */
	zsx_race_point(ZSX_POINT_LOOKED, zspage);

	spin_lock(&class->lock);
	/* Of another class by now? Pairs with zsx_zspage_alloc(). Else ours to judge. */
	if (smp_load_acquire(&zspage->class) == class &&
	    zspage->group != ZSX_NOT_LINKED) {
		i = index_of(class->geo, zspage, page);
		if (i >= 0) {
			zspage->isolated |= 1U << i;
			isolated = true;
		}
	}
	spin_unlock(&class->lock);
unlock_rcu:
	rcu_read_unlock();
	return isolated;
}

/*
 * End an isolation. The last touch of the zspage, the class and the pool is inside
 * the RCU section, which zsx_destroy_pool() waits for: it may find the pool empty as
 * soon as the lock is dropped.
 */
static void end_isolation(struct zsx_zspage *zspage, unsigned int i)
{
	struct zsx_class *class;
	struct zsx_loose loose;

	zsx_loose_init(&loose);
	rcu_read_lock();
	class = zspage->class;
	spin_lock(&class->lock);
	zspage->isolated &= ~(1U << i);
	zsx_settle(class, zspage, i, i, &loose);
	spin_unlock(&class->lock);
	zsx_loose_free(&loose);
	rcu_read_unlock();
}

/* Readers are kept out by the write pin, and other movers too. */
static void replace_page(struct zsx_zspage *zspage, unsigned int i,
			 struct page *dst, struct page *src)
{
	copy_highpage(dst, src);
	zsx_race_point(ZSX_POINT_COPIED, zspage);
	get_page(dst);
	set_page_private(dst, (unsigned long)zspage);
	WRITE_ONCE(zspage->pages[i], dst); /* Pairs with index_of(). */
	WRITE_ONCE(src->private, 0); /* Pairs with isolate_page(). */
}

/*
 * -EBUSY if somebody reads: readers may sleep, and the core doesn't wait between its
 * tries. -EAGAIN if it is a mover, which is soon done: it has the write pin, had it, or
 * compaction fills the zspage, pinned as by a reader. The core bounds its tries.
 */
static int refusal(const struct zsx_zspage *zspage)
{
	bool compacting = atomic_read(&zspage->class->pool->compacting);

	return atomic_read(&zspage->pins) > 0 && !compacting ? -EBUSY : -EAGAIN;
}

/* @dst is not touched unless 0 is returned. */
static int migrate_page(struct page *dst, struct page *src,
			enum migrate_mode mode)
{
	struct zsx_zspage *zspage = zspage_of_page(src);
	int i, err;

	/* Isolated, so live: its class is there, and src keeps its place. */
	i = zspage ? index_of(zspage->class->geo, zspage, src) : -1;
	if (WARN_ONCE(i < 0, "zsx: migration of a page that isn't isolated\n"))
		return -EBUSY;

	if (!zsx_try_write_pin(zspage)) {
		err = refusal(zspage);
		atomic_long_inc(&zspage->class->pool->migrations_refused);
		trace_zsx_migrate_page(zspage, src, dst, err);
		return err;
	}
	replace_page(zspage, i, dst, src);
	zsx_write_unpin(zspage);

	/* dst is locked, as the mark needs it. Nobody frees it: it is isolated. */
	compat_page_mark_movable(dst, &zsx_movable_ops);
	compat_page_moved_away(src);
	compat_count_zspage_pages(page_zone(dst), 1);
	compat_count_zspage_pages(page_zone(src), -1);
	trace_zsx_migrate_page(zspage, src, dst, 0);
	put_page(src);
	atomic_long_inc(&zspage->class->pool->pages_migrated);
	end_isolation(zspage, i);
	return 0;
}

static void putback_page(struct page *page)
{
	struct zsx_zspage *zspage = zspage_of_page(page);
	int i = zspage ? index_of(zspage->class->geo, zspage, page) : -1;

	if (WARN_ONCE(i < 0, "zsx: putback of a page that isn't isolated\n"))
		return;
	end_isolation(zspage, i);
}

const struct movable_operations zsx_movable_ops = {
	.isolate_page = isolate_page,
	.migrate_page = migrate_page,
	.putback_page = putback_page,
};
EXPORT_SYMBOL_IF_KUNIT(zsx_movable_ops);

/* === The capability ====================================================== */

/*
 * Whether the kernel can migrate our pages is learned when the module is loaded.
 * Up to 6.16 each page names its operations. From 6.17 on a page type has one owner,
 * and the type is in-tree zsmalloc's: if that is loaded or built in, it has it; and
 * while zsx has it, zsmalloc can't be loaded. So people may turn it off.
 */
bool zsx_movable __ro_after_init;
EXPORT_SYMBOL_IF_KUNIT(zsx_movable);

static bool movable_wanted __ro_after_init = true;

static int movable_set(const char *val, const struct kernel_param *kp)
{
	if (!sysfs_streq(val, "auto") && !sysfs_streq(val, "off"))
		return -EINVAL;
	movable_wanted = sysfs_streq(val, "auto");
	return 0;
}

static int movable_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", zsx_movable ? "on" : "off");
}

static const struct kernel_param_ops movable_param = {
	.set = movable_set,
	.get = movable_get,
};
module_param_cb(movable, &movable_param, NULL, 0444);
MODULE_PARM_DESC(movable,
		 "auto (default): pages can be migrated if the kernel can and in-tree zsmalloc doesn't own the page type; off: they can't, and zsmalloc can be loaded later. Reads as what it is: on or off.");

/* Mark a page that is in no zspage yet. */
bool zsx_page_mark_movable(struct page *page)
{
	return !zsx_movable || compat_page_mark_fresh_movable(page, &zsx_movable_ops);
}

void __init zsx_migrate_init(void)
{
	int err;

	if (!movable_wanted)
		return;
	err = compat_movable_register(&zsx_movable_ops);
	if (err) {
		pr_info("zsx: pages can't be migrated: %s\n",
			err == -EBUSY ? "the page type is in-tree zsmalloc's" :
					"the kernel is built without it");
		return;
	}
	zsx_movable = true;
	/*
	 * The module must stay where nothing tells when a preempted caller of
	 * our operations has left them.
	 */
	if (IS_ENABLED(CONFIG_PREEMPTION) && !IS_ENABLED(CONFIG_TASKS_RCU)) {
		pr_info("zsx: can't be unloaded: this kernel has no CONFIG_TASKS_RCU\n");
		__module_get(THIS_MODULE);
	}
}

/*
 * All pools are gone, so no page of ours is isolated. But the core may be in one of
 * our operations on a page that was freed: it doesn't sleep there, and is out of it
 * after synchronize_rcu_tasks(). Only then it can lose sight of them.
 */
void zsx_migrate_exit(void)
{
	if (!zsx_movable)
		return;
	synchronize_rcu_tasks();
	compat_movable_unregister();
	synchronize_rcu_tasks();
}
