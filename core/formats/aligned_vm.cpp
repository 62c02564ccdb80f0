// SPDX-License-Identifier: Apache-2.0
//
// Aligns the constants of virtual machines. A filler is a constant, too, so that the indices of
// constants change wherever the code refers to them.
#include "core/formats/aligned_output.hpp"
#include "core/formats/relax_code.hpp"
#include "core/formats/relay_code.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <variant>
#include <vector>

namespace gantry {
namespace {

// The constants without their fillers, and where they are after each array has a new one.
class RenumberedConstants {
 public:
  RenumberedConstants(const VmConstants& constants, const BytesAt& code,
                      const std::vector<bool>& is_used)
      : constants_(constants), code_(code), is_filler_(find_fillers(constants, is_used)) {
    index_.reserve(constants.size());
    for (std::size_t i = 0; i < constants.size(); ++i) {
      if (!is_filler_[i] && constants.array(i) != nullptr) ++count_;
      index_.push_back(count_);
      if (!is_filler_[i]) ++count_;
    }
  }

  // Returns the new index of a constant that is not a filler.
  std::uint64_t index_of(std::uint64_t constant) const { return index_[constant]; }
  std::uint64_t count() const { return count_; }

  // Calls `each` with the old index of every constant, in their new order; a filler has that of the
  // array after it.
  template <class Each>
  void for_each(const Each& each) const {
    for (std::size_t i = 0; i < constants_.size(); ++i) {
      if (is_filler_[i]) continue;
      if (constants_.array(i) != nullptr) each(i, true);
      each(i, false);
    }
  }

  // Writes the count and the constants.
  Status write(AlignedOutput& out) const {
    out.Write<std::uint64_t>(count_);
    for_each([&](std::size_t i, bool is_new_filler) {
      const std::span<const std::uint8_t> bytes = constants_.bytes_of(i, code_);
      if (is_new_filler) {
        out.write(bytes.first(constants_.tag_bytes));
        const ArrayRecord& array = *constants_.array(i);
        const std::uint64_t header = constants_.tag_bytes + record_header_bytes(array.shape.size());
        out.fill({header, bytes.size() - header});
      } else {
        out.write(bytes);
      }
    });
    return {};
  }

 private:
  const VmConstants& constants_;
  const BytesAt& code_;
  std::vector<bool> is_filler_;
  std::vector<std::uint64_t> index_;
  std::uint64_t count_ = 0;
};

// Writes a load of a constant by its new index; returns the end of the old instruction.
std::uint64_t write_load(const BytesAt& code, std::uint64_t at,
                         const RenumberedConstants& renumbered, AlignedOutput& out) {
  ByteReader in = code.reader(at);
  // The code is read and checked before.
  std::vector<std::int64_t> words = in.read_i64_array("words").value().value;
  words[2] = static_cast<std::int64_t>(renumbered.index_of(static_cast<std::uint64_t>(words[2])));
  words[0] = relay_instruction_hash(std::span(words).subspan(1));
  out.Write<std::uint64_t>(words.size());
  out.Write(words.data(), words.size() * sizeof(std::int64_t));
  return in.offset();
}

Status write_relay(const RelayCode& code, const RenumberedConstants& renumbered,
                   AlignedOutput& out) {
  out.write(code.whole.slice(code.whole.at, code.constants_at));
  GANTRY_CHECK(renumbered.write(out));
  out.Write<std::uint64_t>(renumbered.count());
  renumbered.for_each([&](std::size_t i, bool) { out.Write<std::int64_t>(code.devices[i]); });
  std::uint64_t done = code.devices_end;
  for (const std::uint64_t load : code.loads) {
    out.write(code.whole.slice(done, load));
    done = write_load(code.whole, load, renumbered, out);
  }
  out.write(code.whole.slice(done, code.whole.at + code.whole.bytes.size()));
  return {};
}

// Writes the length of code before it, which depends on the sizes of fillers.
template <class WriteCode>
Status write_sized(AlignedOutput& out, const WriteCode& write_code) {
  const std::uint64_t code_at = out.position() + sizeof(std::uint64_t);
  AlignedOutput counted(code_at, out.alignment());
  GANTRY_CHECK(write_code(counted));
  out.Write<std::uint64_t>(counted.position() - code_at);
  return write_code(out);
}

}  // namespace

Status write_aligned_relax(std::span<const std::uint8_t> payload, Numbering numbering,
                           AlignedOutput& out) {
  GANTRY_TRY(const RelaxCode code, read_relax_payload(payload, numbering));
  GANTRY_TRY(const RelaxConstantUses uses, find_constant_uses(code));
  const auto is_array = [](const VmConstant& each) {
    return std::holds_alternative<ArrayRecord>(each);
  };
  if (std::ranges::none_of(code.constants.values, is_array)) {
    out.write(payload);
    return {};
  }
  if (const RelaxFunction* const compiled = code.compiled_function()) {
    return unsupported("function ", quoted(compiled->name),
                       " is compiled into the library, whose code refers to constants by index; "
                       "arrays can only be aligned for bytecode, whose indices are rewritten");
  }
  const RenumberedConstants renumbered(code.constants, code.whole, uses.is_used);
  const auto write_code = [&](AlignedOutput& to) {
    const RelaxForm form{
        .has_scopes = code.has_scopes,
        .write_constants = [&] { return renumbered.write(to); },
        .index_of = [&](std::uint64_t constant) { return renumbered.index_of(constant); }};
    return write_relax_code(code, uses, form, to);
  };
  return code.has_length ? write_sized(out, write_code) : write_code(out);
}

Status write_aligned_relay(std::span<const std::uint8_t> payload, AlignedOutput& out) {
  GANTRY_TRY(const RelayCode code, read_relay_payload(payload));
  const RenumberedConstants renumbered(code.constants, code.whole, code.is_constant_used);
  return write_sized(out, [&](AlignedOutput& to) { return write_relay(code, renumbered, to); });
}

}  // namespace gantry
