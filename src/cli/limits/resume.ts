import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME } from './name.ts';

/** `leasehold limits resume NAME`. */
export const resume: Command = {
  name: 'limits resume',
  doc: 'End the pause of a limit, or of one of its keys, early',
  args: [NAME],
  options: ['key', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'limits resume openai', does: 'workers take from it again within a second' },
    { line: 'limits resume openai --key alice', does: 'only the key alice; each pause is ended by itself' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(resume, args);
    const [name] = words as [string];
    const { key } = config;
    const out = outFor(config);
    const limit = await withOperator(config, (operator) =>
      operator.call('resumeLimit', { params: { name }, body: { key } }),
    );
    if (out.mode === 'json') out.json(limit);
    else {
      const which = key === undefined ? name : `${name} for ${safeLine(key)}`;
      const waiting = limit.waiting === 1 ? '1 task waits' : `${limit.waiting} tasks wait`;
      out.line(`Resumed ${which}: ${waiting} for ${name}.`);
      const held = limit.keys.filter(({ pausedUntil }) => pausedUntil !== undefined).map((one) => safeLine(one.key));
      if (limit.pausedUntil !== undefined) out.note(`The limit as a whole is paused still.`);
      if (held.length > 0) out.note(`Still paused: ${held.slice(0, 10).join(', ')}${held.length > 10 ? ', …' : ''}.`);
    }
    return EXIT.fine;
  },
};
