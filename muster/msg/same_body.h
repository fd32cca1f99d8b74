// Whether two bodies are the same, known cheaply. Pure.

#pragma once

#include <cstddef>
#include <unordered_map>

#include "muster/wire/value.h"

namespace muster::msg {

// True if both would be written the same. Large byte strings and tensors are
// the same only if they share their memory: to compare them would cost more
// than is saved.
bool is_same_body(const wire::Value& a, const wire::Value& b);

// Finds the first of several bodies that is the same, wherever in the list it stands,
// and looks at each about once.
class BodyIndex {
 public:
  // Which of those before is the same, counted from 0; none: this one's own number.
  // `body` stays where it is.
  std::size_t first_like(const wire::Value& body);

 private:
  struct Known {
    const wire::Value* body;
    std::size_t number;
  };
  std::unordered_multimap<std::size_t, Known> known_;
  std::size_t count_ = 0;
};

}  // namespace muster::msg
