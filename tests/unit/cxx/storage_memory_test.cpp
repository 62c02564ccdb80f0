// SPDX-License-Identifier: Apache-2.0
#include <gantry/storage_memory.hpp>

#include <gtest/gtest.h>

#include "tests/unit/cxx/fake_host_table.hpp"

namespace gantry {
namespace {

// A host whose function reads the memory that is counted, as a plugin that it opens may do.
struct ReadingHost : test::FakeHostTable {
  ReadingHost() {
    device_get = [](const gantry_host* host, gantry_device_id id, gantry_device*, gantry_status*) {
      const auto* const self = static_cast<const ReadingHost*>(host);
      self->bytes = self->memory->bytes(id);
      return gantry_code{GANTRY_NOT_FOUND};
    };
  }
  const StorageMemory* memory = nullptr;
  mutable std::uint64_t bytes = 0;
};

// With the lock it would not return.
TEST(StorageMemory, NamesADeviceWithoutItsLock) {
  const auto memory = std::make_shared<StorageMemory>("acme.vm", 100);
  ReadingHost host;
  host.memory = memory.get();
  StorageMemory::Request request{{}, 60};
  // A number that the runtime has assigned.
  request.tensor.device = {64, 0};
  const auto block = memory->allocate(Host(&host), request);
  ASSERT_TRUE(block.ok()) << block.error().message;

  const auto refused = memory->allocate(Host(&host), request);

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().reason, "MEMORY_LIMIT");
  EXPECT_EQ(host.bytes, 60u);
  EXPECT_EQ(memory->bytes({64, 0}), 60u);
}

}  // namespace
}  // namespace gantry
