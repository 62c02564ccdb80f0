// SPDX-License-Identifier: Apache-2.0
//
// The code of a Relay executable of v0.8 to v0.19, as far as its constants concern.
//
//     u64  magic ; str version           of the exporter, "0.12.0"
//     devices, globals                   devices: v0.9 and later
//     constants ; vec<i64> devices       one for each constant
//     packed functions, attributes
//     u64  n ; n functions               vec<str>{name, registers, instruction count} ;
//                                        vec<str> parameters ; vec<i64> devices ; instructions
//     instruction                        vec<i64>{hash, opcode, operands ...}
#pragma once

#include "core/format/vm_constants.hpp"

#include <string_view>
#include <vector>

namespace gantry {

struct RelayCode {
  BytesAt whole;
  // offset of the number of constants
  std::uint64_t constants_at = 0;
  VmConstants constants;
  // of each constant: a device type (v0.8), else the index of a device
  std::vector<std::int64_t> devices;
  std::uint64_t devices_end = 0;
  // offsets of the instructions that load a constant
  std::vector<std::uint64_t> loads;
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

// Reads the code of a payload, which follows its length.
//
// returns  malformed    at the first wrong field, which includes bytes after the last one, and an
//                       instruction with another hash
//          unsupported  another version of the code, or an element type
// costs    O(functions + constants + instructions); array data are not read
// source   apache/tvm src/runtime/vm/executable.cc
Result<RelayCode> read_relay_payload(std::span<const std::uint8_t> payload);

// The same for code without its length.
Result<RelayCode> read_relay_code(BytesAt code);

}  // namespace gantry
