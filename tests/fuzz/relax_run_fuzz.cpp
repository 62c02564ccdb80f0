// SPDX-License-Identifier: Apache-2.0
//
// A Relax executable that is assembled from the input, run on a machine in a fake host: builtins with
// registers, constants, functions and the machine itself as arguments, closures and functions that
// call each other.
//
//     bytes   for each of some functions its instructions: an opcode, then its operands
#include "plugins/relax/vm.hpp"
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/touched.hpp"
#include "tests/support/relax_assembler.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/handle.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

using namespace gantry;
using namespace gantry::fuzz;
using test::FakeHost;
using test::relax_function;
using test::relax_immediate;
using test::relax_register;
using test::RelaxAssembler;

namespace {

constexpr std::int64_t function_count = 3;
constexpr std::int64_t register_count = 8;
constexpr std::size_t max_instructions = 64;
// Loops and functions that call each other end with the task, which is cancelled then.
constexpr std::size_t max_polls = 2000;
// 32 MiB.
constexpr std::size_t max_allocations = 512, max_tensor_bytes = 64 * 1024;
// Tensors of a run, and an executable whose instructions are some words each.
constexpr Cost cost{.bytes_per_input_byte = 16 * 1024,
                    .bytes_for_free = std::size_t{64} << 20,
                    .nanoseconds_per_input_byte = 1'000'000,
                    .nanoseconds_for_free = 100'000'000};

class Assembly {
 public:
  explicit Assembly(std::span<const std::uint8_t> input) : choices_(input) {
    for (const relax::Builtin* row : relax::builtins())
      builtins_.push_back(code_.packed(row->name));
    builtins_.push_back(code_.packed("kernel"));
    add_constants();
    const auto first = static_cast<std::int64_t>(builtins_.size());
    for (std::int64_t i = 0; i < function_count; ++i) functions_.push_back(first + i);
  }

  RelaxAssembler assembled() {
    for (std::int64_t i = 0; i < function_count; ++i) {
      code_.function(concat("f", i), {"a", "b"}, register_count);
      added_ = 0;
      for (std::size_t n = choices_.below(max_instructions / function_count); n > 0; --n) add();
      code_.ret(reg());
    }
    return std::move(code_);
  }

 private:
  void add_constants() {
    constants_.push_back(code_.floats({2, 3}, {1, 2, 3, 4, 5, 6}));
    constants_.push_back(code_.floats({1, 4}, {0.1f, 0.2f, 0.3f, 0.4f}));
    constants_.push_back(code_.floats({0, 3}, {}));
    constants_.push_back(code_.floats({}, {1}));
    constexpr std::int64_t numbers[] = {1, 0, 3, -1};
    constexpr std::int32_t small[] = {1, 0, 2};
    constants_.push_back(code_.array(dtypes::int64, {4}, bytes_of(numbers)));
    constants_.push_back(code_.array(dtypes::int32, {3}, bytes_of(small)));
    constants_.push_back(code_.array({1, 8, 1}, {}, std::span<const std::uint8_t>(&one_, 1)));
    for (const gantry_dtype type :
         {dtypes::float32, dtypes::int64, dtypes::int32, gantry_dtype{2, 16, 1}})
      constants_.push_back(code_.dtype(type));
    const std::vector<std::vector<std::int64_t>> shapes = {
        {},   {2, 3},      {6},       {64},   {0, 2},          {1, 1},
        {-1}, {INT64_MAX}, {1 << 20}, {3, 2}, {4, 8, 4, 2, 0}, {0, 1, 2}};
    for (const auto& shape : shapes) constants_.push_back(code_.shape(shape));
    for (const char* const text : {"", "global", "both", "values", "tirx", "\x1b[0m"})
      constants_.push_back(code_.text(text));
    for (const std::int64_t number : {std::int64_t{7}, INT64_MIN, INT64_MAX})
      constants_.push_back(code_.integer(number));
    for (const double number : {0.5, 1e300}) constants_.push_back(code_.number(number));
  }
  template <class T>
  static std::span<const std::uint8_t> bytes_of(const T& numbers) {
    return {reinterpret_cast<const std::uint8_t*>(numbers), sizeof numbers};
  }

  std::int64_t reg() { return static_cast<std::int64_t>(choices_.below(register_count)); }
  template <class T>
  T one_of(const std::vector<T>& values) {
    return values[choices_.take<std::uint8_t>() % values.size()];
  }

  std::int64_t argument() {
    switch (choices_.below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        return relax_register(reg());
      case 5:
        return relax_immediate(choices_.take<std::int8_t>());
      case 6:
        return relax_immediate(std::int64_t{1} << choices_.below(55));
      case 7:
        return relax_function(choices_.below(2) == 0 ? one_of(functions_) : one_of(builtins_));
      case 8:
        return relax_register(test::relax_vm);
      case 9:
        return relax_register(test::relax_void);
      default:
        return one_of(constants_);
    }
  }

  void add() {
    const std::uint8_t opcode = choices_.take<std::uint8_t>();
    // Skips the next instruction, or what follows it, which is a loop.
    const bool is_branch = opcode % 16 == 15;
    if (is_branch) {
      code_.branch(reg(), 2);
      ++added_;
    }
    if (is_branch && opcode >= 128) {
      code_.jump(-static_cast<std::int64_t>(choices_.below(added_) + 1));
      ++added_;
      return;
    }
    const bool is_own = opcode % 16 == 13 || opcode % 16 == 14;
    const std::int64_t callee = is_own ? one_of(functions_) : one_of(builtins_);
    std::vector<std::int64_t> arguments;
    for (std::size_t count = is_own ? 2 : choices_.below(8); count > 0; --count)
      arguments.push_back(argument());
    code_.call(opcode >= 240 ? test::relax_void : reg(), callee, arguments);
    ++added_;
  }

  static constexpr std::uint8_t one_ = 1;
  Choices choices_;
  // instructions of the function
  std::size_t added_ = 0;
  RelaxAssembler code_;
  std::vector<std::int64_t> builtins_, functions_, constants_;
};

// Builtins as functions that are arguments: the runtime has them as those of the plugin.
void add_builtins(FakeHost& fake) {
  const auto memory = std::make_shared<StorageMemory>("gantry.relax");
  for (const relax::Builtin* row : relax::builtins()) {
    fake.add_global(std::string(row->name),
                    [&fake, row, memory](const gantry_env* env, std::span<const gantry_value> args,
                                         gantry_value* result, gantry_status* status) {
                      auto made = row->call(Host(fake.table()), memory, env, args);
                      if (made.ok()) {
                        *result = made->take();
                        return gantry_code{GANTRY_OK};
                      }
                      const Error& error = made.error();
                      return gantry_fail(status, static_cast<gantry_code>(error.code), "BUILTIN",
                                         error.message.text().c_str());
                    });
  }
}

void run(FakeHost& fake, const std::shared_ptr<const relax::Loaded>& loaded) {
  const Host host(fake.table());
  relax::Vm machine(host, loaded);
  const gantry_device_id devices[] = {test::cpu};
  expect(machine.initialize(devices, nullptr).ok(), "all functions are there");
  const std::int64_t shape[] = {2, 2};
  const Value argument = host.tensor_new(compact_tensor(dtypes::float32, shape)).value();
  std::fill_n(static_cast<float*>(argument.tensor()->data), 4, 0.25f);
  const gantry_value args[] = {argument.get(), int_value(1)};
  const gantry_env env{test::cpu, nullptr, &fake, nullptr};
  for (std::int64_t i = 0; i < function_count; ++i) {
    const auto function = loaded->program.find(concat("f", i));
    expect(function.has_value(), "a function is found by its name");
    const auto result = machine.run(*function, &env, args);
    if (result.ok()) {
      touch(fake, result->get());
    } else {
      expect(!result.error().message.empty(), "a failure has a text");
      expect(result.error().code != Code::bug, "a failure is one of the executable");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Budget budget(size, cost);
  FakeHost fake;
  fake.max_tensor_bytes = max_tensor_bytes;
  fake.max_allocations = max_allocations;
  fake.cancelled_after_polls = max_polls;
  add_kernel(fake);
  add_builtins(fake);
  gantry_object* const pin = fake.new_pin();
  {
    const RelaxAssembler code = Assembly({data, size}).assembled();
    const test::RelaxPayload payload = code.payload();
    const gantry_blob raw = payload.blob(pin);
    Blob blob(raw, fake.node());
    auto loaded = relax::Loaded::read(Host(fake.table()), blob,
                                      std::make_shared<StorageMemory>("gantry.relax"));
    expect(loaded.ok(), "the assembled executable is valid");
    run(fake, *loaded);
  }
  fake.release(pin);
  return 0;
}
