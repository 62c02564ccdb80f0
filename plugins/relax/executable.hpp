// SPDX-License-Identifier: Apache-2.0
//
// The payload of a Relax executable: functions, constants and code. program.hpp verifies the code;
// nothing here runs it.
//
//     str  code                          v0.16 to v0.21; since v0.22 the payload is the code itself
//
//     u64  magic ; str version           the first magic, or since v0.23 the second one
//     u64  n ; n functions               i32 kind ; str name ; i64 begin, end ; i64 parameters ;
//                                        i64 registers ; vec<str> parameter names
//     u64  n ; n memory scopes           i64 constant ; str scope; with the second magic only
//     u64  n ; n constants               see constant.hpp
//     vec<i64> instruction offsets ; vec<i64> words
#pragma once

#include "constant.hpp"

#include <gantry/blob.hpp>
#include <gantry/sink.hpp>

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gantry::relax {

// Limits of one executable. Values in real files are far below them. They allow 32-bit indices, and
// limit the memory that a frame takes.
constexpr std::uint64_t max_functions = std::uint64_t{1} << 20;
constexpr std::uint64_t max_constants = std::uint64_t{1} << 20;
constexpr std::uint64_t max_registers = std::uint64_t{1} << 20;
constexpr std::uint64_t max_code_words = std::uint64_t{1} << 24;

// Has the values in the file.
enum class FunctionKind : std::uint8_t {
  // a function of an imported module or of the host, looked up by name
  packed = 0,
  bytecode = 1,
  // `__vmtir__<name>` of the library, which works on a list of registers
  vm_tir = 2,
};

struct Function {
  std::string_view name;
  FunctionKind kind = FunctionKind::packed;
  // The numbers of the file, in its order. Those of packed functions have no meaning, nor do the
  // instructions of VM-TIR.
  struct Stored {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t parameter_count = 0;
    std::int64_t register_count = 0;
  };
  Stored stored;
  // The numbers below are 0 for packed functions.
  std::uint32_t parameter_count = 0;
  // At least parameter_count; the first registers are the parameters. vm_tir: register
  // parameter_count exists and receives the result.
  std::uint32_t register_count = 0;
  // bytecode: its instructions, begin <= i < end, at least one.
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  // One for each parameter, or empty; any for packed functions.
  std::vector<std::string_view> parameter_names;
  // Offset of its record.
  std::uint64_t at = 0;

  // Offset of the fields `begin` and `end`.
  std::uint64_t range_at() const { return at + 4 + 8 + name.size(); }
};

// Where the tensor of a constant is allocated on its device: "global.texture".
struct MemoryScope {
  std::uint32_t constant = 0;
  std::string_view scope;
};

// Numbers in the payload, at any address.
class NumberView {
 public:
  NumberView() = default;
  // at       [in]   offset of the first byte
  NumberView(std::span<const std::uint8_t> bytes, std::uint64_t at) : bytes_(bytes), at_(at) {}

  std::size_t size() const { return bytes_.size() / sizeof(std::int64_t); }
  std::int64_t operator[](std::size_t i) const {
    std::int64_t number;
    std::memcpy(&number, bytes_.data() + i * sizeof number, sizeof number);
    return number;
  }
  std::uint64_t offset_of(std::size_t i) const { return at_ + i * sizeof(std::int64_t); }
  std::span<const std::uint8_t> bytes() const { return bytes_; }

 private:
  std::span<const std::uint8_t> bytes_;
  std::uint64_t at_ = 0;
};

struct Executable {
  // The length of the code, if the payload begins with it.
  std::optional<std::uint64_t> code_bytes;
  // The code has a list of memory scopes, maybe an empty one.
  bool has_scopes = false;
  std::vector<Function> functions;
  std::vector<MemoryScope> memory_scopes;
  std::vector<Constant> constants;
  // Index of the first word of each instruction; not verified.
  NumberView instruction_offsets;
  // Opcodes and operands; not verified.
  NumberView words;
  // Indices of `functions`, ordered by name.
  std::vector<std::uint32_t> by_name;
  // Of the tags of constants.
  Numbering numbering = Numbering::unknown;
  // Of all views above.
  PayloadBytes kept;

  // Returns the index of a function.
  //
  // costs    O(log n)
  std::optional<std::uint32_t> find(std::string_view name) const;
};

// Reads a payload. The blob's numbering selects the tags of constants; if it is unknown, the tags
// with which the code ends at the payload's last byte are used.
//
// returns  MALFORMED    at the first wrong field, with its offset
//          UNSUPPORTED  another version of the code, or an element type that is not supported
// costs    O(functions log functions + constants); neither tensor data nor code are read
// source   apache/tvm src/runtime/relax_vm/executable.cc (v0.16 to v0.20),
//          src/runtime/vm/executable.cc
Result<Executable> read_executable(Blob& blob);

// Writes a payload from its parts: the bytes that were read. If the sink requests an alignment, the
// core writes these bytes again (core/format/aligned_payload.hpp).
//
// returns  INVALID for an alignment that is not supported; UNSUPPORTED for functions that are
//          compiled into the library; the sink's error
// throws   ErrorThrown if the sink fails, as SinkStream does: call it inside abi_boundary()
Status write_executable(const Executable& executable, const Sink& sink);

}  // namespace gantry::relax
