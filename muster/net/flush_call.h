// FlushCall: one function of an object, as something that the loop flushes.

#pragma once

#include "muster/loop/sources.h"

namespace muster::net {

template <class Object>
class FlushCall final : public loop::Flusher {
 public:
  using What = void (Object::*)();
  FlushCall(Object& object, What what) : object_(object), what_(what) {}
  void flush() override { (object_.*what_)(); }

 private:
  Object& object_;
  What what_;
};

}  // namespace muster::net
