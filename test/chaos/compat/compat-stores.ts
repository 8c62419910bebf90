import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { BackendConfig } from '../../../src/compat/index.ts';
import { freshDatabase } from '../../support/postgres.ts';
import { scratch } from '../children.ts';

export const STORES = ['sqlite', 'postgres'] as const;

/** The URL of a new store. */
export async function newStore(t: TestContext, kind: (typeof STORES)[number]): Promise<string> {
  return kind === 'sqlite'
    ? `sqlite:${join(scratch(t, 'compat'), 'store.db')}`
    : `${await freshDatabase('compat')}&pool=3`;
}

/** The same as a FlatMachines configuration. */
export function configOf(url: string): BackendConfig {
  return url.startsWith('sqlite:')
    ? { type: 'sqlite', work_path: url.slice('sqlite:'.length) }
    : { type: 'postgres', work_path: url };
}
