// Process: which process on which host, so that others can tell whether it still runs.

#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace muster::collectives {

struct Process {
  std::uint64_t host = 0;   // The boot of a machine, and the space of its process numbers.
  std::uint64_t start = 0;  // When the process began, in the kernel's ticks.
  std::uint64_t probe = 0;  // The address of a word that has the value `mark`.
  std::uint64_t mark = 0;
  std::int64_t pid = 0;

  bool is_same_host(const Process& other) const { return host != 0 && host == other.host; }
  friend bool operator==(const Process&, const Process&) = default;
};
static_assert(std::has_unique_object_representations_v<Process>);

// This one.
Process this_process();

// True only if it is sure: `process` was on this host, and is no more.
bool has_ended(const Process& process);

// Reads memory of a process of this host. False if not all of it could be read.
bool read_memory(std::int64_t pid, std::uint64_t from, std::byte* to, std::size_t bytes);

// Whether this process may read the memory of that one.
bool may_read(const Process& process);

}  // namespace muster::collectives
