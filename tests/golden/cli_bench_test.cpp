// SPDX-License-Identifier: Apache-2.0
//
// `gantry bench` of artifacts that TVM exported, and of a packed model that counts its runs.
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"

#include "core/formats/arrays/npy.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <sstream>

namespace gantry::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;
using Args = std::vector<std::string>;

constexpr const char* digits = "tvm-0.12/digits_mlp_c.so";

// `gantry bench` with few runs.
Outcome bench_of(std::string file, Args more, const Args& environment = {}) {
  more.insert(more.begin(), {"bench", std::move(file), "--repeat", "8"});
  return with_graph(more, environment);
}

TEST(Bench, ReportsTimesOperatorsAndMemory) {
  const Outcome bench = with_graph(
      {"bench", "tvm-0.12/digits_mlp_c.so", "--repeat", "5", "--threads", "3", "--json"});

  ASSERT_EQ(bench.status, 0) << bench.err;
  const auto json = nlohmann::json::parse(bench.out);
  EXPECT_EQ(json["times"]["runs"], 5);
  EXPECT_EQ(json["times"]["timed_runs"], 3);
  EXPECT_EQ(json["times"]["samples_ns"].size(), 3u);
  EXPECT_EQ(json["items"], 1);
  EXPECT_GT(json["items_per_second"], 0);
  EXPECT_EQ(json["to_device"], nullptr);
  EXPECT_EQ(json["inputs"], nlohmann::json::parse(R"([{"name": "x", "dtype": "float32",
      "shape": [1, 64], "digest": "5341e6b2646979a7"}])"));
  EXPECT_EQ(json["threads"], 3);
  EXPECT_GE(json["cpus"], 1);
  EXPECT_GE(json["other_cpus"], 0);
  std::vector<std::string> operators;
  double shares = 0;
  for (const auto& one : json["operators"]) {
    operators.push_back(one["name"]);
    EXPECT_EQ(one["calls"], 1) << one;
    shares += one["share"].get<double>();
  }
  EXPECT_THAT(operators,
              UnorderedElementsAre("tvmgen_default_fused_nn_contrib_dense_pack_add_nn_relu",
                                   "tvmgen_default_fused_nn_contrib_dense_pack_add_nn_relu_1",
                                   "tvmgen_default_fused_nn_contrib_dense_pack_add",
                                   "tvmgen_default_fused_nn_softmax", "default"));
  EXPECT_NEAR(shares, 1, 1e-9);
  EXPECT_EQ(json["memory"]["mapped"], read_file(golden("tvm-0.12/digits_mlp_c.so")).size());
  EXPECT_GT(json["memory"]["allocated"]["cpu:0"], 0);
}

// The operators are the parts of a run, and the runs are in order. A busy machine disturbs some
// measurements, not all of several.
TEST(Bench, HasTimesOfOperatorsThatMakeUpARun) {
  struct Model {
    std::string_view plugin, file;
  };
  for (const Model& model :
       {Model{"graph", "tvm-0.12/digits_mlp_c.so"}, Model{"aot", "tvm-0.12/digits_mlp_aot_llvm.so"},
        Model{"relax", "relax/cnn_llvm.so"}}) {
    std::string ratios;
    bool is_close = false;
    for (int i = 0; i < 8 && !is_close; ++i) {
      const Outcome bench =
          run_gantry({"--plugins", built_plugins(model.plugin), "bench", std::string(model.file),
                      "--repeat", "5", "--threads", "1", "--json"});
      ASSERT_EQ(bench.status, 0) << bench.err;
      const auto json = nlohmann::json::parse(bench.out);
      const auto& times = json["times"];
      double sum = 0;
      for (const auto& one : json["operators"]) sum += one["mean_ns"].get<double>();
      const double median = times["median_ns"];
      EXPECT_LE(times["min_ns"], median);
      EXPECT_LE(median, times["p99_ns"]);
      EXPECT_GT(times["load_ns"], 0);
      EXPECT_GT(times["create_ns"], 0);
      EXPECT_GE(json["memory"]["after"]["peak"], json["memory"]["after"]["resident"]);
      ratios += " " + std::to_string(sum / median);
      is_close = sum > median / 4 && sum < median * 3;
    }
    EXPECT_TRUE(is_close) << model.file << ": operators take" << ratios << " times a run";
  }
}

// out = 2 * x; each run appends a byte to a file.
constexpr std::string_view counting_source =
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "int twice(void** args, const int* codes, int count) {\n"
    "  const float* x = *(float**)args[0];\n"
    "  float* out = *(float**)args[1];\n"
    "  for (int i = 0; i < 12; ++i) out[i] = 2 * x[i];\n"
    "  FILE* file = fopen(getenv(\"RUNS\"), \"a\");\n"
    "  fputc('.', file);\n"
    "  fclose(file);\n"
    "  return (void)codes, count - 2;\n"
    "}\n";

constexpr std::string_view counting_recipe =
    "schema: \"1.0\"\n"
    "name: counting\n"
    "sources: [twice.c]\n"
    "graph:\n"
    "  inputs: {x: \"float32[4, 3]\"}\n"
    "  operators: [{function: twice, inputs: [x], outputs: {out: \"float32[4, 3]\"}}]\n"
    "  outputs: [out]\n";

class CountedRuns : public ::testing::Test {
 protected:
  void SetUp() override {
    write_file(temp_ / "twice.c", counting_source);
    write_file(temp_ / "twice.yaml", counting_recipe);
    const Outcome pack = run_gantry({"pack", (temp_ / "twice.yaml").string(), "-o", model()});
    ASSERT_EQ(pack.status, 0) << pack.err;
  }
  std::string model() const { return (temp_ / "model.so").string(); }
  // Returns the number of runs, and the outcome.
  std::pair<std::size_t, Outcome> measured(Args more) {
    const std::filesystem::path runs = temp_ / "runs";
    std::filesystem::remove(runs);
    more.insert(more.begin(), {"bench", model()});
    Outcome outcome = with_graph(more, {"RUNS=" + runs.string()});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return {std::filesystem::exists(runs) ? read_file(runs).size() : 0, std::move(outcome)};
  }

 private:
  const TempDir temp_;
};

// Device times and operators are those of the same runs.
TEST_F(CountedRuns, AreThoseOfTheOptions) {
  const struct {
    Args args;
    std::size_t runs;
  } cases[] = {
      {{"--repeat", "1"}, 2},
      {{"--repeat", "2"}, 3},
      {{"--repeat", "3"}, 4},
      {{"--repeat", "50"}, 51},
      {{"--repeat", "5", "--warmup", "4"}, 9},
      // one more for each thread, before its measured runs
      {{"--repeat", "5", "--concurrency", "1,3"}, 6 + 4 * 6},
      {{"--repeat", "5", "--device", "all"}, 6},
  };
  for (const auto& one : cases) {
    const auto [runs, outcome] = measured(one.args);

    EXPECT_EQ(runs, one.runs) << ::testing::PrintToString(one.args) << outcome.out;
  }
}

TEST_F(CountedRuns, HaveTimesOfDevicesAndOperators) {
  for (const char* repeat : {"1", "2", "3"}) {
    const auto json = nlohmann::json::parse(measured({"--repeat", repeat, "--json"}).second.out);

    EXPECT_EQ(json["times"]["runs"].dump(), repeat);
    EXPECT_EQ(json["times"]["timed_runs"], 1);
    EXPECT_EQ(json["operator_runs"], 1);
    EXPECT_EQ(json["operators"].size(), 2u);
    EXPECT_GT(json["times"]["device_median_ns"]["cpu:0"], 0);
  }
}

TEST_F(CountedRuns, OfADurationAreAtLeastOne) {
  const auto [runs, outcome] = measured({"--duration", "0.001", "--json"});

  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(runs, json["times"]["runs"].get<std::size_t>() + 1);
  EXPECT_GE(json["times"]["timed_runs"], 1);
}

TEST_F(CountedRuns, HaveTheItemsOfTheFirstExtentOrOfTheOption) {
  const auto items = [&](const Args& more) {
    Args args{"--repeat", "6", "--json"};
    args.insert(args.end(), more.begin(), more.end());
    const auto json = nlohmann::json::parse(measured(args).second.out);
    EXPECT_NEAR(json["items_per_second"].get<double>() * json["times"]["mean_ns"].get<double>(),
                1e9 * json["items"].get<double>(), 1);
    return json["items"].get<int>();
  };

  EXPECT_EQ(items({}), 4);
  EXPECT_EQ(items({"--items", "7"}), 7);
}

// Its parameters are copied when an executor is created, because they are not aligned.
TEST(BenchConcurrency, SharesTheParameters) {
  const Outcome bench = bench_of("tvm-0.12/resnet20_llvm.so", {"--concurrency", "1,4", "--json"});

  ASSERT_EQ(bench.status, 0) << bench.err;
  const auto levels = nlohmann::json::parse(bench.out)["concurrency"];
  ASSERT_EQ(levels.size(), 2u);
  EXPECT_EQ(levels[0]["at_once"], 1);
  EXPECT_EQ(levels[0]["runs"], 8);
  EXPECT_EQ(levels[1]["at_once"], 4);
  EXPECT_EQ(levels[1]["runs"], 32);
  EXPECT_GT(levels[1]["items_per_second"], 0);
  constexpr std::int64_t parameters = 1'000'000;
  const auto allocated = [&](int level) {
    return levels[static_cast<std::size_t>(level)]["allocated"]["cpu:0"].get<std::int64_t>();
  };
  EXPECT_GT(allocated(0), parameters);
  EXPECT_GT(allocated(1), allocated(0));
  EXPECT_LT(allocated(1), allocated(0) + parameters);
}

TEST(BenchBaseline, IsComparedWithTheRun) {
  const TempDir temp;
  const Outcome before = bench_of(digits, {"--json", "--concurrency", "2"});
  ASSERT_EQ(before.status, 0) << before.err;
  write_file(temp / "before.json", before.out);
  const Args baseline{"--baseline", (temp / "before.json").string()};

  const Outcome text = bench_of(digits, baseline);
  Args json_args = baseline;
  json_args.insert(json_args.end(), {"--json", "--threads", "1", "--concurrency", "2"});
  const Outcome json = bench_of(digits, json_args);

  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("\ncompared with the baseline\n  "));
  ASSERT_EQ(json.status, 0) << json.err;
  const auto comparison = nlohmann::json::parse(json.out)["comparison"];
  ASSERT_EQ(comparison["series"].size(), 2u);
  EXPECT_EQ(comparison["series"][0]["name"], "run");
  EXPECT_EQ(comparison["series"][0]["before_ns"],
            nlohmann::json::parse(before.out)["times"]["median_ns"]);
  EXPECT_EQ(comparison["series"][1]["name"], "run, 2 at once");
}

TEST(BenchBaseline, OfAnotherSubjectIsRefused) {
  const TempDir temp;
  write_file(temp / "before.json", bench_of(digits, {"--json"}).out);
  write_file(temp / "other.json", std::string_view("[1]"));
  const std::string before = (temp / "before.json").string();
  const std::vector<float> ones(64, 1);
  const std::int64_t shape[] = {1, 64};
  write_file(temp / "ones.npy",
             npy_bytes({2, 32, 1}, shape,
                       {reinterpret_cast<const std::uint8_t*>(ones.data()), 4 * ones.size()})
                 .value());

  const Outcome file = bench_of("tvm-0.12/digits_mlp_llvm.so", {"--baseline", before});
  const Outcome inputs =
      bench_of(digits, {"--baseline", before, "--input", "x=" + (temp / "ones.npy").string()});
  const Outcome other = bench_of(digits, {"--baseline", (temp / "other.json").string()});

  EXPECT_EQ(file.status, 1);
  EXPECT_THAT(file.out, IsEmpty());
  EXPECT_THAT(file.err, HasSubstr("was measured with another file: digits_mlp_c.so before, "
                                  "digits_mlp_llvm.so now\n"));
  EXPECT_EQ(inputs.status, 1);
  EXPECT_THAT(inputs.out, IsEmpty());
  EXPECT_THAT(inputs.err, StartsWith("gantry: "));
  EXPECT_THAT(inputs.err, HasSubstr("was measured with other inputs: x float32[1, 64] "));
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.err, StartsWith("gantry: document of gantry bench: it is a list, expected an "
                                    "object (offset 0x0)\n  while reading "));
}

TEST(BenchCsv, HasALineForEachSeriesOfRuns) {
  const Outcome bench = bench_of(digits, {"--csv", "--concurrency", "1,2"});

  ASSERT_EQ(bench.status, 0) << bench.err;
  std::istringstream lines(bench.out);
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_THAT(all[0], StartsWith("file,function,device,at_once,runs,items_per_second,median_ns,"));
  EXPECT_THAT(all[1], StartsWith("tvm-0.12/digits_mlp_c.so,,cpu,1,6,"));
  EXPECT_THAT(all[3], StartsWith("tvm-0.12/digits_mlp_c.so,,cpu,2,16,"));
  const auto commas = [](const std::string& line) { return std::ranges::count(line, ','); };
  for (const std::string& line : all) EXPECT_EQ(commas(line), commas(all[0])) << line;
}

TEST(BenchDevices, AllAreMeasuredOrHaveAReason) {
  const Args all{"--device", "all"};
  const Outcome text = bench_of(digits, all);
  const Outcome document = bench_of(digits, {"--device", "all", "--json"});
  const Outcome none = bench_of("tvm-0.12/digits_mlp_opencl.so", all);

  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("\n  cpu:0   0e+00 "));
  ASSERT_EQ(document.status, 0) << document.err;
  const auto json = nlohmann::json::parse(document.out);
  ASSERT_EQ(json["reports"].size(), 1u);
  EXPECT_EQ(json["reports"][0]["product"], "CPU code");
  EXPECT_EQ(json["reports"][0]["largest_difference"], 0);
  EXPECT_EQ(json["reports"][0]["times"]["runs"], 8);
  EXPECT_THAT(json["missing"], IsEmpty());
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.err, HasSubstr("\n  on cpu:0\n  while measuring \"tvm-0.12/"));
}

TEST(BenchDevices, AllAreNotCombined) {
  for (const Args& more :
       {Args{"--device", "all", "--device", "cpu"}, Args{"--device", "all", "--concurrency", "2"},
        Args{"--csv", "--json"}, Args{"--duration", "1"}, Args{"--concurrency", "0"},
        Args{"--csv", "--baseline", "x.json"}, Args{"--items", "0"}, Args{"--warmup", "0"}}) {
    const Outcome bench = bench_of(digits, more);

    EXPECT_EQ(bench.status, 2) << ::testing::PrintToString(more);
    EXPECT_THAT(bench.err, AllOf(HasSubstr(more.front()), HasSubstr("gantry bench --help")));
  }
}

TEST(BenchTrace, HasTheLoadAndTheRecordedRuns) {
  const TempDir temp;
  const std::string file = (temp / "trace.json").string();

  const Outcome bench = bench_of(digits, {"--trace", file});
  const Outcome twice = bench_of(digits, {"--trace", "-", "--json"});

  ASSERT_EQ(bench.status, 0) << bench.err;
  const auto events = nlohmann::json::parse(file_text(file))["traceEvents"];
  const auto count = [&](std::string_view name) {
    return std::ranges::count_if(events, [&](const auto& one) { return one["name"] == name; });
  };
  EXPECT_EQ(count("load file"), 1);
  // the first one, and one of eight
  EXPECT_EQ(count("default"), 2);
  EXPECT_EQ(twice.status, 1);
  EXPECT_THAT(twice.err, StartsWith("gantry: standard output is used twice, by --trace and the "
                                    "report\n"));
}

TEST(BenchText, HasBarsOfTheTerminal) {
  const Args args{"--plugins", built_plugins("graph"), "bench", digits, "--repeat", "20"};

  const Outcome ascii = run_gantry_on_terminal(args, {"TERM=xterm", "LC_ALL=C"});
  const Outcome utf8 = run_gantry_on_terminal(args, {"TERM=xterm", "LC_ALL=C.UTF-8"});

  EXPECT_THAT(ascii.out, AllOf(HasSubstr(" %  #"), HasSubstr("  distribution    ")));
  EXPECT_THAT(utf8.out, AllOf(HasSubstr("█"), HasSubstr("  distribution    ")));
}

}  // namespace
}  // namespace gantry::test
