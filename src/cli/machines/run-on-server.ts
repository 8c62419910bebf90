/** `leasehold run FILE --server URL`: the run is started on a node, and workers there do it. */
import { MachineFailed, type MachineSource } from '../../app/machines.ts';
import type { Config } from '../../config/options.ts';
import { fault } from '../../core/errors.ts';
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

/** Resolves to the output of the run. Rejects with `MachineFailed`. */
export function runOnServer(
  config: Config,
  out: Out,
  source: MachineSource,
  { input, stop, onStarted }: ServerRun,
): Promise<unknown> {
  return withOperator(config, async (operator) => {
    const { bundleOf } = await import('../../app/machines/durable-run.ts');
    const { executionId: name } = config;
    const bundle = await bundleOf(source);
    const run = await operator.call('startRun', {
      body: { bundle, input, ...(name === undefined ? {} : { name }) },
    });
    const send = (channel: string, data: unknown): void =>
      void operator
        .call('sendSignal', { body: { channel, body: data } })
        .catch((error: Error) => out.note(safeLine(error.message)));
    onStarted({ name: run.name ?? run.id, fresh: run.fresh, send });
    for (const signal of config.signals) {
      if (signal !== '-') await operator.call('sendSignal', { body: { channel: signal.channel, body: signal.data } });
    }
    return ended(await untilItsEnd(operator, run.id, out, stop));
  });
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
