// SPDX-License-Identifier: Apache-2.0
#include "core/formats/payload_layout.hpp"

#include "core/base/text.hpp"
#include "core/formats/payload_walk.hpp"
#include "core/formats/type_key.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <memory>
#include <optional>
#include <set>

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

std::vector<PayloadLayout> parse_layouts(const TypeKey& key) {
  std::vector<PayloadLayout> layouts;
  for (const std::string_view fields : key.layouts) {
    Result<PayloadLayout> layout = parse_payload_layout(words_of(fields));
    assert(layout.ok() && "a layout of the table does not parse");
    layouts.push_back(*std::move(layout));
  }
  return layouts;
}

// The layouts of a key in the table, parsed when they are first used; empty for any other key.
std::span<const PayloadLayout> built_in_layouts(std::string_view key) {
  using Parsed = std::atomic<const std::vector<PayloadLayout>*>;
  const std::span<const TypeKey> keys = type_keys();
  // Never freed: threads may use them while the process ends.
  static auto& parsed = *new std::vector<Parsed>(keys.size());
  const TypeKey* const known = find_type_key(key);
  if (known == nullptr) return {};
  // Keys with the same layouts share the array of them.
  const auto first = std::ranges::find(keys, known->layouts.data(),
                                       [](const TypeKey& each) { return each.layouts.data(); });
  Parsed& all = parsed[static_cast<std::size_t>(first - keys.begin())];
  const std::vector<PayloadLayout>* found = all.load(std::memory_order_acquire);
  if (found != nullptr) return *found;
  // Not std::call_once(): an exception that passes its frame of libc opens libgcc_s.so.1, and ends the
  // process where there is no memory for that.
  auto mine = std::make_unique<const std::vector<PayloadLayout>>(parse_layouts(*known));
  if (all.compare_exchange_strong(found, mine.get(), std::memory_order_acq_rel)) {
    found = mine.release();
  }
  return *found;
}

}  // namespace

PayloadLayouts PayloadLayouts::built_in() {
  PayloadLayouts layouts;
  layouts.has_built_in_ = true;
  return layouts;
}

void PayloadLayouts::add(std::string_view key, PayloadLayout layout) {
  own(key).push_back(std::move(layout));
}

Status PayloadLayouts::alias(std::string_view alias, std::string_view key) {
  const std::span<const PayloadLayout> found = alternatives(key);
  if (found.empty()) {
    return not_found("payload layout of ", quoted(key), " not found; layouts: ", join(keys()));
  }
  if (alias == key) return {};
  const std::vector<PayloadLayout> copy(found.begin(), found.end());
  std::vector<PayloadLayout>& all = own(alias);
  all.insert(all.end(), copy.begin(), copy.end());
  return {};
}

std::span<const PayloadLayout> PayloadLayouts::alternatives(std::string_view key) const {
  const auto found = alternatives_.find(key);
  if (found != alternatives_.end()) return found->second;
  return has_built_in_ ? built_in_layouts(key) : std::span<const PayloadLayout>();
}

std::vector<PayloadLayout>& PayloadLayouts::own(std::string_view key) {
  const auto found = alternatives_.find(key);
  if (found != alternatives_.end()) return found->second;
  const std::span<const PayloadLayout> before = alternatives(key);
  return alternatives_[std::string(key)] = {before.begin(), before.end()};
}

std::vector<std::string_view> PayloadLayouts::keys() const {
  std::set<std::string_view> all;
  for (const auto& [key, layouts] : alternatives_) all.insert(key);
  for (const TypeKey& key : type_keys()) {
    if (has_built_in_ && !key.layouts.empty()) all.insert(key.key);
  }
  return {all.begin(), all.end()};
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
