// Every file that is worth it gets a .gz and a .br beside it, so that a node compresses nothing while it serves.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const dist = process.argv[2] ?? fileURLToPath(new URL('dist/', import.meta.url));
const sizes = { js: [0, 0, 0], css: [0, 0, 0] };
for (const name of readdirSync(dist, { recursive: true })) {
  if (!/\.(js|css|html|svg|json)$/.test(name)) continue;
  const file = join(dist, name);
  const bytes = readFileSync(file);
  const gz = gzipSync(bytes, { level: 9 });
  const br = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } });
  writeFileSync(`${file}.gz`, gz);
  writeFileSync(`${file}.br`, br);
  const sum = sizes[name.endsWith('.js') ? 'js' : 'css'];
  if (/\.(js|css)$/.test(name)) [bytes, gz, br].forEach((part, i) => (sum[i] += part.length));
}
const kB = (n) => `${(n / 1000).toFixed(1)} kB`;
for (const [kind, [plain, gz, br]] of Object.entries(sizes))
  console.log(`${kind}: ${kB(plain)}, gzip ${kB(gz)}, brotli ${kB(br)}`);
