// SPDX-License-Identifier: Apache-2.0
//
// gantry_plugin_query_v1 of every plugin of this build is pure: it returns the same table every
// time, also in a process that may make no system call and has no environment. The host cannot
// check this for the plugins that it loads.
#include <gantry/plugin.h>

#include <gmock/gmock.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace gantry {
namespace {

using Query = decltype(&gantry_plugin_query_v1);

constexpr gantry_host_info kHost = {.struct_size = sizeof(gantry_host_info),
                                    .flags = 0,
                                    .abi = GANTRY_PLUGIN_ABI,
                                    .core_version = "0.1.0"};

// CMake passes the paths in one string, each followed by a comma.
std::vector<std::string> built_plugins() {
  std::vector<std::string> all;
  std::string_view list = GANTRY_PLUGIN_FILES;
  for (std::size_t comma; (comma = list.find(',')) != std::string_view::npos;
       list.remove_prefix(comma + 1)) {
    all.emplace_back(list.substr(0, comma));
  }
  return all;
}

Query query_of(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  return handle == nullptr ? nullptr
                           : reinterpret_cast<Query>(dlsym(handle, "gantry_plugin_query_v1"));
}

// Ends the process with SIGKILL at any system call except read, write and exit, and with SIGSEGV at
// any read of the environment.
[[noreturn]] void query_in_a_sandbox(Query query) {
  environ = reinterpret_cast<char**>(8);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(3);
  const gantry_plugin_table* const first = query(&kHost, nullptr);
  const gantry_plugin_table* const again = query(&kHost, nullptr);
  syscall(SYS_exit, first != nullptr && first == again ? 0 : 2);
  __builtin_unreachable();
}

TEST(PluginQueryDeathTest, MakesNoSystemCallAndReadsNoEnvironment) {
  for (const std::string& library : built_plugins()) {
    const Query query = query_of(library);
    ASSERT_NE(query, nullptr) << library;
    EXPECT_EXIT(query_in_a_sandbox(query), testing::ExitedWithCode(0), "") << library;
  }
}

TEST(PluginQuery, ReturnsTheSameTableOnEveryThread) {
  for (const std::string& library : built_plugins()) {
    const Query query = query_of(library);
    std::vector<const gantry_plugin_table*> answers(8);
    {
      std::vector<std::jthread> threads;
      for (auto& answer : answers) threads.emplace_back([&] { answer = query(&kHost, nullptr); });
    }
    EXPECT_EQ(std::set(answers.begin(), answers.end()).size(), 1u) << library;
    EXPECT_NE(answers.front(), nullptr) << library;
  }
}

TEST(PluginQuery, CoversEveryBuiltPlugin) {
  EXPECT_EQ(built_plugins().size(), std::size_t{GANTRY_PLUGIN_COUNT});
}

// The two tests below check that the sandbox detects a violation.
TEST(PluginQueryDeathTest, DetectsAReadOfTheEnvironment) {
  const Query query = [](const gantry_host_info*, gantry_status*) -> const gantry_plugin_table* {
    return std::getenv("HOME") != nullptr ? nullptr : nullptr;
  };
  EXPECT_EXIT(query_in_a_sandbox(query), testing::KilledBySignal(SIGSEGV), "");
}

TEST(PluginQueryDeathTest, DetectsAnOpenOfADevice) {
  const Query query = [](const gantry_host_info*, gantry_status*) -> const gantry_plugin_table* {
    return open("/dev/null", O_RDWR) < 0 ? nullptr : nullptr;
  };
  EXPECT_EXIT(query_in_a_sandbox(query), testing::KilledBySignal(SIGKILL), "");
}

}  // namespace
}  // namespace gantry
