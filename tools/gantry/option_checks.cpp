// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/option_checks.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace gantry::cli {

std::string one_line(const Error& error) {
  std::string text = error.message.text();
  for (std::size_t at = text.find('\n'); at != text.npos; at = text.find('\n', at)) {
    const std::size_t next = text.find_first_not_of(" \n", at);
    text.replace(at, std::min(next, text.size()) - at, "; ");
  }
  if (error.offset != no_offset) text += concat(" (offset ", error.offset, ")");
  return text;
}

CLI::Option* add_text(CLI::App& app, const std::string& name, const std::string& type,
                      std::string& value, const std::string& description) {
  return app.add_option(name, value, description)->type_name(type)->check(not_empty());
}

CLI::Option* add_repeatable(CLI::App& app, const std::string& name, const std::string& type,
                            std::vector<std::string>& values, const std::string& description,
                            const CLI::Validator& check) {
  return app.add_option(name, values, description)
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all()
      ->type_name(type)
      ->check(check);
}

void add_load(CLI::App& app, LoadOptions& options) {
  CLI::Option* missing =
      app.add_flag("--allow-missing", options.allow_missing,
                   "load modules that have a plugin; fail only when another one is called");
  app.add_flag("--strict", options.strict,
               "refuse kernels without a plugin, even of devices that the model does not use")
      ->excludes(missing);
  app.add_flag("--allow-executable-stack", options.allow_executable_stack,
               "load a library that makes the stacks of the process executable");
}

CLI::Option* add_weights(CLI::App& app, std::string& path) {
  return add_text(
      app, "--weights", "FILE", path,
      "directory of weights, FILE.npz or FILE.params, for inputs with their names or for "
      "a tuple of them");
}

CLI::Validator not_empty() {
  return CLI::Validator(
      [](std::string& text) { return text.empty() ? std::string("is empty") : std::string(); }, "");
}

CLI::Validator array_output() {
  return CLI::Validator(
      [](std::string& text) {
        if (text == "-" || text.ends_with(".npy") || text.ends_with(".npz")) return std::string();
        std::error_code ignored;
        const auto status = std::filesystem::status(text, ignored);
        const bool stream =
            std::filesystem::is_fifo(status) || std::filesystem::is_character_file(status);
        return stream ? std::string()
                      : concat(quoted(text),
                               " has the wrong suffix, expected FILE.npz, FILE.npy "
                               "or - for standard output");
      },
      "");
}

CLI::Validator script_output() {
  return CLI::Validator(
      [](std::string& text) {
        const bool has_name = std::filesystem::path(text).extension() == ".json";
        return has_name ? std::string()
                        : concat(quoted(text), " has the wrong suffix, expected FILE.json");
      },
      "");
}

CLI::Option* add_driver_timeout(CLI::App& app, int& seconds) {
  return app
      .add_option("--timeout", seconds,
                  concat("time for the driver of one plugin, default ", seconds))
      ->check(in_range(1, 3600))
      ->type_name("SECONDS");
}

CLI::Validator tolerance() {
  return CLI::Validator(
      [](std::string& text) {
        const auto value = parse_number<double>(text);
        const bool good = value && std::isfinite(*value) && !std::signbit(*value);
        return good ? std::string()
                    : concat("tolerance is ", quoted(text), ", expected a finite number >= 0");
      },
      "");
}

}  // namespace gantry::cli
