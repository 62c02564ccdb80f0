// SPDX-License-Identifier: Apache-2.0
//
// Payload layouts: the form of a payload, as data. In container layout one a payload carries no
// length, so each type key has its payload layouts here. A manifest declares those of a vendor's
// key in the same words.
//
//   field    [label:] type             label [a-z_]+; shown by `inspect`, named in errors
//   type     u8 u16 u32 u64 i32 i64    numbers
//            dtype dev                 4 and 8 bytes
//            str                       u64 length, text
//            bytes                     u64 length, anything
//            format                    a str of 1 to 16 printable characters
//            "text"                    a str of exactly this text
//            ndarray                   one array record
//            funcinfo                  one kernel record
//            vec<T> map<K,V>           u64 count, then the items
//            {T, U, ...}               one after the other
//            label*T                   as many as the unsigned number of that label before it
//            sized<T>                  u64 length, then T, which fills it
//            rest                      everything up to the payload's end, last field only
//
// Example: a graph executor is  graph_json:bytes count:u64 names:vec<str> params:count*ndarray
//                               module_name:str
#pragma once

#include "core/format/exporter_facts.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct PayloadField {
  enum class Kind : std::uint8_t {
    u8,
    u16,
    u32,
    u64,
    i32,
    i64,
    dtype,
    dev,
    str,
    bytes,
    format,
    literal,
    ndarray,
    funcinfo,
    vec,
    map,
    group,
    repeat,
    sized,
    rest,
  };
  Kind kind = Kind::u8;
  // may be empty
  std::string label;
  // literal: the text; repeat: the label that holds the count
  std::string text;
  // vec, repeat, sized: 1; map: 2; group: any
  std::vector<PayloadField> children;
};

// One form of a payload.
class PayloadLayout {
 public:
  // A payload of no bytes.
  PayloadLayout() = default;

  const std::vector<PayloadField>& fields() const { return fields_; }
  // The layout as text, fields separated by blanks.
  std::string text() const;

 private:
  friend Result<PayloadLayout> parse_payload_layout(std::span<const std::string> fields);
  std::vector<PayloadField> fields_;
};

// returns  invalid, with the field, the word at fault and the known words
Result<PayloadLayout> parse_payload_layout(std::span<const std::string> fields);

// Where a payload ends, as far as it is known before it is read.
enum class PayloadEnd : std::uint8_t {
  // at the reader's end or before it (layout one)
  unknown,
  // at the reader's end
  known,
};

// Which alternative fits a payload, and how long that makes it.
struct Measured {
  std::uint64_t size = 0;
  // lives as long as the PayloadLayouts that returned it
  const PayloadLayout* layout = nullptr;
  // kernel records were read with argument tags
  bool has_argument_tags = false;
};

// Payload layouts by type key. Value type: a runtime copies the built-in ones and adds those of its
// manifests.
class PayloadLayouts {
 public:
  // Every key of FORMAT.md.
  static PayloadLayouts built_in();

  // Adds an alternative for `key`; tried after those that are there.
  void add(std::string_view key, PayloadLayout layout);
  // Gives `alias` the alternatives that `key` has now. Not_found: `key` has none.
  Status alias(std::string_view alias, std::string_view key);

  bool knows(std::string_view key) const { return !alternatives(key).empty(); }
  // Empty for an unknown key.
  std::span<const PayloadLayout> alternatives(std::string_view key) const;
  std::vector<std::string_view> keys() const;

  // Finds the alternative that fits the payload at `in` and how long it is; `in` does not move.
  //
  // end      known: only an alternative that ends at the reader's end fits
  // returns  not_found  the key has no layout, or none that ends without a length
  //          malformed  no alternative fits; the error of the one that came furthest
  // costs    O(bytes walked); arrays and texts are stepped over, not read
  Result<Measured> measure(std::string_view key, const ByteReader& in, PayloadEnd end,
                           ExporterFacts::ArgumentTags tags) const {
    return measure(key, alternatives(key), in, end, tags);
  }
  // The same with the result of alternatives(key), for a caller that reads many payloads of one
  // key.
  Result<Measured> measure(std::string_view key, std::span<const PayloadLayout> alternatives,
                           const ByteReader& in, PayloadEnd end,
                           ExporterFacts::ArgumentTags tags) const;

 private:
  std::map<std::string, std::vector<PayloadLayout>, std::less<>> alternatives_;
};

}  // namespace gantry
