// SPDX-License-Identifier: Apache-2.0
//
// The reasons why a candidate is not used, each with a stable number and tag: GANTRY-D210
// ABI_RANGE.
//
//   D10x found   D11x D12x merged   D13x upgraded while in use   D15x D16x manifest
//   D21x D22x D23x versions and identity   D25x D26x trust   D30x D31x D32x D33x ELF and linking
//   D35x this host   D41x filters   D51x D52x D53x D54x probe   D60x create   D70x selection
//
// A new reason is a constant here and a row of the table in sdk/REASONS.md, which the build reads.
//
// Numbers and tags are never reused. A tag fits into gantry_status::reason. Reserved for later
// versions: D430 conflicts, D64x removal, D8xx payloads.
#pragma once

#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gantry {

struct Reason {
  // 0: none
  std::uint16_t number = 0;
  std::string_view tag;

  explicit operator bool() const { return number != 0; }
  bool operator==(const Reason&) const = default;
};

namespace reason {
// a listed manifest does not exist
constexpr Reason not_found{100, "NOT_FOUND"};
// no permission, or not a regular file
constexpr Reason unreadable{101, "UNREADABLE"};
// a directory contains several manifests
constexpr Reason manifest_directory{102, "MANIFEST_FOLDER"};
// masked by an empty file or a link to /dev/null
constexpr Reason masked{110, "MASKED"};
// replaced by a file of the same name in a higher location
constexpr Reason replaced_by{111, "REPLACED_BY"};
// a candidate of the same id has a higher tier, location or version
constexpr Reason shadowed_by{120, "SHADOWED_BY"};
// a candidate of the same id has the same library, or its manifest is the same file
constexpr Reason duplicate_of{121, "DUPLICATE_OF"};
// this process has opened another file by the path of the library, or the file was overwritten
constexpr Reason stale_mapped{130, "STALE_MAPPED"};
// this process has opened another version of the plugin
constexpr Reason restart_needed{131, "RESTART_NEEDED"};
constexpr Reason yaml_syntax{150, "YAML_SYNTAX"};
constexpr Reason yaml_duplicate_key{151, "YAML_DUPLICATE_KEY"};
constexpr Reason yaml_too_large{152, "YAML_TOO_LARGE"};
constexpr Reason yaml_not_utf8{153, "YAML_NOT_UTF8"};
constexpr Reason yaml_control_character{154, "YAML_CONTROL_CHARACTER"};
constexpr Reason yaml_tab{155, "YAML_TAB"};
constexpr Reason yaml_too_deep{156, "YAML_TOO_DEEP"};
constexpr Reason yaml_alias{157, "YAML_ALIAS"};
constexpr Reason yaml_tag{158, "YAML_TAG"};
constexpr Reason yaml_second_document{159, "YAML_SECOND_DOCUMENT"};
constexpr Reason yaml_type{160, "YAML_TYPE"};
constexpr Reason yaml_unknown_key{161, "YAML_UNKNOWN_KEY"};
constexpr Reason yaml_missing_key{162, "YAML_MISSING_KEY"};
constexpr Reason yaml_range{163, "YAML_RANGE"};
constexpr Reason schema_version{164, "SCHEMA_VERSION"};
constexpr Reason manifest_value{165, "MANIFEST_VALUE"};
constexpr Reason config_key{166, "CONFIG_KEY"};
constexpr Reason config_value{167, "CONFIG_VALUE"};
constexpr Reason drop_in_key{168, "DROP_IN_KEY"};
constexpr Reason abi_range{210, "ABI_RANGE"};
constexpr Reason struct_size{212, "STRUCT_SIZE"};
constexpr Reason query_missing{220, "QUERY_MISSING"};
constexpr Reason function_missing{221, "FUNCTION_MISSING"};
constexpr Reason table_limit{222, "TABLE_LIMIT"};
constexpr Reason key_duplicate{223, "KEY_DUPLICATE"};
constexpr Reason key_not_offered{224, "KEY_NOT_OFFERED"};
constexpr Reason query_failed{225, "QUERY_FAILED"};
constexpr Reason id_mismatch{230, "ID_MISMATCH"};
constexpr Reason version_mismatch{230, "VERSION_MISMATCH"};
constexpr Reason abi_mismatch{231, "ABI_MISMATCH"};
constexpr Reason note_missing{232, "NOTE_MISSING"};
constexpr Reason note_invalid{233, "NOTE_INVALID"};
// the library has another digest than its manifest states
constexpr Reason digest{251, "DIGEST"};
// others than trusted users can change a file or a directory of its path
constexpr Reason permissions{252, "PERMISSIONS"};
constexpr Reason replaced_during_load{253, "REPLACED_DURING_LOAD"};
constexpr Reason signature_missing{254, "SIGNATURE_MISSING"};
// a variable that is not used: by a process with more privileges than its caller, or with
// environment: deny
constexpr Reason environment_ignored{255, "ENVIRONMENT_IGNORED"};
constexpr Reason signature_invalid{256, "SIGNATURE_INVALID"};
// signed with a key that the trust file does not have
constexpr Reason signature_key{257, "SIGNATURE_KEY"};
constexpr Reason key_expired{258, "KEY_EXPIRED"};
constexpr Reason key_revoked{259, "KEY_REVOKED"};
// a signed manifest without sha256
constexpr Reason digest_required{260, "DIGEST_REQUIRED"};
// the lock file does not list the plugin, or does not exist
constexpr Reason lock_missing{261, "LOCK_MISSING"};
constexpr Reason lock_mismatch{262, "LOCK_MISMATCH"};
constexpr Reason not_elf{300, "NOT_ELF"};
constexpr Reason truncated{301, "TRUNCATED"};
constexpr Reason not_a_file{302, "NOT_A_FILE"};
constexpr Reason executable{303, "EXECUTABLE"};
constexpr Reason elf_broken{304, "ELF_BROKEN"};
constexpr Reason library_missing{305, "LIBRARY_MISSING"};
constexpr Reason library_path{306, "LIBRARY_PATH"};
constexpr Reason library_size{307, "LIBRARY_SIZE"};
// no permission, or an error of the file system
constexpr Reason library_unreadable{308, "LIBRARY_UNREADABLE"};
// no descriptor or memory is left; the plugin is tried again
constexpr Reason exhausted{309, "EXHAUSTED"};
constexpr Reason wrong_machine{310, "WRONG_MACHINE"};
constexpr Reason page_size{311, "PAGE_SIZE"};
constexpr Reason exec_stack{320, "EXEC_STACK"};
constexpr Reason static_tls{321, "STATIC_TLS"};
constexpr Reason sanitizer{322, "SANITIZER"};
constexpr Reason lib_needed_missing{330, "LIB_NEEDED_MISSING"};
constexpr Reason symbol_missing{331, "SYMBOL_MISSING"};
constexpr Reason version_needed{332, "VERSION_NEEDED"};
// any other error of the system's loader
constexpr Reason linker{333, "LINKER"};
constexpr Reason isa{350, "ISA"};
constexpr Reason target{351, "TARGET"};
constexpr Reason no_device_node{352, "NO_DEVICE_NODE"};
constexpr Reason driver_missing{353, "DRIVER_MISSING"};
constexpr Reason file_missing{354, "FILE_MISSING"};
constexpr Reason driver_too_old{355, "DRIVER_TOO_OLD"};
constexpr Reason filtered{410, "FILTERED"};
constexpr Reason disabled{411, "DISABLED"};
// in a child process that opens the plugin, before this process does
constexpr Reason probe_crashed{510, "PROBE_CRASHED"};
constexpr Reason probe_exited{511, "PROBE_EXITED"};
constexpr Reason probe_aborted{512, "PROBE_ABORTED"};
constexpr Reason probe_timeout{520, "PROBE_TIMEOUT"};
constexpr Reason probe_output{521, "PROBE_OUTPUT"};
// several of these
constexpr Reason quarantined{530, "QUARANTINED"};
// the program gantry-probe is not found
constexpr Reason probe_missing{540, "PROBE_MISSING"};
// it does not start, ends before it opens the plugin, or resolves other options
constexpr Reason probe_failed{541, "PROBE_FAILED"};
// True for those of the probe, from probe_crashed to probe_failed.
constexpr bool is_of_probe(std::uint16_t number) {
  return number >= probe_crashed.number && number <= probe_failed.number;
}
constexpr Reason create_failed{600, "CREATE_FAILED"};
// found by opening the plugin in a child process
constexpr Reason driver_ended{601, "DRIVER_ENDED"};
// an exception left destroy
constexpr Reason destroy_failed{602, "DESTROY_FAILED"};
constexpr Reason no_plugin{700, "NO_PLUGIN"};
// another candidate has precedence
constexpr Reason not_chosen{701, "NOT_CHOSEN"};
// the override names a plugin that does not serve the key
constexpr Reason pin_unserved{702, "PIN_UNSERVED"};
}  // namespace reason

// A reason with the texts of its row in sdk/REASONS.md.
struct CataloguedReason {
  Reason reason;
  // "a needed library is not found", "install the package that contains the library"
  std::string_view meaning, remedy;
};

// All reasons, by number. Two may share a number.
std::span<const CataloguedReason> all_reasons();

// Returns the reason with that tag; its number is 0 for other tags.
Reason reason_of(std::string_view tag);
inline Reason reason_of(const Error& error) { return reason_of(error.reason); }

// "GANTRY-D210 ABI_RANGE"
std::string name_of(const Reason& reason);

}  // namespace gantry
