// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/operator_calls.hpp"
#include "tests/unit/native/host_world.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>

#include <string>
#include <vector>

namespace gantry::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A library that the linker has opened, as CpuLibrary does.
class OpenedOperators {
 public:
  explicit OpenedOperators(std::string_view name, int flags = RTLD_LAZY)
      : file_(MappedFile::open(fixture(name)).value()),
        elf_(ElfFile::parse(file_).value()),
        handle_(dlopen(fixture(name).c_str(), flags | RTLD_LOCAL)) {}
  ~OpenedOperators() { dlclose(handle_); }
  OpenedOperators(const OpenedOperators&) = delete;
  OpenedOperators& operator=(const OpenedOperators&) = delete;

  OperatorCalls record(TraceRecorder& recorder) const {
    auto calls = OperatorCalls::record(elf_, static_cast<link_map*>(handle_)->l_addr, recorder);
    EXPECT_TRUE(calls.ok()) << calls.error().message;
    return std::move(calls).value();
  }
  // Returns a + b + 45.
  long long run(long long a, long long b) const {
    using Main = int (*)(const long long*, int*, int, long long*, int*, void*);
    const auto main = reinterpret_cast<Main>(dlsym(handle_, "tvmgen_m___tvm_main__"));
    const long long args[] = {a, b};
    int codes[] = {0, 0}, code = -1;
    long long result = 0;
    EXPECT_EQ(main(args, codes, 2, &result, &code, nullptr), 0);
    EXPECT_EQ(code, 0);
    return result;
  }

 private:
  std::shared_ptr<const MappedFile> file_;
  ElfFile elf_;
  void* handle_;
};

std::vector<std::string> recorded(const TraceRecorder& recorder) {
  std::vector<std::string> names;
  for (const TraceEvent& event : recorder.events())
    names.push_back(event.category + " " + event.name);
  return names;
}

TEST(OperatorCalls, RecordEachCallAndReturnItsResult) {
  TraceRecorder recorder;
  const OpenedOperators library("operators.so");
  const OperatorCalls calls = library.record(recorder);

  EXPECT_EQ(library.run(1, 2), 48);

  EXPECT_THAT(recorded(recorder), ElementsAre("call tvmgen_m_add", "call tvmgen_m_add"));
}

TEST(OperatorCalls, RecordThroughSlotsThatTheLinkerMadeReadOnly) {
  TraceRecorder recorder;
  const OpenedOperators library("operators_now.so", RTLD_NOW);
  const OperatorCalls calls = library.record(recorder);

  EXPECT_EQ(library.run(10, 20), 75);

  EXPECT_THAT(recorded(recorder), ElementsAre("call tvmgen_m_add", "call tvmgen_m_add"));
}

TEST(OperatorCalls, LeaveCodeWithoutSlotsAlone) {
  TraceRecorder recorder;
  const OpenedOperators library("operators_symbolic.so");
  const OperatorCalls calls = library.record(recorder);

  EXPECT_EQ(library.run(1, 2), 48);

  EXPECT_THAT(recorded(recorder), IsEmpty());
}

TEST(OperatorCalls, LeaveFurtherLibrariesAloneWhenAllPlacesAreTaken) {
  TraceRecorder first, second;
  const OpenedOperators library("operators.so");
  {
    std::vector<OperatorCalls> taken;
    for (std::size_t i = 0; i < OperatorCalls::max_recorded; ++i)
      taken.push_back(library.record(first));
    const OperatorCalls none = library.record(second);

    EXPECT_EQ(library.run(1, 2), 48);

    EXPECT_THAT(recorded(second), IsEmpty());
    EXPECT_EQ(recorded(first).size(), 2u);
  }
  const OperatorCalls again = library.record(second);
  EXPECT_EQ(library.run(1, 2), 48);
  EXPECT_EQ(recorded(second).size(), 2u) << "places are free again";
}

}  // namespace
}  // namespace gantry::test
