// SPDX-License-Identifier: Apache-2.0
//
// `gantry repack --align`: where the parameters of a model of TVM and of a large one are in the file
// and in memory.
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"
#include "tests/unit/runtime/large_graph.hpp"
#include "tests/unit/runtime/large_memory.hpp"

#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"

#include <gantry/array_record.hpp>
#include <gantry/embed.hpp>
#include <gantry/embed/executor.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace gantry::test {
namespace {

const std::string base = "tvm-0.12/resnet20_llvm";

struct RepackedArray {
  // of the data in the file
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;
  bool is_filler = false;
};

// The array records in the first module of a file.
std::vector<RepackedArray> arrays_of(const std::string& path) {
  const auto file = MappedFile::open(path).value();
  const ElfFile elf = ElfFile::parse(file).value();
  const Container container = read_container(elf, PayloadLayouts::built_in()).value();
  const auto payload = container.entries.at(0).payload;
  std::uint8_t magic[8];
  std::memcpy(magic, &array_record_magic, sizeof magic);
  std::vector<RepackedArray> arrays;
  for (auto next = payload.begin();;) {
    next = std::search(next, payload.end(), std::begin(magic), std::end(magic));
    if (next == payload.end()) return arrays;
    const auto record = payload.subspan(static_cast<std::size_t>(next - payload.begin()));
    ByteReader in(record);
    const ArrayRecord array = read_array_record(in, "array").value();
    const bool is_filler = array.dtype.code == 1 && array.dtype.bits == 8;
    arrays.push_back({static_cast<std::uint64_t>(array.data.data() - file->bytes().data()),
                      array.data.size(), is_filler});
    next += static_cast<std::ptrdiff_t>(in.offset());
  }
}

// Returns the anonymous memory from the load to the first output.
std::int64_t bytes_to_first_output(Runtime& runtime, const std::string& path) {
  const std::int64_t before = anonymous_bytes_in_use();
  const Module model = runtime.load(path).value();
  Executor executor = Executor::create(runtime, model, {"cpu"}).value();
  EXPECT_TRUE(executor.run().ok());
  return anonymous_bytes_in_use() - before;
}

Runtime runtime_of_graphs() {
  RuntimeOptions options;
  options.threads = 1;
  options.plugin_paths = {built_plugins("graph")};
  options.only_these_plugins = true;
  return Runtime::create(options).value();
}

void align(const std::string& file, const std::string& output) {
  const Outcome repacked = run_gantry({"--plugins", built_plugins("graph"), "--config", "/dev/null",
                                       "repack", file, "--align", "-o", output});
  ASSERT_EQ(repacked.status, 0) << repacked.err;
}

class AlignedModel : public ::testing::Test {
 protected:
  AlignedModel() { align(base + ".so", path_); }

  const TempDir temp_;
  const std::string path_ = (temp_ / "aligned.so").string();
};

TEST_F(AlignedModel, ComputesTheOutputsOfTvm) {
  const Outcome run = run_gantry({"--plugins", built_plugins("graph"), "run", path_, "--input",
                                  "data=tvm-0.12/resnet20.input.npz", "--each", "--expect",
                                  base + ".expected.npz"});

  EXPECT_EQ(run.status, 0) << run.err;
}

TEST_F(AlignedModel, HasEachParameterAtAMultiple) {
  std::size_t parameters = 0, large = 0;
  for (const RepackedArray& array : arrays_of(path_)) {
    if (array.is_filler) continue;
    ++parameters;
    large += array.bytes >= 65536 ? 1 : 0;
    EXPECT_EQ(array.at % (array.bytes >= 65536 ? 4096 : 128), 0u) << "array " << parameters;
  }
  EXPECT_EQ(parameters, arrays_of(golden(base + ".so")).size());
  EXPECT_GT(large, 0u);
}

TEST_F(AlignedModel, HasNoCopyOfItsParametersInMemory) {
  std::int64_t parameter_bytes = 0;
  for (const RepackedArray& array : arrays_of(golden(base + ".so"))) {
    parameter_bytes += static_cast<std::int64_t>(array.bytes);
  }
  Runtime runtime = runtime_of_graphs();
  // loads the plugin
  bytes_to_first_output(runtime, golden(base + ".so"));

  const std::int64_t copied = bytes_to_first_output(runtime, golden(base + ".so"));
  const std::int64_t in_place = bytes_to_first_output(runtime, path_);

  // A part of the original's parameters is aligned by chance.
  EXPECT_LT(in_place, copied - parameter_bytes / 2)
      << parameter_bytes << " bytes of parameters, in place " << in_place << ", copied " << copied;
}

// As an exporter writes it, with the parameters of payload_of_large_graph() unaligned.
TEST(AlignedLargeModel, HasNoCopyOfItsParametersInMemory) {
  const TempDir temp;
  const std::string original = link_large_graph(payload_of_large_graph());
  const std::string path = (temp / "aligned.so").string();
  align(original, path);
  Runtime runtime = runtime_of_graphs();
  // loads the plugin
  bytes_to_first_output(runtime, golden(base + ".so"));

  const std::int64_t copied = bytes_to_first_output(runtime, original);
  const std::int64_t in_place = bytes_to_first_output(runtime, path);

  EXPECT_GE(copied, min_bytes_of_copies);
  EXPECT_LT(in_place, max_bytes_in_place);
  RecordProperty("copied", static_cast<int>(copied));
  RecordProperty("in_place", static_cast<int>(in_place));
  const Module model = runtime.load(path).value();
  Executor executor = Executor::create(runtime, model, {"cpu"}).value();
  ASSERT_TRUE(executor.run().ok());
  EXPECT_EQ(*static_cast<const float*>(executor.output(0)->data()), 0.25f * large_model_bytes / 4);
}

}  // namespace
}  // namespace gantry::test
