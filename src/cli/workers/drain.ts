import { setTimeout as sleep } from 'node:timers/promises';
import { loadCall } from '../../config/load.ts';
import { settingsOf, setWorkers } from '../../operate/calls/worker-calls.ts';
import type { Operator } from '../../operate/operator.ts';
import type { WorkerSettingView } from '../../operate/views.ts';
import { type Out, outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT, exitCodeOfSignal, type StopSignal } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { onStopSignals } from '../kit/stop-signals.ts';
import { NAME, tasksWords, unknownWords, workerNames } from './name.ts';

const POLL_MS = 500;

/** `leasehold workers drain NAME…`. */
export const drain: Command = {
  name: 'workers drain',
  doc: 'Disable workers, and wait until their running tasks have ended',
  args: [{ ...NAME, many: true }],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'workers drain laptop', does: 'when it ends, the host can be switched off' },
    { line: 'workers drain gpu-1 gpu-2 && ssh gpu-1 sudo reboot', does: 'several; "workers enable" undoes it' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(drain, args);
    const names = workerNames(words);
    const out = outFor(config);
    const stopping = new AbortController();
    const unlisten = onStopSignals({
      stop: (signal) => stopping.abort(signal),
      force: (signal) => process.exit(exitCodeOfSignal(signal)),
    });
    try {
      return await withOperator(config, (operator) => drainAll(operator, names, out, stopping.signal));
    } finally {
      unlisten();
    }
  },
};

/** Ends when no worker of these names has a task. Ctrl-C ends the wait; the workers stay disabled. */
async function drainAll(operator: Operator, names: readonly string[], out: Out, stop: AbortSignal): Promise<number> {
  let answers = await setWorkers(operator, names, { enabled: false });
  const told = new Map<string, number>();
  for (;;) {
    for (const answer of answers) {
      if (told.get(answer.name) === answer.running) continue;
      told.set(answer.name, answer.running);
      tell(answer, out);
    }
    if (answers.every(({ running }) => running === 0)) return EXIT.fine;
    await sleep(POLL_MS, undefined, { signal: stop }).catch(() => {});
    if (stop.aborted) {
      out.note('Stopped waiting; the workers stay disabled, and what they run goes on.');
      return exitCodeOfSignal(stop.reason as StopSignal);
    }
    answers = await settingsOf(operator, names);
  }
}

function tell(answer: WorkerSettingView, out: Out): void {
  const { name, workers, running } = answer;
  if (out.mode === 'json') out.json({ ...answer, drained: running === 0 });
  else if (workers === 0) out.line(`${name} is disabled.${unknownWords(answer)}`);
  else if (running === 0) out.line(`${name} is drained: it has no task, and takes none.`);
  else out.line(`${name} takes nothing more; ${tasksWords(running)} of it ${running === 1 ? 'runs' : 'run'} on.`);
}
