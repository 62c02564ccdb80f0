// SPDX-License-Identifier: Apache-2.0
//
// Payload layouts describe the form of payloads as data. In container layout one a payload has no
// length; the reader computes it from the payload layouts of its type key. Manifests declare the
// layouts of vendors' keys in the same grammar.
//
//   field    [label:] type               label [a-z0-9_]+, for `inspect`, errors and products
//   type     u8 u16 u32 u64 i8 i16 i32 i64           numbers, little-endian
//            u16be u32be u64be i16be i32be i64be     numbers, big-endian
//            dtype dev                   4 and 8 bytes
//            str                         length, text
//            bytes                       length, any bytes
//            cstr                        text up to a zero byte, which is included
//            format                      a str of 1 to 16 printable characters
//            "text"                      a str of exactly this text
//            ndarray                     one array record
//            funcinfo                    one kernel record
//            vec<T> map<K,V>             count, then the items
//            sized<T>                    length, then T of exactly that length
//            {T, U, ...}                 a sequence
//            product*T                   repeated; the product is the count
//            align(N)                    bytes up to the next multiple of N, counted from the first
//                                        byte of the payload; N is a power of two
//            rest                        all bytes up to the end of the payload; last field only
//   length   u64, or what stands in parentheses after the word or text: bytes(u16),
//            vec(u32be)<T>, sized(u32-4)<T>, bytes(rows*cols), "ANPU"(4)
//            unsigned type [+N | -N]     a number before the content, plus or minus N
//            product [+N | -N]           no number before the content
//   product  factors joined by '*': labels of preceding unsigned numbers, and numbers
//
// Numbers in a layout are decimal, from 1 to limits::layout_number. Items may have no bytes; the walk
// skips such items in one step.
//
// Example: a graph executor is  graph_json:bytes count:u64 names:vec<str> params:count*ndarray
//                               module_name:str
#pragma once

#include "core/formats/exporter_facts.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/result.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// The form of a number in a payload.
struct NumberForm {
  // 0: there is no number
  std::uint8_t bytes = 0;
  bool is_signed = false;
  bool is_big_endian = false;

  // as in a layout: "u32be"
  const char* word() const;
  bool operator==(const NumberForm&) const = default;
};

// The size of a text or the count of a list.
struct PayloadLength {
  struct Factor {
    // of a preceding number; empty: `number`
    std::string label;
    std::uint64_t number = 0;
    // index of the labelled number among those that the field may refer to
    std::size_t place = 0;
  };
  // of the number before the content; absent: the product of `factors`
  NumberForm stored = {.bytes = 8};
  std::vector<Factor> factors;
  // added to either
  std::int64_t added = 0;

  // a u64 before the content
  bool is_default() const { return stored == NumberForm{.bytes = 8} && added == 0; }
  bool is_constant() const;
  // the product of the factors that are numbers; 1 if there are none
  std::uint64_t constant() const;
  // as in the layout, without parentheses: "u32-4"
  std::string text() const;
};

struct PayloadField {
  enum class Kind : std::uint8_t {
    number,
    dtype,
    dev,
    str,
    bytes,
    cstr,
    format,
    literal,
    ndarray,
    funcinfo,
    vec,
    map,
    group,
    repeat,
    sized,
    align,
    rest,
  };
  Kind kind = Kind::number;
  // may be empty
  std::string label;
  // of a literal
  std::string text;
  // of a number
  NumberForm number;
  // of str, bytes, format, literal, vec, map, repeat, sized
  PayloadLength length;
  // of align
  std::uint64_t alignment = 1;
  // vec, repeat, sized: 1; map: 2; group: any
  std::vector<PayloadField> children;
  // minimum size
  std::uint64_t min_bytes = 0;
  // every field has this size, and its content is not checked
  bool is_fixed = false;
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

// Payload layouts by type key: the built-in ones, which are parsed when they are first used, once for
// the process, and those of a runtime's manifests.
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
  // costs    O(items of the payload); the content of arrays and texts, other than cstr, is skipped
  Result<Measured> measure(std::string_view key, const ByteReader& in, PayloadEnd end,
                           ArgumentTags tags) const {
    return measure(key, alternatives(key), in, end, tags);
  }
  // The same with the result of alternatives(key), for a caller that reads many payloads of one
  // key.
  Result<Measured> measure(std::string_view key, std::span<const PayloadLayout> alternatives,
                           const ByteReader& in, PayloadEnd end, ArgumentTags tags) const;

 private:
  // The alternatives of a key that are stored here, with the built-in ones.
  std::vector<PayloadLayout>& own(std::string_view key);

  bool has_built_in_ = false;
  // of keys to which layouts were added
  std::map<std::string, std::vector<PayloadLayout>, std::less<>> alternatives_;
};

}  // namespace gantry
