// Discreet: a registry that never says anything of some members, as where one comes and goes
// between two looks, or where its word is lost.

#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "muster/msg/registry.h"

namespace muster::tests {

class Discreet final : public msg::Registry {
 public:
  Discreet(msg::Registry& whole, std::vector<Id> unheard)
      : whole_(whole), unheard_(std::move(unheard)) {}

  Result<std::unique_ptr<msg::Membership>> join(const msg::JoinRequest& request,
                                                msg::RegistrySink& sink) override {
    auto filter = std::make_unique<Filter>(sink, unheard_);
    MUSTER_TRY(auto inner, whole_.join(request, *filter));
    return std::unique_ptr<msg::Membership>(
        std::make_unique<Filtered>(std::move(filter), std::move(inner)));
  }
  Result<std::unique_ptr<msg::Inquiry>> ask(const std::string& group, OnRoll done) override {
    return whole_.ask(group, std::move(done));
  }

 private:
  class Filter final : public msg::RegistrySink {
   public:
    Filter(msg::RegistrySink& sink, const std::vector<Id>& unheard)
        : sink_(sink), unheard_(unheard) {}
    void on_admitted(const msg::Member& self) override { sink_.on_admitted(self); }
    void on_joined(const msg::Member& member) override {
      if (is_told(member)) sink_.on_joined(member);
    }
    void on_left(const msg::Member& member) override {
      if (is_told(member)) sink_.on_left(member);
    }
    void on_lost(const msg::Member& member, const Error& why) override {
      if (is_told(member)) sink_.on_lost(member, why);
    }
    void on_unreachable(const Error& why) override { sink_.on_unreachable(why); }
    void on_ended(Error why) override { sink_.on_ended(std::move(why)); }

   private:
    bool is_told(const msg::Member& member) const {
      return std::ranges::count(unheard_, member.id) == 0;
    }

    msg::RegistrySink& sink_;
    const std::vector<Id> unheard_;
  };
  class Filtered final : public msg::Membership {
   public:
    Filtered(std::unique_ptr<Filter> filter, std::unique_ptr<msg::Membership> inner)
        : filter_(std::move(filter)), inner_(std::move(inner)) {}
    void leave() override { inner_->leave(); }
    void remind(const msg::Member& known) override { inner_->remind(known); }

   private:
    std::unique_ptr<Filter> filter_;  // Outlives the membership.
    std::unique_ptr<msg::Membership> inner_;
  };

  msg::Registry& whole_;
  const std::vector<Id> unheard_;
};

}  // namespace muster::tests
