#include "muster/arena/segment.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

namespace muster::arena {
namespace {

// Not in every C library's headers yet. The kernel knows it from 6.3 on, and
// may be set to refuse memory that could be executed.
constexpr unsigned kNotExecutable = 0x0008U;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  int hand_over() { return std::exchange(number_, -1); }

 private:
  int number_;
};

int make_memfd() {
  const int number = memfd_create("muster", MFD_CLOEXEC | MFD_ALLOW_SEALING | kNotExecutable);
  if (number >= 0 || errno != EINVAL) return number;
  return memfd_create("muster", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

Result<struct stat> status_of(int descriptor) {
  struct stat status = {};
  if (fstat(descriptor, &status) == 0) return status;
  return system_error(Code::invalid, "look at a segment", errno);
}

SegmentKey key_of(const struct stat& status) { return {status.st_dev, status.st_ino}; }

// Whoever passed this descriptor may try anything with it at any time, but
// what is sealed stays sealed.
Status check_sealed(int descriptor) {
  struct statfs system = {};
  // Pages of another kind of file system may run out and raise a signal.
  if (fstatfs(descriptor, &system) != 0 || system.f_type != TMPFS_MAGIC) {
    return Error(Code::invalid, "a peer's segment is not plain shared memory");
  }
  const int seals = fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return Error(Code::invalid, "a peer's segment is not sealed against shrinking");
  }
  if ((seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) == 0) {
    return Error(Code::invalid, "a peer's segment is not sealed against writing by others");
  }
  return ok();
}

Result<std::byte*> map(int descriptor, std::size_t size, int protection) {
  void* memory = mmap(nullptr, size, protection, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (memory == MAP_FAILED) return system_error(Code::overloaded, "map a segment", errno);
  // Fewer faults where the system allows huge pages; no harm where not.
  madvise(memory, size, MADV_HUGEPAGE);
  return static_cast<std::byte*>(memory);
}

}  // namespace

Result<std::shared_ptr<Segment>> Segment::create(std::size_t size) {
  if (size == 0 || size % static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) != 0) {
    return Error(Code::invalid, "a segment is a number of whole pages");
  }
  Descriptor file(make_memfd());
  if (file.number() < 0) return system_error(Code::overloaded, "make a segment", errno);
  if (ftruncate(file.number(), static_cast<off_t>(size)) != 0) {
    return system_error(Code::overloaded, "size a segment", errno);
  }
  MUSTER_TRY(const struct stat status, status_of(file.number()));
  MUSTER_TRY(std::byte* const base, map(file.number(), size, PROT_READ | PROT_WRITE));
  // After mapping: this seal lets the writable mapping that exists be the last.
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
  if (fcntl(file.number(), F_ADD_SEALS, seals) != 0) {
    const int why = errno;
    munmap(base, size);
    return system_error(Code::unsupported, "seal a segment", why);
  }
  return std::make_shared<Segment>(Mapping{file.hand_over(), base, size, key_of(status), true});
}

Result<std::shared_ptr<Segment>> Segment::open(int descriptor, std::size_t size) {
  Descriptor file(descriptor);
  MUSTER_TRY(const struct stat status, status_of(file.number()));
  MUSTER_TRY_OK(check_sealed(file.number()));
  if (size == 0 || static_cast<std::uint64_t>(status.st_size) < size) {
    return Error(Code::invalid, "a peer's segment is shorter than it says");
  }
  // Its pages are left to be found as they are read: reading ahead would make
  // the kernel allocate those that the owner has not touched.
  MUSTER_TRY(std::byte* const base, map(file.number(), size, PROT_READ));
  return std::make_shared<Segment>(Mapping{file.hand_over(), base, size, key_of(status), false});
}

Segment::Segment(const Mapping& mapping)
    : base_(mapping.base),
      size_(mapping.size),
      descriptor_(mapping.descriptor),
      is_writable_(mapping.is_writable),
      key_(mapping.key) {}

Segment::~Segment() {
  munmap(base_, size_);
  ::close(descriptor_);
}

std::span<std::byte> Segment::writable() const {
  if (!is_writable_) return {};
  return {base_, size_};
}

Status Segment::populate(std::size_t offset, std::size_t count) const {
  if (!is_writable_ || offset > size_ || count > size_ - offset) {
    return Error(Code::invalid, "only the maker of a segment touches its pages");
  }
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t begin = offset / page * page;
  if (madvise(base_ + begin, offset + count - begin, MADV_POPULATE_WRITE) == 0) return ok();
  // Kernels before 5.14 do not know it; their pages come when they are touched.
  if (errno == EINVAL) return ok();
  return system_error(Code::overloaded, "touch a segment", errno);
}

}  // namespace muster::arena
