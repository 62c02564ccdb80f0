// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/peers/vm_times.hpp"

#include <gantry/embed.hpp>
#include <gantry/value.hpp>

#include <map>

namespace gantry::bench {
namespace {

template <class T>
T value_or_exit(Result<T> result) {
  if (result.ok()) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}

class Gantry {
 public:
  using Value = Any;

  void load(const char* file) {
    const Module model = value_or_exit(runtime_.load(file));
    const Function start = value_or_exit(model.function("vm_load_executable"));
    vm_ = value_or_exit(value_or_exit(start(gantry_device_id{1, 0})).module());
    functions_.clear();
  }
  template <class... Values>
  Any call(const char* name, const Values&... values) {
    auto [found, is_new] = functions_.try_emplace(name);
    if (is_new) {
      found->second = std::string_view(name).starts_with("vm.builtin.")
                          ? value_or_exit(runtime_.function(name))
                          : value_or_exit(vm_.function(name));
    }
    return value_or_exit(found->second(values...));
  }
  Any tensor(const Extents& extents, bool is_int) {
    const gantry_dtype dtype = is_int ? gantry_dtype{0, 32, 1} : gantry_dtype{2, 32, 1};
    const Tensor made = value_or_exit(runtime_.tensor(extents, dtype));
    if (is_int) {
      std::ranges::fill(made.elements<std::int32_t>(), 7);
    } else {
      std::ranges::fill(made.elements<float>(), 0.01f);
    }
    return Any(made);
  }
  Any shape(const Extents& extents) { return value_or_exit(runtime_.shape(extents)); }
  Any integer(std::int64_t number) { return Any(gantry::Value::adopt(int_value(number))); }
  Any tuple(const std::vector<Any>& items) { return value_or_exit(runtime_.array(items)); }

 private:
  Runtime runtime_ = value_or_exit([] {
    RuntimeOptions options;
    options.threads = 2;
    return Runtime::create(options);
  }());
  Module vm_;
  std::map<std::string, Function, std::less<>> functions_;
};

}  // namespace
}  // namespace gantry::bench

int main(int argc, char** argv) {
  return gantry::bench::measure<gantry::bench::Gantry>(argc, argv);
}
