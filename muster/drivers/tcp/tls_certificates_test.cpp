// TLS with ordinary certificates.

#include <fcntl.h>
#include <unistd.h>

#include "muster/drivers/tcp/testing/certificates.h"
#include "muster/drivers/tcp/testing/tls_pair.h"
#include "muster/drivers/tcp/tls_context.h"

namespace muster::drivers {
namespace {

using tcp::testing::Certificate;
using tcp::testing::CertificateFolder;
using tcp::testing::connect_raw;
using tcp::testing::make_certificate;
using tcp::testing::RawTls;
using tcp::testing::Tls;

class TlsCertificates : public Tls {
 protected:
  Certificate sign(const std::string& alternative, long valid_for_s = 3600) {
    return make_certificate({.alternative = alternative, .valid_for_s = valid_for_s}, &authority);
  }
  TlsOptions good() { return folder.save(authority, sign("IP:127.0.0.1")); }

  CertificateFolder folder;
  Certificate authority = make_certificate({.name = "the authority"}, nullptr);
  Certificate other = make_certificate({.name = "another"}, nullptr);
};

TEST_F(TlsCertificates, OfOneAuthorityOpenTheDoor) {
  dial(listen(good()), good());
  expect_welcome();
}

TEST_F(TlsCertificates, AreHeldAgainstTheNameThatWasDialed) {
  net::Address address = listen(folder.save(authority, sign("DNS:localhost")));
  address.host = "localhost";
  dial(address, good());
  expect_welcome();
}

TEST_F(TlsCertificates, OfAnotherAuthorityAreRefusedByTheClient) {
  dial(listen(good()), folder.save(other, sign("IP:127.0.0.1")));
  expect_refused("TLS handshake", "the peer's certificate is refused");
}

TEST_F(TlsCertificates, OfAnotherAuthorityAreRefusedByTheServer) {
  const Certificate foreign = make_certificate({.alternative = "IP:127.0.0.1"}, &other);
  dial(listen(good()), folder.save(authority, foreign));
  expect_refused("the peer's certificate is refused", "");
}

TEST_F(TlsCertificates, OfAnotherNameAreRefused) {
  dial(listen(folder.save(authority, sign("IP:127.0.0.2,DNS:elsewhere"))), good());
  expect_refused("TLS handshake", "IP address mismatch");
}

TEST_F(TlsCertificates, ThatHaveExpiredAreRefused) {
  dial(listen(folder.save(authority, sign("IP:127.0.0.1", -60))), good());
  expect_refused("TLS handshake", "certificate has expired");
}

TEST_F(TlsCertificates, AreAskedOfTheClientToo) {
  RawTls raw(connect_raw(listen(good()).port), false);
  expect_raw_refused(raw);
}

TEST_F(TlsCertificates, WithoutANameToHoldThemAgainstNobodyIsBelieved) {
  const auto context = *tcp::TlsContext::make(good());
  const int socket = connect_raw(listen(good()).port);
  const auto stream = context->connect(socket, std::string(300, 'a'), 0);
  EXPECT_EQ(stream->handshake(), tcp::Stream::Handshake::failed);
  EXPECT_EQ(stream->failure().code(), Code::invalid);
}

// OpenSSL would ask for it, and take whatever comes from there for the answer.
TEST_F(TlsCertificates, WhoseKeyNeedsAPasswordAreRefusedAndNobodyIsAsked) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const int terminal = dup(STDIN_FILENO);
  ASSERT_EQ(write(ends[1], "password\n", 9), 9);
  dup2(ends[0], STDIN_FILENO);
  const auto made = tcp::TlsContext::make(folder.save(authority, sign("IP:127.0.0.1"), "password"));
  dup2(terminal, STDIN_FILENO);
  for (const int descriptor : {ends[0], ends[1], terminal}) close(descriptor);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), Code::invalid);
  EXPECT_NE(made.error().message().find(".key"), std::string::npos) << made.error().message();
}

TEST_F(TlsCertificates, ThatCannotBeUsedAreNamed) {
  TlsOptions broken = good();
  broken.key_file = broken.ca_file;
  TlsOptions partial = good();
  partial.ca_file.clear();
  for (const TlsOptions& options : {broken, partial}) {
    const loop::Turn turn(*loop);
    const auto driver = make_tcp_driver(*loop, {.tls = options});
    const auto made = driver->listen(*net::Address::parse("tcp://0.0.0.0:0"),
                                     [](auto) -> net::Sink& { std::abort(); });
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code(), Code::invalid) << made.error().describe();
  }
}

}  // namespace
}  // namespace muster::drivers
