// Others from a communicator, what was interrupted by a loss, and memory that all
// ranks read. Calls that know no deadline are made when all ranks have come.

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "arrays.h"
#include "calls.h"
#include "communicator.h"
#include "instances.h"

namespace muster::python {
namespace {

using collectives::Communicator;
using collectives::Outcome;

nb::object split(const PyCommunicator& self, int colour, int key) {
  return self.derive([&](auto& here) { return here.split(colour, key); });
}

nb::object dup(const PyCommunicator& self) {
  return self.derive([](auto& here) { return here.dup(); });
}

nb::object grow(const PyCommunicator& self, std::uint32_t size, nb::handle timeout) {
  const msg::Wait wait = to_wait(timeout, self.held()->closing());
  return self.derive([&](auto& here) { return here.grow(size, wait); });
}

nb::object shrink(const PyCommunicator& self, nb::handle timeout) {
  const msg::Wait wait = to_wait(timeout, self.held()->closing());
  return self.derive([&](auto& here) { return here.shrink(wait); });
}

// By a thread of its own: it may wait for others for as long as they like.
nb::object repeat(const PyCommunicator& self) {
  std::shared_ptr<Communicator> here = self.live();
  Lending lending;  // None: then the others are told, and all fail.
  if (const auto owner = self.call([](auto& it) { return it.owner_of_interrupted(); })) {
    lending = *static_cast<const Lending*>(owner.get());
  }
  if (lending.verdict != nullptr) {
    raise(Error(Code::invalid, "repeat: it reduced by a function; call the operation again"));
  }
  loop::Loop& loop = here->loop();
  loop::Promise<Outcome> promise(loop);
  loop::Future<Outcome> future = promise.future();
  // Last gone, and with it perhaps the communicator, is what the thread has.
  std::thread([held = self.held(), here = std::move(here), lent = lending,
               told = std::move(promise)]() mutable {
    told.set(here->repeat());
  }).detach();
  return nb::cast(
      std::make_unique<PyOperation>(self.held(), loop, std::move(future), std::move(lending)));
}

// The memory of an array that is given away, and how the others will see it.
Array to_shared(nb::handle array) {
  if (array.is_none()) return {};
  if (!is_array(array)) raise(Error(Code::invalid, "share: what is shared is a numpy array"));
  return read_array(array, {});
}

// (dtype, shape, memory): what muster._arrays.describe() says, and where it lies.
nb::object describe(nb::handle array) {
  Array read = to_shared(array);
  const nb::object dtype =
      read.dtype ? nb::cast(static_cast<int>(*read.dtype)) : nb::object(nb::cast(read.description));
  return nb::make_tuple(dtype, nb::cast(read.shape), to_memory(std::move(read.bytes)));
}

Buffer buffer_of(nb::handle memory) {
  return memory.is_none() ? Buffer() : instance_of<Memory>(memory, "a Memory").buffer();
}

nb::object share(const PyCommunicator& self, nb::handle memory, std::uint32_t root) {
  return to_memory(unwrap(
      self.call([&, mine = buffer_of(memory)](auto& here) { return here.share(mine, root); })));
}

nb::list all_share(const PyCommunicator& self, nb::handle memory) {
  nb::list all;
  for (Buffer& buffer :
       unwrap(self.call([mine = buffer_of(memory)](auto& here) { return here.all_share(mine); }))) {
    all.append(to_memory(std::move(buffer)));
  }
  return all;
}

}  // namespace

void bind_reshaping(CommunicatorClass& type) {
  type.def("_split", split)
      .def("_dup", dup)
      .def("_grow", grow, nb::arg("size"), nb::arg("timeout").none())
      .def("_shrink", shrink, nb::arg("timeout").none())
      .def("_repeat", repeat)
      .def_static("_describe", describe)
      .def("_share", share, nb::arg("memory").none(), nb::arg("root"))
      .def("_all_share", all_share);
}

}  // namespace muster::python
