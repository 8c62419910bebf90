import { postgres } from './postgres.ts';
import { sqlite } from './sqlite.ts';
import type { Suite } from './suite.ts';

const suites: readonly Suite[] = [sqlite, postgres];

export function suiteOf(store: string): Suite {
  const found = suites.find((suite) => suite.store === store);
  if (!found) throw new Error(`--store: no "${store}"; there are: ${suites.map((suite) => suite.store).join(', ')}`);
  return found;
}
