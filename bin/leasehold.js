#!/usr/bin/env node
// Plain JavaScript, so that it loads on any Node and can say what is wrong with it.
if (Number(process.versions.node.split('.')[0]) < 24) {
  refuse(
    `Leasehold needs Node 24 or newer; this is ${process.version}. ` +
      'In a checkout run "npm ci" (without --ignore-scripts); elsewhere install Node 24.',
  );
}

// The same bound as in src/store/sqlite/open.ts, said here before anything else is loaded.
const sqlite = process.versions.sqlite ?? '0';
if (isOlder(sqlite, '3.51.3')) {
  refuse(
    `Leasehold needs SQLite 3.51.3 or newer; this Node (${process.version}) brings ${sqlite}, which can damage a ` +
      'file that several processes write. Install the newest Node 24 (24.21 has 3.53).',
  );
}

// Not by imports: an import of a module of Node reads all its exports, of which some load half of Node.
const { existsSync, rmSync, statSync } = process.getBuiltinModule('node:fs');
const { enableCompileCache } = process.getBuiltinModule('node:module');
const { fileURLToPath } = process.getBuiltinModule('node:url');

// First, so that it serves everything that is loaded below; without it a start takes three times as long. In our own
// folder; where it cannot be written, Node goes on without.
cacheCode(fileURLToPath(new URL('../node_modules/.cache/leasehold', import.meta.url)));

const source = new URL('../src/cli/main.ts', import.meta.url);
await import(existsSync(source) ? source.href : new URL('../dist/cli/main.js', import.meta.url).href);

// Who can write there decides what the next start runs, so nobody else may, whatever the umask is. What others could
// write to is made again.
function cacheCode(folder) {
  const found = statSync(folder, { throwIfNoEntry: false });
  try {
    if (found !== undefined && process.getuid !== undefined) {
      const trusted = [process.getuid(), 0, statSync(import.meta.filename).uid];
      if (!trusted.includes(found.uid) || (found.mode & 0o022) !== 0) rmSync(folder, { recursive: true });
    }
  } catch {
    return;
  }
  const umask = process.umask(0o077);
  process.umask(umask | 0o022);
  enableCompileCache(folder);
  process.umask(umask);
}

function refuse(sentence) {
  console.error(sentence);
  process.exit(2);
}

function isOlder(version, bound) {
  const have = version.split('.').map(Number);
  const need = bound.split('.').map(Number);
  const differs = need.findIndex((part, i) => part !== (have[i] ?? 0));
  return differs !== -1 && (have[differs] ?? 0) < need[differs];
}
