// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cxx/fake_host_table.hpp"

#include <gantry/progress.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::test {
namespace {

using ::testing::ElementsAre;

class WithoutProgress : public FakeHostTable {
 public:
  WithoutProgress() {
    gantry_host::get_extension = [](const gantry_host*, const char*) -> const void* {
      return nullptr;
    };
  }
};

class WithProgress : public FakeHostTable {
 public:
  WithProgress() {
    gantry_host::get_extension = [](const gantry_host*, const char* id) -> const void* {
      static const gantry_progress progress = {
          sizeof(gantry_progress), 0,
          [](const gantry_host* host, gantry_bytes text) -> std::uint64_t {
            events_of(host).push_back("begin " + std::string(view_of(text)));
            return 7;
          },
          [](const gantry_host* host, std::uint64_t work) {
            events_of(host).push_back("end " + std::to_string(work));
          }};
      return std::string_view(id) == GANTRY_PROGRESS_1 ? &progress : nullptr;
    };
  }
  std::vector<std::string> events;

 private:
  static std::vector<std::string>& events_of(const gantry_host* host) {
    return const_cast<WithProgress*>(static_cast<const WithProgress*>(host))->events;
  }
};

TEST(AnnouncedWork, EndsWithItsScope) {
  WithProgress table;
  {
    const AnnouncedWork work(Host(&table), "compiling");
    EXPECT_THAT(table.events, ElementsAre("begin compiling"));
  }

  EXPECT_THAT(table.events, ElementsAre("begin compiling", "end 7"));
}

TEST(AnnouncedWork, IsIgnoredByAHostWithoutTheExtension) {
  WithoutProgress table;

  const AnnouncedWork work(Host(&table), "compiling");

  EXPECT_TRUE(table.logged.empty());
}

}  // namespace
}  // namespace gantry::test
