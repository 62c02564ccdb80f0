// SPDX-License-Identifier: Apache-2.0
#include "core/writing/moved_relax.hpp"

#include "core/formats/relax_code.hpp"

#include <gantry/quoted.hpp>

#include <optional>
#include <variant>

namespace gantry {
namespace {

constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);

class RelaxMove {
 public:
  RelaxMove(const RelaxCode& code, bool is_private, const PayloadForm& to, dmlc::Stream& out)
      : code_(code), is_private_(is_private), to_(to), out_(out) {}

  Status run() {
    const std::uint64_t begin = code_.whole.at;
    const std::uint64_t end = begin + code_.whole.bytes.size();
    const bool has_scopes = to_.generation == Generation::g5;
    if (!has_scopes && !code_.scopes.empty()) {
      return unsupported("code has the memory scope ", quoted(code_.scopes.front().scope),
                         " of constant ", code_.scopes.front().constant, ", ",
                         name_of(to_.generation), " (", to_.releases, ") has none");
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
    const VmConstant& constant = code_.constants.values[i];
    const std::uint64_t end = code_.constants.at[i + 1];
    const std::uint64_t content = code_.constants.at[i] + sizeof(std::int32_t);
    out_.Write(relax_constant_form(to_.numbering).kinds[constant.index()].tag);
    std::optional<std::uint64_t> dtype_at;
    if (std::holds_alternative<ArrayRecord>(constant)) dtype_at = content + record_dtype_at;
    if (std::holds_alternative<gantry_dtype>(constant)) dtype_at = content;
    copy(content, dtype_at.value_or(end));
    if (!dtype_at) return {};
    GANTRY_CHECK(write_moved_dtype(code_.whole.reader(*dtype_at), is_private_, to_, out_));
    copy(*dtype_at + sizeof(gantry_dtype), end);
    return {};
  }

  const RelaxCode& code_;
  const bool is_private_;
  const PayloadForm& to_;
  dmlc::Stream& out_;
};

}  // namespace

Status write_moved_relax(std::span<const std::uint8_t> payload, const ExporterFacts& facts,
                         const PayloadForm& to, dmlc::Stream& out) {
  GANTRY_TRY(const RelaxCode code, read_relax_payload(payload, facts.numbering));
  // Code whose references are malformed is not written.
  GANTRY_CHECK(find_constant_uses(code));
  return RelaxMove(code, facts.has_private_float_codes, to, out).run();
}

}  // namespace gantry
