/** Programs that tests need and npm does not bring: what is missing is said before the tier begins. */

import { findFaketime } from '../e2e/timed-postgres.ts';
import { findChromium } from '../support/find-chromium.ts';
import { findSshd } from '../support/fleet/sshd.ts';
import { findBouncer } from '../support/pgbouncer.ts';
import { promtool } from '../support/promtool.ts';
import { ROOT } from './job.ts';

export interface Need {
  readonly name: string;
  readonly isThere: boolean;
  /** CI may not go without it, unless `LEASEHOLD_WITHOUT` names it. */
  readonly inCi: boolean;
}

export interface Verdict {
  readonly told: readonly string[];
  readonly refused: boolean;
}

export function needs(): readonly Need[] {
  return [
    { name: 'chromium', isThere: findChromium() !== undefined, inCi: true },
    { name: 'pgbouncer', isThere: findBouncer() !== undefined, inCi: false },
    { name: 'libfaketime', isThere: findFaketime() !== undefined, inCi: false },
    { name: 'sshd', isThere: findSshd() !== undefined, inCi: false },
    { name: 'promtool', isThere: promtool(['--version'], ROOT) !== undefined, inCi: false },
  ];
}

export function judgeNeeds(all: readonly Need[], ci: boolean, without: readonly string[]): Verdict {
  const missing = all.filter(({ isThere }) => !isThere);
  const refused = missing.filter(({ name, inCi }) => ci && inCi && !without.includes(name));
  return {
    told: [
      ...missing.map(({ name }) => `There is no ${name}: the tests that need it are skipped.`),
      ...refused.map(({ name }) => `In CI that is a failure. Install ${name}, or say LEASEHOLD_WITHOUT=${name}.`),
    ],
    refused: refused.length > 0,
  };
}
