// SPDX-License-Identifier: Apache-2.0
#include "tests/support/relax_assembler.hpp"

#include "tests/support/payload_blob.hpp"

#include <gantry/array_record.hpp>

namespace gantry::test {
namespace {

// Whether the payload is the code itself, not a text that contains it.
bool is_bare(RelaxRelease release) { return release >= RelaxRelease::v0_22; }

Words numbers(const std::vector<std::int64_t>& all) {
  Words words;
  words.u64(all.size());
  for (const std::int64_t number : all) words.i64(number);
  return words;
}

Words dtype_words(gantry_dtype dtype) {
  return Words().u8(dtype.code).u8(dtype.bits).u16(dtype.lanes);
}

}  // namespace

std::uint64_t RelaxPayload::field_at(std::size_t function, std::size_t field) const {
  std::uint64_t name_size = 0;
  std::memcpy(&name_size, bytes.bytes().data() + function_at.at(function) + 4, sizeof name_size);
  return function_at.at(function) + 4 + 8 + name_size + 8 * field;
}

gantry_blob RelaxPayload::blob(gantry_object* pin) const {
  gantry_blob blob = payload_blob(bytes.bytes(), -1, true, pin);
  blob.numbering = static_cast<std::uint32_t>(numbering);
  return blob;
}

RelaxAssembler::RelaxAssembler(RelaxRelease release)
    : magic(release == RelaxRelease::v0_23 ? 0xD225DE2F4214151E : 0xD225DE2F4214151D),
      release_(release) {}

std::int64_t RelaxAssembler::packed(std::string_view name) {
  functions.push_back({0, std::string(name), 0, 0, -2, 0, {}});
  return static_cast<std::int64_t>(functions.size()) - 1;
}

std::int64_t RelaxAssembler::vm_tir(std::string_view name, std::int64_t parameters,
                                    std::int64_t registers) {
  functions.push_back({2, std::string(name), 0, 0, parameters, registers, {}});
  return static_cast<std::int64_t>(functions.size()) - 1;
}

std::int64_t RelaxAssembler::function(std::string_view name, std::vector<std::string> parameters,
                                      std::int64_t registers) {
  open_ = functions.size();
  const auto here = static_cast<std::int64_t>(instruction_offsets.size());
  const auto count = static_cast<std::int64_t>(parameters.size());
  functions.push_back({1, std::string(name), here, here, count, registers, std::move(parameters)});
  return static_cast<std::int64_t>(open_);
}

std::int64_t RelaxAssembler::floats(const std::vector<std::int64_t>& shape,
                                    const std::vector<float>& values) {
  const Words data = Words().raw(values.data(), values.size() * sizeof(float));
  return array(dtypes::float32, shape, data.bytes());
}

std::int64_t RelaxAssembler::array(gantry_dtype dtype, const std::vector<std::int64_t>& shape,
                                   std::span<const std::uint8_t> data) {
  Words record;
  record.u64(array_record_magic).u64(0).i32(1).i32(0).i32(static_cast<std::int32_t>(shape.size()));
  record.bytes(dtype_words(dtype).bytes());
  for (const std::int64_t extent : shape) record.i64(extent);
  return add(array_content, record.u64(data.size()).bytes(data));
}

std::int64_t RelaxAssembler::dtype(gantry_dtype dtype) {
  return add(dtype_content, dtype_words(dtype));
}
std::int64_t RelaxAssembler::shape(const std::vector<std::int64_t>& shape) {
  return add(shape_content, numbers(shape));
}
std::int64_t RelaxAssembler::text(std::string_view text) {
  return add(text_content, Words().str(text));
}
std::int64_t RelaxAssembler::integer(std::int64_t number) {
  return add(integer_content, Words().i64(number));
}
std::int64_t RelaxAssembler::number(double number) {
  return add(number_content, Words().raw(&number, sizeof number));
}

std::int64_t RelaxAssembler::add(Content content, Words bytes) {
  constexpr std::int32_t tags[][6] = {
      {0, 1, 2, 3, 4, 5}, {72, 5, 71, 65, 1, 3}, {70, 5, 69, 65, 1, 3}};
  const int column = release_ == RelaxRelease::v0_16 ? 0 : release_ == RelaxRelease::v0_21 ? 1 : 2;
  constants.push_back({tags[column][content], std::move(bytes)});
  return relax_constant(static_cast<std::int64_t>(constants.size()) - 1);
}

std::size_t RelaxAssembler::call(std::int64_t destination, std::int64_t callee,
                                 const std::vector<std::int64_t>& arguments) {
  std::vector<std::int64_t> words_of_call{1, destination, callee,
                                          static_cast<std::int64_t>(arguments.size())};
  words_of_call.insert(words_of_call.end(), arguments.begin(), arguments.end());
  return add(words_of_call);
}
std::size_t RelaxAssembler::ret(std::int64_t result) { return add({2, result}); }
std::size_t RelaxAssembler::jump(std::int64_t distance) { return add({3, distance}); }
std::size_t RelaxAssembler::branch(std::int64_t condition, std::int64_t distance_if_false) {
  return add({4, condition, distance_if_false});
}

std::size_t RelaxAssembler::add(const std::vector<std::int64_t>& instruction) {
  instruction_offsets.push_back(static_cast<std::int64_t>(words.size()));
  words.insert(words.end(), instruction.begin(), instruction.end());
  functions.at(open_).end = static_cast<std::int64_t>(instruction_offsets.size());
  return instruction_offsets.size() - 1;
}

RelaxPayload RelaxAssembler::payload() const {
  RelaxPayload payload;
  payload.numbering = release_ == RelaxRelease::v0_16   ? Numbering::packed
                      : release_ == RelaxRelease::v0_21 ? Numbering::ffi_0_21
                                                        : Numbering::ffi;
  Words code;
  const std::uint64_t begin = is_bare(release_) ? 0 : sizeof(std::uint64_t);
  const auto here = [&] { return begin + code.size(); };
  payload.magic_at = here();
  code.u64(magic);
  payload.version_at = here();
  code.str(version);
  payload.functions_at = here();
  code.u64(functions.size());
  for (const RelaxFunction& function : functions) {
    payload.function_at.push_back(here());
    code.i32(function.kind).str(function.name).i64(function.begin).i64(function.end);
    code.i64(function.parameters).i64(function.registers).u64(function.names.size());
    for (const std::string& name : function.names) code.str(name);
  }
  payload.scopes_at = here();
  if (magic == 0xD225DE2F4214151E) {
    code.u64(scopes.size());
    for (const auto& [constant, scope] : scopes) code.i64(constant).str(scope);
  }
  payload.constants_at = here();
  code.u64(constants.size());
  for (const RelaxConstant& constant : constants) {
    payload.constant_at.push_back(here());
    code.i32(constant.tag).bytes(constant.content.bytes());
  }
  payload.offsets_at = here();
  code.bytes(numbers(instruction_offsets).bytes());
  payload.words_at = here();
  code.bytes(numbers(words).bytes());
  if (begin != 0) payload.bytes.u64(code.size());
  payload.bytes.bytes(code.bytes());
  return payload;
}

RelaxAssembler small_relax_code(RelaxRelease release) {
  RelaxAssembler code(release);
  const auto add = code.packed("vm.builtin.copy");
  code.function("main", {"x", "y"}, 3);
  code.call(2, add, {relax_register(0)});
  code.ret(2);
  code.vm_tir("step", 2, 3);
  code.floats({2, 1}, {1.5f, -2});
  code.dtype(dtypes::int8);
  code.shape({-1, 3});
  code.text("global");
  code.integer(-7);
  code.number(0.25);
  code.scopes = {{0, "global.texture"}};
  return code;
}

Words bare_executable(const RelaxAssembler& code) {
  const RelaxPayload payload = code.payload();
  Words container = Words().u64s({0, 0}).u64s({}).str("relax.VMExecutable");
  container.u64(payload.bytes.size()).bytes(payload.bytes.bytes());
  return Words().u64(container.size()).bytes(container.bytes());
}

}  // namespace gantry::test
