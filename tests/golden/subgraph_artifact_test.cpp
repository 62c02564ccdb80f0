// SPDX-License-Identifier: Apache-2.0
//
// The sub-graphs for the libraries of other vendors in an artifact of our writer, as exporters arrange
// them: CPU code, a module of constants, and one module for each sub-graph.
#include "tests/support/built_runtime.hpp"
#include "tests/support/container_object.hpp"
#include "tests/support/files.hpp"
#include "tests/support/subgraphs/subgraph_cases.hpp"
#include "tests/support/words.hpp"

#include "core/base/temp_directory.hpp"
#include "core/base/toolchain/link.hpp"
#include "core/writing/container.hpp"

#include <gantry/array_record.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace gantry {
namespace {

using test::CaseArray;
using test::subgraph_cases;
using test::SubgraphCase;

std::string symbol_of(const SubgraphCase& each) { return concat(each.key, ".", each.name); }

std::vector<SubgraphCase> cases_of_other_vendors() {
  std::vector<SubgraphCase> cases;
  for (const SubgraphCase& each : subgraph_cases()) {
    // TensorRT's are in an artifact of TVM (dnnl_test.cpp).
    if (each.key != "dnnl_json" && each.key != "tensorrt") cases.push_back(each);
  }
  return cases;
}

std::string text_of(const test::Words& words) {
  return {reinterpret_cast<const char*>(words.bytes().data()), words.size()};
}

void add_record(test::Words& words, const CaseArray& array) {
  words.u64(array_record_magic).u64(0).i32(1).i32(0);
  words.i32(static_cast<std::int32_t>(array.shape.size()));
  words.u8(array.dtype.code).u8(array.dtype.bits).u16(array.dtype.lanes);
  for (const std::int64_t extent : array.shape) words.i64(extent);
  words.i64(static_cast<std::int64_t>(array.bytes.size())).bytes(array.bytes);
}

// The payload of const_loader: names, arrays, symbols, and the names that each symbol gets.
std::string constants_payload(const std::vector<SubgraphCase>& cases) {
  test::Words names, arrays, symbols, wanted;
  std::uint64_t count = 0;
  for (const SubgraphCase& each : cases) {
    symbols.str(symbol_of(each));
    wanted.u64(each.constants.size());
    for (const CaseArray& constant : each.constants) {
      const std::string name = concat("constant_", count++);
      names.str(name);
      wanted.str(name);
      add_record(arrays, constant);
    }
  }
  test::Words all;
  all.u64(count).bytes(names.bytes()).u64(count).bytes(arrays.bytes());
  all.u64(cases.size()).bytes(symbols.bytes()).u64(cases.size()).bytes(wanted.bytes());
  return text_of(all);
}

std::string subgraph_payload(const SubgraphCase& each) {
  test::Words words;
  words.str(symbol_of(each)).str(each.json).u64(each.constants.size());
  for (std::size_t i = 0; i < each.constants.size(); ++i) words.str(concat("c", i));
  return text_of(words);
}

ContainerModule module_of(std::string key, std::string payload) {
  return {std::move(key), {}, [payload = std::move(payload)](Pieces& out) -> Status {
            out.write_bytes(payload);
            return {};
          }};
}

void write_artifact(const std::filesystem::path& file, const std::vector<SubgraphCase>& cases) {
  std::vector<ContainerModule> modules(1);
  modules[0].imports = {1};
  modules.push_back(module_of("const_loader", constants_payload(cases)));
  for (const SubgraphCase& each : cases) {
    modules[1].imports.push_back(modules.size());
    modules.push_back(module_of(each.key, subgraph_payload(each)));
  }
  auto container = write_container(modules);
  ASSERT_TRUE(container.ok()) << container.error().message;
  const auto scratch = TempDirectory::beside(file);
  ASSERT_TRUE(scratch.ok());
  test::write_container_object(scratch->path() / "container.o", std::move(*container));
  LinkJob job;
  job.directory = scratch->path();
  job.scratch = scratch->path();
  job.sources = {(scratch->path() / "container.o").native()};
  job.output = file;
  const Status linked = link_library(job);
  ASSERT_TRUE(linked.ok()) << linked.error().message;
}

Tensor tensor_of(Runtime& runtime, const CaseArray& array) {
  Tensor tensor = runtime.tensor(array.shape, array.dtype).value();
  std::memcpy(tensor.data(), array.bytes.data(), array.bytes.size());
  return tensor;
}

bool is_close(const Tensor& found, const CaseArray& expected) {
  if (!same_dtype(expected.dtype, dtypes::float32))
    return std::memcmp(found.data(), expected.bytes.data(), expected.bytes.size()) == 0;
  const auto* const values = reinterpret_cast<const float*>(expected.bytes.data());
  for (std::size_t i = 0; i < expected.bytes.size() / sizeof(float); ++i) {
    if (!(std::abs(found.elements<float>()[i] - values[i]) <= 2e-6f + 2e-5f * std::abs(values[i])))
      return false;
  }
  return true;
}

TEST(SubgraphArtifact, RunsTheOperatorsOfOtherVendorsLibraries) {
  const std::vector<SubgraphCase> cases = cases_of_other_vendors();
  ASSERT_GT(cases.size(), 50u);
  const test::TempDir directory;
  const auto file = directory / "subgraphs.so";
  ASSERT_NO_FATAL_FAILURE(write_artifact(file, cases));
  Runtime runtime = test::new_runtime();
  const auto module = runtime.load(file.string());
  ASSERT_TRUE(module.ok()) << module.error().message;

  for (const SubgraphCase& each : cases) {
    const auto function = module->function(symbol_of(each));
    ASSERT_TRUE(function.ok()) << function.error().message;
    std::vector<Tensor> tensors;
    for (const CaseArray& input : each.inputs) tensors.push_back(tensor_of(runtime, input));
    for (const CaseArray& output : each.outputs)
      tensors.push_back(runtime.tensor(output.shape, output.dtype).value());
    std::vector<gantry_value> args;
    for (const Tensor& tensor : tensors) {
      gantry_value& arg = args.emplace_back();
      arg.kind = GANTRY_TENSOR;
      arg.object = tensor.get();
    }
    const auto done = function->call(args);
    ASSERT_TRUE(done.ok()) << symbol_of(each) << ": " << done.error().message;
    for (std::size_t i = 0; i < each.outputs.size(); ++i)
      EXPECT_TRUE(is_close(tensors[each.inputs.size() + i], each.outputs[i])) << symbol_of(each);
  }
}

}  // namespace
}  // namespace gantry
