// SPDX-License-Identifier: Apache-2.0
// (3) host side, packed dialect: compiled host code calls plugin functions and is called by plugins.
#include <atomic>
#include <memory>
#include <string>
#include "gantry/gantry.h"
namespace {
union TVMValue {
  int64_t i;
  double f;
  void* p;
  const char* s;
  gantry_dtype dtype;
  gantry_device_id device;
};
struct Runtime;
// core/runtime, core/module
struct Node;
struct Function {
  gantry_object header;
  gantry_function target;
  int32_t device_type;
  Node* node;
};
// imports, then globals; borrowed
gantry_object* find_from(Node*, gantry_bytes) { return nullptr; }
// artifact's number -> runtime's
int32_t to_runtime(Node*, int32_t number) { return number; }
int32_t to_artifact(Node*, int32_t type) { return type; }

// one thread_local, set by every call into host code
struct Thread {
  // of the call we are in
  gantry_env env{};
  // by device type: TVM keeps one current device for each API
  int32_t index[128] = {};
  char text[1024] = "";
} thread_local here;
constexpr int32_t to_kind[] = {
    GANTRY_INT,      GANTRY_INT,     GANTRY_FLOAT,      GANTRY_POINTER,    GANTRY_NONE,
    GANTRY_DTYPE,    GANTRY_DEVICE,  GANTRY_TENSOR_REF, GANTRY_OBJECT,     GANTRY_MODULE,
    GANTRY_FUNCTION, GANTRY_CSTRING, GANTRY_BYTES_REF,  GANTRY_TENSOR_REF, -1,
    GANTRY_BOOL};
template <class T>
struct Few {
  T few[16];
  std::unique_ptr<T[]> many;
  T* get(int n) { return n <= 16 ? few : (many.reset(new T[size_t(n)]), many.get()); }
};
}  // namespace

extern "C" int TVMBackendGetFuncFromEnv(void* mod, const char* name, void** out) {
  *out = find_from(static_cast<Node*>(mod), gantry_text(name));
  return *out ? 0 : -1;
}
extern "C" int TVMFuncCall(void* handle, TVMValue* a, int* codes, int n, TVMValue* ret,
                           // host code -> plugin
                           int* ret_code) {
  auto* f = static_cast<Function*>(handle);
  Few<gantry_value> room;
  gantry_value* v = room.get(n);
  for (int i = 0; i < n; ++i) {
    if (unsigned(codes[i]) > 15u) return -1;
    v[i].kind = to_kind[codes[i]], v[i].small_size = 0, v[i].i = a[i].i;
  }
  gantry_device_id at{f->device_type, here.index[f->device_type & 127]};
  bool same = at.type == here.env.device.type && at.index == here.env.device.index;
  gantry_env env{at, same ? here.env.stream : nullptr, here.env.task};
  gantry_status st{sizeof st, 0, 0, "", "", UINT64_MAX, here.text, sizeof here.text, 0};
  gantry_value result{};
  // here.text is the last error already
  if (f->target.table->call(f->target.self, &env, v, n, &result, &st)) return -1;
  ret->i = result.i, *ret_code = result.kind == GANTRY_NONE      ? 4
                                 : result.kind == GANTRY_FLOAT   ? 2
                                 : result.kind == GANTRY_POINTER ? 3
                                                                 : 0;
  return 0;
}
// "__tvm_set_device"
extern "C" int set_device(Node* node, int64_t number, int64_t index) {
  here.index[to_runtime(node, int32_t(number)) & 127] = int32_t(index);
  return 0;
}
namespace {
using Packed = int (*)(TVMValue*, int*, int, TVMValue*, int*, void*);
// identity: no number differs, tensors pass untouched
struct HostFunction {
  Packed code;
  Node* node;
  bool identity;
};
gantry_code call_host(void* self, const gantry_env* env, const gantry_value* v, int32_t n,
                      gantry_value* result, gantry_status* st) {
  auto& f = *static_cast<HostFunction*>(self);
  Few<TVMValue> values;
  Few<int> kinds;
  Few<gantry_tensor> copies;
  TVMValue* a = values.get(n);
  int* codes = kinds.get(n);
  gantry_tensor* t = f.identity ? nullptr : copies.get(n);
  for (int32_t i = 0; i < n; ++i) {
    a[i].i = v[i].i;
    if (gantry_tensor* x = gantry_value_tensor(&v[i])) {
      if (t) t[i] = *x, t[i].device.type = to_artifact(f.node, x->device.type), x = t + i;
      a[i].p = x, codes[i] = 7;
    } else if (v[i].kind == GANTRY_POINTER)
      codes[i] = 3;
    else if (v[i].kind == GANTRY_NONE)
      codes[i] = 4;
    else if (v[i].kind <= GANTRY_BOOL)
      codes[i] = 0;
    else if (v[i].kind == GANTRY_FLOAT)
      codes[i] = 2;
    else
      return gantry_fail(st, GANTRY_INVALID, "ARGUMENT_KIND",
                         "host code takes numbers, pointers and tensors here");
  }
  int32_t& index = here.index[env->device.type & 127];
  const int32_t index_before = index;
  const gantry_env before = here.env;
  index = env->device.index, here.env = *env;
  TVMValue ret{};
  int code = 4;
  int rc = f.code(a, codes, n, &ret, &code, nullptr);
  index = index_before, here.env = before;
  if (rc) return gantry_fail(st, GANTRY_INVALID, "HOST_CODE", here.text);
  result->i = ret.i, result->kind = code == 4 ? GANTRY_NONE : code == 2 ? GANTRY_FLOAT : GANTRY_INT;
  return GANTRY_OK;
}
}  // namespace
extern const gantry_function_table host_function_table;
const gantry_function_table host_function_table{sizeof(gantry_function_table), 0, nullptr,
                                                call_host};
