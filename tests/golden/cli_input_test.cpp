// SPDX-License-Identifier: Apache-2.0
//
// --input and --shape of `gantry run` and `gantry bench` with values that the command makes, and
// --print and --top, with a graph that copies its inputs.
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"

#include "core/formats/arrays/npy.hpp"

#include <gantry/concat.hpp>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <array>

namespace gantry::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Args = std::vector<std::string>;

constexpr const char* copy_source = R"(
#include <string.h>
typedef struct {
  char* data;
  int device[2];
  int ndim;
  unsigned char code, bits;
  unsigned short lanes;
  long long* shape;
} tensor;
int copy(void** args, const int* codes, int count) {
  const tensor* in = args[0];
  const tensor* out = args[1];
  long long bytes = in->bits / 8;
  for (int i = 0; i < in->ndim; ++i) bytes *= in->shape[i];
  memcpy(out->data, in->data, bytes);
  return (void)codes, count - 2;
}
)";

// The types of the inputs, by name. The output of x is out_x.
const std::vector<std::pair<std::string, std::string>> types{
    {"f", "float32[2, 3]"}, {"h", "float16[4]"}, {"b", "bfloat16[4]"}, {"d", "float64[]"},
    {"i", "int8[4]"},       {"l", "int64[2]"},   {"u", "uint64[2]"},   {"t", "bool8[3]"}};

class MadeInputs : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    temp_ = new TempDir;
    write_file(*temp_ / "copy.c", copy_source);
    std::string inputs, operators, outputs;
    for (const auto& [name, type] : types) {
      inputs += concat(inputs.empty() ? "" : ", ", name, ": \"", type, "\"");
      operators += concat("    - {function: copy, inputs: [", name, "], outputs: {out_", name,
                          ": \"", type, "\"}}\n");
      outputs += concat(outputs.empty() ? "" : ", ", "out_", name);
    }
    write_file(*temp_ / "copy.yaml",
               concat("schema: \"1.0\"\nsources: [copy.c]\ngraph:\n  inputs: {", inputs,
                      "}\n  operators:\n", operators, "  outputs: [", outputs, "]\n"));
    const Outcome packed = run_gantry({"pack", path("copy.yaml"), "-o", path("copy.so")});
    ASSERT_EQ(packed.status, 0) << packed.err;
  }
  static void TearDownTestSuite() { delete temp_; }

  static std::string path(std::string_view name) { return (*temp_ / name).string(); }
  static Outcome gantry(const std::string& command, const Args& options) {
    Args args{"--plugins", built_plugins("graph"), command, path("copy.so")};
    args.insert(args.end(), options.begin(), options.end());
    return run_gantry(args);
  }
  // Runs with zeros for all inputs that the options leave out.
  static Outcome run(Args options) {
    options.insert(options.end(), {"--input", "zeros"});
    return gantry("run", options);
  }

 private:
  static TempDir* temp_;
};
TempDir* MadeInputs::temp_ = nullptr;

struct Value {
  std::string title;
  Args inputs;
  // a line of the report
  std::string line;
};
void PrintTo(const Value& value, std::ostream* out) { *out << value.title; }

class MadeValue : public MadeInputs, public ::testing::WithParamInterface<Value> {};

TEST_P(MadeValue, IsTheInputOfTheModel) {
  Args options{"--print"};
  for (const std::string& input : GetParam().inputs)
    options.insert(options.end(), {"--input", input});

  const Outcome done = run(options);

  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT("\n" + done.out, HasSubstr("\n" + GetParam().line + "\n"));
}

INSTANTIATE_TEST_SUITE_P(
    All, MadeValue,
    ::testing::Values(
        Value{"Zeros", {}, "out_f  float32[2, 3]\n  [0]  0 0 0\n  [1]  0 0 0"},
        Value{"Ones", {"f=ones"}, "out_f  float32[2, 3]\n  [0]  1 1 1\n  [1]  1 1 1"},
        Value{"Numbers",
              {"f=1,-2.5, 3e-1,inf,nan,0.1"},
              "out_f  float32[2, 3]\n  [0]  1 -2.5 0.3\n  [1]  inf nan 0.1"},
        Value{"Positions", {"0=1,2,3,4,5,6"}, "out_f  float32[2, 3]\n  [0]  1 2 3\n  [1]  4 5 6"},
        Value{"Halves",
              {"h=1,0.1,65504,6e-8"},
              "out_h  float16[4]  1 0.099975586 65504 5.9604645e-08"},
        Value{"OnesInHalves", {"h=ones"}, "out_h  float16[4]  1 1 1 1"},
        Value{"BrainFloats",
              {"b=1,-0.1,3e38,nan"},
              "out_b  bfloat16[4]  1 -0.100097656 3.0040553e+38 nan"},
        Value{"Scalar", {"d=0.1"}, "out_d  float64[]  0.1"},
        Value{"Integers", {"i=-128,127,0,1e1"}, "out_i  int8[4]  -128 127 0 10"},
        Value{"LongIntegers",
              {"l=-9223372036854775808,9223372036854775807"},
              "out_l  int64[2]  -9223372036854775808 9223372036854775807"},
        Value{"UnsignedIntegers",
              {"u=0,18446744073709551615"},
              "out_u  uint64[2]  0 18446744073709551615"},
        Value{"Booleans", {"t=true,false,1"}, "out_t  bool8[3]  1 0 1"},
        // Recorded on x86-64; the generator and the mapping are the same on every host.
        Value{"RandomFloats",
              {"f=random"},
              "out_f  float32[2, 3]\n  [0]  0.065431245 0.088018306 -0.031109368\n  [1]  "
              "-0.9303863 -0.8391485 0.65661085"},
        Value{"RandomOfASeed",
              {"f=random:42"},
              "out_f  float32[2, 3]\n  [0]  -0.0205549 -0.15357213 0.7967853\n  [1]  0.45368963 "
              "-0.0061154612 -0.77700394"},
        Value{"RandomHalves",
              {"h=random:1:0:10"},
              "out_h  float16[4]  2.7089844 1.8515625 2.15625 8.984375"},
        Value{"RandomIntegers", {"i=random:3"}, "out_i  int8[4]  0 1 1 1"},
        Value{"RandomIntegersOfARange", {"i=random:3:-128:128"}, "out_i  int8[4]  -16 91 45 77"},
        Value{"RandomIntegersOf64Bits",
              {"u=random:1:0:18446744073709551615"},
              "out_u  uint64[2]  16134230125242263208 15947253540077758401"}),
    [](const auto& test) { return test.param.title; });

TEST_F(MadeInputs, AreNumbersOfATextFile) {
  write_file(path("f.txt"), "# three\n 1 2,3\n\n4.5\t# more\r\n5, 6 # end");

  const Outcome done = run({"--print", "--input", "f=@" + path("f.txt")});

  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, StartsWith("out_f  float32[2, 3]\n  [0]  1 2 3\n  [1]  4.5 5 6\n"));
}

TEST_F(MadeInputs, AreRandomWithinTheRangeAndOfASeed) {
  const auto values = [](const std::string& word) {
    const Outcome done = gantry("run", {"--print", "--json", "--input", word});
    EXPECT_EQ(done.status, 0) << done.err;
    return json::parse(done.out)["outputs"];
  };

  const json first = values("random:5"), second = values("random:5"), third = values("random:6");

  EXPECT_EQ(first, second);
  EXPECT_NE(first, third);
  for (const json& output : {first, third}) {
    for (const json& row : output[0]["values"]) {
      for (const double value : row) {
        EXPECT_GE(value, -1);
        EXPECT_LT(value, 1);
      }
    }
    for (const int value : output[4]["values"]) EXPECT_TRUE(value == 0 || value == 1);
  }
}

// The number below HIGH is HIGH in half precision: it is rounded downwards.
TEST_F(MadeInputs, AreBelowTheEndOfTheRange) {
  const Outcome done = run({"--print", "--json", "--input", "h=random:1:2047.5:2048", "--input",
                            "b=random:1:-256.5:-256"});

  ASSERT_EQ(done.status, 0) << done.err;
  const json outputs = json::parse(done.out)["outputs"];
  EXPECT_EQ(outputs[1]["values"], json({2047, 2047, 2047, 2047}));
  EXPECT_EQ(outputs[2]["values"], json({-258, -258, -258, -258}));
}

TEST_F(MadeInputs, HaveTheShapeOfTheModel) {
  const Outcome done = run({"--shape", "f=2,3", "--shape", "h=float16[4]"});

  EXPECT_EQ(done.status, 0) << done.err;
}

TEST_F(MadeInputs, AreTheSameForEachElement) {
  const std::array<std::int64_t, 2> shape{2, 4};
  const std::array<std::uint8_t, 8> data{1, 2, 3, 4, 5, 6, 7, 8};
  write_file(path("rows.npy"), npy_bytes({0, 8, 1}, shape, data).value());

  const Outcome done =
      run({"--each", "--print", "--input", "i=" + path("rows.npy"), "--input", "l=7,8"});

  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("\nout_i  int8[2, 4]\n  [0]  1 2 3 4\n  [1]  5 6 7 8\n"
                                  "out_l  int64[2, 2]\n  [0]  7 8\n  [1]  7 8\n"));
}

struct Refusal {
  std::string title;
  Args options;
  std::string error;
};
void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.title; }

class RefusedValue : public MadeInputs, public ::testing::WithParamInterface<Refusal> {};

TEST_P(RefusedValue, IsReportedWithTheInputItsTypeAndAnExample) {
  for (const std::string command : {"run", "bench"}) {
    const Outcome done = gantry(command, GetParam().options);

    EXPECT_EQ(done.status, 1) << command;
    EXPECT_THAT(done.out, IsEmpty());
    EXPECT_THAT(done.err, StartsWith("gantry: " + GetParam().error +
                                     "\n  inputs of the model: f float32[2, 3], h float16[4], "));
  }
}

const std::string f_example = "\n  for example --input f=f.npy or --input f=random";

INSTANTIATE_TEST_SUITE_P(
    All, RefusedValue,
    ::testing::Values(
        Refusal{
            "CountOfNumbers",
            {"--input", "f=1,2,3", "--input", "zeros"},
            "input \"f\" of the model is float32[2, 3], expected 6 numbers, found 3" + f_example},
        Refusal{"CountOfAScalar",
                {"--input", "d=1,2", "--input", "zeros"},
                "input \"d\" of the model is float64[], expected 1 number, found 2"
                "\n  for example --input d=d.npy or --input d=random"},
        Refusal{
            "FractionOfAnInteger",
            {"--input", "i=1,2,2.5,3", "--input", "zeros"},
            "input \"i\" of the model is int8[4]: number 2 is \"2.5\", expected an integer from "
            "-128 to 127"},
        Refusal{
            "IntegerBeyondItsType",
            {"--input", "i=1,2,3,128", "--input", "zeros"},
            "input \"i\" of the model is int8[4]: number 3 is \"128\", expected an integer from "
            "-128 to 127"},
        Refusal{
            "NumberBeyondItsType",
            {"--input", "h=1,2,3,65520", "--input", "zeros"},
            "input \"h\" of the model is float16[4]: number 3 is \"65520\", expected a number of "
            "float16"},
        Refusal{
            "BooleanThatIsANumber",
            {"--input", "t=0,1,2", "--input", "zeros"},
            "input \"t\" of the model is bool8[3]: number 2 is \"2\", expected an integer from 0 "
            "to 1"},
        Refusal{
            "RangeOfIntegers",
            {"--input", "i=random:0:0:300", "--input", "zeros"},
            "input \"i\" of the model: LOW and HIGH of random are not in its type, expected LOW "
            "<= x < HIGH with an integer from -128 to 127"},
        Refusal{
            "RangeOfFloats",
            {"--input", "h=random:0:0:1e6", "--input", "zeros"},
            "input \"h\" of the model: LOW and HIGH of random are not in its type, expected LOW "
            "<= x < HIGH with a number of float16"},
        Refusal{"TwoWordsForAll",
                {"--input", "zeros", "--input", "ones"},
                "a word for all inputs is given twice"},
        Refusal{"Twice",
                {"--input", "f=zeros", "--input", "f=ones"},
                "input \"f\" of the model is given twice"},
        Refusal{"Tuple",
                {"--input", "f=(zeros; ones)", "--input", "zeros"},
                "input \"f\" of the model is float32[2, 3], found a tuple" + f_example},
        Refusal{"Argument",
                {"--input", "f=int:3", "--input", "zeros"},
                "input \"f\" of the model is float32[2, 3], found an integer" + f_example},
        Refusal{"Shape",
                {"--shape", "f=2,4"},
                "--shape f=2,4: input \"f\" of the model is float32[2, 3], found float32[2, 4]" +
                    f_example},
        Refusal{
            "Rank",
            {"--shape", "f=6"},
            "--shape f=6: input \"f\" of the model is float32[2, 3], found float32[6]" + f_example},
        Refusal{"Type",
                {"--shape", "f=float64[2,3]"},
                "--shape f=float64[2,3]: input \"f\" of the model is float32[2, 3], found float64" +
                    f_example},
        Refusal{"ShapeTwice",
                {"--shape", "f=2,3", "--shape", "f=2,3"},
                "--shape f=2,3: the shape of input \"f\" of the model is given twice"},
        Refusal{
            "NeitherInputNorExtent",
            {"--shape", "g=2"},
            "--shape g=2: \"g\" is neither an input nor an extent of the model; extents: none"}),
    [](const auto& test) { return test.param.title; });

TEST_F(MadeInputs, AreRequired) {
  const Outcome done = gantry("run", {"--input", "h=zeros"});

  EXPECT_EQ(done.status, 1);
  EXPECT_THAT(done.err, StartsWith("gantry: input \"f\" of the model is missing, expected "
                                   "float32[2, 3]" +
                                   f_example));
}

TEST_F(MadeInputs, AreMeasured) {
  const Outcome done = gantry("bench", {"--repeat", "1", "--input", "f=random", "--json"});

  EXPECT_EQ(done.status, 0) << done.err;
}

TEST_F(MadeInputs, AreWrittenNeitherOverTheirFilesNorOverThoseInTuples) {
  write_file(path("in.npz"), "1");

  const Outcome done =
      gantry("run", {"--input", "f=(zeros; @" + path("in.npz") + ")", "--output", path("in.npz")});

  EXPECT_EQ(done.status, 1);
  EXPECT_THAT(done.err, HasSubstr("in.npz"));
  EXPECT_EQ(read_file(path("in.npz")).size(), 1u);
}

// The rows of an array of several axes, or the whole array.
TEST_F(MadeInputs, AreShownByTheLargest) {
  const Outcome done =
      run({"--top", "2", "--input", "f=1,3,2,nan,-inf,7", "--input", "i=5,-1,5,9"});
  const Outcome all = run({"--top", "100", "--input", "i=5,-1,5,9", "--json"});

  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, StartsWith("out_f  float32[2, 3]\n"
                                   "  [0, 1]  3\n"
                                   "  [0, 2]  2\n"
                                   "  [1, 0]  nan\n"
                                   "  [1, 2]  7\n"));
  EXPECT_THAT(done.out, HasSubstr("\nout_i  int8[4]\n  [3]  9\n  [0]  5\nout_l"));
  EXPECT_THAT(done.out, HasSubstr("\nout_d  float64[]\n  []  0\n"));
  EXPECT_EQ(json::parse(all.out)["outputs"][4]["top"],
            json::parse(R"([{"index":[3],"value":9},{"index":[0],"value":5},
                            {"index":[2],"value":5},{"index":[1],"value":-1}])"));
}

TEST_F(MadeInputs, AreShownInJsonAsListsOfTheShape) {
  const Outcome done = run({"--print", "--json", "--input", "f=0.1,-2,nan,inf,-inf,1e-20"});

  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(json::parse(done.out)["outputs"][0]["values"],
            json::parse(R"([[0.1, -2, "nan"], ["inf", "-inf", 1e-20]])"));
}

TEST(RunOptions, ShowEitherAllValuesOrTheLargest) {
  const Outcome done = run_gantry({"run", "x.so", "--print", "--top", "1"});

  EXPECT_EQ(done.status, 2);
  EXPECT_THAT(done.err, HasSubstr("excludes"));
}

}  // namespace
}  // namespace gantry::test
