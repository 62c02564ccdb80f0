// SPDX-License-Identifier: Apache-2.0
#include "plugins/relax/named_calls.hpp"

#include "plugins/relax/plugin.hpp"
#include "tests/support/fake_host.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace gantry::relax::test {
namespace {

using gantry::test::FakeHost;

class NamedCalls : public ::testing::Test {
 protected:
  // Returns the number of its arguments, plus a constant.
  static FakeHost::Body counts_from(std::int64_t first) {
    return [first](const gantry_env*, std::span<const gantry_value> args, gantry_value* result,
                   gantry_status*) {
      *result = int_value(first + static_cast<std::int64_t>(args.size()));
      return GANTRY_OK;
    };
  }
  Result<Value> call(std::string_view name, const std::vector<Value>& args) {
    auto* const function = plugin.find(concat("vm.builtin.", name)).value();
    if (function == nullptr) return not_found("no function ", name);
    std::vector<gantry_value> raw;
    for (const Value& arg : args) raw.push_back(arg.get());
    return function->call({{}, &env, raw});
  }
  // call_py_func((name, (1, 2)))
  Result<Value> call_with_two(std::string_view name) {
    const Value one = Value::adopt(int_value(1)), two = Value::adopt(int_value(2));
    return call("call_py_func",
                {host.array({host.text(name).value(), host.array({one, two}).value()}).value()});
  }
  Value function(const std::string& name) {
    gantry_value value{};
    value.kind = GANTRY_FUNCTION;
    value.object = host.find(nullptr, GANTRY_FIND_GLOBALS, name).value().take();
    return Value::adopt(value);
  }
  std::string error_of(const Result<Value>& result) {
    EXPECT_FALSE(result.ok());
    return result.ok() ? "" : concat(fake.error_kinds.back(), ": ", result.error().message.text());
  }

  FakeHost fake;
  const Host host{fake.table()};
  const gantry_env env{gantry::test::cpu, nullptr, nullptr, nullptr};
  Plugin plugin{host, 0};
};

TEST_F(NamedCalls, FindTheTableBeforeTheProgram) {
  fake.add_global("double", counts_from(10));
  fake.add_global("other", counts_from(20));

  EXPECT_EQ(call_with_two("double")->get().i, 12);
  ASSERT_TRUE(call("register_py_func", {host.text("double").value(), function("other")}).ok());
  EXPECT_EQ(call_with_two("double")->get().i, 22);
  EXPECT_EQ(call("get_py_func", {host.text("double").value()})->kind(), GANTRY_FUNCTION);
  ASSERT_TRUE(call("clear_py_func_registry", {}).ok());
  EXPECT_EQ(call_with_two("double")->get().i, 12);
}

TEST_F(NamedCalls, RefuseWhatIsNoFunction) {
  EXPECT_EQ(error_of(call_with_two("double")),
            "InternalError: Python function 'double' not found in registry");
  EXPECT_EQ(error_of(call("call_py_func", {host.array({}).value()})),
            "InternalError: vm.builtin.call_py_func tuple should contain (func_name, args)");
  EXPECT_EQ(error_of(call("register_py_func", {host.text("f").value(), Value()})),
            "TypeError: register_py_func(name, function): argument 1 (function) is none, expected "
            "a function");
}

TEST_F(NamedCalls, PassTheLineAndTheArgumentsOfADebugFunction) {
  fake.add_global("debug", counts_from(0));
  const Value name = host.text("debug").value(), line = host.text("model.py:4").value();

  const auto done = call("invoke_debug_func", {Value(), name, line, Value(), Value()});

  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(done->kind(), GANTRY_NONE);
  EXPECT_EQ(error_of(call("invoke_debug_func", {line, name, line})),
            "ValueError: invoke_debug_func(effect, name, line, ...): argument 0 (effect) is a "
            "string, expected none");
  EXPECT_EQ(error_of(call("invoke_debug_func", {Value(), line, line})),
            "ValueError: model.py:4 is not found: add a function of this name to the runtime");
}

TEST_F(NamedCalls, ClearMemoryThatNothingUses) {
  EXPECT_TRUE(call("memory_manager.clear", {}).ok());
}

}  // namespace
}  // namespace gantry::relax::test
