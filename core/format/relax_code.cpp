// SPDX-License-Identifier: Apache-2.0
#include "core/format/relax_code.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <utility>

namespace gantry {
namespace {

using Numbering = ExporterFacts::Numbering;

// All releases with Relax write it.
constexpr std::string_view relax_code_version = "0.14";

enum FunctionKind : std::int32_t { packed_function, bytecode_function, compiled_function };
enum Opcode : std::int64_t { call_opcode = 1, ret_opcode, jump_opcode, branch_opcode };
constexpr std::uint64_t constant_argument = 2;

class RelaxReader {
 public:
  RelaxReader(BytesAt whole, Numbering numbering)
      : in_(whole.reader(whole.at)), numbering_(numbering) {
    code_.whole = whole;
  }

  Result<RelaxCode> read() {
    GANTRY_CHECK(read_head());
    GANTRY_CHECK(read_functions());
    std::uint64_t scopes_at = in_.offset();
    if (code_.has_scopes) GANTRY_CHECK(read_scopes());
    GANTRY_TRY(code_.constants, read_vm_constants(in_, relax_constant_kinds(numbering_)));
    GANTRY_CHECK(use_scopes(scopes_at));
    GANTRY_TRY(const I64Array offsets, in_.read_i64_array("instruction offsets"));
    code_.words_at = in_.offset();
    GANTRY_TRY(I64Array words, in_.read_i64_array("words"));
    words_ = std::move(words);
    GANTRY_CHECK(read_instructions(offsets));
    if (!in_.at_end()) {
      return refuse_code(in_.offset(), "code has ", in_.left(),
                         " bytes after its last field, expected none");
    }
    if (code_.compiled_function) code_.constants.is_used.assign(code_.constants.size(), true);
    code_.words = std::move(words_.value);
    return std::move(code_);
  }

 private:
  Status read_head() {
    const std::uint64_t at = in_.offset();
    GANTRY_TRY(const std::uint64_t magic, in_.read_u64("magic"));
    if (magic != vm_magic_first && magic != vm_magic_second) {
      return refuse_code(at, "magic is ", Hex{magic}, ", expected ", Hex{vm_magic_first}, " or ",
                         Hex{vm_magic_second});
    }
    code_.has_scopes = magic == vm_magic_second;
    const std::uint64_t version_at = in_.offset();
    GANTRY_TRY(const std::string_view version, in_.read_string("version"));
    if (version == relax_code_version) return {};
    Error error = unsupported("version is ", quoted(version), ", expected ",
                              quoted(relax_code_version), ", which TVM up to 0.27 writes")
                      .with_reason("BLOB_FORMAT");
    error.offset = version_at;
    return error;
  }

  Status read_functions() {
    // i32, empty name, four i64, no parameter names
    constexpr std::uint64_t min_bytes = 4 + 8 + 4 * 8 + 8;
    GANTRY_TRY(const std::uint64_t count, in_.read_count(min_bytes, "functions"));
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t at = in_.offset();
      GANTRY_TRY(const std::int32_t kind, in_.read_i32("kind"));
      GANTRY_TRY(const std::string_view name, in_.read_string("name"));
      if (kind < packed_function || kind > compiled_function) {
        return std::move(refuse_code(at, "kind is ", kind, ", range is 0 to 2"))
            .at("in function ", i, " ", quoted(name));
      }
      if (kind == compiled_function && !code_.compiled_function) code_.compiled_function = name;
      GANTRY_CHECK(in_.skip(4 * sizeof(std::int64_t), "range, parameters and registers"));
      GANTRY_TRY(const std::uint64_t names,
                 in_.read_count(sizeof(std::uint64_t), "parameter names"));
      for (std::uint64_t name_index = 0; name_index < names; ++name_index) {
        GANTRY_CHECK(in_.read_string("parameter name"));
      }
    }
    code_.functions_end = in_.offset();
    return {};
  }

  Status read_scopes() {
    // i64 and an empty text
    GANTRY_TRY(const std::uint64_t count, in_.read_count(8 + 8, "memory scopes"));
    code_.scopes.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      // Compared with the number of constants, which follows later.
      GANTRY_TRY(const std::uint64_t constant, in_.read_u64("constant of a memory scope"));
      GANTRY_TRY(const std::string_view scope, in_.read_string("memory scope"));
      code_.scopes.push_back({constant, scope});
    }
    return {};
  }

  Status use_scopes(std::uint64_t at) {
    at += sizeof(std::uint64_t);
    for (const RelaxCode::MemoryScope& each : code_.scopes) {
      if (each.constant >= code_.constants.size()) {
        return refuse_code(at, "memory scope ", quoted(each.scope), " is of constant ",
                           static_cast<std::int64_t>(each.constant), ", constant count is ",
                           code_.constants.size());
      }
      code_.constants.is_used[each.constant] = true;
      at += 8 + 8 + each.scope.size();
    }
    return {};
  }

  Status read_instructions(const I64Array& offsets) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < offsets.value.size(); ++i) {
      if (offsets.value[i] != static_cast<std::int64_t>(word)) {
        return refuse_code(offsets.offset_of(i), "instruction ", i, " begins at word ",
                           offsets.value[i], ", the previous one ends at ", word);
      }
      GANTRY_TRY(word, read_instruction(i, word));
    }
    if (word == words_.value.size()) return {};
    return refuse_code(words_.offset_of(word), "code has ", words_.value.size(),
                       " words, its instructions end at ", word);
  }

  // Returns the end of the instruction that begins at word `begin`.
  Result<std::uint64_t> read_instruction(std::size_t index, std::uint64_t begin) {
    const std::vector<std::int64_t>& words = words_.value;
    const std::uint64_t left = words.size() - begin;
    const std::int64_t opcode = left == 0 ? 0 : words[begin];
    if (left != 0 && (opcode < call_opcode || opcode > branch_opcode)) {
      return refuse_code(words_.offset_of(begin), "instruction ", index, " has opcode ", opcode,
                         ", range is 1 to 4");
    }
    // The words of each opcode, those of a call without its arguments.
    constexpr std::uint64_t sizes[] = {1, 4, 2, 2, 3};
    const std::uint64_t size = sizes[opcode];
    if (size > left) {
      return refuse_code(words_.offset_of(begin), "instruction ", index, " takes ", size,
                         " words, words left are ", left);
    }
    if (opcode != call_opcode) return begin + size;
    const std::int64_t count = words[begin + 3];
    if (count < 0 || static_cast<std::uint64_t>(count) > left - size) {
      return refuse_code(words_.offset_of(begin + 3), "instruction ", index, " has ", count,
                         " arguments, words left are ", left - size);
    }
    const std::uint64_t end = begin + size + static_cast<std::uint64_t>(count);
    for (std::uint64_t at = begin + size; at < end; ++at) {
      if (static_cast<std::uint64_t>(words[at]) >> 56 != constant_argument) continue;
      const std::uint64_t constant = relax_constant_of(words[at]);
      if (constant >= code_.constants.size()) {
        return refuse_code(words_.offset_of(at), "instruction ", index, " has constant ", constant,
                           " as its argument, constant count is ", code_.constants.size());
      }
      code_.constants.is_used[constant] = true;
      code_.constant_words.push_back(at);
    }
    return end;
  }

  ByteReader in_;
  Numbering numbering_;
  RelaxCode code_;
  I64Array words_;
};

}  // namespace

std::int64_t relax_constant_word(std::uint64_t constant) {
  return static_cast<std::int64_t>(constant_argument << 56 | constant);
}

Result<RelaxCode> read_relax_code(BytesAt code, Numbering numbering) {
  if (numbering != Numbering::unknown) return RelaxReader(code, numbering).read();
  auto best = RelaxReader(code, Numbering::packed).read();
  for (const Numbering other : {Numbering::ffi_0_21, Numbering::ffi}) {
    if (best.ok()) break;
    auto read = RelaxReader(code, other).read();
    // The tags that lead furthest are most likely those of the file.
    if (read.ok() || read.error().offset > best.error().offset) best = std::move(read);
  }
  return best;
}

bool is_bare_code(std::span<const std::uint8_t> payload) {
  const auto magic = ByteReader(payload).read_u64("magic");
  return magic.ok() && (*magic == vm_magic_first || *magic == vm_magic_second);
}

Result<RelaxCode> read_relax_payload(std::span<const std::uint8_t> payload, Numbering numbering) {
  if (is_bare_code(payload)) {
    return read_relax_code({payload, 0},
                           numbering == Numbering::unknown ? Numbering::ffi : numbering);
  }
  ByteReader in(payload);
  GANTRY_TRY(const std::string_view code, in.read_string("code"));
  if (!in.at_end()) {
    return malformed(in.offset(), "payload has ", in.left(), " bytes after its last field")
        .with_reason("BLOB_TRAILING");
  }
  const std::uint64_t at = payload.size() - code.size();
  return read_relax_code({payload.subspan(at), at}, numbering);
}

}  // namespace gantry
