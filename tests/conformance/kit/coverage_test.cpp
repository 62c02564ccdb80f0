// SPDX-License-Identifier: Apache-2.0
//
// For every case there is a fake that fails it.
#include "defects.hpp"
#include "kit_run.hpp"

#include <gmock/gmock.h>

#include <set>
#include <sstream>

namespace gantry::test {
namespace {

TEST(ConformanceCases, AreEachFailedByAFake) {
  const KitRun list = run_kit({"--list"});
  ASSERT_EQ(list.status, 0) << list.output;
  std::set<int> cases;
  std::istringstream lines(list.output);
  for (std::string line; std::getline(lines, line);) cases.insert(std::stoi(line));

  std::set<int> failed;
  for (const int number : cases_failed_by_files()) failed.insert(number);
  for (const int number : cases_failed_by_defects()) failed.insert(number);
  for (const int number : cases_failed_by_breaks()) failed.insert(number);

  EXPECT_EQ(failed, cases);
}

}  // namespace
}  // namespace gantry::test
