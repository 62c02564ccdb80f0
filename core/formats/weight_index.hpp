// SPDX-License-Identifier: Apache-2.0
//
// The index of a directory of weights, as compilers write it in JSON: tensors by name, whose bytes
// are in the directory's shards.
//
//     {"records": [{"dataPath": "params_shard_0.bin", "format": "raw-shard", "nbytes": 96,
//                   "records": [{"name": "fc.weight", "shape": [4, 3], "dtype": "float32",
//                                "format": "f32-to-bf16", "nbytes": 24, "byteOffset": 0}, ...]},
//                  ...]}
//
// These keys are required and may be in any order. A shard may have "md5sum", a text; all other keys
// are ignored. Names are the only keys
// of tensors: records are in no useful order, and the last one of a name counts. Records may
// overlap, leave gaps, and begin at any byte.
#pragma once

#include <gantry/tensor.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Larger indexes are refused. An index has about 300 bytes for each tensor.
constexpr std::size_t max_weight_index_bytes = std::size_t{64} << 20;

struct WeightRecord {
  std::string name;
  gantry_dtype dtype{};
  std::vector<std::int64_t> shape;
  // "raw" or "f32-to-bf16"
  std::string format;
  // bytes in the shard
  std::uint64_t begin = 0;
  std::uint64_t stored_bytes = 0;
  // offset of the record in the index
  std::uint64_t at = 0;

  // True if the shard contains the upper 16 bits of each float32. Only float32 is stored so: for any
  // other type the format is ignored, because writers note the same format on every record.
  bool is_narrowed() const;
};

struct WeightShard {
  // relative to the directory, inside it
  std::string path;
  // "raw-shard"
  std::string format;
  std::uint64_t bytes = 0;
  // The MD5 checksum that the index states, as it is there; empty: none.
  std::string md5;
  std::vector<WeightRecord> records;
  // offset of the shard in the index
  std::uint64_t at = 0;
};

struct WeightIndex {
  std::vector<WeightShard> shards;
};

// Parses an index. check_shard() checks what depends on more than one value.
//
// json     [in]   UTF-8, up to max_weight_index_bytes
// returns  MALFORMED    reason WEIGHT_KEY: a key is missing; WEIGHT_INDEX: the text is not JSON, a
//                       value has another kind, a path is not inside the directory, a type is
//                       unknown. The offset is in the text
//          UNSUPPORTED  a type that has no tensors
// costs    time and memory O(text)
Result<WeightIndex> parse_weight_index(std::string_view json);

// Checks that the format of a shard and of its records is known, and that each record is inside the
// shard and has the size of its shape and type.
//
// returns  MALFORMED    reason WEIGHT_RECORD
//          UNSUPPORTED  reason WEIGHT_SHARD: the format of the shard; WEIGHT_FORMAT: of a record
Status check_shard(const WeightShard& shard);

// Writes the elements of a record to memory.
//
// stored   [in]   the record's bytes in its shard
// to       [out]  tensor_bytes() of the record's shape and type, at any address
void read_elements(const WeightRecord& record, std::span<const std::uint8_t> stored, void* to);

}  // namespace gantry
