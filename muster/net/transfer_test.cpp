#include "muster/net/transfer.h"

#include <random>

#include <gtest/gtest.h>

#include "muster/net/grants.h"
#include "muster/wire/bytes.h"

namespace muster::net {
namespace {

Buffer bytes(std::size_t size, int seed) {
  std::vector<std::byte> made(size);
  for (std::size_t i = 0; i < size; ++i) made[i] = static_cast<std::byte>(i * 7 + seed + i / 251);
  return Buffer::adopt(std::move(made));
}

wire::Parts parts_of(std::initializer_list<std::size_t> sizes) {
  wire::Parts parts;
  for (std::size_t size : sizes) parts.push_back(bytes(size, static_cast<int>(parts.size())));
  return parts;
}

bool none_passes(std::size_t /*part*/) { return false; }

WritableBuffer from_heap(std::size_t /*part*/, std::uint64_t size) {
  return WritableBuffer::on_heap(size);
}

constexpr std::uint64_t kLimit = 1 << 24;

// The list of sizes that an offer starts with.
Buffer sizes(std::initializer_list<std::uint64_t> list) {
  std::vector<std::byte> made(8 * list.size());
  std::size_t at = 0;
  for (std::uint64_t size : list) wire::store(made.data() + 8 * at++, size);
  return Buffer::adopt(std::move(made));
}

IncomingTransfer granted(std::initializer_list<std::size_t> list) {
  const wire::Parts parts = parts_of(list);
  const OutgoingTransfer out(1, parts, 1024, none_passes);
  IncomingTransfer in = *IncomingTransfer::read(1, out.offer(parts), kLimit);
  EXPECT_TRUE(in.allocate(from_heap));
  return in;
}

TEST(Transfer, BringsAnyPartsOverInAnyChunks) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    wire::Parts parts;
    const std::size_t count = 1 + random() % 6;
    for (std::size_t i = 0; i < count; ++i) {
      parts.push_back(bytes(random() % 3 == 0 ? random() % 10 : random() % 60'000, round));
    }
    parts.push_back(bytes(70'000, round));
    const auto passes = [&](std::size_t i) { return i % 3 == 1 && i < count; };
    OutgoingTransfer out(9, parts, 1 + random() % 20'000, passes);
    if (random() % 2 == 0) out.pause_before_end();
    Result<IncomingTransfer> in = IncomingTransfer::read(9, out.offer(parts), kLimit);
    ASSERT_TRUE(in);
    ASSERT_TRUE(in->allocate(from_heap));

    while (!out.is_sent()) {
      const OutgoingTransfer::Chunk chunk = out.peek(parts);
      const bool is_placed = random() % 2 == 0;
      Buffer arrived = Buffer::copy_of(chunk.bytes);
      if (is_placed) {
        WritableBuffer place = in->place(chunk.part, chunk.offset, chunk.bytes.size());
        ASSERT_EQ(place.size(), chunk.bytes.size());
        std::ranges::copy(chunk.bytes, place.data());
        arrived = std::move(place).freeze();
      }
      ASSERT_TRUE(in->accept(chunk.part, chunk.offset, arrived));
      out.advance(chunk, parts);
    }

    ASSERT_TRUE(in->is_whole());
    const wire::Parts got = in->take();
    ASSERT_EQ(got.size(), parts.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].text(), parts[i].text());
  }
}

TEST(Transfer, SmallPartsAndThoseThatPassRideAlongUncopied) {
  const wire::Parts parts = parts_of({100, 80'000, 90'000});
  const OutgoingTransfer out(1, parts, 1024, [](std::size_t i) { return i == 2; });

  const wire::Parts offer = out.offer(parts);

  ASSERT_EQ(offer.size(), 3u);
  EXPECT_EQ(offer[1].data(), parts[0].data());
  EXPECT_EQ(offer[2].data(), parts[2].data());
  EXPECT_EQ(IncomingTransfer::read(1, offer, kLimit)->bytes(), 80'000u);
}

TEST(Transfer, AChunkThatDoesNotContinueIsRefused) {
  const auto chunk = [](std::size_t size) { return bytes(size, 0); };
  EXPECT_TRUE(granted({70'000}).accept(0, 0, chunk(70'000)));
  EXPECT_FALSE(granted({70'000}).accept(0, 0, chunk(70'001))) << "beyond the end";
  EXPECT_FALSE(granted({70'000}).accept(0, 1, chunk(10))) << "a gap";
  EXPECT_FALSE(granted({70'000}).accept(1, 0, chunk(10))) << "no such part";
  EXPECT_FALSE(granted({70'000}).accept(0, 0, chunk(0))) << "nothing";
  EXPECT_FALSE(granted({70'000}).accept(0, UINT64_MAX, chunk(2))) << "wraps around";

  IncomingTransfer twice = granted({70'000});
  ASSERT_TRUE(twice.accept(0, 0, chunk(1000)));
  EXPECT_FALSE(twice.accept(0, 0, chunk(1000))) << "again";
  EXPECT_FALSE(twice.accept(0, 999, chunk(1000))) << "overlaps";

  IncomingTransfer whole = granted({70'000});
  ASSERT_TRUE(whole.accept(0, 0, chunk(70'000)));
  EXPECT_FALSE(whole.accept(0, 70'000, chunk(1))) << "after the end";
}

TEST(Transfer, NothingIsPlacedOutsideOrOverWhatHasCome) {
  IncomingTransfer in = granted({70'000, 80'000});
  EXPECT_EQ(in.place(0, 0, 70'001).size(), 0u);
  EXPECT_EQ(in.place(0, UINT64_MAX, 2).size(), 0u);
  EXPECT_EQ(in.place(2, 0, 1).size(), 0u);
  EXPECT_EQ(in.place(1, 0, 80'000).size(), 80'000u);
  ASSERT_TRUE(in.accept(0, 0, bytes(500, 0)));
  EXPECT_EQ(in.place(0, 499, 10).size(), 0u);
  EXPECT_EQ(in.place(0, 500, 69'500).size(), 69'500u);
}

TEST(Transfer, NothingIsPlacedOrAcceptedBeforeTheGrant) {
  const wire::Parts parts = parts_of({70'000});
  const OutgoingTransfer out(1, parts, 1024, none_passes);
  IncomingTransfer in = *IncomingTransfer::read(1, out.offer(parts), kLimit);
  EXPECT_EQ(in.place(0, 0, 10).size(), 0u);
  EXPECT_FALSE(in.accept(0, 0, bytes(10, 0)));
}

TEST(Transfer, PlacedMemoryOutlivesTheTransfer) {
  WritableBuffer place;
  {
    IncomingTransfer in = granted({70'000});
    place = in.place(0, 60'000, 10'000);
  }
  std::ranges::fill(place.bytes(), std::byte{1});
}

TEST(Transfer, OffersThatMakeNoSenseAreRefusedBeforeAnythingIsAllocated) {
  constexpr std::uint64_t kRides = std::uint64_t{1} << 63;
  const auto read = [](std::initializer_list<Buffer> list) {
    wire::Parts parts;
    for (const Buffer& part : list) parts.push_back(part);
    return IncomingTransfer::read(1, std::move(parts), kLimit).has_value();
  };
  EXPECT_TRUE(read({sizes({70'000})}));
  EXPECT_TRUE(read({sizes({70'000, kRides | 5}), bytes(5, 0)}));
  EXPECT_FALSE(read({}));
  EXPECT_FALSE(read({Buffer()}));
  EXPECT_FALSE(read({bytes(7, 0)})) << "half a size";
  EXPECT_FALSE(read({bytes(8 * 1025, 0)})) << "too many parts";
  EXPECT_FALSE(read({sizes({kLimit + 1})})) << "above the limit";
  EXPECT_FALSE(read({sizes({kLimit, 1})})) << "above it together";
  EXPECT_FALSE(read({sizes({kRides - 1, kRides - 1, 2})})) << "wraps around";
  EXPECT_FALSE(read({sizes({70'000, 0})})) << "an empty part in chunks";
  EXPECT_FALSE(read({sizes({kRides | 5}), bytes(5, 0)})) << "nothing to come";
  EXPECT_FALSE(read({sizes({70'000, kRides | 5})})) << "a part is missing";
  EXPECT_FALSE(read({sizes({70'000, kRides | 5}), bytes(6, 0)})) << "of another size";
  EXPECT_FALSE(read({sizes({70'000}), bytes(5, 0)})) << "one too many";
}

TEST(Transfer, WithoutMemoryAllIsLetGo) {
  const wire::Parts parts = parts_of({70'000, 70'000});
  const OutgoingTransfer out(1, parts, 1024, none_passes);
  IncomingTransfer in = *IncomingTransfer::read(1, out.offer(parts), kLimit);

  const Status found = in.allocate([](std::size_t part, std::uint64_t size) {
    return part == 0 ? WritableBuffer::on_heap(size) : WritableBuffer();
  });

  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), Code::overloaded);
  EXPECT_FALSE(in.is_granted());
}

TEST(Grants, AreGivenInOrderAsFarAsTheBudgetGoes) {
  Grants grants(100);
  grants.ask({nullptr, 1}, 60);
  grants.ask({nullptr, 2}, 50);
  grants.ask({nullptr, 3}, 10);

  EXPECT_EQ(grants.next()->transfer, 1u);
  EXPECT_FALSE(grants.next()) << "3 would fit, but it is not its turn";
  grants.finish(60);
  EXPECT_EQ(grants.next()->transfer, 2u);
  EXPECT_EQ(grants.next()->transfer, 3u);
  EXPECT_FALSE(grants.next());
}

TEST(Grants, OneAboveTheBudgetIsGrantedWhenAlone) {
  Grants grants(100);
  grants.ask({nullptr, 1}, 10);
  grants.ask({nullptr, 2}, 1000);
  ASSERT_TRUE(grants.next());
  EXPECT_FALSE(grants.next());
  grants.finish(10);
  EXPECT_EQ(grants.next()->transfer, 2u);
}

TEST(Grants, WhoLeavesTheLineHoldsUpNobody) {
  Grants grants(100);
  grants.ask({nullptr, 1}, 100);
  grants.ask({nullptr, 2}, 100);
  grants.ask({nullptr, 3}, 100);
  ASSERT_TRUE(grants.next());
  grants.withdraw(nullptr, 2);
  grants.finish(100);
  EXPECT_EQ(grants.next()->transfer, 3u);
}

TEST(Transfer, PausesOnceBeforeTheLastFewBytes) {
  const wire::Parts parts = parts_of({70'000, 100, 90'000, 5000});
  const std::uint64_t total = 70'000 + 90'000 + 5000;
  OutgoingTransfer out(1, parts, 8000, none_passes);
  IncomingTransfer in = *IncomingTransfer::read(1, out.offer(parts), kLimit);
  ASSERT_TRUE(in.allocate(from_heap));
  out.pause_before_end();
  EXPECT_EQ(out.pause(), total - kCopiedEnd);

  std::uint64_t sent = 0;
  int pauses = 0;
  while (!out.is_sent()) {
    EXPECT_EQ(out.is_before_pause(), sent < total - kCopiedEnd);
    const OutgoingTransfer::Chunk chunk = out.peek(parts);
    ASSERT_TRUE(in.accept(chunk.part, chunk.offset, Buffer::copy_of(chunk.bytes)));
    sent += chunk.bytes.size();
    out.advance(chunk, parts);
    EXPECT_EQ(in.received(), sent);
    if (out.is_at_pause()) {
      ++pauses;
      EXPECT_EQ(sent, total - kCopiedEnd);
    }
  }
  EXPECT_EQ(pauses, 1);
  EXPECT_TRUE(in.is_whole());
}

TEST(Transfer, OneThatDoesNotPauseNeverDoes) {
  const wire::Parts parts = parts_of({70'000});
  OutgoingTransfer out(1, parts, 8000, none_passes);
  EXPECT_EQ(out.pause(), 0U);
  while (!out.is_sent()) {
    EXPECT_FALSE(out.is_before_pause() || out.is_at_pause());
    out.advance(out.peek(parts), parts);
  }
}

}  // namespace
}  // namespace muster::net
