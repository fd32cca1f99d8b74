// Journal: records in a file, each whole or not there, whenever the process dies.
//
// A record is the file's mark, its checksum, its size and its bytes. What a crash left
// half written at the end is cut off when the file is opened again; it is told from
// damage by whole records that follow that. Thread-compatible.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "muster/base/descriptor.h"
#include "muster/base/file_lock.h"
#include "muster/base/result.h"

namespace muster {

// Random bytes by which a file knows its own records.
using JournalMark = std::array<std::byte, 8>;

struct JournalOptions {
  // append() returns once the record is on the disk. Without it a record outlives
  // the process, but not a loss of power.
  bool syncs = true;
};

class Journal {
 public:
  using OnRecord = std::function<Status(std::span<const std::byte> record)>;
  // Gives the records that are to stand in a file that is written anew.
  using Write = std::function<Status(std::span<const std::byte> record)>;

  // Opens `path`, or makes it, for the owner only; gives all that is there to
  // `on_record`, in order. Code::unavailable if somebody has it open, here or in
  // another process, or the system refuses; Code::invalid if it is no journal, or one that is
  // damaged elsewhere than at its end.
  static Result<Journal> open(const std::string& path, const OnRecord& on_record,
                              const JournalOptions& options = {});

  // All of it or nothing. After an error of the disk itself no more is taken.
  Status append(std::span<const std::byte> record);
  // The same of several in one go, of which a crash may leave the first ones.
  Status append_all(std::span<const std::span<const std::byte>> records);
  // Goes through all records again.
  Status read(const OnRecord& on_record) const;
  // Replaces the file by another that holds what `fill` writes; after a crash
  // there is the one or the other.
  Status rewrite(const std::function<Status(const Write& write)>& fill);

  std::uint64_t size() const { return size_; }

 private:
  Journal(std::string path, const JournalOptions& options)
      : path_(std::move(path)), options_(options) {}

  Status append_to(int file, std::uint64_t at, std::span<const std::byte> record) const;
  bool cut_back() const;
  Status replace_by(const std::string& name, const std::function<Status(const Write& write)>& fill);

  std::string path_;
  JournalOptions options_;
  JournalMark mark_ = {};
  FileLock lock_;
  Descriptor file_;
  std::uint64_t size_ = 0;
  bool is_broken_ = false;
};

}  // namespace muster
