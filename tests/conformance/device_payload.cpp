// SPDX-License-Identifier: Apache-2.0
#include "device_payload.hpp"

#include "core/engine/embed/objects.hpp"
#include "core/engine/runtime/payload.hpp"
#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "tests/support/generation.hpp"

namespace gantry::conformance {

Guarded::Guarded(std::span<const std::uint8_t> bytes, std::size_t before_the_end) {
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
Guarded::~Guarded() { munmap(base_, size_); }

std::vector<std::uint8_t> payload_of(const Runtime& runtime, const UnderTest& device) {
  const auto elf = ElfFile::parse(MappedFile::open(path_of(device)).value()).value();
  const Container container = read_container(elf, state_of(runtime.get())->layouts).value();
  for (const Entry& entry : container.entries) {
    if (*device.type_key != 0 && entry.type_key == device.type_key)
      return {entry.payload.begin(), entry.payload.end()};
  }
  return {};
}

void DevicePayload::SetUp() {
  if (*GetParam().type_key == 0) GTEST_SKIP() << "the host's own code has no payload";
  DeviceTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  server = state_of(runtime->get())->plugins->for_key(GetParam().type_key).value();
  loader = loader_of(*server, GetParam().type_key);
  ASSERT_NE(loader, nullptr);
  payload = payload_of(*runtime, GetParam());
  ASSERT_FALSE(payload.empty());
}

gantry_blob DevicePayload::blob_of(std::span<const std::uint8_t> bytes, gantry_object* pin) const {
  gantry_blob blob{};
  blob.struct_size = sizeof blob;
  blob.flags = GANTRY_BLOB_EXACT;
  blob.type_key = gantry_text(GetParam().type_key);
  blob.origin = gantry_text("a test");
  blob.data = bytes.data();
  blob.size = bytes.size();
  blob.argument_tags = gantry::test::argument_tags_of_generation(3);
  blob.pin = pin;
  return blob;
}

Result<Loaded> DevicePayload::load(std::span<const std::uint8_t> bytes, gantry_object* pin) const {
  const gantry_blob blob = blob_of(bytes, pin);
  PluginInstance& instance = instance_of(*server);
  Loaded loaded;
  StatusBuffer status;
  const gantry_code code = status.call([&](gantry_status* failure) {
    return loader->load_binary(instance.self(), &blob, nullptr, &loaded.pair, &loaded.consumed,
                               failure);
  });
  if (code == GANTRY_OK) return loaded;
  EXPECT_EQ(loaded.pair.table, nullptr) << "the loader fails and writes a module";
  loaded.pair = {};
  return status.error(code, "load_binary");
}

Result<std::int32_t> DevicePayload::verdict_of(std::span<const std::uint8_t> bytes) const {
  if (!GANTRY_HAS(loader, check_binary) || loader->check_binary == nullptr)
    return unsupported("no check_binary");
  const ObjectPtr pin = no_pin();
  const gantry_blob blob = blob_of(bytes, pin.get());
  std::int32_t verdict = -1;
  StatusBuffer status;
  const gantry_code code = status.call([&](gantry_status* failure) {
    return loader->check_binary(instance_of(*server).self(), &blob, 0, &verdict, failure);
  });
  if (code != GANTRY_OK) return status.error(code, "check_binary");
  return verdict;
}

std::vector<std::string> DevicePayload::kernels(const Loaded& loaded) const {
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

}  // namespace gantry::conformance
