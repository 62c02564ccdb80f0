// SPDX-License-Identifier: Apache-2.0
//
// The functions of the modules that callers see.
#include "plugins/relay_vm/module.hpp"

#include "tests/support/files.hpp"
#include "tests/unit/relay_vm/fixture.hpp"

#include <filesystem>
#include <functional>

namespace gantry::relay::test {
namespace {

using ::testing::ElementsAre;

class RelayModules : public MachineTest {
 protected:
  // main(x, y): x + y and a constant; constants 0 float32[2], 1 and 2 int64.
  void make() {
    const auto add = code.packed("add");
    const auto constant = code.floats({2}, {5, 6});
    code.function("main", {"x", "y"}, 9);
    code.tensor(dtypes::float32, {2}, 16, 2, 5);
    code.invoke_packed(add, {0, 1, 5});
    code.load_const(constant, 6);
    code.alloc_data(0, {5, 6}, 7);
    code.ret(7);
    code.function("same", {"x"}, 1);
    code.ret(0);
    load();
  }
  void load() {
    read();
    executable = std::make_unique<ExecutableModule>(Host(fake.table()), loaded);
    vm = std::make_unique<VmModule>(Host(fake.table()), loaded);
  }
  ~RelayModules() override {
    executable.reset();
    vm.reset();
  }

  template <class M>
  static Result<Value> call(M& module, std::string_view name, std::vector<Value> args) {
    std::vector<gantry_value> values;
    for (const Value& arg : args) values.push_back(arg.get());
    const gantry_env env{cpu, nullptr, nullptr, nullptr};
    for (const auto& method : module.functions()) {
      if (method.name != name) continue;
      gantry_value found{};
      StatusBuffer status;
      const gantry_code code =
          method.table->call(&module, &env, values.data(), static_cast<std::int32_t>(values.size()),
                             &found, status.get());
      if (code != GANTRY_OK) return status.error(code, name);
      return Value::adopt(found);
    }
    return not_found("no function ", name);
  }
  template <class M>
  Value expect(M& module, std::string_view name, std::vector<Value> args = {}) {
    auto found = call(module, name, std::move(args));
    EXPECT_TRUE(found.ok()) << name << ": " << (found.ok() ? "" : found.error().message);
    return found.ok() ? std::move(*found) : Value();
  }
  template <class M>
  std::string failure(M& module, std::string_view name, std::vector<Value> args = {}) {
    const auto found = call(module, name, std::move(args));
    EXPECT_FALSE(found.ok()) << name;
    return found.ok() ? "" : text(found.error());
  }
  Value name(std::string_view text) { return Host(fake.table()).text(text).value(); }
  static Value number(std::int64_t value) { return Value::adopt(int_value(value)); }
  static std::string string_of(const Value& value) {
    return std::string(value_text(value.get()).value_or("?"));
  }
  void start_vm() { (void)expect(*vm, "init", {number(1), number(0), number(2)}); }

  std::unique_ptr<ExecutableModule> executable;
  std::unique_ptr<VmModule> vm;
};

// ---- the executable

TEST_F(RelayModules, DescribeTheExecutable) {
  make();

  EXPECT_EQ(string_of(expect(*executable, "get_constants")),
            "c[0]: float32[2], device 0\nc[1]: int64[], device 0\nc[2]: int64[], device 0\n");
  EXPECT_EQ(string_of(expect(*executable, "get_primitives")), "packed[0]: add\n");
  EXPECT_EQ(string_of(expect(*executable, "get_virtual_devices")), "device[0]: cpu:0, host\n");
  EXPECT_EQ(string_of(expect(*executable, "get_stats")),
            "Relay VM executable of version 0.12.0\n"
            "  constants (3): float32[2], int64[], int64[]\n"
            "  functions (2): main, same\n"
            "  packed functions (1): add\n"
            "  instructions: 9\n");
  EXPECT_THAT(string_of(expect(*executable, "get_bytecode")),
              ::testing::StartsWith("@main(x, y):  9 registers\n     0  load_const"));
  EXPECT_EQ(string_of(expect(*executable, "as_text")),
            string_of(expect(*executable, "get_bytecode")));
  EXPECT_EQ(expect(*executable, "has_function", {name("same")}).get().i, 1);
  EXPECT_EQ(expect(*executable, "has_function", {name("other")}).get().i, 0);
  EXPECT_EQ(expect(*executable, "get_function_arity", {name("main")}).get().i, 2);
  EXPECT_EQ(string_of(expect(*executable, "get_function_param_name", {name("main"), number(1)})),
            "y");
}

TEST_F(RelayModules, ListFunctionsThatExist) {
  make();

  EXPECT_EQ(failure(*executable, "get_function_arity", {name("mian")}),
            "function \"mian\" not found; functions: \"main\", \"same\"");
  EXPECT_EQ(failure(*executable, "get_function_param_name", {name("main"), number(2)}),
            "get_function_param_name(function, index): index is 2, parameter count is 2");
}

TEST_F(RelayModules, SaveTheBytesThatWereRead) {
  make();

  const std::string bytes = string_of(expect(*executable, "save"));

  const auto whole = payload.bytes.bytes().subspan(8);
  EXPECT_TRUE(std::ranges::equal(bytes, whole, {}, [](char c) { return std::uint8_t(c); }));
}

TEST_F(RelayModules, MakeMachinesAndLibraries) {
  make();

  const Value device = Value::adopt(device_value(cpu));
  EXPECT_EQ(expect(*executable, "vm_load_executable", {device}).kind(), GANTRY_MODULE);
  EXPECT_EQ(expect(*executable, "vm_load_executable").kind(), GANTRY_MODULE);
  EXPECT_EQ(expect(*executable, "get_lib").kind(), GANTRY_MODULE);
}

// ---- the machine

TEST_F(RelayModules, RequireDevicesFirst) {
  make();

  constexpr std::string_view message = "the virtual machine has no devices; call init before";
  EXPECT_EQ(failure(*vm, "set_input", {name("same"), floats({1})}), message);
  EXPECT_EQ(failure(*vm, "set_one_input", {name("same"), number(0), floats({1})}), message);
  EXPECT_EQ(failure(*vm, "set_outputs", {name("same"), floats({1})}), message);
  EXPECT_EQ(failure(*vm, "invoke", {name("same")}), message);
  EXPECT_EQ(
      failure(*vm, "invoke_return_to_device", {name("same"), number(1), number(0), floats({1})}),
      message);
  EXPECT_EQ(failure(*vm, "init", {number(1), number(0)}),
            "init(type, index, allocator, ...): argument count is 2, expected three numbers for "
            "each device");
}

TEST_F(RelayModules, RunWithTheInputsThatWereSet) {
  make();
  start_vm();
  (void)expect(*vm, "set_input", {name("main"), floats({1, 2}), floats({3, 4})});

  const Value result = expect(*vm, "invoke", {name("main")});
  (void)expect(*vm, "set_one_input", {name("main"), name("y"), floats({5, 5})});
  (void)expect(*vm, "set_one_input", {name("main"), number(0), floats({0, 1})});
  const Value none = expect(*vm, "invoke_stateful", {name("main")});

  EXPECT_THAT(elements(items(result).at(0)), ElementsAre(4, 6));
  EXPECT_EQ(none.kind(), GANTRY_NONE);
  EXPECT_EQ(expect(*vm, "get_num_outputs").get().i, 2);
  EXPECT_THAT(elements(expect(*vm, "get_output", {number(0)})), ElementsAre(5, 6));
  EXPECT_THAT(elements(expect(*vm, "get_output", {number(1)})), ElementsAre(5, 6));
  EXPECT_EQ(expect(*vm, "get_input_index", {name("y"), name("main")}).get().i, 1);
  EXPECT_EQ(expect(*vm, "get_input_index", {name("z"), name("main")}).get().i, -1);
}

TEST_F(RelayModules, AllocateNothingForInputsAndOutputsAfterTheFirstRun) {
  code.function("same", {"x"}, 1);
  code.ret(0);
  load();
  start_vm();
  const Value x = floats({1, 2}), y = floats({0, 0}), same = name("same");
  const auto step = [&](std::string_view function, std::vector<Value> args) {
    std::vector<gantry_value> values;
    for (const Value& arg : args) values.push_back(arg.get());
    const gantry_env env{cpu, nullptr, nullptr, nullptr};
    const auto methods = vm->functions();
    const auto method = std::ranges::find(methods, function, &Method<VmModule>::name);
    const auto count = static_cast<std::int32_t>(values.size());
    StatusBuffer status;
    gantry_code done = GANTRY_OK;
    const std::int64_t allocations = allocations_of([&] {
      gantry_value found{};
      done = method->table->call(vm.get(), &env, values.data(), count, &found, status.get());
      (void)Value::adopt(found);
    });
    EXPECT_EQ(done, GANTRY_OK) << function;
    return allocations;
  };
  const auto all = [&] {
    return step("set_input", {same, x}) + step("set_one_input", {same, number(0), x}) +
           step("set_outputs", {same, y}) + step("invoke", {same}) + step("get_num_outputs", {}) +
           step("get_output", {number(0)});
  };
  EXPECT_GT(all(), 0);
  fake.copies.reserve(100);

  EXPECT_EQ(all(), 0);
  EXPECT_EQ(all(), 0);
}

TEST_F(RelayModules, CopyInputsByReference) {
  make();
  start_vm();
  Value x = floats({1, 2});
  (void)expect(*vm, "set_input", {name("same"), Value::adopt(tensor_ref_value(x.tensor()))});
  x = Value();

  EXPECT_THAT(elements(expect(*vm, "invoke", {name("same")})), ElementsAre(1, 2));
}

TEST_F(RelayModules, WriteTheResultToTheTensorsOfSetOutputs) {
  make();
  start_vm();
  const Value first = floats({0, 0}), second = floats({0, 0}), only = floats({0});
  (void)expect(*vm, "set_input", {name("main"), floats({1, 2}), floats({3, 4})});
  (void)expect(*vm, "set_outputs", {name("main"), first, second});
  const Value result = expect(*vm, "invoke", {name("main")});
  const Value next = expect(*vm, "invoke", {name("main")});
  (void)expect(*vm, "set_input", {name("same"), floats({9})});
  (void)expect(*vm, "set_outputs", {name("same"), only});
  const Value same = expect(*vm, "invoke", {name("same")});

  EXPECT_THAT(elements(first), ElementsAre(4, 6));
  EXPECT_THAT(elements(second), ElementsAre(5, 6));
  EXPECT_EQ(items(result).at(0).object(), first.object());
  // They serve for one run, as in TVM.
  EXPECT_NE(items(next).at(0).object(), first.object());
  EXPECT_EQ(same.object(), only.object());
  EXPECT_THAT(elements(only), ElementsAre(9));
}

TEST_F(RelayModules, CopyTheResultToADevice) {
  make();
  start_vm();

  const Value result = expect(*vm, "invoke_return_to_device",
                              {name("main"), number(4), number(0), floats({1, 2}), floats({3, 4})});

  const auto parts = items(result);
  EXPECT_EQ(parts.at(0).tensor()->device.type, 4);
  EXPECT_THAT(elements(parts.at(0)), ElementsAre(4, 6));
}

// ---- a second function, and calls after an error

TEST_F(RelayModules, KeepTheInputsAndOutputsOfEachFunction) {
  make();
  start_vm();
  const Value out = floats({0, 0});
  (void)expect(*vm, "set_input", {name("main"), floats({1, 2}), floats({3, 4})});
  (void)expect(*vm, "set_input", {name("same"), floats({8, 9})});
  (void)expect(*vm, "set_outputs", {name("same"), out});

  const Value sum = expect(*vm, "invoke", {name("main")});
  EXPECT_THAT(elements(out), ElementsAre(0, 0));
  const Value same = expect(*vm, "invoke", {name("same")});

  EXPECT_THAT(elements(items(sum).at(0)), ElementsAre(4, 6));
  EXPECT_EQ(same.object(), out.object());
  EXPECT_THAT(elements(out), ElementsAre(8, 9));
  EXPECT_EQ(expect(*vm, "get_num_outputs").get().i, 1);
}

TEST_F(RelayModules, SetEachInputByNameAndIndex) {
  make();
  start_vm();

  (void)expect(*vm, "set_one_input", {name("main"), number(1), floats({3, 4})});
  EXPECT_EQ(failure(*vm, "invoke", {name("main")}),
            "input \"x\" of \"main\" is not set; call set_input before");
  (void)expect(*vm, "set_one_input", {name("main"), name("x"), floats({1, 2})});
  EXPECT_THAT(elements(items(expect(*vm, "invoke", {name("main")})).at(0)), ElementsAre(4, 6));
  EXPECT_EQ(expect(*vm, "get_input_index", {name("x"), name("main")}).get().i, 0);
  EXPECT_EQ(string_of(expect(*executable, "get_function_param_name", {name("main"), number(0)})),
            "x");
}

// A run that fails leaves no output of the run before, and none for the next.
TEST_F(RelayModules, HaveNoOutputsOfARunThatFailed) {
  const auto refuse = code.packed("refuse");
  code.function("same", {"x"}, 1);
  code.ret(0);
  code.function("fails", {"x"}, 1);
  code.invoke_packed(refuse, {0});
  code.ret(0);
  load();
  start_vm();
  (void)expect(*vm, "set_input", {name("same"), floats({1, 2})});
  (void)expect(*vm, "set_input", {name("fails"), floats({1, 2})});
  (void)expect(*vm, "invoke", {name("same")});

  (void)failure(*vm, "invoke", {name("fails")});

  EXPECT_EQ(failure(*vm, "get_output", {number(0)}), "no function has run; call invoke before");
  (void)expect(*vm, "invoke", {name("same")});
  EXPECT_THAT(elements(expect(*vm, "get_output", {number(0)})), ElementsAre(1, 2));
}

// An input list that is refused leaves the one before.
TEST_F(RelayModules, KeepTheirInputsIfOthersAreRefused) {
  make();
  start_vm();
  (void)expect(*vm, "set_input", {name("main"), floats({1, 2}), floats({3, 4})});

  (void)failure(*vm, "set_input", {name("main"), floats({7, 7})});
  const Value kept = floats({5, 5});
  fake.failing_allocations = 1;
  (void)failure(*vm, "set_input",
                {name("main"), kept, Value::adopt(tensor_ref_value(kept.tensor()))});
  fake.failing_allocations = 0;

  EXPECT_THAT(elements(items(expect(*vm, "invoke", {name("main")})).at(0)), ElementsAre(4, 6));
}

TEST_F(RelayModules, CopyTheResultToTheDeviceOfTheIndex) {
  make();
  start_vm();

  const auto parts =
      items(expect(*vm, "invoke_return_to_device",
                   {name("main"), number(4), number(1), floats({1, 2}), floats({2, 3})}));

  EXPECT_EQ(parts.at(0).tensor()->device.index, 1);
  EXPECT_EQ(parts.at(1).tensor()->device.index, 1);
}

// Of two devices of one type, too.
TEST_F(RelayModules, CopyTheResultFromOneIndexToAnother) {
  const auto field = code.device(handles.type);
  code.function("same", {"x"}, 1);
  code.functions[0].param_devices = {field};
  code.ret(0);
  load();
  (void)expect(*vm, "init", {number(4), number(0), number(2)});
  const Value x = floats({1, 2}, handles);

  const Value here =
      expect(*vm, "invoke_return_to_device", {name("same"), number(4), number(0), x});
  const Value there =
      expect(*vm, "invoke_return_to_device", {name("same"), number(4), number(1), x});

  EXPECT_EQ(here.object(), x.object());
  EXPECT_EQ(there.tensor()->device.index, 1);
  EXPECT_THAT(elements(there), ElementsAre(1, 2));
}

struct WrongCall {
  std::string function;
  std::function<std::vector<Value>(const std::function<Value(std::string_view)>& text,
                                   const std::function<Value(std::vector<float>)>& floats)>
      args;
  std::string message;
};

TEST_F(RelayModules, RefuseWrongCalls) {
  make();
  start_vm();
  const std::function<Value(std::string_view)> text = [&](std::string_view s) { return name(s); };
  const std::function<Value(std::vector<float>)> tensor = [&](std::vector<float> v) {
    return floats(v);
  };
  const WrongCall rows[] = {
      {"set_input",
       [](auto& t, auto& f) {
         return std::vector{t("main"), f({1})};
       },
       "inputs of \"main\" are 1, parameter count is 2"},
      {"set_one_input",
       [](auto& t, auto& f) {
         return std::vector{t("main"), t("z"), f({1})};
       },
       "set_one_input(function, name or index, tensor): parameter \"z\" not found; parameters: "
       "\"x\", \"y\""},
      {"set_one_input",
       [](auto& t, auto& f) {
         return std::vector{t("main"), Value::adopt(int_value(2)), f({1})};
       },
       "set_one_input(function, name or index, tensor): index is 2, parameter count is 2"},
      {"set_outputs", [](auto& t, auto&) { return std::vector{t("main")}; },
       "set_outputs(function, tensor, ...): no tensor is given"},
      {"set_outputs",
       [](auto& t, auto&) {
         return std::vector{t("main"), t("x")};
       },
       "set_outputs(function, tensor, ...): argument 1 (tensor) is a string, expected a tensor"},
      {"invoke", [](auto& t, auto&) { return std::vector{t("main")}; },
       "input \"x\" of \"main\" is not set; call set_input before"},
      {"get_output", [](auto&, auto&) { return std::vector{Value::adopt(int_value(0))}; },
       "no function has run; call invoke before"},
      {"get_num_outputs", [](auto&, auto&) { return std::vector<Value>(); },
       "no function has run; call invoke before"},
  };
  for (const WrongCall& row : rows)
    EXPECT_EQ(failure(*vm, row.function, row.args(text, tensor)), row.message) << row.function;
}

TEST_F(RelayModules, RefuseOutputsOfOtherTypes) {
  make();
  start_vm();
  (void)expect(*vm, "set_input", {name("same"), floats({1, 2})});
  (void)expect(*vm, "set_outputs", {name("same"), floats({1, 2, 3})});
  EXPECT_EQ(failure(*vm, "invoke", {name("same")}),
            "output 0 is float32[2], the tensor of set_outputs is float32[3]");
  (void)expect(*vm, "set_outputs", {name("same"), floats({1, 2}), floats({1, 2})});
  EXPECT_EQ(failure(*vm, "invoke", {name("same")}),
            "set_outputs was called with 2 tensors, the result has 1");
  (void)expect(*vm, "invoke", {name("same")});
  EXPECT_EQ(failure(*vm, "get_output", {number(1)}),
            "get_output(index): index is 1, output count "
            "is 1");
}

// 2^32 + 1 has the low bits of the CPU's number.
TEST_F(RelayModules, RefuseDeviceNumbersOfMoreThan32Bits) {
  make();
  const Value large = number(4294967297);

  EXPECT_EQ(failure(*vm, "init", {large, number(0), number(2)}),
            "init(type, index, allocator, ...): argument 0 (type) is 4294967297, expected a number "
            "of 32 bits");
  EXPECT_EQ(
      failure(*vm, "init", {number(1), large, number(2)}),
      "init(type, index, allocator, ...): argument 1 (index) is 4294967297, expected a number "
      "of 32 bits");
  start_vm();
  EXPECT_EQ(failure(*vm, "invoke_return_to_device", {name("same"), large, number(0), floats({1})}),
            "invoke_return_to_device(function, type, index, ...): argument 1 (type) is 4294967297, "
            "expected a number of 32 bits");
  EXPECT_EQ(failure(*vm, "invoke_return_to_device", {name("same"), number(1), large, floats({1})}),
            "invoke_return_to_device(function, type, index, ...): argument 2 (index) is "
            "4294967297, expected a number of 32 bits");
}

// Texts of tensors show 16 extents.
TEST_F(RelayModules, RefuseOutputsThatDifferInALateExtent) {
  make();
  start_vm();
  std::vector<std::int64_t> shape(17, 1);
  const Value x = tensor(dtypes::float32, shape, std::vector<float>{1});
  shape.back() = 2;
  const Value wider = tensor(dtypes::float32, shape, std::vector<float>{0, 0});
  (void)expect(*vm, "set_input", {name("same"), x});
  (void)expect(*vm, "set_outputs", {name("same"), wider});

  EXPECT_THAT(failure(*vm, "invoke", {name("same")}), ::testing::StartsWith("output 0 is float32"));
}

// ---- late-bound constants

class RelayLateBound : public RelayModules {
 protected:
  // main(): a constant that is late-bound.
  void make_late() {
    const auto constant = code.late("weights");
    code.function("main", {}, 1);
    code.load_const(constant, 0);
    code.ret(0);
    load();
  }
  Value map(std::vector<Host::Entry> entries) { return Host(fake.table()).map(entries).value(); }
  gantry::test::TempDir temp_;
};

TEST_F(RelayLateBound, ConstantsAreRequiredFirst) {
  make_late();

  EXPECT_EQ(failure(*vm, "init", {number(1), number(0), number(2)}),
            "constant 0 \"weights\" is late-bound and not loaded; call load_late_bound_consts "
            "before");
  (void)expect(*executable, "load_late_bound_consts_from_map",
               {map({{name("weights"), floats({3})}})});
  start_vm();
  EXPECT_THAT(elements(expect(*vm, "invoke", {name("main")})), ElementsAre(3));
}

// Machines that are made later have the tensors that were bound last.
TEST_F(RelayLateBound, ConstantsMayBeBoundAgain) {
  make_late();
  const auto bind = [&](float value) {
    (void)expect(*executable, "load_late_bound_consts_from_map",
                 {map({{name("weights"), floats({value})}})});
  };
  bind(3);
  start_vm();
  bind(4);

  VmModule other(Host(fake.table()), loaded);
  (void)expect(other, "init", {number(1), number(0), number(2)});

  EXPECT_THAT(elements(expect(other, "invoke", {name("main")})), ElementsAre(4));
  EXPECT_THAT(elements(expect(*vm, "invoke", {name("main")})), ElementsAre(3));
}

TEST_F(RelayLateBound, ConstantsHaveAllOfTheirNames) {
  make_late();

  EXPECT_EQ(failure(*executable, "load_late_bound_consts_from_map", {map({})}),
            "late-bound constants without a tensor: \"weights\"");
  EXPECT_EQ(failure(*executable, "load_late_bound_consts_from_map",
                    {map({{name("weights"), floats({3})}, {name("other"), floats({3})}})}),
            "tensors that are no late-bound constants: \"other\"");
  EXPECT_EQ(failure(*executable, "load_late_bound_consts_from_map",
                    {map({{name("weights"), number(1)}})}),
            "load_late_bound_consts_from_map(tensors): entry 0 is not a name with a dense tensor "
            "on the CPU");
}

TEST_F(RelayLateBound, ConstantsMoveToAFileAndBack) {
  make();
  const std::string path = (temp_ / "late.params").string();

  (void)expect(*executable, "move_late_bound_consts", {name(path), number(8)});
  const std::string constants = string_of(expect(*executable, "get_constants"));
  const std::string saved = string_of(expect(*executable, "save"));
  const std::string unbound = failure(*vm, "init", {number(1), number(0), number(2)});
  (void)expect(*vm, "load_late_bound_consts", {name(path)});
  start_vm();
  (void)expect(*vm, "set_input", {name("main"), floats({1, 2}), floats({3, 4})});
  const Value result = expect(*vm, "invoke", {name("main")});

  EXPECT_THAT(constants, ::testing::StartsWith("c[0]: late-bound \"const_0\", device 0\n"));
  EXPECT_THAT(unbound, ::testing::HasSubstr("\"const_0\" is late-bound"));
  EXPECT_THAT(elements(items(result).at(0)), ElementsAre(4, 6));
  EXPECT_THAT(elements(items(result).at(1)), ElementsAre(5, 6));
  // What is saved has the names in place of the arrays.
  RelayAssembler expected = code;
  for (std::size_t i = 0; i < 3; ++i) {
    expected.constants[i].tag = 1;
    expected.constants[i].content = gantry::test::Words().str(concat("const_", i));
  }
  EXPECT_TRUE(std::ranges::equal(saved, expected.payload().bytes.bytes().subspan(8), {},
                                 [](char c) { return std::uint8_t(c); }));
  EXPECT_EQ(failure(*executable, "move_late_bound_consts", {name(path), number(8)}),
            "the executable has late-bound constants already");
}

TEST_F(RelayLateBound, SmallConstantsStay) {
  make();

  const Value taken = expect(*executable, "get_late_bound_consts", {number(9)});

  EXPECT_EQ(Host(fake.table()).items(taken.object())->size(), 0u);
  EXPECT_EQ(string_of(expect(*executable, "save")).size(), payload.bytes.size() - 8);
}

TEST_F(RelayLateBound, ConstantsStayIfTheFileCannotBeWritten) {
  make();

  EXPECT_THAT(failure(*executable, "move_late_bound_consts",
                      {name((temp_ / "no/file.params").string()), number(0)}),
              ::testing::HasSubstr("no"));
  EXPECT_THAT(string_of(expect(*executable, "get_constants")),
              ::testing::StartsWith("c[0]: float32[2]"));
  EXPECT_EQ(failure(*executable, "get_late_bound_consts", {number(-1)}),
            "get_late_bound_consts(byte limit): argument 0 (byte limit) is -1, minimum is 0");
}

TEST_F(RelayLateBound, ConstantsDoNotExistInV08) {
  code = RelayAssembler("0.8.0");
  make();

  EXPECT_EQ(failure(*executable, "get_late_bound_consts", {number(0)}),
            "code of version \"0.8.0\" has no late-bound constants, which are those of v0.9 and "
            "later");
}

TEST_F(RelayLateBound, FilesThatAreNoParametersAreRefused) {
  make_late();
  const std::string path = (temp_ / "wrong.params").string();
  gantry::test::write_file(path, "not parameters at all");

  EXPECT_THAT(failure(*executable, "load_late_bound_consts", {name(path)}),
              ::testing::StartsWith("params magic is 0x"));
  EXPECT_FALSE(
      call(*executable, "load_late_bound_consts", {name((temp_ / "absent").string())}).ok());
}

TEST_F(RelayLateBound, ANameThatIsEmptyIsRefused) {
  code.late("");
  code.function("main", {}, 1);
  code.fatal();
  payload = code.payload();
  const gantry_blob raw = payload.blob();
  Blob blob(raw, fake.node());

  const auto made = Loaded::read(Host(fake.table()), blob, memory);

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(text(made.error()), "name of a late-bound constant is empty\n  in constant 0");
  EXPECT_EQ(made.error().offset, payload.constant_at[0] + 4);
}

// Records of vectors omit the lanes: their tensors would extend beyond the data.
TEST_F(RelayLateBound, AnArrayWithFewerBytesThanItsTypeIsRefused) {
  code.array({2, 32, 4}, {2}, gantry::test::Words().u64(0).bytes());
  code.function("main", {}, 1);
  code.fatal();
  payload = code.payload();
  const gantry_blob raw = payload.blob();
  Blob blob(raw, fake.node());

  const auto made = Loaded::read(Host(fake.table()), blob, memory);

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::malformed);
  EXPECT_EQ(text(made.error()), "array is float32x4[2] in 8 bytes, expected 32\n  in constant 0");
}

}  // namespace
}  // namespace gantry::relay::test
