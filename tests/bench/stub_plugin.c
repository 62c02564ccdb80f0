// SPDX-License-Identifier: Apache-2.0
//
// A minimal backend: type key "bench.stub", length-prefixed payloads, and a function "stub_sum4".
// It does almost no work, so that the benchmarks measure the core.
#include <gantry/gantry.h>

static gantry_code call_sum4(void* self, const gantry_env* env, const gantry_value* args,
                             int32_t count, gantry_value* result, gantry_status* status) {
  (void)self, (void)env, (void)count, (void)status;
  result->kind = GANTRY_INT;
  result->i = args[0].i + args[1].i + (int64_t)(args[2].f + args[3].f);
  return GANTRY_OK;
}

static const gantry_function_table sum4 = {.struct_size = sizeof sum4, .call = call_sum4};

static gantry_code get_function(void* self, gantry_bytes name, gantry_function* out,
                                gantry_status* status) {
  (void)status;
  if (name.size != 9 || name.data[5] != 's') return GANTRY_NOT_FOUND;
  out->self = self;
  out->table = &sum4;
  return GANTRY_OK;
}

static void destroy_nothing(void* self) { (void)self; }

static const gantry_module_table module_table = {.struct_size = sizeof module_table,
                                                 .type_name = "bench.stub",
                                                 .destroy = destroy_nothing,
                                                 .get_function = get_function};

static gantry_code load_binary(void* self, const gantry_blob* blob, gantry_object* self_module,
                               gantry_module* module, uint64_t* consumed, gantry_status* status) {
  (void)self_module, (void)status;
  module->self = self;
  module->table = &module_table;
  *consumed = blob->size;
  return GANTRY_OK;
}

static const gantry_loader_table loader = {.struct_size = sizeof loader,
                                           .flags = GANTRY_LOADER_PARALLEL,
                                           .type_key = "bench.stub",
                                           .load_binary = load_binary};

static gantry_code create(const gantry_host* host, void** self, gantry_status* status) {
  (void)status;
  *self = (void*)host;
  return GANTRY_OK;
}

static const gantry_loader_table* const loaders[] = {&loader};
static const gantry_plugin_table plugin_table = {.struct_size = sizeof plugin_table,
                                                 .abi = GANTRY_PLUGIN_ABI,
                                                 .id = "bench.stub",
                                                 .version = "1.0.0",
                                                 .vendor = "gantry",
                                                 .display_name = "stub of the benchmarks",
                                                 .license = "Apache-2.0",
                                                 .loaders = loaders,
                                                 .loader_count = 1,
                                                 .create = create,
                                                 .destroy = destroy_nothing};

GANTRY_NOTE("bench.stub", "1.0.0");

const gantry_plugin_table* gantry_plugin_query_v1(const gantry_host_info* host,
                                                  gantry_status* status) {
  if (host->abi.major == GANTRY_ABI_MAJOR) return &plugin_table;
  gantry_fail(status, GANTRY_UNSUPPORTED, "ABI_RANGE",
              "bench.stub speaks ABI 1, this core another major");
  return 0;
}
