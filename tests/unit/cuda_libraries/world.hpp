// SPDX-License-Identifier: Apache-2.0
//
// The plugin on a fake host, with gantry.cuda on the fake driver as the device, and fakes of NVIDIA's
// libraries.
#pragma once

#include "plugins/cuda_libraries/plugin.hpp"
#include "tests/support/fake_host.hpp"
#include "tests/unit/cuda/fake_driver.hpp"
#include "tests/unit/cuda_libraries/cuda_plugin.hpp"
#include "tests/unit/cuda_libraries/fake_libraries.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/compact_tensor.hpp>
#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::cuda_libraries::test {

class World : public ::testing::Test {
 protected:
  static constexpr gantry_device_id cuda{2, 0};

  World() {
    driver.reset();
    libraries.reset();
    host.options = {
        {"library", GANTRY_FAKE_CUDA},          {"driver", GANTRY_FAKE_CUDA},
        {"cublas", GANTRY_FAKE_CUDA_LIBRARIES}, {"cublaslt", GANTRY_FAKE_CUDA_LIBRARIES},
        {"cudnn", GANTRY_FAKE_CUDA_LIBRARIES},  {"curand", GANTRY_FAKE_CUDA_LIBRARIES}};
    EXPECT_EQ(cuda_plugin().create(host.table(), &self, nullptr), GANTRY_OK);
    host.devices[2] = {self, cuda_plugin().devices[0], cuda};
    open();
  }
  // Each plugin may be destroyed first.
  ~World() override {
    plugin.reset();
    for (const auto& [data, index] : memory) device().free(self, index, data);
    cuda_plugin().destroy(self);
    EXPECT_EQ(driver.live(), "");
    EXPECT_EQ(driver.context_depth(), 0u);
    EXPECT_EQ(libraries.live, 0);
    EXPECT_THAT(libraries.faults, ::testing::IsEmpty());
  }

  void open() {
    auto made = Plugin::create(Host(host.table()));
    ASSERT_TRUE(made.ok()) << made.error().message;
    plugin = std::move(*made);
  }
  const gantry_device_table& device() const { return *host.devices.at(2).table; }

  // A tensor on a device, whose memory is the host's with the fake driver.
  struct Tensor {
    std::vector<std::int64_t> shape, strides;
    gantry_tensor tensor{};

    template <class T>
    T* data() const {
      return reinterpret_cast<T*>(static_cast<char*>(tensor.data) + tensor.byte_offset);
    }
    template <class T>
    std::vector<T> values(std::size_t count) const {
      return {data<T>(), data<T>() + count};
    }
    gantry_value value() { return tensor_ref_value(&tensor); }
  };
  template <class T>
  std::unique_ptr<Tensor> on_device(std::vector<std::int64_t> shape, const std::vector<T>& values,
                                    gantry_dtype type, std::int32_t index = 0) {
    auto made = std::make_unique<Tensor>();
    made->shape = std::move(shape);
    gantry_alloc what{};
    what.struct_size = sizeof what;
    what.size = values.size() * sizeof(T);
    void* data = nullptr;
    EXPECT_EQ(device().alloc(self, index, &what, &data, nullptr), GANTRY_OK);
    memory.emplace_back(data, index);
    std::copy(values.begin(), values.end(), static_cast<T*>(data));
    made->tensor = compact_tensor(type, made->shape, {cuda.type, index}, data);
    return made;
  }
  std::unique_ptr<Tensor> floats(std::vector<std::int64_t> shape,
                                 const std::vector<float>& values) {
    return on_device(std::move(shape), values, dtypes::float32);
  }

  Result<Value> call(std::string_view name, std::vector<gantry_value> args) {
    const auto found = plugin->named_functions().find(name);
    if (found == plugin->named_functions().end()) return not_found("no function ", name);
    return found->second.call({{}, &env, args});
  }
  void done(std::string_view name, std::vector<gantry_value> args) {
    const auto result = call(name, std::move(args));
    EXPECT_TRUE(result.ok()) << result.error().message;
  }
  Error error_of(std::string_view name, std::vector<gantry_value> args) {
    auto result = call(name, std::move(args));
    EXPECT_FALSE(result.ok()) << name;
    return result.ok() ? Error() : std::move(result).error();
  }
  void* new_stream() {
    void* stream = nullptr;
    EXPECT_EQ(device().stream_create(self, 0, 0, &stream, nullptr), GANTRY_OK);
    return stream;
  }
  void synchronize(void* stream = nullptr, std::int32_t index = 0) {
    EXPECT_EQ(device().synchronize(self, index, stream, nullptr), GANTRY_OK);
  }

  gantry::cuda::test::FakeDriver& driver = gantry::cuda::test::fake_driver();
  FakeLibraries& libraries = fake_libraries();
  gantry::test::FakeHost host;
  void* self = nullptr;
  std::vector<std::pair<void*, std::int32_t>> memory;
  gantry_env env{cuda, nullptr, nullptr, nullptr};
  std::unique_ptr<Plugin> plugin;
};

}  // namespace gantry::cuda_libraries::test
