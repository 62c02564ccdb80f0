// SPDX-License-Identifier: Apache-2.0
#include "core/formats/payload_layout.hpp"

#include "core/base/text.hpp"
#include "core/formats/payload_walk.hpp"
#include "core/formats/type_key.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <cassert>
#include <optional>

namespace gantry {
namespace {

bool ends_in_rest(const PayloadLayout& layout) {
  return !layout.fields().empty() && layout.fields().back().kind == PayloadField::Kind::rest;
}

// How likely the bytes after a payload are the next entry. The end of the container counts as a
// known key, since the last payload of a container without a tree ends there.
enum class Confidence { none, some_key, known_key };

Confidence next_entry(ByteReader in, std::string_view key, const PayloadLayouts& layouts) {
  if (in.at_end()) return Confidence::known_key;
  const auto next = in.read_string("type key");
  if (!next.ok()) return Confidence::none;
  if (*next == key || *next == library_key || *next == tree_key) return Confidence::known_key;
  if (!is_type_key(*next)) return Confidence::none;
  return layouts.contains(*next) ? Confidence::known_key : Confidence::some_key;
}

}  // namespace

PayloadLayouts PayloadLayouts::built_in() {
  PayloadLayouts layouts;
  const std::span<const TypeKey> keys = type_keys();
  for (const TypeKey& key : keys) {
    // Keys with the same layouts share the array of them.
    const auto first = std::ranges::find(keys, key.layouts.data(),
                                         [](const TypeKey& each) { return each.layouts.data(); });
    if (&*first != &key) {
      const Status added = layouts.alias(key.key, first->key);
      assert(added.ok() && "a key of the table has no layout");
      (void)added;
      continue;
    }
    for (const std::string_view fields : key.layouts) {
      const Result<PayloadLayout> layout = parse_payload_layout(words_of(fields));
      assert(layout.ok() && "a layout of the table does not parse");
      layouts.add(key.key, *layout);
    }
  }
  return layouts;
}

void PayloadLayouts::add(std::string_view key, PayloadLayout layout) {
  alternatives_[std::string(key)].push_back(std::move(layout));
}

Status PayloadLayouts::alias(std::string_view alias, std::string_view key) {
  const auto found = alternatives_.find(key);
  if (found == alternatives_.end()) {
    return not_found("payload layout of ", quoted(key), " not found; layouts: ", join(keys()));
  }
  if (alias == key) return {};
  std::vector<PayloadLayout> copy = found->second;
  auto& all = alternatives_[std::string(alias)];
  all.insert(all.end(), std::make_move_iterator(copy.begin()), std::make_move_iterator(copy.end()));
  return {};
}

std::span<const PayloadLayout> PayloadLayouts::alternatives(std::string_view key) const {
  const auto found = alternatives_.find(key);
  if (found == alternatives_.end()) return {};
  return found->second;
}

std::vector<std::string_view> PayloadLayouts::keys() const {
  std::vector<std::string_view> all;
  for (const auto& [key, layouts] : alternatives_) all.push_back(key);
  return all;
}

Result<Measured> PayloadLayouts::measure(std::string_view key,
                                         std::span<const PayloadLayout> alternatives,
                                         const ByteReader& in, PayloadEnd end,
                                         ArgumentTags tags) const {
  std::optional<Measured> best;
  Confidence best_confidence = Confidence::none;
  std::optional<Error> furthest;
  const auto fails = [&](Error error) {
    if (!furthest || error.offset > furthest->offset) furthest = std::move(error);
  };
  for (const PayloadLayout& layout : alternatives) {
    // Such a layout requires a known end.
    if (end == PayloadEnd::unknown && ends_in_rest(layout)) continue;
    for (const ArgumentTags form : kernel_forms) {
      if (tags != ArgumentTags::unknown && tags != form) continue;
      ByteReader at = in;
      Status walked = walk_payload(at, layout, form);
      if (!walked.ok()) {
        fails(std::move(walked).error());
        continue;
      }
      const Measured measured{at.offset() - in.offset(), &layout, form};
      if (end == PayloadEnd::known) {
        if (at.at_end()) return measured;
        fails(malformed(at.offset(), "payload has ", at.left(), " bytes after its last field")
                  .with_reason("BLOB_TRAILING"));
        continue;
      }
      const Confidence found = next_entry(at, key, *this);
      // If both are followed by a key without a layout, the longer one is selected: what follows
      // the shorter one is a text of the longer one.
      if (!best || found > best_confidence ||
          (found == best_confidence && measured.size > best->size)) {
        best = measured;
        best_confidence = found;
      }
      if (best_confidence == Confidence::known_key) return *best;
    }
  }
  if (best) return *best;
  if (furthest) return *furthest;
  return not_found("payload layout of ", quoted(key), " not found");
}

}  // namespace gantry
