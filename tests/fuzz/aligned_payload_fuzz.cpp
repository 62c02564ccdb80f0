// SPDX-License-Identifier: Apache-2.0
//
// A payload with array data: written with aligned data, and read again.
//
//     byte 0   type key
//     byte 1   bits 0-1 numbering of constants, bits 2-3 alignment: 1, 64, 128, 512
//     byte 2   position in the file
//     rest     payload
#include "core/formats/relax_code.hpp"
#include "core/formats/relay_code.hpp"
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/support/aligned_bytes.hpp"

#include <algorithm>

using namespace gantry;
using namespace gantry::fuzz;

namespace {

// The corpus depends on this order.
constexpr std::string_view keys[] = {"GraphExecutorFactory", "AotExecutorFactory", "const_loader",
                                     "VMExecutable",         "relax.VMExecutable", "cuda"};

using Bytes = std::span<const std::uint8_t>;

class NoBytes : public OutputStream {
  void put(std::span<const std::uint8_t>) override {}
};

// What is before, in and after a list of names and arrays, without fillers.
struct List {
  Bytes before, after;
  std::vector<std::string_view> names;
  std::vector<Bytes> arrays;
  std::vector<std::uint64_t> data_at;
};

List list_in(std::string_view key, Bytes payload) {
  ByteReader in(payload);
  List list;
  if (key.starts_with("Graph")) (void)in.read_string("graph");
  list.before = payload.first(in.offset());
  if (key != "const_loader") (void)in.read_u64("count");
  std::vector<std::string_view> names(in.read_u64("names").value());
  for (std::string_view& name : names) name = in.read_string("name").value();
  if (key == "const_loader") (void)in.read_u64("count");
  for (const std::string_view name : names) {
    const std::uint64_t begin = in.offset();
    const ArrayRecord array = read_array_record(in, "array").value();
    if (is_filler(name)) continue;
    list.names.push_back(name);
    list.arrays.push_back(payload.subspan(begin, in.offset() - begin));
    list.data_at.push_back(array.data_at);
  }
  list.after = in.rest();
  return list;
}

bool same(Bytes a, Bytes b) { return std::ranges::equal(a, b); }

// The constants without fillers.
std::vector<Bytes> constants_in(const VmConstants& constants, const BytesAt& code,
                                const std::vector<bool>& is_used,
                                std::vector<std::uint64_t>& data_at) {
  const std::vector<bool> fillers = find_fillers(constants, is_used);
  std::vector<Bytes> found;
  for (std::size_t i = 0; i < constants.size(); ++i) {
    if (fillers[i]) continue;
    found.push_back(constants.bytes_of(i, code));
    if (const ArrayRecord* const array = constants.array(i)) data_at.push_back(array->data_at);
  }
  return found;
}

Bytes constant_of(const RelaxCode& code, std::int64_t constant) {
  return code.constants.bytes_of(static_cast<std::size_t>(constant), code.whole);
}

void expect_same_relax(const RelaxCode& before, const std::vector<std::uint64_t>& old_words,
                       const RelaxCode& after, const std::vector<std::uint64_t>& made_words) {
  expect(same(before.whole.slice(before.whole.at, before.functions_end),
              after.whole.slice(after.whole.at, after.functions_end)),
         "functions are the same");
  expect(before.scopes.size() == after.scopes.size(), "scopes are the same");
  for (std::size_t i = 0; i < before.scopes.size(); ++i) {
    expect(before.scopes[i].scope == after.scopes[i].scope &&
               same(constant_of(before, before.scopes[i].constant),
                    constant_of(after, after.scopes[i].constant)),
           "a scope is that of the same constant");
  }
  expect(before.words.size() == after.words.size() && old_words == made_words,
         "the same words refer to constants");
  std::size_t next = 0;
  for (std::size_t word = 0; word < before.words.size(); ++word) {
    if (next == old_words.size() || old_words[next] != word) {
      expect(before.words[word] == after.words[word], "all other words are the same");
      continue;
    }
    ++next;
    expect(same(constant_of(before, relax_argument_value(before.words[word])),
                constant_of(after, relax_argument_value(after.words[word]))),
           "a word refers to the same constant");
  }
}

void expect_same_relay(const RelayCode& before, const RelayCode& after) {
  expect(before.loads.size() == after.loads.size(), "as many constants are loaded");
  for (std::size_t i = 0; i < before.loads.size(); ++i) {
    ByteReader old = before.whole.reader(before.loads[i]);
    ByteReader made = after.whole.reader(after.loads[i]);
    I64Array old_words = old.read_i64_array("words").value();
    I64Array made_words = made.read_i64_array("words").value();
    const auto old_constant = static_cast<std::uint64_t>(old_words.value[2]);
    const auto made_constant = static_cast<std::uint64_t>(made_words.value[2]);
    expect(same(before.constants.bytes_of(old_constant, before.whole),
                after.constants.bytes_of(made_constant, after.whole)),
           "the same constant is loaded");
    expect(before.devices[old_constant] == after.devices[made_constant],
           "a constant has the same device");
    for (const std::size_t changed : {0u, 2u}) {
      old_words.value[changed] = made_words.value[changed] = 0;
    }
    expect(old_words.value == made_words.value, "the other operands are the same");
  }
}

// Expects the same content, and returns the offsets of array data.
std::vector<std::uint64_t> expect_same(std::string_view key, Numbering numbering, Bytes before,
                                       Bytes after) {
  std::vector<std::uint64_t> unused, data_at;
  if (key == "cuda") {
    expect(same(before, after), "other payloads are the same");
  } else if (key == "VMExecutable") {
    const RelayCode old = read_relay_payload(before).value();
    const RelayCode made = read_relay_payload(after).value();
    expect(std::ranges::equal(
               constants_in(old.constants, old.whole, old.is_constant_used, unused),
               constants_in(made.constants, made.whole, made.is_constant_used, data_at), same),
           "constants are the same");
    expect_same_relay(old, made);
  } else if (key == "relax.VMExecutable") {
    const RelaxCode old = read_relax_payload(before, numbering).value();
    const RelaxCode made = read_relax_payload(after, numbering).value();
    const RelaxConstantUses old_uses = find_constant_uses(old).value();
    const RelaxConstantUses made_uses = find_constant_uses(made).value();
    expect(std::ranges::equal(constants_in(old.constants, old.whole, old_uses.is_used, unused),
                              constants_in(made.constants, made.whole, made_uses.is_used, data_at),
                              same),
           "constants are the same");
    expect_same_relax(old, old_uses.words, made, made_uses.words);
  } else {
    const List old = list_in(key, before), made = list_in(key, after);
    expect(same(old.before, made.before) && same(old.after, made.after),
           "fields around the arrays are the same");
    expect(old.names == made.names && std::ranges::equal(old.arrays, made.arrays, same),
           "arrays are the same");
    data_at = made.data_at;
  }
  return data_at;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices({data, size});
  const std::string_view key = keys[choices.below(std::size(keys))];
  const auto flags = choices.take<std::uint8_t>();
  ExporterFacts facts;
  facts.numbering = static_cast<Numbering>(flags % 4);
  constexpr std::uint64_t alignments[] = {1, 64, 128, 512};
  const std::uint64_t alignment = alignments[flags / 4 % 4];
  const std::uint64_t position = choices.take<std::uint8_t>();
  const Bytes payload = choices.rest();
  {
    const Budget budget(size, payload_cost);
    NoBytes none;
    const Status written = write_aligned_payload(key, payload, facts, {none, position, alignment});
    if (!written.ok()) {
      expect_refusal(written.error(), payload.size());
      const Error error = test::refused_alignment(key, payload, facts.numbering, alignment);
      expect(error.code == written.error().code, "nothing is written of a refused payload");
      return 0;
    }
  }
  const auto once = test::aligned(key, payload, facts.numbering, position, alignment);
  expect(once.ok(), "a payload is written");
  for (const std::uint64_t at : expect_same(key, facts.numbering, payload, *once)) {
    expect((position + at) % alignment == 0, "data are aligned");
  }
  const auto twice = test::aligned(key, *once, facts.numbering, position, alignment);
  expect(twice.ok() && *twice == *once, "a payload is the same when it is aligned twice");
  return 0;
}
