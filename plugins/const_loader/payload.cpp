// SPDX-License-Identifier: Apache-2.0
#include "payload.hpp"

#include "core/formats/aligned_payload.hpp"
#include "core/formats/array_list.hpp"
#include "core/formats/type_key.hpp"

#include <gantry/aligned_record.hpp>
#include <gantry/byte_count.hpp>
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

using Name = ArrayList::Name;

template <class... Parts>
Failure refuse(std::uint64_t at, const Parts&... parts) {
  return malformed(at, parts...).with_reason("BLOB_FORMAT");
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

// Some writers omit the lanes of a vector type, and so most of its data.
Status check_data(const ArrayRecord& array, std::size_t i) {
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(array.shape, array.dtype));
  if (array.data.size() == bytes) return {};
  return refuse(array.data_at, "constant ", i, " is ", type_text(array.dtype, array.shape),
                ", which takes ", ByteCount(bytes), ", and has ", ByteCount(array.data.size()));
}

std::vector<Name> names_of_constants(const ArrayList& list) {
  std::vector<Name> names;
  std::uint64_t at = list.names_at;
  for (const NamedArray& each : list.arrays) {
    names.push_back({each.name, at});
    at += sizeof(std::uint64_t) + each.name.size();
  }
  return names;
}

std::vector<Name> symbols_of(const ArrayList& list) {
  std::vector<Name> symbols;
  for (const ArrayList::User& user : list.users) symbols.push_back(user.symbol);
  return symbols;
}

// The constants without fillers, and the index of each in `payload` by its index in the file.
std::vector<std::uint32_t> keep_constants(ArrayList& list, Payload& payload) {
  std::vector<std::uint32_t> kept;
  for (NamedArray& each : list.arrays) {
    kept.push_back(static_cast<std::uint32_t>(payload.constants.size()));
    if (!is_filler(each.name)) payload.constants.push_back(std::move(each));
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
  GANTRY_TRY(ArrayList list, read_array_list(blob.reader(), *array_list_form(constants_key)));
  for (std::size_t i = 0; i < list.arrays.size(); ++i)
    GANTRY_CHECK(check_data(list.arrays[i].array, i));
  const std::vector<Name> names = names_of_constants(list);
  GANTRY_TRY(const std::vector<std::uint32_t> by_name, sorted(names, "constant"));
  Payload payload;
  const std::vector<std::uint32_t> kept = keep_constants(list, payload);
  GANTRY_TRY(payload.by_name_, sorted(symbols_of(list), "symbol"));
  for (const ArrayList::User& user : list.users) {
    Symbol& added = payload.symbols.emplace_back(Symbol{user.symbol.text, {}});
    for (const Name& name : user.uses) {
      const std::uint32_t* const found =
          find_name(by_name, name.text, [&](std::uint32_t i) { return names[i].text; });
      if (found == nullptr || is_filler(name.text)) {
        constexpr std::size_t max_listed = 16;
        return refuse(
            name.at, "symbol ", quoted(user.symbol.text), " uses the constant ", quoted(name.text),
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
  // Without numbered constants.
  return write_aligned_payload(constants_key, read, {}, {out, out.position(), sink.alignment()});
}

}  // namespace gantry::const_loader
