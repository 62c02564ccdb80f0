// SPDX-License-Identifier: Apache-2.0
//
// Cases 6 to 10 and 14: how the system's linker treats the library.
#include "core/base/reason.hpp"
#include "core/formats/elf/elf_machine.hpp"
#include "core/plugins/manifest/machine_traits.hpp"
#include "tools/conformance/static/check_case.hpp"

#include <gantry/join.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

namespace gantry {
namespace {

// Bytes that every system has for libraries that are opened later.
constexpr std::uint64_t kMaxStaticTls = 256;

std::string problems_with(const CheckSubject& subject, const Reason& reason) {
  std::string text;
  for (const Error& problem : subject.needed.problems) {
    if (problem.reason != reason.tag) continue;
    if (!text.empty()) text += '\n';
    text += problem.message.text();
  }
  return text;
}

// "$ORIGIN", "${ORIGIN}/lib"
bool is_beside_the_library(std::string_view directory) {
  for (const std::string_view origin : {"$ORIGIN", "${ORIGIN}"}) {
    if (!directory.starts_with(origin)) continue;
    const std::string_view rest = directory.substr(origin.size());
    if (rest.empty() || rest.starts_with('/')) return true;
  }
  return false;
}

// Appends the directories of DT_RPATH or DT_RUNPATH that are not relative to the library.
void add_foreign(std::string_view tag, std::string_view list, std::vector<std::string>& foreign) {
  for (;;) {
    const std::size_t colon = list.find(':');
    const std::string_view one = list.substr(0, colon);
    if (!is_beside_the_library(one)) {
      foreign.push_back(one.empty() ? concat(tag, " \"\", the working directory")
                                    : concat(tag, " ", one));
    }
    if (colon == std::string_view::npos) return;
    list.remove_prefix(colon + 1);
  }
}

// The release of glibc that has a version: "2.34" for GLIBC_2.34; empty for other libraries.
std::string_view glibc_release(std::string_view version) {
  constexpr std::string_view family = "GLIBC_";
  if (!version.starts_with(family)) return "";
  // packed relative relocations
  if (version == "GLIBC_ABI_DT_RELR") return "2.36";
  return version.substr(family.size());
}

// "2.28" of "glibc>=2.28"; empty if the manifest declares none.
std::string_view declared_glibc(const Manifest& manifest) {
  constexpr std::string_view prefix = "glibc>=";
  for (const std::string_view target : manifest.targets.libc) {
    if (target.starts_with(prefix)) return target.substr(prefix.size());
  }
  return "";
}

bool is_base_library(std::string_view soname) {
  constexpr std::string_view base[] = {"libc.so.6",
                                       "libm.so.6",
                                       "libdl.so.2",
                                       "libpthread.so.0",
                                       "librt.so.1",
                                       "libstdc++.so.6",
                                       "libgcc_s.so.1",
                                       "libatomic.so.1",
                                       "ld-linux-x86-64.so.2",
                                       "ld-linux-aarch64.so.1"};
  // runtimes of sanitizers, with a version that depends on the compiler's
  constexpr std::string_view sanitizers[] = {"libasan.so.", "libubsan.so.", "libtsan.so.",
                                             "liblsan.so."};
  return std::find(std::begin(base), std::end(base), soname) != std::end(base) ||
         std::any_of(std::begin(sanitizers), std::end(sanitizers),
                     [&](std::string_view start) { return soname.starts_with(start); });
}

}  // namespace

namespace check_case {

CaseResult needed_libraries(const CheckSubject& subject) {
  if (!subject.is_for_this_machine) {
    return CaseResult::skipped("the library is for another machine");
  }
  const std::string missing = problems_with(subject, reason::lib_needed_missing);
  if (!missing.empty()) {
    return CaseResult::failed(missing,
                              "\ninstall the libraries beside the plugin and link it with "
                              "-Wl,-rpath,'$ORIGIN', or depend on the packages that have them");
  }
  return CaseResult::passed(subject.needed.libraries.size() - 1,
                            " libraries are found without LD_LIBRARY_PATH");
}

CaseResult search_paths(const CheckSubject& subject) {
  std::vector<std::string> foreign;
  const DynamicSegment& dynamic = subject.elf.dynamic();
  if (dynamic.find(dynamic_tag::rpath)) add_foreign("DT_RPATH", subject.elf.rpath(), foreign);
  if (dynamic.find(dynamic_tag::runpath)) {
    add_foreign("DT_RUNPATH", subject.elf.runpath(), foreign);
  }
  if (!foreign.empty()) {
    return CaseResult::failed(
        join(foreign), ": only $ORIGIN and directories below it exist on other machines, link it ",
        "with -Wl,-rpath,'$ORIGIN'");
  }
  return CaseResult::passed("only directories relative to the library");
}

CaseResult protection(const CheckSubject& subject) {
  const ElfFlags& flags = subject.elf.flags();
  std::vector<std::string> defects;
  if (const std::string_view cause = executable_stack_cause(subject.elf); !cause.empty())
    defects.push_back(concat(cause, ": link it with -Wl,-z,noexecstack"));
  if (flags.text_relocations) {
    defects.emplace_back("has text relocations: compile it with -fPIC");
  }
  if (!flags.relro) defects.emplace_back("has no PT_GNU_RELRO segment: link it with -Wl,-z,relro");
  if (!flags.bind_now) defects.emplace_back("binds its symbols late: link it with -Wl,-z,now");
  if (!defects.empty()) return CaseResult::failed(join(defects, "\n"));
  return CaseResult::passed("RELRO, bound at load, no executable stack, no text relocations");
}

CaseResult static_tls(const CheckSubject& subject) {
  const std::uint64_t size = subject.elf.flags().static_tls ? subject.elf.tls_size() : 0;
  if (size <= kMaxStaticTls) {
    return CaseResult::passed(size, " bytes of static thread-local storage");
  }
  return CaseResult::failed("requires ", size, " bytes of static thread-local storage, limit is ",
                            kMaxStaticTls, ": compile it with -ftls-model=global-dynamic");
}

CaseResult symbol_versions(const CheckSubject& subject) {
  const std::string_view floor = declared_glibc(subject.manifest);
  std::string_view highest;
  for (const ElfVersionNeed& need : subject.elf.version_needs()) {
    const std::string_view release = glibc_release(need.version);
    if (!need.weak && version_less(highest, release)) highest = release;
  }
  if (!floor.empty() && version_less(floor, highest)) {
    return CaseResult::failed("needs glibc ", highest, ", targets.libc declares glibc>=", floor,
                              ": build it on a system with glibc ", floor,
                              ", or declare glibc>=", highest);
  }
  const std::string newer = problems_with(subject, reason::version_needed);
  if (!newer.empty()) return CaseResult::failed(newer);
  const std::string found =
      highest.empty() ? "needs no version of glibc" : concat("needs glibc ", highest);
  if (floor.empty()) {
    return CaseResult::skipped(found, "; targets.libc declares no lowest version to compare with");
  }
  return CaseResult::passed(found, ", declared is ", floor);
}

CaseResult self_contained(const CheckSubject& subject) {
  if (!subject.manifest.self_contained) {
    return CaseResult::skipped("the manifest does not declare self_contained");
  }
  const auto& drivers = subject.manifest.needs.libraries;
  std::vector<std::string_view> others;
  for (const std::string_view soname : subject.elf.needed()) {
    const bool is_driver = std::any_of(drivers.begin(), drivers.end(),
                                       [&](const auto& driver) { return driver.soname == soname; });
    if (!is_driver && !is_base_library(soname)) others.push_back(soname);
  }
  if (others.empty()) return CaseResult::passed("needs only the libraries of every system");
  return CaseResult::failed("needs ", join(others),
                            ": link them statically, list drivers in requires.libraries, or "
                            "declare self_contained: false");
}

}  // namespace check_case
}  // namespace gantry
