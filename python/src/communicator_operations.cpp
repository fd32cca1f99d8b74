// The operations whose blocks are all of one size, and those with a count for each
// rank. What they are called with lives as long as they take.

#include <chrono>
#include <string>
#include <vector>

#include "communicator.h"

namespace muster::python {
namespace {

using Counts = std::vector<std::uint64_t>;

// What an operation reads and what it writes, which is also its result.
struct Ends {
  Ends(nb::handle reads, nb::handle writes) : from(reads, false), to(writes, true) {
    from.keep_in(lending.kept);
    to.keep_in(lending.kept);
    for (const Lent* end : {&from, &to}) {
      if (!end->arena().empty()) lending.arena.push_back(end->arena());
    }
    if (!writes.is_none()) lending.value = keep(writes);
  }
  Ends(const PyCommunicator& self, nb::handle reads, nb::handle writes, nb::handle said)
      : Ends(reads, writes) {
    Reducing reducing = to_reducing(said, from.input().element, self.live()->rank());
    reduction = reducing.reduction;
    lending.verdict = std::move(reducing.verdict);
  }

  Lent from;
  Lent to;
  collectives::Reduction reduction = collectives::Reduction::sum;
  Lending lending;
};

nb::object barrier(const PyCommunicator& self) {
  return self.begin({}, [](auto& here) { return here.ibarrier(); });
}

// A call that cannot be made from here. The other ranks, who make it, need not wait. They are
// told before this returns, lest it is closed before, unless others of its calls take long.
void refuse(const PyCommunicator& self, const std::string& why) {
  constexpr Duration kPatience = std::chrono::seconds(1);
  self.call([&](auto& here) {
    const auto told = here.irefuse(Error(Code::invalid, why));
    return here.loop().wait_until([&] { return told.is_ready(); }, here.loop().now() + kPatience);
  });
}

nb::object broadcast(const PyCommunicator& self, nb::handle data, std::uint32_t root) {
  const Ends ends(nb::none(), data);
  return self.begin(ends.lending,
                    [&](auto& here) { return here.ibroadcast(ends.to.output(), root); });
}

nb::object reduce(const PyCommunicator& self, nb::handle mine, nb::handle result,
                  nb::handle reduction, std::uint32_t root) {
  const Ends ends(self, mine, result, reduction);
  return self.begin(ends.lending, [&](auto& here) {
    return here.ireduce(ends.from.input(), ends.to.output(), ends.reduction, root);
  });
}

nb::object all_reduce(const PyCommunicator& self, nb::handle mine, nb::handle result,
                      nb::handle reduction) {
  const Ends ends(self, mine, result, reduction);
  return self.begin(ends.lending, [&](auto& here) {
    return here.iall_reduce(ends.from.input(), ends.to.output(), ends.reduction);
  });
}

nb::object reduce_scatter(const PyCommunicator& self, nb::handle all, nb::handle mine,
                          nb::handle reduction) {
  const Ends ends(self, all, mine, reduction);
  return self.begin(ends.lending, [&](auto& here) {
    return here.ireduce_scatter(ends.from.input(), ends.to.output(), ends.reduction);
  });
}

nb::object reduce_scatter_v(const PyCommunicator& self, nb::handle all, const Counts& counts,
                            nb::handle mine, nb::handle reduction) {
  const Ends ends(self, all, mine, reduction);
  return self.begin(ends.lending, [&](auto& here) {
    return here.ireduce_scatter_v(ends.from.input(), counts, ends.to.output(), ends.reduction);
  });
}

// From one array to another, and whatever else such an operation is told.
template <class Start>
nb::object move(const PyCommunicator& self, nb::handle reads, nb::handle writes, Start start) {
  const Ends ends(reads, writes);
  return self.begin(ends.lending,
                    [&](auto& here) { return start(here, ends.from.input(), ends.to.output()); });
}

nb::object scatter(const PyCommunicator& self, nb::handle all, nb::handle mine,
                   std::uint32_t root) {
  return move(self, all, mine,
              [&](auto& here, auto from, auto to) { return here.iscatter(from, to, root); });
}

nb::object gather(const PyCommunicator& self, nb::handle mine, nb::handle all, std::uint32_t root) {
  return move(self, mine, all,
              [&](auto& here, auto from, auto to) { return here.igather(from, to, root); });
}

nb::object all_gather(const PyCommunicator& self, nb::handle mine, nb::handle all) {
  return move(self, mine, all,
              [](auto& here, auto from, auto to) { return here.iall_gather(from, to); });
}

nb::object all_to_all(const PyCommunicator& self, nb::handle mine, nb::handle theirs) {
  return move(self, mine, theirs,
              [](auto& here, auto from, auto to) { return here.iall_to_all(from, to); });
}

nb::object scatter_v(const PyCommunicator& self, nb::handle all, const Counts& counts,
                     nb::handle mine, std::uint32_t root) {
  return move(self, all, mine, [&](auto& here, auto from, auto to) {
    return here.iscatter_v(from, counts, to, root);
  });
}

nb::object gather_v(const PyCommunicator& self, nb::handle mine, nb::handle all,
                    const Counts& counts, std::uint32_t root) {
  return move(self, mine, all, [&](auto& here, auto from, auto to) {
    return here.igather_v(from, to, counts, root);
  });
}

nb::object all_gather_v(const PyCommunicator& self, nb::handle mine, nb::handle all,
                        const Counts& counts) {
  return move(self, mine, all,
              [&](auto& here, auto from, auto to) { return here.iall_gather_v(from, to, counts); });
}

nb::object all_to_all_v(const PyCommunicator& self, nb::handle mine, const Counts& counts,
                        nb::handle theirs, const Counts& their_counts) {
  return move(self, mine, theirs, [&](auto& here, auto from, auto to) {
    return here.iall_to_all_v(from, counts, to, their_counts);
  });
}

auto or_none(const char* name) { return nb::arg(name).none() = nb::none(); }

}  // namespace

void bind_even_operations(CommunicatorClass& type) {
  type.def("_refuse", refuse, nb::arg("why"))
      .def("_await_next", [](const PyCommunicator& self) { self.await_next(); })
      .def("_barrier", barrier)
      .def("_broadcast", broadcast, nb::arg("data"), nb::arg("root"))
      .def("_reduce", reduce, nb::arg("mine"), or_none("result"), nb::arg("reduction"),
           nb::arg("root"))
      .def("_all_reduce", all_reduce)
      .def("_scatter", scatter, or_none("all"), nb::arg("mine"), nb::arg("root"))
      .def("_gather", gather, nb::arg("mine"), or_none("all"), nb::arg("root"))
      .def("_all_gather", all_gather)
      .def("_reduce_scatter", reduce_scatter)
      .def("_all_to_all", all_to_all);
}

void bind_uneven_operations(CommunicatorClass& type) {
  type.def("_scatter_v", scatter_v, or_none("all"), nb::arg("counts"), nb::arg("mine"),
           nb::arg("root"))
      .def("_gather_v", gather_v, nb::arg("mine"), or_none("all"), nb::arg("counts"),
           nb::arg("root"))
      .def("_all_gather_v", all_gather_v)
      .def("_reduce_scatter_v", reduce_scatter_v)
      .def("_all_to_all_v", all_to_all_v);
}

}  // namespace muster::python
