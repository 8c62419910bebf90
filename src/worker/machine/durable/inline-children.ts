/** Machines that run within the attempt of the machine around them, by its setting. */
import type { World } from '../../../core/world.ts';
import type { AgentSpent, Child, ChildEnd, Command } from '../../../flow/machine/commands.ts';
import { StateError } from '../../../flow/machine/scopes.ts';
import type { Snapshot } from '../../../flow/machine/snapshot.ts';
import { AgentFailed } from '../../agents/agent-failed.ts';
import { childId } from '../child-id.ts';
import { type RunnableMachine, runInline } from '../inline-driver.ts';
import { faultOf } from '../machine-failed.ts';
import { LocalSignals } from '../signals.ts';

/** A wait would hold the slot, and would be forgotten by a crash. */
class NoSignals extends LocalSignals {
  override next(): Promise<never> {
    const problem = 'a machine that runs within the attempt of another cannot wait: take "children: inline" away';
    return Promise.reject(new StateError('WaitRefused', problem));
  }
}

/** In the order of the children; undefined for one that had not ended when another had won. */
export async function invokeInline(
  runnable: RunnableMachine,
  { children, mode, losers }: Command & { readonly do: 'invoke' },
  { executionId, step, depth, maxDepth }: Snapshot,
  {
    world,
    stop,
    onSpent,
  }: { readonly world: World; readonly stop: AbortSignal; readonly onSpent: (spent: AgentSpent) => void },
): Promise<readonly (ChildEnd | undefined)[]> {
  const lost = new AbortController();
  const own = losers === 'cancel' ? AbortSignal.any([stop, lost.signal]) : stop;
  const one = async ({ machine, input }: Child, i: number): Promise<unknown> =>
    runInline(
      telling(await runnable.peer(machine), onSpent),
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

/** Says what each call of an agent has used, also of machines within. One that was cut off is a call of which nothing else is known. */
function telling(runnable: RunnableMachine, onSpent: (spent: AgentSpent) => void): RunnableMachine {
  return {
    ...runnable,
    peer: async (name) => telling(await runnable.peer(name), onSpent),
    agent: async (name) => {
      const call = await runnable.agent(name);
      return async (...given) => {
        try {
          const answer = await call(...given);
          onSpent(answer);
          return answer;
        } catch (error) {
          onSpent(error instanceof AgentFailed ? error.spent : { apiCalls: 1 });
          throw error;
        }
      };
    },
  };
}
