import { loadCall } from '../../config/load.ts';
import type { SignalView } from '../../operate/views.ts';
import { outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { parseInline } from './push-inputs.ts';

/** `leasehold signal CHANNEL [JSON]`. */
export const signal: Command = {
  name: 'signal',
  doc: 'Wake the task that has waited longest on a channel, or keep the signal for the next one',
  args: [
    { name: 'CHANNEL', doc: 'The channel that the task waits on, as "tasks show" prints it' },
    { name: 'JSON', doc: 'The value for the task; none if it is left out', optional: true },
  ],
  options: ['broadcast', ...OPERATOR_OPTIONS],
  examples: [
    { line: `signal payment:4711 '{"paid": true}'`, does: 'one task goes on, and gets this value' },
    { line: 'signal weather --broadcast', does: 'all tasks that wait on it now' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(signal, args);
    const [channel, json] = words as [string, string?];
    const hint = `Quote it for the shell: leasehold signal CHANNEL '{"key": "value"}'. A text has quotes of its own: '"text"'.`;
    const body = json === undefined ? null : parseInline(json, hint);
    const out = outFor(config);
    const answer = await withOperator(config, (operator) =>
      operator.call('sendSignal', { body: { channel, body, broadcast: config.broadcast } }),
    );
    if (out.mode === 'json') out.json(answer);
    else for (const line of describe(answer)) out.line(line);
    return EXIT.fine;
  },
};

function describe({ channel, woken, kept }: SignalView): readonly string[] {
  if (woken.length > 0) return woken.map((id) => `${id} goes on`);
  const nobody = `No task waits on ${safeLine(channel)}`;
  return [kept ? `${nobody} now: the signal is kept for the next one.` : `${nobody}: nothing was woken.`];
}
