// SPDX-License-Identifier: Apache-2.0
//
// Builds payloads of Relax executables, valid ones and others:
//
//     RelaxAssembler code;
//     const auto add = code.packed("add");
//     code.function("main", {"x"}, 2);
//     code.call(1, add, {relax_register(0), code.integer(3)});
//     code.ret(1);
//     code.functions[1].registers = 1;         // fields are written as they are
//     const RelaxPayload payload = code.payload();
#pragma once

#include "tests/support/words.hpp"

#include <gantry/blob.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::test {

// Releases that write different payloads.
enum class RelaxRelease { v0_16, v0_21, v0_22, v0_23 };

// Operands in place of a register.
constexpr std::int64_t relax_void = std::int64_t{1} << 54;
constexpr std::int64_t relax_vm = relax_void + 1;

// Words of arguments.
constexpr std::int64_t relax_argument(std::uint64_t kind, std::int64_t value) {
  constexpr std::uint64_t value_bits = (std::uint64_t{1} << 56) - 1;
  return static_cast<std::int64_t>(kind << 56 | (static_cast<std::uint64_t>(value) & value_bits));
}
constexpr std::int64_t relax_register(std::int64_t index) { return relax_argument(0, index); }
constexpr std::int64_t relax_immediate(std::int64_t value) { return relax_argument(1, value); }
constexpr std::int64_t relax_constant(std::int64_t index) { return relax_argument(2, index); }
constexpr std::int64_t relax_function(std::int64_t index) { return relax_argument(3, index); }

struct RelaxFunction {
  std::int32_t kind = 0;
  std::string name;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t parameters = 0;
  std::int64_t registers = 0;
  std::vector<std::string> names;
};

struct RelaxConstant {
  std::int32_t tag = 0;
  Words content;
};

// The bytes of a payload and the offsets of its fields.
struct RelaxPayload {
  Words bytes;
  Numbering numbering = Numbering::unknown;
  std::uint64_t magic_at = 0;
  std::uint64_t version_at = 0;
  // Of the number of functions, and of each.
  std::uint64_t functions_at = 0;
  std::vector<std::uint64_t> function_at;
  std::uint64_t scopes_at = 0;
  std::uint64_t constants_at = 0;
  std::vector<std::uint64_t> constant_at;
  // Of the number of instruction offsets, and of words.
  std::uint64_t offsets_at = 0;
  std::uint64_t words_at = 0;

  std::uint64_t offset_at(std::size_t instruction) const {
    return offsets_at + 8 + 8 * instruction;
  }
  std::uint64_t word_at(std::size_t word) const { return words_at + 8 + 8 * word; }
  // Of the first word of a function's field: begin 0, end 1, parameters 2, registers 3, names 4.
  std::uint64_t field_at(std::size_t function, std::size_t field) const;
  // A view of `bytes`.
  gantry_blob blob(gantry_object* pin = nullptr) const;
};

class RelaxAssembler {
 public:
  explicit RelaxAssembler(RelaxRelease release = RelaxRelease::v0_23);

  // Each adds a function and returns its index. Instructions that are added next belong to the last
  // function().
  std::int64_t packed(std::string_view name);
  std::int64_t vm_tir(std::string_view name, std::int64_t parameters, std::int64_t registers);
  std::int64_t function(std::string_view name, std::vector<std::string> parameters,
                        std::int64_t registers);

  // Each adds a constant and returns its argument word.
  std::int64_t floats(const std::vector<std::int64_t>& shape, const std::vector<float>& values);
  std::int64_t array(gantry_dtype dtype, const std::vector<std::int64_t>& shape,
                     std::span<const std::uint8_t> data);
  std::int64_t dtype(gantry_dtype dtype);
  std::int64_t shape(const std::vector<std::int64_t>& shape);
  std::int64_t text(std::string_view text);
  std::int64_t integer(std::int64_t number);
  std::int64_t number(double number);

  // Each adds an instruction and returns its index. Jumps are relative to their own index.
  std::size_t call(std::int64_t destination, std::int64_t callee,
                   const std::vector<std::int64_t>& arguments);
  std::size_t ret(std::int64_t result);
  std::size_t jump(std::int64_t distance);
  std::size_t branch(std::int64_t condition, std::int64_t distance_if_false);

  RelaxPayload payload() const;

  std::uint64_t magic;
  std::string version = "0.14";
  std::vector<RelaxFunction> functions;
  // Constant and scope; written with the second magic only.
  std::vector<std::pair<std::int64_t, std::string>> scopes;
  std::vector<RelaxConstant> constants;
  std::vector<std::int64_t> instruction_offsets;
  std::vector<std::int64_t> words;

 private:
  enum Content {
    array_content,
    dtype_content,
    shape_content,
    text_content,
    integer_content,
    number_content
  };

  std::int64_t add(Content content, Words bytes);
  std::size_t add(const std::vector<std::int64_t>& instruction);

  RelaxRelease release_;
  // Index of the last function() in `functions`.
  std::size_t open_ = 0;
};

// Returns code with one function of each kind, one constant of each kind, and a memory scope.
RelaxAssembler small_relax_code(RelaxRelease release = RelaxRelease::v0_23);

// Returns a file with the executable alone: a container of one module, after its size. Release v0.23.
Words bare_executable(const RelaxAssembler& code);

}  // namespace gantry::test
