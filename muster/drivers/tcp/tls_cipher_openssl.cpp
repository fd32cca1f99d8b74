#include <openssl/evp.h>

#include "muster/base/check.h"
#include "muster/drivers/tcp/tls_cipher.h"

namespace muster::drivers::tcp {
namespace {

class OpensslCipher final : public TlsCipher {
 public:
  explicit OpensslCipher(Use use) : context_(EVP_CIPHER_CTX_new()), use_(use) {
    MUSTER_CHECK(context_ != nullptr, "there is memory for a key");
  }
  ~OpensslCipher() override { EVP_CIPHER_CTX_free(context_); }
  OpensslCipher(const OpensslCipher&) = delete;
  OpensslCipher& operator=(const OpensslCipher&) = delete;

  void set_key(std::span<const std::byte, kKey> key) override {
    const int is_set = EVP_CipherInit_ex(context_, EVP_aes_128_gcm(), nullptr, raw(key.data()),
                                         nullptr, use_ == Use::seal ? 1 : 0);
    MUSTER_CHECK(is_set == 1, "libcrypto has AES-128-GCM");
  }

  void begin(std::span<const std::byte, kNonce> nonce, std::span<const std::byte> header) override {
    is_good_ = EVP_CipherInit_ex(context_, nullptr, nullptr, nullptr, raw(nonce.data()), -1) == 1;
    update(header.data(), nullptr, header.size());
  }

  void pass(const std::byte* from, std::byte* to, std::size_t size) override {
    if (size > 0) update(from, to, size);  // Of nothing it would take this for the end.
  }

  void end_sealed(std::span<std::byte, kTag> tag) override {
    is_good_ &=
        finish() && EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_GET_TAG, kTag, tag.data()) == 1;
    MUSTER_CHECK(is_good_, "AES-128-GCM encrypts whatever it is given");
  }

  bool end_opened(std::span<const std::byte, kTag> tag) override {
    auto* const given = const_cast<std::byte*>(tag.data());  // Only read.
    return is_good_ && EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_SET_TAG, kTag, given) == 1 &&
           finish();
  }

 private:
  static unsigned char* raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
  static const unsigned char* raw(const std::byte* bytes) {
    return reinterpret_cast<const unsigned char*>(bytes);
  }

  void update(const std::byte* from, std::byte* to, std::size_t size) {
    int count = 0;
    is_good_ &= EVP_CipherUpdate(context_, raw(to), &count, raw(from), static_cast<int>(size)) == 1;
  }

  bool finish() {
    int count = 0;
    std::byte nowhere{};
    return EVP_CipherFinal_ex(context_, raw(&nowhere), &count) == 1;
  }

  EVP_CIPHER_CTX* context_;
  Use use_;
  bool is_good_ = true;  // All of the record so far.
};

}  // namespace

std::unique_ptr<TlsCipher> make_openssl_cipher(TlsCipher::Use use) {
  return std::make_unique<OpensslCipher>(use);
}

std::unique_ptr<TlsCipher> make_tls_cipher(TlsCipher::Use use) {
  auto made = make_ipsec_mb_cipher(use);
  return made ? std::move(made) : make_openssl_cipher(use);
}

}  // namespace muster::drivers::tcp
