/** `npm run bench:hub`: what workers of other machines cost their node, and how fast they are. See README.md. */
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { installPeers } from './peers.ts';
import { roundsOf, runSuite } from './run.ts';
import { hubSuite } from './suites/hub.ts';

const { values: flags } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    only: { type: 'string' },
    contenders: { type: 'string' },
    rounds: { type: 'string' },
    workers: { type: 'string', default: '2000' },
    profile: { type: 'string' },
    quick: { type: 'boolean', default: false },
    record: { type: 'boolean', default: true },
  },
  allowNegative: true,
});
const { store, only, contenders, quick, record } = flags;
if (store !== 'sqlite' && store !== 'postgres') throw new Error(`--store: no "${store}"; there are: sqlite, postgres`);
const workers = Number(flags.workers);
if (!Number.isInteger(workers) || workers < 10) throw new Error('--workers takes a whole number from 10');
const profile = flags.profile === undefined ? undefined : resolve(flags.profile);
if (profile !== undefined) mkdirSync(profile, { recursive: true });
const rounds = roundsOf(flags.rounds, quick, 3);
installPeers();
await runSuite(hubSuite(store, { workers, profile }), { only, contenders, rounds, quick, record });
