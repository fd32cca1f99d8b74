#include "muster/drivers/shm/memory.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace muster::drivers::shm {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

std::byte* map(int descriptor, std::size_t size) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

}  // namespace

Memory::~Memory() {
  if (data_ != nullptr) munmap(data_, size_);
}

Result<std::pair<Memory, Descriptor>> Memory::create(const char* name, std::size_t size) {
  Descriptor descriptor(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!descriptor) return system_error(Code::overloaded, "make shared memory", errno);
  if (ftruncate(descriptor.get(), static_cast<off_t>(size)) != 0 ||
      fcntl(descriptor.get(), F_ADD_SEALS, kSeals) != 0) {
    return system_error(Code::overloaded, "size shared memory", errno);
  }
  std::byte* data = map(descriptor.get(), size);
  if (data == nullptr) return system_error(Code::overloaded, "map shared memory", errno);
  return std::pair(Memory(data, size), std::move(descriptor));
}

Result<Memory> Memory::open(const Descriptor& descriptor, std::size_t size) {
  const int seals = fcntl(descriptor.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return Error(Code::invalid, "the peer's shared memory is not sealed against shrinking");
  }
  struct stat facts{};
  if (fstat(descriptor.get(), &facts) != 0 || static_cast<std::size_t>(facts.st_size) != size) {
    return Error(Code::invalid, "the peer's shared memory has the wrong size");
  }
  std::byte* data = map(descriptor.get(), size);
  if (data == nullptr) return system_error(Code::overloaded, "map the peer's memory", errno);
  return Memory(data, size);
}

}  // namespace muster::drivers::shm
