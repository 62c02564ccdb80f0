// SPDX-License-Identifier: Apache-2.0
//
// A Relay executable: read, verified, listed, and run on a fake host whose kernels do nothing. What
// the verifier accepts is checked again in its decoded form.
//
//     the input is the payload
#include "core/formats/vm_details.hpp"
#include "plugins/relay_vm/listing.hpp"
#include "plugins/relay_vm/machine.hpp"
#include "tests/fuzz/payload_frame.hpp"
#include "tests/support/fake_host.hpp"

#include <gantry/compact_tensor.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace gantry;
using namespace gantry::fuzz;
using relay::Instruction;
using relay::Opcode;
using relay::Operand;
using relay::Program;

namespace {

// An instruction of 24 bytes is a record of 48 and one of 16; lists double when they grow.
constexpr Cost read_cost{.bytes_per_input_byte = 24};
// A word of 8 bytes is a name of 128 characters, each an escaped byte.
constexpr Cost list_cost{.bytes_per_input_byte = 512};
// Storages of a run.
constexpr std::size_t max_allocations = 64;

void expect_valid(const Program& program, const relay::FunctionCode& function,
                  const Instruction& at) {
  const auto is_register = [&](std::uint32_t reg) { return reg < function.register_count; };
  const auto is_target = [&](std::uint32_t i) { return i >= function.begin && i < function.end; };
  for (const Operand operand : relay::opcode_table[static_cast<std::size_t>(at.opcode)].operands) {
    const bool is_valid =
        operand == Operand::dst           ? is_register(at.dst)
        : operand == Operand::reg_a       ? is_register(at.a)
        : operand == Operand::reg_b       ? is_register(at.b)
        : operand == Operand::reg_c       ? is_register(at.c)
        : operand == Operand::function    ? at.a < program.functions.size()
        : operand == Operand::packed      ? at.a < program.packed_functions.size()
        : operand == Operand::constant    ? at.a < program.constant_devices.size()
        : operand == Operand::device_b    ? at.b < program.devices.size()
        : operand == Operand::device_c    ? at.c < program.devices.size()
        : operand == Operand::outputs     ? at.b <= at.count
        : operand == Operand::target      ? is_target(at.c)
        : operand == Operand::else_target ? is_target(at.first)
        : operand == Operand::registers ? std::ranges::all_of(program.registers_of(at), is_register)
        : operand == Operand::extents
            ? std::ranges::all_of(program.extents_of(at), [](std::int64_t e) { return e >= 0; })
            : true;
    expect(is_valid, "operands are in their ranges");
  }
}

void expect_valid(const Program& program) {
  for (const std::uint32_t device : program.constant_devices)
    expect(device < program.devices.size(), "the device of a constant exists");
  for (const relay::FunctionCode& function : program.functions) {
    expect(function.params.size() <= function.register_count &&
               function.params.size() == function.param_devices.size(),
           "parameters are registers and have devices");
    expect(function.begin < function.end && function.end <= program.instructions.size(),
           "a function has instructions");
    for (std::uint32_t i = function.begin; i < function.end; ++i)
      expect_valid(program, function, program.instructions[i]);
    const Opcode last = program.instructions[function.end - 1].opcode;
    expect(last == Opcode::ret || last == Opcode::jump || last == Opcode::branch ||
               last == Opcode::fatal,
           "a function ends without a next instruction");
  }
}

void run(test::FakeHost& fake, const std::shared_ptr<relay::Loaded>& loaded) {
  const Host host(fake.table());
  relay::Machine machine(host, loaded, {.depth = 64, .transfers = 256});
  const gantry_device_id devices[] = {test::cpu, test::handles};
  if (!machine.initialize(devices, nullptr).ok()) return;
  const std::int64_t shape[] = {2};
  const Value argument = host.tensor_new(compact_tensor(dtypes::int64, shape)).value();
  std::fill_n(static_cast<std::int64_t*>(argument.tensor()->data), 2, 1);
  fake.max_allocations = fake.allocations.size() + max_allocations;
  constexpr std::size_t max_functions = 4, max_params = 64;
  const auto& functions = loaded->program.functions;
  for (std::uint32_t i = 0; i < std::min(functions.size(), max_functions); ++i) {
    if (functions[i].params.size() > max_params) continue;
    const std::vector<gantry_value> args(functions[i].params.size(), argument.get());
    for (int repeat = 0; repeat < 2; ++repeat) {
      const auto result = machine.run(i, nullptr, args);
      expect(result.ok() || !result.error().message.empty(), "a failure has a text");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  test::FakeHost fake;
  gantry_object* const pin = fake.new_pin();
  const gantry_blob raw = test::payload_blob({data, size}, -1, true, pin);
  std::shared_ptr<relay::Loaded> loaded;
  {
    Blob blob(raw, fake.node());
    std::optional<Budget> budget;
    budget.emplace(size, read_cost);
    auto read = relay::Loaded::read(Host(fake.table()), blob,
                                    std::make_shared<StorageMemory>("gantry.relay-vm"));
    if (read.ok()) loaded = std::move(*read);
    budget.reset();
    if (loaded == nullptr) expect_refusal(read.error(), size);
  }
  if (loaded != nullptr) {
    expect_valid(loaded->program);
    DetailSink sink;
    sink.max = UINT64_MAX;
    // The size of the code precedes it; bytes behind it belong to the next payload.
    std::uint64_t code_size = 0;
    std::memcpy(&code_size, data, sizeof code_size);
    const std::span<const std::uint8_t> code(data + sizeof code_size, code_size);
    expect(
        describe_virtual_machine("VMExecutable", ByteReader(code, 8), Numbering::packed, sink).ok(),
        "the core describes what the plugin accepts");
    {
      const Budget budget(size, list_cost);
      const std::string listed = relay::listing(loaded->program);
      expect(static_cast<std::size_t>(std::ranges::count(listed, '\n')) ==
                 2 * loaded->program.functions.size() + loaded->program.instructions.size(),
             "each instruction and each function has a line");
    }
    for (const std::string_view name : loaded->program.packed_functions) {
      fake.add_function(std::string(name),
                        [](const gantry_env*, std::span<const gantry_value>, gantry_value*,
                           gantry_status*) { return gantry_code{GANTRY_OK}; });
    }
    run(fake, loaded);
    loaded.reset();
  }
  fake.release(pin);
  return 0;
}
