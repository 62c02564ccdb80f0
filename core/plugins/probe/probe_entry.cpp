// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/probe/probe_entry.hpp"

#include "core/plugins/probe/probe_record.hpp"

#include <gantry/byte_reader.hpp>

namespace gantry {
namespace {

// Path length and four numbers.
constexpr std::uint64_t kMinFileBytes = 40;

Result<ProbeEnd> read_end(ByteReader& in) {
  ProbeEnd end;
  GANTRY_TRY(const std::uint8_t outcome, in.read_u8("outcome"));
  GANTRY_TRY(const std::uint8_t stage, in.read_u8("stage"));
  if (outcome >= kProbeOutcomes || stage >= kProbeStages)
    return malformed(in.offset(), "outcome is ", outcome, ", stage is ", stage);
  end.outcome = static_cast<ProbeOutcome>(outcome);
  end.stage = static_cast<ProbeStage>(stage);
  // A refusal is never stored.
  if (end.outcome == ProbeOutcome::refused) return malformed(in.offset(), "it is a refusal");
  GANTRY_TRY(end.elapsed_ms, in.read_u32("elapsed"));
  GANTRY_TRY(end.limit_ms, in.read_u32("limit"));
  GANTRY_TRY(end.exit_status, in.read_i32("exit status"));
  GANTRY_TRY(end.signal, in.read_i32("signal"));
  GANTRY_TRY(const std::uint8_t has_address, in.read_u8("address"));
  GANTRY_TRY(const std::uint64_t address, in.read_u64("address"));
  if (has_address != 0) end.address = address;
  GANTRY_TRY(const std::uint8_t is_left, in.read_u8("left"));
  end.is_left = is_left != 0;
  GANTRY_TRY(const std::string_view lines, in.read_string("last lines"));
  end.last_lines = lines;
  return end;
}

Result<ProbedFile> read_file(ByteReader& in) {
  ProbedFile file;
  GANTRY_TRY(const std::string_view path, in.read_string("path"));
  file.path = path;
  GANTRY_TRY(file.device, in.read_u64("device"));
  GANTRY_TRY(file.inode, in.read_u64("inode"));
  GANTRY_TRY(file.size, in.read_u64("size"));
  GANTRY_TRY(file.modified_ns, in.read_i64("time"));
  return file;
}

}  // namespace

std::string to_bytes(const ProbeEntry& entry) {
  ByteText out;
  out.text(entry.host).text(entry.boot);
  const ProbeEnd& end = entry.end;
  out.number(end.outcome).number(end.stage).number(end.elapsed_ms).number(end.limit_ms);
  out.number(end.exit_status).number(end.signal);
  out.number(std::uint8_t{end.address.has_value()}).number(end.address.value_or(0));
  out.number(std::uint8_t{end.is_left});
  out.text(end.last_lines).number(entry.strikes).number(entry.time_s);
  out.number(std::uint64_t{entry.files.size()});
  for (const ProbedFile& file : entry.files) {
    out.text(file.path).number(file.device).number(file.inode).number(file.size);
    out.number(file.modified_ns);
  }
  return out.bytes();
}

Result<ProbeEntry> read_probe_entry(std::span<const std::uint8_t> bytes) {
  ByteReader in(bytes);
  ProbeEntry entry;
  GANTRY_TRY(const std::string_view host, in.read_string("host"));
  GANTRY_TRY(const std::string_view boot, in.read_string("boot"));
  entry.host = host;
  entry.boot = boot;
  GANTRY_TRY(entry.end, read_end(in));
  GANTRY_TRY(entry.strikes, in.read_u32("strikes"));
  GANTRY_TRY(entry.time_s, in.read_i64("time"));
  GANTRY_TRY(const std::uint64_t count, in.read_count(kMinFileBytes, "files"));
  for (std::uint64_t i = 0; i < count; ++i) {
    GANTRY_TRY(ProbedFile file, read_file(in));
    entry.files.push_back(std::move(file));
  }
  if (!in.at_end()) return malformed(in.offset(), in.left(), " bytes follow the last file");
  return entry;
}

}  // namespace gantry
