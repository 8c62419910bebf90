/** Machines that run within the attempt of the machine around them, by its setting. */
import type { World } from '../../../core/world.ts';
import type { Child, ChildEnd, Command } from '../../../flow/machine/commands.ts';
import type { Machine } from '../../../flow/machine/definition.ts';
import { StateError } from '../../../flow/machine/scopes.ts';
import type { Snapshot } from '../../../flow/machine/snapshot.ts';
import { childId } from '../child-id.ts';
import { type RunnableMachine, runInline } from '../inline-driver.ts';
import { faultOf } from '../machine-failed.ts';
import { LocalSignals } from '../signals.ts';
import type { InlineMeter } from './inline-meter.ts';

/** A wait would hold the slot, and would be forgotten by a crash. */
class NoSignals extends LocalSignals {
  override next(): Promise<never> {
    const problem = 'a machine that runs within the attempt of another cannot wait: take "children: inline" away';
    return Promise.reject(new StateError('WaitRefused', problem));
  }
}

/** A machine that works for a pool holds what it has claimed only in this process: it does not leave it to wait. */
export function keepsChildren({ settings }: Machine): boolean {
  if (settings['children'] !== undefined) return settings['children'] === 'inline';
  return (settings['worker_pool'] ?? settings['heartbeat_interval'] ?? null) !== null;
}

/** In the order of the children; undefined for one that had not ended when another had won. */
export async function invokeInline(
  runnable: RunnableMachine,
  { children, mode, losers }: Command & { readonly do: 'invoke' },
  { executionId, step, depth, maxDepth }: Snapshot,
  { world, stop, meter }: { readonly world: World; readonly stop: AbortSignal; readonly meter: InlineMeter },
): Promise<readonly (ChildEnd | undefined)[]> {
  const lost = new AbortController();
  const own = losers === 'cancel' ? AbortSignal.any([stop, lost.signal]) : stop;
  const one = async ({ machine, input }: Child, i: number): Promise<unknown> =>
    runInline(
      metered(await runnable.peer(machine), meter),
      {
        executionId: childId(executionId, step, `machine ${i}`),
        parentExecutionId: executionId,
        depth: depth + 1,
        maxDepth,
        input,
        stop: own,
      },
      { world, signals: new NoSignals() },
    );
  const ends: (ChildEnd | undefined)[] = children.map(() => undefined);
  const runs = children.map(async (child, i) => {
    const end = await one(child, i).then(
      (output): ChildEnd => ({ ok: true, output }),
      (error: unknown): ChildEnd => ({ ok: false, ...faultOf(error) }),
    );
    ends[i] = end;
    if (mode === 'any' && !end.ok) throw new Error(end.message);
  });
  if (mode === 'any') await Promise.any(runs).catch(() => {});
  else await Promise.all(runs);
  const settled = [...ends];
  lost.abort(new StateError('Cancelled', 'another machine was first'));
  stop.throwIfAborted();
  return settled;
}

/** Also for machines within. */
function metered(runnable: RunnableMachine, meter: InlineMeter): RunnableMachine {
  return {
    ...runnable,
    peer: async (name) => metered(await runnable.peer(name), meter),
    agent: async (name) => meter.metered(await runnable.agent(name)),
  };
}
