// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/embed/call_from_c.h"

static gantry_code divide(void* self, const gantry_env* env, const gantry_value* args,
                          int32_t count, gantry_value* result, gantry_status* status) {
  (void)self;
  (void)env;
  if (count != 2 || args[1].i == 0)
    return gantry_fail(status, GANTRY_INVALID, "ZERO", "divided by 0");
  result->kind = GANTRY_INT;
  result->i = args[0].i / args[1].i;
  return GANTRY_OK;
}

static const gantry_function_table divide_table = {.struct_size = sizeof divide_table,
                                                   .call = divide};

gantry_code quotient_from_c(const gantry_embed* embed, gantry_object* runtime, int64_t dividend,
                            int64_t divisor, int64_t* quotient, gantry_status* status) {
  const gantry_bytes name = gantry_text("test.divide");
  const gantry_function function = {NULL, &divide_table};
  gantry_object* found = NULL;
  gantry_code code = embed->function_add(runtime, name, function, status);
  if (!code) code = embed->function_find(runtime, name, &found, status);
  if (code) return code;
  const gantry_value args[] = {{.kind = GANTRY_INT, .i = dividend},
                               {.kind = GANTRY_INT, .i = divisor}};
  gantry_value result = {0};
  code = gantry_call(embed->host(runtime), found, NULL, args, 2, &result, status);
  if (!code) *quotient = result.i;
  embed->release(found);
  return code;
}

gantry_code call_from_c(const gantry_host* host, gantry_object* function, const gantry_value* args,
                        int32_t count, gantry_value* result, gantry_status* status) {
  return gantry_call(host, function, NULL, args, count, result, status);
}
