/** `npm run bench`: what a user of the library gets, with every peer and floor in one run; what was promised on top. See README.md. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildInto } from './built.ts';
import { DIRECT, HUB } from './contenders/hub/index.ts';
import { installPeers } from './peers.ts';
import { type RunOptions, roundsOf, runSuite, runSuites } from './run.ts';
import { hubSuite } from './suites/hub.ts';
import { suiteOf } from './suites/index.ts';
import type { Suite } from './suites/suite.ts';
import { userSuite } from './suites/user.ts';

const { values: flags, positionals } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    only: { type: 'string' },
    contenders: { type: 'string' },
    rounds: { type: 'string' },
    engine: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    record: { type: 'boolean', default: true },
  },
  allowNegative: true,
  allowPositionals: true,
});
const { store, contenders, quick, record } = flags;
/** Parts by name: `npm run bench -- drain push`. */
const only = flags.only ?? (positionals.length > 0 ? positionals.join(',') : undefined);
/** The part that has a suite of its own. */
const HUB_PART = 'hub';
const HUB_ROUNDS = 3;

if (flags.engine) {
  const suite = suiteOf(store);
  installPeers();
  await runSuite(suite, { only, contenders, rounds: roundsOf(flags.rounds, quick, 3), quick, record });
}

const rounds = roundsOf(flags.rounds, quick, 5);
const folder = mkdtempSync(join(tmpdir(), 'leasehold-package-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
installPeers();
console.error('building the package');
const user = userSuite(store, buildInto(folder));
const parts = only?.split(',').map((name) => name.trim());
const others = parts?.filter((name) => name !== HUB_PART);
const runs: [Suite, RunOptions][] = [];
if (others === undefined || others.length > 0) {
  runs.push([user, { only: others?.join(','), contenders, rounds, quick, record }]);
}
if (contenders === undefined && (parts === undefined || parts.includes(HUB_PART))) {
  const hub = hubSuite(store === 'postgres' ? 'postgres' : 'sqlite', { workers: 10, profile: undefined });
  const chosen = { only: 'throughput', contenders: `${HUB},${DIRECT}`, rounds: Math.min(rounds, HUB_ROUNDS) };
  runs.push([hub, { ...chosen, quick, record }]);
}
await runSuites(runs);
