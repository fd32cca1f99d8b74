// GroupHosts: the groups that a registry or gateway has to do with, and the
// servers of those among them that this process serves.

#pragma once

#include <map>
#include <memory>
#include <string>

#include "muster/loop/loop.h"
#include "muster/registries/embedded/embedded.h"
#include "muster/registries/embedded/road.h"
#include "muster/registries/embedded/server.h"

namespace muster::registries::embedded {

class GroupHosts {
 public:
  // `options` name a folder.
  GroupHosts(loop::Loop& loop, EmbeddedOptions options);
  GroupHosts(const GroupHosts&) = delete;
  GroupHosts& operator=(const GroupHosts&) = delete;

  // Whoever has to do with a group says so, and when that is over.
  void retain(const std::string& group) { ++groups_[group].users; }
  void release(const std::string& group);

  // A socket to whoever serves `group`, which is retained. If nobody does,
  // serves it, if the lock can be had, and fails with Code::unavailable all the same.
  Result<std::unique_ptr<Carrier>> reach(const std::string& group, CarrierSink& sink);
  // The same for an onlooker, who serves nothing. Code::not_found if nobody is
  // there; Code::unavailable if somebody is who will serve in a moment.
  Result<std::unique_ptr<Carrier>> find(const std::string& group, CarrierSink& sink) const;

 private:
  struct Group {
    int users = 0;
    std::unique_ptr<Server> server;  // If it is us who serve.
  };
  Status try_to_serve(const std::string& group, Folder folder);

  loop::Loop& loop_;
  EmbeddedOptions options_;
  std::map<std::string, Group> groups_;
};

// The road by way of the group's folder.
class LocalRoad final : public Road {
 public:
  LocalRoad(GroupHosts& hosts, std::string group) : hosts_(hosts), group_(std::move(group)) {
    hosts_.retain(group_);
  }
  ~LocalRoad() override { hosts_.release(group_); }
  LocalRoad(const LocalRoad&) = delete;
  LocalRoad& operator=(const LocalRoad&) = delete;

  Result<std::unique_ptr<Carrier>> open(CarrierSink& sink) override {
    return hosts_.reach(group_, sink);
  }
  bool is_remote() const override { return false; }
  // Many may look for the next to serve at once, and it is there within a few
  // milliseconds.
  net::Backoff backoff() const override {
    return net::Backoff(std::chrono::milliseconds(2), std::chrono::milliseconds(20));
  }

 private:
  GroupHosts& hosts_;
  std::string group_;
};

}  // namespace muster::registries::embedded
