#include "muster/drivers/tcp/tls_cipher.h"

#ifdef MUSTER_HAS_IPSEC_MB

#include <intel-ipsec-mb.h>
#include <openssl/crypto.h>

namespace muster::drivers::tcp {
namespace {

// Its functions for this processor. They are all that is used of it, and keep nothing
// there; so it serves all threads, for as long as the process lives.
const IMB_MGR* functions() {
  static const IMB_MGR* const made = [] {
    IMB_MGR* const fresh = alloc_mb_mgr(0);
    IMB_ARCH chosen = IMB_ARCH_NONE;
    if (fresh != nullptr) init_mb_mgr_auto(fresh, &chosen);
    return chosen >= IMB_ARCH_SSE && imb_get_errno(fresh) == 0 ? fresh : nullptr;
  }();
  return made;
}

class IpsecMbCipher final : public TlsCipher {
 public:
  IpsecMbCipher(const IMB_MGR& mb, Use use) : mb_(mb), use_(use) {}
  ~IpsecMbCipher() override {
    OPENSSL_cleanse(&key_, sizeof key_);
    OPENSSL_cleanse(&record_, sizeof record_);
  }
  IpsecMbCipher(const IpsecMbCipher&) = delete;
  IpsecMbCipher& operator=(const IpsecMbCipher&) = delete;

  void set_key(std::span<const std::byte, kKey> key) override { mb_.gcm128_pre(key.data(), &key_); }

  void begin(std::span<const std::byte, kNonce> nonce, std::span<const std::byte> header) override {
    mb_.gcm128_init(&key_, &record_, reinterpret_cast<const std::uint8_t*>(nonce.data()),
                    reinterpret_cast<const std::uint8_t*>(header.data()), header.size());
  }

  void pass(const std::byte* from, std::byte* to, std::size_t size) override {
    const auto update = use_ == Use::seal ? mb_.gcm128_enc_update : mb_.gcm128_dec_update;
    update(&key_, &record_, reinterpret_cast<std::uint8_t*>(to),
           reinterpret_cast<const std::uint8_t*>(from), size);
  }

  void end_sealed(std::span<std::byte, kTag> tag) override {
    mb_.gcm128_enc_finalize(&key_, &record_, reinterpret_cast<std::uint8_t*>(tag.data()), kTag);
  }

  bool end_opened(std::span<const std::byte, kTag> tag) override {
    std::array<std::byte, kTag> actual;
    mb_.gcm128_dec_finalize(&key_, &record_, reinterpret_cast<std::uint8_t*>(actual.data()), kTag);
    return CRYPTO_memcmp(actual.data(), tag.data(), kTag) == 0;
  }

 private:
  const IMB_MGR& mb_;
  Use use_;
  // It asks for this by instructions that fail elsewhere, though not by the type.
  alignas(64) gcm_key_data key_{};
  alignas(64) gcm_context_data record_{};
};

}  // namespace

std::unique_ptr<TlsCipher> make_ipsec_mb_cipher(TlsCipher::Use use) {
  const IMB_MGR* const mb = functions();
  return mb != nullptr ? std::make_unique<IpsecMbCipher>(*mb, use) : nullptr;
}

}  // namespace muster::drivers::tcp

#else

namespace muster::drivers::tcp {

std::unique_ptr<TlsCipher> make_ipsec_mb_cipher(TlsCipher::Use) { return nullptr; }

}  // namespace muster::drivers::tcp

#endif
