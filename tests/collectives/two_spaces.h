// TwoSpaces: two network namespaces with a wire between them, for a test that
// needs two hosts. Root makes them; they go when it goes.

#pragma once

#include <cstdint>
#include <string>

namespace muster::tests {

class TwoSpaces {
 public:
  // is_made() is false where the system does not let us.
  TwoSpaces();
  ~TwoSpaces();
  TwoSpaces(const TwoSpaces&) = delete;
  TwoSpaces& operator=(const TwoSpaces&) = delete;

  bool is_made() const { return is_made_; }
  // 0 or 1.
  const std::string& name(int which) const { return names_[which]; }
  static std::string address(int which) { return which == 0 ? "10.213.77.1" : "10.213.77.2"; }
  // Bytes that have left the first for the second, as process `pid` in it sees them.
  std::uint64_t bytes_sent(int pid) const;

 private:
  std::string names_[2];
  std::string wires_[2];
  bool is_made_ = false;
};

}  // namespace muster::tests
