#include "benchmarks/common/shared.h"

#include <chrono>
#include <cstring>
#include <thread>

#include <sys/mman.h>

#include "benchmarks/common/fail.h"

namespace muster::bench {
namespace {

constexpr std::chrono::microseconds kNap{100};

}  // namespace

SharedMemory::SharedMemory(std::size_t size) {
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) fail_errno("mmap");
  bytes_ = {static_cast<std::byte*>(at), size};
}

SharedMemory::~SharedMemory() { munmap(bytes_.data(), bytes_.size()); }

void Notice::post(const std::string& text) {
  if (text.size() >= sizeof(text_)) fail("notice too long: " + text);
  std::memcpy(text_, text.c_str(), text.size() + 1);
  posted_.store(true, std::memory_order_release);
}

std::string Notice::wait() const {
  while (!posted_.load(std::memory_order_acquire)) std::this_thread::sleep_for(kNap);
  return text_;
}

void Gate::arrive_and_wait(std::uint32_t parties) {
  arrived_.fetch_add(1);
  while (arrived_.load() < parties) std::this_thread::sleep_for(kNap);
}

}  // namespace muster::bench
