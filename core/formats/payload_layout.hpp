// SPDX-License-Identifier: Apache-2.0
//
// Payload layouts describe the form of payloads as data. In container layout one a payload has no
// length; the reader computes it from the payload layouts of its type key. Manifests declare the
// layouts of vendors' keys in the same grammar.
//
//   field    [label:] type             label [a-z_]+, for `inspect` and errors
//   type     u8 u16 u32 u64 i32 i64    numbers
//            dtype dev                 4 and 8 bytes
//            str                       u64 length, text
//            bytes                     u64 length, any bytes
//            format                    a str of 1 to 16 printable characters
//            "text"                    a str of exactly this text
//            ndarray                   one array record
//            funcinfo                  one kernel record
//            vec<T> map<K,V>           u64 count, then the items
//            {T, U, ...}               a sequence
//            label*T                   repeated; the count is the preceding unsigned number `label`
//            sized<T>                  u64 length, then T of exactly that length
//            rest                      all bytes up to the end of the payload; last field only
//
// Example: a graph executor is  graph_json:bytes count:u64 names:vec<str> params:count*ndarray
//                               module_name:str
#pragma once

#include "core/formats/exporter_facts.hpp"

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
  // literal: the text; repeat: the label of the count
  std::string text;
  // vec, repeat, sized: 1; map: 2; group: any
  std::vector<PayloadField> children;
};

// One form of a payload.
class PayloadLayout {
 public:
  // The layout of an empty payload.
  PayloadLayout() = default;

  const std::vector<PayloadField>& fields() const { return fields_; }
  // The layout as text; fields are separated by blanks.
  std::string text() const;

 private:
  friend Result<PayloadLayout> parse_payload_layout(std::span<const std::string> fields);
  std::vector<PayloadField> fields_;
};

// Parses a layout.
//
// returns  invalid, with the field, the unknown word and the known words
Result<PayloadLayout> parse_payload_layout(std::span<const std::string> fields);

// Whether the end of a payload is known before it is read.
enum class PayloadEnd : std::uint8_t {
  // at the reader's end or before it (layout one)
  unknown,
  // at the reader's end
  known,
};

// The layout that matches a payload, and the resulting size of the payload.
struct Measured {
  std::uint64_t size = 0;
  // points into the PayloadLayouts that returned it
  const PayloadLayout* layout = nullptr;
  // the form of kernel records
  ArgumentTags argument_tags = ArgumentTags::no;
};

// Payload layouts by type key. A runtime copies the built-in ones and adds those of its manifests.
class PayloadLayouts {
 public:
  // The layouts of all keys in type_key.hpp.
  static PayloadLayouts built_in();

  // Adds an alternative for `key`, to be tried after the existing ones.
  void add(std::string_view key, PayloadLayout layout);
  // Adds the current alternatives of `key` to `alias`; not_found if `key` has none.
  Status alias(std::string_view alias, std::string_view key);

  bool contains(std::string_view key) const { return !alternatives(key).empty(); }
  // The layouts of a key; empty for an unknown key.
  std::span<const PayloadLayout> alternatives(std::string_view key) const;
  std::vector<std::string_view> keys() const;

  // Finds the alternative that matches the payload at `in` and the size of the payload. `in` does
  // not move.
  //
  // end      known: only an alternative that ends at the reader's end matches
  // returns  not_found  the key has no layout, or only layouts that require a known end
  //          malformed  no alternative matches; the error with the highest offset
  // costs    O(items of the payload); the content of arrays and texts is skipped
  Result<Measured> measure(std::string_view key, const ByteReader& in, PayloadEnd end,
                           ArgumentTags tags) const {
    return measure(key, alternatives(key), in, end, tags);
  }
  // The same with the result of alternatives(key), for a caller that reads many payloads of one
  // key.
  Result<Measured> measure(std::string_view key, std::span<const PayloadLayout> alternatives,
                           const ByteReader& in, PayloadEnd end, ArgumentTags tags) const;

 private:
  std::map<std::string, std::vector<PayloadLayout>, std::less<>> alternatives_;
};

}  // namespace gantry
