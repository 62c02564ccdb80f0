// SPDX-License-Identifier: Apache-2.0
#include "core/formats/aligned_payload.hpp"

#include "core/formats/array_list.hpp"
#include "core/formats/relax_code.hpp"
#include "core/formats/relay_code.hpp"
#include "core/formats/type_key.hpp"
#include "core/formats/vm_details.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/dmlc_stream.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gantry {
namespace {

// A stream with its position in the file. Without a stream behind it, it only counts: a writer runs
// twice to find its size.
class AlignedOutput final : public OutputStream {
 public:
  // Counts only.
  AlignedOutput(std::uint64_t position, std::uint64_t alignment)
      : position_(position), alignment_(alignment) {}
  explicit AlignedOutput(const PayloadOutput& to)
      : to_(&to.stream), position_(to.position), alignment_(to.alignment) {}

  // Writes a filler for the data of the next record.
  void fill(NextRecord next) { write_filler(*this, position_, next, alignment_); }

  std::uint64_t position() const { return position_; }
  std::uint64_t alignment() const { return alignment_; }

 protected:
  void put(std::span<const std::uint8_t> bytes) override {
    if (to_ != nullptr && !bytes.empty()) to_->Write(bytes.data(), bytes.size());
    position_ += bytes.size();
  }

 private:
  dmlc::Stream* to_ = nullptr;
  std::uint64_t position_;
  std::uint64_t alignment_;
};

// Fillers are written anew.
Status check_users(const ArrayList& list) {
  for (std::size_t i = 0; i < list.users.size(); ++i) {
    for (const ArrayList::Name& name : list.users[i].uses) {
      if (!is_filler(name.text)) continue;
      return malformed(name.at, "symbol ", i, " uses constant ", quoted(name.text),
                       ", but names with ", quoted(filler_prefix), " are those of fillers")
          .with_reason("BLOB_FORMAT");
    }
  }
  return {};
}

Result<ArrayList> read_whole_list(std::span<const std::uint8_t> payload,
                                  const ArrayListForm& form) {
  ByteReader in(payload);
  GANTRY_TRY(ArrayList list, read_array_list(in, form));
  if (!in.at_end()) {
    return malformed(in.offset(), "payload has ", in.left(), " bytes after its last field")
        .with_reason("BLOB_TRAILING");
  }
  GANTRY_CHECK(check_users(list));
  return list;
}

// Lists of names and of arrays in the same order: parameters of executors, and constants.
Status write_aligned_list(const ArrayListForm& form, std::span<const std::uint8_t> payload,
                          AlignedOutput& out) {
  GANTRY_TRY(ArrayList list, read_whole_list(payload, form));
  std::erase_if(list.arrays, [](const NamedArray& each) { return is_filler(each.name); });
  std::vector<std::string_view> names;
  for (const NamedArray& each : list.arrays) names.push_back(each.name);
  write_array_names(out, form, list.graph_json, names_with_fillers(names));
  for (const NamedArray& each : list.arrays) {
    out.fill({record_header_bytes(each.array.shape.size()), each.array.data.size()});
    write_array_record(out, each.array);
  }
  write_array_list_end(out, form, list);
  return {};
}

// The constants of a virtual machine without their fillers, and where they are after each array has a
// new one. A filler is a constant, too, so that the indices of constants change wherever the code
// refers to them.
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

}  // namespace

Status write_aligned_payload(std::string_view type_key, std::span<const std::uint8_t> payload,
                             const ExporterFacts& facts, const PayloadOutput& to) {
  if (!std::has_single_bit(to.alignment) || to.alignment > max_record_data_alignment) {
    return invalid("alignment is ", to.alignment, ", expected a power of two up to ",
                   max_record_data_alignment);
  }
  AlignedOutput out(to);
  if (const ArrayListForm* form = array_list_form(type_key))
    return write_aligned_list(*form, payload, out);
  if (type_key == relay_executable_key) return write_aligned_relay(payload, out);
  if (is_virtual_machine(type_key)) return write_aligned_relax(payload, facts.numbering, out);
  out.write(payload);
  return {};
}

}  // namespace gantry
