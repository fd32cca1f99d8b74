#include "muster/drivers/tcp/tls_cipher.h"

#ifdef MUSTER_HAS_IPSEC_MB

#include <intel-ipsec-mb.h>
#include <openssl/crypto.h>

namespace muster::drivers::tcp {
namespace {

// What it has for this processor. They keep nothing, and so serve all threads.
struct Functions {
  aes_gcm_pre_t set_key = nullptr;
  aes_gcm_init_t begin = nullptr;
  aes_gcm_enc_dec_update_t seal = nullptr;
  aes_gcm_enc_dec_update_t open = nullptr;
  aes_gcm_enc_dec_finalize_t end_sealed = nullptr;
  aes_gcm_enc_dec_finalize_t end_opened = nullptr;
};

// The manager that knows them takes megabytes for what is not used here.
Functions find_functions() {
  Functions found;
  IMB_MGR* const manager = alloc_mb_mgr(0);
  if (manager == nullptr) return found;
  IMB_ARCH chosen = IMB_ARCH_NONE;
  init_mb_mgr_auto(manager, &chosen);
  if (chosen >= IMB_ARCH_SSE && imb_get_errno(manager) == 0) {
    found = {manager->gcm128_pre,          manager->gcm128_init,
             manager->gcm128_enc_update,   manager->gcm128_dec_update,
             manager->gcm128_enc_finalize, manager->gcm128_dec_finalize};
  }
  free_mb_mgr(manager);
  return found;
}

const Functions& functions() {
  static const Functions kFound = find_functions();
  return kFound;
}

class IpsecMbCipher final : public TlsCipher {
 public:
  IpsecMbCipher(const Functions& mb, Use use)
      : mb_(mb), pass_(use == Use::seal ? mb.seal : mb.open) {}
  ~IpsecMbCipher() override {
    OPENSSL_cleanse(&key_, sizeof key_);
    OPENSSL_cleanse(&record_, sizeof record_);
  }
  IpsecMbCipher(const IpsecMbCipher&) = delete;
  IpsecMbCipher& operator=(const IpsecMbCipher&) = delete;

  void set_key(std::span<const std::byte, kKey> key) override { mb_.set_key(key.data(), &key_); }

  void begin(std::span<const std::byte, kNonce> nonce, std::span<const std::byte> header) override {
    mb_.begin(&key_, &record_, reinterpret_cast<const std::uint8_t*>(nonce.data()),
              reinterpret_cast<const std::uint8_t*>(header.data()), header.size());
  }

  void pass(const std::byte* from, std::byte* to, std::size_t size) override {
    pass_(&key_, &record_, reinterpret_cast<std::uint8_t*>(to),
          reinterpret_cast<const std::uint8_t*>(from), size);
  }

  void end_sealed(std::span<std::byte, kTag> tag) override {
    mb_.end_sealed(&key_, &record_, reinterpret_cast<std::uint8_t*>(tag.data()), kTag);
  }

  bool end_opened(std::span<const std::byte, kTag> tag) override {
    std::array<std::byte, kTag> actual;
    mb_.end_opened(&key_, &record_, reinterpret_cast<std::uint8_t*>(actual.data()), kTag);
    return CRYPTO_memcmp(actual.data(), tag.data(), kTag) == 0;
  }

 private:
  const Functions& mb_;
  aes_gcm_enc_dec_update_t pass_;
  // It asks for this by instructions that fail elsewhere, though not by the type.
  alignas(64) gcm_key_data key_{};
  alignas(64) gcm_context_data record_{};
};

}  // namespace

std::unique_ptr<TlsCipher> make_ipsec_mb_cipher(TlsCipher::Use use) {
  const Functions& found = functions();
  return found.set_key != nullptr ? std::make_unique<IpsecMbCipher>(found, use) : nullptr;
}

}  // namespace muster::drivers::tcp

#else

namespace muster::drivers::tcp {

std::unique_ptr<TlsCipher> make_ipsec_mb_cipher(TlsCipher::Use) { return nullptr; }

}  // namespace muster::drivers::tcp

#endif
