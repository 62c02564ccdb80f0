// SPDX-License-Identifier: Apache-2.0
//
// Relax executables of releases for which no golden file exists: bytecode and compiled functions over
// kernels of the release's dialect, and the constants of each release.
#include "tests/unit/runtime/digits.hpp"
#include "tests/unit/runtime/linked_release.hpp"

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>

#include <algorithm>

namespace gantry {
namespace {

using test::linked_releases;
using test::LinkedRelease;
using test::relax_function;
using test::relax_immediate;
using test::relax_register;
using test::relax_vm;
using test::relax_void;
using test::RelaxAssembler;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char error_context[] = "ErrorContext(fn=main, loc=param[0])";
// The first line of the error for a tensor with five columns.
constexpr char mismatch[] =
    "ErrorContext(fn=main, loc=param[0]) match_cast error, shape[1] mismatch to specified "
    "constant: found 5, expected 4\n";

class RelaxArtifact : public ::testing::TestWithParam<LinkedRelease> {
 protected:
  // The constants that sources/relax.c expects.
  void add_constants() {
    float32 = code.dtype(dtypes::float32);
    uint8 = code.dtype(dtypes::uint8);
    global = code.text("global");
    where = code.text(error_context);
    w = code.floats({4}, {10, 20, 30, 40});
  }
  Result<Module> load() {
    const test::Words container = test::relax_container(GetParam(), code.payload());
    return runtime.load(test::link_release(GetParam(), "relax.c", container.bytes()));
  }
  Module machine() {
    const auto model = load();
    EXPECT_TRUE(model.ok()) << model.error().message;
    const auto vm = (*model->function("vm_load_executable"))(gantry_device_id{1, 0});
    EXPECT_TRUE(vm.ok()) << vm.error().message;
    return vm->module().value();
  }
  Tensor ones(std::int64_t rows, std::int64_t columns = 4) {
    const Tensor x = runtime.tensor({rows, columns}, dtypes::float32).value();
    std::ranges::fill(x.elements<float>(), 1.0F);
    return x;
  }
  // The error of `main` for a tensor with five columns.
  std::string refused_shape() {
    const auto result = (*machine().function("main"))(ones(2, 5));
    EXPECT_FALSE(result.ok());
    return result.ok() ? "" : result.error().message;
  }
  // The results of `main`: y, y with one dimension, half(), and a text.
  static void expect_results(const Result<Any>& results, std::int64_t rows) {
    ASSERT_TRUE(results.ok()) << results.error().message;
    const auto items = results->items().value();
    ASSERT_EQ(items.size(), 4u);
    const Tensor y = items[0].tensor().value(), flat = items[1].tensor().value();
    EXPECT_THAT(y.shape(), ElementsAre(rows, 4));
    EXPECT_THAT(flat.shape(), ElementsAre(rows * 4));
    EXPECT_EQ(flat.data(), y.data());
    for (std::int64_t row = 0; row < rows; ++row) {
      EXPECT_THAT(flat.elements<float>().subspan(static_cast<std::size_t>(row) * 4, 4),
                  ElementsAre(11, 21, 31, 41));
    }
    EXPECT_EQ(items[2].number().value(), 0.5);
    EXPECT_EQ(items[3].text().value(), error_context);
  }

  Runtime runtime = test::new_runtime(test::built_plugins_only("relax"));
  RelaxAssembler code{GetParam().relax};
  // argument words of constants
  std::int64_t float32 = 0, uint8 = 0, global = 0, where = 0, w = 0;
};

// The function `main` of sources/relax.c as bytecode.
class RelaxBytecode : public RelaxArtifact {
 protected:
  RelaxBytecode() {
    add_constants();
    const auto check = code.packed("vm.builtin.check_tensor_info");
    const auto alloc_heap = code.packed("vm.builtin.alloc_shape_heap");
    const auto match = code.packed("vm.builtin.match_shape");
    const auto sizes = code.packed("sizes");
    const auto make_shape = code.packed("vm.builtin.make_shape");
    const auto alloc_storage = code.packed("vm.builtin.alloc_storage");
    const auto alloc_tensor = code.packed("vm.builtin.alloc_tensor");
    const auto null_value = code.packed("vm.builtin.null_value");
    const auto add = code.packed("add");
    const auto reshape = code.packed("vm.builtin.reshape");
    const auto half = code.packed("half");
    const auto make_tuple = code.packed("vm.builtin.make_tuple");
    const auto reg = relax_register;
    const auto imm = relax_immediate;
    code.function("main", {"x"}, 10);
    code.call(relax_void, check, {reg(0), imm(2), float32, where});
    code.call(2, alloc_heap, {reg(relax_vm), imm(3)});
    code.call(relax_void, match, {reg(0), reg(2), imm(2), imm(1), imm(0), imm(0), imm(4), where});
    code.call(relax_void, sizes, {reg(2)});
    code.call(3, make_shape, {reg(2), imm(1), imm(1), imm(1)});
    code.call(4, alloc_storage, {reg(relax_vm), reg(3), imm(-1), uint8, global});
    code.call(5, make_shape, {reg(2), imm(2), imm(1), imm(0), imm(0), imm(4)});
    code.call(6, alloc_tensor, {reg(4), imm(0), reg(5), float32});
    code.call(4, null_value, {});
    code.call(relax_void, add, {reg(0), w, reg(6)});
    code.call(7, make_shape, {reg(2), imm(1), imm(1), imm(2)});
    code.call(8, reshape, {reg(6), reg(7)});
    code.call(9, half, {});
    code.call(1, make_tuple, {reg(6), reg(8), reg(9), where});
    code.ret(1);
  }
};

TEST_P(RelaxBytecode, RunsOverKernelsOfTheRelease) {
  const Function main = machine().function("main").value();

  expect_results(main(ones(2)), 2);
  expect_results(main(ones(7)), 7);
}

TEST_P(RelaxBytecode, ReportsAShapeThatDoesNotMatch) {
  EXPECT_THAT(refused_shape(), StartsWith(mismatch));
}

TEST_P(RelaxBytecode, ReportsWhatAKernelRaises) {
  RelaxAssembler other(GetParam().relax);
  other.floats({3}, {1, 2, 3});
  code.constants[4] = other.constants[0];

  const auto result = (*machine().function("main"))(ones(2));

  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("Mismatched w.shape[0], expected 4\n"));
  EXPECT_THAT(result.error().message, HasSubstr("in host function \"add\" of "));
}

TEST_P(RelaxBytecode, PassesTheNumbersOfAShapeToAKernel) {
  const auto dynamic = code.packed("vm.builtin.call_tir_dyn");
  const auto fill = code.packed("fill");
  code.function("fill_with", {"x", "shape"}, 2);
  code.call(relax_void, dynamic, {relax_function(fill), relax_register(0), relax_register(1)});
  code.ret(0);
  const Any shape = runtime.shape({5, 7}).value();

  const auto result = (*machine().function("fill_with"))(ones(1), shape);

  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_THAT(result->tensor().value().elements<float>(), ::testing::Each(507));
}

TEST_P(RelaxBytecode, ListsTheKernelsThatAreMissing) {
  code.packed("no_kernel");
  const auto vm = (*load()->function("vm_load_executable"))(gantry_device_id{1, 0});

  ASSERT_FALSE(vm.ok());
  EXPECT_EQ(vm.error().reason, "FUNCTIONS_MISSING");
  EXPECT_THAT(vm.error().message, StartsWith("the executable requires \"no_kernel\", which "));
}

INSTANTIATE_TEST_SUITE_P(Releases, RelaxBytecode, ::testing::ValuesIn(linked_releases),
                         [](const auto& test) { return test.param.name; });

class RelaxCompiled : public RelaxArtifact {
 protected:
  RelaxCompiled() {
    add_constants();
    code.vm_tir("main", 1, 10);
    code.vm_tir("again", 1, 2);
    code.vm_tir("lost", 0, 1);
  }
};

TEST_P(RelaxCompiled, RunsOverListsOfValues) {
  const Function main = machine().function("main").value();

  expect_results(main(ones(2)), 2);
  expect_results(main(ones(7)), 7);
}

TEST_P(RelaxCompiled, CallsClosures) { expect_results((*machine().function("again"))(ones(3)), 3); }

TEST_P(RelaxCompiled, ReportsAShapeThatDoesNotMatch) {
  const std::string text = refused_shape();

  EXPECT_THAT(text, StartsWith(mismatch));
  EXPECT_THAT(text, HasSubstr("in compiled function \"main\""));
}

TEST_P(RelaxCompiled, ReportsAFunctionThatNobodyHas) {
  const auto result = (*machine().function("lost"))();

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::not_found);
  EXPECT_THAT(result.error().message, HasSubstr("while CPU code looks up \"vm.builtin.lost\""));
}

INSTANTIATE_TEST_SUITE_P(Releases, RelaxCompiled, ::testing::ValuesIn(linked_releases),
                         [](const auto& test) { return test.param.name; });

// Every kind of constant, which have other numbers in each release.
class RelaxConstants : public RelaxArtifact {};

TEST_P(RelaxConstants, AreThoseOfTheRelease) {
  const auto make_tuple = code.packed("vm.builtin.make_tuple");
  code.function("main", {}, 1);
  code.call(0, make_tuple,
            {code.floats({2}, {1.5F, -2}), code.dtype(dtypes::int8), code.shape({-1, 3}),
             code.text("a text of some length"), code.text("small"), code.integer(-7),
             code.number(0.25)});
  code.ret(0);

  const auto result = (*machine().function("main"))();

  ASSERT_TRUE(result.ok()) << result.error().message;
  const auto items = result->items().value();
  ASSERT_EQ(items.size(), 7u);
  EXPECT_THAT(items[0].tensor().value().elements<float>(), ElementsAre(1.5F, -2));
  ASSERT_EQ(items[1].value().kind, GANTRY_DTYPE);
  EXPECT_EQ(items[1].value().dtype.bits, 8);
  EXPECT_THAT(items[2].shape().value(), ElementsAre(-1, 3));
  EXPECT_EQ(items[3].text().value(), "a text of some length");
  EXPECT_EQ(items[4].text().value(), "small");
  EXPECT_EQ(items[5].integer().value(), -7);
  EXPECT_EQ(items[6].number().value(), 0.25);
}

// 1 is a dtype up to v0.20 and an integer later, 3 a text and a number, 5 a number and a dtype.
TEST_P(RelaxConstants, AreNotReadWithTheNumbersOfAnotherRelease) {
  const bool is_packed = GetParam().relax == test::RelaxRelease::v0_16;
  RelaxAssembler other(is_packed ? test::RelaxRelease::v0_21 : test::RelaxRelease::v0_16);
  other.shape({1, 2});
  code.constants = other.constants;
  code.function("main", {}, 1);
  code.ret(relax_void);

  const auto model = load();

  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, Code::malformed);
  EXPECT_THAT(model.error().message,
              StartsWith(concat("tag is ", other.constants[0].tag,
                                ", expected that of an array, dtype, shape, text or number\n  in "
                                "constant 0\n")));
}

INSTANTIATE_TEST_SUITE_P(Releases, RelaxConstants, ::testing::ValuesIn(linked_releases),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace gantry
