// SPDX-License-Identifier: Apache-2.0
//
// The peer: Apache TVM's runtime from its wheel, without Python. TVM_LIBRARY_PATH names its
// libtvm_runtime.so; TVM_NUM_THREADS the threads.
#include "tests/bench/peers/vm_times.hpp"

#include <dlfcn.h>
#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>

#include <map>

namespace gantry::bench {
namespace {

struct AlignedMemory {
  void AllocData(DLTensor* tensor) {
    tensor->data = std::aligned_alloc(64, (tvm::ffi::GetDataSize(*tensor) + 63) / 64 * 64);
  }
  void FreeData(DLTensor* tensor) { std::free(tensor->data); }
};

class Tvm {
 public:
  using Value = tvm::ffi::Any;

  Tvm() {
    if (dlopen(std::getenv("TVM_LIBRARY_PATH"), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::exit(1);
    }
  }
  void load(const char* file) {
    const tvm::ffi::Module model = tvm::ffi::Module::LoadFromFile(file);
    const auto load_vm = model->GetFunction("vm_load_executable").value();
    vm_ = load_vm().cast<tvm::ffi::Module>();
    // the CPU, with the pooled allocator
    vm_.value()->GetFunction("vm_initialization").value()(1, 0, 2);
    functions_.clear();
  }
  template <class... Values>
  Value call(const char* name, const Values&... values) {
    auto [found, is_new] = functions_.try_emplace(name);
    if (is_new) {
      found->second = std::string_view(name).starts_with("vm.builtin.")
                          ? tvm::ffi::Function::GetGlobalRequired(name)
                          : vm_.value()->GetFunction(name).value();
    }
    return found->second(values...);
  }
  Value tensor(const Extents& extents, bool is_int) {
    const DLDataType dtype = is_int ? DLDataType{kDLInt, 32, 1} : DLDataType{kDLFloat, 32, 1};
    const auto made = tvm::ffi::Tensor::FromNDAlloc(AlignedMemory(), tvm::ffi::Shape(extents),
                                                    dtype, DLDevice{kDLCPU, 0});
    const std::size_t count = static_cast<std::size_t>(made.numel());
    if (is_int) {
      std::fill_n(static_cast<std::int32_t*>(made.data_ptr()), count, 7);
    } else {
      std::fill_n(static_cast<float*>(made.data_ptr()), count, 0.01f);
    }
    return made;
  }
  Value shape(const Extents& extents) { return tvm::ffi::Shape(extents); }
  Value integer(std::int64_t number) { return number; }
  Value tuple(const std::vector<Value>& items) {
    return tvm::ffi::Array<tvm::ffi::Any>(items.begin(), items.end());
  }

 private:
  tvm::ffi::Optional<tvm::ffi::Module> vm_;
  std::map<std::string, tvm::ffi::Function, std::less<>> functions_;
};

}  // namespace
}  // namespace gantry::bench

int main(int argc, char** argv) { return gantry::bench::measure<gantry::bench::Tvm>(argc, argv); }
