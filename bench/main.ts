/** `npm run bench`: all contenders, all measures, interleaved in one run; one table. See README.md. */
import { parseArgs } from 'node:util';
import { installPeers } from './peers.ts';
import { roundsOf, runSuite } from './run.ts';
import { suiteOf } from './suites/index.ts';

const { values: flags } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    only: { type: 'string' },
    contenders: { type: 'string' },
    rounds: { type: 'string' },
    quick: { type: 'boolean', default: false },
    record: { type: 'boolean', default: true },
  },
  allowNegative: true,
});
const { only, contenders, quick, record } = flags;
const rounds = roundsOf(flags.rounds, quick, 3);
const suite = suiteOf(flags.store);
installPeers();
await runSuite(suite, { only, contenders, rounds, quick, record });
