/** `leasehold run FILE --server URL`: the run is started on a node, and workers there do it. */
import { MachineFailed, type MachineSource } from '../../app/machines.ts';
import type { Config } from '../../config/options.ts';
import { fault } from '../../core/errors.ts';
import type { Operator } from '../../operate/operator.ts';
import type { RunDetailView } from '../../operate/views.ts';
import type { Out } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { withOperator } from '../kit/operator-for.ts';
import { untilItsEnd } from '../runs/until-its-end.ts';

export interface ServerRun {
  readonly input: unknown;
  readonly stop: AbortSignal;
  readonly onStarted: (run: {
    readonly name: string;
    readonly fresh: boolean;
    readonly send: (channel: string, data: unknown) => void;
  }) => void;
}

type Work =
  | { readonly bundle: string; readonly input: unknown }
  | { readonly task: { readonly queue: string; readonly handler: string; readonly input: unknown } };

/** Resolves to the output of the run. Rejects with `MachineFailed`. */
export async function runOnServer(config: Config, out: Out, source: MachineSource, run: ServerRun): Promise<unknown> {
  const { bundleOf } = await import('../../app/machines/durable-run.ts');
  return started(config, out, { bundle: await bundleOf(source), input: run.input }, run);
}

/** A run of a workflow in code. Its queue is its name without the version, as where it is defined without one. */
export function startedByName(config: Config, out: Out, handler: string, run: ServerRun): Promise<unknown> {
  const [queue = ''] = handler.split('@', 1);
  return started(config, out, { task: { queue, handler, input: run.input } }, run);
}

function started(config: Config, out: Out, work: Work, { stop, onStarted }: ServerRun): Promise<unknown> {
  const begin = async (operator: Operator): Promise<unknown> => {
    const { executionId: name } = config;
    const run = await operator.call('startRun', { body: { ...work, ...(name === undefined ? {} : { name }) } });
    const send = (channel: string, data: unknown): void =>
      void operator
        .call('sendSignal', { body: { channel, body: data } })
        .catch((error: Error) => out.note(safeLine(error.message)));
    onStarted({ name: run.name ?? run.id, fresh: run.fresh, send });
    for (const signal of config.signals) {
      if (signal !== '-') await operator.call('sendSignal', { body: { channel: signal.channel, body: signal.data } });
    }
    return ended(await untilItsEnd(operator, run.id, out, stop));
  };
  return withOperator(config, begin, { create: true });
}

function ended({ id, state, output, error, summary }: RunDetailView): unknown {
  if (state === 'completed') return output ?? null;
  if (state === 'cancelled') throw fault('TASK_FAILED', { task: id, problem: `it ${summary}`, state });
  if (typeof error === 'object' && error !== null && 'state' in error && 'message' in error) {
    const { name, message, state: at } = error as { readonly name?: unknown; message: unknown; state: unknown };
    throw new MachineFailed(String(name), String(message), String(at));
  }
  throw fault('TASK_FAILED', { task: id, problem: `it ${summary}`, state, error });
}
