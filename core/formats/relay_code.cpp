// SPDX-License-Identifier: Apache-2.0
#include "core/formats/relay_code.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace gantry {
namespace {

constexpr std::int64_t load_const_opcode = 11;

// Later forms first: they have more that must fit.
using FormDevices = RelayForm::Devices;
constexpr RelayForm form_table[] = {
    {14, 19, FormDevices::scoped, true, true},
    {9, 13, FormDevices::plain, true, true},
    {8, 8, FormDevices::none, false, true},
    // Development builds between v0.8 and v0.9, and before v0.8.
    {0, 0, FormDevices::plain, false, true},
    {0, 0, FormDevices::none, false, false},
};

// Parses a decimal number, which is the whole text.
Result<std::uint64_t> parse_decimal(std::string_view text, std::uint64_t at, const char* field) {
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size())
    return refuse_code(at, field, " is ", quoted(text), ", expected a number");
  return number;
}

// Reads magic and version; returns the minor version.
Result<int> read_head(ByteReader& in, std::string_view& version) {
  const std::uint64_t at = in.offset();
  GANTRY_TRY(const std::uint64_t magic, in.read_u64("magic"));
  if (magic != vm_magic_first) {
    return refuse_code(at, "magic is ", Hex{magic}, ", expected ", Hex{vm_magic_first});
  }
  const std::uint64_t version_at = in.offset();
  GANTRY_TRY(version, in.read_string("version"));
  const int minor = relay_minor_version(version);
  if (minor >= min_relay_minor_version && minor <= max_relay_minor_version) return minor;
  Error error = unsupported("version is TVM ", quoted(version), ", expected TVM 0.8 to 0.19")
                    .with_reason("BLOB_FORMAT");
  error.offset = version_at;
  return error;
}

// Reads the code after its version in one form.
class RelayReader {
 public:
  RelayReader(BytesAt whole, ByteReader after_version, std::string_view version,
              const RelayForm& form)
      : in_(after_version) {
    code_.whole = whole;
    code_.version = version;
    code_.form = &form;
  }

  // What is read: after a failure, what is before the first wrong field.
  RelayCode take() { return std::move(code_); }

  Status read() {
    if (code_.form->devices != FormDevices::none) GANTRY_CHECK(read_virtual_devices());
    code_.globals_at = in_.offset();
    GANTRY_CHECK(read_texts(code_.globals, "globals", "global"));
    code_.constants_at = in_.offset();
    GANTRY_CHECK(
        read_vm_constants(in_, relay_constant_form(code_.form->has_tags), code_.constants));
    code_.is_constant_used.resize(code_.constants.size());
    GANTRY_CHECK(read_devices());
    GANTRY_CHECK(read_texts(code_.packed_functions, "packed functions", "packed function"));
    if (code_.form->has_attributes) GANTRY_CHECK(skip_attributes());
    code_.functions_at = in_.offset();
    GANTRY_TRY(const std::uint64_t count, in_.read_count(min_function_bytes, "functions"));
    for (std::uint64_t i = 0; i < count; ++i) {
      if (Status read = read_function(); !read.ok())
        return std::move(read).error().at("in function ", i);
    }
    if (!in_.at_end()) {
      return refuse_code(in_.offset(), "code has ", in_.left(),
                         " bytes after its last field, expected none");
    }
    return {};
  }

 private:
  // three texts and their count, and two counts
  static constexpr std::uint64_t min_function_bytes = 6 * 8;

  Status read_virtual_devices() {
    const bool has_scopes = code_.form->devices == FormDevices::scoped;
    GANTRY_TRY(const std::uint64_t count, in_.read_count(has_scopes ? 16 : 8, "virtual devices"));
    for (std::uint64_t i = 0; i < count; ++i) {
      RelayDevice device;
      GANTRY_TRY(device.type, in_.read_i32("device type"));
      GANTRY_TRY(device.index, in_.read_i32("device index"));
      if (has_scopes) {
        GANTRY_TRY(device.scope, in_.read_string("memory scope"));
      }
      code_.virtual_devices.push_back(device);
    }
    code_.host_at = in_.offset();
    GANTRY_TRY(code_.host_device, in_.read_i32("host device"));
    return {};
  }

  Status read_texts(std::vector<std::string_view>& texts, const char* list, const char* item) {
    GANTRY_TRY(const std::uint64_t count, in_.read_count(sizeof(std::uint64_t), list));
    texts.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      GANTRY_TRY(texts.emplace_back(), in_.read_string(item));
    }
    return {};
  }

  Status skip_attributes() {
    GANTRY_TRY(const std::uint64_t count, in_.read_count(8 + 8, "attributes"));
    for (std::uint64_t i = 0; i < count; ++i) {
      GANTRY_CHECK(in_.read_u64("function of attributes"));
      GANTRY_TRY(const std::uint64_t pairs, in_.read_count(8 + 8, "attributes of a function"));
      for (std::uint64_t pair = 0; pair < pairs; ++pair) {
        GANTRY_CHECK(in_.read_string("attribute"));
        GANTRY_CHECK(in_.read_string("attribute value"));
      }
    }
    return {};
  }

  Status read_devices() {
    const std::uint64_t at = in_.offset();
    GANTRY_TRY(I64Array devices, in_.read_i64_array("devices of constants"));
    if (devices.value.size() != code_.constants.size()) {
      return refuse_code(at, "devices of constants are ", devices.value.size(), ", expected ",
                         code_.constants.size());
    }
    code_.devices = std::move(devices.value);
    code_.devices_end = in_.offset();
    return {};
  }

  Status read_function() {
    RelayFunction function;
    function.at = in_.offset();
    GANTRY_TRY(const std::uint64_t texts, in_.read_count(sizeof(std::uint64_t), "header"));
    if (texts != 3) return refuse_code(function.at, "header has ", texts, " texts, expected 3");
    GANTRY_TRY(function.name, in_.read_string("name"));
    const std::uint64_t registers_at = in_.offset();
    GANTRY_TRY(const std::string_view registers, in_.read_string("register count"));
    GANTRY_TRY(function.register_count, parse_decimal(registers, registers_at, "register count"));
    const std::uint64_t count_at = in_.offset();
    GANTRY_TRY(const std::string_view text, in_.read_string("instruction count"));
    GANTRY_TRY(const std::uint64_t count, parse_decimal(text, count_at, "instruction count"));
    GANTRY_CHECK(read_texts(function.params, "parameter names", "parameter name"));
    GANTRY_TRY(I64Array devices, in_.read_i64_array("parameter devices"));
    function.param_devices = std::move(devices.value);
    if (count > in_.left() / sizeof(std::uint64_t)) {
      return refuse_code(count_at, "instruction count is ", count, ", room for ",
                         in_.left() / sizeof(std::uint64_t))
          .with_reason("BLOB_TRUNCATED");
    }
    function.first_instruction = static_cast<std::uint32_t>(code_.instructions.size());
    function.instruction_count = static_cast<std::uint32_t>(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (Status read = read_instruction(); !read.ok())
        return std::move(read).error().at("in instruction ", i);
    }
    code_.functions.push_back(std::move(function));
    return {};
  }

  Status read_instruction() {
    const std::uint64_t at = in_.offset();
    GANTRY_TRY(const I64Array words, in_.read_i64_array("words"));
    if (words.value.size() < 2) {
      return refuse_code(at, "instruction has ", words.value.size(), " words, minimum is 2");
    }
    const std::int64_t hash = relay_instruction_hash(std::span(words.value).subspan(1));
    if (words.value[0] != hash) {
      return refuse_code(words.offset_of(0), "hash is ", words.value[0], ", that of its words is ",
                         hash);
    }
    code_.instructions.push_back({at, static_cast<std::uint32_t>(words.value.size() - 1)});
    if (words.value[1] != load_const_opcode) return {};
    if (words.value.size() < 4) {
      return refuse_code(at, "instruction that loads a constant has ", words.value.size(),
                         " words, minimum is 4");
    }
    const auto constant = static_cast<std::uint64_t>(words.value[2]);
    if (constant >= code_.constants.size()) {
      return refuse_code(words.offset_of(2), "instruction loads constant ", words.value[2],
                         ", constant count is ", code_.constants.size());
    }
    code_.is_constant_used[constant] = true;
    code_.loads.push_back(at);
    return {};
  }

  ByteReader in_;
  RelayCode code_;
};

// The form of a release. Precondition: the version is supported.
const RelayForm& form_of_release(int minor_version) {
  return *std::ranges::find_if(form_table, [&](const RelayForm& form) {
    return minor_version >= form.first && minor_version <= form.last;
  });
}

// True for "0.12.0", false for "0.12.dev5+gabc".
bool is_release_version(std::string_view version) {
  return version.find_first_not_of("0123456789.") == std::string_view::npos;
}

// True if both readings have the same fields at the same offsets.
bool is_same_reading(const RelayCode& a, const RelayCode& b) {
  return (a.form->devices == FormDevices::scoped) == (b.form->devices == FormDevices::scoped) &&
         a.host_at == b.host_at && a.constants_at == b.constants_at &&
         a.constants.at == b.constants.at && a.devices_end == b.devices_end &&
         a.functions_at == b.functions_at;
}

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

std::span<const RelayForm> relay_forms() { return form_table; }

Result<RelayCode> select_relay_reading(Result<RelayCode> own, std::vector<RelayCode> others,
                                       bool is_release) {
  if (own.ok() && is_release) return own;
  if (own.ok()) others.insert(others.begin(), std::move(*own));
  for (std::size_t i = 1; i < others.size(); ++i) {
    if (is_same_reading(others[0], others[i])) continue;
    return refuse_code(others[0].constants_at, "code of version ", quoted(others[0].version),
                       " is complete in several forms, expected one");
  }
  if (!others.empty()) return std::move(others[0]);
  return own;
}

Status read_relay_code(BytesAt code, RelayCode& read) {
  ByteReader in = code.reader(code.at);
  GANTRY_TRY(const int minor, read_head(in, read.version));
  const std::string_view version = read.version;
  const bool is_release = is_release_version(version);
  const RelayForm& own = form_of_release(minor);
  RelayReader reader(code, in, version, own);
  Status reading = reader.read();
  read = reader.take();
  if (reading.ok() && is_release) return {};
  std::vector<RelayCode> others;
  for (const RelayForm& form : form_table) {
    if (&form == &own) continue;
    RelayReader other(code, in, version, form);
    if (other.read().ok()) others.push_back(other.take());
  }
  if (others.empty()) return reading;
  auto selected =
      select_relay_reading(reading.ok() ? Result<RelayCode>(read) : std::move(reading).error(),
                           std::move(others), is_release);
  if (!selected.ok()) return std::move(selected).error();
  read = std::move(*selected);
  return {};
}

Result<RelayCode> read_relay_code(BytesAt code) {
  RelayCode read;
  GANTRY_CHECK(read_relay_code(code, read));
  return read;
}

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

std::vector<std::int32_t> device_types_of(const RelayCode& code) {
  std::vector<std::int32_t> types;
  for (const RelayDevice& device : code.virtual_devices) types.push_back(device.type);
  if (code.virtual_devices.empty()) {
    const auto add = [&](std::int64_t type) { types.push_back(static_cast<std::int32_t>(type)); };
    for (const RelayFunction& function : code.functions)
      std::ranges::for_each(function.param_devices, add);
    std::ranges::for_each(code.devices, add);
  }
  std::ranges::sort(types);
  const auto same = std::ranges::unique(types);
  types.erase(same.begin(), same.end());
  return types;
}

}  // namespace gantry
