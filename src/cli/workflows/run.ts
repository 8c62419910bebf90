import { graphIn, readGraphFile } from '../../app/graphs/graph-file.ts';
import { loadCall } from '../../config/load.ts';
import { fault } from '../../core/errors.ts';
import type { RunDetailView } from '../../operate/views.ts';
import { outFor } from '../display/out.ts';
import { safeJson, safeLine } from '../display/safe.ts';
import type { Command } from '../kit/command.ts';
import { EXIT, exitCodeOfSignal, type StopSignal } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { onStopSignals } from '../kit/stop-signals.ts';
import { readRunInput } from '../machines/run-input.ts';
import { untilItsEnd } from '../runs/until-its-end.ts';
import { isFile } from './which.ts';

/** `leasehold workflows run FILE`. */
export const run: Command = {
  name: 'workflows run',
  doc: 'Run a workflow from a file, or a stored one, on any workers, and print its output',
  args: [{ name: 'FILE|NAME', doc: 'The workflow, in JSON or YAML, or the name of a stored one' }],
  options: ['input', 'upTo', 'trigger', 'executionId', ...OPERATOR_OPTIONS],
  examples: [
    { line: `workflows run hello.json --input '{"name": "Ann"}'`, does: 'the triggers give this item' },
    { line: 'workflows run nightly', does: 'the newest version of a stored one, also while it is off' },
    { line: 'workflows run hello.json --up-to fetch', does: 'ends with what this node gives' },
    {
      line: 'workflows run hello.json --execution-id hello-42',
      does: 'started again under this name, it goes on where it stopped, or gives its result',
    },
  ],

  async run(args) {
    const { config, args: words } = loadCall(run, args);
    const [file] = words as [string];
    const out = outFor(config);
    const given = isFile(file) ? await readGraphFile(file) : undefined;
    const title = given === undefined ? undefined : graphIn(file, given).name.slice(0, 255);
    const { upTo, trigger, executionId: name } = config;
    const input = config.input === undefined ? {} : { input: await readRunInput(config.input) };
    const stop = new AbortController();
    let stopped: StopSignal | undefined;
    const unlisten = onStopSignals({
      stop: (signal) => {
        stopped = signal;
        stop.abort(new Error(signal));
      },
      force: (signal) => process.exit(exitCodeOfSignal(signal)),
    });
    try {
      return await withOperator(
        config,
        async (operator) => {
          const start = {
            ...input,
            ...(upTo === undefined ? {} : { upTo }),
            ...(trigger === undefined ? {} : { trigger }),
            ...(name === undefined ? {} : { name }),
          };
          const started = await (given === undefined
            ? operator.call('runWorkflow', { params: { name: file }, body: start })
            : operator.call('startRun', { body: { graph: given.value, title, ...start } }));
          const known = started.name ?? started.id;
          if (out.mode !== 'json') out.note(safeLine(`${started.fresh ? 'Started' : 'Goes on with'} ${known}.`));
          const ended = await untilItsEnd(operator, started.id, out, stop.signal);
          if (ended.state !== 'completed') {
            throw fault('TASK_FAILED', {
              task: known,
              problem: problemOf(ended),
              state: ended.state,
              error: ended.error,
            });
          }
          out.line(safeJson(ended.output ?? null));
          return EXIT.fine;
        },
        { create: given !== undefined },
      );
    } catch (error) {
      if (stopped === undefined) throw error;
      out.note(
        'The run goes on: start it again under its name to wait for it, or cancel it with "leasehold runs cancel".',
      );
      return exitCodeOfSignal(stopped);
    } finally {
      unlisten();
    }
  },
};

function problemOf({ error, summary }: Pick<RunDetailView, 'error' | 'summary'>): string {
  if (typeof error !== 'object' || error === null || !('message' in error)) return `it ${summary}`;
  const { node, name, message } = error as { readonly node?: unknown; readonly name?: unknown; message: unknown };
  const at = typeof node === 'string' ? `at the node ${node}, ` : '';
  return `${at}${typeof name === 'string' ? `${name}: ` : ''}${String(message)}`;
}
