// Server: the one process of a group that holds the lock tells all others who
// is there. The thin shell around a Directory.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "muster/base/log.h"
#include "muster/loop/loop.h"
#include "muster/registries/embedded/channel.h"
#include "muster/registries/embedded/directory.h"
#include "muster/registries/embedded/folder.h"

namespace muster::registries::embedded {

struct ServerOptions {
  // How long a connection may say nothing before it has announced itself.
  Duration patience = std::chrono::seconds(5);
  // How often to look whether the folder is still the one that others find.
  Duration check_every = std::chrono::seconds(1);
};

class Server final : private loop::FdHandler, private loop::Flusher {
 public:
  // `on_deposed` is called later, once, if others cannot find this one any more;
  // it may destroy it.
  static Result<std::unique_ptr<Server>> open(loop::Loop& loop, Folder folder, FolderLock lock,
                                              std::string group, const ServerOptions& options,
                                              std::function<void()> on_deposed);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

 private:
  class Guest;
  class Orphan;

  Server(loop::Loop& loop, Folder folder, FolderLock lock, std::string group,
         const ServerOptions& options, std::function<void()> on_deposed);
  Status start();
  void say_the_last();
  void look_at(const std::vector<Seat>& seats);
  // Who was there when the last serving process ended, less those who have
  // ended since.
  std::optional<DirectoryState> inherited();
  void watch_orphan(Entry& entry);
  void bury(Orphan& orphan);

  void on_ready(std::uint32_t events) override;  // Somebody connects.
  void admit(Descriptor socket);
  void heard(Guest& guest, std::span<const std::byte> bytes);
  void gone(Guest& guest, const Error& why);
  void refuse(Guest& guest, const Error& why);
  void drop_strangers();

  void queue(Notices notices);
  void flush() override;  // Saves, then says.
  void save();
  void say(const Notice& notice);
  void set_expiry();
  void expire();
  void check_folder();
  void warn(const std::string& what, const Error& why);

  loop::Loop& loop_;
  Folder folder_;
  FolderLock lock_;
  std::string group_;
  ServerOptions options_;
  std::function<void()> on_deposed_;
  Descriptor socket_;
  bool is_watched_ = false;
  std::optional<Directory> directory_;
  std::uint64_t saved_ = 0;  // In Directory::changes().
  std::map<Seat, std::unique_ptr<Guest>> guests_;
  Seat last_seat_ = 0;
  // Processes whose members were inherited. One that was killed may still be
  // dying when its socket is closed already.
  std::map<int, std::unique_ptr<Orphan>> orphans_;
  Notices unsaid_;
  loop::Timer expiry_;
  loop::Timer check_;
  log::RateLimit warnings_;
};

}  // namespace muster::registries::embedded
