// SPDX-License-Identifier: Apache-2.0
#include "payload.hpp"

#include "core/formats/aligned_payload.hpp"

#include <gantry/aligned_record.hpp>
#include <gantry/byte_count.hpp>
#include <gantry/byte_reader.hpp>
#include <gantry/dmlc_stream.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace gantry::const_loader {
namespace {

// Bytes of an empty text or list: its length.
constexpr std::uint64_t length_bytes = sizeof(std::uint64_t);

template <class... Parts>
Failure refuse(std::uint64_t at, const Parts&... parts) {
  return malformed(at, parts...).with_reason("BLOB_FORMAT");
}

// A name in the file.
struct Name {
  std::string_view text;
  std::uint64_t at = 0;
};

Result<std::vector<Name>> read_names(ByteReader& in, const char* list, const char* item) {
  GANTRY_TRY(const std::uint64_t count, in.read_count(length_bytes, list));
  std::vector<Name> names(count);
  for (Name& name : names) {
    name.at = in.offset();
    GANTRY_TRY(name.text, in.read_string(item));
  }
  return names;
}

// Reads a count that must be that of an earlier list.
Status read_same_count(ByteReader& in, std::string_view what, std::size_t expected,
                       std::string_view earlier) {
  const std::uint64_t at = in.offset();
  GANTRY_TRY(const std::uint64_t count, in.read_u64("count"));
  if (count == expected) return {};
  return refuse(at, what, " are ", count, ", the ", earlier, " are ", expected);
}

// Returns the indices of names, sorted by name.
Result<std::vector<std::uint32_t>> sorted(std::span<const Name> names, std::string_view what) {
  std::vector<std::uint32_t> order(names.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return names[i].text; });
  const auto twice =
      std::ranges::adjacent_find(order, {}, [&](std::uint32_t i) { return names[i].text; });
  if (twice == order.end()) return order;
  const Name& second = names[*std::next(twice)];
  return refuse(second.at, what, " ", quoted(second.text), " is given twice");
}

// Returns the position of a name in a sorted order, or nothing.
template <class NameOf>
const std::uint32_t* find_name(const std::vector<std::uint32_t>& order, std::string_view name,
                               const NameOf& name_of) {
  const auto found = std::ranges::lower_bound(order, name, {}, name_of);
  return found != order.end() && name_of(*found) == name ? &*found : nullptr;
}

// The constants with their fillers, as they are in the file.
struct ConstantList {
  std::vector<Name> names;
  std::vector<ArrayRecord> arrays;
  std::vector<std::uint32_t> by_name;
};

Result<ConstantList> read_constants(ByteReader& in) {
  ConstantList list;
  GANTRY_TRY(list.names, read_names(in, "constant names", "constant name"));
  GANTRY_CHECK(read_same_count(in, "constants", list.names.size(), "constant names"));
  for (std::size_t i = 0; i < list.names.size(); ++i) {
    auto array = read_array_record(in, "");
    if (!array.ok()) {
      Error error = std::move(array).error();
      error.message = Message("constant ", i, error.message);
      return error;
    }
    // Some writers omit the lanes of a vector type, and so most of its data.
    GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(array->shape, array->dtype));
    if (array->data.size() != bytes) {
      return refuse(array->data_at, "constant ", i, " is ", type_text(array->dtype, array->shape),
                    ", which takes ", ByteCount(bytes), ", and has ",
                    ByteCount(array->data.size()));
    }
    list.arrays.push_back(std::move(*array));
  }
  GANTRY_TRY(list.by_name, sorted(list.names, "constant"));
  return list;
}

// The constants without fillers, and the index of each in `payload` by its index in the file.
std::vector<std::uint32_t> keep_constants(ConstantList& list, Payload& payload) {
  std::vector<std::uint32_t> kept(list.names.size());
  for (std::size_t i = 0; i < list.names.size(); ++i) {
    kept[i] = static_cast<std::uint32_t>(payload.constants.size());
    if (is_filler(list.names[i].text)) continue;
    payload.constants.push_back({list.names[i].text, std::move(list.arrays[i])});
  }
  return kept;
}

}  // namespace

std::size_t Payload::find(std::string_view symbol) const {
  const std::uint32_t* const found =
      find_name(by_name_, symbol, [&](std::uint32_t i) { return symbols[i].name; });
  return found != nullptr ? *found : symbols.size();
}

Result<Payload> read_payload(Blob& blob) {
  ByteReader& in = blob.reader();
  Payload payload;
  GANTRY_TRY(ConstantList list, read_constants(in));
  const std::vector<std::uint32_t> kept = keep_constants(list, payload);

  GANTRY_TRY(const std::vector<Name> symbols, read_names(in, "symbols", "symbol"));
  GANTRY_CHECK(read_same_count(in, "lists of constants", symbols.size(), "symbols"));
  GANTRY_TRY(payload.by_name_, sorted(symbols, "symbol"));
  for (const Name& symbol : symbols) {
    GANTRY_TRY(const std::vector<Name> used,
               read_names(in, "constants of a symbol", "constant of a symbol"));
    Symbol& added = payload.symbols.emplace_back(Symbol{symbol.text, {}});
    for (const Name& name : used) {
      const std::uint32_t* const found =
          find_name(list.by_name, name.text, [&](std::uint32_t i) { return list.names[i].text; });
      if (found == nullptr || is_filler(name.text)) {
        constexpr std::size_t max_listed = 16;
        return refuse(
            name.at, "symbol ", quoted(symbol.text), " uses the constant ", quoted(name.text),
            ", constants are ",
            payload.constants.empty()
                ? std::string("none")
                : join(
                      payload.constants, ", ",
                      [](const Constant& each) { return quoted(each.name); }, max_listed));
      }
      added.constants.push_back(kept[*found]);
    }
  }
  payload.kept = blob.keep();
  return payload;
}

Status write_payload(const Payload& payload, const Sink& sink) {
  const std::span<const std::uint8_t> read = payload.kept.bytes;
  if (sink.alignment() == 0) return sink.write(read);
  SinkStream out(&sink.raw());
  // Both keys have the same payload, without numbered constants.
  return write_aligned_payload("const_loader", read, {}, {out, out.position(), sink.alignment()});
}

}  // namespace gantry::const_loader
