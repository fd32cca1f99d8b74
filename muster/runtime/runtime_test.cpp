#include "muster/runtime/runtime.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "muster/drivers/tcp/testing/certificates.h"
#include "muster/net/token_file.h"

namespace muster {
namespace {

using msg::Proxy;
using std::chrono::seconds;

class RuntimeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "runtime-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    options.token.file = folder + "/token";
    options.registry.folder = folder + "/groups";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string folder;
  RuntimeOptions options;
};

TEST_F(RuntimeTest, HasAllThatTwoComponentsNeedToTalk) {
  ASSERT_TRUE(net::rotate_token_file(options.token.file, seconds(0)));
  const auto here = Runtime::make(options);
  ASSERT_TRUE(here) << here.error().describe();
  const auto there = Runtime::make(options);
  ASSERT_TRUE(there) << there.error().describe();
  const auto worker = (*there)->start({.group = "demo", .type = "worker", .name = "worker_1"});
  ASSERT_TRUE(worker) << worker.error().describe();
  const auto master = (*here)->join(
      {.group = "demo", .type = "master", .expected = {{.type = "worker"}}}, seconds(60));
  ASSERT_TRUE(master) << master.error().describe();
  EXPECT_EQ((*master)->name().size(), std::string("master_").size() + 16) << "64 random bits";
  EXPECT_FALSE((*master)->peer("worker_1")->driver.empty());

  const auto id = (*master)->isend({.tag = "greet", .destination = "worker_1", .body = "hello"});
  ASSERT_TRUE(id);
  const auto greeting = *(*worker)->receive_once(seconds(60));
  ASSERT_TRUE(greeting);
  EXPECT_TRUE((*worker)->reply(*greeting, "hello back"));
  const auto replies = (*master)->receive_by_id({*id}, seconds(60));
  ASSERT_TRUE(replies && replies->is_complete());
  EXPECT_EQ(replies->messages[0].body(), wire::Value("hello back"));
}

TEST_F(RuntimeTest, FollowsATokenThatIsReplacedWhileItRuns) {
  ASSERT_TRUE(net::rotate_token_file(options.token.file, seconds(0)));
  const auto early = *Runtime::make(options);
  const auto worker = *early->start({.group = "demo", .type = "worker", .name = "worker_1"});
  // Nothing of the old one is accepted any more.
  ASSERT_TRUE(net::rotate_token_file(options.token.file, seconds(0)));
  const auto late = *Runtime::make(options);
  const auto master = late->join(
      {.group = "demo", .type = "master", .expected = {{.type = "worker"}}}, seconds(60));
  EXPECT_TRUE(master) << master.error().describe();
}

TEST_F(RuntimeTest, TakesCertificatesThatAreNamedToItOrInTheEnvironment) {
  using drivers::tcp::testing::make_certificate;
  ASSERT_TRUE(net::rotate_token_file(options.token.file, seconds(0)));
  drivers::tcp::testing::CertificateFolder files;
  const auto authority = make_certificate({}, nullptr);
  const auto own = make_certificate({.alternative = "IP:127.0.0.1"}, &authority);
  const drivers::TlsOptions named = files.save(authority, own);
  setenv("MUSTER_TLS_CA_FILE", named.ca_file.c_str(), 1);
  setenv("MUSTER_TLS_CERTIFICATE_FILE", named.certificate_file.c_str(), 1);
  setenv("MUSTER_TLS_KEY_FILE", named.key_file.c_str(), 1);
  const auto here = Runtime::make(options);
  unsetenv("MUSTER_TLS_CA_FILE");
  const auto partial = Runtime::make(options);
  unsetenv("MUSTER_TLS_CERTIFICATE_FILE");
  unsetenv("MUSTER_TLS_KEY_FILE");
  options.tls = named;
  const auto there = Runtime::make(options);

  ASSERT_TRUE(here && there);
  ASSERT_FALSE(partial);
  EXPECT_EQ(partial.error().code(), Code::invalid);
  const auto worker = (*here)->start({.group = "demo",
                                      .type = "worker",
                                      .name = "worker_1",
                                      .listen = {"tcp://127.0.0.1:0?tls=on"}});
  ASSERT_TRUE(worker) << worker.error().describe();
  const auto master = (*there)->join(
      {.group = "demo", .type = "master", .expected = {{.type = "worker"}}}, seconds(60));
  EXPECT_TRUE(master) << master.error().describe();
}

TEST_F(RuntimeTest, SaysWhatIsWrongWithTheToken) {
  std::filesystem::create_directory(options.token.file);
  const auto runtime = Runtime::make(options);
  ASSERT_FALSE(runtime);
  EXPECT_EQ(runtime.error().code(), Code::invalid);
}

}  // namespace
}  // namespace muster
