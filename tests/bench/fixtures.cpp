// SPDX-License-Identifier: Apache-2.0
//
// Writes the measured artifacts with core/writing.
//
//     gantry_bench_fixtures <directory> [--big | --instructions]
//
//     calls.so            packed functions only
//     ffi_calls.so        functions of the ffi dialect, without a container
//     chain<n>.so         a chain of n operators on one element
//     relay_chain<n>.so   n calls of the same kernel by code of the Relay virtual machine
//     relay_resnet20.so   resnet20 as such code
//     stubs<n>.so         n modules of 64 bytes, type key "bench.stub"
//     subgraph.so         a sub-graph of convolutions and poolings, type key "dnnl_json"
//     big.so              (--big) 16 parameters of 64 MiB
//     big.yaml, big.npy   (--big) its recipe and its parameters
//     manifests<n>/       n manifests of plugins without libraries
//
// --instructions writes only what tests/bench/instructions requires, in a second.
#include "core/base/replace_file.hpp"
#include "core/base/temp_directory.hpp"
#include "core/base/toolchain/link.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/writing/container.hpp"
#include "core/writing/mlf_archive.hpp"
#include "core/writing/pack.hpp"
#include "tests/support/container_object.hpp"
#include "tests/support/relay_artifact.hpp"

#include <dmlc/memory_io.h>

#include <cstdio>
#include <fstream>
#include <string_view>

namespace gantry {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kParameters = 16;
// float32[4096, 4096] is 64 MiB
constexpr std::int64_t kParameterSide = 4096;

const gantry_dtype kFloat32{static_cast<std::uint8_t>(TypeCode::float_), 32, 1};
const TensorType kOne{kFloat32, {1}};

Recipe recipe_of_kernels() {
  Recipe recipe;
  recipe.directory = GANTRY_BENCH_SOURCE;
  recipe.sources = {"kernels.c"};
  return recipe;
}

Status write_chain(const fs::path& directory, std::size_t length) {
  Recipe recipe = recipe_of_kernels();
  GraphDescription graph;
  graph.inputs = {{"t0", kOne}};
  for (std::size_t i = 0; i < length; ++i) {
    graph.operators.push_back({"add_one", {concat("t", i)}, {{concat("t", i + 1), kOne}}});
  }
  graph.outputs = {concat("t", length)};
  recipe.graphs.push_back({.source = std::move(graph)});
  return pack(recipe, directory / concat("chain", length, ".so"));
}

// Links the kernels with a container of modules; module 0 is the kernels.
Status write_modules(const fs::path& output, const std::vector<ContainerModule>& modules) {
  GANTRY_TRY(Pieces container, write_container(modules));
  GANTRY_TRY(const TempDirectory scratch, TempDirectory::beside(output));
  test::write_container_object(scratch / "container.o", std::move(container));
  LinkJob job;
  job.directory = GANTRY_BENCH_SOURCE;
  job.scratch = scratch.path();
  job.sources = {"kernels.c", (scratch / "container.o").native()};
  job.output = scratch / "library.so";
  GANTRY_CHECK(link_library(job));
  return move_into_place(job.output, output, {});
}

Status write_stubs(const fs::path& directory, std::size_t count) {
  std::vector<ContainerModule> modules(1);
  for (std::size_t i = 1; i <= count; ++i) {
    modules.front().imports.push_back(i);
    modules.push_back({"bench.stub", {}, [](Pieces& out) -> Status {
                         out.write_text(std::string(64 - sizeof(std::uint64_t), 'x'));
                         return {};
                       }});
  }
  return write_modules(directory / concat("stubs", count, ".so"), modules);
}

// Three convolutions with relu, then two poolings.
std::string subgraph_text() {
  std::string nodes =
      R"({"op": "input", "name": "x", "attrs": {"dtype": [["float32"]], "shape": [[[1, 4, 24, 24]]]}})";
  int channels = 4, last = 0, next = 1;
  for (int i = 0; i < 3; ++i) {
    nodes += concat(R"(, {"op": "const", "name": "c)", i,
                    R"(", "attrs": {"dtype": [["float32"]], "shape": [[[16, )", channels,
                    R"(, 3, 3]]]}}, {"op": "kernel", "name": "dnnl.conv2d_relu", "inputs": [[)",
                    last, ", 0, 0], [", next, R"(, 0, 0]], "attrs": {"dtype": [["float32"]],
 "shape": [[[1, 16, 24, 24]]], "strides": [["1", "1"]], "padding": [["1", "1", "1", "1"]],
 "dilation": [["1", "1"]], "groups": [["1"]], "data_layout": [["NCHW"]], "kernel_layout": [["OIHW"]],
 "out_layout": [[""]]}})");
    last = next + 1;
    next += 2;
    channels = 16;
  }
  nodes += R"(, {"op": "kernel", "name": "nn.max_pool2d", "inputs": [[6, 0, 0]], "attrs": {
 "dtype": [["float32"]], "shape": [[[1, 16, 12, 12]]], "pool_size": [["2", "2"]],
 "strides": [["2", "2"]], "padding": [["0", "0"]], "dilation": [["1", "1"]], "layout": [["NCHW"]]}},
 {"op": "kernel", "name": "nn.global_avg_pool2d", "inputs": [[7, 0, 0]], "attrs": {
 "dtype": [["float32"]], "shape": [[[1, 16, 1, 1]]], "layout": [["NCHW"]]}})";
  return concat(R"({"nodes": [)", nodes, R"(], "arg_nodes": [0, 1, 3, 5], "heads": [[8, 0, 0]],
 "node_row_ptr": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]})");
}

Status write_subgraph(const fs::path& directory) {
  std::vector<ContainerModule> modules(1);
  modules.front().imports.push_back(1);
  modules.push_back({"dnnl_json", {}, [](Pieces& out) -> Status {
                       out.write_text("main_0");
                       out.write_text(subgraph_text());
                       out.Write(std::vector<std::string>{"c0", "c1", "c2"});
                       return {};
                     }});
  return write_modules(directory / "subgraph.so", modules);
}

// The same artifact as a recipe, for pack_bench.cpp.
void write_big_recipe(const fs::path& directory) {
  std::ofstream out(directory / "big.yaml");
  out << "schema: \"1.0\"\nsources: [" << GANTRY_BENCH_SOURCE << "/kernels.c]\n"
      << "graph:\n  inputs: {t0: \"float32[1]\"}\n  operators:\n";
  for (std::size_t i = 0; i < kParameters; ++i) {
    out << "    - {function: add_first, inputs: [t" << i << ", p" << i << "], outputs: {t" << i + 1
        << ": \"float32[1]\"}}\n";
  }
  out << "  outputs: [t" << kParameters << "]\nparameters:\n";
  for (std::size_t i = 0; i < kParameters; ++i) out << "  p" << i << ": {file: big.npy}\n";
}

// All 16 parameters use one array on disk; the artifact contains 16 copies.
Status write_big(const fs::path& directory) {
  const fs::path array = directory / "big.npy";
  {
    std::string header = concat("{'descr': '<f4', 'fortran_order': False, 'shape': (",
                                kParameterSide, ", ", kParameterSide, "), }");
    header.resize(128 - 10 - 1, ' ');
    header += '\n';
    std::ofstream out(array, std::ios::binary);
    out << "\x93NUMPY" << '\1' << '\0' << static_cast<char>(header.size()) << '\0' << header;
    const std::vector<float> row(kParameterSide, 1.0f);
    for (std::int64_t i = 0; i < kParameterSide; ++i) {
      out.write(reinterpret_cast<const char*>(row.data()),
                static_cast<std::streamsize>(row.size() * sizeof(float)));
    }
  }
  Recipe recipe = recipe_of_kernels();
  GraphDescription graph;
  graph.inputs = {{"t0", kOne}};
  std::vector<ParameterSource> parameters;
  for (std::size_t i = 0; i < kParameters; ++i) {
    ParameterSource source;
    source.name = concat("p", i);
    source.file = array;
    source.location = source.name;
    parameters.push_back(std::move(source));
    graph.operators.push_back(
        {"add_first", {concat("t", i), concat("p", i)}, {{concat("t", i + 1), kOne}}});
  }
  graph.outputs = {concat("t", kParameters)};
  recipe.graphs.push_back({.source = std::move(graph), .parameters = std::move(parameters)});
  write_big_recipe(directory);
  return pack(recipe, directory / "big.so");
}

void write_manifests(const fs::path& directory, int count) {
  fs::create_directories(directory);
  for (int i = 0; i < count; ++i) {
    std::ofstream(directory / concat("vendor", i, ".yaml"))
        << "schema: \"1.0\"\nid: vendor.npu" << i << "\nversion: \"1.2." << i
        << "\"\ndisplay_name: accelerator " << i
        << "\nvendor: vendor\nlicense: Apache-2.0\nlibrary: libvendor" << i
        << ".so\nabi: {major: 1, min_minor: 0, max_minor: 0}\npriority: " << i % 10
        << "\nkeys:\n  - {key: vendor" << i << ", payload: [str, bytes]}\ndevices:\n  - {name: npu"
        << i << "}\n";
  }
}

// A model with its library, as gantry mlf export writes it.
Status write_archive(const fs::path& directory) {
  const fs::path golden = fs::path(GANTRY_BENCH_SOURCE) / "../golden/data/tvm-0.12";
  GANTRY_TRY(const auto library, MappedFile::open(golden / "resnet20_llvm.so"));
  GANTRY_TRY(const ElfFile elf, ElfFile::parse(library));
  GANTRY_TRY(const Container container, read_container(elf, PayloadLayouts::built_in()));
  GANTRY_TRY(const Pieces archive,
             mlf_of_artifacts(std::vector{MlfArtifact{library, container, "resnet20"}}, {}));
  std::string bytes;
  dmlc::MemoryStringStream stream(&bytes);
  GANTRY_CHECK(archive.write_to(stream));
  std::ofstream(directory / "resnet20.tar", std::ios::binary) << bytes;
  return {};
}

// Two tensors in turn, over the kernel of chain<n>.so.
Status write_relay_chain(const fs::path& directory, std::size_t length) {
  return test::write_relay_artifact(
      directory / concat("chain", length, ".so"), directory / concat("relay_chain", length, ".so"),
      [&](const Container&) -> Result<test::RelayAssembler> {
        test::RelayAssembler code;
        const auto add_one = code.packed("add_one");
        code.function("main", {"x"}, 9);
        code.tensor(kFloat32, {1}, 4, 1, 7);
        code.tensor(kFloat32, {1}, 4, 1, 8);
        code.invoke_packed(add_one, {0, 7});
        for (std::size_t i = 1; i < length; ++i)
          code.invoke_packed(add_one, i % 2 == 1 ? std::vector<std::int64_t>{7, 8}
                                                 : std::vector<std::int64_t>{8, 7});
        code.ret(length % 2 == 1 ? 7 : 8);
        return code;
      });
}

Status write_relay_resnet(const fs::path& directory) {
  const fs::path golden = fs::path(GANTRY_BENCH_SOURCE) / "../golden/data/tvm-0.12";
  return test::write_relay_artifact_of_graph(golden / "resnet20_llvm.so",
                                             directory / "relay_resnet20.so", 1);
}

Status write_calls(const fs::path& directory) {
  GANTRY_CHECK(pack(recipe_of_kernels(), directory / "calls.so"));
  return link_library({.directory = GANTRY_BENCH_SOURCE,
                       .scratch = directory,
                       .sources = {"ffi_kernels.c"},
                       .output = directory / "ffi_calls.so"});
}

Status make_for_instructions(const fs::path& directory) {
  GANTRY_CHECK(write_calls(directory));
  for (const std::size_t length : {10, 1000}) GANTRY_CHECK(write_chain(directory, length));
  GANTRY_CHECK(write_relay_chain(directory, 10));
  for (const std::size_t count : {1, 1000}) GANTRY_CHECK(write_stubs(directory, count));
  write_manifests(directory / "manifests20", 20);
  return {};
}

Status make_all(const fs::path& directory) {
  GANTRY_CHECK(write_calls(directory));
  for (const std::size_t length : {10, 1000, 10'000}) GANTRY_CHECK(write_chain(directory, length));
  for (const std::size_t length : {10, 10'000}) GANTRY_CHECK(write_relay_chain(directory, length));
  GANTRY_CHECK(write_relay_resnet(directory));
  for (const std::size_t count : {1, 10'000}) GANTRY_CHECK(write_stubs(directory, count));
  GANTRY_CHECK(write_subgraph(directory));
  GANTRY_CHECK(write_archive(directory));
  for (const int count : {20, 500}) write_manifests(directory / concat("manifests", count), count);
  return {};
}

}  // namespace
}  // namespace gantry

int main(int argc, char** argv) {
  const std::string_view which = argc == 3 ? argv[2] : "";
  const auto make = which == "--big"            ? gantry::write_big
                    : which == "--instructions" ? gantry::make_for_instructions
                    : argc == 2                 ? gantry::make_all
                                                : nullptr;
  if (make == nullptr) {
    std::fprintf(stderr, "usage: gantry_bench_fixtures <directory> [--big | --instructions]\n");
    return 2;
  }
  const auto directory = std::filesystem::absolute(argv[1]);
  std::filesystem::create_directories(directory);
  const gantry::Status made = make(directory);
  if (made.ok()) return 0;
  std::fprintf(stderr, "error: %s\n", made.error().message.c_str());
  return 1;
}
