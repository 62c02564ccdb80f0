// SPDX-License-Identifier: Apache-2.0
//
// The code of a Relay executable of v0.8 to v0.19. plugins/relay_vm verifies its instructions;
// nothing here runs them.
//
//     u64  magic ; str version           of the exporter, "0.12.0"
//     virtual devices ; i32 host         v0.9 and later: vec<dev>; v0.14 and later:
//                                        vec<{dev, str scope}>
//     vec<str> globals                   names of the functions, by index
//     constants ; vec<i64> devices       one for each constant
//     vec<str> packed functions ; map<u64,map<str,str>> their attributes
//     u64  n ; n functions               vec<str>{name, registers, instruction count} ;
//                                        vec<str> parameters ; vec<i64> devices ; instructions
//     instruction                        vec<i64>{hash, opcode, operands ...}
#pragma once

#include "core/formats/vm_constants.hpp"

#include <cstring>
#include <string_view>
#include <vector>

namespace gantry {

// One layout of the code. The version selects it; builds of development branches have the version
// of a release and may have the layout of another one.
struct RelayForm {
  enum class Devices : std::uint8_t { none, plain, scoped };
  // The releases that write it, by minor version; 0: development builds only.
  int first, last;
  // scoped: instructions also have the operands of v0.14.
  Devices devices;
  // of constants
  bool has_tags;
  // of packed functions
  bool has_attributes;
};
std::span<const RelayForm> relay_forms();

struct RelayDevice {
  std::int32_t type = 0;
  std::int32_t index = 0;
  std::string_view scope;
};

struct RelayInstruction {
  // Offset of the number of words.
  std::uint64_t at = 0;
  // Without the hash: the opcode, then its operands. At least 1.
  std::uint32_t word_count = 0;
};

struct RelayFunction {
  std::string_view name;
  // Offset of its record.
  std::uint64_t at = 0;
  std::uint64_t register_count = 0;
  std::vector<std::string_view> params;
  // Of each parameter: a device type (v0.8), else an index of `virtual_devices`. Not verified.
  std::vector<std::int64_t> param_devices;
  // Indices of `instructions`.
  std::uint32_t first_instruction = 0;
  std::uint32_t instruction_count = 0;
};

struct RelayCode {
  BytesAt whole;
  std::string_view version;
  const RelayForm* form = nullptr;
  // Empty for code without virtual devices.
  std::vector<RelayDevice> virtual_devices;
  // Offset of `host_device`.
  std::uint64_t host_at = 0;
  // Index of a virtual device. Not verified.
  std::int32_t host_device = 0;
  std::uint64_t globals_at = 0;
  std::vector<std::string_view> globals;
  // offset of the number of constants
  std::uint64_t constants_at = 0;
  VmConstants constants;
  // For each constant, whether an instruction loads it.
  std::vector<bool> is_constant_used;
  // of each constant: a device type (v0.8), else the index of a device
  std::vector<std::int64_t> devices;
  std::uint64_t devices_end = 0;
  std::vector<std::string_view> packed_functions;
  std::uint64_t functions_at = 0;
  // In the order of the file, not in that of `globals`.
  std::vector<RelayFunction> functions;
  // Those of all functions.
  std::vector<RelayInstruction> instructions;
  // offsets of the instructions that load a constant
  std::vector<std::uint64_t> loads;

  // Offset of a word: 0 is the opcode.
  static std::uint64_t word_at(const RelayInstruction& instruction, std::size_t word) {
    return instruction.at + 8 + 8 + 8 * word;
  }
  std::int64_t word(const RelayInstruction& instruction, std::size_t i) const {
    std::int64_t number;
    std::memcpy(&number, whole.bytes.data() + (word_at(instruction, i) - whole.at), sizeof number);
    return number;
  }
};

// Returns 12 for "0.12.0"; 0 for texts of another form.
int relay_minor_version(std::string_view version);
// The versions that are supported.
constexpr int min_relay_minor_version = 8, max_relay_minor_version = 19;

// Returns the first number of an instruction: a hash of opcode and operands, which TVM's reader
// compares.
//
// words    opcode and operands
// source   apache/tvm src/runtime/vm/serialize_utils.h, src/support/utils.h
std::int64_t relay_instruction_hash(std::span<const std::int64_t> words);

// Reads the code of a payload, which follows its length: in the form of its version, or, if it does
// not end at its last field, in the only other form in which it does.
//
// returns  malformed    at the first wrong field, which includes bytes after the last one, and an
//                       instruction with another hash; several forms fit and differ
//          unsupported  another version of the code, or an element type
// costs    O(functions + constants + instructions); array data are not read
// source   apache/tvm src/runtime/vm/executable.cc
Result<RelayCode> read_relay_payload(std::span<const std::uint8_t> payload);

// The same for code without its length.
Result<RelayCode> read_relay_code(BytesAt code);
// The same.
//
// read     [out]  after a failure, what is before the first wrong field, in the form of the version;
//                 `version` has no data if it could not be read, and `form` is NULL for that of
//                 another release
Status read_relay_code(BytesAt code, RelayCode& read);

// The device types that the code names, ascending, each once: those of virtual devices, or of
// parameters and constants (v0.8).
std::vector<std::int32_t> device_types_of(const RelayCode& code);

// Selects one of the readings of the same code.
//
// own      in the form of the version; an error if it does not fit
// others   in other forms
// is_release  the version is that of a release, whose form is certain if it fits
// returns  the error of `own` if there is no reading; malformed if there are several different ones
Result<RelayCode> select_relay_reading(Result<RelayCode> own, std::vector<RelayCode> others,
                                       bool is_release);

}  // namespace gantry
