// SPDX-License-Identifier: Apache-2.0
#include "core/formats/weight_index.hpp"

#include "core/formats/limits.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/json_tree.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace gantry {
namespace {

constexpr std::string_view raw_shard = "raw-shard";
constexpr std::string_view raw = "raw";
constexpr std::string_view narrowed = "f32-to-bf16";
// The system opens no longer paths.
constexpr std::size_t max_path_bytes = 4096;
constexpr std::string_view index_title = "index of weights";

template <class... Parts>
Failure refuse(std::uint64_t at, const Parts&... parts) {
  return malformed(at, parts...).with_reason("WEIGHT_INDEX");
}

// The index, a shard or a record, for errors.
struct Title {
  std::string_view noun;
  std::optional<std::size_t> index = {};
  std::string text() const { return index ? concat(noun, " ", *index) : std::string(noun); }
};

Failure wrong_kind(const Title& title, std::string_view key, JsonValue value,
                   std::string_view expected) {
  return refuse(value.offset(), title.text(), ": ", quoted(key), " is ", name_of(value.kind()),
                ", expected ", expected);
}

Status check_object(JsonValue value, const Title& title) {
  if (value.is(JsonKind::object)) return {};
  return refuse(value.offset(), title.text(), " is ", name_of(value.kind()),
                ", expected an object");
}

Result<JsonValue> member(JsonValue object, const Title& title, std::string_view key) {
  if (const auto value = object.find(key)) return *value;
  return malformed(object.offset(), title.text(), " has no ", quoted(key))
      .with_reason("WEIGHT_KEY");
}

Result<JsonValue> member(JsonValue object, const Title& title, std::string_view key,
                         JsonKind kind) {
  GANTRY_TRY(const JsonValue value, member(object, title, key));
  if (!value.is(kind)) return wrong_kind(title, key, value, name_of(kind));
  return value;
}

Result<std::string> text_of(JsonValue object, const Title& title, std::string_view key) {
  GANTRY_TRY(const JsonValue value, member(object, title, key, JsonKind::text));
  return std::string(value.text());
}

// Counts of bytes, and extents.
Result<std::uint64_t> count_of(JsonValue value, const Title& title, std::string_view key) {
  constexpr std::string_view expected = "a number from 0 to 2^63 - 1";
  if (value.is(JsonKind::negative) && value.integer() != 0) {
    return refuse(value.offset(), title.text(), ": ", quoted(key), " is ", value.integer(),
                  ", expected ", expected);
  }
  if (value.is(JsonKind::negative)) return 0;
  if (!value.is(JsonKind::count)) return wrong_kind(title, key, value, expected);
  if (value.count() > INT64_MAX) {
    return refuse(value.offset(), title.text(), ": ", quoted(key), " is ", value.count(),
                  ", expected ", expected);
  }
  return value.count();
}

Result<std::uint64_t> count_member(JsonValue object, const Title& title, std::string_view key) {
  GANTRY_TRY(const JsonValue value, member(object, title, key));
  return count_of(value, title, key);
}

Result<gantry_dtype> dtype_of(JsonValue record, const Title& title) {
  GANTRY_TRY(const JsonValue value, member(record, title, "dtype", JsonKind::text));
  // Writers mean the boolean of one byte.
  const std::string_view text = value.text() == "bool" ? "bool8" : value.text();
  auto dtype = parse_dtype(text);
  if (!dtype.ok()) {
    Error error = std::move(dtype).error();
    error.offset = value.offset();
    error.message = Message(title.text(), ": ", error.message);
    error.reason = "WEIGHT_INDEX";
    return error;
  }
  if (dtype->code == dtypes::handle.code || dtype->bits * dtype->lanes % 8 != 0) {
    Failure failure = unsupported(title.text(), ": dtype ", quoted(value.text()),
                                  " is not supported: its elements have no whole bytes of data")
                          .with_reason("WEIGHT_INDEX");
    failure.error().offset = value.offset();
    return failure;
  }
  return dtype;
}

Result<std::vector<std::int64_t>> shape_of_record(JsonValue record, const Title& title) {
  GANTRY_TRY(const JsonValue list, member(record, title, "shape", JsonKind::array));
  if (list.size() > limits::array_dimensions) {
    return refuse(list.offset(), title.text(), ": shape has ", list.size(),
                  " dimensions, maximum is ", limits::array_dimensions);
  }
  std::vector<std::int64_t> shape;
  shape.reserve(list.size());
  for (const JsonValue item : list) {
    GANTRY_TRY(const std::uint64_t extent, count_of(item, title, "shape"));
    shape.push_back(static_cast<std::int64_t>(extent));
  }
  return shape;
}

Result<WeightRecord> read_record(JsonValue value, const Title& title) {
  WeightRecord record;
  record.at = value.offset();
  GANTRY_TRY(record.name, text_of(value, title, "name"));
  GANTRY_TRY(record.shape, shape_of_record(value, title));
  GANTRY_TRY(record.dtype, dtype_of(value, title));
  GANTRY_TRY(record.format, text_of(value, title, "format"));
  GANTRY_TRY(record.stored_bytes, count_member(value, title, "nbytes"));
  GANTRY_TRY(record.begin, count_member(value, title, "byteOffset"));
  return record;
}

// A directory of weights may come from anywhere, so its index must not name files outside of it.
// Symbolic links are followed: caches of downloads consist of them.
Result<std::string> path_of_shard(JsonValue shard, const Title& title) {
  GANTRY_TRY(const JsonValue value, member(shard, title, "dataPath", JsonKind::text));
  const std::string_view path = value.text();
  const auto refuse_path = [&](std::string_view why) {
    return refuse(value.offset(), title.text(), ": dataPath ", quoted(path), " ", why,
                  ", expected a path inside the directory");
  };
  if (path.empty()) return refuse_path("is empty");
  if (path.size() > max_path_bytes)
    return refuse_path(concat("is longer than ", max_path_bytes, " bytes"));
  if (path.find('\0') != path.npos) return refuse_path("contains NUL");
  if (path.starts_with('/')) return refuse_path("is absolute");
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (path.substr(at, end - at) == "..") return refuse_path("contains \"..\"");
    at = end + 1;
  }
  return std::string(path);
}

// Reads the member "records" of an object.
//
// read     [in]   reads one item from its value and title
template <class T>
Status read_records(JsonValue object, const Title& title, std::string_view noun,
                    Result<T> (*read)(JsonValue, const Title&), std::vector<T>& to) {
  GANTRY_TRY(const JsonValue list, member(object, title, "records", JsonKind::array));
  for (const JsonValue item : list) {
    const Title of_item{noun, to.size()};
    GANTRY_CHECK(check_object(item, of_item));
    GANTRY_TRY(T made, read(item, of_item));
    to.push_back(std::move(made));
  }
  return {};
}

Result<WeightShard> read_shard(JsonValue value, const Title& title) {
  WeightShard shard;
  shard.at = value.offset();
  GANTRY_TRY(shard.path, path_of_shard(value, title));
  GANTRY_TRY(shard.format, text_of(value, title, "format"));
  GANTRY_TRY(shard.bytes, count_member(value, title, "nbytes"));
  if (const auto md5 = value.find("md5sum"); md5 && md5->is(JsonKind::text))
    shard.md5 = md5->text();
  Status read = read_records(value, title, "record", read_record, shard.records);
  if (!read.ok()) return std::move(read).failure().at("in ", title.text(), " ", quoted(shard.path));
  return shard;
}

Failure unknown_format(std::uint64_t at, std::string_view format, std::string_view known) {
  Failure failure =
      unsupported("format is ", quoted(format), ", expected ", known).with_reason("WEIGHT_FORMAT");
  failure.error().offset = at;
  return failure;
}

Status check_record(const WeightShard& shard, const WeightRecord& record) {
  const auto wrong = [&](const auto&... parts) {
    return malformed(record.at, parts...).with_reason("WEIGHT_RECORD");
  };
  if (record.format != raw && record.format != narrowed)
    return unknown_format(record.at, record.format, "\"raw\" or \"f32-to-bf16\"");
  auto bytes = tensor_bytes(record.shape, record.dtype);
  if (!bytes.ok()) return wrong(bytes.error().message);
  const std::uint64_t expected = record.is_narrowed() ? *bytes / 2 : *bytes;
  if (record.stored_bytes != expected) {
    return wrong("nbytes is ", record.stored_bytes, ", expected ", expected, " for ",
                 type_text(record.dtype, record.shape), " in format ", quoted(record.format));
  }
  if (record.begin > shard.bytes || record.stored_bytes > shard.bytes - record.begin) {
    return wrong("byteOffset is ", record.begin, " and nbytes ", record.stored_bytes,
                 ", the shard has ", ByteCount(shard.bytes));
  }
  return {};
}

}  // namespace

bool WeightRecord::is_narrowed() const {
  return format == narrowed && same_dtype(dtype, dtypes::float32);
}

Result<WeightIndex> parse_weight_index(std::string_view json) {
  GANTRY_TRY(const JsonTree tree,
             JsonTree::parse(json, {.name = index_title, .reason = "WEIGHT_INDEX"}));
  const Title title{index_title};
  GANTRY_CHECK(check_object(tree.root(), title));
  WeightIndex index;
  GANTRY_CHECK(read_records(tree.root(), title, "shard", read_shard, index.shards));
  return index;
}

Status check_shard(const WeightShard& shard) {
  if (shard.format != raw_shard) {
    Failure failure = unknown_format(shard.at, shard.format, "\"raw-shard\"");
    return std::move(failure).with_reason("WEIGHT_SHARD");
  }
  for (std::size_t i = 0; i < shard.records.size(); ++i) {
    Status checked = check_record(shard, shard.records[i]);
    if (!checked.ok())
      return std::move(checked).failure().at("in record ", i, " ", quoted(shard.records[i].name));
  }
  return {};
}

void read_elements(const WeightRecord& record, std::span<const std::uint8_t> stored, void* to) {
  if (stored.empty()) return;
  if (!record.is_narrowed()) {
    std::memcpy(to, stored.data(), stored.size());
    return;
  }
  const std::size_t count = stored.size() / sizeof(std::uint16_t);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t upper = 0;
    std::memcpy(&upper, stored.data() + i * sizeof upper, sizeof upper);
    const std::uint32_t whole = std::uint32_t{upper} << 16;
    std::memcpy(static_cast<std::uint8_t*>(to) + i * sizeof whole, &whole, sizeof whole);
  }
}

}  // namespace gantry
