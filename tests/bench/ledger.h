/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ZSX_TESTS_LEDGER_H_
#define _ZSX_TESTS_LEDGER_H_

#include <linux/types.h>

struct zsx_pool;

void zsx_ledger_add(unsigned long handle, size_t size);
void zsx_ledger_free_all(struct zsx_pool *pool);

#endif /* _ZSX_TESTS_LEDGER_H_ */
