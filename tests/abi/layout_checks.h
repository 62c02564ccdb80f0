// SPDX-License-Identifier: Apache-2.0
//
// Static assertions about layouts and numbers, for layout.c and embed_layout.c.
#ifndef GANTRY_TESTS_ABI_LAYOUT_CHECKS_H
#define GANTRY_TESTS_ABI_LAYOUT_CHECKS_H

#include <stddef.h>

#ifdef __cplusplus
#define GANTRY_CHECK(CONDITION) static_assert(CONDITION, #CONDITION)
#else
#define GANTRY_CHECK(CONDITION) _Static_assert(CONDITION, #CONDITION)
#endif
#define SIZE(TYPE, BYTES) GANTRY_CHECK(sizeof(TYPE) == (BYTES))
#define AT(TYPE, MEMBER, OFFSET) GANTRY_CHECK(offsetof(TYPE, MEMBER) == (OFFSET))
#define IS(NAME, NUMBER) GANTRY_CHECK((NAME) == (NUMBER))

// The offsets apply to 64-bit little-endian hosts.
GANTRY_CHECK(sizeof(void*) == 8);
GANTRY_CHECK(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

// The types of members are fixed, too: an offset does not detect that a number became unsigned.
#ifndef __cplusplus
#define TYPE_IS(EXPRESSION, TYPE) GANTRY_CHECK(_Generic((EXPRESSION), TYPE : 1, default : 0))
#endif

#endif
