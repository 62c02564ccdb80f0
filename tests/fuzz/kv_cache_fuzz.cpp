// SPDX-License-Identifier: Apache-2.0
//
// The sequences and forward passes of a KV cache, compared with lists of tokens after each call: the
// reference is that of tests/unit/relax_kv/world.hpp, whose expectations abort here.
//
//     byte 0 to 4   sizes of the cache: batch, tokens, tokens of a pass, tokens of a page, window
//     rest          calls: the function, then its numbers
#include "tests/fuzz/fuzz.hpp"
#include "tests/unit/relax_kv/world.hpp"

#include <gtest/gtest.h>

#include <cstdint>

using namespace gantry;
using namespace gantry::fuzz;
using relax::test::Numbers;
using relax::test::World;

namespace {

// The reference compares all of the cache after each call.
constexpr int max_calls = 256;

// Numbers that are often valid.
class Calls {
 public:
  explicit Calls(std::span<const std::uint8_t> input)
      : choices_(input), world_(shape_of(choices_)) {}

  void run() {
    for (int i = 0; i < max_calls && !choices_.empty(); ++i) run_one();
    for (const std::int64_t id : world_.ids())
      expect(world_.remove(id).ok(), "a sequence is removed");
    expect(world_.cache.free_page_count() == world_.cache.config().page_count,
           "pages of removed sequences are free");
  }

 private:
  static Numbers shape_of(Choices& choices) {
    Numbers shape;
    for (const std::size_t limit : {6U, 64U, 24U, 6U})
      shape.push_back(1 + static_cast<std::int64_t>(choices.below(limit)));
    shape.push_back(static_cast<std::int64_t>(choices.below(2)));
    return shape;
  }
  std::int64_t id() { return static_cast<std::int64_t>(choices_.below(8)); }
  // -2 to the number of tokens and one more.
  std::int64_t position(std::int64_t sequence) {
    const auto length = world_.cache.length(sequence);
    const std::size_t limit = length.ok() ? static_cast<std::size_t>(*length) + 4 : 4;
    return static_cast<std::int64_t>(choices_.take<std::uint16_t>() % limit) - 2;
  }

  void run_one() {
    switch (choices_.below(16)) {
      case 0:
      case 1:
        (void)world_.add(id());
        break;
      case 2:
        (void)world_.remove(id());
        break;
      case 3:
      case 4:
      case 5: {
        const std::int64_t parent = id(), child = id();
        (void)world_.fork(parent, child, position(parent));
        break;
      }
      case 6:
      case 7: {
        const std::int64_t sequence = id();
        (void)world_.pop(sequence, position(sequence));
        break;
      }
      case 8: {
        const std::int64_t sequence = id(), window = position(sequence);
        (void)world_.enable_window(sequence, window, position(sequence));
        break;
      }
      case 9:
        if (choices_.below(8) == 0) world_.clear();
        break;
      default:
        forward();
    }
  }

  void forward() {
    const std::size_t form = choices_.below(8), count = 1 + choices_.below(6);
    Numbers ids, lengths, parents;
    for (std::size_t i = 0; i < count; ++i) {
      ids.push_back(id());
      lengths.push_back(form < 3 ? 1 : static_cast<std::int64_t>(choices_.below(12)));
    }
    if (form >= 6) {
      // A chain, or any tree.
      for (const std::int64_t length : lengths) {
        for (std::int64_t token = 0; token < length; ++token)
          parents.push_back(form == 6 ? token - 1
                                      : static_cast<std::int64_t>(choices_.below(6)) - 2);
      }
    }
    if (!world_.forward(ids, lengths, parents).ok() || parents.empty()) return;
    Numbers leaves;
    for (const std::int64_t length : lengths) {
      const auto limit = static_cast<std::size_t>(length) + 3;
      leaves.push_back(static_cast<std::int64_t>(choices_.below(limit)) - 2);
    }
    (void)world_.accept(ids, leaves);
  }

  Choices choices_;
  World world_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  GTEST_FLAG_SET(break_on_failure, true);
  Calls({data, size}).run();
  return 0;
}
