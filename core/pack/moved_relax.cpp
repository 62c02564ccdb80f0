// SPDX-License-Identifier: Apache-2.0
#include "core/pack/moved_relax.hpp"

#include "core/format/relax_code.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>

namespace gantry {
namespace {

using FactsNumbering = ExporterFacts::Numbering;

constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);

struct NumberedCode {
  RelaxCode code;
  FactsNumbering numbering;
};

// If the numbering is unknown, it is the first one with which the code can be read to its end.
Result<NumberedCode> read_code(std::span<const std::uint8_t> payload, FactsNumbering numbering) {
  if (numbering == FactsNumbering::unknown && !is_bare_code(payload)) {
    for (const FactsNumbering each :
         {FactsNumbering::packed, FactsNumbering::ffi_0_21, FactsNumbering::ffi}) {
      auto code = read_relax_payload(payload, each);
      if (code.ok()) return NumberedCode{std::move(*code), each};
    }
  }
  GANTRY_TRY(RelaxCode code, read_relax_payload(payload, numbering));
  return NumberedCode{std::move(code), numbering};
}

class RelaxMove {
 public:
  RelaxMove(NumberedCode read, bool is_private, const PayloadForm& to, dmlc::Stream& out)
      : code_(std::move(read.code)),
        from_(relax_constant_kinds(read.numbering)),
        to_kinds_(relax_constant_kinds(to.numbering)),
        is_private_(is_private),
        to_(to),
        out_(out) {}

  Status run() {
    const std::uint64_t begin = code_.whole.at;
    const std::uint64_t end = begin + code_.whole.bytes.size();
    const bool has_scopes = to_.form == ContainerForm::g5;
    if (!has_scopes && !code_.scopes.empty()) {
      return unsupported("code has the memory scope ", quoted(code_.scopes.front().scope),
                         " of constant ", code_.scopes.front().constant, ", ", to_.name, " (",
                         to_.releases, ") has none");
    }
    // The list of memory scopes, whose count is 0 if it is added or removed.
    const std::uint64_t removed = code_.has_scopes && !has_scopes ? word_bytes : 0;
    const std::uint64_t added = has_scopes && !code_.has_scopes ? word_bytes : 0;
    if (to_.has_code_length) out_.Write<std::uint64_t>(end - begin - removed + added);
    out_.Write<std::uint64_t>(has_scopes ? vm_magic_second : vm_magic_first);
    copy(begin + word_bytes, code_.functions_end);
    if (added != 0) out_.Write<std::uint64_t>(0);
    copy(code_.functions_end + removed, code_.constants.at.front());
    for (std::size_t i = 0; i < code_.constants.size(); ++i) {
      Status written = write_constant(i);
      if (!written.ok()) return std::move(written).error().at("in constant ", i);
    }
    copy(code_.constants.at.back(), end);
    return {};
  }

 private:
  void copy(std::uint64_t begin, std::uint64_t end) {
    if (begin == end) return;
    const std::span<const std::uint8_t> bytes = code_.whole.slice(begin, end);
    out_.Write(bytes.data(), bytes.size());
  }

  Status write_constant(std::size_t i) {
    const std::uint64_t at = code_.constants.at[i];
    const std::uint64_t end = code_.constants.at[i + 1];
    const std::uint64_t content = at + sizeof(std::uint32_t);
    GANTRY_TRY(const std::uint32_t tag, code_.whole.reader(at).read_u32("tag"));
    const auto kind = std::ranges::find(from_, tag, &VmConstantKind::tag);
    const auto& moved = to_kinds_[static_cast<std::size_t>(kind - from_.begin())];
    out_.Write(moved.tag);
    std::optional<std::uint64_t> dtype_at;
    if (code_.constants.is_array[i]) dtype_at = content + record_dtype_at;
    if (kind->words.ends_with(":dtype")) dtype_at = content;
    copy(content, dtype_at.value_or(end));
    if (!dtype_at) return {};
    GANTRY_CHECK(write_moved_dtype(code_.whole.reader(*dtype_at), is_private_, to_, out_));
    copy(*dtype_at + sizeof(gantry_dtype), end);
    return {};
  }

  RelaxCode code_;
  // both have the same kinds in the same order
  std::span<const VmConstantKind> from_, to_kinds_;
  bool is_private_;
  const PayloadForm& to_;
  dmlc::Stream& out_;
};

}  // namespace

Status write_moved_relax(std::span<const std::uint8_t> payload, const ExporterFacts& facts,
                         const PayloadForm& to, dmlc::Stream& out) {
  GANTRY_TRY(NumberedCode read, read_code(payload, facts.numbering));
  return RelaxMove(std::move(read), facts.has_private_float_codes, to, out).run();
}

}  // namespace gantry
