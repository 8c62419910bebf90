import { isEngineError } from '../../core/errors.ts';
import type { PoolInput } from '../../core/pools/pool.ts';
import type { RequestOf } from '../../protocol/paths.ts';
import type { Caller } from '../operator.ts';
import type { PoolDetailView, PoolView } from '../views.ts';

/** What is given changes; null takes a bound away. */
export type PoolEdit = Omit<PoolInput, 'policy'> & {
  readonly policy?: {
    readonly [K in keyof NonNullable<PoolInput['policy']>]?: NonNullable<PoolInput['policy']>[K] | null;
  };
};

export async function findPool(caller: Caller, name: string): Promise<PoolDetailView | undefined> {
  try {
    return await caller.call('getPool', { params: { name } });
  } catch (error) {
    if (isEngineError(error, 'NOT_FOUND')) return undefined;
    throw error;
  }
}

/** Makes a pool, or changes the given parts of one, unless somebody else changes it meanwhile. */
export async function setPool(
  caller: Caller,
  name: string,
  { policy, worker, ...rest }: PoolEdit,
  by: string,
): Promise<PoolView> {
  const before = await findPool(caller, name);
  const body = {
    name,
    ...(before && { queues: before.queues, enabled: before.enabled, launcher: before.launcher }),
    ...defined(rest),
    policy: kept({ ...before?.policy, ...defined(policy ?? {}) }),
    worker: { ...before?.worker, ...defined(worker ?? {}) },
    ifRevision: before?.revision ?? 0,
  };
  // The shape of the route says what is mutable in it; nothing changes it.
  return caller.call('putPool', { body: body as unknown as RequestOf<'putPool'>, by });
}

function defined<T extends object>(from: T): Partial<T> {
  return Object.fromEntries(Object.entries(from).filter(([, value]) => value !== undefined)) as Partial<T>;
}

function kept(from: object): object {
  return Object.fromEntries(Object.entries(from).filter(([, value]) => value !== null));
}
