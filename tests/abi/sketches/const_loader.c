// SPDX-License-Identifier: Apache-2.0
/* (5) const_loader: __init_<symbol>(array) once, then forward. */
#include <stdlib.h>
#include "gantry/gantry.h"
typedef struct {
  const gantry_host* host;
  gantry_object* node;
  gantry_object* pin;
  gantry_tensor constants[2];
  int done;
} loader_module;
typedef struct {
  const gantry_host* host;
  gantry_object* target;
} forward;
static gantry_code call(void* self, const gantry_env* env, const gantry_value* a, int32_t n,
                        gantry_value* r, gantry_status* s) {
  forward* f = self;
  return f->host->call(f->host, f->target, env, a, n, r, s);
}
static void drop(void* self) {
  forward* f = self;
  f->host->release(f->host, f->target);
  free(f);
}
static const gantry_function_table table = {sizeof(gantry_function_table), 0, drop, call};
static gantry_code initialise(loader_module* m, gantry_bytes init_name, gantry_status* status) {
  const gantry_host* h = m->host;
  gantry_value items[2] = {{0}}, array = {0}, result = {0};
  gantry_object* init = 0;
  gantry_code c = h->find(h, m->node, GANTRY_FIND_IMPORTS, init_name, &init, status);
  for (int i = 0; !c && i < 2; ++i)
    c = h->tensor_view(h, &m->constants[i], m->pin, &items[i], status);
  if (!c) c = h->items_new(h, GANTRY_ARRAY, items, 2, &array, status);
  if (!c) c = h->call(h, init, 0, &array, 1, &result, status);
  if (!c && result.i) c = gantry_fail(status, GANTRY_INVALID, "INIT", "__init_ returned non-zero");
  for (int i = 0; i < 2; ++i)
    if (items[i].kind) h->release(h, items[i].object);
  if (array.kind) h->release(h, array.object);
  if (init) h->release(h, init);
  m->done = !c;
  return c;
}
gantry_code const_get_function(void* self, gantry_bytes name, gantry_function* out,
                               gantry_status* status);
gantry_code const_get_function(void* self, gantry_bytes name, gantry_function* out,
                               gantry_status* status) {
  loader_module* m = self;
  gantry_code c = m->done ? GANTRY_OK : initialise(m, gantry_text("__init_x"), status);
  if (c) return c;
  forward* f = malloc(sizeof *f);
  if (!f) return GANTRY_EXHAUSTED;
  f->host = m->host;
  c = m->host->find(m->host, m->node, GANTRY_FIND_IMPORTS, name, &f->target, status);
  if (c) {
    free(f);
    return c;
  }
  out->self = f;
  out->table = &table;
  return GANTRY_OK;
}
