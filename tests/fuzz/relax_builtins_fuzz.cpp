// SPDX-License-Identifier: Apache-2.0
//
// Calls of the functions that Relax executables look up, outside of a machine, on a fake host whose
// kernels touch the bytes of their tensors. Arguments are those that the usage of a function
// suggests, or any others; results are arguments of later calls.
//
//     byte 0      even: a paged cache with three sequences is there, of the bytes that follow
//     each call   the function, the form of its arguments, and for each argument its bytes
#include "plugins/relax/builtin.hpp"
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fake_calls.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

using namespace gantry;
using namespace gantry::fuzz;
using relax::Builtin;

namespace {

// A call of a few bytes makes tensors of up to 12 KiB, and errors name arguments.
constexpr Cost cost{.bytes_per_input_byte = 16 * 1024,
                    .bytes_for_free = std::size_t{8} << 20,
                    .nanoseconds_per_input_byte = 50'000};

class Calls : FakeCalls {
 public:
  explicit Calls(std::span<const std::uint8_t> input) : FakeCalls(input) {}

  void run() {
    // Most functions of a paged cache need one with sequences.
    if (choices_.below(2) == 0) {
      call("vm.builtin.paged_attention_kv_cache_create", cache_arguments());
      for (std::int64_t id = 0; id < 3; ++id) {
        if (!paged_.empty())
          call("vm.builtin.kv_state_add_sequence", {paged_.back().get(), int_value(id)});
      }
    }
    while (!choices_.empty()) run_one();
  }

 private:
  void run_one() {
    const auto rows = relax::builtins();
    const Builtin& row = *rows[choices_.take<std::uint8_t>() % rows.size()];
    // 0: as the usage suggests; else also other numbers of arguments, and other arguments
    const std::size_t form = choices_.below(8);
    std::vector<gantry_value> args;
    temporary_.clear();
    batch_ = 1 + choices_.below(3);
    takes_group_ = row.usage.find(" group,") != row.usage.npos;
    is_paged_ = std::ranges::find(relax::paged_cache_builtins(), row.name, &Builtin::name) !=
                relax::paged_cache_builtins().end();
    if (row.name.ends_with("paged_attention_kv_cache_create")) {
      args = cache_arguments();
    } else {
      const std::size_t count = count_of(row.usage) + (form == 1 ? choices_.below(4) : 0);
      for (std::size_t i = 0; i < count; ++i) {
        const bool is_any = form >= 6 || (form == 5 && choices_.below(4) == 0);
        args.push_back(is_any ? any() : of_name(detail::argument_name(row.usage, i)));
      }
    }
    if (form == 2 && !args.empty()) args.pop_back();
    if (form == 3 && !args.empty()) args[choices_.below(args.size())] = any();
    call(row, args);
  }

  void call(std::string_view name, const std::vector<gantry_value>& args) {
    const Builtin* const row = relax::find_builtin(name);
    expect(row != nullptr, "a builtin is found by its name");
    call(*row, args);
  }
  void call(const Builtin& row, const std::vector<gantry_value>& args) {
    auto result = row.call(host_, memory_, &env_, args);
    check(result);
    if (!result.ok()) return;
    if (row.name.ends_with("cache_create"))
      keep(*host_.keep(result->get()),
           row.name.find(".paged_") != row.name.npos ? paged_ : legacy_);
    keep(std::move(*result), kept_);
  }

  gantry_value of_name(std::string_view name) {
    const auto is = [&](std::initializer_list<std::string_view> names) {
      return is_one_of(name, names);
    };
    if (const auto& caches = is_paged_ ? paged_ : legacy_; name == "cache" && !caches.empty())
      return caches[caches.size() - 1 - choices_.below(2) % caches.size()].get();
    if (is({"cache", "storage", "closure", "tuple", "caches"})) return kept_of(name);
    if (is({"sequence", "parent", "child",  "position", "n",     "layer",     "window",
            "sink",     "begin",  "end",    "axis",     "k",     "ascending", "size",
            "ndim",     "code",   "number", "index",    "entry", "offset",    "device",
            "type",     "count",  "vm",     "group"}))
      return int_value(choices_.take<std::int8_t>() % 8);
    if (is({"sequences", "lengths", "leaves"})) {
      std::vector<std::int64_t> numbers;
      for (std::size_t i = 0; i < batch_; ++i)
        numbers.push_back(name == "sequences"
                              ? static_cast<std::int64_t>((i + choices_.below(4)) % 4)
                              : static_cast<std::int64_t>(choices_.below(5)));
      return made(host_.shape(numbers));
    }
    if (is({"metadata"})) return metadata();
    if (takes_group_ && is({"out", "data"})) {
      group_extents_[1] = static_cast<std::int64_t>(choices_.below(4));
      return tensor(dtypes::float32, group_extents_, test::cpu, choices_.below(8));
    }
    if (is({"shape", "parents"})) return shape();
    if (is({"dtype"})) return dtype_value(any_type());
    if (is({"context", "scope", "what"})) return text();
    if (is({"function"})) return object_value(kernel_.get());
    if (is({"heap"})) return tensor(dtypes::int64);
    if (is({"token_ids", "ids"})) return tensor(dtypes::int32);
    if (is({"top_p", "uniform_sample", "penalty", "temperature", "sm_scale"})) return number();
    return tensor(dtypes::float32);
  }

  // Of an argument of this name: an object that an earlier call has made, the last ones first.
  gantry_value kept_of(std::string_view name) {
    const std::int32_t kind = name == "tuple" || name == "caches" ? GANTRY_ARRAY : GANTRY_OBJECT;
    std::size_t skipped = choices_.below(4);
    for (std::size_t i = kept_.size(); i-- > 0;) {
      if (kept_[i].get().kind == kind && skipped-- == 0) return kept_[i].get();
    }
    return name == "caches" ? array() : any();
  }

  // The last text of an earlier call, with a byte that is often another one.
  gantry_value metadata() {
    const auto found = std::find_if(kept_.rbegin(), kept_.rend(), [](const Value& value) {
      return value.get().kind == GANTRY_STRING;
    });
    if (found == kept_.rend()) return text();
    std::string changed(*value_text(found->get()));
    if (choices_.below(2) == 0)
      changed[choices_.take<std::uint8_t>() % changed.size()] = choices_.take<char>();
    return made(host_.text(changed));
  }

  // Arguments with which a paged cache is created, or nearly.
  std::vector<gantry_value> cache_arguments() {
    const auto small = [&](std::size_t limit) {
      return static_cast<std::int64_t>(choices_.below(limit));
    };
    const std::int64_t layers = 1 + small(2);
    const std::int64_t config[] = {1 + small(4), 1 + small(40), 1 + small(12), 1 + small(4),
                                   small(2)};
    const std::int64_t range[] = {0, layers}, kinds[] = {0, 0, 0};
    const gantry_value function = object_value(kernel_.get());
    const auto items = [&](std::vector<gantry_value> values) {
      std::vector<Value> owned;
      for (const gantry_value& value : values) owned.push_back(host_.keep(value).value());
      return made(host_.array(owned));
    };
    const gantry_value kernel = items({made(host_.text("tirx")), function});
    std::vector<gantry_value> args = {made(host_.shape(config)),
                                      made(host_.shape(range)),
                                      int_value(1 + small(3)),
                                      int_value(1 + small(2)),
                                      int_value(1 + small(4)),
                                      int_value(1 + small(4)),
                                      made(host_.shape(kinds)),
                                      int_value(0),
                                      int_value(small(3)),
                                      float_value(1),
                                      float_value(10000),
                                      {},
                                      tensor(dtypes::float32),
                                      function,
                                      function};
    args.insert(args.end(), 8, kernel);
    args.push_back(items({function, function}));
    args.insert(args.end(), 4, function);
    // Nearly all caches have as many values as keys.
    args[5] = args[4];
    group_extents_ = {1, 0, 2, args[3].i, config[3], args[4].i};
    return args;
  }

  const gantry_env env_{test::cpu, nullptr, nullptr, nullptr};
  const std::shared_ptr<StorageMemory> memory_ = std::make_shared<StorageMemory>("gantry.relax");
  // results that are caches
  std::vector<Value> paged_, legacy_;
  // of the call: its sequences, and whether it is one of a paged cache
  std::size_t batch_ = 1;
  bool is_paged_ = false;
  // of the pages of a checkpoint, and whether the call has them
  std::vector<std::int64_t> group_extents_ = {1, 0, 2, 1, 1, 1};
  bool takes_group_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Budget budget(size, cost);
  Calls({data, size}).run();
  return 0;
}
