// SPDX-License-Identifier: Apache-2.0
//
// The devices of the suite, and the fixture of its tests: a runtime, a device and its table.
//
// README.md lists the numbers of the cases.
#pragma once

#include <gantry/abi_boundary.hpp>
#include <gantry/embed.hpp>
#include <gantry/embed/executor.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::conformance {

struct UnderTest {
  // the device kind on the command line: "opencl"
  const char* kind;
  // An artifact with a function axpy2(a, b, c), c = a + 2 b, float32[n]: a golden file, one of the
  // build tree, or an absolute path.
  const char* artifact;
  // of the module that runs on the device; empty: CPU code
  const char* type_key;
};

constexpr UnderTest devices[] = {
    {"cpu", "tvm-0.12/axpy2_llvm.so", ""},
    {"abacus", "abacus.so", "example.abacus"},
    {"soroban", "soroban.so", "example.soroban"},
    {"opencl", "tvm-0.12/axpy2_opencl.so", "opencl"},
    {"vulkan", "tvm-0.12/axpy2_vulkan.so", "vulkan"},
    {"cuda", "tvm-0.12/axpy2_cuda_ptx75.so", "cuda"},
};

std::string path_of(const UnderTest& device);

// A runtime with only the plugins of the build tree and the accelerators of this directory.
//
// works    [in]   receives the texts of announced works; empty: nobody does
Result<Runtime> make_runtime(bool trace = false,
                             std::function<void(std::uint64_t, std::string_view)> works = {});

class DeviceTest : public ::testing::TestWithParam<UnderTest> {
 protected:
  // Skips the test with the reason if the device is not available.
  void SetUp() override;

  // Calls a function of the device's table and returns its error.
  template <class Make>
  Status table(Make&& make) const {
    StatusBuffer status;
    const gantry_code code =
        status.call([&](gantry_status* out) { return make(*device.table, device.self, out); });
    if (code != GANTRY_OK) return status.error(code, "the table");
    return {};
  }
  Result<void*> alloc(std::uint64_t size, std::uint64_t alignment = 64, std::string_view scope = {},
                      std::int32_t index = 0) const;
  void free(void* data, std::int32_t index = 0) const {
    device.table->free(device.self, index, data);
  }
  gantry_location on_device(void* data, std::uint64_t offset = 0, std::int32_t index = 0) const {
    return {data, offset, {device.id.type, index}};
  }
  Status copy(const gantry_location& from, const gantry_location& to, std::uint64_t size,
              std::uint32_t flags = GANTRY_COPY_BLOCKING, void* stream = nullptr,
              std::int32_t index = 0) const;
  Status synchronize(void* stream = nullptr, std::int32_t index = 0) const;
  // nullopt: attribute `kind` does not apply.
  Result<std::optional<Any>> attribute(std::int32_t index, std::int32_t kind) const;
  std::int64_t allocated_bytes() const;
  std::int32_t count() const;
  bool is_opaque() const { return (device.table->flags & GANTRY_DEVICE_OPAQUE_DATA) != 0; }
  std::string name(std::int32_t index = 0) const { return concat(GetParam().kind, ":", index); }

  // A tensor on the device; element i is first + i * step.
  Tensor vector(std::int64_t size, float first, float step, std::int32_t index = 0);
  std::vector<float> elements(const Tensor& tensor);
  Function axpy2();

  Result<Runtime> runtime = make_runtime();
  gantry_device device{};
};

// A location in host memory.
inline gantry_location on_host(const void* data, std::uint64_t offset = 0) {
  return {const_cast<void*>(data), offset, {cpu_device_type, 0}};
}

// Bytes that depend on their position and the seed.
std::vector<std::uint8_t> pattern(std::size_t size, std::uint32_t seed);

// A stream or an event of the device, destroyed with the scope.
class TestStream {
 public:
  TestStream(const gantry_device& device, std::int32_t index = 0);
  ~TestStream();
  TestStream(const TestStream&) = delete;
  void* get() const { return stream_; }
  // True if the table has no streams; NULL is the only stream then.
  bool is_absent() const { return absent_; }

 private:
  const gantry_device device_;
  std::int32_t index_;
  void* stream_ = nullptr;
  bool absent_ = false;
};
class TestEvent {
 public:
  TestEvent(const gantry_device& device, std::int32_t index = 0);
  ~TestEvent();
  TestEvent(const TestEvent&) = delete;
  void* get() const { return event_; }
  bool is_absent() const { return absent_; }

 private:
  const gantry_device device_;
  std::int32_t index_;
  void* event_ = nullptr;
  bool absent_ = false;
};

inline std::string name_of_test(const ::testing::TestParamInfo<UnderTest>& test) {
  return test.param.kind;
}

}  // namespace gantry::conformance
