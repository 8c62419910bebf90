import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { parseInline } from '../tasks/push-inputs.ts';
import { NAME } from './name.ts';

/** `leasehold triggers fire NAME [JSON]`. */
export const fire: Command = {
  name: 'triggers fire',
  doc: 'Fire a trigger of any kind by hand, also one that is off',
  args: [NAME, { name: 'JSON', doc: 'What its action is given, merged with what the trigger has', optional: true }],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'triggers fire nightly-import', does: 'prints the id of the task, or what became of the check' },
    { line: `triggers fire greet '{"name": "Ada"}'`, does: 'with input' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(fire, args);
    const [name, text] = words as [string, string?];
    const hint = `Quote it for the shell: leasehold triggers fire NAME '{"key": "value"}'.`;
    const body = text === undefined ? {} : { input: parseInline(text, hint) };
    const out = outFor(config);
    const answer = await withOperator(config, (operator) => operator.call('fireTrigger', { params: { name }, body }));
    const { id, outcome } = answer;
    if (out.mode === 'json') out.json(answer);
    else if (id !== undefined) out.line(out.mode === 'plain' ? id : `Fired ${name}: ${out.paint('bold', id)}.`);
    else out.line(`Fired ${name}: ${outcome}.`);
    return EXIT.fine;
  },
};
