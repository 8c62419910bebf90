import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'rolldown';
import { packBundle } from '../src/worker/upgrade/bundle-file.ts';
import { bundle } from './bundle.ts';
import { builtinsAsNeeded } from './rewrite.ts';

const ROOT = join(import.meta.dirname, '..');
/** All that a worker needs. What only a node needs is not there: a worker that is installed has no store. */
const INSIDE: readonly string[] = [
  'zod',
  'yaml',
  'ws',
  '@a2a-js/sdk',
  '@modelcontextprotocol/client',
  '@opentelemetry/api',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace',
];
/** Of the built program, what no worker starts. */
const LEFT_OUT = /^(testing\.js|compat\/)/;

/** The worker as one file, and its updater as one of a single module. */
export async function workerBundle(version: string): Promise<{ readonly bundle: Buffer; readonly updater: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-bundle-'));
  try {
    await bundle(join(ROOT, 'src'), join(folder, 'dist'), INSIDE);
    const updater = await updaterText(folder);
    const dist = textsIn(join(folder, 'dist'), '**/*.{js,LICENSE}', 'dist/', LEFT_OUT);
    const files = {
      ...dist,
      ...textsIn(join(ROOT, 'machines'), '**/*.{yml,yaml,json,md,js}', 'machines/'),
      'bin/leasehold.js': readFileSync(join(ROOT, 'bin/leasehold.js'), 'utf8'),
      'package.json': `${JSON.stringify({ name: 'leasehold', version, type: 'module', private: true })}\n`,
      LICENSE: readFileSync(join(ROOT, 'LICENSE'), 'utf8'),
      'updater.js': updater,
    };
    return { bundle: packBundle({ version, files }), updater };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function updaterText(folder: string): Promise<string> {
  await build({
    input: join(ROOT, 'src/worker/upgrade/main.ts'),
    platform: 'node',
    tsconfig: false,
    checks: { pluginTimings: false },
    plugins: [builtinsAsNeeded],
    output: { file: join(folder, 'updater.js'), format: 'esm', comments: false },
  });
  return readFileSync(join(folder, 'updater.js'), 'utf8');
}

function textsIn(folder: string, pattern: string, under: string, without = /^$/): Record<string, string> {
  const names = globSync(pattern, { cwd: folder }).map((name) => name.replaceAll('\\', '/'));
  const kept = names.filter((name) => !without.test(name));
  return Object.fromEntries(kept.map((name) => [`${under}${name}`, readFileSync(join(folder, name), 'utf8')]));
}
