// SimRig: a near and a far host of a SimNet.

#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "muster/net/testing/rig.h"
#include "muster/net/testing/sim_net.h"

namespace muster::net::testing {

class SimRig final : public Rig {
 public:
  // Together they are one host, with two drivers.
  explicit SimRig(const SimOptions& options = {}, Sides sides = Sides::apart)
      : far_name_(sides == Sides::apart ? "far" : "near"),
        net_(options),
        near_(net_.driver("near")),
        far_(net_.driver(far_name_)) {}

  Side near() override { return {net_.loop(), *near_}; }
  Side far() override { return {net_.loop(), *far_}; }
  Address address() override {
    return {"sim", far_name_ + "/" + std::to_string(++last_address_), 0, 0};
  }
  bool run_until(const std::function<bool()>& done) override { return net_.run_until(done); }
  void settle() override { net_.run_for(std::chrono::milliseconds(100)); }
  void set_far_reading(bool is_reading) override { net_.set_reading(far_name_, is_reading); }

  SimNet& net() { return net_; }
  // What SimNet does between two hosts, between these.
  void part() { net_.part("near", far_name_); }
  void join() { net_.join("near", far_name_); }
  void break_connections() { net_.break_connections("near", far_name_); }

 private:
  const std::string far_name_;
  SimNet net_;
  std::unique_ptr<Driver> near_;
  std::unique_ptr<Driver> far_;
  int last_address_ = 0;
};

}  // namespace muster::net::testing
