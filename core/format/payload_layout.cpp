// SPDX-License-Identifier: Apache-2.0
#include "core/format/payload_layout.hpp"

#include "core/format/limits.hpp"
#include "core/format/payload_walk.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <optional>

namespace gantry {
namespace {

bool ends_in_rest(const PayloadLayout& layout) {
  return !layout.fields().empty() && layout.fields().back().kind == PayloadField::Kind::rest;
}

// How much what follows looks like the next entry. Nothing at all is as good as a known key: the last
// payload of a container without a tree ends so.
enum class Confidence { none, some_key, known_key };

}  // namespace

PayloadContext payload_context(const ContainerSymbols& symbols, ContainerLayout layout) {
  using Family = ContainerSymbols::Family;
  using ExtraTags = PayloadContext::ExtraTags;
  PayloadContext context;
  context.layout = layout;
  context.private_float_codes = symbols.family == Family::legacy;
  if (symbols.family == Family::legacy) {
    context.extra_tags = ExtraTags::no;
  } else if (layout == ContainerLayout::two) {
    context.extra_tags = ExtraTags::yes;
  }
  return context;
}

Status check_type_key(std::string_view key, std::uint64_t offset, std::uint64_t entry) {
  if (key.empty()) {
    return malformed(offset, "type key of entry ", entry,
                     " is empty: the entry before it does not end here")
        .with_reason("BLOB_KEY");
  }
  if (key.size() > limits::type_key_bytes) {
    return malformed(offset, "type key of entry ", entry, " has ", key.size(),
                     " bytes, maximum is ", limits::type_key_bytes)
        .with_reason("BLOB_KEY");
  }
  const auto bad =
      std::find_if(key.begin(), key.end(), [](char c) { return c < 0x20 || c > 0x7e; });
  if (bad != key.end()) {
    return malformed(offset, "type key of entry ", entry, " is ", quoted(key),
                     ", expected printable ASCII")
        .with_reason("BLOB_KEY");
  }
  return {};
}

bool plausible_entry(ByteReader in) {
  if (in.at_end()) return true;
  const auto key = in.read_string("type key");
  return key.ok() && check_type_key(*key, 0, 0).ok();
}

void PayloadLayouts::add(std::string_view key, PayloadLayout layout) {
  alternatives_[std::string(key)].push_back(std::move(layout));
}

Status PayloadLayouts::alias(std::string_view alias, std::string_view key) {
  const auto found = alternatives_.find(key);
  if (found == alternatives_.end()) {
    std::string known;
    for (const std::string_view each : keys()) known += concat(known.empty() ? "" : ", ", each);
    return not_found("payload layout of ", quoted(key), " is not known; known: ", known);
  }
  if (alias == key) return {};
  std::vector<PayloadLayout> copy = found->second;
  auto& all = alternatives_[std::string(alias)];
  all.insert(all.end(), std::make_move_iterator(copy.begin()), std::make_move_iterator(copy.end()));
  return {};
}

std::span<const PayloadLayout> PayloadLayouts::alternatives(std::string_view key) const {
  const auto found = alternatives_.find(key);
  if (found != alternatives_.end()) return found->second;
  if (elsewhere_) return elsewhere_(key);
  return {};
}

std::vector<std::string_view> PayloadLayouts::keys() const {
  std::vector<std::string_view> all;
  for (const auto& [key, layouts] : alternatives_) all.push_back(key);
  return all;
}

Result<Measured> PayloadLayouts::measure(std::string_view key,
                                         std::span<const PayloadLayout> alternatives,
                                         const ByteReader& in,
                                         const PayloadContext& context) const {
  using ExtraTags = PayloadContext::ExtraTags;
  if (const auto said = reported_.find(in.offset()); said != reported_.end()) {
    if (said->second <= in.left()) return Measured{said->second, nullptr, false};
    return malformed(in.offset(), "payload of ", quoted(key), ": its loader says ", said->second,
                     " bytes, room for ", in.left())
        .with_reason("BLOB_CONSUMED");
  }
  const bool delimited = context.layout == ContainerLayout::two;
  const auto confidence = [&](ByteReader next) {
    if (next.at_end()) return Confidence::known_key;
    if (!plausible_entry(next)) return Confidence::none;
    const std::string_view following = *next.read_string("type key");
    const bool known =
        following == key || following == "_lib" || following == "_import_tree" || knows(following);
    return known ? Confidence::known_key : Confidence::some_key;
  };

  std::optional<Measured> best;
  Confidence best_confidence = Confidence::none;
  std::optional<Error> furthest;
  const auto fails = [&](Error error) {
    if (!furthest || error.offset > furthest->offset) furthest = std::move(error);
  };
  bool tried = false;
  for (const PayloadLayout& layout : alternatives) {
    // only a length could say where it ends
    if (!delimited && ends_in_rest(layout)) continue;
    tried = true;
    for (const bool extra_tags : {false, true}) {
      if (context.extra_tags == (extra_tags ? ExtraTags::no : ExtraTags::yes)) continue;
      ByteReader at = in;
      Status walked = walk_payload(at, layout, extra_tags);
      if (!walked.ok()) {
        fails(std::move(walked).error());
        continue;
      }
      const Measured measured{at.offset() - in.offset(), &layout, extra_tags};
      if (delimited) {
        if (at.at_end()) return measured;
        fails(malformed(at.offset(), "payload has ", at.left(), " bytes behind its last field")
                  .with_reason("BLOB_TRAILING"));
        continue;
      }
      const Confidence found = confidence(at);
      // Where both leave a key that nobody knows, the key that the shorter one leaves is a text of the longer one.
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
  return not_found(tried ? "payload layout of " : "no payload layout is known for ", quoted(key));
}

}  // namespace gantry
