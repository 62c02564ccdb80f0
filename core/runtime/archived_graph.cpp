// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/archived_graph.hpp"

#include "core/arrays/params.hpp"
#include "core/format/model_signature.hpp"
#include "core/format/type_key.hpp"

#include <gantry/aligned_record.hpp>

#include <dmlc/io.h>
#include <dmlc/memory_io.h>

#include <string>
#include <vector>

namespace gantry {
namespace {

constexpr std::string_view import_tree_key = "_import_tree";

// Writes to a text that begins with the length of the container, so that offsets count from its
// first byte.
class ContainerText {
 public:
  ContainerText() : stream_(&text_) {}

  dmlc::Stream& out() { return stream_; }
  void write(std::string_view text) { out().Write(std::string(text)); }
  void write(std::uint64_t number) { out().Write(number); }
  std::uint64_t offset() const { return text_.size(); }
  std::span<const std::uint8_t> bytes() const {
    return {reinterpret_cast<const std::uint8_t*>(text_.data()), text_.size()};
  }
  // Sets the first word, which was written as 0.
  void set_length() {
    const std::uint64_t length = text_.size() - sizeof length;
    text_.replace(0, sizeof length, reinterpret_cast<const char*>(&length), sizeof length);
  }

 private:
  std::string text_;
  dmlc::MemoryStringStream stream_;
};

void write_factory(const ArchivedGraph& graph, const std::vector<Param>& parameters,
                   ContainerText& to) {
  std::vector<std::string_view> names;
  for (const Param& parameter : parameters) names.push_back(parameter.name);
  const std::vector<std::string> stored = names_with_fillers(names);
  to.write(graph.text);
  to.write(stored.size());
  to.out().Write(stored);
  for (const Param& parameter : parameters) {
    const ArrayRecord& array = parameter.array;
    write_filler(to.out(), to.offset(),
                 {record_header_bytes(array.shape.size()), array.data.size()});
    write_record_header(to.out(), array.dtype, array.shape, array.data.size());
    to.out().Write(array.data.data(), array.data.size());
  }
  to.write(graph.name);
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> container_of_graph(const std::filesystem::path& file,
                                                             const ArchivedGraph& graph) {
  std::vector<Param> parameters;
  if (!graph.parameters.empty()) {
    GANTRY_TRY(parameters, read_params(graph.parameters));
  }
  ContainerText to;
  to.write(0);
  // the entries: two modules and the tree
  to.write(3);
  to.write(graph_factory_key);
  write_factory(graph, parameters, to);
  to.write(library_key);
  to.write(import_tree_key);
  // module 0 imports module 1
  to.out().Write(std::vector<std::uint64_t>{0, 1, 1});
  to.out().Write(std::vector<std::uint64_t>{1});
  to.set_length();
  return MappedFile::copy(file, to.bytes());
}

}  // namespace gantry
