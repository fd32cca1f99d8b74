// The embedded registry for other hosts: a gateway at an address, and the
// registry of those who come by it.
//
// A process that was given an address opens a gateway beside its own registry.
// If it ends, those who came by it announce themselves by another, or are lost
// with their leases; links that stand are not disturbed.

#pragma once

#include <memory>
#include <vector>

#include "muster/loop/loop.h"
#include "muster/msg/registry.h"
#include "muster/net/address.h"
#include "muster/net/link_options.h"
#include "muster/registries/embedded/embedded.h"

namespace muster::registries {

struct GatewayOptions {
  net::EndpointOptions links;           // The token, and drivers for the addresses.
  std::vector<net::Address> addresses;  // To listen on.
  EmbeddedOptions embedded = {};        // As the registries of this host have them.
};

class RegistryGateway {
 public:
  virtual ~RegistryGateway() = default;
  // With all that was left open filled in.
  virtual const std::vector<net::Address>& addresses() const = 0;
};

// Needs the baton, as does the gateway's end. The loop and the drivers outlive it.
Result<std::unique_ptr<RegistryGateway>> make_registry_gateway(loop::Loop& loop,
                                                               GatewayOptions options);

struct RemoteOptions {
  net::EndpointOptions links;
  std::vector<net::Address> gateways;  // The best first.
};

// Needs the baton, as does the registry's end. The loop and the drivers outlive it.
Result<std::unique_ptr<msg::Registry>> make_remote_registry(loop::Loop& loop,
                                                            RemoteOptions options);

}  // namespace muster::registries
