// SPDX-License-Identifier: GPL-2.0-only
/* The client as it is, compiled for zsx by "-include zsx_zsmalloc.h" in Kbuild. */
#include "zsmalloc_client.c"
