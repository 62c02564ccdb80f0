// SPDX-License-Identifier: Apache-2.0
//
// gantry/kernel_table.hpp - reads and writes the kernel table of cuda, opencl, vulkan, hip and
// metal payloads.
//
//   u64  kernel count, then for each kernel
//     str       kernel name
//     str       name again, or empty (up to v0.23): unused, kept for writing
//     u64 n     parameter count, then n times u8 code, u8 bits, u16 lanes: the types
//     vec<str>  launch tags (launch_tags.hpp)
//     vec<i32>  argument tags, 0 none, 1 tensor map; one for each parameter, or empty. Since v0.21
//
// The table does not show whether the last field exists; gantry_blob.argument_tags does. If that is
// unknown, both layouts are tried, and the one with which the rest of the payload can be read is
// used. A field that a later release adds is a row of `kernel_lists`.
#pragma once

#include <gantry/blob.hpp>
#include <gantry/byte_reader.hpp>
#include <gantry/quoted.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

struct KernelInfo {
  std::string name;
  std::string stored_name;
  std::vector<gantry_dtype> parameters;
  std::vector<std::string> launch_tags;
  // nullopt: the file has no such field.
  std::optional<std::vector<std::int32_t>> argument_tags;

  bool is_tensor_map(std::size_t parameter) const {
    return argument_tags && parameter < argument_tags->size() && (*argument_tags)[parameter] == 1;
  }
};

// A list of numbers at the end of kernel records, as vec<i32>.
struct KernelList {
  // The first form that has it.
  ArgumentTags since;
  std::optional<std::vector<std::int32_t>> KernelInfo::*numbers;
  // Of the list and of one number, in errors.
  const char* name;
  const char* item;
  // In the descriptions of payloads; empty: it is not shown.
  const char* label;
  // Of the numbers, unless there are none; 0: one for each parameter.
  std::size_t count;
  // A number above it is not known.
  std::int32_t max;
  const char* known;

  bool is_in(ArgumentTags form) const { return form >= since; }
  std::size_t count_for(std::size_t parameters) const { return count == 0 ? parameters : count; }
};
inline constexpr KernelList kernel_lists[] = {
    {ArgumentTags::yes, &KernelInfo::argument_tags, "argument tags", "argument tag", "", 0, 1,
     "0 and 1"},
};

// Gives a kernel the lists of a form: adds those that it lacks, with numbers that are all 0, and
// removes those that records of the form do not have.
inline void set_kernel_form(KernelInfo& kernel, ArgumentTags form) {
  for (const KernelList& list : kernel_lists) {
    auto& numbers = kernel.*list.numbers;
    if (!list.is_in(form)) {
      numbers.reset();
    } else if (!numbers) {
      numbers.emplace(list.count_for(kernel.parameters.size()));
    }
  }
}

class KernelTable {
 public:
  KernelTable() = default;

  // In the order of the file.
  const std::vector<KernelInfo>& kernels() const { return kernels_; }
  std::size_t size() const { return kernels_.size(); }
  // Returns the index in kernels(); nullopt if there is no kernel of that name.
  std::optional<std::size_t> index_of(std::string_view name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? std::nullopt : std::optional(found->second);
  }
  // Returns NULL if there is no kernel of that name.
  const KernelInfo* find(std::string_view name) const {
    const auto index = index_of(name);
    return index ? &kernels_[*index] : nullptr;
  }
  // lifetime as long as the table
  std::vector<std::string_view> names() const {
    std::vector<std::string_view> names;
    for (const KernelInfo& kernel : kernels_) names.push_back(kernel.name);
    return names;
  }

  // Adds a kernel. Returns false if the table has a kernel of that name.
  bool add(KernelInfo kernel) {
    if (!index_.emplace(kernel.name, kernels_.size()).second) return false;
    kernels_.push_back(std::move(kernel));
    return true;
  }

 private:
  std::vector<KernelInfo> kernels_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

namespace detail {

inline Result<KernelInfo> read_kernel(ByteReader& in, ArgumentTags form) {
  KernelInfo kernel;
  const std::uint64_t name_at = in.offset();
  GANTRY_TRY(kernel.name, in.read_string("kernel name"));
  const auto refuse = [&](std::uint64_t at, const auto&... why) {
    return malformed(at, "kernel ", quoted(kernel.name), ": ", why...).with_reason("KERNEL_TABLE");
  };
  if (kernel.name.empty()) return refuse(name_at, "name is empty");
  if (kernel.name.find('\0') != std::string::npos) return refuse(name_at, "name contains a NUL");
  GANTRY_TRY(kernel.stored_name, in.read_string("kernel's own name"));

  GANTRY_TRY(const std::uint64_t parameter_count, in.read_count(4, "kernel parameters"));
  kernel.parameters.resize(parameter_count);
  for (gantry_dtype& parameter : kernel.parameters) {
    GANTRY_TRY(parameter.code, in.read_u8("parameter type code"));
    GANTRY_TRY(parameter.bits, in.read_u8("parameter type bits"));
    GANTRY_TRY(parameter.lanes, in.read_u16("parameter type lanes"));
  }
  GANTRY_TRY(const std::uint64_t tag_count, in.read_count(8, "launch tags"));
  kernel.launch_tags.resize(tag_count);
  for (std::string& tag : kernel.launch_tags) {
    GANTRY_TRY(tag, in.read_string("launch tag"));
  }
  for (const KernelList& list : kernel_lists) {
    if (!list.is_in(form)) continue;
    const std::uint64_t at = in.offset();
    GANTRY_TRY(const std::uint64_t count, in.read_u64(list.name));
    const std::size_t expected = list.count_for(parameter_count);
    if (count != 0 && count != expected)
      return refuse(at, list.item, " count is ", count, ", expected 0 or ", expected);
    GANTRY_TRY(auto numbers, in.read_numbers<std::int32_t>(count, list.name));
    for (std::size_t i = 0; i < numbers.value.size(); ++i) {
      if (numbers.value[i] >= 0 && numbers.value[i] <= list.max) continue;
      return refuse(numbers.offset_of(i), list.item, " ", i, " is ", numbers.value[i],
                    ", known are ", list.known);
    }
    kernel.*list.numbers = std::move(numbers.value);
  }
  return kernel;
}

// The least bytes of a record: of its texts and lists, each a length.
constexpr std::uint64_t min_kernel_bytes(ArgumentTags form) {
  std::uint64_t lengths = 4;
  for (const KernelList& list : kernel_lists) lengths += list.is_in(form) ? 1 : 0;
  return lengths * sizeof(std::uint64_t);
}

inline Result<KernelTable> read_kernel_table_as(ByteReader& in, ArgumentTags form) {
  GANTRY_TRY(const std::uint64_t count, in.read_count(min_kernel_bytes(form), "kernel table"));
  KernelTable table;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t kernel_at = in.offset();
    GANTRY_TRY(KernelInfo kernel, read_kernel(in, form));
    const std::string name = kernel.name;
    if (!table.add(std::move(kernel))) {
      return malformed(kernel_at, "kernel ", quoted(name), ": name occurs twice")
          .with_reason("KERNEL_TABLE");
    }
  }
  return table;
}

}  // namespace detail

// Reads one table.
//
// in       [in, out] at the count on entry, after the last kernel on success, undefined after a
//                 failure
// tags     [in]   blob.argument_tags()
// rest     [in]   Status rest(ByteReader&): reads the rest of the payload and checks its end.
//                 Called only if `tags` is unknown, at most twice, with a copy of the reader
// returns  MALFORMED  at the first wrong field. If `tags` is unknown: both layouts fit, or neither;
//                     then the error with the higher offset is returned
// costs    time and memory O(bytes)
// source   apache/tvm src/runtime/meta_data.h (up to v0.23), metadata.h (later)
template <class Rest>
Result<KernelTable> read_kernel_table(ByteReader& in, ArgumentTags tags, Rest&& rest) {
  if (tags != ArgumentTags::unknown) return detail::read_kernel_table_as(in, tags);
  struct Reading {
    KernelTable table;
    ByteReader end;
  };
  std::optional<Reading> found;
  std::optional<Error> furthest;
  const std::uint64_t start = in.offset();
  for (const ArgumentTags form : kernel_forms) {
    ByteReader reader = in;
    const auto attempt = [&]() -> Result<KernelTable> {
      GANTRY_TRY(KernelTable table, detail::read_kernel_table_as(reader, form));
      ByteReader behind = reader;
      GANTRY_CHECK(rest(behind));
      return table;
    };
    Result<KernelTable> table = attempt();
    if (!table.ok()) {
      if (!furthest || table.error().offset >= furthest->offset)
        furthest = std::move(table).error();
      continue;
    }
    if (found && table->size() != 0) {
      return malformed(start, "kernel table reads both with and without argument tags")
          .with_reason("KERNEL_TABLE");
    }
    found = Reading{std::move(*table), reader};
  }
  if (!found) return *std::move(furthest);
  in = found->end;
  return std::move(found->table);
}

// Like above, for a payload that is being loaded. If its length is known, `rest` must read to its
// end.
//
// rest     [in]   Status or any Result of rest(ByteReader&)
template <class Rest>
Result<KernelTable> read_kernel_table(Blob& blob, Rest&& rest) {
  return read_kernel_table(blob.reader(), blob.argument_tags(), [&](ByteReader& in) -> Status {
    GANTRY_CHECK(rest(in));
    return blob.check_end(in);
  });
}

// Writes a table in the layout in which it was read.
//
// out      [in]   a dmlc::Stream, or a class with the same Write functions
template <class Stream>
void write_kernel_table(Stream& out, const KernelTable& table) {
  out.Write(static_cast<std::uint64_t>(table.size()));
  for (const KernelInfo& kernel : table.kernels()) {
    out.Write(kernel.name);
    out.Write(kernel.stored_name);
    out.Write(static_cast<std::uint64_t>(kernel.parameters.size()));
    for (const gantry_dtype& parameter : kernel.parameters) {
      out.Write(parameter.code);
      out.Write(parameter.bits);
      out.Write(parameter.lanes);
    }
    out.Write(kernel.launch_tags);
    for (const KernelList& list : kernel_lists) {
      if (kernel.*list.numbers) out.Write(*(kernel.*list.numbers));
    }
  }
}

}  // namespace gantry
