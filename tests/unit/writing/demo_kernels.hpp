// SPDX-License-Identifier: Apache-2.0
//
// Calls the demo's kernels like a runtime, in the library that is packed from the demo's recipe.
#pragma once

#include "core/writing/pack.hpp"
#include "tests/support/files.hpp"

#include <gantry/tensor.h>

#include <dlfcn.h>
#include <gmock/gmock.h>

namespace gantry::test {

union Argument {
  std::int64_t integer;
  void* handle;
};
using Packed = int (*)(Argument*, int*, int, Argument*, int*, void*);
constexpr int tensor_code = 7;

// The functions to which the library's context pointers are set in this test.
inline std::string last_error;
inline void set_last_error(const char* text) { last_error = text; }

struct Group {
  void* sync_handle;
  std::int32_t task_count;
};
inline int launches = 0;
inline int launch_three(int (*task)(int, Group*, void*), void* closure, int) {
  ++launches;
  Group group{nullptr, 3};
  for (int id = 0; id < 3; ++id) {
    if (task(id, &group, closure) != 0) return -1;
  }
  return 0;
}

// Kernels of devices, which record their calls.
struct Launched {
  std::string function;
  std::vector<std::int64_t> args;
  std::vector<int> codes;
};
inline std::vector<Launched> launched;
inline int launch_result = 0;
// names, in the order of the look-ups
inline std::vector<std::string> found_names;
inline int look_up(void* context, const char* name, void** function) {
  EXPECT_EQ(context, &launched);
  if (std::string_view(name).starts_with("softmax")) {
    last_error = "not found";
    return -1;
  }
  found_names.emplace_back(name);
  // a handle other than NULL: the index plus one
  *function = reinterpret_cast<void*>(found_names.size());
  return 0;
}
inline int call_found(void* function, Argument* args, int* codes, int n, Argument* ret,
                      int* ret_code) {
  EXPECT_NE(ret, nullptr);
  // type code of null: the call returns nothing
  EXPECT_EQ(*ret_code, 4);
  Launched& call = launched.emplace_back();
  call.function = found_names.at(reinterpret_cast<std::uintptr_t>(function) - 1);
  for (int i = 0; i < n; ++i) call.args.push_back(args[i].integer);
  call.codes.assign(codes, codes + n);
  return call.function.starts_with("__") ? 0 : launch_result;
}

struct Matrix {
  std::vector<float> values;
  std::vector<std::int64_t> shape;
  gantry_tensor tensor{};

  Matrix(std::vector<std::int64_t> extents, std::vector<float> content = {})
      : values(std::move(content)), shape(std::move(extents)) {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    values.resize(static_cast<std::size_t>(count));
    tensor.data = values.data();
    tensor.device = {1, 0};
    tensor.ndim = static_cast<std::int32_t>(shape.size());
    tensor.dtype = {2, 32, 1};
    tensor.shape = shape.data();
  }
  Matrix(const Matrix&) = delete;
};

// The library, packed and opened once for all tests.
class DemoKernels : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = new TempDir;
    Recipe recipe = read_recipe(golden("../../../tools/demo/digits.yaml")).value();
    // CPU code is independent of the device modules.
    recipe.device_modules.clear();
    const Status packed = pack(recipe, *directory_ / "digits.so");
    ASSERT_TRUE(packed.ok()) << packed.error().message;
    library_ = ::dlopen((*directory_ / "digits.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << ::dlerror();
    *pointer<void (*)(const char*)>("__TVMAPISetLastError") = set_last_error;
  }
  static void TearDownTestSuite() {
    if (library_ != nullptr) ::dlclose(library_);
    delete directory_;
  }
  void SetUp() override {
    last_error.clear();
    launches = 0;
    launched.clear();
    launch_result = 0;
    *pointer<void*>("__tvm_module_ctx") = &launched;
    *pointer<decltype(&look_up)>("__TVMBackendGetFuncFromEnv") = look_up;
    *pointer<decltype(&call_found)>("__TVMFuncCall") = call_found;
    *pointer<decltype(&launch_three)>("__TVMBackendParallelLaunch") = nullptr;
  }

  template <class T>
  static T* pointer(const char* name) {
    return static_cast<T*>(::dlsym(library_, name));
  }
  static int call(const char* name, std::vector<Matrix*> matrices, int code = tensor_code) {
    std::vector<Argument> arguments;
    for (Matrix* matrix : matrices) arguments.push_back({.handle = &matrix->tensor});
    std::vector<int> codes(arguments.size(), code);
    const auto function = reinterpret_cast<Packed>(::dlsym(library_, name));
    return function(arguments.data(), codes.data(), static_cast<int>(arguments.size()), nullptr,
                    nullptr, nullptr);
  }

 private:
  inline static TempDir* directory_ = nullptr;
  inline static void* library_ = nullptr;
};

}  // namespace gantry::test
