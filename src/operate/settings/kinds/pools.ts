import { checkPool } from '../../../core/pools/pool.ts';
import type { RequestOf } from '../../../protocol/paths.ts';
import { PoolInput } from '../../../protocol/shapes/pool.ts';
import { inShape, plain } from '../read-entry.ts';
import type { SettingsKind } from '../settings-kind.ts';

const Pool = PoolInput.omit({ name: true, ifRevision: true });

export const POOLS: SettingsKind = {
  word: 'pools',
  read: (name, value) => plain(checkPool(name, inShape(Pool, `pools.${name}`, value ?? {}) as object)),

  async list(caller) {
    const { pools } = await caller.call('listPools');
    return new Map(
      pools.map(({ name, queues, enabled, policy, worker, launcher }) => [
        name,
        plain({ queues, enabled, policy, worker, launcher }),
      ]),
    );
  },

  async put(caller, { name, wanted, by }) {
    await caller.call('putPool', { body: { ...wanted, name } as RequestOf<'putPool'>, by });
    return undefined;
  },

  remove: (caller, name, by) => caller.call('removePool', { params: { name }, by }),
};
