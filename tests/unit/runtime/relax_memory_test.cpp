// SPDX-License-Identifier: Apache-2.0
//
// The memory of large constants of Relax executables: the file's own pages where they are aligned,
// else one copy for all machines.
#include "tests/support/aligned_bytes.hpp"
#include "tests/support/anonymous_bytes.hpp"
#include "tests/unit/runtime/digits.hpp"
#include "tests/unit/runtime/large_memory.hpp"
#include "tests/unit/runtime/linked_release.hpp"

#include <gantry/dtype_text.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace gantry {
namespace {

using test::anonymous_bytes;
using test::linked_releases;
using test::LinkedRelease;

constexpr std::int64_t mib = std::int64_t{1} << 20;
constexpr std::int64_t constant_bytes = 64 * mib;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// Sanitizers have memory about the program's memory: up to eight times as much.
constexpr std::int64_t room = constant_bytes / 2;
constexpr std::int64_t bytes_of_copy = 9 * constant_bytes;
#else
// Code, tables and the pages of the heap that a load and two machines need.
constexpr std::int64_t room = 5 * mib;
constexpr std::int64_t bytes_of_copy = constant_bytes;
#endif
// Compiled code loads vectors at multiples of this.
constexpr std::ptrdiff_t alignment = 64;

// A container whose constant, which main() passes to the function "test.use", begins `misalignment`
// bytes after a multiple of the alignment.
std::vector<std::uint8_t> container_with_constant(const LinkedRelease& release,
                                                  std::ptrdiff_t misalignment) {
  constexpr std::array<std::uint8_t, 16> marker = {0x9e, 0x37, 0x79, 0xb9, 0x7f, 0x4a, 0x7c, 0x15,
                                                   0xf3, 0x9c, 0xc0, 0x60, 0x5c, 0xed, 0xc8, 0x34};
  std::vector<std::uint8_t> data(constant_bytes);
  std::ranges::copy(marker, data.begin());
  for (std::size_t padding = 0;; ++padding) {
    test::RelaxAssembler code(release.relax);
    const auto use = code.packed("test.use");
    code.text(std::string(padding, '.'));
    const auto array = code.array(dtypes::uint8, {constant_bytes}, data);
    code.function("main", {}, 1);
    code.call(0, use, {array});
    code.ret(0);
    const test::Words container = test::relax_container(release, code.payload());
    const auto bytes = container.bytes();
    const auto at = std::ranges::search(bytes, marker).begin() - bytes.begin();
    if (at % alignment == misalignment) return {bytes.begin(), bytes.end()};
    const auto missing = (misalignment - at) % alignment;
    padding += static_cast<std::size_t>((missing + alignment) % alignment) - 1;
  }
}

// Returns the anonymous memory that two machines over the executable add.
std::int64_t bytes_of_two_machines(std::ptrdiff_t misalignment) {
  const LinkedRelease& release =
      *std::ranges::find(linked_releases, "v0_24_LLVM", &LinkedRelease::name);
  const std::string file =
      test::link_release(release, "relax.c", container_with_constant(release, misalignment));
  Runtime runtime = test::new_runtime(test::built_plugins_only("relax"));
  std::vector<const void*> used;
  EXPECT_TRUE(runtime
                  .add_function("test.use",
                                [&](std::span<const gantry_value> args) -> Result<Any> {
                                  used.push_back(gantry_value_tensor(&args[0])->data);
                                  return Any();
                                })
                  .ok());

  const std::int64_t before = anonymous_bytes();
  EXPECT_GT(before, 0) << "/proc/self/smaps_rollup has no line Anonymous";
  const Module model = runtime.load(file).value();
  std::vector<Module> machines;
  for (int i = 0; i < 2; ++i) {
    machines.push_back(
        (*model.function("vm_load_executable"))(gantry_device_id{1, 0})->module().value());
    EXPECT_TRUE((*machines.back().function("main"))().ok());
  }
  EXPECT_EQ(used.size(), 2u);
  EXPECT_EQ(used[0], used[1]);
  return anonymous_bytes() - before;
}

TEST(RelaxConstants, AreUsedInTheFileWhereTheyAreAligned) {
  EXPECT_LT(bytes_of_two_machines(0), room);
}

TEST(RelaxConstants, AreCopiedOnceForAllMachinesWhereTheyAreNot) {
  const std::int64_t bytes = bytes_of_two_machines(1);

  EXPECT_GE(bytes, constant_bytes);
  EXPECT_LT(bytes, bytes_of_copy + room);
}

// Returns the anonymous memory from the load of an executable with 46 MB of constants to its first
// output.
std::int64_t bytes_to_first_result(bool is_aligned) {
  const LinkedRelease& release =
      *std::ranges::find(linked_releases, "v0_24_LLVM", &LinkedRelease::name);
  test::RelaxAssembler code(release.relax);
  const auto copy = code.packed("vm.builtin.copy");
  code.function("main", {}, 1);
  code.text("odd");
  const std::vector<float> data(test::large_array_floats, 0.5f);
  for (std::int64_t i = 0; i < test::large_array_count; ++i)
    code.call(0, copy, {code.floats({test::large_array_floats}, data)});
  code.ret(0);
  test::RelaxPayload payload = code.payload();
  if (is_aligned) {
    // `_lib` and its length follow the payload.
    const std::uint64_t at =
        test::relax_container(release, payload).size() - payload.bytes.size() - 8 - 4;
    payload.bytes = test::Words().bytes(
        test::aligned(release.type_key, payload.bytes.bytes(), Numbering::ffi, at).value());
  }
  const std::string file =
      test::link_release(release, "relax.c", test::relax_container(release, payload).bytes());
  Runtime runtime = test::new_runtime(test::built_plugins_only("relax"));

  const std::int64_t before = test::anonymous_bytes_in_use();
  const Module model = runtime.load(file).value();
  const auto vm = (*model.function("vm_load_executable"))(gantry_device_id{1, 0})->module();
  const auto result = (*vm->function("main"))();
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(static_cast<const float*>(result->tensor().value().data())[1], 0.5f);
  const std::int64_t bytes = anonymous_bytes() - before;
  std::printf("[          ] %lld bytes of anonymous memory, constants have %lld\n",
              static_cast<long long>(bytes), static_cast<long long>(test::large_model_bytes));
  return bytes;
}

TEST(RelaxConstants, AreNotCopiedFromAnAlignedPayload) {
  EXPECT_LT(bytes_to_first_result(true), test::max_bytes_in_place);
}

TEST(RelaxConstants, AreCopiedFromAPayloadThatIsNotAligned) {
  EXPECT_GE(bytes_to_first_result(false), test::min_bytes_of_copies);
}

}  // namespace
}  // namespace gantry
