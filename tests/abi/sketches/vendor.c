// SPDX-License-Identifier: Apache-2.0
/* (4) a vendor: one type key, one device that computes in host memory behind handles, plain C11. */
#include <stdlib.h>
#include <string.h>
#include "gantry/gantry.h"

typedef struct {
  const gantry_host* host;
  int32_t type;
} acme;
typedef struct {
  acme* plugin;
  gantry_object* pin;
  const uint8_t* weights;
  uint64_t size;
  char symbol[32];
  gantry_object* constants;
} graph;

static gantry_code run(void* self, const gantry_env* env, const gantry_value* args, int32_t count,
                       gantry_value* result, gantry_status* status) {
  graph* g = self;
  (void)env;
  (void)result;
  if (count != 2)
    return gantry_fail(status, GANTRY_INVALID, "ARGUMENT_COUNT", "acme: two tensors expected");
  const gantry_tensor *x = gantry_value_tensor(&args[0]), *y = gantry_value_tensor(&args[1]);
  if (!x || !y || x->device.type != g->plugin->type || y->device.type != g->plugin->type)
    return gantry_fail(status, GANTRY_INVALID, "ARGUMENT_KIND",
                       "acme: tensors on device acme expected");
  memcpy((char*)y->data + y->byte_offset, (char*)x->data + x->byte_offset, 4);
  return GANTRY_OK;
}
/* __init_<symbol>(array of tensors) -> 0, as const_loader calls it */
static gantry_code init(void* self, const gantry_env* env, const gantry_value* args, int32_t count,
                        gantry_value* result, gantry_status* status) {
  graph* g = self;
  const gantry_host* h = g->plugin->host;
  const gantry_value* items;
  uint64_t n;
  (void)env;
  if (count != 1 || args[0].kind != GANTRY_ARRAY)
    return gantry_fail(status, GANTRY_INVALID, "ARGUMENT_KIND",
                       "acme: array of constants expected");
  gantry_code c = h->items_get(h, args[0].object, &items, &n, status);
  if (c) return c;
  if (n && !gantry_value_tensor(&items[0])) return GANTRY_INVALID;
  g->constants = args[0].object;
  h->retain(h, g->constants);
  result->kind = GANTRY_INT;
  result->i = 0;
  return GANTRY_OK;
}
static const gantry_function_table run_table = {.struct_size = sizeof run_table, .call = run};
static const gantry_function_table init_table = {.struct_size = sizeof init_table, .call = init};

static gantry_code get_function(void* self, gantry_bytes name, gantry_function* out,
                                gantry_status* status) {
  graph* g = self;
  (void)status;
  out->self = g;
  if (gantry_bytes_equal(name, gantry_text(g->symbol)))
    out->table = &run_table;
  else if (name.size > 7 && !memcmp(name.data, "__init_", 7))
    out->table = &init_table;
  else
    return GANTRY_NOT_FOUND;
  return GANTRY_OK;
}
static gantry_code save(void* self, const gantry_sink* sink, gantry_status* status) {
  graph* g = self;
  return sink->write(sink->self, g->weights, g->size, status);
}
static void destroy(void* self) {
  graph* g = self;
  const gantry_host* h = g->plugin->host;
  if (g->constants) h->release(h, g->constants);
  h->release(h, g->pin);
  free(g);
}
static const gantry_module_table module_table = {.struct_size = sizeof module_table,
                                                 .type_name = "acme_json",
                                                 .destroy = destroy,
                                                 .get_function = get_function,
                                                 .save_binary = save};

static gantry_code load(void* self, const gantry_blob* blob, gantry_object* node,
                        gantry_module* module, uint64_t* consumed, gantry_status* status) {
  acme* p = self;
  (void)node;
  if (blob->size < 8)
    return gantry_fail(status, GANTRY_MALFORMED, "BLOB_TRUNCATED", "acme: symbol: no length");
  graph* g = calloc(1, sizeof *g);
  if (!g) return gantry_fail(status, GANTRY_EXHAUSTED, "MEMORY", "acme: out of memory");
  p->host->retain(p->host, blob->pin);
  *g = (graph){
      .plugin = p, .pin = blob->pin, .weights = blob->data, .size = blob->size, .symbol = "acme_0"};
  *module = (gantry_module){g, &module_table};
  *consumed = blob->size;
  return GANTRY_OK;
}
static gantry_code count(void* self, int32_t* n, gantry_status* status) {
  (void)self;
  (void)status;
  *n = 1;
  return GANTRY_OK;
}
static gantry_code alloc(void* self, int32_t i, const gantry_alloc* what, void** data,
                         gantry_status* status) {
  (void)self;
  (void)i;
  *data = aligned_alloc(256, (what->size + 256) & ~(uint64_t)255);
  return *data ? GANTRY_OK : gantry_fail(status, GANTRY_EXHAUSTED, "MEMORY", "acme: out of memory");
}
static void release(void* self, int32_t i, void* data) {
  (void)self;
  (void)i;
  free(data);
}
static gantry_code copy(void* self, int32_t i, const gantry_copy* c, void* stream,
                        gantry_status* status) {
  (void)self;
  (void)i;
  (void)stream;
  (void)status;
  memcpy((char*)c->to.data + c->to.byte_offset, (char*)c->from.data + c->from.byte_offset, c->size);
  return GANTRY_OK;
}
static const gantry_device_table device = {.struct_size = sizeof device,
                                           .flags = GANTRY_DEVICE_OPAQUE_DATA,
                                           .name = "acme",
                                           .count = count,
                                           .alloc = alloc,
                                           .free = release,
                                           .copy = copy};
static gantry_code create(const gantry_host* host, void** self, gantry_status* status) {
  acme* p = malloc(sizeof *p);
  if (!p) return gantry_fail(status, GANTRY_EXHAUSTED, "MEMORY", "acme: out of memory");
  p->host = host;
  gantry_code c = host->device_type(host, gantry_text("acme"), &p->type, status);
  if (c) {
    free(p);
    return c;
  }
  *self = p;
  return GANTRY_OK;
}
static const gantry_loader_table loader = {
    .struct_size = sizeof loader, .type_key = "acme_json", .device = "acme", .load_binary = load};
static const gantry_loader_table* const loaders[] = {&loader};
static const gantry_device_table* const devices[] = {&device};
static const gantry_plugin_table plugin = {.struct_size = sizeof plugin,
                                           .abi = {1, 0, 0, 0},
                                           .id = "acme.npu",
                                           .version = "1.0.0",
                                           .vendor = "Acme",
                                           .display_name = "Acme NPU",
                                           .license = "Apache-2.0",
                                           .loaders = loaders,
                                           .devices = devices,
                                           .loader_count = 1,
                                           .device_count = 1,
                                           .create = create,
                                           .destroy = free};
const gantry_plugin_table* gantry_plugin_query_v1(const gantry_host_info* host,
                                                  gantry_status* status) {
  (void)host;
  (void)status;
  return &plugin;
}
