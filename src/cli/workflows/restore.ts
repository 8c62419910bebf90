import { loadCall } from '../../config/load.ts';
import { fault } from '../../core/errors.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME } from './name.ts';
import { standText, tellChanges } from './words.ts';

/** `leasehold workflows restore NAME VERSION`. */
export const restore: Command = {
  name: 'workflows restore',
  doc: 'Make an old version of a stored workflow the newest again, as a new version',
  args: [NAME, { name: 'VERSION', doc: 'Its number' }],
  options: ['expected', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'workflows restore nightly 2', does: 'says what changes; the versions between stay' },
    { line: 'workflows restore nightly 2 --expect 5', does: 'refused when somebody has made version 6 meanwhile' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(restore, args);
    const [name, number] = words as [string, string];
    if (!/^[1-9]\d{0,9}$/.test(number)) throw fault('INVALID_INPUT', { field: 'VERSION', problem: 'it is a number' });
    const { expected } = config;
    const out = outFor(config);
    const params = { name, version: Number(number) };
    const body = expected === undefined ? {} : { expected };
    const applied = await withOperator(config, (operator) => operator.call('restoreWorkflow', { params, body }));
    if (out.mode === 'json') {
      out.json(applied);
      return EXIT.fine;
    }
    tellChanges(out, applied);
    const { fresh, version } = applied;
    const stand = standText(applied, Date.now());
    if (fresh) out.line(`${name} has the text of version ${number} again, as version ${version}: ${stand}.`);
    else out.line(`${name} has that text already: version ${version}, ${stand}.`);
    return EXIT.fine;
  },
};
