#include "muster/arena/segment.h"

#include <cstring>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "muster/arena/testing/traces.h"

namespace muster::arena {
namespace {

using testing::Traces;

constexpr std::size_t kSize = std::size_t{1} << 20;

std::shared_ptr<Segment> a_segment(std::size_t size = kSize) { return *Segment::create(size); }

// As a peer would get it.
int passed_on(const Segment& segment) { return fcntl(segment.descriptor(), F_DUPFD_CLOEXEC, 0); }

int a_memfd(std::size_t size, int seals) {
  const int number = memfd_create("strange", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  EXPECT_EQ(ftruncate(number, static_cast<off_t>(size)), 0);
  EXPECT_EQ(fcntl(number, F_ADD_SEALS, seals), 0);
  return number;
}

TEST(Segment, ShowsReadersWhatItsMakerWrites) {
  const auto own = a_segment();
  const auto peers = *Segment::open(passed_on(*own), kSize);

  std::memcpy(own->writable().data() + 5000, "seen", 4);

  EXPECT_EQ(std::memcmp(peers->base() + 5000, "seen", 4), 0);
  EXPECT_EQ(peers->bytes().size(), kSize);
  EXPECT_TRUE(peers->writable().empty());
}

TEST(Segment, IsTheSameByKeyHoweverItComes) {
  const auto own = a_segment();
  const auto other = a_segment();
  const auto peers = *Segment::open(passed_on(*own), kSize);

  EXPECT_EQ(own->key(), peers->key());
  EXPECT_NE(own->key(), other->key());
}

TEST(Segment, CannotBeMappedWritableBySomebodyElse) {
  const auto own = a_segment();

  EXPECT_EQ(mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, own->descriptor(), 0),
            MAP_FAILED);
  const auto peers = *Segment::open(passed_on(*own), kSize);
  void* memory = const_cast<std::byte*>(peers->base());
  EXPECT_NE(mprotect(memory, kSize, PROT_READ | PROT_WRITE), 0);
  EXPECT_LT(pwrite(own->descriptor(), "x", 1, 0), 0);
  const std::string path = "/proc/self/fd/" + std::to_string(own->descriptor());
  const int again = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(again, 0);
  EXPECT_EQ(mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0), MAP_FAILED);
  ::close(again);
}

TEST(Segment, CannotChangeItsSizeNorLosePages) {
  const auto own = a_segment();

  EXPECT_NE(ftruncate(own->descriptor(), 0), 0);
  EXPECT_NE(ftruncate(own->descriptor(), 2 * kSize), 0);
  EXPECT_NE(fallocate(own->descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
  EXPECT_NE(fcntl(own->descriptor(), F_ADD_SEALS, F_SEAL_WRITE), 0);
}

TEST(Segment, IsWholePagesAndNotEmpty) {
  EXPECT_EQ(Segment::create(0).error().code(), Code::invalid);
  EXPECT_EQ(Segment::create(4097).error().code(), Code::invalid);
}

TEST(Segment, ThatCouldShrinkIsRefused) {
  const Traces before = Traces::count();

  EXPECT_EQ(Segment::open(a_memfd(kSize, 0), kSize).error().code(), Code::invalid);
  EXPECT_EQ(Segment::open(a_memfd(kSize, F_SEAL_GROW | F_SEAL_FUTURE_WRITE), kSize).error().code(),
            Code::invalid);

  EXPECT_EQ(Traces::count(), before);
}

TEST(Segment, ThatOthersCouldWriteIsRefused) {
  const int number = a_memfd(kSize, F_SEAL_SHRINK | F_SEAL_GROW);
  EXPECT_EQ(Segment::open(number, kSize).error().code(), Code::invalid);
}

TEST(Segment, ThatIsShorterThanItSaysIsRefused) {
  const auto own = a_segment();
  const Traces before = Traces::count();

  EXPECT_EQ(Segment::open(passed_on(*own), kSize + 1).error().code(), Code::invalid);
  EXPECT_EQ(Segment::open(passed_on(*own), SIZE_MAX).error().code(), Code::invalid);
  EXPECT_EQ(Segment::open(passed_on(*own), 0).error().code(), Code::invalid);

  EXPECT_EQ(Traces::count(), before);
}

TEST(Segment, ThatIsNoSharedMemoryIsRefused) {
  EXPECT_EQ(Segment::open(-1, kSize).error().code(), Code::invalid);
  EXPECT_EQ(Segment::open(::open("/dev/zero", O_RDONLY | O_CLOEXEC), kSize).error().code(),
            Code::invalid);
  EXPECT_EQ(Segment::open(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC), 4096).error().code(),
            Code::invalid);
}

TEST(Segment, LeavesNothingBehind) {
  const Traces before = Traces::count();
  {
    const auto own = a_segment();
    const auto peers = *Segment::open(passed_on(*own), kSize / 2);
    EXPECT_EQ(Traces::count().mappings, before.mappings + 2);
  }
  EXPECT_EQ(Traces::count(), before);
}

TEST(Segment, StaysReadableAfterItsMakerLetGo) {
  auto own = a_segment();
  std::memcpy(own->writable().data(), "stays", 5);
  const auto peers = *Segment::open(passed_on(*own), kSize);

  own.reset();

  EXPECT_EQ(std::memcmp(peers->base(), "stays", 5), 0);
}

TEST(Segment, PopulatesOnlyInsideAndOnlyForItsMaker) {
  const auto own = a_segment();
  const auto peers = *Segment::open(passed_on(*own), kSize);

  EXPECT_TRUE(own->populate(0, kSize));
  EXPECT_TRUE(own->populate(4095, 2));
  EXPECT_EQ(own->populate(1, kSize).error().code(), Code::invalid);
  EXPECT_EQ(own->populate(SIZE_MAX, 2).error().code(), Code::invalid);
  EXPECT_EQ(peers->populate(0, 4096).error().code(), Code::invalid);
}

}  // namespace
}  // namespace muster::arena
