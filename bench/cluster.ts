/** `npm run bench:cluster`: what more nodes on one Postgres bring and cost, and what users notice of a rolling restart. See README.md. */
import { parseArgs } from 'node:util';
import { roundsOf, runSuite } from './run.ts';
import { clusterSuite } from './suites/cluster.ts';

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string' },
    contenders: { type: 'string' },
    rounds: { type: 'string' },
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    record: { type: 'boolean', default: true },
  },
  allowNegative: true,
});
const { only, contenders, quick, json, record } = flags;
const rounds = roundsOf(flags.rounds, quick, 3);
await runSuite(clusterSuite, { only, contenders, rounds, quick, json, record });
