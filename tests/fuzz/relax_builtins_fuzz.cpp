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
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/touched.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/handle.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

using namespace gantry;
using namespace gantry::fuzz;
using relax::Builtin;
using test::FakeHost;

namespace {

constexpr std::size_t max_kept = 64;
// A call of a few bytes makes tensors of up to 12 KiB, and errors name arguments.
constexpr Cost cost{.bytes_per_input_byte = 16 * 1024,
                    .bytes_for_free = std::size_t{8} << 20,
                    .nanoseconds_per_input_byte = 50'000};

constexpr gantry_dtype types[] = {dtypes::float32, dtypes::int32, dtypes::int64, {2, 16, 1},
                                  {2, 64, 1},      {0, 8, 1},     {1, 8, 1},     {6, 8, 1},
                                  {4, 16, 1},      {0, 4, 1},     {1, 1, 1},     {2, 32, 4},
                                  {3, 64, 1},      {0, 0, 1},     {2, 32, 0},    {9, 128, 3}};
constexpr std::string_view texts[] = {"both", "values", "indices", "tirx",    "global",
                                      "w",    "",       "x\xff",   "texture", "\x1b[0m"};

class Calls {
 public:
  explicit Calls(std::span<const std::uint8_t> input) : choices_(input) {
    // The numbers of an input are no sizes of memory.
    fake_.max_tensor_bytes = 64 * 1024;
    add_kernel(fake_);
    kernel_ = host_.find(fake_.node(), GANTRY_FIND_IMPORTS, "kernel").value();
  }

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
    if (!result.ok()) {
      expect(!result.error().message.empty(), "a failure has a text");
      expect(result.error().code != Code::bug, "a failure is one of the caller");
      return;
    }
    touch(fake_, result->get());
    if (row.name.ends_with("cache_create"))
      keep(*host_.keep(result->get()),
           row.name.find(".paged_") != row.name.npos ? paged_ : legacy_);
    keep(std::move(*result), kept_);
  }

  // The arguments that the usage names, without optional and repeated ones.
  static std::size_t count_of(std::string_view usage) {
    const auto required = usage.substr(0, std::min(usage.find('['), usage.size()));
    if (required.ends_with('(') || usage.ends_with("()")) return 0;
    return static_cast<std::size_t>(std::ranges::count(required, ',')) + 1;
  }

  gantry_value of_name(std::string_view name) {
    const auto is = [&](std::initializer_list<std::string_view> names) {
      return std::ranges::find(names, name) != names.end();
    };
    if (const auto& caches = is_paged_ ? paged_ : legacy_; name == "cache" && !caches.empty())
      return caches[caches.size() - 1 - choices_.below(2) % caches.size()].get();
    if (is({"cache", "storage", "closure", "tuple", "caches"})) return kept_of(name);
    if (is({"sequence", "parent", "child", "position", "n",         "layer", "window", "sink",
            "begin",    "end",    "axis",  "k",        "ascending", "size",  "ndim",   "code",
            "number",   "index",  "entry", "offset",   "device",    "type",  "count",  "vm"}))
      return int_value(choices_.take<std::int8_t>() % 8);
    if (is({"sequences", "lengths", "leaves"})) {
      std::vector<std::int64_t> numbers;
      for (std::size_t i = 0; i < batch_; ++i)
        numbers.push_back(name == "sequences"
                              ? static_cast<std::int64_t>((i + choices_.below(4)) % 4)
                              : static_cast<std::int64_t>(choices_.below(5)));
      return made(host_.shape(numbers));
    }
    if (is({"shape", "parents"})) return shape();
    if (is({"dtype"})) return dtype_value(types[choices_.below(std::size(types))]);
    if (is({"context", "scope", "what"})) return text();
    if (is({"function"})) return object_value(kernel_.get());
    if (is({"heap"})) return tensor(dtypes::int64);
    if (is({"token_ids", "ids"})) return tensor(dtypes::int32);
    if (is({"top_p", "uniform_sample", "penalty", "temperature", "sm_scale"})) return number();
    return tensor(dtypes::float32);
  }

  gantry_value any() {
    switch (choices_.below(10)) {
      case 0:
        return {};
      case 1:
        return int_value(integer());
      case 2:
        return number();
      case 3:
        return text();
      case 4:
        return shape();
      case 5:
        return tensor(types[choices_.below(std::size(types))]);
      case 6:
        return array();
      case 7:
        return choices_.below(2) == 0 ? device_value(test::handles)
                                      : dtype_value(types[choices_.below(std::size(types))]);
      case 8:
        return object_value(kernel_.get());
      default:
        return kept_.empty() ? gantry_value{} : kept_[choices_.below(kept_.size())].get();
    }
  }

  std::int64_t integer() {
    const std::uint8_t choice = choices_.take<std::uint8_t>();
    if (choice < 128) return choice % 16 - 4;
    if (choice < 190) return std::int64_t{1} << (choice - 128);
    constexpr std::int64_t extremes[] = {INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, UINT32_MAX};
    return extremes[choice % std::size(extremes)];
  }
  gantry_value number() {
    constexpr double numbers[] = {0,      1,
                                  -1,     0.5,
                                  1e-7,   1e300,
                                  -0.0,   std::numeric_limits<double>::infinity(),
                                  1e-320, std::numeric_limits<double>::quiet_NaN()};
    return float_value(numbers[choices_.below(std::size(numbers))]);
  }
  gantry_value text() { return made(host_.text(texts[choices_.below(std::size(texts))])); }
  std::vector<std::int64_t> extents(bool is_small) {
    const std::uint8_t rank = choices_.take<std::uint8_t>();
    std::vector<std::int64_t> extents;
    for (std::size_t i = 0; i < rank % 6u; ++i)
      extents.push_back(is_small || rank < 192 ? static_cast<std::int64_t>(choices_.below(5))
                                               : integer());
    return extents;
  }
  gantry_value shape() { return made(host_.shape(extents(false))); }
  // The bytes of elements repeat a few of the input.
  gantry_value tensor(gantry_dtype type) {
    const std::uint8_t form = choices_.take<std::uint8_t>();
    const auto dims = extents(true);
    const gantry_device_id device = form % 8 == 7 ? test::handles : test::cpu;
    auto value = host_.tensor_new(compact_tensor(type, dims, device));
    if (!value.ok()) return {};
    const auto bytes = tensor_bytes(dims, type);
    const auto content = choices_.take_bytes(form % 8);
    if (bytes.ok()) {
      std::uint8_t* const memory = fake_.memory_of(*value->tensor());
      for (std::uint64_t i = 0; i < *bytes; ++i)
        memory[i] = content.empty() ? 0 : content[i % content.size()];
    }
    return made(std::move(value));
  }
  gantry_value array() {
    std::vector<Value> items;
    for (std::size_t i = choices_.below(4); i > 0; --i) {
      if (auto item = host_.keep(kept_.empty() ? gantry_value{}
                                               : kept_[choices_.below(kept_.size())].get());
          item.ok())
        items.push_back(std::move(*item));
    }
    return made(host_.array(items));
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
    return args;
  }

  gantry_value made(Result<Value> value) {
    if (!value.ok()) return {};
    return temporary_.emplace_back(std::move(*value)).get();
  }
  static void keep(Value value, std::vector<Value>& to) {
    if (value.object() == nullptr) return;
    if (to.size() == max_kept) to.erase(to.begin());
    to.push_back(std::move(value));
  }
  static gantry_value object_value(gantry_object* object) {
    gantry_value value{};
    value.kind = object->kind;
    value.object = object;
    return value;
  }

  Choices choices_;
  FakeHost fake_;
  const Host host_{fake_.table()};
  const gantry_env env_{test::cpu, nullptr, nullptr, nullptr};
  const std::shared_ptr<StorageMemory> memory_ = std::make_shared<StorageMemory>("gantry.relax");
  ObjectRef kernel_;
  // results, those that are caches, and arguments of the call
  std::vector<Value> kept_, paged_, legacy_, temporary_;
  // of the call: its sequences, and whether it is one of a paged cache
  std::size_t batch_ = 1;
  bool is_paged_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Budget budget(size, cost);
  Calls({data, size}).run();
  return 0;
}
