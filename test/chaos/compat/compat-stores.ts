import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type { BackendConfig } from '../../../src/compat/index.ts';
import { freshDatabase } from '../../support/postgres.ts';

export const STORES = ['sqlite', 'postgres'] as const;

/** Removed after the last test: what a test leaves claimed is given back to its store by a hook that runs after the test's own first ones. */
const FOLDER = mkdtempSync(join(tmpdir(), 'leasehold-compat-'));
after(() => rmSync(FOLDER, { recursive: true, force: true }));
let stores = 0;

/** The URL of a new store. */
export async function newStore(kind: (typeof STORES)[number]): Promise<string> {
  if (kind === 'postgres') return `${await freshDatabase('compat')}&pool=3`;
  const folder = join(FOLDER, String(++stores));
  mkdirSync(folder);
  return `sqlite:${join(folder, 'store.db')}`;
}

/** The same as a FlatMachines configuration. */
export function configOf(url: string): BackendConfig {
  return url.startsWith('sqlite:')
    ? { type: 'sqlite', work_path: url.slice('sqlite:'.length) }
    : { type: 'postgres', work_path: url };
}
