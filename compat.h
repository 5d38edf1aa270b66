/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * compat.h - the only place where kernels differ
 *
 * Kbuild includes it before everything else, and the rest of zsx reads as if
 * written for the newest kernel. Each block names what changed and when; it can
 * go when that kernel is no longer built for. Features are probed where they
 * can be: stable kernels backport, so a version says little.
 */
#ifndef _ZSX_COMPAT_H_
#define _ZSX_COMPAT_H_

#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pgtable.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <linux/vmstat.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "zsx needs Linux 6.1 or newer"
#endif

/*
 * How many bits a physical address can have. Some architectures say the most
 * that any machine can have, others what this build can have; where nobody says
 * (UML, and others without sparse memory), any bit may be set.
 */
#if defined(MAX_POSSIBLE_PHYSMEM_BITS)
#define ZSX_PHYS_BITS	MAX_POSSIBLE_PHYSMEM_BITS
#elif defined(MAX_PHYSMEM_BITS)
#define ZSX_PHYS_BITS	MAX_PHYSMEM_BITS
#else
#define ZSX_PHYS_BITS	BITS_PER_LONG
#endif

/* The zone counter of zspages' pages exists where in-tree zsmalloc does. */
static inline void compat_count_zspage_page(struct page *page, long delta)
{
#if IS_ENABLED(CONFIG_ZSMALLOC)
	mod_zone_page_state(page_zone(page), NR_ZSPAGES, delta);
#endif
}

/* v6.5. Before, slab merges what it likes, unless booted with slab_nomerge. */
#ifndef SLAB_NO_MERGE
#define SLAB_NO_MERGE	0
#endif

/* v6.13: a symbol namespace became a string. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define COMPAT_IMPORT_KUNIT_NS()	MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING)
#else
#define COMPAT_IMPORT_KUNIT_NS()	MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING")
#endif

/* v6.3: KUnit's static stubs. A kernel without KUnit has none to redirect to. */
#if IS_ENABLED(CONFIG_KUNIT) && LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
#include <kunit/static_stub.h>
#else
#define KUNIT_STATIC_STUB_REDIRECT(real_fn_name, args...) do {} while (0)
#endif

#endif /* _ZSX_COMPAT_H_ */
