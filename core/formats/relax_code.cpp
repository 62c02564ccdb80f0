// SPDX-License-Identifier: Apache-2.0
#include "core/formats/relax_code.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <utility>

namespace gantry {
namespace {

// Code that is displayed may be of any version, with kinds of functions that are not known.
enum class Purpose { use, display };
enum class End { known, unknown };

Result<NumbersAt> read_numbers(ByteReader& in, const char* items) {
  GANTRY_TRY(const std::uint64_t count,
             read_limited_count(in, sizeof(std::int64_t), max_relax_words, items));
  const std::uint64_t at = in.offset();
  GANTRY_TRY(const auto bytes, in.read_bytes(count * sizeof(std::int64_t), items));
  return NumbersAt{bytes, at};
}

// Precondition: `in` is behind the last field and not at its end.
Failure refuse_rest(const ByteReader& in) {
  return refuse_code(in.offset(), "code has ", in.left(),
                     " bytes after its last field, expected none");
}

bool begins_with_magic(ByteReader in) {
  const auto magic = in.read_u64("magic");
  return magic.ok() && (*magic == vm_magic_first || *magic == vm_magic_second);
}

class RelaxReader {
 public:
  // in       [in, out] at the magic on entry
  RelaxReader(ByteReader& in, End end, Purpose purpose, RelaxCode& code)
      : in_(in), end_(end), purpose_(purpose), code_(code) {}

  Status read(Numbering numbering) {
    const ByteReader whole = in_;
    code_.whole = {whole.rest(), whole.offset()};
    GANTRY_CHECK(read_head());
    GANTRY_CHECK(read_functions());
    if (code_.has_scopes) GANTRY_CHECK(read_scopes());
    GANTRY_CHECK(numbering == Numbering::unknown ? read_rest_as_any() : read_rest(numbering));
    code_.whole.bytes = whole.peek(in_.offset() - whole.offset());
    return {};
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
    GANTRY_TRY(code_.version, in_.read_string("version"));
    if (purpose_ == Purpose::display || code_.version == relax_code_version) return {};
    Error error =
        unsupported("version is ", quoted(code_.version), ", expected ", quoted(relax_code_version))
            .with_reason("BLOB_FORMAT");
    error.offset = version_at;
    return error;
  }

  Status read_functions() {
    // i32, empty name, four i64, no parameter names
    constexpr std::uint64_t min_bytes = 4 + 8 + 4 * 8 + 8;
    GANTRY_TRY(const std::uint64_t count,
               read_limited_count(in_, min_bytes, max_relax_functions, "functions"));
    code_.functions.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      RelaxFunction function;
      if (Status read = read_function(function); !read.ok())
        return std::move(read).error().at("in function ", i, " ", quoted(function.name));
      code_.functions.push_back(std::move(function));
    }
    code_.functions_end = in_.offset();
    return {};
  }

  Status read_function(RelaxFunction& function) {
    function.at = in_.offset();
    GANTRY_TRY(const std::int32_t kind, in_.read_i32("kind"));
    GANTRY_TRY(function.name, in_.read_string("name"));
    if (purpose_ == Purpose::use && (kind < 0 || kind > 2)) {
      return refuse_code(function.at, "kind is ", kind,
                         ", range is 0 to 2 (packed, bytecode, VM-TIR)");
    }
    function.kind = static_cast<RelaxFunctionKind>(kind);
    GANTRY_TRY(function.begin, in_.read_i64("first instruction"));
    GANTRY_TRY(function.end, in_.read_i64("end of the instructions"));
    GANTRY_TRY(function.parameter_count, in_.read_i64("parameter count"));
    GANTRY_TRY(function.register_count, in_.read_i64("register count"));
    GANTRY_TRY(const std::uint64_t names, in_.read_count(sizeof(std::uint64_t), "parameter names"));
    function.parameter_names.resize(names);
    for (std::string_view& name : function.parameter_names) {
      GANTRY_TRY(name, in_.read_string("parameter name"));
    }
    return {};
  }

  Status read_scopes() {
    // i64 and an empty text
    GANTRY_TRY(const std::uint64_t count, in_.read_count(8 + 8, "memory scopes"));
    code_.scopes.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      RelaxMemoryScope scope;
      scope.at = in_.offset();
      GANTRY_TRY(scope.constant, in_.read_i64("constant of a memory scope"));
      GANTRY_TRY(scope.scope, in_.read_string("memory scope"));
      code_.scopes.push_back(scope);
    }
    return {};
  }

  // Reads constants and all that follows.
  Status read_rest(Numbering numbering) {
    code_.numbering = numbering;
    code_.constants = {};
    GANTRY_CHECK(read_vm_constants(in_, relax_constant_form(numbering), code_.constants));
    GANTRY_TRY(code_.instruction_offsets, read_numbers(in_, "instruction offsets"));
    GANTRY_TRY(code_.words, read_numbers(in_, "words"));
    if (end_ == End::unknown || in_.at_end()) return {};
    return refuse_rest(in_);
  }

  // The tags that lead furthest are most likely those of the file.
  Status read_rest_as_any() {
    const ByteReader constants = in_;
    Numbering best = Numbering::packed;
    std::uint64_t furthest = 0;
    for (const Numbering each : {Numbering::packed, Numbering::ffi_0_21, Numbering::ffi}) {
      in_ = constants;
      const Status read = read_rest(each);
      if (read.ok()) return {};
      if (read.error().offset <= furthest) continue;
      furthest = read.error().offset;
      best = each;
    }
    in_ = constants;
    return read_rest(best);
  }

  ByteReader& in_;
  const End end_;
  const Purpose purpose_;
  RelaxCode& code_;
};

}  // namespace

const RelaxFunction* RelaxCode::compiled_function() const {
  const auto found = std::ranges::find(functions, RelaxFunctionKind::vm_tir, &RelaxFunction::kind);
  return found != functions.end() ? &*found : nullptr;
}

Result<RelaxCode> read_relax_payload(ByteReader& in, Numbering numbering) {
  RelaxCode code;
  if (numbering == Numbering::ffi || begins_with_magic(in)) {
    if (numbering == Numbering::unknown) numbering = Numbering::ffi;
    GANTRY_CHECK(RelaxReader(in, End::unknown, Purpose::use, code).read(numbering));
    return code;
  }
  GANTRY_TRY(const std::string_view text, in.read_string("code"));
  ByteReader inside = ByteReader::of_text(text, in.offset() - text.size());
  GANTRY_CHECK(RelaxReader(inside, End::known, Purpose::use, code).read(numbering));
  code.has_length = true;
  return code;
}

Result<RelaxCode> read_relax_payload(std::span<const std::uint8_t> payload, Numbering numbering) {
  ByteReader in(payload);
  GANTRY_TRY(RelaxCode code, read_relax_payload(in, numbering));
  if (in.at_end()) return code;
  if (!code.has_length) return refuse_rest(in);
  return malformed(in.offset(), "payload has ", in.left(), " bytes after its last field")
      .with_reason("BLOB_TRAILING");
}

Status read_relax_code(BytesAt code, Numbering numbering, RelaxCode& read) {
  ByteReader in = code.reader(code.at);
  return RelaxReader(in, End::known, Purpose::display, read).read(numbering);
}

Status check_relax_scopes(const RelaxCode& code) {
  for (const RelaxMemoryScope& each : code.scopes) {
    if (each.constant < 0 || each.constant >= static_cast<std::int64_t>(code.constants.size())) {
      return refuse_code(each.at, "memory scope ", quoted(each.scope), " is of constant ",
                         each.constant, ", constant count is ", code.constants.size());
    }
  }
  return {};
}

Result<RelaxInstructions> RelaxInstructions::of(const RelaxCode& code) {
  const std::size_t count = code.instruction_offsets.size();
  if (count > code.words.size() / 2) {
    return refuse_code(code.instruction_offsets.offset_of(0), "code has ", count,
                       " instructions in ", code.words.size(), " words, each takes at least 2");
  }
  return RelaxInstructions(code);
}

Status RelaxInstructions::check_end() const {
  if (word_ == code_->words.size()) return {};
  return refuse_code(code_->words.offset_of(word_), "code has ", code_->words.size(),
                     " words, its instructions end at ", word_);
}

Failure RelaxInstructions::refuse_offset() const {
  return refuse_code(code_->instruction_offsets.offset_of(index_), "instruction ", index_,
                     " begins at word ", code_->instruction_offsets[index_],
                     ", the previous one ends at ", word_);
}

Failure RelaxInstructions::refuse_opcode() const {
  return refuse_code(code_->words.offset_of(word_), "instruction ", index_, " has opcode ",
                     code_->words[word_], ", range is 1 to 4");
}

// left     [in]   fewer words than the opcode takes
Failure RelaxInstructions::refuse_size(std::size_t left) const {
  constexpr const char* names[5][4] = {
      {"opcode"},
      {"opcode", "destination", "callee", "argument count"},
      {"opcode", "result"},
      {"opcode", "distance"},
      {"opcode", "condition", "distance"},
  };
  const std::int64_t opcode = left == 0 ? 0 : code_->words[word_];
  return refuse_code(code_->instruction_offsets.offset_of(index_), "instruction ", index_,
                     ": the code ends before its ", names[opcode][left]);
}

Failure RelaxInstructions::refuse_arguments(std::size_t left) const {
  return refuse_code(code_->words.offset_of(word_ + 3), "instruction ", index_, " has ",
                     code_->words[word_ + 3], " arguments, words left are ", left);
}

Result<RelaxConstantUses> find_constant_uses(const RelaxCode& code) {
  GANTRY_CHECK(check_relax_scopes(code));
  GANTRY_TRY(RelaxInstructions instructions, RelaxInstructions::of(code));
  RelaxConstantUses uses;
  const std::size_t count = code.constants.size();
  uses.is_used.assign(count, code.compiled_function() != nullptr);
  for (const RelaxMemoryScope& each : code.scopes)
    uses.is_used[static_cast<std::size_t>(each.constant)] = true;
  while (!instructions.at_end()) {
    GANTRY_TRY(const RelaxInstruction each, instructions.next());
    if (each.opcode != RelaxOpcode::call) continue;
    for (std::size_t word = each.begin + 4; word < each.end; ++word) {
      if (relax_argument_kind(code.words[word]) != relax_constant_kind) continue;
      GANTRY_TRY(const std::size_t constant, relax_constant_of(code, each, word));
      uses.is_used[constant] = true;
      uses.words.push_back(word);
    }
  }
  GANTRY_CHECK(instructions.check_end());
  return uses;
}

Result<std::size_t> relax_constant_of(const RelaxCode& code, const RelaxInstruction& call,
                                      std::size_t word) {
  const std::int64_t constant = relax_argument_value(code.words[word]);
  if (constant >= 0 && constant < static_cast<std::int64_t>(code.constants.size()))
    return static_cast<std::size_t>(constant);
  return refuse_code(code.words.offset_of(word), "instruction ", call.index, " has constant ",
                     constant, " as its argument, constant count is ", code.constants.size());
}

Status write_relax_code(const RelaxCode& code, const RelaxConstantUses& uses, const RelaxForm& form,
                        dmlc::Stream& out) {
  const auto copy = [&](std::uint64_t begin, std::uint64_t end) {
    const std::span<const std::uint8_t> bytes = code.whole.slice(begin, end);
    if (!bytes.empty()) out.Write(bytes.data(), bytes.size());
  };
  const auto index_of = [&](std::uint64_t constant) {
    return form.index_of ? form.index_of(constant) : constant;
  };
  out.Write<std::uint64_t>(form.has_scopes ? vm_magic_second : vm_magic_first);
  copy(code.whole.at + sizeof(std::uint64_t), code.functions_end);
  if (form.has_scopes) {
    out.Write<std::uint64_t>(code.scopes.size());
    for (const RelaxMemoryScope& each : code.scopes) {
      out.Write<std::uint64_t>(index_of(static_cast<std::uint64_t>(each.constant)));
      out.Write<std::uint64_t>(each.scope.size());
      if (!each.scope.empty()) out.Write(each.scope.data(), each.scope.size());
    }
  }
  GANTRY_CHECK(form.write_constants());
  std::uint64_t done = code.constants.at.back();
  // Words whose indices do not change are written with what is around them.
  const std::span<const std::uint64_t> changed = uses.words;
  for (const std::uint64_t word : changed.first(form.index_of ? changed.size() : 0)) {
    copy(done, code.words.offset_of(word));
    const auto constant = static_cast<std::uint64_t>(relax_argument_value(code.words[word]));
    out.Write<std::int64_t>(relax_constant_word(index_of(constant)));
    done = code.words.offset_of(word + 1);
  }
  copy(done, code.whole.at + code.whole.bytes.size());
  return {};
}

}  // namespace gantry
