// The muster command. Each verb is a cmd_<verb>.cpp; this lists them.

#include <CLI/CLI.hpp>

#include "apps/muster/commands.h"
#include "apps/muster/exit.h"

int main(int argc, char** argv) {
  CLI::App app("Muster: a distributed toolkit for reinforcement-learning training", "muster");
  app.require_subcommand(1);
  app.set_version_flag("--version", MUSTER_VERSION);
  muster::app::Exit exit;
  muster::app::add_doctor(app, exit);
  muster::app::add_measure_peer(app, exit);
  muster::app::add_peers(app, exit);
  muster::app::add_token(app, exit);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version end here too, with status 0; wrong use with 2.
    return app.exit(error) == 0 ? 0 : 2;
  }
  return exit.status();
}
