// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/trust/trust.hpp"

#include "core/base/digest/digest.hpp"
#include "tests/support/manifest_builder.hpp"
#include "tests/support/minisign_signer.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gantry {
namespace {

using test::ManifestBuilder;
using test::MinisignSigner;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kLibrary = "the bytes of a library";
// 2026-07-01
constexpr std::int64_t kNow = 1782864000;

std::string digest_of(std::string_view text) {
  return hex_text(sha256({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}));
}

// A plugin of the administrator's tier in a temporary directory, with a trust file and a lock file.
class TrustTest : public testing::Test {
 protected:
  TrustTest() {
    manifest_.key("fake").set("sha256", "\"" + digest_of(kLibrary) + "\"");
    test::write_file(dir_ / "libfake.so", kLibrary);
  }

  std::string file(std::string_view name) const { return (dir_ / name).string(); }
  void write_trust(const std::string& text) const { test::write_file(dir_ / "trust.yaml", text); }
  void write_lock(const std::vector<LockEntry>& entries) const {
    test::write_file(dir_ / "plugins.lock", lock_file_text(entries));
  }
  void sign(const MinisignSigner& signer = MinisignSigner(), bool prehashed = true) const {
    test::write_file(dir_ / "a.yaml.minisig", signer.sign(manifest_.text(), prehashed));
  }
  static std::string key_line(const std::string& id, const std::string& more = "") {
    return "  - {id: " + id + ", public_key: \"" + MinisignSigner(id).public_key() + "\"" + more +
           "}\n";
  }
  Result<Trust> open(bool elevated = false) const {
    return Trust::open({file("trust.yaml"), file("plugins.lock"), "", elevated, kNow});
  }
  Candidate candidate() const {
    Candidate one;
    one.file = manifest_.write_to(dir_ / "a.yaml").string();
    one.name = "a.yaml";
    one.tier = Tier::admin;
    one.location_name = "/etc/gantry/plugins.d";
    one.manifest =
        std::make_shared<const Manifest>(read_manifest(manifest_.text(), one.file).value());
    return one;
  }
  LockEntry entry() const {
    return {"test.fake",
            "1.0.0",
            "1.0.0",
            file("a.yaml"),
            digest_of(manifest_.text()),
            file("libfake.so"),
            digest_of(kLibrary)};
  }

  // The refusal of the manifest, or an error without a text.
  Error refusal() {
    const Trust trust = open().value();
    Ownership ownership = trust.ownership();
    Candidate checked = candidate();
    const Status status = trust.check_manifest(checked, manifest_.text(), ownership, warnings_);
    return status.ok() ? Error{} : status.error();
  }
  // The refusal of the library after the manifest was checked.
  Error library_refusal() {
    const Trust trust = open().value();
    Ownership ownership = trust.ownership();
    Candidate checked = candidate();
    (void)trust.check_manifest(checked, manifest_.text(), ownership, warnings_);
    const auto library = MappedFile::open(dir_ / "libfake.so").value();
    const Status status = trust.check_library(*checked.manifest, *library);
    return status.ok() ? Error{} : status.error();
  }

  test::TempDir dir_;
  ManifestBuilder manifest_;
  std::vector<Message> warnings_;
};

TEST_F(TrustTest, AcceptsEveryPluginWithoutFiles) {
  EXPECT_EQ(refusal().message, "");
  EXPECT_EQ(library_refusal().message, "");
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(TrustTest, RefusesWritableFiles) {
  (void)candidate();
  ::chmod(file("a.yaml").c_str(), 0666);
  EXPECT_EQ(refusal().reason, "PERMISSIONS");
  ::chmod(file("a.yaml").c_str(), 0644);
  EXPECT_EQ(refusal().reason, "");

  ::chmod(file("libfake.so").c_str(), 0666);
  EXPECT_EQ(refusal().reason, "PERMISSIONS");
  EXPECT_EQ(library_refusal().reason, "PERMISSIONS");
}

TEST_F(TrustTest, RefusesAWritableDropIn) {
  Candidate changed = candidate();
  changed.drop_ins = {file("drop_in.yaml")};
  test::write_file(dir_ / "drop_in.yaml", "priority: 1\n");
  ::chmod(file("drop_in.yaml").c_str(), 0666);
  const Trust trust = open().value();
  Ownership ownership = trust.ownership();

  const Status status = trust.check_manifest(changed, manifest_.text(), ownership, warnings_);

  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("drop_in.yaml has mode 0666"));
}

TEST_F(TrustTest, AcceptsConfiguredOwners) {
  if (geteuid() != 0) GTEST_SKIP() << "only root changes owners";
  ASSERT_EQ(::chown(file("libfake.so").c_str(), 12345, 12345), 0);
  EXPECT_EQ(refusal().reason, "PERMISSIONS");
  write_trust("trusted_uids: [12345]\n");
  EXPECT_EQ(refusal().reason, "");
  EXPECT_EQ(library_refusal().reason, "");
}

TEST_F(TrustTest, RefusesALibraryWithAnotherDigest) {
  const std::string expected = digest_of(kLibrary);
  test::write_file(dir_ / "libfake.so", "other bytes");

  const Error error = library_refusal();

  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_EQ(error.reason, "DIGEST");
  EXPECT_EQ(error.message,
            concat(file("a.yaml"), " states sha256 ", expected, ", ", file("libfake.so"), " has ",
                   digest_of("other bytes"),
                   ": the two belong to different installations, or the library was changed"));
  EXPECT_EQ(refusal().message, "");
}

TEST_F(TrustTest, IgnoresTheBytesOfALibraryWithoutADigest) {
  manifest_.without("sha256");
  test::write_file(dir_ / "libfake.so", "other bytes");

  EXPECT_EQ(library_refusal().message, "");
}

TEST_F(TrustTest, AcceptsASignedManifest) {
  write_trust("keys:\n" + key_line("test") + "policies: {admin: require}\n");
  for (const bool prehashed : {false, true}) {
    sign(MinisignSigner(), prehashed);
    EXPECT_EQ(refusal().message, "") << prehashed;
  }
}

TEST_F(TrustTest, RefusesAMissingSignature) {
  write_trust("keys:\n" + key_line("test") + "policies: {admin: require}\n");

  const Error error = refusal();

  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_EQ(error.reason, "SIGNATURE_MISSING");
  EXPECT_EQ(error.message, file("a.yaml.minisig") +
                               " does not exist, and the manifests of /etc/gantry/plugins.d "
                               "(tier admin) need a signature");
}

TEST_F(TrustTest, AppliesThePolicyOfTheTier) {
  write_trust("policies: {default: require, admin: off}\n");

  EXPECT_EQ(refusal().message, "");
}

TEST_F(TrustTest, RefusesAChangedManifest) {
  write_trust("keys:\n" + key_line("test") + "policies: {admin: require}\n");
  sign();
  manifest_.set("priority", "7");

  const Error error = refusal();

  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_EQ(error.reason, "SIGNATURE_INVALID");
  EXPECT_THAT(error.message, HasSubstr(" with key test ("));
  EXPECT_THAT(error.message, HasSubstr("): one of the two files was changed"));
}

TEST_F(TrustTest, RefusesAMalformedSignature) {
  write_trust("keys:\n" + key_line("test") + "policies: {admin: require}\n");
  test::write_file(dir_ / "a.yaml.minisig", "untrusted comment: x\n");

  EXPECT_EQ(refusal().reason, "SIGNATURE_INVALID");

  test::write_file(dir_ / "a.yaml.minisig", std::string(16385, 'x'));
  EXPECT_EQ(refusal().reason, "SIGNATURE_INVALID");
}

TEST_F(TrustTest, RefusesAnUnknownKey) {
  write_trust("keys:\n" + key_line("test") + "policies: {admin: require}\n");
  sign(MinisignSigner("stranger"));

  const Error error = refusal();

  EXPECT_EQ(error.reason, "SIGNATURE_KEY");
  EXPECT_THAT(error.message, HasSubstr(file("trust.yaml") + " does not have among its 1 key"));
}

TEST_F(TrustTest, RefusesAnExpiredKeyFromTheNextDay) {
  const std::string old = key_line("test", ", expires: \"2026-06-30\"");
  const std::string now = key_line("test", ", expires: \"2026-07-01\"");
  const std::string policies = "policies: {admin: require}\n";
  sign();
  write_trust("keys:\n" + now + policies);
  EXPECT_EQ(refusal().message, "");

  write_trust("keys:\n" + old + key_line("next", ", replaces: test") + policies);

  const Error error = refusal();
  EXPECT_EQ(error.reason, "KEY_EXPIRED");
  EXPECT_THAT(error.message, HasSubstr("is signed with key test ("));
  EXPECT_THAT(error.message, HasSubstr("), which expired after 2026-06-30; key next ("));
  EXPECT_THAT(error.message,
              HasSubstr(") replaces it: install a version that is signed with a valid key"));
}

TEST_F(TrustTest, RefusesARevokedKey) {
  write_trust("keys:\n" + key_line("test", ", revoked: true") + "policies: {admin: require}\n");
  sign();

  const Error error = refusal();

  EXPECT_EQ(error.reason, "KEY_REVOKED");
  EXPECT_THAT(error.message, HasSubstr("which is revoked: install a version"));
}

TEST_F(TrustTest, AcceptsSeveralKeysWhileTheyRotate) {
  write_trust("keys:\n" + key_line("old", ", expires: \"2026-12-31\"") +
              key_line("new", ", replaces: old") + "policies: {admin: require}\n");
  for (const char* name : {"old", "new"}) {
    sign(MinisignSigner(name));
    EXPECT_EQ(refusal().message, "") << name;
  }
}

TEST_F(TrustTest, RefusesASignedManifestWithoutADigest) {
  write_trust("keys:\n" + key_line("test") + "policies: {admin: require}\n");
  manifest_.without("sha256");
  sign();

  const Error error = refusal();

  EXPECT_EQ(error.reason, "DIGEST_REQUIRED");
  EXPECT_EQ(error.message, file("a.yaml") +
                               " is signed and has no sha256 of its library: the "
                               "signature does not cover the library");
}

TEST_F(TrustTest, WarnsOnceWithPolicyWarn) {
  write_trust("keys:\n" + key_line("test") + "policies: {admin: warn}\n");

  EXPECT_EQ(refusal().message, "");
  EXPECT_THAT(warnings_,
              ElementsAre(Message(
                  "plugin test.fake 1.0.0: GANTRY-D254 SIGNATURE_MISSING: ", file("a.yaml.minisig"),
                  " does not exist, and the manifests of /etc/gantry/plugins.d (tier admin) need "
                  "a signature; it is used, because the policy of tier admin is warn")));
  sign();
  EXPECT_EQ(refusal().message, "");
  EXPECT_EQ(warnings_.size(), 1u);
}

// The signature is beside the manifest, not beside a link to it.
TEST_F(TrustTest, FindsTheSignatureOfALinkedManifest) {
  write_trust("keys:\n" + key_line("test") + "policies: {admin: require}\n");
  sign();
  std::filesystem::create_directories(dir_ / "links");
  Candidate linked = candidate();
  std::filesystem::create_symlink(linked.file, dir_ / "links/a.yaml");
  linked.file = file("links/a.yaml");
  const Trust trust = open().value();
  Ownership ownership = trust.ownership();

  EXPECT_TRUE(trust.check_manifest(linked, manifest_.text(), ownership, warnings_).ok());
}

TEST_F(TrustTest, AcceptsALockedPlugin) {
  write_lock({entry()});

  EXPECT_EQ(refusal().message, "");
  EXPECT_EQ(library_refusal().message, "");
}

TEST_F(TrustTest, RefusesAPluginThatIsNotLocked) {
  write_lock({});

  const Error error = refusal();

  EXPECT_EQ(error.reason, "LOCK_MISSING");
  EXPECT_EQ(error.message, "lock file " + file("plugins.lock") +
                               " does not list test.fake: if the plugin may be used, write the "
                               "file again");
}

TEST_F(TrustTest, RequiresAnEnforcedLockFile) {
  write_trust("lock: enforce\n");
  EXPECT_EQ(refusal().reason, "LOCK_MISSING");
  EXPECT_THAT(refusal().message, HasSubstr("plugins.lock does not exist, and "));

  write_lock({entry()});
  EXPECT_EQ(refusal().message, "");
}

TEST_F(TrustTest, RefusesAManifestThatDiffersFromItsLock) {
  write_lock({entry()});
  const std::string locked = digest_of(manifest_.text());
  manifest_.set("priority", "7");

  const Error error = refusal();

  EXPECT_EQ(error.reason, "LOCK_MISMATCH");
  EXPECT_EQ(error.message,
            concat("lock file ", file("plugins.lock"), " lists test.fake with manifest_sha256 ",
                   locked, ", found ", digest_of(manifest_.text()),
                   ": if the change is intended, write the file again"));
}

TEST_F(TrustTest, RefusesALibraryThatDiffersFromItsLock) {
  LockEntry other = entry();
  other.library_sha256 = std::string(64, '0');
  write_lock({other});

  EXPECT_EQ(refusal().message, "");
  const Error error = library_refusal();
  EXPECT_EQ(error.reason, "LOCK_MISMATCH");
  EXPECT_THAT(error.message, HasSubstr(" has " + digest_of(kLibrary)));

  // Another entry of the same id matches.
  write_lock({other, entry()});
  EXPECT_EQ(library_refusal().message, "");
}

TEST_F(TrustTest, RefusesAManifestAndALibraryOfTwoLockEntries) {
  LockEntry with_manifest = entry(), with_library = entry();
  with_manifest.library_sha256 = std::string(64, '0');
  with_library.manifest_sha256 = std::string(64, '1');
  write_lock({with_manifest, with_library});

  EXPECT_EQ(refusal().message, "");
  const Error error = library_refusal();
  EXPECT_EQ(error.reason, "LOCK_MISMATCH");
  EXPECT_THAT(error.message, HasSubstr("with library_sha256 " + std::string(64, '0')));
}

TEST_F(TrustTest, RefusesAnOlderVersionThanItsLockAllows) {
  LockEntry any;
  any.id = "test.fake";
  any.min_version = "1.0.1";
  write_lock({any});

  EXPECT_EQ(refusal().reason, "LOCK_MISMATCH");
  EXPECT_THAT(refusal().message, HasSubstr("lists test.fake with min_version 1.0.1, found 1.0.0"));
  any.min_version = "0.9.0";
  write_lock({any});
  EXPECT_EQ(refusal().message, "");
}

TEST_F(TrustTest, RefusesItsOwnFilesIfOthersCanChangeThem) {
  for (const char* name : {"trust.yaml", "plugins.lock"}) {
    write_trust("");
    write_lock({});
    ::chmod(file(name).c_str(), 0666);

    const auto trust = open();

    ASSERT_FALSE(trust.ok()) << name;
    EXPECT_EQ(trust.error().reason, "PERMISSIONS");
    EXPECT_THAT(trust.error().message, HasSubstr(std::string("while reading the ")));
    ::chmod(file(name).c_str(), 0644);
  }
}

TEST_F(TrustTest, ReportsAMalformedFile) {
  write_trust("policies: 1\n");
  EXPECT_THAT(open().error().message,
              HasSubstr("while reading the trust file " + file("trust.yaml")));
  write_trust("");
  test::write_file(dir_ / "plugins.lock", "plugins: 1\n");
  EXPECT_THAT(open().error().message,
              AllOf(HasSubstr("remove it and write it again with `gantry plugins lock`"),
                    HasSubstr("while reading the lock file " + file("plugins.lock"))));
}

}  // namespace
}  // namespace gantry
