// SPDX-License-Identifier: Apache-2.0
//
// The payload of a Relax executable: functions, constants and instructions. plugins/relax verifies
// what instructions do; nothing here runs them.
//
//     str  code                          v0.16 to v0.21; since v0.22 the payload is the code itself
//
//     u64  magic ; str version           the first magic, or since v0.23 the second one
//     u64  n ; n functions               i32 kind ; str name ; i64 begin, end ; i64 parameters ;
//                                        i64 registers ; vec<str> parameter names
//     u64  n ; n memory scopes           i64 constant ; str scope; with the second magic only
//     u64  n ; n constants               see vm_constants.hpp
//     vec<i64> instruction offsets ; vec<i64> words
//
//     words of an instruction            call 1   destination ; function ; n ; n arguments
//                                        ret 2    result
//                                        goto 3   distance
//                                        if 4     condition ; distance if false
//
// An argument has its kind in the upper 8 bits: 0 register, 1 immediate, 2 constant, 3 function.
#pragma once

#include "core/formats/vm_constants.hpp"

#include <dmlc/io.h>

#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

namespace gantry {

// Limits of one executable, with max_relax_constants. Values in real files are far below them. They
// allow 32-bit indices.
constexpr std::uint64_t max_relax_functions = std::uint64_t{1} << 20;
constexpr std::uint64_t max_relax_words = std::uint64_t{1} << 24;

// All releases with Relax write it.
constexpr std::string_view relax_code_version = "0.14";

// Has the values in the file.
enum class RelaxFunctionKind : std::int32_t {
  // a function of an imported module or of the runtime, looked up by name
  packed = 0,
  bytecode = 1,
  // `__vmtir__<name>` of the library, which works on a list of registers
  vm_tir = 2,
};

struct RelaxFunction {
  // Offset of its record.
  std::uint64_t at = 0;
  RelaxFunctionKind kind = RelaxFunctionKind::packed;
  std::string_view name;
  // Not verified. Those of packed functions have no meaning, nor do the instructions of VM-TIR.
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t parameter_count = 0;
  std::int64_t register_count = 0;
  std::vector<std::string_view> parameter_names;

  // Offsets of `begin`, of the two counts, and of the number of names.
  std::uint64_t range_at() const { return at + 4 + 8 + name.size(); }
  std::uint64_t parameter_count_at() const { return range_at() + 16; }
  std::uint64_t register_count_at() const { return range_at() + 24; }
  std::uint64_t parameter_names_at() const { return range_at() + 32; }
};

// Where the tensor of a constant is allocated on its device: "global.texture".
struct RelaxMemoryScope {
  // Offset of its record.
  std::uint64_t at = 0;
  // Not verified.
  std::int64_t constant = 0;
  std::string_view scope;
};

// Numbers in a payload, at any address.
struct NumbersAt {
  std::span<const std::uint8_t> bytes;
  // Offset of the first number.
  std::uint64_t at = 0;

  std::size_t size() const { return bytes.size() / sizeof(std::int64_t); }
  std::int64_t operator[](std::size_t i) const {
    std::int64_t number;
    std::memcpy(&number, bytes.data() + i * sizeof number, sizeof number);
    return number;
  }
  std::uint64_t offset_of(std::size_t i) const { return at + i * sizeof(std::int64_t); }
};

struct RelaxCode {
  // Without its length.
  BytesAt whole;
  // The payload begins with the length of the code.
  bool has_length = false;
  std::string_view version;
  // The code has a list of memory scopes, maybe an empty one.
  bool has_scopes = false;
  std::vector<RelaxFunction> functions;
  std::uint64_t functions_end = 0;
  std::vector<RelaxMemoryScope> scopes;
  // Of the tags of constants.
  Numbering numbering = Numbering::unknown;
  VmConstants constants;
  // Index of the first word of each instruction; not verified.
  NumbersAt instruction_offsets;
  // Opcodes and operands; not verified.
  NumbersAt words;

  // Returns the first function that is compiled into the library, or NULL. Its CPU code may refer
  // to any constant by index.
  const RelaxFunction* compiled_function() const;
};

// Reads a payload.
//
// in         [in, out]  at the first byte on entry, after the last field on success, undefined after
//                       a failure
// numbering  [in]  unknown: ffi for code without a length, else the one with which the code ends at
//                  its last field. ffi: the code has no length
// returns  malformed    at the first wrong field; code of a known length also if bytes follow the
//                       last field
//          unsupported  another version of the code, or an element type
// lifetime texts, array data, offsets and words view the reader's bytes
// costs    O(functions + constants); neither array data nor instructions are read
// source   apache/tvm src/runtime/relax_vm/executable.cc (v0.16 to v0.20),
//          src/runtime/vm/executable.cc
Result<RelaxCode> read_relax_payload(ByteReader& in, Numbering numbering);

// The same for a payload that ends with these bytes.
Result<RelaxCode> read_relax_payload(std::span<const std::uint8_t> payload, Numbering numbering);

// Reads code without its length for display: of any version, whose fields may be those of
// relax_code_version, and with any kinds of functions.
//
// numbering  [in]  unknown: the one with which the code ends at its last field
// read       [out] after a failure, what precedes the wrong field
Status read_relax_code(BytesAt code, Numbering numbering, RelaxCode& read);

// Checks that constants of memory scopes exist.
Status check_relax_scopes(const RelaxCode& code);

// Has the values in the file.
enum class RelaxOpcode : std::uint8_t { call = 1, ret = 2, jump = 3, branch = 4 };

struct RelaxInstruction {
  std::size_t index = 0;
  RelaxOpcode opcode = RelaxOpcode::ret;
  // Indices in RelaxCode::words: of the opcode, and after the last operand.
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Argument words, and the kind of those that refer to constants.
constexpr std::uint64_t relax_constant_kind = 2;
constexpr std::uint64_t relax_argument_kind(std::int64_t word) {
  return static_cast<std::uint64_t>(word) >> 56;
}
constexpr std::int64_t relax_argument_value(std::int64_t word) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(word) << 8) >> 8;
}
constexpr std::int64_t relax_constant_word(std::uint64_t constant) {
  return static_cast<std::int64_t>(relax_constant_kind << 56 | constant);
}

// Reads instructions in the order of the file. An instruction has all its words, a known opcode and
// begins where the previous one ends; registers, functions, constants and distances are not
// verified.
//
//     GANTRY_TRY(RelaxInstructions instructions, RelaxInstructions::of(code));
//     while (!instructions.at_end()) {
//       GANTRY_TRY(const RelaxInstruction each, instructions.next());
//     }
//     GANTRY_CHECK(instructions.check_end());
class RelaxInstructions {
 public:
  // Limits the memory of what is made of instructions.
  //
  // code     [in]   must outlive the reader
  // returns  malformed  there are more instructions than the words have room for
  static Result<RelaxInstructions> of(const RelaxCode& code);

  // The index of the next instruction, and of its first word.
  std::size_t index() const { return index_; }
  std::size_t word() const { return word_; }
  bool at_end() const { return index_ == code_->instruction_offsets.size(); }

  // Precondition: !at_end().
  Result<RelaxInstruction> next() {
    const NumbersAt& words = code_->words;
    if (code_->instruction_offsets[index_] != static_cast<std::int64_t>(word_))
      return refuse_offset();
    const std::size_t left = words.size() - word_;
    if (left == 0) return refuse_size(left);
    const std::int64_t opcode = words[word_];
    if (opcode < 1 || opcode > 4) return refuse_opcode();
    std::size_t size = sizes[opcode];
    if (size > left) return refuse_size(left);
    if (opcode == static_cast<std::int64_t>(RelaxOpcode::call)) {
      const std::int64_t arguments = words[word_ + 3];
      if (arguments < 0 || static_cast<std::uint64_t>(arguments) > left - size)
        return refuse_arguments(left - size);
      size += static_cast<std::size_t>(arguments);
    }
    const RelaxInstruction read{index_, static_cast<RelaxOpcode>(opcode), word_, word_ + size};
    ++index_;
    word_ = read.end;
    return read;
  }

  // Checks that all words belong to the instructions that were read.
  Status check_end() const;

 private:
  explicit RelaxInstructions(const RelaxCode& code) : code_(&code) {}

  // The words of each opcode, those of a call without its arguments.
  static constexpr std::uint8_t sizes[] = {0, 4, 2, 2, 3};

  Failure refuse_offset() const;
  Failure refuse_opcode() const;
  Failure refuse_size(std::size_t left) const;
  Failure refuse_arguments(std::size_t left) const;

  const RelaxCode* code_;
  std::size_t index_ = 0;
  std::size_t word_ = 0;
};

// Returns the index of the constant that an argument word refers to.
//
// returns  malformed  there is no such constant
Result<std::size_t> relax_constant_of(const RelaxCode& code, const RelaxInstruction& call,
                                      std::size_t word);

// What refers to constants.
struct RelaxConstantUses {
  // For each constant: an argument or a memory scope refers to it, or the code of a compiled
  // function may.
  std::vector<bool> is_used;
  // Indices of the words that refer to constants.
  std::vector<std::uint64_t> words;
};

// returns  malformed  memory scopes or instructions, whose constants exist
// costs    O(words)
Result<RelaxConstantUses> find_constant_uses(const RelaxCode& code);

// How code is written again; what is not named is written as it was read.
struct RelaxForm {
  // Of the code, which begins with the second magic then. Without it, the code must have no scopes.
  bool has_scopes = false;
  // Writes the number of constants, and the constants.
  std::function<Status()> write_constants;
  // Returns the new index of a constant that is used; empty: no index changes.
  std::function<std::uint64_t(std::uint64_t)> index_of;
};

// Writes code without its length.
//
// uses     [in]   of find_constant_uses()
// out      [in]   receives unchanged data as spans of the code
// returns  the error of write_constants
Status write_relax_code(const RelaxCode& code, const RelaxConstantUses& uses, const RelaxForm& form,
                        dmlc::Stream& out);

}  // namespace gantry
