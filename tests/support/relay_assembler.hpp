// SPDX-License-Identifier: Apache-2.0
//
// Builds payloads of Relay executables, valid ones and others:
//
//     RelayAssembler code("0.12.0");
//     const auto add = code.packed("add");
//     const auto size = code.integer(16);
//     code.function("main", {"x"}, 4);
//     code.load_const(size, 1);
//     code.alloc_storage(1, dtypes::float32, 0, 2);
//     ...
//     code.ret(3);
//     code.functions[0].instructions[0][1] = 7;      // words are written as they are
//     const RelayPayload payload = code.payload();
#pragma once

#include "tests/support/words.hpp"

#include <gantry/loader.h>
#include <gantry/dtype_text.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::test {

struct RelayDeviceText {
  std::int32_t type = 1;
  std::int32_t index = 0;
  std::string scope = "global";
};

struct RelayFunctionText {
  std::string name;
  std::string register_count;
  // empty: the number of instructions
  std::string instruction_count;
  std::vector<std::string> params;
  std::vector<std::int64_t> param_devices;
  // opcode and operands of each
  std::vector<std::vector<std::int64_t>> instructions;
};

struct RelayConstantText {
  std::uint32_t tag = 0;
  Words content;
  std::int64_t device = 0;
};

// The bytes of a payload and the offsets of its fields.
struct RelayPayload {
  Words bytes;
  std::uint64_t host_at = 0;
  std::uint64_t globals_at = 0;
  std::uint64_t constants_at = 0;
  std::vector<std::uint64_t> constant_at;
  // of the devices of constants, without their count
  std::uint64_t constant_devices_at = 0;
  std::uint64_t functions_at = 0;
  std::vector<std::uint64_t> function_at;
  // of the number of words, for each function and instruction
  std::vector<std::vector<std::uint64_t>> instruction_at;

  // Of a word: 0 is the opcode.
  std::uint64_t word_at(std::size_t function, std::size_t instruction, std::size_t word) const {
    return instruction_at.at(function).at(instruction) + 16 + 8 * word;
  }
  // A view of `bytes`.
  gantry_blob blob(gantry_object* pin = nullptr) const;
};

// Instructions that are added belong to the last function(). Jumps are relative to their own index.
class RelayAssembler {
 public:
  // version  decides about the layout of releases; the members below override it
  explicit RelayAssembler(std::string version = "0.12.0");

  // Each returns the index of what it adds.
  std::int64_t packed(std::string_view name);
  // The first virtual device, the CPU, is the host.
  std::int64_t device(std::int32_t type, std::int32_t index = 0, std::string_view scope = "global");
  std::int64_t function(std::string_view name, std::vector<std::string> params,
                        std::int64_t registers);
  std::int64_t array(gantry_dtype dtype, const std::vector<std::int64_t>& shape,
                     std::span<const std::uint8_t> data);
  std::int64_t floats(const std::vector<std::int64_t>& shape, const std::vector<float>& values);
  // A scalar, int64.
  std::int64_t integer(std::int64_t number);
  // A list of int64.
  std::int64_t integers(const std::vector<std::int64_t>& numbers);
  std::int64_t late(std::string_view name);

  using Registers = std::vector<std::int64_t>;
  void move(std::int64_t from, std::int64_t dst) { add({0, from, dst}); }
  void ret(std::int64_t reg) { add({1, reg}); }
  void invoke(std::int64_t function, const Registers& args, std::int64_t dst) {
    add({2, function, size(args), dst}, args);
  }
  void invoke_closure(std::int64_t closure, const Registers& args, std::int64_t dst) {
    add({3, closure, size(args), dst}, args);
  }
  void invoke_packed(std::int64_t packed, const Registers& args, std::int64_t outputs = 1) {
    add({4, packed, size(args), outputs}, args);
  }
  void alloc_tensor(std::int64_t storage, std::int64_t offset, gantry_dtype dtype,
                    const std::vector<std::int64_t>& shape, std::int64_t dst) {
    add({5, storage, offset, dtype.code, dtype.bits, dtype.lanes, size(shape), dst}, shape);
  }
  void alloc_tensor_reg(std::int64_t storage, std::int64_t offset, std::int64_t shape,
                        gantry_dtype dtype, std::int64_t dst) {
    add({6, storage, offset, shape, dtype.code, dtype.bits, dtype.lanes, dst});
  }
  void alloc_data(std::int64_t tag, const Registers& fields, std::int64_t dst) {
    add({7, tag, size(fields), dst}, fields);
  }
  void alloc_closure(std::int64_t function, const Registers& captured, std::int64_t dst) {
    add({8, function, size(captured), dst}, captured);
  }
  void get_field(std::int64_t object, std::int64_t index, std::int64_t dst) {
    add({9, object, index, dst});
  }
  void branch(std::int64_t test, std::int64_t target, std::int64_t if_equal,
              std::int64_t if_different) {
    add({10, test, target, if_equal, if_different});
  }
  void load_const(std::int64_t constant, std::int64_t dst);
  void jump(std::int64_t distance) { add({12, distance}); }
  void get_tag(std::int64_t object, std::int64_t dst) { add({13, object, dst}); }
  void load_integer(std::int64_t number, std::int64_t dst) { add({14, number, dst}); }
  void fatal() { add({15}); }
  // shape    releases from v0.14 only: the storage has it, and the memory scope of the device
  void alloc_storage(std::int64_t size, gantry_dtype dtype, std::int64_t device, std::int64_t dst,
                     const std::vector<std::int64_t>& shape = {});
  void shape_of(std::int64_t tensor, std::int64_t dst) { add({17, tensor, dst}); }
  void reshape_tensor(std::int64_t tensor, std::int64_t shape, std::int64_t dst) {
    add({18, tensor, shape, dst});
  }
  void device_copy(std::int64_t from, std::int64_t from_device, std::int64_t to_device,
                   std::int64_t dst) {
    add({19, from, from_device, to_device, dst});
  }
  void kill_register(std::int64_t reg) { add({20, reg}); }
  // A storage of `bytes` bytes on a device and a tensor that begins in it. Loads constants.
  //
  // first    three free registers: size, offset and storage
  // device   as in the code; -1: the CPU
  void tensor(gantry_dtype dtype, const std::vector<std::int64_t>& shape, std::int64_t bytes,
              std::int64_t first, std::int64_t dst, std::int64_t device = -1);

  RelayPayload payload() const;

  std::string version;
  bool has_devices, has_scopes, has_tags, has_attributes = true;
  std::int32_t host_device = 0;
  std::vector<RelayDeviceText> devices = {{}};
  // names of the functions; function() adds one
  std::vector<std::string> globals;
  std::vector<RelayConstantText> constants;
  std::vector<std::string> packed_functions;
  std::vector<RelayFunctionText> functions;
  // added to the hash of each instruction
  std::int64_t hash_change = 0;

 private:
  static std::int64_t size(const std::vector<std::int64_t>& list) {
    return static_cast<std::int64_t>(list.size());
  }
  void add(std::vector<std::int64_t> words, const std::vector<std::int64_t>& list = {});
};

}  // namespace gantry::test
