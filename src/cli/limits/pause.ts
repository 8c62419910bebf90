import { loadCall } from '../../config/load.ts';
import { fault } from '../../core/errors.ts';
import { outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { formatWhen } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME } from './name.ts';

/** `leasehold limits pause NAME --for TIME`. */
export const pause: Command = {
  name: 'limits pause',
  doc: 'Start nothing for a while that takes from a limit, or from one of its keys; running tasks go on',
  args: [NAME],
  options: ['key', 'pauseFor', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'limits pause openai --for 5m', does: 'the service has asked its clients to come back later' },
    { line: 'limits pause openai --key alice --for 1h', does: 'only what takes from the key alice' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(pause, args);
    const [name] = words as [string];
    const { key, pauseFor: forMs } = config;
    if (forMs === undefined)
      throw fault('INVALID_INPUT', { field: '--for', problem: 'it must be given, such as --for 5m' });
    const out = outFor(config);
    const limit = await withOperator(config, (operator) =>
      operator.call('pauseLimit', { params: { name }, body: { key, for: forMs } }),
    );
    const paused = key === undefined ? limit : limit.keys.find((one) => one.key === key);
    if (out.mode === 'json') out.json(limit);
    else {
      const which = key === undefined ? name : `${name} for ${safeLine(key)}`;
      const until = formatWhen(paused?.pausedUntil ?? Date.now() + forMs, Date.now());
      const used = paused?.used ?? 0;
      out.line(`Paused ${which} until ${until}${used === 0 ? '' : `; what has taken ${used} of it runs on`}.`);
    }
    return EXIT.fine;
  },
};
