// SPDX-License-Identifier: Apache-2.0
//
// `gantry inspect --draw`, compared with expected files that tests/golden/update writes.
#include "tests/golden/cli_command.hpp"
#include "tests/golden/expected_text.hpp"
#include "tests/support/files.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <vector>

namespace gantry::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Graphviz, which a machine may have, is not found.
const std::vector<std::string> without_graphviz{"PATH=/none"};

struct DrawnFile {
  std::string file, form;
};
class Drawing : public ::testing::TestWithParam<DrawnFile> {};

TEST_P(Drawing, IsTheExpectedOne) {
  const auto& [file, form] = GetParam();

  const Outcome inspect = run_gantry({"inspect", file, "--draw", form}, without_graphviz);

  EXPECT_EQ(inspect.status, 0);
  EXPECT_THAT(inspect.err, IsEmpty());
  EXPECT_EQ(inspect.out, expected(file + ".draw." + form));
}

INSTANTIATE_TEST_SUITE_P(Golden, Drawing,
                         ::testing::Values(DrawnFile{"tvm-0.12/digits_mlp_c.so", "svg"},
                                           DrawnFile{"tvm-0.12/digits_mlp_dnnl.so", "dot"},
                                           DrawnFile{"tvm-0.12/digits_mlp_vm_llvm.so", "dot"},
                                           DrawnFile{"relax/control_flow_llvm.so", "dot"},
                                           DrawnFile{"relax/control_flow_llvm.so", "svg"}),
                         [](const auto& test) {
                           std::string name = fs::path(test.param.file).stem().string();
                           return name + "_" + test.param.form;
                         });

TEST(Draw, FoldsAThousandOperators) {
  const Outcome page =
      run_gantry({"inspect", "tvm-0.12/chain1000.so", "--draw", "html"}, without_graphviz);
  const Outcome picture =
      run_gantry({"inspect", "tvm-0.12/chain1000.so", "--draw", "svg"}, without_graphviz);
  const Outcome dot = run_gantry({"inspect", "tvm-0.12/chain1000.so", "--draw", "dot"});

  EXPECT_EQ(page.status, 0) << page.err;
  EXPECT_THAT(page.out, HasSubstr("data-opens=\"s41\""));
  EXPECT_THAT(page.out, HasSubstr("<article class=\"sheet\" id=\"s41\""));
  EXPECT_THAT(picture.out, HasSubstr(">24 operators</text>"));
  EXPECT_THAT(picture.out, Not(HasSubstr("data-opens")));
  EXPECT_THAT(dot.out, HasSubstr("    f0n1001 [label=\"output"));
}

TEST(Draw, IsColouredByWhatBenchPrints) {
  const TempDir temp;
  write_file(temp / "bench.json",
             R"({"function": null, "operators": [)"
             R"({"name": "tvmgen_default_fused_nn_softmax", "mean_ns": 1000},)"
             R"({"name": "tvmgen_default_fused_nn_contrib_dense_pack_add", "mean_ns": 3000}]})");

  const Outcome picture = run_gantry({"inspect", "tvm-0.12/digits_mlp_c.so", "--draw", "svg",
                                      "--profile", (temp / "bench.json").string()},
                                     without_graphviz);

  EXPECT_EQ(picture.status, 0) << picture.err;
  EXPECT_THAT(picture.out, HasSubstr("<g class=\"n call h3\"><title>fused_nn_softmax&#10;"));
  EXPECT_THAT(picture.out, HasSubstr(">25.0 %, 1.00 us</text>"));
  EXPECT_THAT(picture.out,
              HasSubstr("<g class=\"n call h8\"><title>fused_nn_contrib_dense_pack_add&#10;"));
  EXPECT_THAT(picture.out, HasSubstr(">75.0 %; not drawn: 0.0 %</text>"));
}

TEST(Draw, LeavesNoFileAfterAnError) {
  const TempDir temp;
  const std::string output = (temp / "out.svg").string(), profile = (temp / "p.json").string();
  const auto draw = [&](const std::string& file, const std::vector<std::string>& more) {
    std::vector<std::string> args{"inspect", file, "--draw", "svg", "-o", output};
    args.insert(args.end(), more.begin(), more.end());
    return run_gantry(args, without_graphviz);
  };
  write_file(profile, "{\"operators\": [1");
  const Outcome malformed = draw("tvm-0.12/digits_mlp_c.so", {"--profile", profile});
  write_file(profile, R"({"operators": [{"name": "other", "mean_ns": 1}]})");
  const Outcome other = draw("tvm-0.12/digits_mlp_c.so", {"--profile", profile});
  const Outcome missing = draw("tvm-0.12/digits_mlp_c.so", {"--profile", output});
  const Outcome no_graph = draw("tvm-0.12/axpy2_c.so", {});

  EXPECT_EQ(malformed.status, 1);
  EXPECT_EQ(malformed.err,
            "gantry: profile is not JSON: ends after \"{\\\"operators\\\": [1\" (offset 0x10)\n"
            "  in \"" +
                profile + "\"\n");
  EXPECT_EQ(other.err,
            "gantry: profile has 1 operator, none of which the file has: it is of another file\n"
            "  in \"" +
                profile + "\"\n");
  EXPECT_EQ(missing.status, 1);
  EXPECT_EQ(no_graph.err,
            "gantry: \"tvm-0.12/axpy2_c.so\" is a shared library without a graph and without code "
            "of a virtual machine that can be drawn\n");
  EXPECT_FALSE(fs::exists(output));

  write_file(output, "earlier");
  EXPECT_EQ(draw("tvm-0.12/axpy2_c.so", {}).status, 1);
  EXPECT_EQ(text_in(output), "earlier");
  EXPECT_EQ(draw("tvm-0.12/digits_mlp_c.so", {}).status, 0);
  EXPECT_EQ(text_in(output), expected("tvm-0.12/digits_mlp_c.so.draw.svg"));
  // the output and the profile
  EXPECT_EQ(std::distance(fs::directory_iterator(temp / ""), fs::directory_iterator()), 2);
}

TEST(Draw, DoesNotReplaceWhatItReads) {
  const TempDir temp;
  const std::string profile = (temp / "p.json").string();
  write_file(profile, R"({"operators": []})");

  const Outcome draw = run_gantry({"inspect", "tvm-0.12/digits_mlp_c.so", "--draw", "svg",
                                   "--profile", profile, "-o", profile});

  EXPECT_EQ(draw.status, 1);
  EXPECT_EQ(text_in(profile), R"({"operators": []})");
}

// A program in place of Graphviz.
std::vector<std::string> graphviz(const TempDir& temp, const std::string& script) {
  write_file(temp / "dot", "#!/bin/sh\n" + script);
  fs::permissions(temp / "dot", fs::perms::owner_all);
  return {"PATH=" + (temp / "").string()};
}

TEST(Draw, PlacesNodesWithGraphviz) {
  const TempDir temp;
  std::string script = "[ \"$1\" = -Tplain ] || exit 1\necho 'graph 1 10 20'\n";
  for (int i = 0; i < 6; ++i)
    script += "echo 'node n" + std::to_string(i) + " 5 " + std::to_string(i) + " 1 1'\n";
  const auto environment = graphviz(temp, script + "echo stop\n");

  const Outcome draw =
      run_gantry({"inspect", "tvm-0.12/digits_mlp_c.so", "--draw", "svg"}, environment);

  EXPECT_EQ(draw.status, 0) << draw.err;
  EXPECT_THAT(draw.err, IsEmpty());
  // ten inches and two margins
  EXPECT_THAT(draw.out, HasSubstr("viewBox=\"0 0 744 "));
}

TEST(Draw, WarnsIfGraphvizFails) {
  const TempDir temp;

  const Outcome fails = run_gantry({"inspect", "tvm-0.12/digits_mlp_c.so", "--draw", "svg"},
                                   graphviz(temp, "exit 3\n"));
  const Outcome prints = run_gantry({"inspect", "tvm-0.12/digits_mlp_c.so", "--draw", "svg"},
                                    graphviz(temp, "echo graph\n"));

  EXPECT_EQ(fails.status, 0);
  EXPECT_EQ(fails.err, "gantry: warning: dot has failed or not ended in 30 s\n");
  EXPECT_EQ(prints.err, "gantry: warning: dot has printed a line that is not of -Tplain\n");
  EXPECT_EQ(fails.out, expected("tvm-0.12/digits_mlp_c.so.draw.svg"));
}

TEST(Draw, ExcludesOtherForms) {
  for (const std::string option : {"--json", "--code", "--verify"}) {
    EXPECT_EQ(run_gantry({"inspect", "tvm-0.12/digits_mlp_c.so", "--draw", "svg", option}).status,
              2)
        << option;
  }
  EXPECT_EQ(run_gantry({"inspect", "tvm-0.12/digits_mlp_c.so", "-o", "/tmp/x"}).status, 2);
  EXPECT_EQ(run_gantry({"inspect", "tvm-0.12/digits_mlp_c.so", "--draw", "png"}).status, 2);
}

}  // namespace
}  // namespace gantry::test
