// SPDX-License-Identifier: Apache-2.0
#include "core/formats/mlf/model_container.hpp"

#include "core/formats/arrays/params.hpp"
#include "core/formats/type_key.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/param_names.hpp>

#include <dmlc/io.h>
#include <dmlc/memory_io.h>

#include <string>

namespace gantry {
namespace {

namespace fs = std::filesystem;

// Collects fields of a container.
class ContainerText {
 public:
  template <typename T>
  ContainerText& write(const T& field) {
    static_cast<dmlc::Stream&>(stream_).Write(field);
    return *this;
  }
  ContainerText& write(std::string_view text) { return write(std::string(text)); }
  ContainerText& append(std::span<const std::uint8_t> bytes) {
    stream_.Write(bytes.data(), bytes.size());
    return *this;
  }
  std::span<const std::uint8_t> bytes() const {
    return {reinterpret_cast<const std::uint8_t*>(text_.data()), text_.size()};
  }

 private:
  std::string text_;
  dmlc::MemoryStringStream stream_{&text_};
};

// The parameters of a file: their names, and the offset of their records, which end the file.
struct ParamRecords {
  std::vector<std::string_view> names;
  std::uint64_t at = 0;
};

Result<ParamRecords> read_records(std::span<const std::uint8_t> params) {
  // Checks every record.
  GANTRY_CHECK(read_params(params));
  ParamRecords records;
  ByteReader in(params);
  GANTRY_TRY(records.names, read_param_names(in));
  records.at = in.offset();
  return records;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> model_container(const fs::path& path,
                                                          const ModelParts& parts) {
  // The modules before the library: each imports the next one.
  std::vector<std::string_view> keys;
  if (!parts.text.empty()) keys = {graph_factory_key};
  if (parts.is_ahead_of_time) keys = {aot_factory_key, aot_metadata_key};
  ParamRecords records;
  if (!keys.empty() && parts.file != nullptr) {
    GANTRY_TRY(records, read_records(parts.params));
  }
  const auto data = parts.params.subspan(records.at);

  // The import tree: word i + 1 of `ends` is the end of row i.
  std::vector<std::uint64_t> ends{0}, imports;
  for (std::size_t i = 1; i <= keys.size(); ++i) {
    if (i < keys.size() || parts.has_library) imports.push_back(i);
    ends.push_back(imports.size());
  }
  if (parts.has_library) {
    for (std::size_t i = 0; i < parts.payloads.size(); ++i) imports.push_back(ends.size() + i);
    ends.push_back(imports.size());
  }
  ends.resize(ends.size() + parts.payloads.size(), imports.size());
  const std::uint64_t modules = ends.size() - 1;

  ContainerText after;
  if (!keys.empty()) after.write(parts.name);
  // These modules have no payload.
  for (std::size_t i = 1; i < keys.size(); ++i) after.write(keys[i]);
  if (parts.has_library) after.write(library_key);
  for (const ModelPayload& payload : parts.payloads) {
    after.write(payload.type_key).append(payload.bytes);
  }
  after.write(tree_key).write(ends).write(imports);

  // The entries: the modules and the tree.
  ContainerText before;
  before.write(modules + 1);
  if (!keys.empty()) {
    before.write(keys.front());
    if (!parts.is_ahead_of_time) before.write(parts.text);
    before.write(std::uint64_t{records.names.size()}).write(std::uint64_t{records.names.size()});
    for (const std::string_view name : records.names) before.write(name);
  }

  ContainerText whole;
  whole.write(std::uint64_t{before.bytes().size() + data.size() + after.bytes().size()});
  whole.append(before.bytes());
  if (data.empty()) return MappedFile::copy(path, whole.append(after.bytes()).bytes());
  return MappedFile::joined(path, whole.bytes(), *parts.file, data, after.bytes());
}

}  // namespace gantry
