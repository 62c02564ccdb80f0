// SPDX-License-Identifier: Apache-2.0
#include "core/formats/relay_program.hpp"

#include "core/formats/vm_constants.hpp"

#include <gantry/array_record.hpp>
#include <gantry/concat.hpp>
#include <gantry/device_name.hpp>
#include <gantry/quoted.hpp>
#include <gantry/result.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::relay {
namespace {

// Verifies and decodes the code of an executable. Used once.
class Decoder {
 public:
  explicit Decoder(const RelayCode& code) : code_(code) {}
  Result<Program> decode();

 private:
  Error in_function(Error error, std::uint32_t index) const;
  bool has_virtual_devices() const { return code_.form->devices != RelayForm::Devices::none; }

  Status read_devices();
  // Returns the index of a device that a field states.
  Result<std::uint32_t> device_of(std::int64_t field, std::uint64_t at, std::string_view what);
  Status read_constant_devices();
  Status place_functions();
  Status describe_function(const RelayFunction& function, FunctionCode& to);

  // index    [in]   of the function in the file
  Status decode_function(std::uint32_t index);
  // Registers that no instruction names take no memory.
  void renumber_registers();
  Status decode_instruction(std::uint32_t index);
  Status decode_operand(Operand operand, Instruction& to);
  // What refers to several operands.
  Status check_operands(const Instruction& instruction) const;
  // Each takes the next words of the instruction.
  Result<std::int64_t> take(std::string_view operand);
  Status take_below(std::uint64_t count, std::string_view item, std::uint32_t& to);
  Status take_device(std::uint32_t& to);
  Status take_target(std::uint32_t& to);
  Status take_dtype(gantry_dtype& to);
  Status take_count(std::uint32_t& to);
  Status take_registers(Instruction& to);
  Status take_extents(Instruction& to);

  // Of the word that was taken last.
  std::uint64_t word_at() const { return RelayCode::word_at(*raw_, next_ == 0 ? 0 : next_ - 1); }

  template <class... Parts>
  Failure refuse_word(const Parts&... parts) const {
    return refuse_code(word_at(), parts...);
  }

  const RelayCode& code_;
  Program program_;
  // by index of the function in the file
  std::vector<std::uint32_t> global_of_function_;
  FunctionCode* function_ = nullptr;
  const RelayInstruction* raw_ = nullptr;
  std::uint32_t index_ = 0;
  // The next word.
  std::uint32_t next_ = 0;
  std::vector<std::uint32_t> named_;
};

Result<Program> Decoder::decode() {
  program_.packed_functions = code_.packed_functions;
  GANTRY_CHECK(read_devices());
  GANTRY_CHECK(place_functions());
  GANTRY_CHECK(read_constant_devices());
  program_.instructions.reserve(code_.instructions.size());
  for (std::uint32_t i = 0; i < code_.functions.size(); ++i) {
    if (Status decoded = decode_function(i); !decoded.ok())
      return in_function(std::move(decoded).error(), i);
  }
  return std::move(program_);
}

Error Decoder::in_function(Error error, std::uint32_t index) const {
  return std::move(error).at("in function ", index, " ", quoted(code_.functions[index].name));
}

Status Decoder::read_devices() {
  program_.devices = code_.virtual_devices;
  if (!has_virtual_devices()) {
    // The host has to be the CPU; other types are added as they are found.
    program_.devices = {{cpu_device_type, 0, {}}};
    return {};
  }
  const std::size_t count = program_.devices.size();
  if (code_.host_device < 0 || static_cast<std::size_t>(code_.host_device) >= count) {
    return refuse_code(code_.host_at, "host device is ", code_.host_device,
                       ", virtual device count is ", count);
  }
  program_.host_device = static_cast<std::uint32_t>(code_.host_device);
  return {};
}

Result<std::uint32_t> Decoder::device_of(std::int64_t field, std::uint64_t at,
                                         std::string_view what) {
  if (has_virtual_devices()) {
    const std::size_t count = program_.devices.size();
    if (field >= 0 && static_cast<std::uint64_t>(field) < count)
      return static_cast<std::uint32_t>(field);
    return refuse_code(at, what, " is ", field, ", virtual device count is ", count);
  }
  // TVM of v0.8 has numbers up to 16 or so.
  constexpr std::int64_t max_type = 1 << 16;
  if (field < 1 || field > max_type)
    return refuse_code(at, what, " has type ", field, ", range is 1 to ", max_type);
  const auto type = static_cast<std::int32_t>(field);
  const auto found = std::ranges::find(program_.devices, type, &RelayDevice::type);
  const auto index = static_cast<std::uint32_t>(found - program_.devices.begin());
  if (found == program_.devices.end()) program_.devices.push_back({type, 0, {}});
  return index;
}

Status Decoder::read_constant_devices() {
  for (std::size_t i = 0; i < code_.devices.size(); ++i) {
    const std::uint64_t at = code_.devices_end - 8 * (code_.devices.size() - i);
    auto device = device_of(code_.devices[i], at, "device of a constant");
    if (!device.ok()) return std::move(device).error().at("in constant ", i);
    program_.constant_devices.push_back(*device);
  }
  return {};
}

// The index of a function is that of its name among the globals.
Status Decoder::place_functions() {
  std::map<std::string_view, std::uint32_t> global_of;
  for (std::uint32_t i = 0; i < code_.globals.size(); ++i) {
    if (!global_of.emplace(code_.globals[i], i).second)
      return refuse_code(code_.globals_at, "global ", i, " has the name ", quoted(code_.globals[i]),
                         " of another one");
  }
  for (const auto& [name, index] : global_of) program_.by_name.push_back(index);
  if (code_.functions.size() != code_.globals.size()) {
    return refuse_code(code_.functions_at, "code has ", code_.functions.size(),
                       " functions, global count is ", code_.globals.size());
  }
  program_.functions.resize(code_.functions.size());
  std::vector<bool> is_placed(code_.functions.size(), false);
  for (std::uint32_t i = 0; i < code_.functions.size(); ++i) {
    const RelayFunction& function = code_.functions[i];
    const auto found = global_of.find(function.name);
    if (found == global_of.end() || is_placed[found->second]) {
      return in_function(
          refuse_code(function.at, found == global_of.end() ? "name is not one of the globals"
                                                            : "name is that of another function"),
          i);
    }
    is_placed[found->second] = true;
    global_of_function_.push_back(found->second);
    Status described = describe_function(function, program_.functions[found->second]);
    if (!described.ok()) return in_function(std::move(described).error(), i);
  }
  return {};
}

Status Decoder::describe_function(const RelayFunction& function, FunctionCode& to) {
  to.name = function.name;
  to.params = function.params;
  if (function.register_count > max_registers) {
    return refuse_code(function.at, "register count is ", function.register_count, ", maximum is ",
                       max_registers);
  }
  to.register_count = static_cast<std::uint32_t>(function.register_count);
  to.register_count_in_file = to.register_count;
  if (function.params.size() > to.register_count) {
    return refuse_code(function.at, "parameter count is ", function.params.size(),
                       ", register count is ", to.register_count);
  }
  if (function.param_devices.size() != function.params.size()) {
    return refuse_code(function.at, "parameter devices are ", function.param_devices.size(),
                       ", expected ", function.params.size());
  }
  for (const std::int64_t field : function.param_devices) {
    GANTRY_TRY(const std::uint32_t device, device_of(field, function.at, "device of a parameter"));
    to.param_devices.push_back(device);
  }
  if (function.instruction_count == 0)
    return refuse_code(function.at, "function has no instructions");
  to.begin = function.first_instruction;
  to.end = function.first_instruction + function.instruction_count;
  return {};
}

// Limits the text of an instruction in an error.
constexpr std::uint32_t max_shown_words = 16;

// "invoke_packed 0 2 1 3 4", as in the file.
std::string text_of(const RelayCode& code, const RelayInstruction& instruction) {
  const std::int64_t opcode = code.word(instruction, 0);
  const bool is_known = opcode >= 0 && opcode < std::int64_t{opcode_count};
  std::string text =
      is_known ? std::string(name_of(static_cast<Opcode>(opcode))) : concat("opcode ", opcode);
  for (std::uint32_t i = 1; i < std::min(instruction.word_count, max_shown_words); ++i)
    text += concat(' ', code.word(instruction, i));
  return instruction.word_count > max_shown_words ? text + " ..." : text;
}

Status Decoder::decode_function(std::uint32_t index) {
  function_ = &program_.functions[global_of_function_[index]];
  for (std::uint32_t i = function_->begin; i < function_->end; ++i) {
    Status decoded = decode_instruction(i);
    if (!decoded.ok()) {
      return std::move(decoded).error().at("in instruction ", i - function_->begin, ": ",
                                           text_of(code_, code_.instructions[i]));
    }
  }
  const Opcode last = program_.instructions[function_->end - 1].opcode;
  if (last != Opcode::ret && last != Opcode::jump && last != Opcode::branch &&
      last != Opcode::fatal) {
    return refuse_code(code_.instructions[function_->end - 1].at, "the last instruction is ",
                       name_of(last), ", expected ret, goto, if or fatal");
  }
  renumber_registers();
  return {};
}

void Decoder::renumber_registers() {
  const auto for_each_register = [this](auto&& apply) {
    for (std::uint32_t i = function_->begin; i < function_->end; ++i) {
      Instruction& instruction = program_.instructions[i];
      for (const Operand operand :
           opcode_table[static_cast<std::size_t>(instruction.opcode)].operands) {
        if (operand == Operand::dst) apply(instruction.dst);
        if (operand == Operand::reg_a) apply(instruction.a);
        if (operand == Operand::reg_b) apply(instruction.b);
        if (operand == Operand::reg_c) apply(instruction.c);
        if (operand != Operand::registers) continue;
        for (std::uint32_t r = 0; r < instruction.count; ++r)
          apply(program_.registers[instruction.first + r]);
      }
    }
  };
  const auto params = static_cast<std::uint32_t>(function_->params.size());
  named_.clear();
  for_each_register([&](std::uint32_t reg) {
    if (reg >= params) named_.push_back(reg);
  });
  std::ranges::sort(named_);
  named_.erase(std::ranges::unique(named_).begin(), named_.end());
  const auto count = static_cast<std::uint32_t>(named_.size());
  if (params + count == function_->register_count) return;
  for_each_register([&](std::uint32_t& reg) {
    if (reg >= params)
      reg = params +
            static_cast<std::uint32_t>(std::ranges::lower_bound(named_, reg) - named_.begin());
  });
  function_->register_count = params + count;
  function_->first_number = static_cast<std::uint32_t>(program_.numbers_in_file.size());
  function_->renumbered_count = count;
  program_.numbers_in_file.insert(program_.numbers_in_file.end(), named_.begin(), named_.end());
}

Status Decoder::decode_instruction(std::uint32_t index) {
  raw_ = &code_.instructions[index];
  index_ = index;
  next_ = 0;
  GANTRY_TRY(const std::int64_t opcode, take("opcode"));
  if (opcode < 0 || opcode >= std::int64_t{opcode_count})
    return refuse_word("opcode is ", opcode, ", range is 0 to ", opcode_count - 1);
  Instruction instruction;
  instruction.opcode = static_cast<Opcode>(opcode);
  for (const Operand operand : opcode_table[static_cast<std::size_t>(opcode)].operands)
    GANTRY_CHECK(decode_operand(operand, instruction));
  if (next_ != raw_->word_count) {
    return refuse_word("instruction has ", raw_->word_count, " words, its operands end at ", next_);
  }
  GANTRY_CHECK(check_operands(instruction));
  program_.instructions.push_back(instruction);
  return {};
}

Status Decoder::decode_operand(Operand operand, Instruction& to) {
  const bool is_scoped = code_.form->devices == RelayForm::Devices::scoped;
  switch (operand) {
    case Operand::none:
      return {};
    case Operand::dst:
      return take_below(function_->register_count, "register", to.dst);
    case Operand::reg_a:
      return take_below(function_->register_count, "register", to.a);
    case Operand::reg_b:
      return take_below(function_->register_count, "register", to.b);
    case Operand::reg_c:
      return take_below(function_->register_count, "register", to.c);
    case Operand::function:
      return take_below(program_.functions.size(), "function", to.a);
    case Operand::packed:
      return take_below(program_.packed_functions.size(), "packed function", to.a);
    case Operand::constant:
      return take_below(code_.constants.size(), "constant", to.a);
    case Operand::device_b:
      return take_device(to.b);
    case Operand::device_c:
      return take_device(to.c);
    case Operand::device_of_scoped:
      return is_scoped ? take_device(to.b) : Status();
    case Operand::outputs:
      return take_below(std::uint64_t{to.count} + 1, "output count", to.b);
    case Operand::target:
      return take_target(to.c);
    case Operand::else_target:
      return take_target(to.first);
    case Operand::value: {
      GANTRY_TRY(to.value, take("number"));
      return {};
    }
    case Operand::index: {
      GANTRY_TRY(to.value, take("index"));
      return to.value >= 0 ? Status() : refuse_word("index is ", to.value, ", minimum is 0");
    }
    case Operand::dtype:
      return take_dtype(to.dtype);
    case Operand::count:
      return take_count(to.count);
    case Operand::count_of_scoped:
      return is_scoped ? take_count(to.count) : Status();
    case Operand::registers:
      return take_registers(to);
    case Operand::extents:
      return take_extents(to);
  }
  return {};
}

Status Decoder::check_operands(const Instruction& instruction) const {
  const std::size_t params =
      instruction.opcode == Opcode::invoke || instruction.opcode == Opcode::alloc_closure
          ? program_.functions[instruction.a].params.size()
          : 0;
  if (instruction.opcode == Opcode::invoke && instruction.count != params) {
    return refuse_word("function ", quoted(program_.functions[instruction.a].name), " receives ",
                       instruction.count, " arguments, parameter count is ", params);
  }
  if (instruction.opcode != Opcode::alloc_closure) return {};
  if (instruction.count > params) {
    return refuse_word("closure of ", quoted(program_.functions[instruction.a].name), " captures ",
                       instruction.count, " values, parameter count is ", params);
  }
  // A closure has only values that exist before it.
  const auto captured = program_.registers_of(instruction);
  if (std::ranges::find(captured, instruction.dst) != captured.end()) {
    return refuse_word("closure captures its own register ", instruction.dst,
                       ": a closure cannot contain itself");
  }
  return {};
}

Result<std::int64_t> Decoder::take(std::string_view operand) {
  if (next_ == raw_->word_count) {
    return refuse_code(raw_->at, "instruction has ", raw_->word_count,
                       " words and ends before its ", operand);
  }
  return code_.word(*raw_, next_++);
}

Status Decoder::take_below(std::uint64_t count, std::string_view item, std::uint32_t& to) {
  GANTRY_TRY(const std::int64_t index, take(item));
  if (index < 0 || static_cast<std::uint64_t>(index) >= count) {
    if (item == "output count")
      return refuse_word(item, " is ", index, ", argument count is ", count - 1);
    return refuse_word(item, " is ", index, ", ", item, " count is ", count);
  }
  to = static_cast<std::uint32_t>(index);
  return {};
}

Status Decoder::take_device(std::uint32_t& to) {
  GANTRY_TRY(const std::int64_t field, take("device"));
  GANTRY_TRY(to, device_of(field, word_at(), "device"));
  return {};
}

Status Decoder::take_target(std::uint32_t& to) {
  GANTRY_TRY(const std::int64_t distance, take("distance"));
  const auto back = std::int64_t{function_->begin} - std::int64_t{index_};
  const auto ahead = std::int64_t{function_->end} - std::int64_t{index_};
  if (distance < back || distance >= ahead) {
    return refuse_word("distance is ", distance, ", range in the function is ", back, " to ",
                       ahead - 1);
  }
  if (distance == 0) return refuse_word("distance is 0: the instruction jumps to itself");
  to = static_cast<std::uint32_t>(std::int64_t{index_} + distance);
  return {};
}

Status Decoder::take_dtype(gantry_dtype& to) {
  GANTRY_TRY(const std::int64_t code, take("type code"));
  GANTRY_TRY(const std::int64_t bits, take("bits"));
  GANTRY_TRY(const std::int64_t lanes, take("lanes"));
  if (code < 0 || code > UINT8_MAX || bits < 1 || bits > UINT8_MAX || lanes < 1 ||
      lanes > UINT16_MAX) {
    return refuse_word("element type has code ", code, ", ", bits, " bits and ", lanes,
                       " lanes, ranges are 0 to 255, 1 to 255 and 1 to 65535");
  }
  to = {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits),
        static_cast<std::uint16_t>(lanes)};
  return {};
}

Status Decoder::take_count(std::uint32_t& to) {
  GANTRY_TRY(const std::int64_t count, take("count"));
  const std::uint32_t left = raw_->word_count - next_;
  if (count < 0 || count > std::int64_t{left})
    return refuse_word("count is ", count, ", words left are ", left);
  to = static_cast<std::uint32_t>(count);
  return {};
}

Status Decoder::take_registers(Instruction& to) {
  to.first = static_cast<std::uint32_t>(program_.registers.size());
  for (std::uint32_t i = 0; i < to.count; ++i) {
    std::uint32_t reg = 0;
    GANTRY_CHECK(take_below(function_->register_count, "register", reg));
    program_.registers.push_back(reg);
  }
  return {};
}

Status Decoder::take_extents(Instruction& to) {
  to.first = static_cast<std::uint32_t>(program_.extents.size());
  if (to.count > max_array_dimensions)
    return refuse_word("dimensions are ", to.count, ", maximum is ", max_array_dimensions);
  for (std::uint32_t i = 0; i < to.count; ++i) {
    GANTRY_TRY(const std::int64_t extent, take("extent"));
    if (extent < 0) return refuse_word("extent is ", extent, ", minimum is 0");
    program_.extents.push_back(extent);
  }
  return {};
}

}  // namespace

std::optional<std::uint32_t> Program::find(std::string_view function) const {
  const auto name_of_index = [&](std::uint32_t index) { return functions[index].name; };
  const auto found = std::ranges::lower_bound(by_name, function, {}, name_of_index);
  if (found == by_name.end() || name_of_index(*found) != function) return std::nullopt;
  return *found;
}

Result<Program> decode(const RelayCode& code) { return Decoder(code).decode(); }

}  // namespace gantry::relay
