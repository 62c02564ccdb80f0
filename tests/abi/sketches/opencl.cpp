// SPDX-License-Identifier: Apache-2.0
// (2) OpenCL: opaque handles with offsets, kernel call with packed arguments, copies, streams.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <atomic>
#include <map>
#include <string>
#include <vector>
#include "gantry/gantry.h"
namespace {
// what `data` points to
struct Buffer {
  cl_mem mem;
};
struct Plugin {
  const gantry_host* host;
  int32_t type;
  cl_context context;
  std::vector<cl_command_queue> queues;
};
struct Arg {
  uint8_t code, bits;
};
// axes: 0..2 grid, 3..5 block
struct Kernel {
  std::string name;
  std::vector<Arg> args;
  std::vector<int8_t> axes;
};
struct Module {
  Plugin* plugin;
  gantry_object* node;
  std::map<std::string, Kernel, std::less<>> kernels;
};
struct Function {
  Module* module;
  const Kernel* kernel;
};

gantry_code driver(gantry_status* s, cl_int e, const char* what) {
  if (!e) return GANTRY_OK;
  gantry_code c =
      gantry_fail(s, e == CL_MEM_OBJECT_ALLOCATION_FAILURE ? GANTRY_EXHAUSTED : GANTRY_UNAVAILABLE,
                  "DRIVER_CALL", what);
  if (s) s->native_code = e, __builtin_memcpy(s->native_domain, "OPENCL", 7);
  return c;
}
cl_command_queue queue(Plugin& p, int32_t i, void* stream) {
  return stream ? static_cast<cl_command_queue>(stream) : p.queues[size_t(i)];
}
// per device and thread; built on first use
cl_kernel kernel_for(const Function&, int32_t) { return nullptr; }

gantry_code launch(void* self, const gantry_env* env, const gantry_value* a, int32_t n,
                   gantry_value*, gantry_status* st) {
  auto& f = *static_cast<Function*>(self);
  auto& args = f.kernel->args;
  auto& axes = f.kernel->axes;
  if (size_t(n) != args.size() + axes.size())
    return gantry_fail(st, GANTRY_INVALID, "ARGUMENT_COUNT", f.kernel->name.c_str());
  // core promise: env is there, and its device is one of ours
  int32_t i = env->device.index;
  cl_kernel k = kernel_for(f, i);
  cl_uint at = 0;
  for (auto& t : args) {
    const gantry_value& v = a[at];
    union {
      int64_t i64;
      int32_t i32;
      double f64;
      float f32;
    } x;
    if (t.code == 3) {
      if (cl_int e = clSetKernelArg(k, at, sizeof(cl_mem),
                                    v.p ? &static_cast<Buffer*>(v.p)->mem : nullptr))
        return driver(st, e, "clSetKernelArg");
      ++at;
      continue;
    }
    if (t.code == 2) {
      if (t.bits == 32)
        x.f32 = float(v.f);
      else
        x.f64 = v.f;
    } else if (t.bits == 32)
      x.i32 = int32_t(v.i);
    else
      x.i64 = v.i;
    if (cl_int e = clSetKernelArg(k, at, t.bits / 8u, &x)) return driver(st, e, "clSetKernelArg");
    ++at;
  }
  size_t extent[6] = {1, 1, 1, 1, 1, 1};
  for (size_t j = 0; j < axes.size(); ++j)
    if (a[args.size() + j].i) extent[axes[j]] = size_t(a[args.size() + j].i);
  size_t global[3] = {extent[0] * extent[3], extent[1] * extent[4], extent[2] * extent[5]};
  return driver(st,
                clEnqueueNDRangeKernel(queue(*f.module->plugin, i, env->stream), k, 3, nullptr,
                                       global, extent + 3, 0, nullptr, nullptr),
                f.kernel->name.c_str());
}
const gantry_function_table launch_table{sizeof launch_table, 0,
                                         [](void* s) { delete static_cast<Function*>(s); }, launch};
const gantry_module_table module_table{
    sizeof module_table,
    0,
    "opencl",
    [](void* s) { delete static_cast<Module*>(s); },
    [](void* s, gantry_bytes n, gantry_function* out, gantry_status*) -> gantry_code {
      auto& m = *static_cast<Module*>(s);
      auto it = m.kernels.find(std::string_view(n.data, n.size));
      if (it == m.kernels.end()) return GANTRY_NOT_FOUND;
      *out = {new Function{&m, &it->second}, &launch_table};
      return GANTRY_OK;
    },
    [](void* s, const gantry_visitor* v, gantry_status* st) -> gantry_code {
      for (auto& [name, k] : static_cast<Module*>(s)->kernels) {
        gantry_function_info info{sizeof info, 0, {name.data(), name.size()}, {}};
        if (gantry_code c = v->visit(v->self, &info, st)) return c;
      }
      return GANTRY_OK;
    },
    nullptr};
gantry_code load(void* self, const gantry_blob* b, gantry_object* node, gantry_module* out,
                 uint64_t* used, gantry_status*) {
  *out = {new Module{static_cast<Plugin*>(self), node, {}}, &module_table};
  *used = b->size;
  return GANTRY_OK;
}
Plugin& P(void* s) { return *static_cast<Plugin*>(s); }
const gantry_device_table device = [] {
  gantry_device_table t{};
  t.struct_size = sizeof t, t.flags = GANTRY_DEVICE_OPAQUE_DATA, t.name = "opencl", t.type = 4;
  t.count = [](void* s, int32_t* n, gantry_status*) -> gantry_code {
    *n = int32_t(P(s).queues.size());
    return GANTRY_OK;
  };
  t.attribute = [](void* s, int32_t, int32_t kind, gantry_value* out,
                   gantry_status* st) -> gantry_code {
    if (kind != 5) return GANTRY_NOT_FOUND;
    return P(s).host->text_new(P(s).host, GANTRY_STRING, gantry_text("pocl"), out, st);
  };
  t.alloc = [](void* s, int32_t, const gantry_alloc* w, void** data,
               gantry_status* st) -> gantry_code {
    if (w->scope.size && !gantry_bytes_equal(w->scope, gantry_text("global")))
      return gantry_fail(st, GANTRY_UNSUPPORTED, "SCOPE", "textures are not supported yet");
    cl_int e;
    cl_mem m = clCreateBuffer(P(s).context, CL_MEM_READ_WRITE, w->size ? w->size : 1, nullptr, &e);
    if (e) return driver(st, e, "clCreateBuffer");
    *data = new Buffer{m};
    return GANTRY_OK;
  };
  t.free = [](void*, int32_t, void* d) {
    auto* b = static_cast<Buffer*>(d);
    clReleaseMemObject(b->mem);
    delete b;
  };
  t.copy = [](void* s, int32_t i, const gantry_copy* c, void* stream,
              gantry_status* st) -> gantry_code {
    auto q = queue(P(s), i, stream);
    auto block = cl_bool(c->flags & GANTRY_COPY_BLOCKING);
    auto mem = [](const gantry_location& p) { return static_cast<Buffer*>(p.data)->mem; };
    if (c->from.device.type == 1)
      return driver(st,
                    clEnqueueWriteBuffer(q, mem(c->to), block, c->to.byte_offset, c->size,
                                         static_cast<char*>(c->from.data) + c->from.byte_offset, 0,
                                         nullptr, nullptr),
                    "clEnqueueWriteBuffer");
    if (c->to.device.type == 1)
      return driver(st,
                    clEnqueueReadBuffer(q, mem(c->from), block, c->from.byte_offset, c->size,
                                        static_cast<char*>(c->to.data) + c->to.byte_offset, 0,
                                        nullptr, nullptr),
                    "clEnqueueReadBuffer");
    return driver(st,
                  clEnqueueCopyBuffer(q, mem(c->from), mem(c->to), c->from.byte_offset,
                                      c->to.byte_offset, c->size, 0, nullptr, nullptr),
                  "clEnqueueCopyBuffer");
  };
  t.synchronize = [](void* s, int32_t i, void* q, gantry_status* st) -> gantry_code {
    return driver(st, clFinish(queue(P(s), i, q)), "clFinish");
  };
  return t;
}();
const gantry_loader_table loader{sizeof loader, 0, "opencl", "opencl", load, nullptr};
const gantry_loader_table* const loaders[] = {&loader};
const gantry_device_table* const devices[] = {&device};
const gantry_plugin_table plugin{
    sizeof plugin,
    0,
    {1, 0, 0, 0},
    "gantry.opencl",
    "0.1.0",
    "gantry",
    "OpenCL",
    "Apache-2.0",
    loaders,
    devices,
    1,
    1,
    [](const gantry_host* h, void** self, gantry_status*) -> gantry_code {
      *self = new Plugin{h, 4, nullptr, {}};
      return GANTRY_OK;
    },
    [](void* s) { delete static_cast<Plugin*>(s); },
    nullptr};
}  // namespace
extern "C" const gantry_plugin_table* gantry_plugin_query_v1(const gantry_host_info*,
                                                             gantry_status*) {
  return &plugin;
}
