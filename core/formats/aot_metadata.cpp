// SPDX-License-Identifier: Apache-2.0
#include "core/formats/aot_metadata.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/byte_reader.hpp>
#include <gantry/concat.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace gantry {
namespace {

constexpr std::int64_t metadata_version = 1;
constexpr std::uint64_t metadata_bytes = 80, name_at = 72;
// of tensors and of constants
constexpr std::uint64_t item_bytes = 32;
// Of each list; real models have a few.
constexpr std::int64_t max_items = 4096;
// Of all texts of one description. Structs may share texts: without a limit, a small hostile file
// takes 16384 times the longest text.
constexpr std::uint64_t max_bytes_of_names = std::uint64_t{1} << 20;
// TVM's own limit.
constexpr std::uint64_t max_constant_bytes = INT32_MAX;

template <class... Parts>
Failure refuse_metadata(std::uint64_t at, const Parts&... parts) {
  return malformed(at, parts...).with_reason("AOT_METADATA");
}

// A pointer and its count.
struct ItemList {
  std::uint64_t address = 0;
  std::int64_t count = 0;
  // of the count
  std::uint64_t at = 0;
};

class Reader {
 public:
  explicit Reader(const MemoryImage& image) : image_(image) {}

  Result<AotMetadata> read(std::uint64_t address) {
    GANTRY_TRY(ByteReader in, at(address, metadata_bytes, "metadata"));
    const std::uint64_t version_at = in.offset();
    GANTRY_TRY(const std::int64_t version, in.read_i64("version"));
    if (version != metadata_version) {
      Error error = unsupported("metadata of the model have version ", version, ", expected ",
                                metadata_version)
                        .with_reason("AOT_METADATA");
      error.offset = version_at;
      return error;
    }
    AotMetadata metadata;
    GANTRY_TRY(metadata.inputs, tensors(in, "input", Names::distinct));
    GANTRY_TRY(metadata.outputs, tensors(in, "output", Names::any));
    GANTRY_TRY(metadata.workspaces, tensors(in, "workspace", Names::any));
    GANTRY_TRY(const ItemList list, item_list(in, "constant"));
    GANTRY_TRY(ByteReader items, items_of(list, "constant"));
    for (std::int64_t i = 0; i < list.count; ++i) {
      const std::string what = concat("constant ", i);
      GANTRY_TRY(AotConstant constant, read_constant(items, what));
      metadata.constant_bytes = std::max<std::uint64_t>(metadata.constant_bytes, end_of(constant));
      metadata.constants.push_back(std::move(constant));
    }
    GANTRY_TRY(const std::uint64_t name, in.read_u64("module name"));
    GANTRY_TRY(metadata.module_name, text(name, "module name"));
    return metadata;
  }

 private:
  static std::uint64_t end_of(const AotConstant& constant) {
    return constant.offset + constant.array.data.size();
  }

  // Returns a reader whose offsets are relative addresses.
  Result<ByteReader> at(std::uint64_t address, std::uint64_t size, std::string_view what) const {
    GANTRY_TRY(const auto bytes, image_.bytes(address, size, what));
    return ByteReader(bytes, image_.relative(address));
  }

  // Counts towards max_bytes_of_names.
  Result<std::string_view> text(std::uint64_t address, const std::string& what) {
    GANTRY_TRY(const std::string_view found, image_.text(address, what));
    name_bytes_ += found.size();
    if (name_bytes_ <= max_bytes_of_names) return found;
    return refuse_metadata(image_.relative(address), "names up to the ", what, " have ",
                           ByteCount(name_bytes_), ", maximum is ", ByteCount(max_bytes_of_names));
  }

  Result<ItemList> item_list(ByteReader& in, std::string_view item) const {
    ItemList list;
    GANTRY_TRY(list.address, in.read_u64("address"));
    list.at = in.offset();
    GANTRY_TRY(list.count, in.read_i64("count"));
    if (list.count >= 0 && list.count <= max_items) return list;
    return refuse_metadata(list.at, "number of ", item, "s is ", list.count, ", range is 0 to ",
                           max_items);
  }

  Result<ByteReader> items_of(const ItemList& list, std::string_view item) const {
    if (list.count == 0) return ByteReader(std::span<const std::uint8_t>());
    return at(list.address, item_bytes * static_cast<std::uint64_t>(list.count),
              concat(list.count, " ", item, "s"));
  }

  enum class Names { any, distinct };
  Result<std::vector<AotTensor>> tensors(ByteReader& in, std::string_view item, Names names) {
    GANTRY_TRY(const ItemList list, item_list(in, item));
    GANTRY_TRY(ByteReader items, items_of(list, item));
    std::vector<AotTensor> tensors;
    std::map<std::string_view, std::int64_t> index_of;
    for (std::int64_t i = 0; i < list.count; ++i) {
      const std::string what = concat(item, " ", i);
      const std::uint64_t item_at = items.offset();
      GANTRY_TRY(AotTensor tensor, read_tensor(items, what));
      const auto [same, is_new] = index_of.emplace(tensor.name, i);
      if (!is_new && names == Names::distinct) {
        return refuse_metadata(item_at, what, " has the name ", quoted(tensor.name), " of ", item,
                               " ", same->second);
      }
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  }

  Result<AotTensor> read_tensor(ByteReader& in, const std::string& what) {
    AotTensor tensor;
    GANTRY_TRY(const std::uint64_t name, in.read_u64("name"));
    GANTRY_TRY(tensor.name, text(name, concat("name of ", what)));

    GANTRY_TRY(const std::uint64_t shape, in.read_u64("shape"));
    const std::uint64_t rank_at = in.offset();
    GANTRY_TRY(const std::int64_t rank, in.read_i64("rank"));
    if (rank < 0 || rank > max_array_dimensions) {
      return refuse_metadata(rank_at, "rank of ", what, " is ", rank, ", range is 0 to ",
                             max_array_dimensions);
    }
    if (rank != 0) {
      const auto count = static_cast<std::uint64_t>(rank);
      GANTRY_TRY(ByteReader dims,
                 at(shape, sizeof(std::int64_t) * count, concat("dimensions of ", what)));
      GANTRY_TRY(auto numbers, dims.read_numbers<std::int64_t>(count, "shape"));
      tensor.shape = std::move(numbers.value);
    }

    const std::uint64_t dtype_at = in.offset();
    GANTRY_TRY(tensor.dtype.code, in.read_u8("dtype code"));
    GANTRY_TRY(tensor.dtype.bits, in.read_u8("dtype bits"));
    GANTRY_TRY(tensor.dtype.lanes, in.read_u16("dtype lanes"));
    GANTRY_CHECK(in.skip(sizeof(std::uint32_t), "padding"));
    if (tensor.dtype.bits == 0 || tensor.dtype.lanes == 0) {
      return refuse_metadata(dtype_at, "dtype of ", what, " has ", tensor.dtype.bits, " bits and ",
                             tensor.dtype.lanes, " lanes, minimum is 1");
    }
    GANTRY_CHECK(check_record_dtype(tensor.dtype, dtype_at, what));
    const Result<std::uint64_t> bytes = tensor_bytes(tensor.shape, tensor.dtype);
    if (!bytes.ok()) {
      return refuse_metadata(image_.relative(shape), "shape of ", what, ": ",
                             bytes.error().message);
    }
    tensor.bytes = *bytes;
    return tensor;
  }

  Result<AotConstant> read_constant(ByteReader& in, const std::string& what) {
    AotConstant constant;
    GANTRY_TRY(const std::uint64_t name, in.read_u64("name"));
    GANTRY_TRY(constant.name, text(name, concat("name of ", what)));
    const std::uint64_t offset_at = in.offset();
    GANTRY_TRY(constant.offset, in.read_u64("offset"));
    GANTRY_TRY(const std::uint64_t size, in.read_u64("bytes"));
    GANTRY_TRY(const std::uint64_t data, in.read_u64("data"));
    GANTRY_TRY(ByteReader record, at(data, size, concat("bytes of ", what)));
    GANTRY_TRY(constant.array, read_array_record(record, what));
    const std::uint64_t bytes = constant.array.data.size();
    if (bytes > max_constant_bytes || constant.offset > max_constant_bytes - bytes) {
      return refuse_metadata(offset_at, what, " has ", ByteCount(bytes), " at offset ",
                             constant.offset, " of its pool, whose maximum is ",
                             ByteCount(max_constant_bytes));
    }
    return constant;
  }

  const MemoryImage& image_;
  std::uint64_t name_bytes_ = 0;
};

}  // namespace

std::string AotMetadata::function() const { return concat(module_name, "___tvm_main__"); }

Result<AotMetadata> read_aot_metadata(const MemoryImage& image, std::uint64_t address) {
  return Reader(image).read(address);
}

std::optional<std::uint64_t> find_aot_metadata(
    const MemoryImage& image, std::span<const std::uint64_t> pointers,
    const std::function<bool(std::string_view name)>& is_function) {
  constexpr int max_trials = 64;
  int trials = 0;
  std::optional<std::uint64_t> found;
  for (const std::uint64_t word : pointers) {
    // The word may be the last of a description: the address of its name.
    if (word < name_at) continue;
    const std::uint64_t address = word - name_at;
    const auto bytes = image.bytes_from(address);
    if (bytes.size() < metadata_bytes) continue;
    ByteReader in(bytes);
    const auto version = in.read_i64("version");
    if (!version.ok() || *version != metadata_version) continue;
    if (++trials > max_trials) return std::nullopt;
    const auto metadata = read_aot_metadata(image, address);
    if (!metadata.ok() || !is_function(metadata->function())) continue;
    if (found && *found != address) return std::nullopt;
    found = address;
  }
  return found;
}

}  // namespace gantry
