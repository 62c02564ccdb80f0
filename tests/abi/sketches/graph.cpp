// SPDX-License-Identifier: Apache-2.0
// (1) graph executor: load, default(device...), set_input, run, get_output, get_input_info, share_params.
#include <cstring>
#include <new>
#include <string>
#include <vector>
#include "gantry/gantry.h"
namespace {
// sketch only: the real one sits in the plugin's self
const gantry_host* host;

// owns one reference
struct Value {
  gantry_value v{};
  Value() = default;
  Value(const Value& o) : v(o.v) {
    if (v.kind >= GANTRY_OBJECT) host->retain(host, v.object);
  }
  Value& operator=(Value o) noexcept {
    std::swap(v, o.v);
    return *this;
  }
  ~Value() {
    if (v.kind >= GANTRY_OBJECT) host->release(host, v.object);
  }
  gantry_tensor* tensor() const { return gantry_value_tensor(&v); }
};
struct Entry {
  std::string name;
  int32_t slot, number;
  gantry_dtype dtype;
  std::vector<int64_t> shape;
  uint64_t bytes;
};
// arguments: args[first...]
struct Op {
  gantry_object* function;
  gantry_device_id device;
  uint32_t first;
  int32_t count;
};
struct Graph {
  std::vector<Entry> entries;
  std::vector<uint32_t> inputs, heads;
  std::vector<std::pair<std::string, std::vector<uint32_t>>> ops;
};
struct Factory {
  Graph graph;
  std::vector<std::pair<uint32_t, gantry_tensor>> params;
  gantry_object *node, *pin;
  int alignment;
};

struct Executor {
  const Graph* graph;
  std::vector<Value> slots,
      // entries: views on slots; get_output retains one, no allocation
      entries;
  std::vector<Op> ops;
  std::vector<gantry_value> args;
  ~Executor() {
    for (auto& op : ops) host->release(host, op.function);
  }

  gantry_code create(Factory& f, const gantry_value* devices, int32_t n, gantry_status* st) {
    graph = &f.graph;
    for (auto& e : graph->entries) {
      // numbers in the graph are the artifact's
      int32_t type = devices[0].device.type;
      if (gantry_code c = host->device_type_in(host, f.node, e.number, &type, st)) return c;
      gantry_device_id at = devices[0].device;
      for (int32_t i = n; i-- > 0;)
        if (devices[i].device.type == type) at = devices[i].device;
      if (size_t(e.slot) >= slots.size()) slots.resize(size_t(e.slot) + 1);
      int64_t bytes = int64_t(e.bytes);
      gantry_tensor like{nullptr, at, 1, {1, 8, 1}, &bytes, nullptr, 0};
      if (!slots[size_t(e.slot)].v.kind)
        if (gantry_code c = host->tensor_new(host, &like, {}, &slots[size_t(e.slot)].v, st))
          return c;
      auto& slot = slots[size_t(e.slot)];
      gantry_tensor view = *slot.tensor();
      view.dtype = e.dtype, view.ndim = int32_t(e.shape.size()),
      view.shape = const_cast<int64_t*>(e.shape.data());
      entries.emplace_back();
      if (gantry_code c = host->tensor_view(host, &view, slot.v.object, &entries.back().v, st))
        return c;
    }
    // in place: a view that keeps the file; else one copy
    for (auto& [entry, data] : f.params) {
      Value& to = entries[entry];
      bool in_place =
          to.tensor()->device.type == 1 && uintptr_t(data.data) % uintptr_t(f.alignment) == 0;
      gantry_code c;
      if (in_place) {
        Value v;
        c = host->tensor_view(host, &data, f.pin, &v.v, st);
        to = v;
      } else
        c = host->tensor_copy(host, &data, to.tensor(), nullptr, st);
      if (c) return c;
    }
    for (auto& [name, ids] : graph->ops) {
      gantry_object* fn;
      if (gantry_code c =
              host->find(host, f.node, GANTRY_FIND_IMPORTS, {name.data(), name.size()}, &fn, st))
        return c;
      ops.push_back(
          {fn, entries[ids.back()].tensor()->device, uint32_t(args.size()), int32_t(ids.size())});
      for (uint32_t id : ids) {
        gantry_value a{GANTRY_TENSOR_REF, 0, {}};
        a.tensor = entries[id].tensor();
        args.push_back(a);
      }
    }
    return GANTRY_OK;
  }
  gantry_code run(const gantry_env* env,
                  // the hot loop: no allocation, no branch per argument
                  gantry_status* st) {
    gantry_env at = *env;
    for (auto& op : ops) {
      at.device = op.device;
      at.stream = std::memcmp(&op.device, &env->device, sizeof op.device) ? nullptr : env->stream;
      gantry_value none{};
      if (gantry_code c = host->call(host, op.function, &at, &args[op.first], op.count, &none, st))
        return c;
      if (none.kind >= GANTRY_OBJECT) host->release(host, none.object);
    }
    return GANTRY_OK;
  }
  gantry_code input_info(gantry_value* out) {
    std::vector<Value> shapes, dtypes;
    std::vector<gantry_value> top;
    auto text = [](std::string_view s) {
      Value v;
      host->text_new(host, GANTRY_STRING, {s.data(), s.size()}, &v.v, nullptr);
      return v;
    };
    for (uint32_t i : graph->inputs) {
      auto& e = graph->entries[i];
      Value shape;
      host->shape_new(host, e.shape.data(), e.shape.size(), &shape.v, nullptr);
      shapes.push_back(text(e.name)), shapes.push_back(shape), dtypes.push_back(text(e.name)),
          dtypes.push_back(text("float32"));
    }
    auto map = [](const std::vector<Value>& items) {
      Value v;
      host->items_new(host, GANTRY_MAP, &items.data()->v, items.size(), &v.v, nullptr);
      return v;
    };
    Value pairs[4] = {text("shape"), map(shapes), text("dtype"), map(dtypes)};
    static_assert(sizeof(Value) == sizeof(gantry_value));
    return host->items_new(host, GANTRY_MAP, &pairs->v, 4, out, nullptr);
  }
  gantry_code share(gantry_object* other, const std::string& name, uint32_t entry,
                    const gantry_env* env, gantry_status* st) {
    gantry_object* get;
    Value theirs;
    gantry_value key{GANTRY_BYTES_REF, 0, {}};
    gantry_bytes text{name.data(), name.size()};
    key.bytes = &text;
    if (gantry_code c =
            host->find(host, other, GANTRY_FIND_SELF, gantry_text("get_input"), &get, st))
      return c;
    gantry_code c = host->call(host, get, env, &key, 1, &theirs.v, st);
    host->release(host, get);
    if (!c)
      for (auto& a : args)
        if (a.tensor == entries[entry].tensor()) a.tensor = theirs.tensor();
    if (!c) entries[entry] = theirs;
    return c;
  }
};
enum Which { kRun, kSetInput, kGetOutput, kInputInfo, kShareParams };
// one table per function: self is the executor, nothing is allocated by get_function
template <Which W>
gantry_code call(void* self, const gantry_env* env, const gantry_value* a, int32_t n,
                 gantry_value* out, gantry_status* st) try {
  auto& x = *static_cast<Executor*>(self);
  if constexpr (W == kRun) return x.run(env, st);
  if constexpr (W == kInputInfo) return x.input_info(out);
  if constexpr (W == kShareParams)
    return n && a->kind == GANTRY_MODULE ? x.share(a->object, "p0", 1, env, st) : GANTRY_INVALID;
  if constexpr (W == kGetOutput) {
    Value keep = x.entries[x.graph->heads.at(size_t(a->i))];
    std::swap(*out, keep.v);
    return GANTRY_OK;
  }
  if constexpr (W == kSetInput)
    return n == 2 && gantry_value_tensor(a + 1)
               ? host->tensor_copy(host, gantry_value_tensor(a + 1),
                                   x.entries.at(size_t(a->i)).tensor(), env, st)
               : GANTRY_INVALID;
  return GANTRY_BUG;
} catch (...) {
  return gantry_fail(st, GANTRY_BUG, "EXCEPTION", "graph");
}
template <Which W>
const gantry_function_table table{sizeof(gantry_function_table), 0, nullptr, call<W>};

gantry_code executor_function(void* self, gantry_bytes name, gantry_function* out, gantry_status*) {
  static const struct {
    const char* name;
    const gantry_function_table* table;
  } all[] = {{"run", &table<kRun>},
             {"set_input", &table<kSetInput>},
             {"get_output", &table<kGetOutput>},
             {"get_input_info", &table<kInputInfo>},
             {"share_params", &table<kShareParams>}};
  for (auto& f : all)
    if (gantry_bytes_equal(gantry_text(f.name), name)) return *out = {self, f.table}, GANTRY_OK;
  return GANTRY_NOT_FOUND;
}
const gantry_module_table executor_table{sizeof executor_table,
                                         GANTRY_MODULE_SERIAL,
                                         "GraphExecutor",
                                         [](void* s) { delete static_cast<Executor*>(s); },
                                         executor_function,
                                         nullptr,
                                         nullptr};

gantry_code make(void* self, const gantry_env*, const gantry_value* a, int32_t n, gantry_value* out,
                 gantry_status* st) {
  auto& f = *static_cast<Factory*>(self);
  if (n < 1 || a->kind != GANTRY_DEVICE)
    return gantry_fail(st, GANTRY_INVALID, "ARGUMENT", "default(device, ...): no device given");
  auto* x = new (std::nothrow) Executor;
  if (gantry_code c = x->create(f, a, n, st)) return delete x, c;
  gantry_code c = host->module_new(host, f.node, {x, &executor_table}, out, st);
  // a pair passes to the host only on OK
  if (c) delete x;
  return c;
}
const gantry_function_table make_table{sizeof make_table, 0, nullptr, make};
const gantry_module_table factory_table{
    sizeof factory_table,
    0,
    "GraphExecutorFactory",
    [](void* s) {
      host->release(host, static_cast<Factory*>(s)->pin);
      delete static_cast<Factory*>(s);
    },
    [](void* s, gantry_bytes n, gantry_function* out, gantry_status*) -> gantry_code {
      return gantry_bytes_equal(n, gantry_text("default")) ? (*out = {s, &make_table}, GANTRY_OK)
                                                           : GANTRY_NOT_FOUND;
    },
    nullptr,
    [](void* s, const gantry_sink* k, gantry_status* st) -> gantry_code {
      return k->write(k->self, &static_cast<Factory*>(s)->graph, (128 - k->position % 128) % 128,
                      st);
    }};
gantry_code load(void*, const gantry_blob* b, gantry_object* node, gantry_module* out,
                 uint64_t* used, gantry_status* st) {
  if (b->size < 8)
    return gantry_fail(st, GANTRY_MALFORMED, "BLOB_TRUNCATED", "graph_json: no length");
  auto* f = new (std::nothrow) Factory{{}, {}, node, b->pin, 128};
  host->retain(host, b->pin);
  *out = {f, &factory_table}, *used = b->size;
  return GANTRY_OK;
}
const gantry_loader_table loader{sizeof loader, 0, "GraphExecutorFactory", nullptr, load, nullptr};
const gantry_loader_table* const loaders[] = {&loader};
const gantry_plugin_table plugin{
    sizeof plugin,
    0,
    {1, 0, 0, 0},
    "gantry.graph",
    "0.1.0",
    "gantry",
    "graph executor",
    "Apache-2.0",
    loaders,
    nullptr,
    1,
    0,
    [](const gantry_host* h, void** self, gantry_status*) -> gantry_code {
      host = h;
      *self = nullptr;
      return 0;
    },
    [](void*) {},
    nullptr};
}  // namespace
extern "C" const gantry_plugin_table* gantry_plugin_query_v1(const gantry_host_info*,
                                                             gantry_status*) {
  return &plugin;
}
