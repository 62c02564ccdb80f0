// SPDX-License-Identifier: Apache-2.0
#include "core/format/relay_code.hpp"

#include "core/format/payload_layout.hpp"
#include "core/format/payload_walk.hpp"

#include <gantry/quoted.hpp>

#include <cassert>
#include <charconv>
#include <string>
#include <utility>

namespace gantry {
namespace {

constexpr std::int64_t load_const_opcode = 11;

template <class... Parts>
Failure refuse_relay(std::uint64_t at, const Parts&... parts) {
  return malformed(at, parts...).with_reason("BLOB_FORMAT");
}

class RelayReader {
 public:
  explicit RelayReader(BytesAt whole) : in_(whole.reader(whole.at)) { code_.whole = whole; }

  Result<RelayCode> read() {
    GANTRY_TRY(const int minor, read_head());
    GANTRY_CHECK(skip(minor >= 14  ? "vec<{dev,str}>"
                      : minor >= 9 ? "vec<dev>"
                                   : "",
                      minor >= 9 ? "i32" : ""));
    GANTRY_CHECK(skip("globals:vec<str>", ""));
    code_.constants_at = in_.offset();
    GANTRY_TRY(code_.constants, read_vm_constants(in_, minor == min_relay_minor_version
                                                           ? std::span<const VmConstantKind>()
                                                           : relay_constant_kinds()));
    GANTRY_CHECK(read_devices());
    GANTRY_CHECK(skip("primitives:vec<str>", "attributes:map<u64,map<str,str>>"));
    GANTRY_TRY(const std::uint64_t count, in_.read_count(3 * 8, "functions"));
    for (std::uint64_t i = 0; i < count; ++i) {
      if (Status read = read_function(); !read.ok())
        return std::move(read).error().at("in function ", i);
    }
    if (!in_.at_end()) {
      return refuse_relay(in_.offset(), "code has ", in_.left(),
                          " bytes after its last field, expected none");
    }
    return std::move(code_);
  }

 private:
  Result<int> read_head() {
    const std::uint64_t at = in_.offset();
    GANTRY_TRY(const std::uint64_t magic, in_.read_u64("magic"));
    if (magic != vm_magic_first) {
      return refuse_relay(at, "magic is ", Hex{magic}, ", expected ", Hex{vm_magic_first});
    }
    const std::uint64_t version_at = in_.offset();
    GANTRY_TRY(const std::string_view version, in_.read_string("version"));
    const int minor = relay_minor_version(version);
    if (minor >= min_relay_minor_version && minor <= max_relay_minor_version) return minor;
    Error error = unsupported("version is ", quoted(version), ", expected 0.8 to 0.19")
                      .with_reason("BLOB_FORMAT");
    error.offset = version_at;
    return error;
  }

  // Skips fields in the grammar of payload_layout.hpp; an empty one is none.
  Status skip(std::string_view first, std::string_view second) {
    std::vector<std::string> fields;
    for (const std::string_view field : {first, second}) {
      if (!field.empty()) fields.emplace_back(field);
    }
    const Result<PayloadLayout> layout = parse_payload_layout(fields);
    assert(layout.ok() && "a layout in this file does not parse");
    return walk_payload(in_, *layout, false);
  }

  Status read_devices() {
    const std::uint64_t at = in_.offset();
    GANTRY_TRY(I64Array devices, in_.read_i64_array("devices of constants"));
    if (devices.value.size() != code_.constants.size()) {
      return refuse_relay(at, "devices of constants are ", devices.value.size(), ", expected ",
                          code_.constants.size());
    }
    code_.devices = std::move(devices.value);
    code_.devices_end = in_.offset();
    return {};
  }

  Status read_function() {
    const std::uint64_t at = in_.offset();
    GANTRY_TRY(const std::uint64_t texts, in_.read_count(sizeof(std::uint64_t), "header"));
    if (texts != 3) return refuse_relay(at, "header has ", texts, " texts, expected 3");
    GANTRY_CHECK(in_.read_string("name"));
    GANTRY_CHECK(in_.read_string("register count"));
    const std::uint64_t count_at = in_.offset();
    GANTRY_TRY(const std::string_view text, in_.read_string("instruction count"));
    std::uint64_t count = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (failed != std::errc() || end != text.data() + text.size()) {
      return refuse_relay(count_at, "instruction count is ", quoted(text), ", expected a number");
    }
    GANTRY_TRY(const std::uint64_t names, in_.read_count(sizeof(std::uint64_t), "parameter names"));
    for (std::uint64_t i = 0; i < names; ++i) GANTRY_CHECK(in_.read_string("parameter name"));
    GANTRY_TRY(const std::uint64_t devices,
               in_.read_count(sizeof(std::int64_t), "parameter devices"));
    GANTRY_CHECK(in_.skip(devices * sizeof(std::int64_t), "parameter devices"));
    if (count > in_.left() / sizeof(std::uint64_t)) {
      return refuse_relay(count_at, "instruction count is ", count, ", room for ",
                          in_.left() / sizeof(std::uint64_t))
          .with_reason("BLOB_TRUNCATED");
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      if (Status read = read_instruction(); !read.ok())
        return std::move(read).error().at("in instruction ", i);
    }
    return {};
  }

  Status read_instruction() {
    const std::uint64_t at = in_.offset();
    GANTRY_TRY(const I64Array words, in_.read_i64_array("words"));
    if (words.value.size() < 2) {
      return refuse_relay(at, "instruction has ", words.value.size(), " words, minimum is 2");
    }
    const std::int64_t hash = relay_instruction_hash(std::span(words.value).subspan(1));
    if (words.value[0] != hash) {
      return refuse_relay(words.offset_of(0), "hash is ", words.value[0], ", that of its words is ",
                          hash);
    }
    if (words.value[1] != load_const_opcode) return {};
    if (words.value.size() < 4) {
      return refuse_relay(at, "instruction that loads a constant has ", words.value.size(),
                          " words, minimum is 4");
    }
    const auto constant = static_cast<std::uint64_t>(words.value[2]);
    if (constant >= code_.constants.size()) {
      return refuse_relay(words.offset_of(2), "instruction loads constant ", words.value[2],
                          ", constant count is ", code_.constants.size());
    }
    code_.constants.is_used[constant] = true;
    code_.loads.push_back(at);
    return {};
  }

  ByteReader in_;
  RelayCode code_;
};

}  // namespace

int relay_minor_version(std::string_view version) {
  int minor = 0;
  if (version.starts_with("0.")) {
    std::from_chars(version.data() + 2, version.data() + version.size(), minor);
  }
  return minor;
}

std::int64_t relay_instruction_hash(std::span<const std::int64_t> words) {
  auto hash = static_cast<std::uint64_t>(words.front());
  for (const std::int64_t word : words.subspan(1)) {
    hash ^= static_cast<std::uint64_t>(word) + 0x9e3779b9 + (hash << 6) + (hash >> 2);
  }
  return static_cast<std::int64_t>(hash);
}

Result<RelayCode> read_relay_code(BytesAt code) { return RelayReader(code).read(); }

Result<RelayCode> read_relay_payload(std::span<const std::uint8_t> payload) {
  ByteReader in(payload);
  GANTRY_TRY(const std::string_view code, in.read_string("code"));
  if (!in.at_end()) {
    return malformed(in.offset(), "payload has ", in.left(), " bytes after its last field")
        .with_reason("BLOB_TRAILING");
  }
  const std::uint64_t at = payload.size() - code.size();
  return read_relay_code({payload.subspan(at), at});
}

}  // namespace gantry
