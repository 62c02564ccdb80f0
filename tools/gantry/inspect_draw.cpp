// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/inspect_draw.hpp"

#include "core/base/output_file.hpp"
#include "core/base/text_file.hpp"
#include "core/engine/runtime/environment.hpp"
#include "tools/gantry/draw/dot.hpp"
#include "tools/gantry/draw/page.hpp"
#include "tools/gantry/draw/profile.hpp"
#include "tools/gantry/session.hpp"

#include <gantry/quoted.hpp>

#include <filesystem>
#include <string>
#include <utility>

namespace gantry::cli {
namespace {

// Of real files of `gantry bench --json`, each operator takes about 100 bytes.
constexpr std::size_t max_profile_bytes = 16 << 20;

Status add_times(const std::string& file, Drawing& drawing) {
  GANTRY_TRY(const std::string text, read_text_file(file, max_profile_bytes));
  GANTRY_TRY(const Profile profile, read_profile(text));
  return add_profile(profile, drawing);
}

}  // namespace

PlacedDrawing placed_here(Drawing drawing, const Globals& globals) {
  const Environment environment = read_environment();
  ProgramSearch search;
  if (!environment.program_path.empty()) search.path = environment.program_path;
  search.allow_relative = !environment.elevated;
  const std::filesystem::path temporary =
      environment.temporary_directory.empty() ? "/tmp" : environment.temporary_directory;
  std::string warning;
  PlacedDrawing made = placed(std::move(drawing), search, temporary, warning);
  if (!warning.empty() && !globals.quiet) warn(Message(warning));
  return made;
}

Status write_drawing(const InspectReport& report, const DrawOptions& options,
                     const Globals& globals) {
  const std::string path = options.output.empty() ? "-" : options.output;
  GANTRY_TRY(OutputFile output,
             OutputFile::open(path, input_files(globals, {report.file, options.profile})));
  GANTRY_TRY(Drawing drawing, drawing_of(report));
  if (!options.profile.empty()) {
    Status added = add_times(options.profile, drawing);
    if (!added.ok()) return std::move(added).error().at("in ", quoted(options.profile));
  }
  std::string text;
  const TextSink sink = [&](std::string_view piece) { text += piece; };
  if (options.form == "dot") {
    write_dot(drawing, sink);
  } else if (options.form == "svg") {
    write_svg(placed_here(std::move(drawing), globals), sink);
  } else {
    write_page(placed_here(std::move(drawing), globals), sink);
  }
  return output.finish(text);
}

}  // namespace gantry::cli
