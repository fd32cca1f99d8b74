// Where processes of one user find each other: a folder per group, which only
// its owner can enter.
//
//   lock     held by the process that serves
//   socket   where it serves
//   members  who was there, for the one that serves next

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>
#include <sys/un.h>

#include "muster/base/descriptor.h"
#include "muster/base/result.h"

namespace muster::registries::embedded {

// $XDG_RUNTIME_DIR/muster, or /tmp/muster-UID where there is none.
std::string default_base();
// Makes the folder of all groups, or says why it cannot serve.
Status prepare(const std::string& base);

// Held until it goes, or the process ends, whatever children it has forked.
class FolderLock {
 public:
  FolderLock(FolderLock&& other) noexcept;
  ~FolderLock();

 private:
  friend class Folder;
  FolderLock(Descriptor file, dev_t device, ino_t inode);
  Descriptor file_;
  dev_t device_;
  ino_t inode_;
};

class Folder {
 public:
  // Makes it where it is missing. Code::invalid if it, or the one that it lies
  // in, is a link, is not ours, or can be entered by others.
  static Result<Folder> open(const std::string& base, const std::string& group);
  // The same, but makes nothing: Code::not_found where it is missing.
  static Result<Folder> find(const std::string& base, const std::string& group);

  // Nothing if another holds it, in this process or not.
  Result<std::optional<FolderLock>> try_lock() const;
  // Whether `lock` still is what others would find at this path. Somebody may
  // have tidied up.
  bool is_current(const FolderLock& lock) const;

  // A socket that listens in the folder, in place of what was left there.
  Result<Descriptor> listen() const;
  // A socket to whoever listens. Code::unavailable if nobody does.
  Result<Descriptor> connect() const;
  void remove_socket() const;

  // The whole file or none of it. Nothing if there is none.
  Status save(std::span<const std::byte> bytes) const;
  Result<std::optional<std::vector<std::byte>>> load(std::size_t most) const;

  const std::string& path() const { return path_; }

 private:
  Folder(std::string path, Descriptor folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}
  static Result<Folder> reach(const std::string& base, const std::string& group, bool may_make);
  sockaddr_un socket_address() const;
  Error failure(const char* attempt) const;

  std::string path_;
  Descriptor folder_;
};

}  // namespace muster::registries::embedded
