/** The contenders by store, in the order of the table's columns. Loaded only for the store in question: a driver costs memory. */
import type { Contender } from './contender.ts';

export type StoreName = 'sqlite' | 'postgres';

export async function contendersOf(store: StoreName): Promise<readonly Contender[]> {
  const { contenders } = store === 'postgres' ? await import('./postgres/index.ts') : await import('./sqlite/index.ts');
  return contenders;
}

export async function contenderOf(store: StoreName, name: string): Promise<Contender> {
  const found = (await contendersOf(store)).find((candidate) => candidate.name === name);
  if (!found) throw new Error(`no contender "${name}"`);
  return found;
}
