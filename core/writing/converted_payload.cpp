// SPDX-License-Identifier: Apache-2.0
#include "core/writing/converted_payload.hpp"

#include "core/formats/elf/elf_types.hpp"
#include "core/formats/opencl_text.hpp"
#include "core/formats/payload_parts.hpp"
#include "core/formats/relax_code.hpp"
#include "core/formats/type_key.hpp"
#include "core/writing/converted_dtype.hpp"
#include "core/writing/converted_kernels.hpp"

#include <gantry/array_record.hpp>
#include <gantry/byte_count.hpp>
#include <gantry/concat.hpp>
#include <gantry/kernel_table.hpp>
#include <gantry/quoted.hpp>

#include <optional>
#include <string>
#include <variant>

namespace gantry {
namespace {

using Kind = PayloadField::Kind;

// Of the copies of an OpenCL text, one for each kernel.
constexpr std::uint64_t max_marked_bytes = std::uint64_t{256} << 20;

class Conversion {
 public:
  Conversion(std::string_view type_key, std::span<const std::uint8_t> payload,
             const ExporterFacts& facts, Generation to, dmlc::Stream& out)
      : type_key_(type_key),
        payload_(payload),
        facts_(facts),
        to_(generation_facts(to)),
        out_(out) {}

  Status run(const PayloadLayouts& layouts) {
    auto measured =
        layouts.measure(type_key_, ByteReader(payload_), PayloadEnd::known, facts_.argument_tags);
    if (!measured.ok() && measured.error().code == Code::not_found) {
      return unsupported("type key ", quoted(type_key_),
                         " has no payload layout, so that its form in ", to_.name,
                         " is unknown; drop or replace the module, or declare the layout in the "
                         "manifest of its plugin");
    }
    GANTRY_TRY(measured_, std::move(measured));
    GANTRY_TRY(parts_, find_parts(payload_, measured_));
    switch (conversion_of(type_key_)) {
      case PayloadConversion::hexagon_data:
        GANTRY_CHECK(check_hexagon());
        break;
      case PayloadConversion::opencl_text:
        return write_opencl();
      case PayloadConversion::vulkan_shaders:
        return write_vulkan();
      case PayloadConversion::metal_fields:
        return write_metal();
      case PayloadConversion::webgpu_kernels:
      case PayloadConversion::parts:
        break;
    }
    return write(0, payload_.size());
  }

 private:
  void copy(std::uint64_t begin, std::uint64_t end) {
    if (begin != end) out_.Write(payload_.data() + begin, end - begin);
  }

  // Writes the bytes from `begin` to `end` and converts the parts in them.
  Status write(std::uint64_t begin, std::uint64_t end) {
    for (const PayloadPart& part : parts_.parts) {
      if (part.at < begin || part.at >= end) continue;
      copy(begin, part.at);
      begin = part.at + part.size;
      GANTRY_CHECK(write_part(part));
    }
    copy(begin, end);
    return {};
  }

  // The bytes of a field of the layout.
  std::uint64_t field_begin(std::size_t field) const {
    return field == 0 ? 0 : parts_.field_ends[field - 1];
  }
  Status write_field(std::size_t field) {
    return write(field_begin(field), parts_.field_ends[field]);
  }

  Status write_part(const PayloadPart& part) {
    switch (part.kind) {
      case PayloadPart::Kind::dtype:
        return write_dtype(part.at);
      case PayloadPart::Kind::array: {
        const std::uint64_t dtype_at = part.at + record_dtype_at;
        copy(part.at, dtype_at);
        GANTRY_CHECK(write_dtype(dtype_at));
        copy(dtype_at + sizeof(gantry_dtype), part.at + part.size);
        return {};
      }
      case PayloadPart::Kind::kernel_table:
        if (part.has_fixed_size) {
          return unsupported(
              "kernel records at ", Hex{part.at}, " have a fixed size, since a length ",
              "or an alignment depends on it, so that they cannot be written for ", to_.name);
        }
        return write_converted_kernels(
            ByteReader(payload_.subspan(part.at, part.size), part.at),
            {type_key_, measured_.argument_tags, facts_.has_private_float_codes}, to_, out_);
      case PayloadPart::Kind::kernel:
        break;
    }
    return unsupported("kernel records at ", Hex{part.at},
                       " are not in a table, so that they cannot be written for ", to_.name);
  }

  Status write_dtype(std::uint64_t at) {
    return write_converted_dtype(ByteReader(payload_.subspan(at), at),
                                 facts_.has_private_float_codes, to_, out_);
  }

  // Before v0.24 the data are the path of a library on the exporting machine, then its bytes.
  Status check_hexagon() const {
    ByteReader in(payload_.subspan(field_begin(2)), field_begin(2));
    GANTRY_TRY(const std::string_view data, in.read_string("data"));
    const bool is_library =
        has_elf_magic({reinterpret_cast<const std::uint8_t*>(data.data()), data.size()});
    if (is_library == to_.has_hexagon_library) return {};
    return unsupported("data of \"hexagon\" are ",
                       is_library ? "a library" : "the path of a library", ", ", to_.name,
                       " requires ", is_library ? "the path of one" : "its bytes");
  }

  // Loaders since v0.8 build one program for each kernel, from the text after its marker; older ones
  // build the whole text. The whole text after each marker has the same kernels for both.
  Status write_opencl() {
    const bool has_format = measured_.layout->fields().front().kind == Kind::format;
    if (!has_format || !to_.has_opencl_markers) return write(0, payload_.size());
    ByteReader in(payload_);
    GANTRY_TRY(const std::string_view format, in.read_string("format"));
    ByteReader code(payload_.subspan(field_begin(2)), field_begin(2));
    GANTRY_TRY(const std::string_view text, code.read_string("data"));
    if (format != "cl" || text.find(opencl_marker) != text.npos) return write(0, payload_.size());
    GANTRY_TRY(const KernelTable table, read_kernel_table(in, measured_.argument_tags,
                                                          [](ByteReader&) { return Status(); }));
    if (table.size() == 0) return write(0, payload_.size());
    if (text.size() > max_marked_bytes / table.size()) {
      return unsupported("text of ", ByteCount(text.size()), " is the program of ", table.size(),
                         " kernels, ", to_.name, " (", to_.releases,
                         ") requires a copy for each, limit is ", ByteCount(max_marked_bytes));
    }
    const std::string_view line_end = text.ends_with('\n') ? "" : "\n";
    std::uint64_t bytes = 0;
    for (const KernelInfo& kernel : table.kernels()) {
      bytes += opencl_marker.size() + kernel.name.size() + 1 + text.size() + line_end.size();
    }
    GANTRY_CHECK(write(0, field_begin(2)));
    out_.Write<std::uint64_t>(bytes);
    for (const KernelInfo& kernel : table.kernels()) {
      const std::string line = concat(opencl_marker, kernel.name, "\n");
      out_.Write(line.data(), line.size());
      out_.Write(text.data(), text.size());
      out_.Write(line_end.data(), line_end.size());
    }
    return {};
  }

  Status write_vulkan() {
    const PayloadField& shader = measured_.layout->fields()[2].children[1];
    const bool is_sized = shader.kind == Kind::sized;
    if (is_sized == to_.has_sized_shaders) return write(0, payload_.size());
    GANTRY_CHECK(write(0, field_begin(2)));
    ByteReader in(payload_.subspan(field_begin(2)), field_begin(2));
    GANTRY_TRY(const std::uint64_t count, in.read_u64("shaders"));
    out_.Write(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint64_t at = in.offset();
      GANTRY_CHECK(in.read_string("shader name"));
      copy(at, in.offset());
      if (is_sized) GANTRY_CHECK(in.read_u64("shader size"));
      at = in.offset();
      GANTRY_CHECK(in.read_u32("shader flag"));
      GANTRY_TRY(const std::uint64_t words, in.read_count(4, "shader words"));
      GANTRY_CHECK(in.skip(words * 4, "shader words"));
      if (!is_sized) out_.Write<std::uint64_t>(in.offset() - at);
      copy(at, in.offset());
    }
    return {};
  }

  // v0.13 to v0.23: version shaders kernels format; v0.24 and later: format kernels shaders. Before
  // v0.13, and from builds without Metal up to v0.23: format kernels data.
  Status write_metal() {
    constexpr std::string_view version = "0.1.0";
    const std::vector<PayloadField>& fields = measured_.layout->fields();
    const bool has_version = fields.front().kind == Kind::literal;
    const bool has_shaders = has_version || fields[2].kind == Kind::map;
    if (to_.metal == (has_shaders ? MetalForm::one_source : MetalForm::separate_sources)) {
      return unsupported("\"metal\" has ", has_shaders ? "a source for each kernel" : "one source",
                         ", ", to_.name, " (", to_.releases, ") requires ",
                         has_shaders ? "one source" : "a source for each kernel");
    }
    if (!has_shaders || has_version == (to_.metal == MetalForm::versioned)) {
      return write(0, payload_.size());
    }
    if (!has_version) {
      out_.Write<std::uint64_t>(version.size());
      out_.Write(version.data(), version.size());
    }
    const std::size_t order[] = {has_version ? 3u : 2u, has_version ? 2u : 1u,
                                 has_version ? 1u : 0u};
    for (const std::size_t field : order) GANTRY_CHECK(write_field(field));
    return {};
  }

  std::string_view type_key_;
  std::span<const std::uint8_t> payload_;
  const ExporterFacts& facts_;
  const GenerationFacts& to_;
  dmlc::Stream& out_;
  Measured measured_;
  PayloadParts parts_;
};

constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);

class RelaxConversion {
 public:
  RelaxConversion(const RelaxCode& code, bool is_private, const GenerationFacts& to,
                  dmlc::Stream& out)
      : code_(code), is_private_(is_private), to_(to), out_(out) {}

  Status run() {
    // Code whose references are malformed is not written.
    GANTRY_TRY(const RelaxConstantUses uses, find_constant_uses(code_));
    const bool has_scopes = to_.has_memory_scopes;
    if (!has_scopes && !code_.scopes.empty()) {
      return unsupported("code has the memory scope ", quoted(code_.scopes.front().scope),
                         " of constant ", code_.scopes.front().constant, ", ", to_.name, " (",
                         to_.releases, ") has none");
    }
    if (to_.has_code_length) {
      // The list of memory scopes, whose count is 0 if it is added or removed.
      const std::uint64_t removed = code_.has_scopes && !has_scopes ? word_bytes : 0;
      const std::uint64_t added = has_scopes && !code_.has_scopes ? word_bytes : 0;
      out_.Write<std::uint64_t>(code_.whole.bytes.size() - removed + added);
    }
    return write_relax_code(
        code_, uses,
        {.has_scopes = has_scopes, .write_constants = [this] { return write_constants(); }}, out_);
  }

 private:
  void copy(std::uint64_t begin, std::uint64_t end) {
    if (begin == end) return;
    const std::span<const std::uint8_t> bytes = code_.whole.slice(begin, end);
    out_.Write(bytes.data(), bytes.size());
  }

  Status write_constants() {
    out_.Write<std::uint64_t>(code_.constants.size());
    for (std::size_t i = 0; i < code_.constants.size(); ++i) {
      Status written = write_constant(i);
      if (!written.ok()) return std::move(written).error().at("in constant ", i);
    }
    return {};
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
    GANTRY_CHECK(write_converted_dtype(code_.whole.reader(*dtype_at), is_private_, to_, out_));
    copy(*dtype_at + sizeof(gantry_dtype), end);
    return {};
  }

  const RelaxCode& code_;
  const bool is_private_;
  const GenerationFacts& to_;
  dmlc::Stream& out_;
};

Status write_converted_relax(std::span<const std::uint8_t> payload, const ExporterFacts& facts,
                             const GenerationFacts& to, dmlc::Stream& out) {
  GANTRY_TRY(const RelaxCode code, read_relax_payload(payload, facts.numbering));
  return RelaxConversion(code, facts.has_private_float_codes, to, out).run();
}

}  // namespace

bool have_same_payloads(Generation a, Generation b) {
  const GenerationFacts& x = generation_facts(a);
  const GenerationFacts& y = generation_facts(b);
  return a == b || (x.argument_tags == y.argument_tags && x.numbering == y.numbering &&
                    x.has_kernel_names == y.has_kernel_names);
}

Result<std::string> converted_type_key(std::string_view type_key, Generation to) {
  const GenerationFacts& form = generation_facts(to);
  const std::string_view converted = type_key_in(to, type_key);
  if (!converted.empty()) return std::string(converted);
  const TypeKey& key = *find_type_key(type_key);
  return unsupported("modules of type key ", quoted(type_key), " do not exist in ", form.name, " (",
                     form.releases, "), only in ", name_of(key.first),
                     key.first == key.last ? std::string() : concat(" to ", name_of(key.last)));
}

Status write_converted_payload(std::string_view type_key, std::span<const std::uint8_t> payload,
                               const ExporterFacts& facts, const PayloadLayouts& layouts,
                               Generation to, dmlc::Stream& out) {
  if (content_of(type_key) == PayloadContent::relax_code) {
    return write_converted_relax(payload, facts, generation_facts(to), out);
  }
  return Conversion(type_key, payload, facts, to, out).run(layouts);
}

}  // namespace gantry
