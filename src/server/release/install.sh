#!/bin/sh
# Installs a worker of Leasehold: fetches the signed release of a node, checks it, and exchanges a code for the secret of the worker.
#
#   curl -fsSL https://NODE/install.sh | sh -s -- --server https://NODE --key ed25519:…
#
# The code comes from the terminal, from --code-file FILE, or from standard input with --code-file -. Never from the command line, which
# other users of this host can see.
#
# Everything is in functions, and only the last line runs one: a script that was cut off does nothing.

leasehold_usage() {
  cat <<'USAGE'
sh install.sh --server URL --key KEY [options] [-- ARGUMENTS OF THE WORKER]

  --server URL      a node, as this host reaches it; may be repeated
  --key KEY         the release key, ed25519:…; releases of no other are installed, now or later; may be repeated
  --unsigned        install a release that is not signed, and later ones too: whoever is the node then runs what it likes here
  --prefix DIR      where to install; default ~/.leasehold-worker
  --code-file FILE  the code of the worker is in this file; -: on standard input
  --node PATH       the node program to use; default the first in PATH. It must be Node 24 or newer
  --insecure        let the secret travel in the clear to a node beyond this host
  --systemd         also write DIR/leasehold-worker.service, a unit of systemd
USAGE
}

leasehold_fail() {
  printf 'install: %s\n' "$1" >&2
  exit 1
}

leasehold_node() {
  [ -n "$node" ] || node=$(command -v node) || leasehold_fail \
    'there is no Node here. Install Node 24 or newer (your package manager, or the site of Node), or name one with --node PATH.'
  [ -x "$node" ] || leasehold_fail "$node is not a program"
  found=$("$node" -p 'process.versions.node' 2>/dev/null) || leasehold_fail "$node is not Node"
  case ${found%%.*} in
    '' | *[!0-9]*) leasehold_fail "$node is not Node" ;;
  esac
  [ "${found%%.*}" -ge 24 ] || leasehold_fail \
    "a worker needs Node 24 or newer, and $node is $found. Install a newer one, or name one with --node PATH."
  node=$("$node" -p 'process.execPath')
}

# Fetches, checks, unpacks; writes install.json and updater.json. No value of this script is part of the program: all are arguments.
leasehold_take() {
  "$node" --input-type=module - "$@" <<'PROGRAM'
import { createHash, createPublicKey, verify } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';

const fail = (problem) => {
  process.stderr.write(`install: ${problem}\n`);
  process.exit(1);
};
const [prefix, unsignedWord, insecureWord, urlLines, keyLines, ...more] = process.argv.slice(2);
const [unsigned, insecure] = [unsignedWord === 'yes', insecureWord === 'yes'];
const urls = urlLines.split('\n').filter((line) => line !== '');
const keys = keyLines.split('\n').filter((line) => line !== '');

for (const url of urls) {
  const { protocol, hostname } = new URL(url);
  const isHere = /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
  if (protocol !== 'https:' && !(protocol === 'http:' && (insecure || isHere)))
    fail(`the secret of the worker would travel to ${hostname} in the clear; use https://, or --insecure on a network that you trust`);
}
for (const key of keys) if (!/^ed25519:[\w-]{43}$/.test(key)) fail('a release key is of the form ed25519:…');

async function get(path, most) {
  let problem;
  for (const url of urls) {
    try {
      const response = await fetch(new URL(path, url), { redirect: 'error', signal: AbortSignal.timeout(120_000) });
      if (response.status !== 200) throw new Error(`the node answers ${response.status}`);
      const chunks = [];
      let size = 0;
      for await (const chunk of response.body) {
        size += chunk.length;
        if (size > most) throw new Error(`it is larger than ${most} bytes`);
        chunks.push(chunk);
      }
      return Buffer.concat(chunks);
    } catch (error) {
      problem = `${url}${path}: ${error.cause?.message ?? error.message}`;
    }
  }
  return fail(problem);
}

function parsed(text, what) {
  try {
    return JSON.parse(text);
  } catch {
    return fail(`${what} is not JSON`);
  }
}

const envelope = parsed(await get('/release/manifest.json', 32_768), 'the manifest');
const { signed, signature } = envelope ?? {};
if (typeof signed !== 'string') fail('the node shows no release');
if (signature === undefined) {
  if (!unsigned) fail('the release of this node is not signed; --unsigned installs it all the same');
} else {
  const isGood = keys.some((key) => {
    const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: key.slice(8) }, format: 'jwk' });
    return verify(null, Buffer.from(`leasehold release v1\n${signed}`), publicKey, Buffer.from(String(signature), 'base64url'));
  });
  if (!isGood) fail('the release of this node is not signed by the key that you gave: nothing was installed');
}
const { version, sha256, size, expires, minVersion } = parsed(signed, 'what is signed');
const isVersion = (text) => typeof text === 'string' && /^\d{1,6}\.\d{1,6}\.\d{1,6}$/.test(text);
if (!isVersion(version) || !isVersion(minVersion) || !/^[0-9a-f]{64}$/.test(sha256) || !(size > 0 && size <= 2 ** 26))
  fail('the manifest is not one');
if (!(Date.now() < expires)) fail(`release ${version} has expired; the node needs a newer one, or one that was signed again`);

const bytes = await get(`/release/bundle/${sha256}`, size);
if (bytes.length !== size || createHash('sha256').update(bytes).digest('hex') !== sha256)
  fail('the bundle is not the one that was signed: nothing was installed');
let bundle;
try {
  bundle = JSON.parse(gunzipSync(bytes, { maxOutputLength: 2 ** 28 }).toString());
} catch {
  fail('the bundle cannot be unpacked');
}
const files = Object.entries(bundle.files ?? {});
const isPath = (path) => path.length <= 200 && /^[\w@][\w@.+-]*(?:\/[\w@][\w@.+-]*)*$/.test(path);
if (bundle.format !== 1 || bundle.version !== version || !files.every(([path, text]) => isPath(path) && typeof text === 'string'))
  fail('the bundle is not one');

if (existsSync(join(prefix, 'updater.json'))) fail(`there is a worker in ${prefix} already; its updater upgrades it`);
mkdirSync(join(prefix, 'releases'), { recursive: true, mode: 0o755 });
for (const folder of ['data', 'work']) {
  mkdirSync(join(prefix, folder), { recursive: true, mode: 0o700 });
  chmodSync(join(prefix, folder), 0o700);
}
const part = join(prefix, 'releases', `.${version}.${process.pid}`);
const whole = join(prefix, 'releases', version);
rmSync(part, { recursive: true, force: true });
for (const [path, text] of files) {
  const file = join(part, path);
  mkdirSync(dirname(file), { recursive: true, mode: 0o755 });
  writeFileSync(file, text, { mode: 0o644, flag: 'wx' });
}
rmSync(whole, { recursive: true, force: true });
renameSync(part, whole);
const put = (name, text) => {
  const file = join(prefix, name);
  rmSync(`${file}.new`, { force: true });
  writeFileSync(`${file}.new`, text, { mode: 0o600, flag: 'wx' });
  renameSync(`${file}.new`, file);
};
put('updater.js', bundle.files['updater.js'] ?? fail('the bundle has no updater'));
put('package.json', '{"type":"module"}\n');
put('install.json', `${JSON.stringify({ urls, keys, unsigned, arguments: [...(insecure ? ['--insecure'] : []), ...more] }, null, 2)}\n`);
process.stdout.write(`${version} ${minVersion}`);
process.stderr.write(`Release ${version}, ${signature === undefined ? 'NOT SIGNED' : 'signed by the key that is pinned from now on'}.\n`);
PROGRAM
}

# Where a path or an address may stand in a unit without being something else there.
leasehold_unit_word() {
  case $1 in
    *[!A-Za-z0-9/._@:+-]* | '') leasehold_fail "a unit of systemd would not take $1 as one word; choose another path" ;;
  esac
}

leasehold_unit() {
  leasehold_unit_word "$node"
  leasehold_unit_word "$prefix"
  cat >"$prefix/leasehold-worker.service" <<UNIT
# A worker of Leasehold. This unit was written by install.sh and was not started by it:
#   systemctl --user link $prefix/leasehold-worker.service && systemctl --user enable --now leasehold-worker
[Unit]
Description=Leasehold worker
After=network-online.target
Wants=network-online.target

[Service]
Type=exec
ExecStart=$node $prefix/updater.js $prefix
WorkingDirectory=$prefix/work
# The worker drains: tasks that run come to their end, or are given back, within --drain-timeout.
KillMode=mixed
TimeoutStopSec=120
Restart=on-failure
RestartSec=5
NoNewPrivileges=yes

[Install]
WantedBy=default.target
UNIT
}

leasehold_code() {
  code=
  case $code_file in
    -) IFS= read -r code || [ -n "$code" ] || leasehold_fail 'there is no code on standard input' ;;
    '')
      if [ -t 0 ]; then
        printf 'The code of the worker: ' >&2
        IFS= read -r code
      elif (: </dev/tty) 2>/dev/null; then
        printf 'The code of the worker: ' >&2
        IFS= read -r code </dev/tty
      else
        leasehold_fail 'the code of the worker is missing: give --code-file FILE, or --code-file - and the code on standard input'
      fi
      ;;
    *) IFS= read -r code <"$code_file" || [ -n "$code" ] || leasehold_fail "there is no code in $code_file" ;;
  esac
  [ -n "$code" ] || leasehold_fail 'the code of the worker is empty'
}

leasehold_install() {
  set -eu
  umask 022
  newline='
'
  urls= keys= unsigned=no insecure=no prefix= code_file= node= systemd=no
  while [ $# -gt 0 ]; do
    case $1 in
      --server | --key | --prefix | --code-file | --node)
        [ $# -ge 2 ] || leasehold_fail "$1 needs a value"
        ;;
    esac
    case $1 in
      --server) urls=$urls$2$newline && shift 2 ;;
      --key) keys=$keys$2$newline && shift 2 ;;
      --prefix) prefix=$2 && shift 2 ;;
      --code-file) code_file=$2 && shift 2 ;;
      --node) node=$2 && shift 2 ;;
      --unsigned) unsigned=yes && shift ;;
      --insecure) insecure=yes && shift ;;
      --systemd) systemd=yes && shift ;;
      --help | -h)
        leasehold_usage
        exit 0
        ;;
      --) shift && break ;;
      *) leasehold_fail "there is no option $1; --help lists them" ;;
    esac
  done
  [ -n "$urls" ] || leasehold_fail 'give the address of a node: --server URL'
  [ -n "$keys" ] || [ "$unsigned" = yes ] || leasehold_fail \
    'give the release key as "leasehold workers create" has shown it: --key ed25519:…'
  [ -n "$prefix" ] || prefix=${HOME:?}/.leasehold-worker
  case $prefix in
    /*) ;;
    *) prefix=$PWD/$prefix ;;
  esac
  leasehold_node
  [ "$systemd" = no ] || { leasehold_unit_word "$node" && leasehold_unit_word "$prefix"; }
  # Asked for first: whoever has to look for it should not find half of an installation afterwards.
  leasehold_code
  taken=$(leasehold_take "$prefix" "$unsigned" "$insecure" "$urls" "$keys" "$@")
  version=${taken% *} floor=${taken#* }

  # The code goes through the environment of one process, and is good once.
  set --
  OLD_IFS=$IFS && IFS=$newline
  for url in $urls; do set -- "$@" --join "$url"; done
  IFS=$OLD_IFS
  [ "$insecure" = no ] || set -- "$@" --insecure
  LEASEHOLD_WORKER_CODE=$code "$node" "$prefix/releases/$version/bin/leasehold.js" worker "$@" --data-dir "$prefix/data" --enrol </dev/null ||
    leasehold_fail "the node did not take the code. Run this again with a new one; \"leasehold workers create\" shows it."

  # Last: without this file nothing starts, and the script may run again.
  printf '{"version":"%s","newest":"%s","floor":"%s","failures":0}\n' "$version" "$version" "$floor" >"$prefix/updater.json.new"
  chmod 600 "$prefix/updater.json.new"
  mv "$prefix/updater.json.new" "$prefix/updater.json"
  if [ "$systemd" = yes ]; then
    leasehold_unit
    printf 'The unit is %s. To start the worker with it:\n' "$prefix/leasehold-worker.service"
    printf '  systemctl --user link %s && systemctl --user enable --now leasehold-worker\n' "$prefix/leasehold-worker.service"
  fi
  printf 'The worker is installed. To start it: %s %s\n' "$node" "$prefix/updater.js"
}

leasehold_install "$@"
