#include "benchmarks/common/body.h"

#include <cstring>
#include <string>

#include <sys/mman.h>

#include "benchmarks/common/fail.h"

namespace muster::bench {
namespace {

constexpr std::uint64_t kPattern = 0x0123456789abcdefU;
constexpr std::size_t kWordsPerPage = kPage / sizeof(std::uint64_t);

// 24 bits name a page: bodies up to 64 GiB.
std::uint64_t page_word(std::uint64_t number, std::uint64_t page) { return number << 24U | page; }

std::uint64_t load(const std::byte* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

[[noreturn]] void refuse(std::uint64_t number, std::size_t page) {
  fail("wrong bytes in body " + std::to_string(number) + ", page " + std::to_string(page));
}

}  // namespace

BodyBuffer::BodyBuffer()
    : at_(mmap(nullptr, kLargeBody, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
  if (at_ == MAP_FAILED) fail_errno("mmap");
  madvise(at_, kLargeBody, MADV_HUGEPAGE);
  fill_body(bytes());
}

BodyBuffer::~BodyBuffer() { munmap(at_, kLargeBody); }

void fill_body(std::span<std::byte> body) {
  for (std::size_t at = 0; at + sizeof(kPattern) <= body.size(); at += sizeof(kPattern)) {
    std::memcpy(body.data() + at, &kPattern, sizeof(kPattern));
  }
}

void fill_new_pages(std::span<std::byte> body) {
  for (std::size_t at = 0; at + kPage <= body.size(); at += kPage) {
    const auto page = body.subspan(at, kPage);
    if (load(page.last(sizeof(kPattern)).data()) != kPattern) fill_body(page);
  }
}

void stamp_body(std::span<std::byte> body, std::uint64_t number) {
  for (std::size_t page = 0; page * kPage < body.size(); ++page) {
    const std::uint64_t word = page_word(number, page);
    std::memcpy(body.data() + page * kPage, &word, sizeof(word));
  }
}

void verify_body(std::span<const std::byte> body, std::uint64_t number) {
  for (std::size_t page = 0; page * kPage < body.size(); ++page) {
    const std::byte* const words = body.data() + page * kPage;
    // The whole would take as long as the message; another word of each page each time does not.
    const std::size_t other = 1 + (61 * number + page) % (kWordsPerPage - 1);
    if (load(words) != page_word(number, page)) refuse(number, page);
    if (load(words + other * sizeof(kPattern)) != kPattern) refuse(number, page);
  }
}

void read_body(std::span<const std::byte> body, std::uint64_t number) {
  for (std::size_t page = 0; page * kPage < body.size(); ++page) {
    const auto bytes = body.subspan(page * kPage, kPage);
    const std::uint64_t stamp = page_word(number, page);
    const std::uint64_t rest = kPattern * (kWordsPerPage - 1);
    if (load(bytes.data()) != stamp || sum_words(bytes) != stamp + rest) refuse(number, page);
  }
}

std::uint64_t sum_words(std::span<const std::byte> body) {
  // Eight sums side by side: one alone would wait for each addition, and the
  // figure would be that of the adder, not of the memory.
  std::uint64_t sums[8] = {};
  for (std::size_t at = 0; at + sizeof(sums) <= body.size(); at += sizeof(sums)) {
    std::uint64_t words[8];
    std::memcpy(words, body.data() + at, sizeof(words));
    for (std::size_t i = 0; i < 8; ++i) sums[i] += words[i];
  }
  std::uint64_t all = 0;
  for (const std::uint64_t sum : sums) all += sum;
  return all;
}

}  // namespace muster::bench
