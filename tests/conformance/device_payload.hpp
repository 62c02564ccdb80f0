// SPDX-License-Identifier: Apache-2.0
//
// A device's payload as it lies in its artifact, its loader, and ways to lay bytes out for that.
#pragma once

#include "core/runtime/plugin_instance.hpp"
#include "under_test.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gantry::conformance {

// Bytes that end where a page ends behind which there is nothing, and which cannot be written; unmapped at the end.
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

// A module as the loader gave it, destroyed at the end.
struct Loaded {
  gantry_module pair{};
  std::uint64_t consumed = 0;
  Loaded() = default;
  Loaded(Loaded&& other) noexcept : pair(std::exchange(other.pair, {})), consumed(other.consumed) {}
  ~Loaded() {
    if (pair.table != nullptr) pair.table->destroy(pair.self);
  }
};

// The payload in the artifact of a device, whether that is there or not; empty: it has none.
std::vector<std::uint8_t> payload_of(Runtime& runtime, const UnderTest& device);

class DevicePayload : public DeviceTest {
 protected:
  void SetUp() override;

  std::span<const std::uint8_t> front_of_payload(std::size_t size) const {
    return {payload.data(), size};
  }
  gantry_blob blob_of(std::span<const std::uint8_t> bytes, gantry_object* pin) const;
  // An error that comes with a module is a failure of the test.
  Result<Loaded> load(std::span<const std::uint8_t> bytes, gantry_object* pin) const;
  // What check_binary says for the first device; unsupported: the loader has none.
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
