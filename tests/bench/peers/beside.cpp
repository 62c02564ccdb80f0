// SPDX-License-Identifier: Apache-2.0
//
// gantry_bench_beside before|after LIBTVM_FFI LIBRARY ARTIFACT OTHER
//
// Opens libtvm_ffi.so of the wheel apache-tvm-ffi globally, as its Python package does, before or
// after the library of gantry has loaded and called an artifact, and uses both, tvm-ffi with another
// artifact. Each must get its own results and its own errors. After gantry, the other artifact must
// be another file: core/decisions/0005-binding-imports.md.
#include "beside.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

using namespace gantry::bench;

// TVMFFIAny, TVMFFIByteArray, DLTensor: apache/tvm-ffi include/tvm/ffi/c_api.h
struct Any {
  std::int32_t type_index = 0;
  std::uint32_t padding = 0;
  union {
    std::int64_t number;
    void* object;
    const char* text;
  };
};
struct ByteArray {
  const char* data;
  std::size_t size;
};
struct DlTensor {
  void* data;
  std::int32_t device_type, device_id, ndim;
  std::uint8_t code, bits;
  std::uint16_t lanes;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};
enum { type_bool = 2, type_tensor_address = 7, type_raw_text = 8 };

[[noreturn]] void fail(const std::string& text) {
  std::fprintf(stderr, "tvm-ffi: %s\n", text.c_str());
  std::exit(1);
}

// The wheel's library.
struct TvmFfi {
  void* handle = nullptr;
  int calls = 0;

  template <class Function>
  Function* get(const char* name) const {
    void* const found = dlsym(handle, name);
    if (found == nullptr) fail(std::string(name) + " is missing");
    return reinterpret_cast<Function*>(found);
  }
  void open(const char* path) {
    handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) fail(dlerror());
  }
  void* global(const char* name) const {
    const ByteArray bytes{name, std::strlen(name)};
    void* function = nullptr;
    get<int(const ByteArray*, void**)>("TVMFFIFunctionGetGlobal")(&bytes, &function);
    if (function == nullptr) fail(std::string("no function ") + name);
    return function;
  }
  int call(void* function, Any* args, int count, Any* result) {
    ++calls;
    return get<int(void*, Any*, std::int32_t, Any*)>("TVMFFIFunctionCall")(function, args, count,
                                                                           result);
  }
  // Whether this thread has an error of tvm-ffi; clears it.
  bool has_error() const {
    void* error = nullptr;
    get<void(void**)>("TVMFFIErrorMoveFromRaised")(&error);
    if (error != nullptr) get<int(void*)>("TVMFFIObjectDecRef")(error);
    return error != nullptr;
  }

  // Loads the artifact with tvm-ffi and calls axpy2 as beside_gantry.cpp does.
  void check(const char* artifact) {
    if (has_error()) fail("an error of gantry's artifact has reached it");
    Any path[1], found[3], module, function;
    path[0].type_index = found[1].type_index = type_raw_text;
    path[0].text = artifact;
    if (call(global("ffi.ModuleLoadFromFile"), path, 1, &module) != 0) fail("cannot load the file");
    found[0] = module;
    found[1].text = "axpy2";
    found[2].type_index = type_bool;
    found[2].number = 0;
    if (call(global("ffi.ModuleGetFunction"), found, 3, &function) != 0 ||
        function.object == nullptr)
      fail("no axpy2");

    float data[3][beside_size] = {};
    std::memcpy(data[0], beside_a, sizeof beside_a);
    std::memcpy(data[1], beside_b, sizeof beside_b);
    std::int64_t shape[] = {beside_size};
    DlTensor tensors[3];
    Any args[3], result;
    for (int i = 0; i < 3; ++i) {
      tensors[i] = {data[i], 1, 0, 1, 2, 32, 1, shape, nullptr, 0};
      args[i].type_index = type_tensor_address;
      args[i].object = &tensors[i];
    }
    if (call(function.object, args, 3, &result) != 0) fail("axpy2 fails");
    if (std::memcmp(data[2], beside_c, sizeof beside_c) != 0) fail("axpy2 returns other numbers");
    if (has_error()) fail("an error after a call that succeeded");
    if (call(function.object, nullptr, 0, &result) == 0) fail("axpy2 without arguments returns");
    if (!has_error()) fail("the error of its own call is missing");
  }
};

TvmFfi tvm_ffi;
const char *tvm_ffi_path, *other_artifact;

int use_tvm_ffi() {
  if (tvm_ffi.handle == nullptr) tvm_ffi.open(tvm_ffi_path);
  tvm_ffi.check(other_artifact);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6)
    return std::fputs("usage: before|after LIBTVM_FFI LIBRARY ARTIFACT OTHER\n", stderr), 2;
  const char *const order = argv[1], *const artifact = argv[4];
  tvm_ffi_path = argv[2], other_artifact = argv[5];
  if (std::strcmp(order, "before") == 0) use_tvm_ffi();

  void* const library = dlopen(argv[3], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  const auto run = reinterpret_cast<GantryBeside>(dlsym(library, "gantry_beside"));
  if (run == nullptr || run(artifact, use_tvm_ffi) != 0) return 1;
  use_tvm_ffi();

  for (const char* const name : {"TVMFFIFunctionCall", "TVMFFIErrorSetRaisedFromCStrParts",
                                 "TVMFFIErrorSetRaisedFromCStr", "TVMFFIHandleInitOnce"}) {
    if (dlsym(RTLD_DEFAULT, name) != dlsym(tvm_ffi.handle, name))
      fail(std::string(name) + " of the process is another one");
  }
  std::printf("tvm-ffi opened %s gantry: %s with gantry and %s with tvm-ffi, %d calls, apart\n",
              order, std::strrchr(artifact, '/') + 1, std::strrchr(other_artifact, '/') + 1,
              tvm_ffi.calls);
  return 0;
}
