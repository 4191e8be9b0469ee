#!/bin/sh
# certs.sh DIR: a small authority and what it signed, for the tests of TLS.
#
#   ca.pem              whom to trust
#   good.pem good.key   for localhost and 127.0.0.1
#   host.*              for another host
#   late.*              for localhost, but expired
#   self.*              for localhost, signed by itself
#   client.*            for a client
set -eu
cd "$1"
command -v openssl >/dev/null || { echo "openssl is not installed" >&2; exit 1; }
here=DNS:localhost,IP:127.0.0.1

# key NAME SUBJECT
key() {
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
        -keyout "$1.key" -out "$1.csr" -subj "$2" 2>/dev/null
}

# sign NAME DAYS EXTENSION..: a negative number of days is over already
sign() {
    name=$1 days=$2
    shift 2
    printf '%s\n' "$@" >"$name.ext"
    openssl x509 -req -in "$name.csr" -CA ca.pem -CAkey ca.key -CAcreateserial \
        -days "$days" -extfile "$name.ext" -out "$name.pem" 2>/dev/null
}

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
    -keyout ca.key -out ca.pem -subj "/CN=mcplug test authority" 2>/dev/null
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
    -keyout self.key -out self.pem -subj /CN=localhost \
    -addext "subjectAltName=$here" 2>/dev/null
key good /CN=localhost
sign good 2 "subjectAltName=$here"
key host /CN=elsewhere.example
sign host 2 subjectAltName=DNS:elsewhere.example
key late /CN=localhost
sign late -1 "subjectAltName=$here"
key client /CN=client
sign client 2 extendedKeyUsage=clientAuth
