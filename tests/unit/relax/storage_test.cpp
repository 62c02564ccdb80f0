// SPDX-License-Identifier: Apache-2.0
#include "plugins/relax/storage.hpp"

#include "plugins/relax/plugin.hpp"
#include "tests/support/fake_host.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>

namespace gantry::relax::test {
namespace {

using gantry::test::cpu;
using gantry::test::FakeHost;
using gantry::test::handles;

class StoragePools : public ::testing::Test {
 protected:
  std::shared_ptr<StoragePool> pool(const std::shared_ptr<StorageMemory>& memory) const {
    return StoragePool::create(Host(fake.table()), memory);
  }

  FakeHost fake;
};

TEST_F(StoragePools, ReuseABlockForTheSameRoundedSizeAndDevice) {
  const auto memory = std::make_shared<StorageMemory>("gantry.relax");
  const auto own = pool(memory);
  ASSERT_TRUE(own->take(cpu, 100, "").ok());
  ASSERT_TRUE(own->take(cpu, 4096, "").ok());
  EXPECT_EQ(memory->bytes(cpu), 4096u);

  ASSERT_TRUE(own->take(cpu, 4097, "").ok());
  ASSERT_TRUE(own->take(handles, 100, "").ok());
  ASSERT_TRUE(own->take(cpu, 100, "texture").ok());

  EXPECT_EQ(memory->bytes(cpu), 4096u + 8192 + 4096);
  EXPECT_EQ(memory->bytes(handles), 4096u);
  const gantry_device_id second{handles.type, 1};
  ASSERT_TRUE(own->take(second, 100, "").ok());
  EXPECT_EQ(memory->bytes(second), 4096u);
}

TEST_F(StoragePools, RefuseAStorageAboveTheLimit) {
  const auto own = pool(std::make_shared<StorageMemory>("gantry.relax", 3 * 4096));
  const auto held = own->take(cpu, 8192, "");
  ASSERT_TRUE(held.ok());

  const auto refused = own->take(cpu, 5000, "");

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::exhausted);
  EXPECT_EQ(refused.error().reason, "MEMORY_LIMIT");
  EXPECT_EQ(refused.error().message,
            "storage of 8192 bytes on cpu:0, where executables hold 8192 bytes and the limit is "
            "12.0 KiB (12288 bytes): release results and virtual machines, or raise option "
            "memory_limit_mib of gantry.relax");
  EXPECT_TRUE(own->take(cpu, 4096, "").ok());
  EXPECT_TRUE(own->take(handles, 12288, "").ok()) << "the limit is that of one device";
}

TEST_F(StoragePools, FreeUnusedBlocksOfAllExecutablesAtTheLimit) {
  const auto memory = std::make_shared<StorageMemory>("gantry.relax", 3 * 4096);
  const auto first = pool(memory), second = pool(memory);
  ASSERT_TRUE(first->take(cpu, 8192, "").ok());
  ASSERT_TRUE(second->take(cpu, 4096, "").ok());
  EXPECT_EQ(memory->bytes(cpu), 3 * 4096u);

  const auto large = second->take(cpu, 3 * 4096, "");

  EXPECT_TRUE(large.ok()) << large.error().message;
  EXPECT_EQ(memory->bytes(cpu), 3 * 4096u);
}

TEST_F(StoragePools, FreeTheirOwnUnusedBlocksFirst) {
  const auto memory = std::make_shared<StorageMemory>("gantry.relax", 3 * 4096);
  const auto first = pool(memory), second = pool(memory);
  ASSERT_TRUE(first->take(cpu, 4096, "").ok());
  ASSERT_TRUE(second->take(cpu, 8192, "").ok());
  ASSERT_TRUE(second->take(cpu, 4096, "").ok());
  fake.allocations.clear();

  ASSERT_TRUE(first->take(cpu, 4096, "").ok());

  EXPECT_THAT(fake.allocations, ::testing::IsEmpty()) << "the block of the first pool is there";
}

TEST_F(StoragePools, CountNothingForAnAllocationThatFails) {
  const auto memory = std::make_shared<StorageMemory>("gantry.relax");
  fake.max_allocations = 0;

  EXPECT_EQ(pool(memory)->take(cpu, 1, "").error().code, Code::exhausted);

  EXPECT_EQ(memory->bytes(cpu), 0u);
}

TEST_F(StoragePools, FreeTheirBlocksWhenTheyAreClosed) {
  const auto memory = std::make_shared<StorageMemory>("gantry.relax");
  const auto own = pool(memory);
  auto held = own->take(cpu, 4096, "");
  ASSERT_TRUE(own->take(cpu, 8192, "").ok());

  own->close();
  EXPECT_EQ(memory->bytes(cpu), 4096u) << "of the storage that is in use";
  held = Value();
  EXPECT_EQ(memory->bytes(cpu), 0u);
}

TEST_F(StoragePools, RefuseASizeThatIsNoSizeOfMemory) {
  const auto refused =
      pool(std::make_shared<StorageMemory>("gantry.relax"))->take(cpu, UINT64_MAX, "");

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().reason, "STORAGE");
}

class HostMemories : public ::testing::Test {
 protected:
  // Returns the error of an allocation, or an empty one.
  static Error error_of(HostMemory& memory, std::size_t bytes) {
    try {
      memory.deallocate(memory.allocate(bytes), bytes);
    } catch (const ErrorThrown& thrown) {
      return thrown.error();
    }
    return {};
  }

  FakeHost fake;
  const std::shared_ptr<StorageMemory> counted =
      std::make_shared<StorageMemory>("gantry.relax", 1 << 20);
};

TEST_F(HostMemories, CountAsStoragesOnTheCpuDo) {
  HostMemory memory(Host(fake.table()), counted, "tables", 1 << 30);
  {
    const std::pmr::vector<char> some(100'000, 'x', &memory);
    EXPECT_GE(counted->bytes(cpu), 100'000u);

    const Error refused = error_of(memory, 1 << 20);

    EXPECT_EQ(refused.code, Code::exhausted);
    EXPECT_EQ(refused.reason, "MEMORY_LIMIT");
  }
  EXPECT_EQ(counted->bytes(cpu), 0u);
}

TEST_F(HostMemories, HaveALimitOfTheirOwn) {
  HostMemory memory(Host(fake.table()), std::make_shared<StorageMemory>("gantry.relax"), "tables",
                    100'000);
  const std::pmr::vector<char> some(60'000, 'x', &memory);

  EXPECT_EQ(error_of(memory, 40'000).message, "");
  EXPECT_EQ(error_of(memory, 40'001).message,
            "tables require 39.1 KiB (40001 bytes) and hold 58.6 KiB (60000 bytes), the limit is "
            "97.7 KiB (100000 bytes)");
}

TEST_F(HostMemories, CountNothingThatNoFileMakesLarger) {
  HostMemory memory(Host(fake.table()), counted, "tables", 1 << 30);

  const std::pmr::vector<char> some(HostMemory::uncounted_bytes, 'x', &memory);

  EXPECT_EQ(counted->bytes(cpu), 0u);
}

class MemoryLimit : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Plugin>> plugin() { return Plugin::create(Host(fake.table())); }

  FakeHost fake;
};

TEST_F(MemoryLimit, IsAnOptionInMebibytes) {
  fake.options["memory_limit_mib"] = std::int64_t{1};
  const auto made = plugin();
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto pool = StoragePool::create((*made)->host, (*made)->memory);

  EXPECT_TRUE(pool->take(cpu, 1 << 20, "").ok());
  EXPECT_EQ(pool->take(cpu, (1 << 20) + 1, "").error().reason, "MEMORY_LIMIT");
}

TEST_F(MemoryLimit, IsNoneWithoutTheOption) {
  const auto made = plugin();
  ASSERT_TRUE(made.ok());

  EXPECT_TRUE(StoragePool::create((*made)->host, (*made)->memory)->take(cpu, 1 << 26, "").ok());
}

TEST_F(MemoryLimit, RefusesOtherValues) {
  const std::variant<std::string, std::int64_t, bool> wrong[] = {std::string("1"), std::int64_t{-1},
                                                                 true, (INT64_MAX >> 20) + 1};
  for (const auto& value : wrong) {
    fake.options["memory_limit_mib"] = value;

    const auto made = plugin();

    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, Code::invalid);
    EXPECT_EQ(made.error().reason, "CONFIG");
    EXPECT_EQ(made.error().message,
              "option memory_limit_mib is not an integer from 0 to 8796093022207");
  }
}

// ---- parts of storages

class PartsOfStorages : public StoragePools {
 protected:
  // The tensor of `bytes` bytes at an offset of a storage of 4096.
  Value part(const Value& storage, std::uint64_t offset, std::int64_t bytes) const {
    const gantry_tensor like = compact_tensor(dtypes::uint8, {&bytes, 1});
    return tensor_in(Host(fake.table()), storage.object(), offset, like).value();
  }

  const std::shared_ptr<StorageMemory> memory = std::make_shared<StorageMemory>("gantry.relax");
  const std::shared_ptr<StoragePool> own = pool(memory);
};

TEST_F(PartsOfStorages, BeginWhereTheDeviceAllowsIt) {
  fake.attributes = {{GANTRY_ATTRIBUTE_ALIGNMENT, 256}, {GANTRY_ATTRIBUTE_PADDING, 512}};
  const Value storage = own->take(handles, 4096, "").value();
  const void* const whole = part(storage, 0, 10).tensor()->data;

  const Value at_512 = part(storage, 512, 16);

  EXPECT_EQ(at_512.tensor()->data, whole);
  EXPECT_EQ(at_512.tensor()->byte_offset, 512u);
  EXPECT_EQ(memory->bytes(handles), 4096u);
}

TEST_F(PartsOfStorages, HaveMemoryOfTheirOwnElsewhere) {
  fake.attributes = {{GANTRY_ATTRIBUTE_ALIGNMENT, 256}, {GANTRY_ATTRIBUTE_PADDING, 512}};
  Value storage = own->take(handles, 4096, "").value();
  const void* const whole = part(storage, 0, 10).tensor()->data;

  Value first = part(storage, 256, 16);
  const Value again = part(storage, 256, 16), other = part(storage, 64, 16);

  EXPECT_NE(first.tensor()->data, whole);
  EXPECT_EQ(first.tensor()->byte_offset, 0u);
  EXPECT_EQ(again.tensor()->data, first.tensor()->data) << "it may hold a recorded value";
  EXPECT_NE(other.tensor()->data, first.tensor()->data);
  EXPECT_EQ(memory->bytes(handles), 4096u + 16 + 16);
}

TEST_F(PartsOfStorages, ReturnTheirMemoryWithTheStorage) {
  fake.attributes = {{GANTRY_ATTRIBUTE_ALIGNMENT, 256}};
  { const Value tensor = part(own->take(handles, 4096, "").value(), 64, 16); }

  EXPECT_EQ(memory->bytes(handles), 4096u) << "that of the pool";
}

}  // namespace
}  // namespace gantry::relax::test
