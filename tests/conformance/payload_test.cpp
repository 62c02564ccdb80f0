// SPDX-License-Identifier: Apache-2.0
//
// Cases 52 to 62: what a loader makes of the payload, wherever it lies and whatever has been done to it.
#include "core/runtime/payload.hpp"
#include "core/blob/container.hpp"
#include "core/elf/elf_file.hpp"
#include "core/runtime/plugin_instance.hpp"
#include "tests/support/files.hpp"
#include "under_test.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <thread>

namespace gantry::conformance {
namespace {

// Bytes that end where a page ends behind which there is nothing, and which cannot be written; unmapped at the end.
class Guarded {
 public:
  Guarded(std::span<const std::uint8_t> bytes, std::size_t before_the_end = 0) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t room = (bytes.size() + before_the_end + page - 1) / page * page;
    size_ = room + page;
    base_ = static_cast<std::uint8_t*>(
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    at_ = base_ + room - bytes.size() - before_the_end;
    if (!bytes.empty()) std::memcpy(at_, bytes.data(), bytes.size());
    mprotect(base_, room, PROT_READ);
    mprotect(base_ + room, page, PROT_NONE);
    bytes_ = bytes.size();
  }
  ~Guarded() { munmap(base_, size_); }
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

class DevicePayload : public DeviceTest {
 protected:
  void SetUp() override {
    if (*GetParam().type_key == 0) GTEST_SKIP() << "the host's own code has no payload";
    DeviceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    server = runtime->state().plugins->for_key(GetParam().type_key).value();
    loader = loader_of(*server, GetParam().type_key);
    ASSERT_NE(loader, nullptr);
    auto file = MappedFile::open(path_of(GetParam())).value();
    auto elf = ElfFile::parse(file).value();
    runtime->state().plugins->candidates();  // layouts of all manifests are known
    const Container container = read_container(elf, runtime->state().layouts).value();
    for (const Entry& entry : container.entries) {
      if (entry.type_key != GetParam().type_key) continue;
      payload.assign(entry.payload.begin(), entry.payload.end());
    }
    ASSERT_FALSE(payload.empty());
  }

  std::span<const std::uint8_t> front_of_payload(std::size_t size) const {
    return {payload.data(), size};
  }
  gantry_blob blob_of(std::span<const std::uint8_t> bytes, gantry_object* pin) const {
    gantry_blob blob{};
    blob.struct_size = sizeof blob;
    blob.flags = GANTRY_BLOB_EXACT;
    blob.type_key = gantry_text(GetParam().type_key);
    blob.origin = gantry_text("a test");
    blob.data = bytes.data();
    blob.size = bytes.size();
    blob.generation = 3;
    blob.pin = pin;
    return blob;
  }
  Result<Loaded> load(std::span<const std::uint8_t> bytes, gantry_object* pin) const {
    const gantry_blob blob = blob_of(bytes, pin);
    auto& instance = *static_cast<PluginInstance*>(server->instance.get());
    Loaded loaded;
    StatusBuffer status;
    const gantry_code code = status.call([&](gantry_status* said) {
      return loader->load_binary(instance.self(), &blob, nullptr, &loaded.pair, &loaded.consumed,
                                 said);
    });
    if (code == GANTRY_OK) return loaded;
    EXPECT_EQ(loaded.pair.table, nullptr) << "a module is written although loading fails";
    loaded.pair = {};
    return status.error(code, "load_binary");
  }
  ObjectPtr pin_of(std::shared_ptr<const void> what) const {
    return new_pin(std::move(what)).value();
  }
  ObjectPtr no_pin() const { return pin_of(std::make_shared<int>(0)); }

  // Names of its kernels, in order.
  std::vector<std::string> kernels(const Loaded& loaded) const {
    std::vector<std::string> names;
    const gantry_visitor visitor{sizeof visitor, 0, &names,
                                 [](void* self, const gantry_function_info* info, gantry_status*) {
                                   static_cast<std::vector<std::string>*>(self)->emplace_back(
                                       info->name.data, info->name.size);
                                   return gantry_code{GANTRY_OK};
                                 }};
    EXPECT_EQ(loaded.pair.table->list_functions(loaded.pair.self, &visitor, nullptr), GANTRY_OK);
    return names;
  }

  std::shared_ptr<const ActivePlugin> server;
  const gantry_loader_table* loader = nullptr;
  std::vector<std::uint8_t> payload;
};

// 52
TEST_P(DevicePayload, IsRefusedWhereverItIsCut) {
  const ObjectPtr pin = no_pin();
  for (std::size_t k = 0; k < 66; ++k) {
    const std::size_t size = k < 2 ? k : (k - 2) * payload.size() / 64;
    const Guarded cut(front_of_payload(size));

    const auto loaded = load(cut.bytes(), pin.get());

    ASSERT_FALSE(loaded.ok()) << "the first " << size << " bytes of " << payload.size()
                              << " are taken";
    EXPECT_TRUE(loaded.error().code == Code::malformed || loaded.error().code == Code::unsupported)
        << size << ": " << loaded.error().message;
    EXPECT_FALSE(loaded.error().message.empty());
  }
}

// 53; the same ones every time
TEST_P(DevicePayload, ThatIsDamagedGivesACodeOrAModule) {
  const ObjectPtr pin = no_pin();
  std::mt19937 random(53);
  for (int k = 0; k < 1000; ++k) {
    std::vector<std::uint8_t> damaged = payload;
    for (std::uint32_t n = 1 + random() % 4; n != 0; --n) {
      // The structure is at the front.
      const std::size_t at =
          random() % (k % 2 == 0 ? damaged.size() : std::min<std::size_t>(damaged.size(), 256));
      damaged[at] = k % 3 == 0 ? std::uint8_t{0xff} : static_cast<std::uint8_t>(random());
    }
    const Guarded bytes(damaged);

    const auto loaded = load(bytes.bytes(), pin.get());

    if (loaded.ok()) continue;
    EXPECT_NE(loaded.error().code, Code::bug) << k << ": " << loaded.error().message;
    EXPECT_FALSE(loaded.error().message.empty()) << k;
  }
}

TEST_P(DevicePayload, ThatGoesOnBehindItsEndIsRefused) {
  std::vector<std::uint8_t> longer = payload;
  longer.push_back(0);

  const auto loaded = load(longer, no_pin().get());

  ASSERT_FALSE(loaded.ok() && loaded->consumed == longer.size())
      << "a byte that means nothing is taken";
}

// 56, 57
TEST_P(DevicePayload, LoadsFromEveryAddressAndFromMemoryThatCannotBeWritten) {
  const ObjectPtr pin = no_pin();
  std::vector<std::string> names;
  for (std::size_t offset = 0; offset < 64; ++offset) {
    const Guarded bytes(payload, offset);

    const auto loaded = load(bytes.bytes(), pin.get());

    ASSERT_TRUE(loaded.ok()) << offset << ": " << loaded.error().message;
    EXPECT_EQ(loaded->consumed, payload.size());
    if (offset == 0) names = kernels(*loaded);
    EXPECT_EQ(kernels(*loaded), names) << offset;
  }
}

// 58, 59: who keeps the bytes keeps their pin, and no longer than itself.
TEST_P(DevicePayload, IsThereAsLongAsTheModuleWantsIt) {
  auto bytes = std::make_shared<Guarded>(payload);
  const std::weak_ptr<Guarded> alive = bytes;
  const std::span<const std::uint8_t> view = bytes->bytes();
  ObjectPtr pin = pin_of(std::move(bytes));
  {
    const auto loaded = load(view, pin.get());
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    pin = ObjectPtr();  // unmapped, unless the module has kept it
    const std::vector<std::string> names = kernels(*loaded);
    EXPECT_FALSE(names.empty());
    for (const std::string& name : names) {
      gantry_function function{};
      ASSERT_EQ(loaded->pair.table->get_function(loaded->pair.self, {name.data(), name.size()},
                                                 &function, nullptr),
                GANTRY_OK)
          << name;
      if (GANTRY_HAS(function.table, destroy) && function.table->destroy)
        function.table->destroy(function.self);
    }
  }
  EXPECT_TRUE(alive.expired()) << "the module is gone and its bytes are not";
}

// 60
TEST_P(DevicePayload, LoadsAgainAndAgainOnManyThreads) {
  const ObjectPtr pin = no_pin();
  const bool parallel = (loader->flags & GANTRY_LOADER_PARALLEL) != 0;
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int t = 0; t < (parallel ? 16 : 1); ++t) {
    threads.emplace_back([&] {
      for (int k = 0; k < 20; ++k) failed += load(payload, pin.get()).ok() ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(failed, 0);
}

// 61
gantry_code write_some(void* self, const void* data, std::uint64_t size, gantry_status* status) {
  auto& [bytes, most] = *static_cast<std::pair<std::vector<std::uint8_t>, std::size_t>*>(self);
  if (size > most - bytes.size())
    return gantry_fail(status, GANTRY_EXHAUSTED, "DISK", "the disk is full");
  bytes.insert(bytes.end(), static_cast<const std::uint8_t*>(data),
               static_cast<const std::uint8_t*>(data) + size);
  return GANTRY_OK;
}

TEST_P(DevicePayload, IsSavedAsItWasAndAFullDiskIsTold) {
  const auto loaded = load(payload, no_pin().get());
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  if (!GANTRY_HAS(loaded->pair.table, save_binary) || !loaded->pair.table->save_binary)
    GTEST_SKIP() << "modules of " << GetParam().type_key << " are not saved";

  for (const std::size_t most :
       {payload.size(), std::size_t{0}, std::size_t{9}, payload.size() - 1}) {
    std::pair<std::vector<std::uint8_t>, std::size_t> disk({}, most);
    gantry_sink sink{};
    sink.struct_size = sizeof sink;
    sink.self = &disk;
    sink.write = write_some;
    StatusBuffer status;
    const gantry_code code = status.call([&](gantry_status* said) {
      return loaded->pair.table->save_binary(loaded->pair.self, &sink, said);
    });
    EXPECT_EQ(code, most == payload.size() ? GANTRY_OK : GANTRY_EXHAUSTED) << most;
    EXPECT_TRUE(code != GANTRY_OK || disk.first == payload) << most;
  }
}

// 62
TEST_P(DevicePayload, IsJudgedAsItIsLoaded) {
  auto& instance = *static_cast<PluginInstance*>(server->instance.get());
  if (!GANTRY_HAS(loader, check_binary) || loader->check_binary == nullptr)
    GTEST_SKIP() << "no check_binary";
  const ObjectPtr pin = no_pin();
  for (const std::size_t size : {payload.size(), payload.size() / 2, std::size_t{3}}) {
    const gantry_blob blob = blob_of(front_of_payload(size), pin.get());
    std::int32_t verdict = -1;
    StatusBuffer status;
    const gantry_code code = status.call([&](gantry_status* said) {
      return loader->check_binary(instance.self(), &blob, 0, &verdict, said);
    });
    if (code == GANTRY_UNSUPPORTED && size == payload.size()) GTEST_SKIP() << "no check_binary";
    EXPECT_EQ(code == GANTRY_OK, load(front_of_payload(size), pin.get()).ok()) << size;
    if (code == GANTRY_OK) {
      EXPECT_GE(verdict, GANTRY_VERDICT_RECOMPILE) << "it runs and is judged not to";
      EXPECT_LE(verdict, GANTRY_VERDICT_OPTIMAL);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, DevicePayload, ::testing::ValuesIn(devices), name_of_test);

}  // namespace
}  // namespace gantry::conformance
