// SPDX-License-Identifier: Apache-2.0
//
// Fixture for the payload of a device's artifact and the loader of its plugin.
#pragma once

#include "core/engine/runtime/plugin_instance.hpp"
#include "under_test.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gantry::conformance {

// A read-only copy of bytes that ends at an unmapped page, so that a read beyond the end faults.
// The destructor unmaps it.
class Guarded {
 public:
  Guarded(std::span<const std::uint8_t> bytes, std::size_t before_the_end = 0);
  ~Guarded();
  Guarded(const Guarded&) = delete;
  std::span<const std::uint8_t> bytes() const { return {at_, bytes_}; }

 private:
  std::uint8_t* base_;
  std::uint8_t* at_;
  std::size_t size_, bytes_;
};

// A module from the loader; the destructor destroys it.
struct Loaded {
  gantry_module pair{};
  std::uint64_t consumed = 0;
  Loaded() = default;
  Loaded(Loaded&& other) noexcept : pair(std::exchange(other.pair, {})), consumed(other.consumed) {}
  ~Loaded() {
    if (pair.table != nullptr) pair.table->destroy(pair.self);
  }
};

// The payload in the artifact of a device; the device may be absent. Empty: the artifact has none.
std::vector<std::uint8_t> payload_of(const Runtime& runtime, const UnderTest& device);

class DevicePayload : public DeviceTest {
 protected:
  void SetUp() override;

  std::span<const std::uint8_t> front_of_payload(std::size_t size) const {
    return {payload.data(), size};
  }
  gantry_blob blob_of(std::span<const std::uint8_t> bytes, gantry_object* pin) const;
  // Fails the test if the loader returns an error and writes a module.
  Result<Loaded> load(std::span<const std::uint8_t> bytes, gantry_object* pin) const;
  // The verdict of check_binary for the first device; unsupported: the loader has no check_binary.
  Result<std::int32_t> verdict_of(std::span<const std::uint8_t> bytes) const;
  ObjectPtr pin_of(std::shared_ptr<const void> what) const {
    return new_pin(std::move(what)).value();
  }
  ObjectPtr no_pin() const { return pin_of(std::make_shared<int>(0)); }

  // Names of its kernels, in order.
  std::vector<std::string> kernels(const Loaded& loaded) const;

  std::shared_ptr<const ActivePlugin> server;
  const gantry_loader_table* loader = nullptr;
  std::vector<std::uint8_t> payload;
};

}  // namespace gantry::conformance
