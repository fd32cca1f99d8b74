# The Debian packages that scripts/setup installs, with what each is for.
# shellcheck disable=SC2034  # read by scripts/setup
debian_packages=(
  # The build.
  g++ cmake ninja-build ccache git python3 python3-venv ca-certificates
  # The Python package's extension module.
  python3-dev
  # Checks: one pinned clang for formatting, tidying and fuzzing.
  clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev
  # What the library stands on (docs/decisions/0008).
  libspdlog-dev libfmt-dev libssl-dev libcli11-dev libzstd-dev liblz4-dev libzmq3-dev
  libipsec-mb-dev
  # The ucx driver, and the emulated machine with RDMA in which it is tested.
  libucx-dev ucx-utils qemu-system-x86 busybox-static kmod iproute2 cpio ibverbs-providers
  # Tests.
  libgtest-dev librapidcheck-dev valgrind
  # A Redis that tests of its registry start, and certificates for it.
  redis-server openssl
  # The peers that scripts/bench measures against; libzmq, above, is one more.
  libnng-dev openmpi-bin libopenmpi-dev libgloo-dev
)
