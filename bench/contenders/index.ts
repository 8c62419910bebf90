/** The contenders by store, in the order of the table's columns. Loaded only for the store in question: a driver costs memory. */
import type { Contender } from './contender.ts';

/** `hub`: workers behind a node, on either. */
export type StoreName = 'sqlite' | 'postgres' | 'hub';

export async function contendersOf(store: StoreName): Promise<readonly Contender[]> {
  switch (store) {
    case 'hub':
      return (await import('./hub/index.ts')).contenders;
    case 'postgres':
      return (await import('./postgres/index.ts')).contenders;
    case 'sqlite':
      return (await import('./sqlite/index.ts')).contenders;
  }
}

export async function contenderOf(store: StoreName, name: string): Promise<Contender> {
  const found = [...(await contendersOf(store)), ...(await variantsOf(store))].find(
    (candidate) => candidate.name === name,
  );
  if (!found) throw new Error(`no contender "${name}"`);
  return found;
}

async function variantsOf(store: StoreName): Promise<readonly Contender[]> {
  if (store === 'hub') return [];
  const { variants } = await (store === 'postgres' ? import('./postgres/index.ts') : import('./sqlite/index.ts'));
  return Object.values(variants);
}
