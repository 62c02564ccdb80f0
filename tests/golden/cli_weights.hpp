// SPDX-License-Identifier: Apache-2.0
//
// Models of TVM, directories of weights for them, and runs with --weights.
#pragma once

#include "tests/golden/cli_command.hpp"
#include "tests/support/array_value.hpp"
#include "tests/support/files.hpp"
#include "tests/support/npz_file.hpp"
#include "tests/support/params_file.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/weights.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::test {

using Args = std::vector<std::string>;

inline const std::string mix = "relax/weights_mix_llvm";
// Its metadata list the weights.
inline const std::string classifier = "relax/weights_metadata_llvm";

inline Outcome with_relax(const std::string& command, const Args& args,
                          const Args& environment = {}) {
  Args all{"--plugins", built_plugins("relax"), command};
  all.insert(all.end(), args.begin(), args.end());
  return run_gantry(all, environment);
}
inline Outcome run_vm(const Args& args) { return with_relax("run", args); }
inline Outcome bench_vm(const Args& args) { return with_relax("bench", args); }

class Weights : public ::testing::Test {
 protected:
  std::string path(std::string_view name) const { return (temp_ / name).string(); }
  // Writes a member of a golden file as "output", in another shape if it is not empty.
  std::string expected(const std::string& from, const std::string& member,
                       std::vector<std::int64_t> shape = {}) const {
    return renamed(from, member, "output", std::move(shape));
  }
  std::string renamed(const std::string& from, const std::string& member, const std::string& name,
                      std::vector<std::int64_t> shape = {}) const {
    const ArrayValue array = array_in(golden(from), member);
    if (shape.empty()) shape = array.header.shape;
    const NpzItem item{name, array.header.dtype, shape, array.data};
    const std::string file = path(name + ".npz");
    EXPECT_TRUE(write_npz(file, std::span(&item, 1)).ok());
    return file;
  }
  // A golden file with the first occurrence of a text replaced by one of the same length.
  std::string patched(const std::string& from, std::string_view text, std::string_view by) const {
    EXPECT_EQ(text.size(), by.size());
    const auto bytes = read_file(golden(from));
    const std::string file = path("patched.so");
    write_file(file, replaced(std::string(bytes.begin(), bytes.end()), text, by));
    return file;
  }
  // The weights of the classifier with a change of their index.
  std::string changed_weights(const std::vector<std::pair<std::string, std::string>>& changes) {
    std::filesystem::copy(golden("relax/weights_metadata.weights"), temp_ / "changed.weights");
    const std::string file = path("changed.weights/tensor-cache.json");
    const auto bytes = read_file(file);
    std::string index(bytes.begin(), bytes.end());
    for (const auto& [from, to] : changes) index = replaced(index, from, to);
    write_file(file, index);
    return path("changed.weights");
  }
  // Runs a function of the classifier.
  Outcome classify(const std::string& file, const std::string& weights,
                   const Args& more = {}) const {
    Args args{file,
              "--function",
              "classify",
              "--weights",
              weights,
              "--input",
              "ids=" + classifier + ".npz:c4_a0"};
    args.insert(args.end(), more.begin(), more.end());
    return run_vm(args);
  }
  // A directory of arrays of float32 from a golden file: weights and the members that they are.
  std::string written_weights(const std::string& from,
                              const std::vector<std::pair<std::string, std::string>>& weights) {
    nlohmann::json shard{{"dataPath", "s.bin"}, {"format", "raw-shard"}};
    std::vector<std::uint8_t> bytes;
    for (const auto& [name, member] : weights) {
      const ArrayValue array = array_in(golden(from), member);
      shard["records"].push_back({{"name", name},
                                  {"shape", array.header.shape},
                                  {"dtype", "float32"},
                                  {"format", "raw"},
                                  {"nbytes", array.data.size()},
                                  {"byteOffset", bytes.size()}});
      bytes.insert(bytes.end(), array.data.begin(), array.data.end());
    }
    shard["nbytes"] = bytes.size();
    std::filesystem::create_directory(temp_ / "written.weights");
    write_file(temp_ / "written.weights/s.bin", std::span<const std::uint8_t>(bytes));
    write_file(temp_ / "written.weights/tensor-cache.json",
               nlohmann::json{{"records", {shard}}}.dump());
    return path("written.weights");
  }
  // The same weights in a file of NumPy.
  std::string weights_npz(const std::string& from,
                          const std::vector<std::pair<std::string, std::string>>& weights) const {
    std::vector<ArrayValue> arrays;
    std::vector<NpzItem> items;
    for (const auto& [name, member] : weights) arrays.push_back(array_in(golden(from), member));
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const ArrayHeader& header = arrays[i].header;
      items.push_back({weights[i].first, header.dtype, header.shape, arrays[i].data});
    }
    EXPECT_TRUE(write_npz(path("weights.npz"), items).ok());
    return path("weights.npz");
  }
  // The same as save_param_dict() writes it.
  std::string weights_params(
      const std::string& from,
      const std::vector<std::pair<std::string, std::string>>& weights) const {
    std::vector<ArrayValue> arrays;
    std::vector<Param> params;
    for (const auto& [name, member] : weights) arrays.push_back(array_in(golden(from), member));
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const ArrayHeader& header = arrays[i].header;
      params.push_back({weights[i].first, {header.dtype, header.shape, arrays[i].data}});
    }
    write_file(path("weights.params"), params_bytes(params));
    return path("weights.params");
  }
  // A directory of float32[3] and float32[4].
  std::string named_weights(std::string_view weight, std::string_view bias) const {
    const std::string index =
        replaced(replaced(small_index, R"("name": "a")", concat("\"name\": \"", weight, "\"")),
                 R"("name": "b")", concat("\"name\": \"", bias, "\""));
    write_weights(path("named.weights"), index);
    return path("named.weights");
  }

 private:
  TempDir temp_;
};

}  // namespace gantry::test
