// Certificates for tests: an authority, and what it has signed, as PEM files.

#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "muster/base/check.h"
#include "muster/drivers/tcp/tls_options.h"

namespace muster::drivers::tcp::testing {

// A certificate and its key.
struct Certificate {
  std::shared_ptr<X509> certificate;
  std::shared_ptr<EVP_PKEY> key;
};

struct Subject {
  std::string name = "muster test";
  std::string alternative = {};  // Such as "IP:127.0.0.1"; empty: an authority.
  long valid_for_s = 3600;
};

// Signed by `authority`, or by itself.
inline Certificate make_certificate(const Subject& subject, const Certificate* authority) {
  const std::shared_ptr<EVP_PKEY> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::shared_ptr<X509> made(X509_new(), X509_free);
  static long serial = 0;
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -7200);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), subject.valid_for_s);
  X509_set_pubkey(made.get(), key.get());
  X509_NAME* const name = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(subject.name.c_str()), -1, -1,
                             0);
  X509* const issuer = authority != nullptr ? authority->certificate.get() : made.get();
  X509_set_issuer_name(made.get(), X509_get_subject_name(issuer));
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, made.get(), nullptr, nullptr, 0);
  const auto extend = [&](int kind, const char* value) {
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value);
    MUSTER_CHECK(extension != nullptr, "an extension that OpenSSL can read");
    X509_add_ext(made.get(), extension, -1);
    X509_EXTENSION_free(extension);
  };
  if (subject.alternative.empty()) {
    extend(NID_basic_constraints, "critical,CA:TRUE");
  } else {
    extend(NID_subject_alt_name, subject.alternative.c_str());
  }
  EVP_PKEY* const signer = authority != nullptr ? authority->key.get() : key.get();
  MUSTER_CHECK(X509_sign(made.get(), signer, EVP_sha256()) > 0, "OpenSSL can sign");
  return {made, key};
}

// A folder of PEM files, gone with it.
class CertificateFolder {
 public:
  CertificateFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "muster-tls-XXXXXX").string();
    MUSTER_CHECK(mkdtemp(name.data()) != nullptr, "a test can make a folder");
    path_ = name;
  }
  ~CertificateFolder() { std::filesystem::remove_all(path_); }
  CertificateFolder(const CertificateFolder&) = delete;
  CertificateFolder& operator=(const CertificateFolder&) = delete;

  // What one end needs: whom it believes, and who it is. The key opens by itself if there
  // is no password.
  TlsOptions save(const Certificate& believed, const Certificate& own,
                  const std::string& password = {}) {
    const std::string start = path_ + "/" + std::to_string(++count_);
    write(start + ".ca",
          [&](std::FILE* file) { PEM_write_X509(file, believed.certificate.get()); });
    write(start + ".crt", [&](std::FILE* file) { PEM_write_X509(file, own.certificate.get()); });
    write(start + ".key", [&](std::FILE* file) {
      const EVP_CIPHER* const cipher = password.empty() ? nullptr : EVP_aes_128_cbc();
      PEM_write_PrivateKey(file, own.key.get(), cipher,
                           reinterpret_cast<const unsigned char*>(password.data()),
                           static_cast<int>(password.size()), nullptr, nullptr);
    });
    TlsOptions options;
    options.ca_file = start + ".ca";
    options.certificate_file = start + ".crt";
    options.key_file = start + ".key";
    return options;
  }

 private:
  template <class Write>
  static void write(const std::string& path, Write write) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    MUSTER_CHECK(file != nullptr, "a test can write a file");
    write(file);
    std::fclose(file);
  }

  std::string path_;
  int count_ = 0;
};

}  // namespace muster::drivers::tcp::testing
