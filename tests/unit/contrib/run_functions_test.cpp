// SPDX-License-Identifier: Apache-2.0
#include "plugins/contrib/format_text.hpp"
#include "tests/unit/contrib/functions.hpp"

#include <cmath>

namespace gantry::contrib::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RunFunctions : public Functions {
 protected:
  Value result_of(std::string_view name, std::vector<gantry_value> args) {
    auto result = call(name, std::move(args));
    EXPECT_TRUE(result.ok()) << result.error().message;
    return result.ok() ? std::move(*result) : Value();
  }
  template <class T>
  std::vector<T> elements(const gantry_value& value) {
    const gantry_tensor* const tensor = gantry_value_tensor(&value);
    if (tensor == nullptr) return {};
    std::int64_t count = 1;
    for (std::int32_t axis = 0; axis < tensor->ndim; ++axis) count *= tensor->shape[axis];
    const T* const begin = static_cast<const T*>(tensor->data);
    return std::vector<T>(begin, begin + count);
  }
  std::vector<gantry_value> items_of(const Value& array) {
    const auto items = host.items(array.object()).value();
    return {items.begin(), items.end()};
  }

  const Host host{fake.table()};
};

TEST_F(RunFunctions, NonzeroListsThePlacesOfElements) {
  Floats x = floats({2, 3}, {0, 1, -0.0F, NAN, 0, 1e-45F});

  const Value places = result_of("relax.run.nonzero", {x.value()});

  EXPECT_THAT(elements<std::int64_t>(places.get()), ElementsAre(0, 1, 1, 1, 0, 2));
  EXPECT_EQ(places.tensor()->shape[0], 2);
  EXPECT_EQ(places.tensor()->shape[1], 3);
}

TEST_F(RunFunctions, NonzeroOfANumberHasOneAxis) {
  Floats one = floats({}, {5}), none = floats({}, {0}), empty = floats({3, 0}, {});

  const Value found = result_of("relax.run.nonzero", {one.value()});
  const Value missing = result_of("relax.run.nonzero", {none.value()});
  const Value nothing = result_of("relax.run.nonzero", {empty.value()});

  EXPECT_THAT(elements<std::int64_t>(found.get()), ElementsAre(0));
  EXPECT_EQ(missing.tensor()->shape[0], 1);
  EXPECT_EQ(missing.tensor()->shape[1], 0);
  EXPECT_EQ(nothing.tensor()->shape[0], 2);
}

TEST_F(RunFunctions, UniqueSortsAndNumbersElements) {
  Floats x = floats({2, 3}, {3, NAN, -0.0F, 0, 3, NAN});

  const Value result = result_of(
      "relax.run.unique", {x.value(), int_value(1), int_value(1), int_value(1), int_value(1)});

  const auto items = items_of(result);
  ASSERT_EQ(items.size(), 4u);
  const auto values = elements<float>(items[0]);
  ASSERT_EQ(values.size(), 3u);
  EXPECT_TRUE(std::signbit(values[0])) << "the first of equal elements";
  EXPECT_EQ(values[1], 3);
  EXPECT_TRUE(std::isnan(values[2]));
  EXPECT_THAT(elements<std::int64_t>(items[1]), ElementsAre(2, 0, 1));
  EXPECT_THAT(elements<std::int64_t>(items[2]), ElementsAre(1, 2, 0, 0, 1, 2));
  EXPECT_THAT(elements<std::int64_t>(items[3]), ElementsAre(2, 2, 2));
}

TEST_F(RunFunctions, UniqueKeepsTheOrderOfFirstElements) {
  auto x = integers({5}, {7, 2, 7, 9, 2});

  const Value alone = result_of(
      "relax.run.unique", {x.value(), int_value(0), int_value(0), int_value(0), int_value(0), {}});
  const Value both = result_of(
      "relax.run.unique", {x.value(), int_value(0), int_value(0), int_value(1), int_value(0), {}});

  EXPECT_THAT(elements<std::int32_t>(alone.get()), ElementsAre(7, 2, 9));
  EXPECT_THAT(elements<std::int64_t>(items_of(both)[1]), ElementsAre(0, 1, 0, 2, 1));
}

TEST_F(RunFunctions, UniqueComparesSlicesOfAnAxis) {
  auto x = integers({2, 4}, {1, 0, 1, 0, 5, 6, 5, 2});

  const Value result = result_of("relax.run.unique", {x.value(), int_value(1), int_value(0),
                                                      int_value(0), int_value(1), int_value(-1)});

  const auto items = items_of(result);
  EXPECT_THAT(elements<std::int32_t>(items[0]), ElementsAre(0, 0, 1, 2, 6, 5));
  EXPECT_THAT(elements<std::int64_t>(items[1]), ElementsAre(1, 1, 2));
}

TEST_F(RunFunctions, UniqueOfNothingIsEmpty) {
  Floats x = floats({0, 2}, {});

  const Value flat = result_of("relax.run.unique",
                               {x.value(), int_value(1), int_value(0), int_value(0), int_value(0)});
  const Value rows = result_of("relax.run.unique", {x.value(), int_value(1), int_value(0),
                                                    int_value(0), int_value(0), int_value(0)});

  EXPECT_EQ(flat.tensor()->shape[0], 0);
  EXPECT_EQ(rows.tensor()->shape[0], 0);
  EXPECT_EQ(rows.tensor()->shape[1], 2);
}

TEST_F(RunFunctions, UniqueEndsWithItsTask) {
  auto x = integers({3}, {1, 2, 3});
  const int task = 0;
  env.task = &task;
  fake.cancelled = true;

  EXPECT_EQ(error_of("relax.run.unique",
                     {x.value(), int_value(1), int_value(0), int_value(0), int_value(0)})
                .code,
            Code::cancelled);
}

TEST_F(RunFunctions, ShapesBecomeTensors) {
  const std::int64_t dims[] = {3, 4};
  const Value shape = host.shape(dims).value(), none = host.shape({}).value();

  EXPECT_THAT(elements<std::int64_t>(result_of("relax.run.shape_to_tensor", {shape.get()}).get()),
              ElementsAre(3, 4));
  const Value empty = result_of("relax.run.shape_to_tensor", {none.get()});
  EXPECT_EQ(empty.tensor()->shape[0], 0);
  EXPECT_EQ(empty.tensor()->dtype.code, dtypes::int64.code);
}

TEST_F(RunFunctions, PrintThroughTheHost) {
  Floats x = floats({2}, {1, 2.5F});
  const std::int64_t dims[] = {5};
  const Value shape = host.shape(dims).value();
  const Value array =
      host.array({Value(), Value::adopt(int_value(7)), Value::adopt(bool_value(true))}).value();

  done("relax.run.print", {text(""), x.value(), shape.get(), array.get(), float_value(0.5)});
  done("relax.run.print", {text("x={}"), x.value()});
  done("tvm.default_trace_action", {int_value(0), float_value(2)});
  done("vm.builtin.debug_print", {text("a.py:3"), x.value()});

  EXPECT_THAT(fake.output,
              ElementsAre("[1.  2.5] (5,) (None, 7, True) 0.5\n", "x=[1.  2.5]\n", "[0, 2.0]\n",
                          "a.py:3: shape = (2,), dtype = float32, data =\n[1.  2.5]\n"));
}

TEST_F(RunFunctions, RefusesTextsOfArraysThatGrowWithEachLevel) {
  Value array = host.array({Value(), Value()}).value();
  for (int level = 0; level < 60; ++level) array = host.array({array, array}).value();

  EXPECT_EQ(error_of("tvm.default_trace_action", {array.get()}).message,
            "a text of arrays with more than 262144 bytes is not supported");
  EXPECT_THAT(fake.output, IsEmpty());
}

TEST_F(RunFunctions, RefuseElementsWithoutBits) {
  Floats x = floats({2, 0}, {});
  x.tensor.dtype = {3, 0, 0};
  const gantry_value none = int_value(0);

  EXPECT_EQ(error_of("relax.run.unique", {x.value(), none, none, none, none}).message,
            "unique(x, sorted, return_index, return_inverse, return_counts[, axis]): argument 0 "
            "(x) is a tensor, expected a tensor of numbers");
}

TEST_F(RunFunctions, AssertionsFailWithTheirText) {
  Floats x = floats({2}, {1, 2.5F});
  std::uint8_t byte = 0;
  gantry_tensor condition = compact_tensor({6, 8, 1}, {}, gantry::test::cpu, &byte);
  const auto message = [&](std::vector<gantry_value> args) {
    return std::string(error_of("relax.run.assert_op", std::move(args)).message.text());
  };

  EXPECT_EQ(message({tensor_ref_value(&condition), text("")}), "Assertion Failed");
  EXPECT_EQ(fake.error_kinds.back(), "AssertionError");
  EXPECT_EQ(message({bool_value(false), text("bad {}"), x.value()}), "bad [1.  2.5]");
  EXPECT_EQ(message({int_value(0), text(""), x.value(), int_value(2)}), "[1.  2.5], 2");
  EXPECT_EQ(message({x.value(), text("")}),
            "The condition must be a scalar, but it has a shape of (2,)");
  EXPECT_EQ(fake.error_kinds.back(), "ValueError");
  byte = 1;
  done("relax.run.assert_op", {tensor_ref_value(&condition), text("{}")});
}

struct Formatted {
  const char* format;
  std::vector<std::string> values;
  // or the kind of an error and its text
  const char* text;
};
class FormatTexts : public ::testing::TestWithParam<Formatted> {};

TEST_P(FormatTexts, AsPython) {
  FakeHost fake;

  const auto text = format_texts(Host(fake.table()), GetParam().format, GetParam().values);

  EXPECT_EQ(text.ok() ? *text : concat(fake.error_kinds.back(), ": ", text.error().message.text()),
            GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    Of, FormatTexts,
    ::testing::Values(
        Formatted{"{} {}", {"a", "b"}, "a b"}, Formatted{"{1}{0}{1}", {"a", "b"}, "bab"},
        Formatted{"{{}}{}", {"a"}, "{}a"},
        Formatted{"[{:>4}|{:<3}|{:^5}]", {"a", "b", "c"}, "[   a|b  |  c  ]"},
        Formatted{"{:*>3}{:05}", {"a", "b"}, "**ab0000"},
        Formatted{"{:.2}{:4.1s}|", {"abc", "xyz"}, "abx   |"},
        Formatted{"{:é^3}{!s}", {"ü", "x"}, "éüéx"},
        Formatted{"{} {}",
                  {"a"},
                  "IndexError: Replacement index 1 out of range for positional args tuple"},
        Formatted{"{0}{}",
                  {"a"},
                  "ValueError: cannot switch from manual field specification to automatic field "
                  "numbering"},
        Formatted{"{}{0}",
                  {"a"},
                  "ValueError: cannot switch from automatic field numbering to manual field "
                  "specification"},
        Formatted{"}", {}, "ValueError: Single '}' encountered in format string"},
        Formatted{"{", {}, "ValueError: Single '{' encountered in format string"},
        Formatted{"{0", {"a"}, "ValueError: expected '}' before end of string"},
        Formatted{
            "{x}", {"a"}, "ValueError: field \"x\" of the format is not the number of a value"},
        Formatted{"{:d}", {"a"}, "ValueError: Invalid format specifier \"d\" for a text"},
        Formatted{"{:1048576}{:1048576}",
                  {"a", "b"},
                  "ValueError: the format makes a text of more than 1048598 bytes"},
        Formatted{"{:99999999999}",
                  {"a"},
                  "ValueError: Invalid format specifier \"99999999999\" for a text"}));

class TensorFunctions : public RunFunctions {};

TEST_F(TensorFunctions, ViewsHaveTheSameMemoryAtAnOffset) {
  const std::int64_t shape[] = {3, 4}, of_view[] = {2, 2};
  const Value x = host.tensor_new(compact_tensor(dtypes::float32, shape)).value();
  const Value dims = host.shape(of_view).value(), type = host.text("float32").value();

  const Value view =
      result_of("runtime.TVMTensorCreateView", {x.get(), dims.get(), type.get(), int_value(24)});
  const Value within =
      result_of("runtime.TVMArrayCreateView",
                {view.get(), dims.get(), dtype_value(dtypes::uint16), int_value(8)});

  EXPECT_EQ(view.tensor()->data, x.tensor()->data);
  EXPECT_EQ(view.tensor()->byte_offset, 24u);
  EXPECT_EQ(within.tensor()->byte_offset, 32u);
  EXPECT_EQ(result_of("runtime.TVMTensorIsStorageShared", {view.get(), within.get()}).get().i, 0);
  EXPECT_EQ(result_of("runtime.TVMTensorIsStorageShared", {view.get(), view.get()}).get().i, 1);
}

TEST_F(TensorFunctions, ViewsStayWithinTheirTensor) {
  const std::int64_t shape[] = {2}, large[] = {1, std::int64_t{1} << 62};
  const Value x = host.tensor_new(compact_tensor(dtypes::float32, shape)).value();
  const Value two = host.shape(shape).value(), many = host.shape(large).value();
  const auto message = [&](const Value& dims, std::int64_t offset) {
    return std::string(
        error_of("runtime.TVMTensorCreateView",
                 {x.get(), dims.get(), dtype_value(dtypes::float32), int_value(offset)})
            .message.text());
  };

  EXPECT_EQ(
      message(two, 4),
      "CreateView(x, shape, dtype, relative_byte_offset): view float32[2] of 8 bytes at offset 4 "
      "is not within the 8 bytes of float32[2]");
  EXPECT_EQ(fake.error_kinds.back(), "ValueError");
  EXPECT_THAT(message(two, -4), ::testing::HasSubstr("at offset -4 is not within"));
  EXPECT_THAT(message(many, 0),
              ::testing::HasSubstr("dimension 1 is 4611686018427387904, room for"));
}

TEST_F(TensorFunctions, CopyBytesOfAnyShapeAndType) {
  Floats x = floats({2, 2}, {1, 2, 3, 4}), y = floats({4}, {0, 0, 0, 0}), z = floats({1}, {0});
  auto bits = integers({4}, {0, 0, 0, 0});
  std::vector<float> memory(4);
  gantry_value address{};
  address.kind = GANTRY_POINTER;
  address.p = memory.data();

  done("runtime.TVMTensorCopyFromTo", {x.value(), y.value()});
  done("runtime.TVMTensorCopyFromTo", {x.value(), bits.value()});
  done("runtime.TVMTensorCopyToBytes", {x.value(), address, int_value(16)});
  memory[0] = 9;
  done("runtime.TVMTensorCopyFromBytes", {y.value(), address, int_value(16)});

  EXPECT_EQ(bits.data[0], 0x3f800000);
  EXPECT_THAT(y.data, ElementsAre(9, 2, 3, 4));
  EXPECT_EQ(error_of("runtime.TVMTensorCopyFromTo", {x.value(), z.value()}).message,
            "CopyFromTo(from, to): float32[2, 2] has 16 bytes, float32[1] has 4");
  EXPECT_EQ(error_of("runtime.TVMTensorCopyToBytes", {x.value(), address, int_value(15)}).message,
            "CopyToBytes(x, address, bytes): float32[2, 2] has 16 bytes, expected 15");
}

TEST_F(TensorFunctions, AllocateTensors) {
  const std::int64_t shape[] = {2, 3};
  const Value dims = host.shape(shape).value();

  const Value made =
      result_of("runtime.TVMTensorAllocWithScope",
                {dims.get(), dtype_value(dtypes::int8), device_value(gantry::test::cpu), {}});

  EXPECT_EQ(made.tensor()->ndim, 2);
  EXPECT_EQ(fake.allocations.back(), 6u);
}

}  // namespace
}  // namespace gantry::contrib::test
