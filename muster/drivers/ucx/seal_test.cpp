#include "muster/drivers/ucx/seal.h"

#include <array>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "muster/base/descriptor.h"

namespace muster::drivers::ucx {
namespace {

bool is_sealed(const Descriptor& descriptor) {
  return (fcntl(descriptor.get(), F_GETFD) & FD_CLOEXEC) != 0;
}

std::array<Descriptor, 2> make_pipe(int flags) {
  int two[2];
  EXPECT_EQ(pipe2(two, flags), 0);
  return {Descriptor(two[0]), Descriptor(two[1])};
}

Descriptor make_socket() { return Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)); }

Descriptor make_listener() {
  Descriptor made = make_socket();
  if (!made) return made;
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(bind(made.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any), 0);
  EXPECT_EQ(listen(made.get(), 8), 0);
  return made;
}

Descriptor connect_to(const Descriptor& listener) {
  Descriptor made = make_socket();
  if (!made || !listener) return made;
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  connect(made.get(), reinterpret_cast<const sockaddr*>(&address), size);
  return made;
}

TEST(UcxSeal, MarksWhatUcxMayHaveOpened) {
  const auto before = make_pipe(O_NONBLOCK);
  Seal seal;
  seal.begin();
  const auto pipe = make_pipe(O_NONBLOCK);
  const Descriptor listener = make_listener();

  seal.end();

  EXPECT_TRUE(is_sealed(pipe[0]));
  EXPECT_TRUE(is_sealed(listener));
  EXPECT_FALSE(is_sealed(before[0]));
}

TEST(UcxSeal, LeavesWhatBlocks) {
  Seal seal;
  seal.begin();
  const auto pipe = make_pipe(0);

  seal.end();

  EXPECT_FALSE(is_sealed(pipe[0]));
}

TEST(UcxSeal, KnowsWhatCameInByASocketOfUcxOrLeadsWhereOneLed) {
  const Descriptor far = make_listener();
  Seal seal;
  seal.begin();
  const Descriptor near = make_listener();
  const Descriptor first = connect_to(far);
  seal.end();
  const Descriptor caller = connect_to(near);
  const Descriptor accepted(accept4(near.get(), nullptr, nullptr, 0));
  const Descriptor second = connect_to(far);
  const Descriptor others = make_listener();
  const auto pipe = make_pipe(O_NONBLOCK);

  seal.look_again();

  EXPECT_TRUE(is_sealed(accepted));
  EXPECT_TRUE(is_sealed(second));
  EXPECT_FALSE(is_sealed(others));
  EXPECT_FALSE(is_sealed(pipe[0]));
  EXPECT_FALSE(is_sealed(far));
}

}  // namespace
}  // namespace muster::drivers::ucx
