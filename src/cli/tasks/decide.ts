import { loadCall } from '../../config/load.ts';
import { fault, isEngineError } from '../../core/errors.ts';
import { outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { actingUser } from '../kit/acting-user.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { ID } from './id.ts';
import { parseInline } from './push-inputs.ts';

/** `leasehold approve ID` and `leasehold reject ID`: the same, except for the default action. */
function deciding(word: 'approve' | 'reject', doc: string, examples: NonNullable<Command['examples']>): Command {
  const command: Command = {
    name: word,
    doc,
    args: [ID],
    options: ['action', 'data', 'waitKey', 'decidedBy', ...OPERATOR_OPTIONS],
    examples,

    async run(args) {
      const { config, args: words } = loadCall(command, args);
      const [id] = words as [string];
      const { action = word, data, waitKey, decidedBy } = config;
      const hint = `Quote it for the shell: --data '{"key": "value"}'. A text has quotes of its own: '"text"'.`;
      const value = data === undefined ? {} : { value: parseInline(data, hint) };
      const key = waitKey === undefined ? {} : { key: waitKey };
      const by = actingUser(decidedBy);
      const out = outFor(config);
      const answer = await withOperator(config, (operator) =>
        operator
          .call('decideApproval', { params: { id }, body: { action, ...value, ...key }, by })
          .catch((error: unknown) => {
            throw isEngineError(error, 'INVALID_INPUT') && error.details?.field === 'action'
              ? fault(
                  'INVALID_INPUT',
                  { field: '--action', problem: `${JSON.stringify(action)}: ${String(error.details.problem)}` },
                  { hint: `Name one of them: leasehold ${word} ${id} --action NAME.`, cause: error },
                )
              : error;
          }),
      );
      if (out.mode === 'json') out.json(answer);
      else out.line(`${answer.id} goes on: ${safeLine(answer.action)}${by === '' ? '' : `, by ${safeLine(by)}`}.`);
      return EXIT.fine;
    },
  };
  return command;
}

export const approve = deciding(
  'approve',
  'Approve a task that waits for a decision, or choose another action that it offers',
  [
    { line: 'approve 42', does: 'the task goes on, and learns that it was approved, and by whom' },
    { line: `approve 42 --action ship --data '{"speed": "fast"}'`, does: 'one of its own actions, with data' },
  ],
);

export const reject = deciding(
  'reject',
  'Reject a task that waits for a decision, or choose another action that it offers',
  [
    { line: 'reject 42 --by ada', does: 'the task goes on, and learns that it was rejected' },
    { line: `reject 42 --data '"too expensive"'`, does: 'and why' },
  ],
);
