#include "benchmarks/peers/gloo/operate.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>

namespace muster::bench::gloo_peer {

struct Rank::Self {
  std::shared_ptr<gloo::rendezvous::Context> context;
  std::unique_ptr<gloo::ReduceScatterHalvingDoubling<float>> reduce_scatter;
};

Rank::Rank(const CollectiveJob& job, int rank, const std::string& folder)
    : input(job.input_elements(rank)),
      result(job.result_elements(rank)),
      job_(job),
      rank_(rank),
      self_(std::make_unique<Self>()) {
  gloo::transport::tcp::attr where;
  where.hostname = "127.0.0.1";
  self_->context = std::make_shared<gloo::rendezvous::Context>(rank, job.ranks);
  gloo::rendezvous::FileStore store(folder);
  auto device = gloo::transport::tcp::CreateDevice(where);
  self_->context->connectFullMesh(store, device);
  if (job.operation == Collective::reduce_scatter) {
    std::vector<float*> pointers{input.data()};
    self_->reduce_scatter = std::make_unique<gloo::ReduceScatterHalvingDoubling<float>>(
        self_->context, pointers, static_cast<int>(input.size()),
        std::vector<int>(static_cast<std::size_t>(job.ranks), static_cast<int>(job.elements)));
  }
}

Rank::~Rank() = default;

void Rank::barrier() {
  gloo::BarrierOptions options(self_->context);
  gloo::barrier(options);
}

void Rank::operate() {
  const auto& context = self_->context;
  const auto sum = [](void* to, const void* a, const void* b, std::size_t count) {
    gloo::sum<float>(to, a, b, count);
  };
  switch (job_.operation) {
    case Collective::broadcast: {
      gloo::BroadcastOptions options(context);
      options.setOutput(result.data(), result.size());
      options.setRoot(0);
      return gloo::broadcast(options);
    }
    case Collective::scatter: {
      gloo::ScatterOptions options(context);
      std::vector<float*> blocks;
      for (int to = 0; rank_ == 0 && to < job_.ranks; ++to) {
        blocks.push_back(input.data() + static_cast<std::size_t>(to) * job_.elements);
      }
      if (rank_ == 0) options.setInputs(blocks, job_.elements);
      options.setOutput(result.data(), result.size());
      options.setRoot(0);
      return gloo::scatter(options);
    }
    case Collective::gather: {
      gloo::GatherOptions options(context);
      options.setInput(input.data(), input.size());
      if (rank_ == 0) options.setOutput(result.data(), result.size());
      options.setRoot(0);
      return gloo::gather(options);
    }
    case Collective::reduce: {
      gloo::ReduceOptions options(context);
      // It uses the output of every rank.
      if (result.empty()) result.resize(input.size());
      options.setInput(input.data(), input.size());
      options.setOutput(result.data(), result.size());
      options.setRoot(0);
      options.setReduceFunction(sum);
      return gloo::reduce(options);
    }
    case Collective::allreduce: {
      gloo::AllreduceOptions options(context);
      options.setInput(input.data(), input.size());
      options.setOutput(result.data(), result.size());
      options.setReduceFunction(sum);
      return gloo::allreduce(options);
    }
    case Collective::allgather: {
      gloo::AllgatherOptions options(context);
      options.setInput(input.data(), input.size());
      options.setOutput(result.data(), result.size());
      return gloo::allgather(options);
    }
    case Collective::reduce_scatter: return self_->reduce_scatter->run();
    case Collective::alltoall: {
      gloo::AlltoallOptions options(context);
      options.setInput(input.data(), input.size());
      options.setOutput(result.data(), result.size());
      return gloo::alltoall(options);
    }
  }
}

}  // namespace muster::bench::gloo_peer
