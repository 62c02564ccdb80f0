// SPDX-License-Identifier: Apache-2.0
//
// --input and --shape of functions of Relax and Relay executables: free extents, tuples, shapes,
// numbers, and inputs whose types are not stated.
#include "tests/golden/cli_command.hpp"

#include <gantry/concat.hpp>

#include <gmock/gmock.h>

namespace gantry::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Args = std::vector<std::string>;

Outcome with_machines(Args args) {
  args.insert(args.begin(),
              {"--plugins", built_plugins("relax"), "--plugins", built_plugins("relay_vm")});
  return run_gantry(args);
}

struct Value {
  std::string title;
  // of `run`
  Args args;
  // the report begins with it
  std::string report;
};
void PrintTo(const Value& value, std::ostream* out) { *out << value.title; }

class VmValue : public ::testing::TestWithParam<Value> {};

TEST_P(VmValue, IsTheInputOfTheFunction) {
  Args args{"run"};
  args.insert(args.end(), GetParam().args.begin(), GetParam().args.end());

  const Outcome run = with_machines(args);

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith(GetParam().report));
}

INSTANTIATE_TEST_SUITE_P(
    All, VmValue,
    ::testing::Values(
        Value{"Extent",
              {"relax/cnn_dyn_llvm.so", "--input", "x=zeros", "--shape", "n=3"},
              "output  float32[3, 10]  "},
        Value{"Shape",
              {"relax/cnn_dyn_llvm.so", "--input", "zeros", "--shape", "x=3,1,8,8"},
              "output  float32[3, 10]  "},
        Value{"ExtentOfNumbers",
              {"relax/tuples_llvm.so", "--function", "split3", "--input",
               "x=1,2,3,4,5,6,7,8,9,10,11,12", "--print"},
              "output0  float32[2, 2]\n  [0]  1 2\n  [1]  3 4\noutput1  "},
        Value{"ExtentOfAnotherInput",
              {"relax/shapes_llvm.so", "--function", "cat", "--input", "y=ones", "--input",
               "x=1,2,3", "--shape", "n=1", "--shape", "m=1", "--print"},
              "output  float32[2, 3]\n  [0]  1 2 3\n  [1]  1 1 1\n"},
        Value{"TypeThatIsNotStated",
              {"relax/shapes_llvm.so", "--function", "shape_of", "--input", "x=random", "--shape",
               "x=float32[4,5]"},
              "output  shape [4, 5]\n"},
        Value{"ShapeAsInput",
              {"relax/shapes_llvm.so", "--function", "shp", "--input", "s=2,3"},
              "output  shape [4, 10, 6]\n"},
        Value{"ShapeAsArgument",
              {"relax/shapes_llvm.so", "--function", "shp", "--input", "s=shape:[2, 3]"},
              "output  shape [4, 10, 6]\n"},
        Value{"ShapeOfExtents",
              {"relax/call_tir_dyn_llvm.so", "--input", "zeros", "--shape", "n=2", "--shape", "k=3",
               "--shape", "m=4"},
              "output  float32[2]  "},
        Value{"Numbers",
              {"relax/prims_llvm.so", "--function", "prims", "--input", "n=3", "--input", "f=0.5",
               "--input", "b=true"},
              "output0  int64[]  3\noutput1  float64[]  0.5\noutput2  int64[]  1\n"},
        Value{"NumbersOfWords",
              {"relax/prims_llvm.so", "--function", "prims", "--input", "ones", "--input",
               "f=float:2", "--input", "n=int:-1"},
              "output0  int64[]  -1\noutput1  float64[]  2\noutput2  int64[]  1\n"},
        Value{
            "Tuple",
            {"relax/tuples_llvm.so", "--function", "swap", "--input", "t=(1,2; 3,4,5)", "--print"},
            "output0  int32[3]  3 4 5\noutput1  float32[2]  2 4\n"},
        Value{"TupleOfAWord",
              {"relax/tuples_llvm.so", "--function", "swap", "--input", "t=ones"},
              "output0  int32[3]  1 1 1\noutput1  float32[2]  2 2\n"},
        Value{"NestedTuple",
              {"relax/tuples_llvm.so", "--function", "nest", "--input", "x=zeros", "--input",
               "u=(ones; (1,2; zeros))"},
              "output"},
        Value{"Text",
              {"relax/shapes_llvm.so", "--function", "any_in", "--input", "x=str:a b"},
              "output  \"a b\"\n"},
        Value{"NumberOfAnyKind",
              {"relax/shapes_llvm.so", "--function", "any_in", "--input", "x=int:3"},
              "output  int64[]  3\n"},
        Value{"TupleOfAnyKind",
              {"relax/shapes_llvm.so", "--function", "any_in", "--input",
               "x=(int:3; str:a; shape:[2]; (none))"},
              "output0  "},
        Value{"FourShapes",
              {"relax/lm_paged_llvm.so", "--function", "create_tir_paged_kv_cache", "--input",
               "max_batch_size=2", "--input", "max_total_seq_len=64", "--input",
               "prefill_chunk_size=16", "--input", "page_size=4", "--input",
               "support_sliding_window=0"},
              "output  an object\n"},
        Value{"RelayWithAType",
              {"tvm-0.12/digits_mlp_vm_llvm.so", "--input", "x=ones", "--shape", "x=float32[1,64]"},
              "output  float32[1, 10]  "}),
    [](const auto& test) { return test.param.title; });

struct RefusedValue {
  std::string title;
  Args args;
  std::string error;
};
void PrintTo(const RefusedValue& refusal, std::ostream* out) { *out << refusal.title; }

class RefusedVmValue : public ::testing::TestWithParam<RefusedValue> {};

TEST_P(RefusedVmValue, IsReportedWithTheInputItsTypeAndAnExample) {
  Args args{"run"};
  args.insert(args.end(), GetParam().args.begin(), GetParam().args.end());

  const Outcome run = with_machines(args);

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_THAT(run.err, StartsWith(concat("gantry: ", GetParam().error, "\n  inputs of ")));
}

const std::string x_of_cnn = "\n  for example --input x=x.npy or --input x=random --shape n=1";

INSTANTIATE_TEST_SUITE_P(
    All, RefusedVmValue,
    ::testing::Values(
        RefusedValue{"MissingExtent",
                     {"relax/cnn_dyn_llvm.so", "--input", "x=random"},
                     "input \"x\" of the model is float32[n, 1, 8, 8], extent 0 (n) is not known" +
                         x_of_cnn},
        RefusedValue{"FixedExtent",
                     {"relax/cnn_dyn_llvm.so", "--shape", "x=4,1,7,8"},
                     "--shape x=4,1,7,8: input \"x\" of the model is float32[n, 1, 8, 8], found "
                     "float32[4, 1, 7, 8]" +
                         x_of_cnn},
        RefusedValue{
            "ExtentOfAFile",
            {"relax/cnn_dyn_llvm.so", "--shape", "n=4", "--input", "x=relax/cnn_digits_test.npz:x"},
            "input \"x\" of the model is float32[72, 1, 8, 8], expected float32[n, 1, 8, 8] with "
            "n = 4 as in --shape n=4"},
        RefusedValue{
            "ShapeOfAFile",
            {"relax/cnn_dyn_llvm.so", "--shape", "x=4,1,8,8", "--input",
             "x=relax/cnn_digits_test.npz:x"},
            "input \"x\" of the model is float32[72, 1, 8, 8] in the file, expected float32[4, 1, "
            "8, 8] of --shape"},
        RefusedValue{
            "ExtentTwice",
            {"relax/cnn_dyn_llvm.so", "--shape", "n=4", "--shape", "x=5,1,8,8"},
            "--shape x=5,1,8,8 is float32[5, 1, 8, 8], expected float32[n, 1, 8, 8] with n = 4 as "
            "in --shape n=4"},
        RefusedValue{"ExtentTwiceByItsName",
                     {"relax/cnn_dyn_llvm.so", "--shape", "n=4", "--shape", "n=5"},
                     "--shape n=5: extent \"n\" is 4 by --shape n=4"},
        RefusedValue{
            "SeveralExtents",
            {"relax/cnn_dyn_llvm.so", "--shape", "n=4,4"},
            "--shape n=4,4: \"n\" is an extent of the model, expected one number; for example "
            "--shape n=4"},
        RefusedValue{"NeitherInputNorExtent",
                     {"relax/call_tir_dyn_llvm.so", "--shape", "batch=4"},
                     "--shape batch=4: \"batch\" is neither an input nor an extent of function "
                     "\"main\"; extents: "
                     "\"k\", \"m\", \"n\""},
        RefusedValue{
            "BothInputAndExtent",
            {"relax/lm_paged_llvm.so", "--function", "create_tir_paged_kv_cache", "--shape",
             "page_size=4"},
            "--shape page_size=4: \"page_size\" is both an input and an extent of function "
            "\"create_tir_paged_kv_cache\"; the value or shape of an input with this extent "
            "sets it"},
        RefusedValue{
            "Overflow",
            {"relax/cnn_dyn_llvm.so", "--input", "zeros", "--shape", "n=9223372036854775807"},
            "input \"x\" of the model is float32[9223372036854775807, 1, 8, 8], the limit of all "
            "inputs that are made is 16.0 GiB; files may be larger"},
        RefusedValue{
            "Limit",
            {"relax/cnn_dyn_llvm.so", "--input", "zeros", "--shape", "n=67108865"},
            "input \"x\" of the model is float32[67108865, 1, 8, 8], the limit of all inputs that "
            "are made is 16.0 GiB; files may be larger"},
        RefusedValue{
            "CountOfNumbers",
            {"relax/tuples_llvm.so", "--function", "split3", "--input", "x=1,2,3,4"},
            "input \"x\" of function \"split3\" is float32[6, m], expected a multiple of 6 "
            "numbers, found 4\n  for example --input x=x.npy or --input x=random --shape m=1"},
        RefusedValue{
            "TypeThatIsNotStated",
            {"relax/shapes_llvm.so", "--function", "shape_of", "--input", "x=random"},
            "input \"x\" of function \"shape_of\" is R.Tensor(dtype=\"float32\", ndim=2), found "
            "random; --shape must state its shape and the type of its elements\n  for example "
            "--input x=x.npy or --input x=random --shape x=float32[2,3]"},
        RefusedValue{
            "KindThatIsNotStated",
            {"relax/shapes_llvm.so", "--function", "any_in", "--input", "x=1,2"},
            "input \"x\" of function \"any_in\" is of unknown type, found a list of numbers; "
            "--shape must state its shape and the type of its elements\n  for example --input "
            "x=x.npy or --input x=random --shape x=float32[2,3]; other values: int:3, float:0.5, "
            "str:text, shape:[2, 16], json:[1, \"a\"], none"},
        RefusedValue{
            "ShapeOfAKindThatIsNotStated",
            {"relax/shapes_llvm.so", "--function", "any_in", "--shape", "x=1,2"},
            "--shape x=1,2: input \"x\" of function \"any_in\" is of unknown type, so that "
            "--shape must state the type of its elements, too\n  for example --input x=x.npy or "
            "--input x=random --shape x=float32[2,3]; other values: int:3, float:0.5, str:text, "
            "shape:[2, 16], json:[1, \"a\"], none"},
        RefusedValue{
            "ItemsOfATuple",
            {"relax/tuples_llvm.so", "--function", "swap", "--input", "t=(1,2)"},
            "input \"t\" of function \"swap\" is T.Tuple(R.Tensor((T.int64(2),), "
            "dtype=\"float32\"), R.Tensor((T.int64(3),), dtype=\"int32\")), expected 2 items, "
            "found 1\n  for example --input 't=(zeros; zeros)'"},
        RefusedValue{
            "JsonForATuple",
            {"relax/tuples_llvm.so", "--function", "swap", "--input", "t=json:[1,2]"},
            "input \"t\" of function \"swap\" is T.Tuple(R.Tensor((T.int64(2),), "
            "dtype=\"float32\"), R.Tensor((T.int64(3),), dtype=\"int32\")), found a JSON value\n  "
            "for example --input 't=(zeros; zeros)'"},
        RefusedValue{"JsonInATuple",
                     {"relax/tuples_llvm.so", "--function", "swap", "--input",
                      R"|(t=(json:["a;b)"]; json:{"a":1}))|"},
                     "item 0 of input \"t\" of function \"swap\" is float32[2], found a JSON "
                     "value\n  for example --input 't=(zeros; zeros)'"},
        RefusedValue{
            "ItemOfATuple",
            {"relax/tuples_llvm.so", "--function", "swap", "--input", "t=(1,2; 3,4)"},
            "item 1 of input \"t\" of function \"swap\" is int32[3], expected 3 numbers, found "
            "2\n  for example --input 't=(zeros; zeros)'"},
        RefusedValue{"FileOfATuple",
                     {"relax/tuples_llvm.so", "--function", "swap", "--input",
                      "t=relax/cnn_digits_test.npz:x"},
                     "input \"t\" of function \"swap\" is T.Tuple(R.Tensor((T.int64(2),), "
                     "dtype=\"float32\"), R.Tensor((T.int64(3),), dtype=\"int32\")), files contain "
                     "tensors\n  for example --input 't=(zeros; zeros)'"},
        RefusedValue{
            "RankOfAShape",
            {"relax/shapes_llvm.so", "--function", "shp", "--input", "s=2"},
            "input \"s\" of function \"shp\" is [2], expected R.Shape([m, n])\n  for example "
            "--input s=1,1"},
        RefusedValue{
            "ExtentOfAShape",
            {"relax/shapes_llvm.so", "--function", "shp", "--input", "s=2,1.5"},
            "input \"s\" of function \"shp\" is R.Shape([m, n]): extent 1 is \"1.5\", expected an "
            "integer >= 0"},
        RefusedValue{
            "TextAsNumber",
            {"relax/prims_llvm.so", "--function", "prims", "--input", "n=str:3", "--input",
             "zeros"},
            "input \"n\" of function \"prims\" is T.int64, found a text\n  for example --input "
            "n=3"},
        RefusedValue{
            "FractionAsInteger",
            {"relax/prims_llvm.so", "--function", "prims", "--input", "n=1.5", "--input", "zeros"},
            "input \"n\" of function \"prims\" is T.int64, found \"1.5\"\n  for example --input "
            "n=3"},
        RefusedValue{
            "SeveralNumbers",
            {"relax/prims_llvm.so", "--function", "prims", "--input", "b=0,1", "--input", "zeros"},
            "input \"b\" of function \"prims\" is T.bool, found 2 numbers\n  for example --input "
            "b=true"},
        RefusedValue{
            "RelayWithoutAType",
            {"tvm-0.12/digits_mlp_vm_llvm.so", "--input", "zeros"},
            "input \"x\" of the model is of unknown type, found zeros; --shape must state its "
            "shape and the type of its elements\n  for example --input x=x.npy or --input "
            "x=random --shape x=float32[2,3]; other values: int:3, float:0.5, str:text, "
            "shape:[2, 16], json:[1, \"a\"], none"}),
    [](const auto& test) { return test.param.title; });

// With the types of all items, also of a long tuple.
TEST(BenchVmInputs, MeasuresATupleOfRandomWeights) {
  const Outcome bench =
      with_machines({"bench", "relax/lm_paged_compiled_llvm.so", "--function", "embed", "--repeat",
                     "1", "--input", "packed_params=random", "--shape", "seq_len=4"});

  EXPECT_EQ(bench.status, 0) << bench.err;
}

}  // namespace
}  // namespace gantry::test
