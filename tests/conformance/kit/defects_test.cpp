// SPDX-License-Identifier: Apache-2.0
//
// Each defect of kit_plugin fails the case that forbids it, and no other.
#include "defects.hpp"
#include "kit_run.hpp"

#include <gmock/gmock.h>

#include <iterator>

namespace gantry::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Defect {
  const char* name;
  int case_number;
  // what the report says
  const char* found;
  // "FAILED", or "WARNING" of a `should` case
  const char* state = "FAILED";
  // other cases are not run, because the defect affects each of them or takes long
  bool alone = false;
  // in seconds; growth is found after some hundred operations
  const char* soak = "0.2";
};

constexpr Defect kDefects[] = {
    {"wrong_id", 16, "returns test.other"},
    {"depends_on_its_name", 17, "expected libkit.so"},
    // The core opens every library so.
    {"depends_on_its_path", 18, "expected libkit.so", "FAILED", true},
    {"depends_on_its_file", 19, "expected libkit.so"},
    {"wrong_sanitizer", 20, "its note has the thread sanitizer", "WARNING", true},
    {"starts_a_thread", 21, "changes the number of threads"},
    {"changes_umask", 21, "changes the file mode creation mask"},
    {"is_slow", 22, "opening the library takes", "WARNING", true},
    {"query_is_slow", 22, "the query takes", "WARNING", true},
    {"new_table", 23, "returns another table than the first one"},
    // An allocation may be a system call, which case 28 forbids.
    {"query_leaks", 23, "bytes allocated", "FAILED", true},
    {"table_of_thread", 23, "a query on another thread returns another table", "FAILED", true},
    {"refuses_without_text", 24, "without a text"},
    {"range_of_the_host", 24, "has another ABI range than the one for this core", "FAILED", true},
    {"compares_minor", 25, "refuses a host of ABI 1.0-1.5"},
    {"minor_of_the_host", 25, "the maximum minor of the table is", "FAILED", true},
    {"reads_behind_the_info", 26, "signal 11"},
    {"query_calls_the_system", 28, "the query makes a system call"},
    {"query_reads_environment", 28, "the query reads the environment", "FAILED", true},
    {"key_not_in_manifest", 29, "a type key of the table is not UTF-8"},
    {"runs_elsewhere", 29, "runs on device \"nowhere\", the plugin has no such device", "FAILED",
     true},
    {"device_not_in_manifest", 29, "device \"other_device\" is not in the manifest", "FAILED",
     true},
    {"reads_behind_the_host", 30, "signal 11"},
    {"requires_an_extension", 30, "create fails as bug"},
    {"uses_later_members", 31, "signal 11"},
    {"overflows_status", 32, "writes behind the struct_size"},
    {"any_extension", 36, "returns a table, expected NULL"},
    {"prefix_of_extension", 36, "returns a table, expected NULL"},
    {"silent_failure", 37, "without a text"},
    {"unknown_code", 37, "returns 99, which is not a code", "FAILED", true},
    {"fails_as_bug", 37, "returns BUG: kit plugin: payload is truncated", "FAILED", true},
    {"other_code_in_status", 37, ", its status has ", "FAILED", true},
    {"bad_utf8", 37, "not UTF-8"},
    {"overflows_text", 38, "of a text buffer of"},
    {"needs_status", 38, "signal 11"},
    {"depends_on_status", 38, " without a status", "FAILED", true},
    {"overstates_text", 38, "sets text_size to 1 in a buffer of 1", "FAILED", true},
    {"no_terminator", 38, "does not terminate the text", "FAILED", true},
    {"shows_a_secret", 40, "contains the value of option token, which is secret"},
    {"logs_a_secret", 40, "the log contains the value of option token"},
    {"throws", 41, "throws: kit plugin: thrown"},
    {"has_no_option", 42, "`config` without `config_schema`"},
    {"rejects_a_limit", 43, "signal 6"},
    {"undeclared_option", 44, "secret_knob"},
    {"reads_environment", 45, "KIT_PLUGIN_SECRET", "WARNING"},
    {"requires_dev", 47, "signal 6"},
    {"crashes_without_function", 48, "signal 11"},
    {"names_no_driver", 48,
     "count of device kit_device fails without the name of libBrokenLocale.so.1"},
    {"names_no_node", 49, "count of device kit_device fails without the name of /dev/full"},
    {"hides_problems", 49, "the plugin counts no device, expected an error with the name of",
     "FAILED", true},
    {"wrong_result", 51, "the result is 6, expected 5"},
    {"consumes_less", 51, "load_binary consumes 12 of 13 bytes", "FAILED", true},
    {"reads_past_the_end", 52, "signal 11"},
    {"accepts_truncations", 52, "load_binary accepts the first 9 of 13 bytes"},
    {"wrong_code_of_truncation", 52, "as invalid, expected malformed", "FAILED", true},
    {"crashes_on_damage", 53, "signal 6"},
    {"returns_bug", 53, "returns BUG for a damaged payload"},
    {"accepts_trailing_bytes", 54, "accepts a byte after the payload"},
    {"names_no_architecture", 55, "does not contain \"architecture 2\""},
    {"checks_no_architecture", 55, "check_binary returns verdict 3, expected 0 or a failure"},
    {"accepts_architectures", 55, "check_binary returns verdict 3, expected 0 or a failure"},
    {"loads_architectures", 55, "the payload is accepted"},
    {"needs_alignment", 56, "modulo 64: kit plugin: payload is not aligned"},
    {"writes_payload", 57, "signal 11"},
    {"keeps_no_pin", 58, "signal 11"},
    {"leaks_pin", 59, "pin is retained after the module is destroyed"},
    {"leaks_module", 60, "100 modules leave"},
    {"loads_a_few", 60, " loads fail", "FAILED", true},
    {"loads_one_at_a_time", 60, " threads fail", "FAILED", true},
    {"saves_other_bytes", 61, "differ from the payload of 13 bytes"},
    {"saves_wrong_aligned_bytes", 61,
     "load_binary refuses what save_binary writes with an alignment"},
    {"saves_longer_each_time", 61, "save_binary writes other bytes for a module that it wrote"},
    {"aligns_other_results", 61, "the result is 4, expected 5"},
    {"refuses_an_alignment", 61, "save_binary fails with code 5 for an alignment of 128"},
    {"ignores_the_sink", 61, "succeeds with a sink that fails after 0 bytes"},
    {"fails_to_save", 61, "save_binary fails with code", "FAILED", true},
    {"wrong_code_of_save", 61, ", its sink returned ", "FAILED", true},
    {"checks_nothing", 62, "check_binary accepts 6 of 13 bytes, load_binary refuses them"},
    {"unknown_verdict", 62, "which is none", "FAILED", true},
    {"checks_too_strictly", 62, "check_binary refuses 13 of 13 bytes, load_binary accepts them",
     "FAILED", true},
    {"prefix_of_name", 63, "get_function finds \"add"},
    {"invalid_name", 63, "fails as invalid, expected not found"},
    {"lists_too_much", 64, "lists \"missing\", get_function does not find it"},
    {"lists_too_little", 64, "list_functions does not list \"sum\"", "FAILED", true},
    {"fails_to_list", 64, "list_functions fails with code", "FAILED", true},
    {"accepts_any_count", 65, "with 2 arguments instead of 1 returns ok, expected invalid"},
    {"crashes_on_kinds", 65, "signal 11"},
    {"crashes_on_strides", 65, "signal 6"},
    {"crashes_on_devices", 65, "signal 6"},
    {"bug_for_kinds", 65, "returns BUG: kit plugin: argument 0 is no tensor", "FAILED", true},
    {"throws_for_kinds", 65, "throws: kit plugin: no tensor", "FAILED", true},
    {"crashes_on_offsets", 66, "signal 6"},
    {"result_on_error", 67, "fails and writes a result of kind 1"},
    {"shares_state", 68, "calls on 64 threads: the result is"},
    {"keeps_the_origin", 69, "signal 11"},
    {"destroys_on_its_thread", 69, "signal 6"},
    {"result_of_module", 70, "signal 11"},
    // Case 124 as well, like case 126 of streams that are not destroyed.
    {"leaks_results", 70, "16 released results of function \"sum\" leave", "FAILED", true},
    {"ignores_cancellation", 72, "ms after its task is cancelled, limit is 100 ms", "WARNING"},
    {"checks_cancellation_once", 72, "ms after its task is cancelled, limit is 100 ms", "WARNING"},
    {"wrong_code_of_cancellation", 72, "a cancelled call fails as invalid", "WARNING"},
    {"stays_cancelled", 72, "with another task, after a cancelled one", "WARNING"},
    {"counts_below_0", 73, "device kit_device counts -1, minimum is 0"},
    {"count_changes", 73, "device kit_device counts"},
    {"accepts_any_index", 73, "kit_device:-1 returns ok, expected invalid"},
    {"allocates_at_any_index", 73, "alloc on device kit_device:-1 returns ok, expected invalid",
     "FAILED", true},
    // Memory of scope "host" and demands come from the same function.
    {"misaligned_alloc", 74, "is not aligned to 2048", "FAILED", true},
    {"wrong_code_of_alloc", 74, "fails as unavailable, expected exhausted", "FAILED", true},
    {"rejects_null", 74, "signal 6"},
    {"allocates_too_much", 74, "alloc of 2^60 bytes on kit_device succeeds", "FAILED", true},
    {"ignores_offsets", 75, "copies of parts on device kit_device give other bytes", "FAILED",
     true},
    {"changes_the_last_byte", 75, "a copy through device kit_device changes bytes", "FAILED", true},
    {"rejects_empty_copies", 75, "kit plugin: the copy is empty", "FAILED", true},
    {"reorders", 76, "run in another order"},
    {"changes_rounding", 77, "change the floating-point control register"},
    {"counts_wrong", 78, "after free, and"},
    {"counts_nothing", 78, "after an alloc of 3 MiB", "FAILED", true},
    {"leaks_descriptor", 79, "open descriptors"},
    {"leaks_memory", 79, "bytes allocated"},
    {"leaks_a_thread", 79, " threads", "FAILED", true},
    {"frees_too_early", 80, "signal 6", "FAILED", true},
    {"aborts_at_exit", 81, "signal 6"},
    {"prints_at_exit", 81, "prints a text"},
    {"changes_the_status", 81, "expected status 42", "FAILED", true},
    {"aborts_in_fork", 82, "ends with signal 6"},
    {"exits_in_fork", 82, "a forked child that calls exit() ends with status 3", "FAILED", true},
    // Case 77 fails as well.
    {"blocks_signals", 83, "blocks or unblocks signal 15", "WARNING", true},
    {"handles_signals", 83, "handler of signal 15", "WARNING"},
    {"fails_after_others", 86, "graph.yaml first is ended"},
    {"fails_before_others", 86, "the result is 6, expected 5"},
    {"leaks_on_failure", 88, "bytes of resident memory", "FAILED", true, "2"},
    {"leaks_on_check", 88, "bytes of resident memory", "FAILED", true, "2"},
    {"requires_descriptors", 89, "signal 6"},
    {"has_no_support", 91, "the manifest has no `support`", "WARNING"},
    {"has_an_unknown_key", 91, "gantry plugins doctor warns", "WARNING"},
    {"writes_beside_itself", 92, "creates files beside its library: cache.bin"},
    {"has_no_generator", 93, "get_extension(\"gantry.generator/1\") returns NULL"},
    {"builds_nothing", 93, "build succeeds without a payload"},
    {"fails_to_build", 93, "build fails as unsupported: kit plugin: no"},
    {"builds_too_much", 93, "load_binary refuses what build writes"},
    {"builds_too_little", 93, "the result is 4, expected 5"},
    {"builds_broken_sources", 94, "build accepts the broken source"},
    {"wrong_code_of_build", 94, "build refuses the broken source as exhausted"},
    {"names_no_file", 94, "does not contain \"conformance.kit\""},
    {"builds_for_any_target", 95, "build accepts target {\"kind\":\"kit\""},
    {"ignores_the_sink_of_build", 96, "build succeeds with a sink that fails after 0 bytes"},
    {"wrong_code_of_sink", 96, "build returns code 3, its sink returned"},
    {"requires_a_compiler", 97,
     "check succeeds, build fails as unavailable: kit plugin: no compiler"},
    {"checks_too_much", 97, "check fails as unavailable, build succeeds: kit plugin: no linker"},
    {"checks_as_invalid", 97, "check fails as invalid: kit plugin: no, expected ok or unavailable"},
    {"checks_sources", 97, "signal 11"},
    {"names_no_kernel", 98, "at_kernel receives index 0, kernel count is 0"},

    // Each function of the table reads the demands.
    {"shares_in_4_ways", 100, "attribute 1004 is 4, expected 0 to 3", "FAILED", true},
    {"shares_other_memory", 100,
     "the host reads other bytes at the host address of memory of device kit_device"},
    {"sees_no_writes", 100, "device kit_device reads other bytes than the host has written"},
    {"reads_no_host_memory", 100, "reads other bytes from host memory at its address"},
    {"writes_no_host_memory", 100, "writes other bytes to host memory at its address"},
    {"demands_change", 99, "attribute 1001 of device kit_device is "},
    {"demands_no_power_of_two", 99, "attribute 1001 is 24, expected a power of two", "FAILED",
     true},
    {"allocates_beyond_its_limit", 99, "beyond attribute 1003 succeeds"},

    {"misaligned_host_memory", 101, "is not aligned to"},
    {"has_no_host_address", 101, "signal 11", "FAILED", true},
    {"frees_before_its_work", 102, "memory is freed before the work in its stream", "FAILED", true},
    {"frees_in_stream_twice", 102, "signal 6"},
    {"trims_memory_in_use", 103, "trim of device kit_device changes memory that is allocated"},
    {"trims_with_an_abort", 103, "signal 6"},
    {"maps_beside_its_memory", 105, "the host reads other bytes at the host address"},
    {"maps_a_copy", 105, "the host reads other bytes at the host address"},
    {"imports_from_the_begin", 106, "the device reads other bytes than the imported ones"},
    {"frees_imported_memory", 106, "free changes imported memory"},
    {"imports_any_kind", 106, "memory_import of kind -1 on device kit_device returns ok"},
    {"fills_from_the_begin", 104, "fill of 1 bytes from 1 on device kit_device"},
    {"fills_a_pattern_more", 104, "fill of 0 bytes from 0 on device kit_device"},
    {"supports_no_pattern", 104, "supports no pattern of 1, 2 or 4 bytes"},
    {"changes_handles", 107, "another handle for the same object for kind 1"},
    {"destroys_imported_streams", 107, "signal 6", "FAILED", true},
    {"reaches_no_event", 108, "event_reached of device kit_device returns 0 without a limit"},
    {"times_untimed_events", 109,
     "event_elapsed of untimed events of device kit_device returns ok"},
    {"ignores_flags_of_events", 109, "returns ok for an unknown flag, expected unsupported"},
    {"notifies_twice", 110, "stream_notify of device kit_device calls 2 times, expected once"},
    {"writes_capitals", 112, "attribute 1010 of device kit_device:0 is \"4B49"},
    {"shortens_pci", 112, "attribute 1011 of device kit_device:0 is \"65:00.0\""},
    {"has_no_node", 112, "attribute 1012 of device kit_device:0 is -1, minimum is 0"},
    {"allocates_when_lost", 113, "alloc of device kit_device returns ok after the loss"},
    {"reports_loss_once", 113, "synchronize of device kit_device returns ok", "FAILED", true},
    {"pads_elements", 116, "signal 11", "FAILED", true},
    {"reads_behind_elements", 116, "signal 11"},
    {"takes_any_stream", 114, "signal 11"},
    {"fails_to_prepare", 111, "prepare fails as unsupported"},
    {"wrong_code_of_prepare", 111, "a cancelled prepare fails as invalid"},
    {"prepares_nothing", 111, "after prepare, a call announces "},
    {"records_late", 115, "before the call in which it is recorded"},
    {"records_by_another_clock", 115, "ns after synchronize has returned"},
    {"records_after_synchronize", 115, "is recorded after synchronize has returned"},
    {"names_a_function_twice", 117, "the functions have \"sum\" twice"},
    {"default_out_of_range", 117, "the default function is 5, function count is 2"},
    {"states_a_new_signature", 117, "a second call returns another signature than the first"},
    {"states_another_type", 117,
     "input \"x\" is stated as float32[4], a golden run passes float32[3]", "FAILED", true},
    {"finds_a_model_by_its_prefix", 117,
     "get_extension(\"gantry.model/10\") of the module returns a table, expected NULL"},
    {"sums_wrong", 118, "element 0 is 12, expected 11"},
    {"ignores_targets", 118, "with tensors to fill"},
    {"accepts_executor_flags", 118, "executor_new with an unknown flag succeeds"},
    {"aligns_to_3", 119, "its alignment is 3, expected a power of two"},
    {"understates_its_alignment", 119, "kit plugin: x is not aligned to 64"},
    {"writes_its_inputs", 119, "signal 11"},
    {"keeps_its_inputs", 119, "signal 11"},
    {"moves_its_placements", 119, "the placements of function \"sum\" differ after runs"},
    {"returns_its_memory", 120, "after a later run of its executor"},
    {"executors_share_memory", 120, "after a run of another executor"},
    {"remembers_runs", 120, "after runs with other inputs"},
    {"ignores_cancelled_runs", 121, "a run ends ", "WARNING"},
    {"wrong_code_of_cancelled_runs", 121, "a cancelled run fails as invalid", "WARNING"},
    {"stays_cancelled_in_runs", 121, "with another task, after a cancelled one", "WARNING"},
    {"breaks_after_a_failure", 122, "after a run that failed"},
    {"writes_outputs_of_a_failure", 122, "a run fails and writes output 0 of kind "},
    {"fails_runs_as_bug", 122, "run fails as bug if a function of the host fails"},
    {"wrong_layout", 123,
     "the layout of key test.kit does not fit: payload has 5 bytes after its last field"},
};

class PluginWithDefect : public ::testing::TestWithParam<Defect> {};

TEST_P(PluginWithDefect, FailsThatCaseOnly) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "a sanitizer changes the heap, system calls and signals: the release build runs "
                  "all of them";
#endif
  const Defect& defect = GetParam();
  const TempDir temp;
  std::vector<std::string> args{plugin_with_defect(temp.path(), defect.name),
                                "--payloads",
                                payloads_of_kit_plugin(temp.path()),
                                "--seed",
                                "1",
                                "--mutations",
                                "50",
                                "--soak",
                                defect.soak,
                                "--beside",
                                built_manifest("graph")};
  // The soak of level X repeats what the cases of level D do; level S, whose tests are in
  // files_test.cpp, runs no code.
  const bool is_stress = defect.case_number >= 84 && defect.case_number < 90;
  if (!is_stress) args.insert(args.end(), {"--level", "L", "--level", "D"});
  if (defect.alone) args.insert(args.end(), {"--case", std::to_string(defect.case_number)});

  const KitRun run = run_kit(args);

  const bool warns = std::string_view(defect.state) == "WARNING";
  const bool hides_dev = defect.case_number == 47 || defect.case_number == 49;
  if (hides_dev && run.output.find("does not permit a process without /dev") != std::string::npos)
    GTEST_SKIP() << "this system does not permit a process without /dev";
  EXPECT_THAT(run.cases(defect.state), ElementsAre(defect.case_number)) << run.output;
  EXPECT_THAT(run.cases(warns ? "FAILED" : "WARNING"), IsEmpty()) << run.output;
  EXPECT_THAT(run.output, HasSubstr(defect.found));
  EXPECT_EQ(run.status, warns ? 0 : 1);
}

INSTANTIATE_TEST_SUITE_P(Kit, PluginWithDefect, ::testing::ValuesIn(kDefects),
                         [](const auto& test) { return std::string(test.param.name); });

// The plugin sets a variable; a neighbour counts no device because of it.
class PluginThatHidesDevices
    : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(PluginThatHidesDevices, FailsBesideAPluginThatHasSome) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "as PluginWithDefect";
#endif
  const auto& [neighbour, found] = GetParam();
  const TempDir temp;

  const KitRun run = run_kit({plugin_with_defect(temp.path(), "hides_devices"), "--payloads",
                              payloads_of_kit_plugin(temp.path()), "--beside",
                              plugin_with_defect(temp.path(), neighbour), "--case", "86"});

  EXPECT_THAT(run.cases("FAILED"), ElementsAre(86)) << run.output;
  EXPECT_THAT(run.output, HasSubstr("are counted otherwise when the plugin is in use"));
  EXPECT_THAT(run.output, HasSubstr(found));
}

INSTANTIATE_TEST_SUITE_P(Kit, PluginThatHidesDevices,
                         ::testing::Values(std::pair{"reads_environment_in_count", "after /"},
                                           std::pair{"reads_environment_in_create", "before /"}),
                         [](const auto& test) { return std::string(test.param.first); });

}  // namespace

std::vector<int> cases_failed_by_defects() {
  std::vector<int> numbers;
  for (const Defect& each : kDefects) numbers.push_back(each.case_number);
  return numbers;
}

}  // namespace gantry::test
