// SPDX-License-Identifier: Apache-2.0
//
// The kit over an accelerator that is broken in each way of tests/fake_plugins/breaks.cpp: none
// passes, and the report names the defect.
#include "defects.hpp"
#include "kit_run.hpp"

#include <gmock/gmock.h>

#include <iterator>
#include <sstream>

namespace gantry::test {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Break {
  const char* way;
  // Numbers of the cases that fail, without those that fail by the same defect.
  const char* cases;
  // what the first of them reports
  const char* found;
  // Only these are run, and some of them fail: which ones see the defect depends on the scheduler.
  bool is_timed = false;
};

constexpr Break kBreaks[] = {
    {"aborts_in_a_call", "51", "crashes in function \"axpy2_kernel\""},
    {"allocates_null", "51",
     "device abacus (plugin example.abacus): alloc of 80 bytes succeeds but returns NULL", true},
    {"blocks_never", "51 75 101 104 106", "", true},
    {"changes_state_at_load", "21",
     "changes the locale, the file mode creation mask, the action of a signal"},
    {"changes_state_in_create", "128",
     "change the working directory, the locale, the file mode creation mask, the action of a "
     "signal"},
    {"claims_the_number_of_cuda", "16", "declares dlpack ext of device \"abacus\", its table in "},
    {"consumes_too_much", "51", "load_binary consumes 701 of 700 bytes"},
    {"copies_from_the_begin", "75 101",
     "copies of parts on device abacus give other bytes, with seed 1"},
    {"copies_nothing_on_the_device", "75 76 104", "a copy through device abacus changes bytes"},
    {"copies_whole_lines", "51", "DMA requires 64-byte alignment"},
    {"counts_calls", "67", "function \"axpy2_kernel\" fails and writes a result of kind 1"},
    {"counts_minus_one", "73", "device abacus counts -1, minimum is 0"},
    {"counts_one_more", "73", "device abacus counts 2, then 3"},
    {"crashes_in_a_call", "51", "crashes in function \"axpy2_kernel\""},
    {"crashes_in_create", "30", "crashes in create"},
    {"destroys_no_module", "59 60", "the payload's pin is retained after the module is destroyed"},
    {"destroys_no_stream", "126",
     "200 cycles of a stream and an event of device abacus leave 200 threads"},
    {"does_nothing", "51 65", "argument 2: element 0 is 0, expected 21"},
    {"ends_in_create", "30", "the process of the case exits with status 0"},
    {"exits_at_load", "16", "the process of the case exits with status 3 after"},
    {"exits_in_a_call", "51", "called exit() in function \"axpy2_kernel\""},
    {"exits_in_create", "30", "called exit() in create"},
    {"exits_in_stream_destroy", "80", "called exit()", true},
    {"fails_with_42", "51 65", "the call returns 42, which is not a code"},
    {"fails_without_a_text", "51", "the call fails as invalid without a reason"},
    {"fails_without_utf8", "51", "kernel \\xff\\xfe failed"},
    {"finds_no_table", "51 63",
     "get_function(\"axpy2_kernel\") succeeds without a table, and its self is no function object"},
    {"finds_nothing", "51 63", "get_function(\"axpy2_kernel\") succeeds without a function"},
    {"frees_nothing", "78 124",
     "attribute 1000 of device abacus is 3145728 after free, and 0 before alloc"},
    {"frees_the_table_of_functions", "51", "crashes in destroy of a function"},
    {"goes_back_in_time", "109 127",
     "event_elapsed of untimed events of device abacus returns ok, expected invalid"},
    {"has_a_huge_loader", "16",
     "loader 0: gantry_loader_table has struct_size 4000000000, maximum is"},
    {"has_a_short_device", "16", "device 0: gantry_device_table has struct_size 64, minimum is"},
    {"has_a_short_loader", "16", "loader 0: gantry_loader_table has struct_size 8, minimum is"},
    {"has_a_short_plugin", "16",
     "gantry_plugin_table has struct_size 16, minimum is 112 (ABI 1.0)"},
    {"has_another_id", "16", "gantry_plugin_query_v1 returns acme.someoneelse"},
    {"has_another_version", "16", "gantry_plugin_query_v1 returns 9.9.9"},
    {"has_borrowed_attributes", "73", "attribute of device abacus:-1 returns ok, expected invalid"},
    {"has_every_extension", "36", "get_extension(\"\") returns a table, expected NULL"},
    {"has_no_alloc", "16", "device 0: gantry.device/1.alloc is empty"},
    {"has_no_call", "51",
     "the function of get_function(\"axpy2_kernel\"): gantry.function/1.call is empty"},
    {"has_no_create", "16", "gantry.plugin/1.create is empty"},
    {"has_no_event_wait", "16",
     "gantry.device/1.event_wait is empty, which is required with gantry.device/1.event_create"},
    {"has_no_get_function", "51",
     "the module of load_binary: gantry.module/1.get_function is empty"},
    {"has_no_load_binary", "16", "loader 0: gantry.loader/1.load_binary is empty"},
    {"has_no_synchronize", "16",
     "gantry.device/1.synchronize is empty, which is required with gantry.device/1.stream_create"},
    {"has_short_functions", "51", "gantry_function_table has struct_size 4, minimum is"},
    {"has_short_modules", "51", "gantry_module_table has struct_size 8, minimum is 64 (ABI 1.0)"},
    {"keeps_no_payload", "61", "crashes in save_binary"},
    {"leaks_a_descriptor_in_create", "79",
     "200 cycles of create and destroy leave 200 open descriptors"},
    {"leaks_a_thread_in_create", "79", "200 cycles of create and destroy leave 200 threads"},
    {"leaks_host_objects", "124", " objects that gantry_host.text_new has created"},
    {"leaks_memory_in_calls", "124", " bytes allocated"},
    {"leaks_memory_in_load", "60", "100 modules leave "},
    {"leaks_threads_in_calls", "124", " threads"},
    {"lists_a_ghost", "64", "list_functions lists \"ghost\", get_function does not find it"},
    {"loads_another_key", "16", " has no loader for it"},
    {"loads_nothing", "51", "load_binary succeeds without a module"},
    {"misaligns_memory", "51 101", "abacus:0: 0xabac000000000009 is not memory of this device"},
    {"names_another_device", "16", " has no table for it"},
    {"overflows_the_heap", "51", "the process of the case is ended by signal ", true},
    {"prints_in_calls", "125", " prints \"breaks: launching kernel 1"},
    {"reads_behind_the_payload", "51", "crashes in load_binary"},
    {"reads_the_environment_in_the_query", "28 81", "the query reads the environment"},
    {"requests_an_option", "44",
     "the plugin requests options that config_schema does not declare: not_declared"},
    {"requires_a_newer_minor", "16",
     "supports ABI 1.3-1.4, this core supports 1.0: the plugin is newer"},
    {"requires_aligned_payloads", "51", "the payload is not aligned to 16"},
    {"requires_another_major", "16",
     "supports ABI 2.0, this core supports 1.0: the plugin is newer"},
    {"retains_its_node", "60", "100 modules leave "},
    {"retains_its_pin", "59", "the payload's pin is retained after the module is destroyed"},
    {"returns_a_borrowed_text", "51 65",
     "the result has kind 8, which is an argument's: results are owned"},
    {"returns_a_large_int", "51 67", "the result of kind 1 is not canonical"},
    {"returns_no_table", "16 23 26",
     "gantry_plugin_query_v1 fails as unsupported without a reason"},
    {"saves_two_characters", "61",
     "save_binary writes 2 bytes that differ from the payload of 700 bytes"},
    {"throws_at_load", "16", "crashes in a constructor"},
    {"throws_in_a_call", "51 65", "the call throws: breaks: driver error 209"},
    {"throws_in_create", "30 43", "create throws: breaks: no licence file"},
    {"throws_in_destroy", "30", "crashes in destroy"},
    {"throws_in_destroy_of_a_module", "51", "crashes in destroy of a module"},
    {"throws_in_free", "51", "is ended by signal 6 (Aborted)", true},
    {"throws_in_load", "41 51",
     "load_binary of 0 bytes for key example.abacus throws: out of memory"},
    {"throws_in_the_query", "16 23 28", "gantry_plugin_query_v1 throws: breaks: query"},
    {"waits_for_no_event", "76", "copies in several streams of device abacus run in another order",
     true},
    {"waits_for_nothing", "68 76 101", "", true},
    {"writes_no_address", "51",
     "device abacus (plugin example.abacus): alloc of 80 bytes succeeds but returns NULL", true},
    {"writes_to_the_payload", "57", "crashes in load_binary"},
};

std::vector<int> numbers_in(const char* text) {
  std::istringstream in(text);
  return {std::istream_iterator<int>(in), {}};
}

std::vector<std::string> case_options(const std::vector<int>& numbers) {
  std::vector<std::string> options;
  for (const int number : numbers)
    options.insert(options.end(), {"--case", std::to_string(number)});
  return options;
}

class KitOverBroken : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "a sanitizer handles crashes itself: the release build runs all of them";
#endif
  }

  KitRun run(std::string_view way, std::vector<std::string> args) {
    args.insert(args.begin(), {plugin_with_break(temp_.path(), way), "--payloads",
                               payloads_of_example(temp_.path(), "example", "abacus"), "--seed",
                               "1", "--mutations", "50", "--level", "L", "--level", "D"});
    return run_kit(args);
  }

 private:
  const TempDir temp_;
};

class BrokenPlugin : public KitOverBroken, public ::testing::WithParamInterface<Break> {};

TEST_P(BrokenPlugin, FailsTheseCases) {
  const Break& broken = GetParam();
  const std::vector<int> cases = numbers_in(broken.cases);
  std::vector<std::string> args;
  if (broken.is_timed) args = case_options(cases);

  const KitRun found = run(broken.way, args);

  const std::vector<int> failed = found.cases("FAILED");
  if (broken.is_timed)
    EXPECT_THAT(failed, Not(IsEmpty())) << found.output;
  else
    EXPECT_THAT(failed, ElementsAreArray(cases)) << found.output;
  EXPECT_THAT(found.output, HasSubstr(broken.found));
  EXPECT_EQ(found.status, 1);
}

INSTANTIATE_TEST_SUITE_P(Kit, BrokenPlugin, ::testing::ValuesIn(kBreaks),
                         [](const auto& test) { return std::string(test.param.way); });

TEST_F(KitOverBroken, PassesTheSamePluginWithoutABreak) {
  const KitRun found = run("none", {});

  EXPECT_THAT(found.cases("FAILED"), IsEmpty()) << found.output;
  EXPECT_THAT(found.cases("WARNING"), IsEmpty()) << found.output;
}

// It is the driver that is missing.
TEST_F(KitOverBroken, ReachesNoLevelWithoutADriver) {
  const KitRun found = run("has_no_driver", {});

  EXPECT_THAT(found.cases("FAILED"), IsEmpty()) << found.output;
  EXPECT_THAT(found.output, HasSubstr("create fails: driver 3.2 or newer is required"));
  EXPECT_THAT(found.output, HasSubstr("level: none\n"));
}

// The first case waits for its limit; the next one is killed when it is at the same place.
struct Hang {
  const char* way;
  const char* cases;
  const char* found;
};
class HangingPlugin : public KitOverBroken, public ::testing::WithParamInterface<Hang> {};

TEST_P(HangingPlugin, IsNamedOnce) {
  const Hang& hang = GetParam();
  const std::vector<int> cases = numbers_in(hang.cases);
  std::vector<std::string> args = case_options(cases);
  args.insert(args.end(), {"--timeout", "2"});

  const KitRun found = run(hang.way, args);

  EXPECT_THAT(found.cases("FAILED"), ElementsAre(cases.front())) << found.output;
  EXPECT_THAT(found.output, HasSubstr("has not ended after 2.0 s and is killed"));
  EXPECT_THAT(found.output, HasSubstr(hang.found));
  for (std::size_t i = 1; i < cases.size(); ++i)
    EXPECT_THAT(found.output, HasSubstr(": as case " + std::to_string(cases.front())));
}

INSTANTIATE_TEST_SUITE_P(
    Kit, HangingPlugin,
    ::testing::Values(
        Hang{"hangs_in_create", "30 37 47", "0.1.0 has not returned from create"},
        Hang{"hangs_in_load", "30 51", "0.1.0 has not returned from load_binary"},
        Hang{"hangs_in_a_call", "51 65", "0.1.0 has not returned from function \"axpy2_kernel\""},
        Hang{"hangs_in_synchronize", "51 76", "0.1.0 has not returned from synchronize"}),
    [](const auto& test) { return std::string(test.param.way); });

// One advice, with the place and the command that shows it.
TEST_F(KitOverBroken, NamesTheCommandThatFindsACrash) {
  const KitRun found = run("crashes_in_create", {"--case", "37", "--case", "79"});

  EXPECT_THAT(found.output,
              HasSubstr("change: correct the code there: addr2line -Cfie LIBRARY 0x"));
  EXPECT_THAT(found.output,
              HasSubstr("gdb --args gantry-conformance --in-process --case 37 MANIFEST ..."));
  EXPECT_THAT(found.output, Not(HasSubstr("release in destroy() what")));
  EXPECT_THAT(found.output, HasSubstr("leaks-nothing: as case 37\n"));
}

}  // namespace

std::vector<int> cases_failed_by_breaks() {
  std::vector<int> numbers;
  for (const Break& each : kBreaks) {
    const std::vector<int> cases = numbers_in(each.cases);
    numbers.insert(numbers.end(), cases.begin(), cases.end());
  }
  return numbers;
}

}  // namespace gantry::test
